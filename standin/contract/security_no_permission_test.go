// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestWhoHasNoPermissionChangesNothing: statements and procedures that a user who was given nothing but CONNECT
// executes, with the sections Permissions of their pages.
func TestWhoHasNoPermissionChangesNothing(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.newDatabase(t, "one")
	admin := connection(t, i.open(t, "one"))
	converse(t, admin, []say{
		{
			"CREATE LOGIN weak WITH PASSWORD = 'C0ntract-Suite'; CREATE USER weak; CREATE TABLE t (a int, b int); CREATE " +
				"INDEX ix ON t (b); CREATE STATISTICS st ON t (b); CREATE TYPE ty FROM int",
			"ok",
		}, {"CREATE SCHEMA s", "ok"},
		{"EXEC sp_addmessage 50001, 16, 'first'", "ok"},
	})
	weak := connection(t, i.openAs(t, "weak", "C0ntract-Suite", "one"))
	converse(t, weak, []say{
		{
			"DROP SCHEMA s",
			"!15151/16",
		}, {"CREATE SYNONYM sy FOR t", "!262"}, {"SELECT 1 AS a INTO made", "!262"},
		{"SELECT 1 AS a INTO #made; SELECT a FROM #made", "1"},
		{
			"EXEC sp_rename 't', 'renamed'",
			"!15247/16",
		}, {"EXEC sp_rename 'dbo.t.a', 'renamed', 'COLUMN'", "!15247/16"},
		{"EXEC sp_rename 't.ix', 'renamed', 'INDEX'", "!15247/16"},
		{
			"EXEC sp_rename 't.st', 'renamed', 'STATISTICS'",
			"!15247/16",
		}, {"EXEC sp_rename 'ty', 'renamed', 'USERDATATYPE'", "!15247/16"},
		{
			"CHECKPOINT",
			"!3505/14",
		}, {"RECONFIGURE", "!5812/14"}, {"DBCC TRACEON (1448, -1)", "!2571/14"}, {"DBCC TRACEOFF (1448, -1)", "!2571/14"},
		{
			"EXEC sp_addmessage 50002, 16, 'x'",
			"!15247/16",
		}, {"EXEC sp_altermessage 50001, 'WITH_LOG', 'TRUE'", "!15247/16"}, {"EXEC sp_dropmessage 50001", "!15247/16"},
		{"EXEC sp_updatestats", "!15247/16"},
		// Its own login: the password with the old one, default database and language, nothing else.
		{
			"ALTER LOGIN weak WITH NAME = strong",
			"!15151/16",
		}, {"ALTER LOGIN weak WITH PASSWORD = 'C0ntract-Suite2'", "!15151/16"},
		{"ALTER LOGIN weak WITH CHECK_POLICY = OFF", "!15151/16"}, {"ALTER LOGIN weak DISABLE", "!15151/16"},
		{
			"ALTER LOGIN weak WITH DEFAULT_DATABASE = one; ALTER LOGIN weak WITH PASSWORD = 'C0ntract-Suite2' OLD_PASSWORD = " +
				"'C0ntract-Suite'",
			"ok",
		},
	})
	converse(t, admin, []say{
		{
			"SELECT name FROM sys.objects WHERE type IN ('U', 'SN') ORDER BY 1",
			"t",
		}, {"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY 1", "a; b"},
		{"SELECT COUNT(*) FROM sys.schemas WHERE name = 's'", "1"},
		{
			"SELECT message_id, is_event_logged FROM sys.messages WHERE message_id BETWEEN 50001 AND 50002",
			"50001 false",
		}, {"DBCC TRACESTATUS (1448)", "1448 0 0 0"},
		// What they ask for is enough.
		{
			"GRANT ALTER ANY SCHEMA, CREATE SYNONYM, CREATE TABLE, CHECKPOINT TO weak; GRANT ALTER ON t TO weak",
			"ok",
		}, {"USE master; GRANT ALTER SETTINGS TO weak; USE one", "ok"},
		{"DROP SCHEMA s CASCADE", "!40517/16"}, {"DROP SCHEMA s RESTRICT", "!40517/16"},
	})
	converse(t, weak, []say{
		{
			"EXEC sp_rename 't.ix', 'renamed', 'INDEX'",
			"ok",
		}, {"CHECKPOINT; RECONFIGURE; EXEC sp_addmessage 50002, 16, 'x'; EXEC sp_dropmessage 50002", "ok"},
		{"CREATE SYNONYM dbo.sy FOR dbo.t; SELECT 1 AS a INTO made", "ok"}, {"DROP SCHEMA s", "ok"},
	})
}
