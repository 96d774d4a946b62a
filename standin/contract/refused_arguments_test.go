// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestFaultsOfArguments goes by the pages of docs/t-sql/functions: the types that the arguments of each may have, how
// many there are, and the parts that values of a type have.
func TestFaultsOfArguments(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	mustExec(t, db, "CREATE TABLE dbo.l (a int, t text, im image, b varchar(9))")
	list := []fault{}
	for number, texts := range map[int32][]string{
		8116: {"ABS(GETDATE())", "ROUND(GETDATE(), 1)", "ROUND(1.5, 'a')", "CEILING(NEWID())", "POWER(GETDATE(), 2)",
			"SIGN(CAST(1 AS sql_variant))",
			"UPPER(CAST('' AS xml))", "LEN(CAST(1 AS sql_variant))", "SUBSTRING(1234, 1, 2)", "SUBSTRING(GETDATE(), 1, 2)",
			"SUBSTRING('abc', '1', 2)",
			"SUBSTRING(NULL, 1, 1)", "LEFT('abc', 'x')", "RIGHT('abc', GETDATE())", "CHARINDEX(2, '123')", "PATINDEX('a', 5)",
			"DATEADD(day, GETDATE(), GETDATE())",
			"DATEADD(day, '1', GETDATE())", "DATEADD(day, NULL, GETDATE())", "DATEPART(day, NEWID())",
			"DATEDIFF(day, CAST('' AS xml), 1)", "YEAR(NEWID())",
			"EOMONTH(5)", "EOMONTH(GETDATE(), GETDATE())", "ISDATE(CAST(GETDATE() AS datetime2))", "FORMAT(1, 5)",
			"FORMAT(1, NULL)", "HASHBYTES('MD5', 5)",
			"JSON_VALUE(5, '$')", "JSON_QUERY(CAST('' AS xml), '$')", "ISJSON(5)", "DECOMPRESS('a')", "TRIM(5)",
			"TRANSLATE(5, 'a', 'b')", "SWITCHOFFSET(5, '+01:00')",
			"TODATETIMEOFFSET(GETDATE(), GETDATE())", "'20200101' AT TIME ZONE 'UTC'",
			"CAST('20200101' AS date) AT TIME ZONE 'UTC'", "CONVERT(varchar(9), GETDATE(), 'x')"},
		9810: {"DATEPART(year, CAST('10:00' AS time))", "DATENAME(hour, CAST('20200101' AS date))",
			"DATEADD(hour, 1, CAST('20200101' AS date))",
			"DATEADD(day, 1, CAST('10:00' AS time))", "DATEADD(nanosecond, 1, GETDATE())", "DATETRUNC(weekday, GETDATE())",
			"DATETRUNC(hour, CAST('20200101' AS date))",
			"DATEDIFF(iso_week, '20200101', '20200201')"},
		403:  {"-'1'", "-N'1'", "-(('1'))", "-0x01"},
		8117: {"-GETDATE()", "-CAST('1' AS varchar(9))", "-CAST(1 AS sql_variant)"},
		291: {"CAST(1 AS int(4))", "CAST(1 AS bit(1))", "CONVERT(uniqueidentifier(3), NEWID())", "TRY_CAST(1 AS money(5))",
			"CAST('a' AS varchar(5, 2))", "CAST('20200101' AS date(3))"},
		8160: {"GROUPING(1)", "GROUPING_ID(1)"},
	} {
		for _, text := range texts {
			first := ""
			if number == 291 {
				first = "DELETE dbo.t\n" // the text alone tells
			}
			list = append(list, fault{first + "SELECT " + text, []int32{number}})
		}
	}
	faults(t, db, append(list, []fault{
		{"SELECT LEN(t) FROM dbo.l", []int32{8116}},
		{"SELECT REPLACE(t, 'a', 'b') FROM dbo.l", []int32{8116}},
		{"SELECT LTRIM(im) FROM dbo.l", []int32{8116}},
		{"SELECT CHARINDEX('a', im) FROM dbo.l", []int32{8116}},
		{"SELECT CHECKSUM(t) FROM dbo.l", []int32{8116}},
		{"SELECT STRING_AGG(t, ',') FROM dbo.l", []int32{8116}},
		{"SELECT STRING_AGG(b, 5) FROM dbo.l", []int32{8116}},
		{"SELECT STRING_AGG(NULL, ',') FROM dbo.l", []int32{8116}},
		{"SELECT value FROM STRING_SPLIT(5, ',')", []int32{8116}},
		{"SELECT [key] FROM OPENJSON(5)", []int32{8116}},
		{"SELECT ROW_NUMBER(1) OVER (ORDER BY id) FROM dbo.t", []int32{4114}},
		{"SELECT CUME_DIST(1) OVER (ORDER BY id) FROM dbo.t", []int32{4114}},
		{"SELECT NTILE() OVER (ORDER BY id) FROM dbo.t", []int32{4114}},
		{"SELECT FIRST_VALUE() OVER (ORDER BY id) FROM dbo.t", []int32{4114}},
		{"SELECT LAG() OVER (ORDER BY id) FROM dbo.t", []int32{10755}},
		{"SELECT GROUPING(id) FROM dbo.t", []int32{8160}},
		{"SELECT GROUPING(n) FROM dbo.t GROUP BY id", []int32{8161}},
		{"SELECT GROUPING_ID(id, n) FROM dbo.t GROUP BY id", []int32{8161}},
		{"SELECT GROUPING(n) FROM dbo.t GROUP BY ROLLUP (id)", []int32{8161}},
		{"SELECT GROUPING(1) FROM dbo.t GROUP BY id", []int32{8161}},
		{"SELECT GROUPING(id, n) FROM dbo.t GROUP BY ROLLUP (id, n)", []int32{174}},
	}...))
	g := NewWithT(t)
	g.Expect(messagesOf(t, db, "SELECT DATEADD(day, NULL, GETDATE())")).
		To(Equal([]string{"Argument data type NULL is invalid for argument 2 of dateadd function."}))
	g.Expect(messagesOf(t, db, "SELECT GROUPING_ID(id, n) FROM dbo.t GROUP BY id")).
		To(Equal([]string{"Argument 2 of the GROUPING_ID function does not match any of the expressions in the " +
			"GROUP BY clause."}))
	g.Expect(messagesOf(t, db, "SELECT Rank(1) OVER (ORDER BY id) FROM dbo.t")).
		To(Equal([]string{"The function 'Rank' takes exactly 0 argument(s)."}))
	g.Expect(messagesOf(t, db, "SELECT LAG() OVER (ORDER BY id) FROM dbo.t")).
		To(Equal([]string{"The function 'LAG' takes between 1 and 3 arguments."}))
	g.Expect(messagesOf(t, db, "SELECT -N'1'")).
		To(Equal([]string{"Invalid operator for data type. Operator equals minus, type equals nvarchar."}))
	converse(t, connection(t, db), []say{
		{
			"SELECT UPPER(5), LEN(5), REPLACE(123, 2, 'x'), REVERSE(12), CEILING('2.5'), ABS('-5'), ROUND('2.55', 1), " +
				"LEFT(123, 2), STUFF(99, 2, 1, 99), CHARINDEX('2', 12345)",
			"5 1 1x3 21 3 5 2.6 12 999 2",
		},
		{
			"SELECT SUBSTRING('abc', NULL, 1), DAY(DATEADD(day, 1.9, CAST('20200101' AS date))), DATEPART(year, " +
				"'12:10:30.123'), YEAR(0), DAY(EOMONTH('20200203', 1))",
			"NULL 2 1900 1900 31",
		},
		{
			"INSERT dbo.l VALUES (1, 'abc', 0x01, 'x'); SELECT DATALENGTH(t), SUBSTRING(t, 1, 2), PATINDEX('%b%', t), " +
				"CHARINDEX('c', t), ISNULL(t, 'a'), CONVERT(varchar(9), t) FROM dbo.l",
			"3 ab 2 3 abc abc",
		},
		{
			"SELECT DATEDIFF(hour, CAST('20200101' AS date), CAST('20200102' AS date)), DATEPART(tz, SYSDATETIMEOFFSET()) * " +
				"0, -NULL, -1, CONVERT(varchar(8), CAST('20200102' AS date), 112)",
			"24 0 NULL -1 20200102",
		},
		{
			"SELECT GROUPING(id), GROUPING_ID(id), GROUPING(id + 1) FROM dbo.t GROUP BY id, id + 1 HAVING GROUPING(id) = 0 " +
				"ORDER BY id",
			"0 0 0; 0 0 0",
		},
		{
			"SELECT id, GROUPING(id), GROUPING_ID(id, n) FROM dbo.t GROUP BY ROLLUP (id, n) HAVING GROUPING(id) = 1",
			"NULL 1 3",
		},
		{
			"SELECT NTILE(1) OVER (ORDER BY id), LAG(id, 1, 0) OVER (ORDER BY id), FIRST_VALUE(id) OVER (ORDER BY id) FROM " +
				"dbo.t ORDER BY id",
			"1 0 1; 1 1 1",
		},
		{"SELECT STRING_AGG(b, ','), STRING_AGG(CAST(NULL AS varchar(3)), ',') FROM dbo.l", "x NULL"},
	})
}

