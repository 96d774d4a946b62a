// SPDX-License-Identifier: Apache-2.0

package tsql

import "fmt"

// Securable is a schema of the current database, or an object of it.
type Securable struct {
	// Schema by its name; Object is empty for the schema itself.
	Schema, Object string
}

// String is how people write it.
func (s Securable) String() string {
	if s.Object == "" {
		return "schema " + s.Schema
	}
	return s.Schema + "." + s.Object
}

// on is what GRANT and REVOKE name it by.
func (b *builder) on(s Securable) *builder {
	if s.Object == "" {
		return b.sql("SCHEMA::").name(s.Schema)
	}
	return b.sql("OBJECT::", Qualified(s.Schema, s.Object))
}

// ObjectPermission is a permission on a schema or an object as GRANT names it
// (docs/t-sql/statements/grant-object-permissions-transact-sql.md).
type ObjectPermission string

// GrantOn grants a permission on a schema or an object to a user of the current database. Sources:
// docs/t-sql/statements/grant-schema-permissions-transact-sql.md, grant-object-permissions-transact-sql.md.
func GrantOn(p ObjectPermission, on Securable, user string) Statement {
	return new(builder).sql("GRANT ", string(p), " ON ").on(on).sql(" TO ").name(user).
		done("grant " + string(p) + " on " + on.String() + " to user " + user)
}

// RevokeOn takes a permission on a schema or an object from a user, with what others were granted by it. Sources:
// docs/t-sql/statements/revoke-schema-permissions-transact-sql.md, revoke-object-permissions-transact-sql.md.
func RevokeOn(p ObjectPermission, on Securable, user string) Statement {
	return new(builder).sql("REVOKE ", string(p), " ON ").on(on).sql(" FROM ").name(user).sql(" CASCADE").
		done("revoke " + string(p) + " on " + on.String() + " from user " + user)
}

// UserGrants reads what a user of the current database is granted on schemas and on whole objects: schema, object or
// the empty name, permission, state, as UserPermissions does, and whether its grantor is neither dbo nor the
// securable's owner, in whose names those grant who may grant everything: somebody gave it who had it with the grant
// option. Sources:
// docs/relational-databases/system-catalog-views/sys-database-permissions-transact-sql.md, sys-objects-transact-sql.md,
// docs/t-sql/statements/grant-transact-sql.md, docs/t-sql/functions/database-principal-id-transact-sql.md.
func UserGrants(user string) Statement {
	const delegated = ", CASE WHEN p.grantor_principal_id IN (DATABASE_PRINCIPAL_ID(N'dbo'), %s) THEN 0 ELSE 1 END"
	return new(builder).
		sql("SELECT s.name, o.name, p.permission_name, p.state",
			fmt.Sprintf(delegated, "COALESCE(o.principal_id, s.principal_id)"), "\nFROM sys.database_permissions AS p\n"+
				"JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id\n"+
				"JOIN sys.objects AS o ON o.object_id = p.major_id\nJOIN sys.schemas AS s ON s.schema_id = o.schema_id\n"+
				"WHERE p.class = 1 AND p.minor_id = 0 AND u.name = @name\n"+
				"UNION ALL\nSELECT s.name, N'', p.permission_name, p.state", fmt.Sprintf(delegated, "s.principal_id"),
			"\nFROM sys.database_permissions AS p\n"+
				"JOIN sys.database_principals AS u ON u.principal_id = p.grantee_principal_id\n"+
				"JOIN sys.schemas AS s ON s.schema_id = p.major_id\nWHERE p.class = 3 AND u.name = @name").
		arg("name", user).done("read what user " + user + " is granted on schemas and objects")
}

// SecurableExists reads whether the current database has a schema, or an object of it. Sources:
// docs/relational-databases/system-catalog-views/schemas-catalog-views-sys-schemas.md, sys-objects-transact-sql.md.
func SecurableExists(s Securable) Statement {
	return new(builder).
		sql("SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.schemas AS s WHERE s.name = @schema AND (@object = N'' OR EXISTS (\n"+
			"    SELECT 1 FROM sys.objects AS o WHERE o.schema_id = s.schema_id AND o.name = @object))) THEN 1 ELSE 0 END").
		arg("schema", s.Schema).arg("object", s.Object).done("look for " + s.String())
}
