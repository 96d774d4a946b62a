// SPDX-License-Identifier: Apache-2.0

package security

import (
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// Classes of securables, as the class columns of sys.database_permissions and sys.server_permissions number them.
const (
	classDatabase    int32 = 0
	classObject      int32 = 1
	classSchema      int32 = 3
	classPrincipal   int32 = 4
	classType        int32 = 6
	classCertificate int32 = 25
	classServer      int32 = 100
	classLogin       int32 = 101
	classEndpoint    int32 = 105
	classGroup       int32 = 108
)

var classNames = map[int32]string{
	classDatabase: "DATABASE", classObject: "OBJECT_OR_COLUMN", classSchema: "SCHEMA",
	classPrincipal: "DATABASE_PRINCIPAL",
	classType:      "TYPE", classCertificate: "CERTIFICATE", classServer: "SERVER", classLogin: "SERVER_PRINCIPAL",
	classEndpoint: "ENDPOINT", classGroup: "AVAILABILITY GROUP",
}

// States of permissions.
const (
	granted   = "G"
	withGrant = "W"
	denied    = "D"
)

// permission is a row of sys.server_permissions or sys.database_permissions.
type permission struct {
	ID      int32  `json:"id"`
	Class   int32  `json:"class"`
	Major   int32  `json:"major,omitempty"`
	Minor   int32  `json:"minor,omitempty"`
	Grantee int32  `json:"grantee"`
	Grantor int32  `json:"grantor"`
	Name    string `json:"name"`
	State   string `json:"state"`
}

func (p *permission) key() int32 { return p.ID }

// securable is something that permissions are about. schema is the schema of an object.
type securable struct {
	class, major, schema int32
}

// same tells whether two rows are of one permission on one securable or column.
func (p *permission) same(other *permission) bool {
	return p.Class == other.Class && p.Major == other.Major && p.Minor == other.Minor && p.Name == other.Name
}

func (p *permission) about(sec securable) bool { return p.Class == sec.class && p.Major == sec.major }

// grant writes a permission, replacing an earlier row for the same permission, grantee and securable.
func grant(tx *storage.Tx, table string, p *permission) error {
	if err := revoke(tx, table, *p); err != nil {
		return err
	}
	id, err := nextID(tx, table, 1)
	if err != nil {
		return err
	}
	p.ID = id
	return put(tx, table, p)
}

// revoke removes the rows of a permission, whatever their state.
func revoke(tx *storage.Tx, table string, p permission) error {
	all, err := readAll[permission](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, row := range all {
		if row.same(&p) && row.Grantee == p.Grantee {
			if err := remove(tx, table, row.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// verdict of a set of permission rows.
type verdict uint8

const (
	silent verdict = iota
	allows
	denies
)

// step is one place where a permission may have been given: this permission name on a securable.
type step struct {
	on   securable
	name string
}

// judge looks for the steps among the rows that hold for the grantees. Any denial wins.
func judge(rows []*permission, grantees map[int32]bool, steps []step) verdict {
	result := silent
	for _, row := range rows {
		if !grantees[row.Grantee] || row.Minor != 0 {
			continue
		}
		for _, st := range steps {
			if row.Name != st.name || !row.about(st.on) {
				continue
			}
			if row.State == denied {
				return denies
			}
			result = allows
		}
	}
	return result
}

// allowed tells whether a server principal has a permission on a server-wide securable.
func (c *serverCatalog) allowed(principal int32, sec securable, name string) bool {
	roles := c.serverRoles(principal)
	if roles[sysadminID] {
		return true
	}
	steps := serverSteps(sec, name)
	verdict := judge(c.permissions, roles, steps)
	if verdict == denies {
		return false
	}
	if verdict == allows {
		return true
	}
	for _, st := range steps {
		if st.on.class != classServer {
			continue
		}
		for role, names := range serverRolePermissions {
			if roles[role] && names[st.name] {
				return true
			}
		}
	}
	return sec.class != classServer && c.owns(principal, sec)
}

// owns tells whether a principal owns a securable.
func (c *serverCatalog) owns(principal int32, sec securable) bool {
	if sec.class == classEndpoint {
		for _, ep := range c.endpoints {
			if ep.ID == sec.major {
				return ep.Owner == principal
			}
		}
	}
	if sec.class == classLogin {
		l := c.loginByID(sec.major)
		return l != nil && (l.ID == principal || l.Type == rolePrincipal && l.Owner == principal)
	}
	return false
}

// allowed tells whether a user has a permission by what the database says; the server's covering permissions are the
// caller's to ask.
func (c *databaseCatalog) allowed(principal int32, sec securable, name string) bool {
	return c.verdict(principal, sec, name) == allows
}

func (c *databaseCatalog) verdict(principal int32, sec securable, name string) verdict {
	roles := c.roles(principal)
	if roles[dbOwnerID] || principal == dboID {
		return allows
	}
	steps := databaseSteps(sec, name)
	result := judge(c.permissions, roles, steps)
	if result == denies {
		return denies
	}
	if sec.class == classObject || sec.class == classSchema || sec.class == classDatabase {
		if roles[dbDenyDataReaderID] && name == "SELECT" {
			return denies
		}
		if roles[dbDenyDataWriterID] && (name == "INSERT" || name == "UPDATE" || name == "DELETE") {
			return denies
		}
	}
	if result == allows {
		return allows
	}
	for _, st := range steps {
		if st.on.class != classDatabase {
			continue
		}
		for role, names := range databaseRolePermissions {
			if roles[role] && names[st.name] {
				return allows
			}
		}
	}
	return silent
}

// object finds an object's securable by its schema and name, as the connection sees it.
func findObject(conn *sqlite.Conn, schema, name string) (sec securable, kind string, ok bool, err error) {
	err = sqlitex.Execute(conn, `SELECT o.id, s.id, json_extract(o.doc, '$.kind') FROM __objects o
		JOIN __schemas s ON s.id = json_extract(o.doc, '$.schema')
		WHERE s.name = ?1 COLLATE NOCASE AND json_extract(o.doc, '$.name') = ?2 COLLATE NOCASE`,
		&sqlitex.ExecOptions{Args: []any{schema, name}, ResultFunc: func(stmt *sqlite.Stmt) error {
			sec, kind, ok = securable{
				class:  classObject,
				major:  stmt.ColumnInt32(0),
				schema: stmt.ColumnInt32(1),
			}, stmt.ColumnText(
				2,
			), true
			return nil
		}})
	if err != nil {
		err = fmt.Errorf("find object %s.%s: %w", schema, name, err)
	}
	return sec, kind, ok, err
}

// findSchema finds a schema's securable by name.
func findSchema(conn *sqlite.Conn, name string) (sec securable, ok bool, err error) {
	err = sqlitex.Execute(conn, "SELECT id FROM __schemas WHERE name = ? COLLATE NOCASE", &sqlitex.ExecOptions{
		Args: []any{name}, ResultFunc: func(stmt *sqlite.Stmt) error {
			sec, ok = securable{class: classSchema, major: stmt.ColumnInt32(0)}, true
			return nil
		}})
	if err != nil {
		err = fmt.Errorf("find schema %s: %w", name, err)
	}
	return sec, ok, err
}

// objectSchema is the schema of an object by its id, 0 when there's no such object.
func objectSchema(conn *sqlite.Conn, id int32) (schema int32, err error) {
	err = sqlitex.Execute(conn, "SELECT json_extract(doc, '$.schema') FROM __objects WHERE id = ?", &sqlitex.ExecOptions{
		Args: []any{id}, ResultFunc: func(stmt *sqlite.Stmt) error {
			schema = stmt.ColumnInt32(0)
			return nil
		}})
	if err != nil {
		err = fmt.Errorf("find the schema of object %d: %w", id, err)
	}
	return schema, err
}
