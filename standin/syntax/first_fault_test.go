// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// fault is what a text is refused with.
type fault struct {
	text         string
	number, line int32
	near         string
}

func refusedWith(t *testing.T, faults []fault) {
	t.Helper()
	for _, c := range faults {
		_, err := syntax.Parse(c.text)
		g := NewWithT(t)
		g.Expect(err).NotTo(BeNil(), c.text)
		g.Expect(err.Number).To(Equal(c.number), "%s: %s", c.text, err.Message)
		g.Expect(err.Line).To(Equal(c.line), "%s: %s", c.text, err.Message)
		g.Expect(err.Message).To(ContainSubstring(c.near), c.text)
	}
}

// Of several faults a batch is refused with the one that a reader comes to first, wherever they are found.
func TestFirstFault(t *testing.T) {
	refusedWith(t, []fault{
		{"SELECT a FROM t x y;\nDECLARE rows int", 102, 1, "'y'"},
		{"SELECT a FROM t x y\nBACKUP DATABASE d TO", 102, 1, "'y'"},
		{"SELECT a FROM t WHERE a IN (1, 2\nBACKUP DATABASE d TO", 102, 2, "'TO'"},
		{"BEGIN\nSELECT 1;\nBACKUP DATABASE d TO\nEND", 156, 4, "'END'"},
		{"SELECT 1\nINSERT INTO VALUES (1)\nSELECT * FROM t WHERE", 156, 2, "'VALUES'"},
		{"CREATE VIEW v WITH SCHEMABINDING AS\nSELECT a, IN b\nFROM dbo.t WITH CHECK OPTION", 156, 2, "'IN'"},
		{"CREATE VIEW v AS SELECT a FROM dbo.t\nWHERE a\nWITH CHECK OPTION", 4145, 2, "'a'"},
		{"CREATE FUNCTION f (@a int) RETURNS int AS\nBEGIN\nSET, @a = 1;\nRETURN @a;\nEND", 102, 3, "','"},
		{
			"CREATE FUNCTION f (@a int) RETURNS int WITH SCHEMABINDING AS\nBEGIN\nDECLARE @é nvarchar(9) = N'é';\n = " +
				"@a\nRETURN @a;\nEND",
			102,
			4,
			"'='",
		},
		{"CREATE VIEW v WITH SCHEMABINDING,\nAS SELECT 1 AS a", 156, 2, "'AS'"},
		{"CREATE VIEW v WITH SCHEMABINDING", 102, 1, "'SCHEMABINDING'"},
		{"CREATE OR ALTER VIEW dbo.v\nWITH = ENCRYPTION AS SELECT 1 AS a", 102, 2, "'='"},
		{"CREATE FUNCTION f\nRETURNS int AS BEGIN RETURN 1 END", 102, 2, "'RETURNS'"},
		{"CREATE FUNCTION f () RETURNS int AS\nAS BEGIN RETURN 1 END", 156, 2, "'AS'"},
		{"CREATE FUNCTION f () RETURNS @t TABLE\nAS BEGIN RETURN END", 156, 2, "'AS'"},
		{"CREATE FUNCTION f () RETURNS TABLE AS\nRETURN 1", 102, 2, "'1'"},
		{"CREATE PROCEDURE p @a int WITH\nWHERE AS SELECT 1", 156, 2, "'WHERE'"},
		{"CREATE PROCEDURE p @a int", 102, 1, "'int'"},
		{"CREATE TRIGGER g ON t AFTER INSERT,\nAS SELECT 1", 156, 2, "'AS'"},
		{"CREATE TRIGGER g ON t FOR\nSELECT AS SELECT 1", 156, 2, "'SELECT'"},
		{"CREATE TRIGGER g ON t AFTER INSERT\nBEGIN SELECT 1 END", 156, 2, "'BEGIN'"},
		{"IF 1 = 1 BEGIN SELECT 1;\nBEGIN SELECT 2; END", 102, 2, "'END'"},
		{"CREATE TRIGGER g ON t AFTER INSERT AS BEGIN\nBEGIN SELECT 1 END", 102, 2, "'END'"},
		{"SELECT 1\nEND", 156, 2, "'END'"},
		{"BEGIN TRY SELECT 1 END TRY\nSELECT 2 END CATCH", 156, 2, "'SELECT'"},
		{"BEGIN TRY SELECT 1 END\nBEGIN CATCH SELECT 2 END CATCH", 156, 2, "'BEGIN'"},
		{"BEGIN TRY SELECT 1 END TRY BEGIN CATCH", 102, 1, "'CATCH'"},
		{"SELECT a,\nTHEN FROM t WHERE a =", 156, 2, "'THEN'"},
		{"SELECT a FROM t WHERE a =\nBY\nORDER BY a", 156, 2, "'BY'"},
		{"SET TRANSACTION SERIALIZABLE", 102, 1, "'SERIALIZABLE'"},
		{"SET TRANSACTION ISOLATION", 102, 1, "'ISOLATION'"},
		{"DROP INDEX IF EXISTS", 102, 1, "'EXISTS'"},
	})
}

// Bodies that are read by themselves, and blocks, are whole: with options, names of columns and letters of more than a
// byte before them.
func TestWholeBodies(t *testing.T) {
	for _, text := range []string{
		"CREATE VIEW [é] (a) WITH SCHEMABINDING AS SELECT N'é' AS a FROM dbo.t WHERE .5 < b WITH CHECK OPTION;",
		"ALTER VIEW v WITH SCHEMABINDING, VIEW_METADATA AS WITH c AS (SELECT 1 AS a) SELECT a FROM c",
		"CREATE OR ALTER VIEW dbo.v AS (SELECT a FROM dbo.t) UNION ALL SELECT b FROM dbo.u",
		"BEGIN TRY BEGIN TRAN; SELECT CASE a WHEN 1 THEN 2 END FROM t; COMMIT; END TRY BEGIN CATCH END CATCH; BEGIN BEGIN " +
			"TRANSACTION x SELECT 1 END",
		"SELECT a, SUM(b) OVER (ORDER BY a) FROM t OPTION (HASH GROUP, ORDER GROUP)", "EXEC p WITH RESULT SETS (AS FOR XML)",
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"CREATE TABLE t (a bigint GENERATED ALWAYS AS TRANSACTION_ID END NOT NULL, b datetime2 GENERATED ALWAYS AS ROW END)",
		"CREATE VIEW v AS SELECT a AS [as], CASE WHEN a = 1 THEN 'WITH CHECK OPTION' END AS b FROM t;;",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}
