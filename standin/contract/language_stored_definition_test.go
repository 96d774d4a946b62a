// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestStoredDefinitionIsACreate: a module's definition is a CREATE statement after ALTER and CREATE OR ALTER as well,
// as scripts of databases show it; tools run it elsewhere as it is
// (docs/relational-databases/system-catalog-views/sys-sql-modules-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-helptext-transact-sql.md).
func TestStoredDefinitionIsACreate(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE PROCEDURE p AS SELECT 1 AS a", "ok"},
		{"alter procedure p AS SELECT 2 AS a", "ok"},
		{"SELECT OBJECT_DEFINITION(OBJECT_ID('p'))", "CREATE procedure p AS SELECT 2 AS a"},
		{"EXEC p", "2"},
		{"CREATE OR ALTER PROCEDURE p AS SELECT 3 AS a", "ok"},
		{"SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('p')", "CREATE   PROCEDURE p AS SELECT 3 AS a"},
		{"CREATE OR ALTER VIEW v AS SELECT 4 AS a", "ok"},
		{"ALTER VIEW v AS SELECT 5 AS a", "ok"},
		{"SELECT VIEW_DEFINITION FROM INFORMATION_SCHEMA.VIEWS WHERE TABLE_NAME = 'v'", "CREATE VIEW v AS SELECT 5 AS a"},
		{
			"CREATE TABLE t (a int)",
			"ok",
		}, {"CREATE TRIGGER tr ON t AFTER INSERT AS RETURN", "ok"}, {"ALTER TRIGGER tr ON t AFTER UPDATE AS RETURN", "ok"},
		{"SELECT OBJECT_DEFINITION(OBJECT_ID('tr'))", "CREATE TRIGGER tr ON t AFTER UPDATE AS RETURN"},
		{"CREATE OR ALTER FUNCTION f () RETURNS int AS BEGIN RETURN 1 / 0 END", "ok"},
		{"SELECT dbo.f()", "!8134/16/1/1"},
		{"CREATE OR\nALTER PROCEDURE p AS\nSELECT 1 / 0", "ok"}, {"EXEC p", "!8134/16/1/3"},
	})
}

// TestStoredDefinitionIsTheBatch: the definition of a module is the text of its batch, with what stands around its
// statement, and lines of its errors count from there
// (docs/relational-databases/system-catalog-views/sys-sql-modules-transact-sql.md, definition;
// docs/relational-databases/system-stored-procedures/sp-helptext-transact-sql.md).
func TestStoredDefinitionIsTheBatch(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"\n-- what it is for: é\n/* and who */ CREATE PROCEDURE p AS\nSELECT 1 / 0\n-- the end\n", "ok"},
		{
			"SELECT OBJECT_DEFINITION(OBJECT_ID('p'))",
			"\n-- what it is for: é\n/* and who */ CREATE PROCEDURE p AS\nSELECT 1 / 0\n-- the end\n",
		},
		{"EXEC p", "!8134/16/1/4"},
		{
			"EXEC sp_helptext p",
			"\n; -- what it is for: é\n; /* and who */ CREATE PROCEDURE p AS\n; SELECT 1 / 0\n; -- the end\n",
		},
		{"/* alter */\nALTER PROCEDURE p AS SELECT 2 AS a; -- two", "ok"},
		{
			"SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('p')",
			"/* alter */\nCREATE PROCEDURE p AS SELECT 2 AS a; -- two",
		},
		{"/* create or alter */ CREATE OR ALTER PROCEDURE p AS SELECT 3 AS a ; ", "ok"},
		{
			"SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('p')",
			"/* create or alter */ CREATE   PROCEDURE p AS SELECT 3 AS a ; ",
		},
		{"EXEC p", "3"},
		{"-- a view\nCREATE VIEW v AS SELECT 5 AS a\n-- end of the view", "ok"},
		{
			"SELECT VIEW_DEFINITION FROM INFORMATION_SCHEMA.VIEWS WHERE TABLE_NAME = 'v'",
			"-- a view\nCREATE VIEW v AS SELECT 5 AS a\n-- end of the view",
		},
		{"SELECT a FROM v", "5"},
		{"-- a function\nCREATE FUNCTION f () RETURNS int AS BEGIN RETURN 7 END -- end", "ok"},
		{
			"SELECT dbo.f(), OBJECT_DEFINITION(OBJECT_ID('f'))",
			"7 -- a function\nCREATE FUNCTION f () RETURNS int AS BEGIN RETURN 7 END -- end",
		},
		{"-- one of a query\nCREATE FUNCTION i () RETURNS table AS RETURN (SELECT 8 AS a) -- end", "ok"},
		{
			"SELECT a, OBJECT_DEFINITION(OBJECT_ID('i')) FROM i()",
			"8 -- one of a query\nCREATE FUNCTION i () RETURNS table AS RETURN (SELECT 8 AS a) -- end",
		},
		{"CREATE TABLE t (a int)", "ok"},
		{"-- a trigger\n\nALTER TRIGGER tr ON t AFTER INSERT AS SELECT 1 / 0", "!208/16/6/3"},
		{"-- a trigger\n\nCREATE TRIGGER tr ON t AFTER INSERT AS SELECT 1 / 0 -- end", "ok"},
		{"INSERT t VALUES (1)", "!8134/16/1/3"},
		{
			"SELECT OBJECT_DEFINITION(OBJECT_ID('tr'))",
			"-- a trigger\n\nCREATE TRIGGER tr ON t AFTER INSERT AS SELECT 1 / 0 -- end",
		},
		{"-- of the database\nCREATE TRIGGER dd ON DATABASE FOR CREATE_TABLE AS RETURN -- end", "ok"},
		{
			"SELECT definition FROM sys.sql_modules AS m JOIN sys.triggers AS g ON g.object_id = m.object_id WHERE " +
				"g.name = 'dd'",
			"-- of the database\nCREATE TRIGGER dd ON DATABASE FOR CREATE_TABLE AS RETURN -- end",
		},
		{"/* s */ CREATE SCHEMA s /* v */ CREATE VIEW v AS SELECT 1 AS a", "ok"},
		{"SELECT OBJECT_DEFINITION(OBJECT_ID('s.v'))", "CREATE VIEW v AS SELECT 1 AS a"},
		{"EXEC ('-- made elsewhere\nCREATE PROCEDURE e AS SELECT 9 -- end')", "ok"},
		{"SELECT OBJECT_DEFINITION(OBJECT_ID('e'))", "-- made elsewhere\nCREATE PROCEDURE e AS SELECT 9 -- end"},
	})
}
