// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestOPENJSONTwice: docs/relational-databases/json/json-data-sql-server.md, "Transform arrays of JSON objects", where
// two OPENJSON have no alias.
func TestOPENJSONTwice(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			`SELECT id, lastName, skill FROM OPENJSON(N'[{"id": 2, "info": {"surname": "Smith"}}, {"id": 5, "info": {"surname": "Jones", "skills": ["SQL", "C#"]}}]')
WITH (id int 'strict $.id', lastName nvarchar(50) '$.info.surname', skills nvarchar(max) '$.info.skills' AS JSON)
OUTER APPLY OPENJSON(skills) WITH (skill nvarchar(8) '$')`,
			"2 Smith NULL; 5 Jones SQL; 5 Jones C#",
		},
		{`SELECT COUNT(*) FROM OPENJSON('[1,2]'), OPENJSON('[1,2,3]')`, "6"},
	})
}

// TestNestedXML: xml without a name stands in the elements of RAW and AUTO as it is
// (docs/relational-databases/xml/use-nested-for-xml-queries.md, for-xml-query-compared-to-nested-for-xml-query.md), and
// data() of one row follows that of the row before with a blank
// (docs/relational-databases/xml/examples-using-path-mode.md, the product ids of a model).
func TestNestedXML(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"SELECT v, (SELECT v AS w FOR XML RAW, TYPE) FROM (VALUES (1), (2)) AS t (v) FOR XML AUTO, TYPE",
			`<t v="1"><row w="1"/></t><t v="2"><row w="2"/></t>`,
		},
		{
			"SELECT v, x.w, (SELECT v AS z FOR XML RAW('q'), TYPE) FROM (VALUES (1)) AS t (v) CROSS JOIN (VALUES (1), (2)) " +
				"AS x (w) FOR XML AUTO",
			`<t v="1"><x w="1"><q z="1"/></x><x w="2"><q z="1"/></x></t>`,
		},
		{"SELECT v, (SELECT v AS w FOR XML RAW('q'), TYPE) FROM (VALUES (1), (2)) AS t (v) FOR XML RAW, ROOT('r')",
			`<r><row v="1"><q w="1"/></row><row v="2"><q w="2"/></row></r>`},
		{"SELECT v, (SELECT v AS w FOR XML RAW('q')) FROM (VALUES (1)) AS t (v) FOR XML RAW", "!6809/16/1"},
		{"SELECT v AS [data()] FROM (VALUES (885), (NULL), (887)) AS t (v) FOR XML PATH('')", "885 887"},
		{
			"SELECT 7 AS [@id], (SELECT v AS [data()] FROM (VALUES (885), (887)) AS t (v) FOR XML PATH('')) AS [@ids] FOR " +
				"XML PATH('m')",
			`<m id="7" ids="885 887"/>`,
		},
		{"SELECT v AS [data()] FROM (VALUES (1), (2)) AS t (v) FOR XML PATH('r')", "<r>1</r><r>2</r>"},
	})
}

// TestFirstOfSeveralRows: docs/t-sql/queries/update-transact-sql.md, Limitations and Restrictions: a common table
// expression that the FROM clause names by an alias is joined with all rows, and both get the first one's value.
func TestFirstOfSeveralRows(t *testing.T) {
	t.Parallel()
	const tables = `DECLARE @x TABLE (ID int, Value int); DECLARE @y TABLE (ID int, Value int)
INSERT @x VALUES (1, 10), (2, 20); INSERT @y VALUES (1, 100), (2, 200);
WITH cte AS (SELECT * FROM @x) `
	converse(t, connection(t, newDatabase(t)), []say{
		{
			tables + "UPDATE cte SET Value = y.Value FROM cte AS x INNER JOIN @y AS y ON y.ID = x.ID; SELECT * FROM @x " +
				"ORDER BY ID",
			"1 100; 2 100",
		},
		{
			tables + "UPDATE x SET Value = y.Value FROM cte AS x INNER JOIN @y AS y ON y.ID = x.ID; SELECT * FROM @x " +
				"ORDER BY ID",
			"1 100; 2 200",
		},
		{"CREATE TABLE t (a int, b int); INSERT t VALUES (1, 0), (2, 0)", "ok"},
		{
			"UPDATE t SET b = y.v FROM t CROSS JOIN (VALUES (7), (8)) AS y (v); SELECT a, b, @@ROWCOUNT FROM t ORDER BY a",
			"1 7 2; 2 7 2",
		},
	})
}

// TestSmallStatements: names of unnamed keys as docs/t-sql/language-elements/throw-transact-sql.md, example B, prints
// them; NULL for a timestamp column (docs/relational-databases/xml/for-xml-support-for-the-timestamp-data-type.md);
// what is refused of docs/t-sql/queries/with-common-table-expression-transact-sql.md, example K.
func TestSmallStatements(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE TestRethrow (ID int PRIMARY KEY, x int UNIQUE)", "ok"},
		{"SELECT LEFT(name, 14), LEN(name) FROM sys.key_constraints ORDER BY name", "PK__TestReth__ 30; UQ__TestReth__ 30"},
		{
			"CREATE TABLE t (i int, stamp timestamp); INSERT t VALUES (1, NULL); INSERT t (i, stamp) VALUES (2, NULL), " +
				"(3, DEFAULT)",
			"ok",
		},
		{"SELECT i, IIF(stamp > 0, 'stamped', 'none') FROM t ORDER BY i", "1 stamped; 2 stamped; 3 stamped"},
		{"INSERT t VALUES (4, 0x01)", "!273/16"},
		{"SET STATISTICS PROFILE ON", "!40517/16"},
		{"EXEC msdb.dbo.sp_add_maintenance_plan @plan_name = N'weekly'", "!40517/16"},
		{
			"WITH r AS (SELECT 1 AS a, CAST(0 AS bigint) AS n UNION ALL SELECT a + 1, ROW_NUMBER() OVER (ORDER BY a) FROM r " +
				"WHERE a < 3) SELECT a FROM r",
			"!40517/16",
		},
	})
}

// TestCollationOfNone: docs/t-sql/statements/collation-precedence-transact-sql.md, "No collation label" and its
// examples: CASE over columns of different collations has no collation, which a COLLATE clause gives it.
func TestCollationOfNone(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE TABLE TestTab (id int, GreekCol nvarchar(10) COLLATE greek_ci_as, LatinCol nvarchar(10) COLLATE " +
				"latin1_general_cs_as); INSERT TestTab VALUES (1, N'A', N'a')",
			"ok",
		},
		{"SELECT * FROM TestTab WHERE GreekCol = LatinCol", "!468/16/9"},
		{"SELECT (CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END) FROM TestTab", "!451/16/1"},
		{"SELECT (CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END) COLLATE Latin1_General_CI_AS FROM TestTab", "a"},
		{"SELECT (GreekCol + LatinCol) COLLATE Latin1_General_CI_AS FROM TestTab", "Aa"},
		{
			"SELECT id FROM TestTab WHERE (CASE WHEN id > 10 THEN GreekCol ELSE LatinCol END) COLLATE " +
				"Latin1_General_CI_AS = N'A'",
			"1",
		},
		{"SELECT (CASE WHEN GreekCol = LatinCol THEN 1 ELSE 2 END) FROM TestTab", "!468/16/9"},
	})
}
