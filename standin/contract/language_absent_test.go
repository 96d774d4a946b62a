// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestAbsentStatementsAreNamed: statements of documented examples that the stand-in does not have are refused by name
// and not as errors of syntax (the pages of docs/t-sql/statements that are named beside them).
func TestAbsentStatementsAreNamed(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	list := []say{}
	for _, text := range []string{
		// add-signature
		"ADD SIGNATURE TO p BY CERTIFICATE c WITH PASSWORD = 'pGFD4bb925DGvbd2439587y'",
		// add-signature
		"ADD COUNTER SIGNATURE TO p BY CERTIFICATE c WITH SIGNATURE = " +
			"0x831F5530C86CC8ED606E5BC2720DA835351E46219A6D5DE9CE546297B88AEF3B",
		// alter-event-session
		"ALTER EVENT SESSION s ON SERVER ADD EVENT sqlserver.database_transaction_begin",
		// create-security-policy
		"CREATE SECURITY POLICY p ADD BLOCK PREDICATE f(a) ON dbo.Sales AFTER INSERT",
		// alter-server-configuration
		"ALTER SERVER CONFIGURATION SET MEMORY_OPTIMIZED TEMPDB_METADATA = ON",
		// alter-table
		"ALTER TABLE t ADD c nvarchar(100) ENCRYPTED WITH (COLUMN_ENCRYPTION_KEY = k, ENCRYPTION_TYPE = RANDOMIZED, " +
			"ALGORITHM = 'A')",
		// alter-table
		"ALTER TABLE t ENABLE CHANGE_TRACKING WITH (TRACK_COLUMNS_UPDATED = ON)",
		// alter-table
		"CREATE TABLE i (a int); ALTER TABLE dbo.i DROP INDEX ix",
		// create-procedure
		"CREATE PROCEDURE p WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = " +
			"SNAPSHOT, LANGUAGE = N'us_english') SELECT 1 END",
		// alter-user
		"ALTER USER u WITH PASSWORD = 'W1r77TT98%ab@#' OLD_PASSWORD = 'New Devel0per'",
		// create-user
		"CREATE USER u WITH DEFAULT_SCHEMA = dbo, ALLOW_ENCRYPTED_VALUE_MODIFICATIONS = ON",
		// create-certificate
		"CREATE CERTIFICATE c FROM EXECUTABLE FILE = 'c:\\c.dll'",
		// delete
		"DELETE FROM OPENDATASOURCE('SQLNCLI', 'Data Source=x').a.b.c WHERE d = 17",
		// insert
		"INSERT INTO OPENDATASOURCE('SQLNCLI', 'Data Source=x').a.b.c (d) VALUES (1)",
		// insert
		"INSERT OPENQUERY (MyLinkServer, 'SELECT a FROM b') VALUES ('c')",
		// update
		"UPDATE OPENDATASOURCE('SQLNCLI', 'Data Source=x').a.b.c SET d = 1",
		// receive
		"WAITFOR (RECEIVE * FROM ExpenseQueue), TIMEOUT 60000",
		// grant-search-property-list-permissions
		"GRANT VIEW DEFINITION ON SEARCH PROPERTY LIST :: l TO public",
		// restore-statements
		"RESTORE LOG d FROM DISK = 'x' WITH RECOVERY, STOPATMARK = ListPriceUpdate",
	} {
		list = append(list, say{text, "!40517/16"})
	}
	converse(t, db, list)
}

// TestWordsOfAbsentStatementsAreNames: what begins absent statements may be a column's name.
func TestWordsOfAbsentStatementsAreNames(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int)", "ok"},
		{"ALTER TABLE t ADD Signature varbinary(256) NULL", "ok"},
		{"ALTER TABLE t ADD Counter int, Encrypted bit", "ok"},
		{"SELECT COUNT(Signature) FROM t", "0"},
	})
}

// TestPartitionsOfTables: there are none to choose (docs/t-sql/statements/create-table-transact-sql.md,
// DATA_COMPRESSION ON PARTITIONS).
func TestPartitionsOfTables(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int) WITH (DATA_COMPRESSION = ROW ON PARTITIONS (2, 4, 6 TO 8))", "!7729/16"},
		{"CREATE TABLE t (a int) WITH (DATA_COMPRESSION = ROW)", "ok"},
		{"CREATE INDEX i ON t (a) WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1 TO 2))", "!7729/16"},
		{"ALTER TABLE t REBUILD WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1))", "!7729/16"},
	})
}

// TestOwners: docs/t-sql/statements/alter-authorization-transact-sql.md, alter-schema-transact-sql.md.
func TestOwners(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE USER u WITHOUT LOGIN", "ok"},
		{"CREATE SCHEMA s1", "ok"},
		{"CREATE SCHEMA s2", "ok"},
		{"CREATE TYPE s1.ty FROM varchar(10)", "ok"},
		{"ALTER SCHEMA s2 TRANSFER type::s1.ty", "ok"},
		{"SELECT SCHEMA_NAME(schema_id) FROM sys.types WHERE name = 'ty'", "s2"},
		{"ALTER AUTHORIZATION ON SCHEMA::s2 TO u", "ok"},
		{"SELECT USER_NAME(principal_id) FROM sys.schemas WHERE name = 's2'", "u"},
		{"EXECUTE ('CREATE TABLE s2.x (a int)') AS USER = 'u'", "!262"},
		{"GRANT CREATE TABLE TO u", "ok"},
		{"EXECUTE ('CREATE TABLE s2.x (a int); INSERT s2.x VALUES (1); SELECT a FROM s2.x') AS USER = 'u'", "1"},
		{"EXECUTE ('CREATE TABLE s1.x (a int)') AS USER = 'u'", "!2760"},
		{"DROP USER u", "!15138/16"},
		{"GRANT CREATE SCHEMA TO u", "ok"},
		{"EXECUTE ('CREATE SCHEMA own') AS USER = 'u'", "ok"},
		{"SELECT USER_NAME(principal_id) FROM sys.schemas WHERE name = 'own'", "u"},
		{"DROP SCHEMA own", "ok"},
		{"ALTER AUTHORIZATION ON OBJECT::s2.x TO SCHEMA OWNER", "ok"},
		{"ALTER AUTHORIZATION ON s2.nowhere TO SCHEMA OWNER", "!15151/16"},
		{"ALTER AUTHORIZATION ON SCHEMA::s2 TO dbo; DROP USER u", "ok"},
		{"ALTER AUTHORIZATION ON SCHEMA::nowhere TO dbo", "!15151/16"},
		{"ALTER AUTHORIZATION ON SCHEMA::s2 TO nobody", "!15151/16"},
		{"ALTER AUTHORIZATION ON SCHEMA::sys TO dbo", "!15150/16"},
	})
}
