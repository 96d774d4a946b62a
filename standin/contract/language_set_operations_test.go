// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestSetOperations: INTERSECT binds before UNION and EXCEPT, which go from left to right
// (docs/t-sql/language-elements/set-operators-except-and-intersect-transact-sql.md, Remarks), and ORDER BY, OFFSET and
// FOR belong to the whole query expression (docs/t-sql/queries/select-transact-sql.md, Syntax;
// docs/t-sql/queries/select-order-by-clause-transact-sql.md, example "Using OFFSET and FETCH with UNION").
func TestSetOperations(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT 1 AS a UNION SELECT 2 INTERSECT SELECT 2", "1; 2"},
		{"(SELECT 1 AS a UNION SELECT 2) INTERSECT SELECT 2", "2"},
		{"SELECT a FROM (SELECT 1 AS a EXCEPT SELECT 1 INTERSECT SELECT 2) AS t", "1"},
		{"SELECT 1 AS a UNION SELECT 2 EXCEPT SELECT 1 INTERSECT SELECT 1 UNION ALL SELECT 9", "2; 9"},
		{"SELECT 1 INTERSECT SELECT 1 UNION SELECT 3 INTERSECT SELECT 3 INTERSECT SELECT 3", "1; 3"},
		{"SELECT 1 AS a UNION ALL SELECT 3 UNION ALL SELECT 2 ORDER BY a OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", "2"},
		{"SELECT 1 AS a UNION ALL SELECT 3 UNION ALL SELECT 2 ORDER BY a DESC OFFSET 2 ROWS", "1"},
		{"SELECT a FROM (SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a OFFSET 1 ROW FETCH FIRST 1 ROW ONLY) AS t", "2"},
		{
			"WITH c AS (SELECT N'é' AS a UNION ALL SELECT N'z') SELECT a FROM c UNION SELECT N'x' ORDER BY 1 OFFSET 1 ROWS",
			"x; z",
		},
		{"SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a OFFSET -1 ROWS", "!10742/15/1"},
		{"SELECT a FROM (SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a) AS t", "!1033/16/1"},
		{"(SELECT 1 AS a UNION SELECT 2) ORDER BY a DESC", "2; 1"},
		{"(SELECT 1 AS a) FOR JSON PATH", `[{"a":1}]`},
		{"SELECT 1 AS a UNION ALL SELECT 2 FOR JSON PATH", `[{"a":1},{"a":2}]`},
		{"SELECT 2 AS a UNION ALL SELECT 1 ORDER BY a FOR XML PATH('x'), ROOT('r')", "<r><x><a>1</a></x><x><a>2</a></x></r>"},
		{"SELECT 2 AS a UNION ALL SELECT 1 ORDER BY a OFFSET 1 ROWS FOR XML RAW", `<row a="2"/>`},
		{"SELECT (SELECT 1 AS a UNION ALL SELECT 2 FOR JSON PATH)", `[{"a":1},{"a":2}]`},
		{"CREATE VIEW v AS SELECT 1 AS a EXCEPT SELECT 2 INTERSECT SELECT 2", "ok"},
		{"SELECT a FROM v", "1"},
		{"CREATE PROCEDURE p @n int AS SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a OFFSET @n ROWS", "ok"},
		{"EXEC p 1", "2"},
		{"SELECT 1 AS a INTO kept UNION ALL SELECT 2 ORDER BY a OFFSET 1 ROW", "ok"},
		{"INSERT kept SELECT 7 UNION ALL SELECT 8 ORDER BY 1 OFFSET 1 ROWS", "ok"},
		{"SELECT a FROM kept ORDER BY a", "2; 8"},
		{
			"DECLARE c CURSOR FOR SELECT a FROM kept UNION SELECT 1 ORDER BY a FOR READ ONLY; OPEN c; FETCH c; CLOSE c; " +
				"DEALLOCATE c",
			"1",
		},
	})
}
