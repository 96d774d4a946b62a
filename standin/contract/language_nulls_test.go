// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestAnsiNullsOffInListsAndViews goes by docs/t-sql/statements/set-ansi-nulls-transact-sql.md: IN and CASE are
// comparisons with each value, and a view or inline function compares as it was made.
func TestAnsiNullsOffInListsAndViews(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int); INSERT t VALUES (1), (2), (NULL)", "ok"},
		{"SET ANSI_NULLS OFF", "ok"},
		{"SELECT COUNT(*) FROM t WHERE a IN (1, NULL)", "2"},
		{"SELECT a FROM t WHERE a NOT IN (1, NULL)", "2"},
		{"SELECT a FROM t WHERE a NOT IN (1)", "2"},
		{"DECLARE @n int; SELECT COUNT(*) FROM t WHERE a IN (2, @n)", "2"},
		{"SELECT CASE a WHEN NULL THEN 'none' ELSE 'some' END FROM t ORDER BY a", "none; some; some"},
		{"CREATE VIEW v AS SELECT COUNT(*) AS n FROM t WHERE a = NULL", "ok"},
		{"CREATE FUNCTION f () RETURNS TABLE AS RETURN SELECT COUNT(*) AS n FROM t WHERE a IN (NULL)", "ok"},
		{"SET ANSI_NULLS ON", "ok"},
		{"CREATE VIEW w AS SELECT COUNT(*) AS n FROM t WHERE a = NULL", "ok"},
		{"SELECT COUNT(*) FROM t WHERE a IN (1, NULL)", "1"},
		{"SELECT v.n, f.n, w.n, (SELECT COUNT(*) FROM t WHERE a = NULL) FROM v, f() f, w", "1 1 0 0"},
		{"SET ANSI_NULLS OFF", "ok"},
		{"SELECT v.n, f.n, w.n, (SELECT COUNT(*) FROM t WHERE a = NULL) FROM v, f() f, w", "1 1 0 1"},
	})
}

// TestApplyOfOneText: a query with FOR XML or FOR JSON that is applied has one row
// (docs/t-sql/queries/from-transact-sql.md, APPLY; docs/relational-databases/xml/for-xml-sql-server.md).
func TestApplyOfOneText(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int, b varchar(9)); INSERT t VALUES (1, 'x'), (1, 'y'), (2, 'z')", "ok"},
		{
			"SELECT o.a, LEFT(x.l, LEN(x.l) - 1) FROM (SELECT DISTINCT a FROM t) o CROSS APPLY (SELECT b + ',' FROM t i " +
				"WHERE i.a = o.a ORDER BY b DESC FOR XML PATH('')) x (l) ORDER BY o.a",
			"1 y,x; 2 z",
		},
		{
			"SELECT o.a, x.l.value('.', 'varchar(9)') FROM (SELECT DISTINCT a FROM t) o CROSS APPLY (SELECT b AS [*] FROM t " +
				"i WHERE i.a = o.a FOR XML PATH(''), TYPE) x (l) ORDER BY o.a",
			"1 xy; 2 z",
		},
		{
			"SELECT o.a, x.l FROM (SELECT DISTINCT a FROM t) o OUTER APPLY (SELECT b FROM t i WHERE i.a = o.a + 1 FOR JSON " +
				"PATH) x (l) ORDER BY o.a",
			`1 [{"b":"z"}]; 2 NULL`,
		},
		{"SELECT x.* FROM t o CROSS APPLY (SELECT b FROM t i FOR XML PATH('')) x", "!8155"},
	})
}

// TestScaleOfParts: DATETIME2FROMPARTS and its kin have the scale that their last argument says, a constant
// (docs/t-sql/functions/datetime2fromparts-transact-sql.md, Return types and Remarks).
func TestScaleOfParts(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"SELECT CAST(DATETIME2FROMPARTS(2011, 8, 15, 14, 23, 44, 50, 2) AS varchar(40)), CAST(TIMEFROMPARTS(23, 59, 59, " +
				"5, 1) AS varchar(40))",
			"2011-08-15 14:23:44.50 23:59:59.5",
		},
		{
			"SELECT CAST(DATETIMEOFFSETFROMPARTS(2010, 12, 31, 14, 23, 23, 0, 12, 0, 0) AS varchar(40)), " +
				"CAST(SQL_VARIANT_PROPERTY(TIMEFROMPARTS(1, 2, 3, 0, 4), 'Scale') AS int)",
			"2010-12-31 14:23:23 +12:00 4",
		},
		{"DECLARE @p int = 3; SELECT DATETIME2FROMPARTS(2011, 8, 15, 14, 23, 44, 0, @p)", "!10760/16"},
		{"SELECT TIMEFROMPARTS(1, 2, 3, 0, NULL)", "!10760/16"},
		{"SELECT TIMEFROMPARTS(NULL, 2, 3, 0, 1)", "NULL"},
		{"CREATE TABLE t (a int)", "ok"},
		{
			"SELECT CAST(SQL_VARIANT_PROPERTY(OBJECTPROPERTYEX(OBJECT_ID('t'), 'BaseType'), 'BaseType') AS varchar(9)), " +
				"DATALENGTH(OBJECTPROPERTYEX(OBJECT_ID('t'), 'BaseType'))",
			"char 2",
		},
		{"CREATE SCHEMA s; CREATE TABLE u (a int)", "!156/15"},
	})
}
