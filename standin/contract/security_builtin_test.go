// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestBuiltinPermissions: docs/relational-databases/system-functions/sys-fn-builtin-permissions-transact-sql.md and
// docs/relational-databases/security/permissions-database-engine.md ("SQL Server permissions").
func TestBuiltinPermissions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := newDatabase(t)
	db := connection(t, pool)
	shapes, err := resultShapes(t, pool, "SELECT * FROM sys.fn_builtin_permissions(DEFAULT)")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shapes).
		To(Equal([][]string{{"class_desc nvarchar(60)", "permission_name nvarchar(60)", "type varchar(4)",
			"covering_permission_name nvarchar(60)", "parent_class_desc nvarchar(60)",
			"parent_covering_permission_name nvarchar(60)"}}))
	converse(t, db, []say{
		{
			"SELECT DISTINCT class_desc FROM fn_builtin_permissions(NULL) ORDER BY 1",
			"APPLICATION ROLE; ASSEMBLY; ASYMMETRIC KEY; AVAILABILITY GROUP; CERTIFICATE; CONTRACT; CREDENTIAL; DATABASE; " +
				"DATABASE SCOPED CREDENTIAL; ENDPOINT; FULLTEXT CATALOG; FULLTEXT STOPLIST; LOGIN; " +
				"MESSAGE TYPE; OBJECT; REMOTE SERVICE BINDING; ROLE; ROUTE; SCHEMA; SEARCH PROPERTY LIST; SERVER; SERVER ROLE; " +
				"SERVICE; SYMMETRIC KEY; TYPE; USER; XML SCHEMA COLLECTION",
		},
		{
			"SELECT * FROM fn_builtin_permissions(N'OBJECT') WHERE permission_name IN ('SELECT', 'CONTROL')",
			"OBJECT CONTROL CL NULL SCHEMA CONTROL; OBJECT SELECT SL RECEIVE SCHEMA SELECT",
		},
		{
			"SELECT * FROM fn_builtin_permissions('database') WHERE permission_name IN ('CREATE TABLE', 'VIEW DATABASE " +
				"STATE', 'CREATE USER') ORDER BY 2",
			"DATABASE CREATE TABLE CRTB ALTER SERVER CONTROL SERVER; DATABASE CREATE USER CUSR ALTER ANY USER SERVER CONTROL " +
				"SERVER; DATABASE VIEW DATABASE STATE VWDS CONTROL SERVER VIEW SERVER STATE",
		},
		{
			"SELECT permission_name, type, covering_permission_name, parent_class_desc FROM " +
				"sys.fn_builtin_permissions('SERVER') WHERE permission_name IN ('CONTROL SERVER', 'VIEW SERVER STATE') ORDER BY 1",
			"CONTROL SERVER CL NULL NULL; VIEW SERVER STATE VWSS ALTER SERVER STATE NULL",
		},
		{"SELECT COUNT(*) FROM fn_builtin_permissions('nothing')", "0"},
		{
			"SELECT IIF((SELECT COUNT(*) FROM fn_builtin_permissions('')) = (SELECT COUNT(*) FROM " +
				"fn_builtin_permissions(DEFAULT)), 1, 0)",
			"1",
		},
		{
			"SELECT * FROM fn_builtin_permissions(DEFAULT) p WHERE p.covering_permission_name IS NOT NULL AND NOT EXISTS " +
				"(SELECT 1 FROM fn_builtin_permissions(DEFAULT) c WHERE c.class_desc = p.class_desc AND c.permission_name = " +
				"p.covering_permission_name)",
			"",
		},
		{
			"SELECT * FROM fn_builtin_permissions(DEFAULT) p WHERE p.parent_class_desc IS NOT NULL AND NOT EXISTS (SELECT 1 " +
				"FROM fn_builtin_permissions(DEFAULT) c WHERE c.class_desc = p.parent_class_desc AND c.permission_name = " +
				"p.parent_covering_permission_name)",
			"",
		},
		{
			"SELECT COUNT(*) FROM fn_my_permissions(NULL, 'SERVER') m WHERE NOT EXISTS (SELECT 1 FROM " +
				"fn_builtin_permissions('SERVER') b WHERE b.permission_name = m.permission_name)",
			"0",
		},
		{
			"SELECT IIF((SELECT COUNT(*) FROM fn_my_permissions(NULL, 'DATABASE')) = (SELECT COUNT(*) FROM " +
				"fn_builtin_permissions('DATABASE')), 1, 0)",
			"1",
		},
		{
			"SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER SECURITY AUDIT'), HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', " +
				"'VIEW LEDGER CONTENT'), HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'NO SUCH')",
			"1 1 NULL",
		},
		{"CREATE TABLE t (a int)", "ok"},
		{
			"SELECT HAS_PERMS_BY_NAME('t', 'OBJECT', 'SELECT'), HAS_PERMS_BY_NAME('t', 'OBJECT', 'RECEIVE'), " +
				"HAS_PERMS_BY_NAME('dbo', 'SCHEMA', 'UNMASK'), HAS_PERMS_BY_NAME('nothing', 'OBJECT', 'SELECT'), " +
				"HAS_PERMS_BY_NAME('public', 'ROLE', 'ALTER')",
			"1 1 1 NULL 1",
		},
		{
			"SELECT HAS_PERMS_BY_NAME('t', 'OBJECT', 'SELECT', 'a', 'COLUMN'), HAS_PERMS_BY_NAME('t', 'OBJECT', 'ANY', 'a', " +
				"'COLUMN'), HAS_PERMS_BY_NAME('t', 'OBJECT', 'DELETE', 'a', 'COLUMN'), HAS_PERMS_BY_NAME('t', 'OBJECT', " +
				"'SELECT', 'b', 'COLUMN')",
			"1 1 NULL NULL",
		},
		{
			"SELECT subentity_name, permission_name FROM fn_my_permissions('t', 'OBJECT') WHERE permission_name IN " +
				"('SELECT', 'DELETE') ORDER BY subentity_name, permission_name",
			" DELETE;  SELECT; a SELECT",
		},
		{
			"CREATE USER someone WITHOUT LOGIN; GRANT VIEW DATABASE PERFORMANCE STATE TO someone; GRANT ALTER ANY ASSEMBLY " +
				"TO someone; GRANT VIEW SECURITY DEFINITION TO someone",
			"ok",
		},
		{
			"SELECT RTRIM(type), permission_name FROM sys.database_permissions WHERE grantee_principal_id = " +
				"USER_ID('someone') ORDER BY 2",
			"ALAS ALTER ANY ASSEMBLY; CO CONNECT; VDP VIEW DATABASE PERFORMANCE STATE; VWS VIEW SECURITY DEFINITION",
		},
	})
}

