// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestVariablesOfModules: docs/t-sql/statements/create-function-transact-sql.md: what a function may change are its own
// table variables, and a parameter is a variable that nothing in the module declares again.
func TestVariablesOfModules(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE r (id int)", "ok"},
		{"CREATE PROCEDURE p @i int AS DECLARE @i int", "!134/15"},
		{"CREATE PROCEDURE p @i int, @I int AS RETURN", "!134/15"},
		{"CREATE FUNCTION f (@i int) RETURNS @t TABLE (a int) AS BEGIN DECLARE @t int; RETURN END", "!134/15"},
		{"CREATE FUNCTION f (@t int) RETURNS @t TABLE (a int) AS BEGIN RETURN END", "!134/15"},
		{
			"CREATE FUNCTION f () RETURNS int AS BEGIN DECLARE @t TABLE (id int); INSERT @t OUTPUT inserted.id VALUES (1); " +
				"RETURN 1 END",
			"!443/16",
		},
		{
			"CREATE FUNCTION f () RETURNS int AS BEGIN DECLARE @t TABLE (id int); INSERT @t OUTPUT inserted.id INTO r VALUES " +
				"(1); RETURN 1 END",
			"!443/16",
		},
		{"CREATE FUNCTION f () RETURNS int AS BEGIN UPDATE r SET id = 2 FROM r; RETURN 1 END", "!443/16"},
		{"CREATE FUNCTION f () RETURNS int AS BEGIN DELETE x FROM r AS x; RETURN 1 END", "!443/16"},
		{
			"CREATE FUNCTION f () RETURNS int AS BEGIN MERGE r USING (SELECT 1 AS id) AS s ON s.id = r.id WHEN MATCHED THEN " +
				"DELETE; RETURN 1 END",
			"!443/16",
		},
		{
			"CREATE FUNCTION f () RETURNS int AS BEGIN DECLARE @t TABLE (id int); INSERT @t VALUES (1); UPDATE x SET id = 3 " +
				"FROM @t AS x; DELETE x FROM @t AS x JOIN r ON r.id = x.id; RETURN (SELECT id FROM @t) END",
			"ok",
		},
		{"SELECT dbo.f()", "3"},
		{"DECLARE @x int; EXEC sp_executesql N'SET @a = 20', N'@a int', @a = @x OUTPUT", "!8162/16"},
		{"CREATE SCHEMA s", "ok"},
		{"CREATE TYPE s.tt AS TABLE (a int)", "ok"},
		{
			"BEGIN TRY DROP SCHEMA s END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"Cannot DROP SCHEMA 's' because it is being referenced by object 'tt'.",
		},
		{`SELECT * FROM OPENJSON('{"a":{"b":1}}') WITH (a varchar(100) AS JSON)`, "!13618/16"},
		{"SELECT CASE WHEN 1 < = 2 AND 1 ! = 2 AND 1 < > 2 AND 2 ! < 1 THEN 1 END, CASE WHEN 3 >\n= 2 THEN 1 END", "1 1"},
		{"CREATE TABLE rv (a rowversion); INSERT rv DEFAULT VALUES; SELECT DATALENGTH(SUBSTRING(a, 1, 3)) FROM rv", "3"},
	})
}
