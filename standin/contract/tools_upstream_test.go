// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestWhatSuitesOfDriversAsk: what the suites of tedious, mssql-jdbc, node-mssql, pyodbc and mssql-python ask of a
// server beyond their own protocol. By docs/t-sql/statements/set-dateformat-transact-sql.md (Remarks: it overrides what
// SET LANGUAGE sets), set-ansi-null-dflt-on-transact-sql.md, docs/t-sql/language-elements/print-transact-sql.md and
// raiserror-transact-sql.md (the longest message),
// docs/relational-databases/native-client-odbc-api/sqlprocedurecolumns.md.
func TestWhatSuitesOfDriversAsk(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	converse(t, connection(t, db), []say{
		{
			"SET DATEFIRST 3; SET DATEFORMAT dmy; SET LANGUAGE us_english; SELECT @@DATEFIRST, DATEPART(month, " +
				"CAST('01/02/2026' AS datetime))",
			"3 2",
		},
		{"SET LANGUAGE Italian; SELECT @@DATEFIRST", "3"},
		{"SET CURSOR_CLOSE_ON_COMMIT ON; SELECT @@OPTIONS & 4; SET CURSOR_CLOSE_ON_COMMIT OFF", "4"},
	})
	converse(t, connection(t, db), []say{
		{"SET ANSI_NULL_DFLT_ON OFF; CREATE TABLE #t (a int, b int NULL); INSERT #t VALUES (NULL, 1)", "!515/16/2"},
		{"DECLARE @v TABLE (a int); INSERT @v VALUES (NULL); SELECT COUNT(*) FROM @v", "1"},
		{
			"ALTER DATABASE CURRENT SET ANSI_NULL_DEFAULT ON; CREATE TABLE u (a int); ALTER DATABASE CURRENT SET " +
				"ANSI_NULL_DEFAULT OFF; CREATE TABLE v (a int)",
			"ok",
		},
		{"SET ANSI_NULL_DFLT_OFF ON; CREATE TABLE w (a int); SET ANSI_NULL_DFLT_ON ON; CREATE TABLE x (a int)", "ok"},
		{
			"SELECT OBJECT_NAME(object_id), is_nullable FROM sys.columns WHERE OBJECT_NAME(object_id) IN ('u', 'v', 'w', " +
				"'x') ORDER BY 1",
			"u true; v false; w false; x true",
		},
		{"SELECT @@OPTIONS & 3072", "1024"},
		{
			"WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 3) SELECT n FROM n ORDER BY n OPTION " +
				"(MAXRECURSION 1000) FOR XML PATH ('r'), ROOT ('all')",
			"<all><r><n>1</n></r><r><n>2</n></r><r><n>3</n></r></all>",
		},
		{"SELECT 1 AS a OPTION (RECOMPILE) FOR JSON PATH, ROOT (N'r'), INCLUDE_NULL_VALUES", `{"r":[{"a":1}]}`},
		{"CREATE TYPE rows AS TABLE (a int, b nvarchar(10))", "ok"}, {"CREATE TYPE word FROM varchar(7)", "ok"},
		{"CREATE PROCEDURE takes @t dbo.rows READONLY, @w word AS SELECT COUNT(*) FROM @t", "ok"},
		{
			"DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'@P1 [dbo].[rows] READONLY', N'EXEC takes @P1, ''a''', 1; EXEC " +
				"sp_unprepare @h",
			"",
		},
	})
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "CREATE TYPE faulty AS TABLE (id int, PRIMARY KEY (code))")).
		To(Equal([]string{"Column name 'code' does not exist in the target table or view.",
			"Could not create constraint or index. See previous errors."}))
	long := strings.Repeat("a", 4001)
	for text, want := range map[string]int{"PRINT '" + long + "'": 4001, "PRINT '" + long + long + "'": 8000, "PRINT N'" +
		long + "'": 4000} {
		messages := notices(t, db, text)
		g.Expect(messages).To(HaveLen(1))
		g.Expect(messages[0]).To(HaveLen(want), text[:9])
	}
	g.Expect(failure(t, db, "RAISERROR ('"+long[:2048]+"', 16, 1)").Message).To(Equal(long[:2044] + "..."))
	g.Expect(failure(t, db, "RAISERROR ('"+long[:2047]+"', 16, 1)").Message).To(Equal(long[:2047]))
	described := query(t, db, "EXEC sp_describe_undeclared_parameters N'EXEC takes @a, @b'")
	g.Expect(described).To(HaveLen(2))
	g.Expect([]any{described[0][1], described[0][2], described[0][9], described[0][10], described[0][21],
		described[0][22]}).
		To(Equal([]any{"@a", int64(243), "dbo", "rows", "@t", int64(243)}))
	g.Expect([]any{described[1][1], described[1][3]}).To(Equal([]any{"@b", "varchar(7)"}))
	parameters := query(t, db, "EXEC sp_sproc_columns_100 'takes', @column_name = '@t'")
	g.Expect(parameters).To(HaveLen(1))
	g.Expect(parameters[0][3:12]).
		To(Equal([]any{"@t", int64(1), int64(-153), "rows", nil, int64(0), int64(2), nil, int64(1)}))
	g.Expect(parameters[0][14]).To(Equal(int64(-153)))
	g.Expect(parameters[0][20]).To(Equal("dbo"), "SS_TYPE_SCHEMA_NAME")
	g.Expect(parameters[0]).To(HaveLen(28))
	g.Expect(query(t, db, "EXEC sp_sproc_columns 'takes', @column_name = '@w'")[0]).To(HaveLen(20))
}
