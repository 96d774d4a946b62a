// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// The tables that msdb comes with are objects like others: they are listed, and somebody may be granted to read one.
func TestTablesOfMsdbCanBeGranted(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	admin := connection(t, i.open(t, "msdb"))
	granted := "SELECT s.name + '.' + o.name, o.type, p.permission_name, p.state FROM sys.database_permissions p JOIN " +
		"sys.objects o ON o.object_id = p.major_id JOIN sys.schemas s ON s.schema_id = o.schema_id JOIN " +
		"sys.database_principals u ON u.principal_id = p.grantee_principal_id WHERE p.class = 1 AND u.name = 'reader'"
	converse(t, admin, []say{
		{"CREATE LOGIN reader WITH PASSWORD = 'C0ntract-Suite'; CREATE USER reader", "ok"},
		{"GRANT SELECT ON OBJECT::[dbo].[backupset] TO [reader]", "ok"},
		{granted, "dbo.backupset U  SELECT G"},
		{"SELECT o.is_ms_shipped FROM sys.objects o WHERE o.object_id = OBJECT_ID('dbo.backupset')", "true"},
		{"GRANT SELECT ON OBJECT::[dbo].[nothing] TO [reader]", "!15151/16"},
	})
	reader := connection(t, i.openAs(t, "reader", "C0ntract-Suite", "msdb"))
	converse(t, reader, []say{{"SELECT COUNT(*) FROM dbo.backupset", "0"}})
	converse(t, admin, []say{
		{"REVOKE SELECT ON OBJECT::dbo.backupset FROM reader", "ok"},
		{"SELECT COUNT(*) FROM (" + granted + ") AS x (a, b, c, d)", "0"},
	})
}
