// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// malformedOnLine2 checks the error that texts have behind a line of their own.
func malformedOnLine2(t *testing.T, number int32, texts map[string]string) {
	t.Helper()
	for text, near := range texts {
		g := NewWithT(t)
		_, err := syntax.Parse("\n" + text)
		g.Expect(err).NotTo(BeNil(), text)
		g.Expect(err.Number).To(Equal(number), "%s: %s", text, err.Message)
		g.Expect(err.Message).To(ContainSubstring("'"+near+"'"), text)
		g.Expect(err.Line).To(BeEquivalentTo(2), text)
	}
}

func TestHalvesOfClauses(t *testing.T) {
	malformedOnLine2(t, 102, map[string]string{
		"SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH 5 ROWS ONLY":    "5",
		"SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH NEXT ROWS ONLY": "ROWS",
		"SELECT a FROM t ORDER BY a OFFSET ROWS FETCH NEXT 5 ROWS ONLY": "ROWS",
		"SELECT SUM(a) OVER (b ORDER BY a) FROM t":                      "b",
		"SELECT SUM(a) OVER (PARTITION a) FROM t":                       "a", "IF 1 = 1 SELECT 1 ELSE; SELECT 2": ";",
		"CREATE UNIQUE ix ON t (a)": "ix", "CREATE CLUSTERED ix ON t (a)": "ix",
		"CREATE UNIQUE NONCLUSTERED ix ON t (a)": "ix", "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a)": ")",
		"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u ()":               ")",
		"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (a) ON DELETE":    "DELETE",
		"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (a) ON UPDATE NO": "NO",
		"MERGE t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE a = 1;":                 "a", "SELECT * FROM (t)": ")",
		"SELECT * FROM (dbo.t AS x)":            ")",
		"WITH c (a) (SELECT 1) SELECT a FROM c": "(", "SELECT p.* FROM t PIVOT (SUM() FOR b IN ([1])) AS p": ")",
		"SELECT p.* FROM t PIVOT (SUM(a) b IN ([1])) AS p":   "b",
		"SELECT p.* FROM t PIVOT (SUM(a) FOR b IN (1)) AS p": "1", "CREATE SEQUENCE s MINVALUE": "MINVALUE",
		"CREATE SEQUENCE s MAXVALUE CYCLE": "CYCLE",
		"CREATE SYNONYM s":                 "s", "CREATE SYNONYM s t": "t", "CREATE SYNONYM s FOR": "FOR",
		"CREATE FUNCTION f":                       "f",
		"CREATE DEFAULT d 1":                      "1",
		"ALTER TABLE t DROP CONSTRAINT c, COLUMN": "COLUMN",
	})
	malformedOnLine2(t, 156, map[string]string{
		"SELECT a FROM t WHERE a NOT IS NULL": "IS", "SELECT SUM(a) OVER (PARTITION BY ORDER BY a) FROM t": "ORDER",
		"SELECT p.* FROM (SELECT a, b FROM t) PIVOT (SUM(a) FOR b IN ([1])) AS p":          "PIVOT",
		"SELECT p.* FROM t PIVOT (a FOR b IN ([1])) AS p":                                  "FOR",
		"ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (a) ON UPDATE SELECT": "SELECT",
	})
	malformedOnLine2(t, 102, map[string]string{
		"SELECT COUNT(DISTINCT) FROM t": ")", "SELECT COUNT(DISTINCT *) FROM t": "*", "THROW 50000, x, 1": "x",
		"THROW 50000, @a, 1 + 1":            "+",
		"CREATE TABLE t (a int, UNIQUE ())": ")", "CREATE TABLE t (a int, CONSTRAINT p PRIMARY KEY CLUSTERED ())": ")",
		"CREATE TABLE t (a int, CONSTRAINT f FOREIGN KEY a)": "a",
	})
	malformedOnLine2(
		t,
		156,
		map[string]string{
			"BEGIN THROW 50000, 'x' END":                                         "END",
			"CREATE CREATE TABLE t (a int)":                                      "CREATE",
			"MERGE t USING (SELECT 1 AS a) ON t.a = 1 WHEN MATCHED THEN DELETE;": "ON",
		},
	)
	malformedOnLine2(t, 195, map[string]string{"SET nothing 1": "nothing"})
	for text, number := range map[string]int32{"SELECT 1 AS ''": 1038,
		"CREATE TRIGGER g ON t FOR INSERT AS IF @a = 1 RETURN 1": 178} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).NotTo(BeNil(), text)
		NewWithT(t).Expect(err.Number).To(Equal(number), text)
	}
	malformedOnLine2(
		t,
		1035,
		map[string]string{"SELECT CAST(1, int)": "CAST", "SELECT try_cast(a + (1))": "try_cast", "SELECT 1 + CAST()": "CAST"},
	)
	for text, near := range map[string]string{"SELECT $x FROM t": "$x", "SELECT t.$rowgiud FROM t": "$rowgiud"} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).NotTo(BeNil(), text)
		NewWithT(t).Expect(err.Number).To(BeEquivalentTo(126), text)
		NewWithT(t).Expect(err.Message).To(ContainSubstring(near))
	}
	malformedOnLine2(
		t,
		102,
		map[string]string{
			"SELECT CAST(a int) FROM t":       "int",
			"CREATE LOGIN l WITH PASSWORD":    "PASSWORD",
			"ALTER LOGIN l WITH PASSWORD 'x'": "x",
		},
	)
	for _, text := range []string{
		"SELECT $IDENTITY, t.$ROWGUID, $1, CAST($2 AS int), CAST(1 + (2) AS varchar(9)), dbo.CAST(1, 2) FROM t",
		"MERGE t USING u ON t.a = u.a WHEN MATCHED THEN DELETE OUTPUT $action;",
		"CREATE TABLE cast (a int); INSERT cast (a) VALUES (1); SELECT * FROM t cast (nolock)",
		"BEGIN TRY THROW @a, @b, @c END TRY BEGIN CATCH THROW END CATCH",
		"SELECT COUNT(DISTINCT a), throw FROM t FOR XML PATH ('')", "SET DATEFIRST 1 SET LOCK_TIMEOUT 5 SET ROWCOUNT 3",
		"CREATE TRIGGER g ON t FOR INSERT AS IF @a = 1 RETURN SELECT 1", "EXECUTE AS USER = ''", "EXEC sp_throw 1, x",
		"SELECT offset, [rows] FROM t ORDER BY a OFFSET (1) ROWS FETCH FIRST (SELECT 1) ROW ONLY",
		"SELECT a FROM t ORDER BY a OFFSET @a ROW FETCH NEXT @b ROWS ONLY",
		"SELECT SUM(a) OVER (), SUM(a) OVER (PARTITION BY a, b ORDER BY c ROWS UNBOUNDED PRECEDING) FROM t",
		"SELECT SUM(a) OVER w FROM t WINDOW w AS (ORDER BY a)",
		"CREATE UNIQUE CLUSTERED INDEX ix ON t (a)", "CREATE NONCLUSTERED COLUMNSTORE INDEX ix ON t (a)",
		"CREATE TABLE t (a int UNIQUE CLUSTERED, b int UNIQUE NONCLUSTERED)",
		"CREATE TABLE t (a int REFERENCES u ON DELETE SET NULL ON UPDATE NO ACTION, b int FOREIGN KEY REFERENCES u (b), " +
			"FOREIGN KEY (a, b) REFERENCES dbo.u (a, b) ON UPDATE CASCADE)",
		"SELECT * FROM (t CROSS JOIN u)", "SELECT * FROM (t AS x JOIN u ON 1 = 1)", "SELECT * FROM (SELECT a FROM t) AS t",
		"SELECT * FROM (VALUES (1)) AS t (a)",
		"SELECT p.* FROM (SELECT a, b FROM t) s PIVOT (SUM(s.a) FOR s.b IN ([1], x)) AS p",
		"CREATE SEQUENCE s NO MINVALUE MAXVALUE -5 NO CYCLE", "WITH c (a) AS (SELECT 1) SELECT a FROM c",
		"SELECT MIN(a) AS minvalue FROM t", "CREATE SYNONYM dbo.s FOR a..b",
		"CREATE FUNCTION dbo.f () RETURNS int AS BEGIN RETURN 1 END", "CREATE DEFAULT dbo.d AS 1",
		"GRANT DELETE, UPDATE ON t TO u", "SELECT * FROM t WITH (NOLOCK) JOIN dbo.f(1) AS f ON 1 = 1",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}

