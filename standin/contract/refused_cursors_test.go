// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestMalformedCursors: what docs/t-sql/language-elements/declare-cursor-transact-sql.md does not have in a
// declaration, and WHERE CURRENT OF without a cursor, which is no statement without a condition
// (docs/t-sql/statements/delete-transact-sql.md, docs/t-sql/queries/update-transact-sql.md).
func TestMalformedCursors(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int PRIMARY KEY, b int); INSERT t VALUES (1, 1), (2, 2)", "ok"},
		{"DELETE t WHERE CURRENT OF", "!102/15/1/1"},
		{"DELETE t WHERE CURRENT OF; SELECT 1", "!102/15/1/1"},
		{"UPDATE t SET b = 5\nWHERE CURRENT OF", "!102/15/1/2"},
		{"UPDATE t SET b = 5 WHERE CURRENT OF 5", "!102/15/1/1"},
		{"DELETE t WHERE CURRENT OF 'c'", "!102/15/1/1"},
		{"SELECT COUNT(*), SUM(b) FROM t", "2 3"},
		{"DECLARE c CURSOR FOR SELECT a INTO u FROM t", "!154/15/1/1"},
		{"DECLARE c CURSOR FOR SELECT a FROM t FOR BROWSE", "!154/15/1/1"},
		{"DECLARE @a int\nDECLARE c CURSOR FOR SELECT @a = a FROM t", "!154/15/3/2"},
		{"DECLARE @c CURSOR; SET @c = CURSOR FOR SELECT a INTO u FROM t", "!154/15/1/1"},
		{"SELECT OBJECT_ID('u'), CURSOR_STATUS('global', 'c')", "NULL -3"},
		{"DECLARE c INSENSITIVE CURSOR LOCAL FOR SELECT a FROM t", "!1049/15/1/1"},
		{"SELECT 1\nDECLARE c SCROLL CURSOR STATIC FOR SELECT a FROM t", "!1049/15/1/2"},
		{"DECLARE c INSENSITIVE SCROLL CURSOR FOR SELECT a FROM t; OPEN c; FETCH LAST FROM c; DEALLOCATE c", "2"},
		{"DECLARE @c CURSOR = 1", "!102/15/1/1"},
		{"DECLARE @c CURSOR; SELECT @c", "!16949/16/1/1"},
		{"DECLARE @c int; SET @c = CURSOR FOR SELECT 1", "!16948/16/1/1"},
		{"CREATE SEQUENCE s NO", "!102/15/1/1"},
		{"CREATE SEQUENCE s START WITH 1 NO; SELECT 1", "!102/15/1/1"},
		{"CREATE SEQUENCE s NO CACHE NO CYCLE NO MINVALUE NO MAXVALUE", "ok"},
		{"ALTER SEQUENCE s NO RESTART", "!102/15/1/1"},
		{"CREATE ROLE r; CREATE USER w WITHOUT LOGIN", "ok"},
		{"ALTER ROLE r ADD w", "!102/15/1/1"},
		{"ALTER ROLE r DROP w", "!102/15/1/1"},
		{"ALTER ROLE r ADD MEMBER w; SELECT IS_ROLEMEMBER('r', 'w')", "1"},
	})
}

// TestNumberedProceduresAndAssignmentsInSets: a procedure with a number and full text over all columns are refused by
// name, the second procedure of a name is none that is there, and no query of a set operation assigns variables
// (docs/t-sql/statements/create-procedure-transact-sql.md, ;number;
// docs/t-sql/language-elements/execute-transact-sql.md, ;number; docs/t-sql/queries/contains-transact-sql.md).
func TestNumberedProceduresAndAssignmentsInSets(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE PROCEDURE p AS SELECT 1 AS a", "ok"},
		{"CREATE PROCEDURE p;2 AS SELECT 2 AS a", "!40517/16/1/1"},
		{"DROP PROCEDURE p;2", "!40517/16/1/1"},
		{"EXEC p;1", "1"},
		{"EXEC p;2", "!2812/16/62/1"},
		{"EXEC p; SELECT 2", "1"},
		{"CREATE TABLE t (a int, b varchar(9))", "ok"},
		{"SELECT * FROM t WHERE CONTAINS(*, 'x')", "!40517/16"},
		{"SELECT * FROM t\nJOIN FREETEXTTABLE(t, *, 'x') AS f ON f.[KEY] = t.a", "!40517/16/1/2"},
		{"DECLARE @a int\nSELECT @a = 1 UNION SELECT 2", "!10734/15/1/2"},
		{"DECLARE @a int; SELECT 1 UNION ALL\nSELECT @a = 2", "!10734/15/1/2"},
		{
			"DECLARE @a int; SELECT @a = (SELECT MAX(x) FROM (SELECT 1 AS x UNION SELECT 2) AS u) SELECT @a UNION SELECT 3",
			"2; 3",
		},
		{
			"DECLARE @a int; SELECT @a = CASE WHEN 1 = 1 THEN 5 END FROM t; IF 1 = 1 BEGIN SELECT @a = 4 END SELECT @a " +
				"EXCEPT SELECT 3",
			"4",
		},
	})
}