// TestPermissionsFunction: docs/t-sql/functions/permissions-transact-sql.md. Its lower half tells what the user may do,
// its upper half what it may grant.
func TestPermissionsFunction(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	mustExec(
		t,
		db,
		"CREATE TABLE t (a int, b int); CREATE USER u WITHOUT LOGIN; GRANT CREATE TABLE TO u; GRANT INSERT ON t TO u WITH "+
			"GRANT OPTION; GRANT SELECT ON t TO u",
	)
	mustExec(t, db, "CREATE PROCEDURE p AS RETURN")
	mustExec(t, db, "GRANT EXECUTE ON p TO u")
	converse(t, db, []say{
		{
			"SELECT PERMISSIONS() & 0xFF, PERMISSIONS() / 65536 & 0xFF, PERMISSIONS(OBJECT_ID('t')) & 0x1F, " +
				"PERMISSIONS(OBJECT_ID('t')) & 0x80000, PERMISSIONS(OBJECT_ID('t'), 'a')",
			"254 254 31 524288 458759",
		},
		{"SELECT PERMISSIONS(OBJECT_ID('nothing')), PERMISSIONS(OBJECT_ID('t'), 'c'), PERMISSIONS(NULL)", "NULL NULL NULL"},
		{"EXECUTE AS USER = 'u'", "ok"},
		{
			"SELECT PERMISSIONS(), PERMISSIONS() & 2, PERMISSIONS(OBJECT_ID('t')), PERMISSIONS(OBJECT_ID('t'), 'b'), " +
				"PERMISSIONS(OBJECT_ID('p'))",
			"2 2 528393 1 32",
		},
		{"IF PERMISSIONS() & 2 = 2 SELECT 'yes' ELSE SELECT 'no'", "yes"},
		{"REVERT", "ok"},
		{"USE master; SELECT PERMISSIONS() & 1", "1"},
	})
}