// TestFaultsOfMoney goes by docs/t-sql/data-types/money-and-smallmoney-transact-sql.md and
// docs/t-sql/functions/cast-and-convert-transact-sql.md.
func TestFaultsOfMoney(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"SELECT CAST($123456.78 AS char(3))", []int32{234}},
		{"SELECT CONVERT(nvarchar(5), $12345.6789, 2)", []int32{234}},
		{"SELECT CAST('abc' AS money)", []int32{235}},
		{"SELECT CAST('999999999999999999' AS money)", []int32{236}},
		{"SELECT CAST('abc' AS smallmoney)", []int32{293}},
		{"SELECT CAST('999999' AS smallmoney)", []int32{294}},
		{"SELECT CAST(999999 AS smallmoney)", []int32{8115}},
		{"SELECT CAST($999999 AS smallmoney)", []int32{8115}},
	})
	converse(t, connection(t, db), []say{
		{
			"SELECT TRY_CAST('999999' AS smallmoney), TRY_CAST('99999999999999999999' AS money), TRY_CAST('abc' AS " +
				"smallmoney), TRY_CAST($123456.78 AS varchar(3))",
			"NULL NULL NULL NULL",
		},
		{
			"SELECT CAST('214748.3647' AS smallmoney), CAST($12.5 AS char(6)), CAST('$1,234.5' AS money)",
			"214748.3647 12.50  1234.5000",
		},
	})
}

