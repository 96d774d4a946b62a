// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// What stands where nothing of the kind may is refused before the first statement of the batch runs.
func TestStrayTokens(t *testing.T) {
	for _, c := range []struct {
		text   string
		number int32
		line   int32
		near   string
	}{
		{"SELECT 1\nSELECT a FROM table", 156, 2, "'table'"},
		{"ALTER TABLE key DROP COLUMN a", 156, 1, "'key'"},
		{"CREATE PROCEDURE dbo.index AS SELECT 1", 156, 1, "'index'"},
		{"SELECT a.default FROM t AS a", 156, 1, "'default'"},
		{"DROP INDEX when ON t", 156, 1, "'when'"},
		{"SELECT a.\nFROM t AS a", 156, 2, "'FROM'"},
		{"TRUNCATE TABLE dbo.", 102, 1, "'.'"},
		{"SELECT a FROM t AS x WHERE x.a = x.", 102, 1, "'.'"},
		{"CREATE TABLE t (a int,, b int)", 102, 1, "','"},
		{"WITH c (, b) AS (SELECT 1, 2) SELECT b FROM c", 102, 1, "','"},
		{"ALTER INDEX i ON t REBUILD WITH (FILLFACTOR = 80;, MAXDOP = 2)", 102, 1, "';'"},
		{"ALTER INDEX i ON t REBUILD WITH (FILLFACTOR = 80 90)", 102, 1, "'90'"},
		{"ALTER INDEX i ON t REBUILD WITH (80)", 102, 1, "'80'"},
		{"ALTER INDEX i ON t SET (COMPRESSION_DELAY = AUTO)", 102, 1, "'AUTO'"},
		{"ALTER INDEX i ON t SET (IGNORE_DUP_KEY = OFF (SUPPRESS_MESSAGES = ON))", 102, 1, "'('"},
		{"ALTER INDEX i ON t REBUILD WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = -1, ABORT_AFTER_WAIT = NONE)))",
			102, 1, "'-'"},
		{"ALTER INDEX i ON t REBUILD WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1, ABORT_AFTER_WAIT = ALL)))",
			156, 1, "'ALL'"},
		{"CREATE TABLE t (a int NOT, b int)", 102, 1, "','"},
		{"CREATE TABLE t (a int NOT\nPRIMARY KEY)", 156, 2, "'PRIMARY'"},
		{"CREATE TABLE t (a int PRIMARY KEY NOT ENFORCED)", 102, 1, "'ENFORCED'"},
		{"CREATE TABLE t (a int, REFERENCES u (a))", 142, 1, "'TABLE'"},
		{"CREATE TABLE t (@a int)", 102, 1, "'@a'"},
		{"CREATE TABLE t (a int) ON", 102, 1, "'ON'"},
		{"CREATE TYPE x AS TABLE (a int,)", 102, 1, "')'"},
		{"DECLARE @t TABLE (a int,)", 102, 1, "')'"},
		{"CREATE TYPE x AS (a int)", 102, 1, "'('"},
		{"INSERT t WITH () VALUES (1)", 102, 1, "')'"},
		{"SELECT a FROM t (INDEX (i))", 1018, 1, "'INDEX'"},
		{"SELECT * FROM OPENJSON()", 102, 1, "')'"},
		{"SELECT * FROM OPENJSON('{}', '$', '$')", 102, 1, "','"},
		{"SELECT * FROM OPENJSON('{}') WITH ()", 102, 1, "')'"},
		{"SELECT * FROM OPENJSON('{}') WITH ('$.a' int)", 102, 1, "'$.a'"},
		{"SELECT a FROM t FOR XML PATH()", 102, 1, "')'"},
		{"SELECT a FROM t FOR JSON", 102, 1, "'JSON'"},
		{"ALTER TABLE t ALTER COLUMN a datetime2 GENERATED ALWAYS AS ROW START", 40517, 1, "GENERATED ALWAYS"},
	} {
		_, err := syntax.Parse(c.text)
		g := NewWithT(t)
		g.Expect(err).NotTo(BeNil(), c.text)
		g.Expect(err.Number).To(Equal(c.number), "%s: %s", c.text, err.Message)
		g.Expect(err.Line).To(Equal(c.line), c.text)
		g.Expect(err.Message).To(ContainSubstring(c.near), c.text)
	}
}

// Words of gone statements name columns, and CREATE TABLE may end with a comma.
func TestWhatIsNotStray(t *testing.T) {
	for _, text := range []string{"SELECT precision, t.load FROM sys.columns AS t",
		"CREATE TABLE load (disk int, within int,)", "SELECT LEFT(a, 1), t.IDENTITYCOL, x.* FROM t AS x",
		"SELECT a FROM master..t AS q FOR XML PATH(''), ROOT('r')", "SELECT (SELECT 1 AS a FOR JSON PATH)",
		"EXEC p WITH RESULT SETS (AS FOR XML)",
		"ALTER INDEX i ON t REBUILD WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = " +
			"SELF)), MAXDOP = 2)"} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}
