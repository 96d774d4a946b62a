// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"errors"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// copyIn loads rows as drivers do, by INSERT BULK ([MS-TDS] 2.2.6.1).
func copyIn(t *testing.T, db *sql.DB, table string, options mssql.BulkOptions, columns []string, rows ...[]any) error {
	t.Helper()
	load, err := db.PrepareContext(t.Context(), mssql.CopyIn(table, options, columns...))
	if err != nil {
		return err
	}
	defer load.Close()
	for _, row := range rows {
		if _, err := load.ExecContext(t.Context(), row...); err != nil {
			return err
		}
	}
	_, err = load.ExecContext(t.Context())
	return err
}

// TestOptionsOfABulkLoad: what a driver asks for in WITH is done or refused
// (docs/t-sql/statements/bulk-insert-transact-sql.md has the same options): NULL gives the column's default without
// KEEP_NULLS; an identity column that is listed keeps its values, as those drivers leave it out that do not want that.
func TestOptionsOfABulkLoad(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	mustExec(
		t,
		db,
		"CREATE TABLE dbo.[b (1)] (id int IDENTITY(100, 1) PRIMARY KEY, n int DEFAULT 9, t nvarchar(20) DEFAULT N'd', u int)",
	)
	content := func() string {
		rows, err := tryQuery(db, "SELECT id, n, t, u FROM dbo.[b (1)] ORDER BY id; DELETE dbo.[b (1)]")
		g.Expect(err).NotTo(HaveOccurred())
		return rowsText(rows)
	}
	columns := []string{"n", "t", "u"}
	rows := [][]any{{1, nil, nil}, {2, "x", 5}, {nil, "y", nil}}
	g.Expect(copyIn(t, db, "dbo.[b (1)]",
		mssql.BulkOptions{Tablock: true, CheckConstraints: true, RowsPerBatch: 3, KilobytesPerBatch: 4,
			Order: []string{"n ASC"}}, columns, rows...)).
		To(Succeed())
	g.Expect(content()).To(Equal("100 1 d NULL; 101 2 x 5; 102 9 y NULL"))
	g.Expect(copyIn(t, db, "dbo.[b (1)]", mssql.BulkOptions{KeepNulls: true}, columns, rows[:2]...)).To(Succeed())
	g.Expect(content()).To(Equal("103 1 NULL NULL; 104 2 x 5"))
	g.Expect(copyIn(t, db, "dbo.[b (1)]", mssql.BulkOptions{}, []string{"id", "n"}, []any{7, 1}, []any{8, 2})).
		To(Succeed())
	g.Expect(content()).To(Equal("7 1 d NULL; 8 2 d NULL"))
	// FIRE_TRIGGERS has nothing to do without a trigger, and is refused where there is one.
	g.Expect(copyIn(t, db, "dbo.[b (1)]", mssql.BulkOptions{FireTriggers: true}, columns, rows[:1]...)).To(Succeed())
	mustExec(t, db, "CREATE TRIGGER dbo.tr ON dbo.[b (1)] AFTER INSERT AS DELETE dbo.[b (1)]")
	refused := func(err error, number int32) {
		t.Helper()
		var e mssql.Error
		g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
		g.Expect(e.Number).To(Equal(number), e.Message)
	}
	refused(copyIn(t, db, "dbo.[b (1)]", mssql.BulkOptions{FireTriggers: true}, columns, rows[:1]...), 40517)
	mustExec(t, db, "DROP TRIGGER dbo.tr")
	g.Expect(content()).To(Equal("105 1 d NULL"))
}
