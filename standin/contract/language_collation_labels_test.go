// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestCollationLabels goes by docs/t-sql/statements/collation-precedence-transact-sql.md.
func TestCollationLabels(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	converse(t, connection(t, db), []say{
		{
			"CREATE TABLE TestTab (id int, GreekCol nvarchar(10) COLLATE greek_ci_as, LatinCol nvarchar(10) COLLATE " +
				"latin1_general_cs_as); INSERT TestTab VALUES (1, N'A', N'a')",
			"ok",
		},
		{"SELECT * FROM TestTab WHERE GreekCol = LatinCol COLLATE greek_ci_as", "1 A a"},
		{"SELECT (CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END) FROM TestTab", "!451/16/1/1"},
		{"SELECT PATINDEX((CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END), 'a') FROM TestTab", "!446/16/9/1"},
		{"SELECT (CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END) COLLATE Latin1_General_CI_AS FROM TestTab", "a"},
		{
			"SELECT PATINDEX((CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END) COLLATE Latin1_General_CI_AS, 'A') " +
				"FROM TestTab",
			"1",
		},
		{
			"SELECT UPPER(GreekCol + LatinCol) FROM TestTab",
			"!446/16/9/1",
		}, {"SELECT LEN(CASE id WHEN 1 THEN GreekCol ELSE LatinCol END) FROM TestTab", "!446/16/9/1"},
		{
			"SELECT CHARINDEX(GreekCol, LatinCol) FROM TestTab",
			"!468/16/9/1",
		}, {"SELECT PATINDEX(GreekCol, LatinCol) FROM TestTab", "!468/16/9/1"},
		{"SELECT REPLACE(GreekCol, LatinCol, N'x') FROM TestTab", "!468/16/9/1"},
		{
			"SELECT CHARINDEX(GreekCol, LatinCol COLLATE greek_ci_as), REPLACE(GreekCol, N'a', N'b'), CHARINDEX(N'A', " +
				"LatinCol) FROM TestTab",
			"1 b 0",
		},
		{"SELECT 1 FROM TestTab WHERE GreekCol = ('abc' COLLATE French_CI_AS) COLLATE French_CS_AS", "!445/16"},
		{"SELECT x FROM (SELECT LatinCol COLLATE French_CI_AS AS x FROM TestTab) d WHERE x = 'A' COLLATE Greek_CI_AS", "a"},
		{"SELECT x COLLATE Greek_CI_AS FROM (SELECT LatinCol COLLATE French_CI_AS AS x FROM TestTab) d", "a"},
	})
	NewWithT(
		t,
	).Expect(messagesOf(t, db, "SELECT REPLACE(GreekCol, LatinCol, N'x') FROM TestTab")).
		To(Equal([]string{`Cannot resolve the collation conflict between "Latin1_General_CS_AS" and "Greek_CI_AS" in the replace operation.`}))
}

// TestNamesOfCollations: docs/t-sql/statements/windows-collation-name-transact-sql.md and
// sql-server-collation-name-transact-sql.md.
func TestNamesOfCollations(t *testing.T) {
	t.Parallel()
	list := []say{}
	for _, name := range []string{"Latn1_General_CI_AS", "Latin1_General_CI", "Latin1_General_CI_AS_",
		"Latin1_General_AS_CI", "Latin1_General_99_CI_AS", "Latin1_General_CI_AS_XX", "SQL_Latin1_General_CI_AS",
		"French_CX_AS", "BIN2", "Foo_BIN"} {
		list = append(
			list,
			say{"SELECT 'a' COLLATE " + name, "!448/16/1/1"},
			say{"CREATE TABLE nowhere (a varchar(9) COLLATE " + name + ")", "!448/16/1/1"},
			say{"CREATE DATABASE nowhere COLLATE " + name, "!448/16"},
		)
	}
	for _, name := range []string{"Latin1_General_100_CI_AS_KS_WS_SC_UTF8", "SQL_Latin1_General_CP1_CS_AS",
		"Japanese_Bushu_Kakusu_140_CI_AI_KS_WS_VSS", "SQL_AltDiction_CP850_CI_AI", "Finnish_Swedish_100_CS_AS_SC",
		"Chinese_PRC_BIN2"} {
		list = append(list, say{"SELECT 'a' COLLATE " + name, "a"})
	}
	converse(
		t,
		connection(t, newDatabase(t)),
		append(
			list,
			say{
				"CREATE TABLE t (a varchar(9) COLLATE LATIN1_general_ci_as); SELECT collation_name FROM sys.columns WHERE " +
					"object_id = OBJECT_ID('t')",
				"Latin1_General_CI_AS",
			},
		),
	)
}