func TestArgumentsAreNoExpressions(t *testing.T) {
	malformedOnLine2(t, 102, map[string]string{
		"EXEC p (1)": "1", "EXEC p (@a)": "@a", "p (1)": "1", "EXEC dbo.p @a = (1)": "(", "EXEC p @a = (SELECT 1)": "(",
		"EXEC p @a = 1 + 1": "+", "EXECUTE p 'a' + @b": "+",
		"EXEC p a.b": ".", "EXEC p GETDATE()": ")", "EXEC @r = p @a = GETDATE()": ")", "EXEC p 1, @b = UPPER('x')": "x",
		"EXEC p 1, (2)": "(", "p 1, -2 * 3": "*",
		"INSERT t EXEC p @a OUTPUT, 1 / 2": "/", "EXEC @p 1 - 1": "-",
	})
	malformedOnLine2(t, 156, map[string]string{"EXEC p @a = SELECT 1": "SELECT"})
	for _, text := range []string{
		"EXEC p -1, +2, $3, 0x04, N'5', [a], b, NULL, DEFAULT, @c OUTPUT, @@ROWCOUNT",
		"EXEC p @a = DEFAULT, @b = @c OUT WITH RECOMPILE", "EXEC p (SELECT 1)", "EXEC p\n((SELECT 1))",
		"EXEC ('SELECT ' + @a)", "EXEC @r = srv.db..p;1 @a = 1", "EXECUTE AS USER = 'x'", "EXEC ('x', 1) AT srv",
		"GRANT EXECUTE ON p TO u", "EXEC @p @a, @b = 1",
		"INSERT t EXEC p 1 SELECT (1 + 2)", "IF @a = 1 EXEC p 1 ELSE SELECT 1",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).To(BeNil(), text)
	}
}