// TestFaultsOfRecursion goes by docs/t-sql/queries/with-common-table-expression-transact-sql.md, what the recursive
// member may not have.
func TestFaultsOfRecursion(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	begin := "WITH c AS (SELECT 1 AS n UNION ALL "
	faults(t, db, []fault{
		{begin + "SELECT a.n + 1 FROM c a JOIN c b ON a.n = b.n) SELECT n FROM c", []int32{253}},
		{begin + "SELECT n + 1 FROM c WHERE n < (SELECT MAX(n) FROM c)) SELECT n FROM c", []int32{465}},
		{begin + "SELECT DISTINCT n + 1 FROM c WHERE n < 3) SELECT n FROM c", []int32{460}},
		{begin + "SELECT TOP 1 n + 1 FROM c WHERE n < 3) SELECT n FROM c", []int32{461}},
		{begin + "SELECT MAX(n) + 1 FROM c) SELECT n FROM c", []int32{467}},
		{begin + "SELECT n + 1 FROM c WHERE n < 3 GROUP BY n) SELECT n FROM c", []int32{467}},
		{begin + "SELECT c.n + 1 FROM dbo.t LEFT JOIN c ON c.n = t.id) SELECT n FROM c", []int32{462}},
	})
	converse(t, connection(t, db), []say{
		{
			"WITH c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < (SELECT MAX(id) FROM dbo.t)) SELECT n FROM c",
			"1; 2",
		},
		{"WITH c AS (SELECT 1 AS n UNION ALL SELECT c.n + 1 FROM c JOIN dbo.t ON t.id = c.n) SELECT n FROM c", "1; 2; 3"},
		{
			"WITH c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 2 UNION ALL SELECT n + 1 FROM c WHERE n < 2) " +
				"SELECT COUNT(*) FROM c",
			"3",
		},
	})
}

// TestFaultsOfHints goes by docs/t-sql/queries/hints-transact-sql-table.md, INDEX and FORCESEEK.
func TestFaultsOfHints(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	faults(t, db, []fault{
		{"SELECT id FROM dbo.t WITH (INDEX (nosuch))", []int32{308}},
		{"SELECT id FROM dbo.t WITH (INDEX = nosuch)", []int32{308}},
		{"SELECT id FROM dbo.t WITH (FORCESEEK (nosuch (id)))", []int32{308}},
		{"SELECT id FROM dbo.t WITH (INDEX (9))", []int32{307}},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "SELECT id FROM dbo.t WITH (INDEX (nosuch))")).
		To(Equal([]string{"Index 'nosuch' on table 'dbo.t' (specified in the FROM clause) does not exist."}))
	converse(t, connection(t, db), []say{
		{"SELECT COUNT(*) FROM dbo.t WITH (INDEX (IX_N)) JOIN dbo.t AS b WITH (INDEX (0)) ON b.id = t.id", "2"},
		{"SELECT COUNT(*) FROM dbo.t WITH (INDEX (1), NOLOCK)", "2"},
		{"SELECT COUNT(*) FROM dbo.t WITH (FORCESEEK (pk_t (id)))", "2"},
	})
}

// TestProcedureInAVariable goes by docs/t-sql/language-elements/execute-transact-sql.md, @module_name_var.
func TestProcedureInAVariable(t *testing.T) {
	t.Parallel()
	db := faultyDatabase(t)
	converse(t, connection(t, db), []say{
		{"DECLARE @p sysname = 'dbo.pr'; EXEC @p 'abc'", "!8114/16"},
		{"DECLARE @p sysname = 'dbo.pr'; EXEC @p 5", "5"},
		{"DECLARE @p sysname = 'dbo.pr'; EXEC @p @a = '6'", "6"},
		{"DECLARE @p sysname = 'dbo.pr', @q int = 3; EXECUTE @p @q", "3"},
		{"DECLARE @p sysname = 'sp_executesql'; EXEC @p N'SELECT @x', N'@x int', 8", "8"},
		{"DECLARE @p sysname = 'dbo.pr', @r int = 7; EXEC @r = @p -1", "-1"},
		{"CREATE TABLE #r (a int); DECLARE @p sysname = 'dbo.pr'; INSERT #r EXEC @p 9; SELECT a FROM #r", "9"},
	})
}