// TestCollationsOfDerivedColumnsAreNamed: the message has the collations that a derived table, a common table
// expression or a function gave a column.
func TestCollationsOfDerivedColumnsAreNamed(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	const one, two = "(SELECT 'a' COLLATE French_CS_AS AS x)", "(SELECT 'a' COLLATE Greek_CI_AS AS x)"
	want := []string{
		`Cannot resolve the collation conflict between "Greek_CI_AS" and "French_CS_AS" in the equal to operation.`,
	}
	for _, text := range []string{
		"SELECT 1 FROM " + one + " a JOIN " + two + " b ON a.x = b.x", "WITH a AS " + one + ", b AS " + two +
			" SELECT 1 FROM a JOIN b ON a.x = b.x",
		"SELECT 1 FROM " + one + " a JOIN " + two + " b ON UPPER(a.x) = UPPER(b.x)",
		"SELECT 1 FROM (SELECT MAX(x) AS x FROM " + one + " i) a JOIN " + two + " b ON a.x = b.x",
		"SELECT 1 WHERE " + one + " = " + two, "SELECT 1 FROM " + one + " a CROSS APPLY (SELECT a.x AS y) c JOIN " + two +
			" b ON c.y = b.x",
		"SELECT 1 FROM " + one + " a JOIN (VALUES ('a' COLLATE Greek_CI_AS)) b (x) ON a.x = b.x",
		"SELECT 1 FROM " + one + " a JOIN " + two + " b ON ISNULL(a.x, 'b') = CAST(b.x AS varchar(3))",
	} {
		NewWithT(t).Expect(messagesOf(t, db, text)).To(Equal(want), text)
	}
}

// TestSelectIntoKeepsCollations: docs/t-sql/queries/select-into-clause-transact-sql.md, the columns are those of the
// select list.
func TestSelectIntoKeepsCollations(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE t (n int, a nvarchar(9) COLLATE Latin1_General_BIN2, b varchar(9)); INSERT t VALUES (1, N'a', " +
				"'a'), (2, N'A', 'A')",
			"ok",
		},
		{"SELECT n, a, b, b COLLATE French_CS_AS AS c, UPPER(a) AS d, a + N'x' AS e, 'x' AS f INTO u FROM t", "ok"},
		{"SELECT ISNULL(collation_name, '-') FROM sys.columns WHERE object_id = OBJECT_ID('u') ORDER BY column_id",
			"-; Latin1_General_BIN2; SQL_Latin1_General_CP1_CI_AS; French_CS_AS; Latin1_General_BIN2; Latin1_General_BIN2; " +
				"SQL_Latin1_General_CP1_CI_AS"},
		{
			"SELECT COUNT(*) FROM u WHERE a = N'A'",
			"1",
		}, {"SELECT COUNT(*) FROM u WHERE b = 'A'", "2"}, {"SELECT COUNT(*) FROM u WHERE c = 'A'", "1"},
		{
			"SELECT x.a INTO v FROM (SELECT a FROM t UNION ALL SELECT a FROM t) x",
			"ok",
		}, {"SELECT COUNT(*) FROM v WHERE a = N'A'", "2"},
	})
}
