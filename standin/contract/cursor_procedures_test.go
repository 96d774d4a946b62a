// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// allRows are the rows of all result sets of a batch, those of one result set in one text.
func allRows(t *testing.T, db executor, text string) []string {
	t.Helper()
	g := NewWithT(t)
	rows, err := db.QueryContext(t.Context(), text)
	g.Expect(err).NotTo(HaveOccurred(), text)
	defer rows.Close()
	var out []string
	for more := true; more; more = rows.NextResultSet() {
		names, err := rows.Columns()
		g.Expect(err).NotTo(HaveOccurred(), text)
		if len(names) == 0 {
			continue
		}
		var set [][]any
		for rows.Next() {
			row, into := make([]any, len(names)), make([]any, len(names))
			for i := range into {
				into[i] = &row[i]
			}
			g.Expect(rows.Scan(into...)).To(Succeed(), text)
			set = append(set, row)
		}
		out = append(out, rowsText(set))
	}
	g.Expect(rows.Err()).NotTo(HaveOccurred(), text)
	return out
}

// TestCursorProceduresInBatches: docs/relational-databases/system-stored-procedures/sp-cursoropen-transact-sql.md,
// sp-cursorfetch-transact-sql.md, sp-cursor-transact-sql.md, sp-cursoroption-transact-sql.md,
// sp-cursorclose-transact-sql.md, sp-cursorprepare-transact-sql.md, sp-cursorexecute-transact-sql.md,
// sp-cursorprepexec-transact-sql.md, sp-cursorunprepare-transact-sql.md. The last column of a row is its status.
func TestCursorProceduresInBatches(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	mustExec(
		t,
		db,
		"CREATE TABLE t (a int NOT NULL PRIMARY KEY, b varchar(9)); INSERT t VALUES (1, 'one'), (2, 'two'), (3, 'three'), "+
			"(4, 'four')",
	)
	g.Expect(allRows(t, db, `DECLARE @c int, @scroll int = 8, @cc int = 1, @rows int, @status int
EXEC @status = sp_cursoropen @c OUTPUT, N'SELECT a, b FROM t ORDER BY a', @scroll OUTPUT, @cc OUTPUT, @rows OUTPUT
SELECT @scroll, @cc, @rows, @status
EXEC sp_cursorfetch @c, 2, 0, 2
EXEC sp_cursorfetch @c, 8, 0, 1
EXEC sp_cursorfetch @c, 16, 2, 1
EXEC sp_cursor @c, 8, 1
DECLARE @at int, @count int; EXEC sp_cursorfetch @c, 256, @at OUTPUT, @count OUTPUT; SELECT @at, @count
DECLARE @kind int; EXEC sp_cursoroption @c, 4, @kind OUTPUT; SELECT @kind
EXEC @status = sp_cursorclose @c; SELECT @status`)).To(Equal([]string{"", "8 1 4 0", "1 one 1; 2 two 1", "4 four 1", "2 two 1", "2 two 1", "2 4", "8", "0"}))
	g.Expect(allRows(t, db, `DECLARE @h int, @c int, @scroll int = 0x1000 | 16, @cc int = 1, @rows int
EXEC sp_cursorprepare @h OUTPUT, N'@from int', N'SELECT a FROM t WHERE a >= @from ORDER BY a', 1, @scroll OUTPUT, @cc OUTPUT
EXEC sp_cursorexecute @h, @c OUTPUT, @scroll OUTPUT, @cc OUTPUT, @rows OUTPUT, 3
EXEC sp_cursorfetch @c, 2, 0, 10
EXEC sp_cursorclose @c
EXEC sp_cursorunprepare @h
DECLARE @h2 int; EXEC sp_cursorprepexec @h2 OUTPUT, @c OUTPUT, N'@from int', N'SELECT b FROM t WHERE a = @from', @scroll OUTPUT, @cc OUTPUT, @rows OUTPUT, 2
EXEC sp_cursorfetch @c`)).To(Equal([]string{"", "3 1; 4 1", "", "two 1"}))
	g.Expect(allRows(t, db,
		"DECLARE @c int, @s int = 0x1008, @k int = 1, @n int; EXEC sp_cursoropen @c OUTPUT, N'SELECT b FROM t WHERE a < "+
			"@p', @s OUTPUT, @k OUTPUT, @n OUTPUT, N'@p int', 3; SELECT @n")).
		To(Equal([]string{"", "2"}))
	converse(t, db, []say{
		{"EXEC sp_cursorfetch 5", "!16909/16"},
		{"EXEC sp_cursoropen", "!201/16"},
		{"DECLARE @c int; EXEC sp_cursoropen @c OUTPUT, N'SELECT a FROM nothing'", "!208/16"},
		{
			"DECLARE @c int; BEGIN TRY EXEC sp_cursoropen @c OUTPUT, N'SELECT 1 / 0' END TRY BEGIN CATCH SELECT " +
				"ERROR_NUMBER() END CATCH",
			"8134",
		},
		{"DECLARE @c int; EXEC sp_cursoropen @c OUTPUT, N'SELECT a FROM t', 8, 1; EXEC sp_cursor @c, 2, 1", "!16929/16"},
		{"DECLARE @c int; EXEC sp_cursoropen @c OUTPUT, N'UPDATE t SET b = NULL'", "!16937/16"},
		{"SELECT COUNT(*) FROM t WHERE b IS NULL", "0"},
	})
}
