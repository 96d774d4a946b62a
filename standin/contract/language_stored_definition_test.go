// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestStoredDefinitionIsACreate: a module's definition is a CREATE statement after ALTER and CREATE OR ALTER as well, as scripts of databases show it;
// tools run it elsewhere as it is (docs/relational-databases/system-catalog-views/sys-sql-modules-transact-sql.md,
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
		{"CREATE TABLE t (a int)", "ok"}, {"CREATE TRIGGER tr ON t AFTER INSERT AS RETURN", "ok"}, {"ALTER TRIGGER tr ON t AFTER UPDATE AS RETURN", "ok"},
		{"SELECT OBJECT_DEFINITION(OBJECT_ID('tr'))", "CREATE TRIGGER tr ON t AFTER UPDATE AS RETURN"},
		{"CREATE OR ALTER FUNCTION f () RETURNS int AS BEGIN RETURN 1 / 0 END", "ok"},
		{"SELECT dbo.f()", "!8134/16/1/1"},
		{"CREATE OR\nALTER PROCEDURE p AS\nSELECT 1 / 0", "ok"}, {"EXEC p", "!8134/16/1/3"},
	})
}
