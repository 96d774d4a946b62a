// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
)

// Allow is nil when s has the permission, else the error a statement that needs it fails with: 229 on an object, 262 in
// a database, 262 for CREATE DATABASE, 300 for other server permissions.
func (e *Extension) Allow(ctx context.Context, s *engine.Session, p engine.Permission) error {
	if p.Database == nil {
		if e.mayServer(ctx, s, p.Name) {
			return nil
		}
		if p.Name == "CREATE ANY DATABASE" {
			return failure(262, 1, "CREATE DATABASE", "master")
		}
		return failure(300, 1, p.Name, "server", "master")
	}
	sec, err := e.securableOf(ctx, s, p)
	if err != nil {
		return err
	}
	if e.may(ctx, s, p.Database, sec, p.Name) {
		return nil
	}
	switch sec.class {
	case classObject:
		return failure(229, 5, p.Name, p.Object, p.Database.Name(), p.Schema)
	case classSchema:
		return failure(2760, 1, p.Schema)
	}
	if p.Name == "ALTER" {
		return failure(5011, 5, p.Database.Name())
	}
	return failure(262, 1, p.Name, p.Database.Name())
}

func (e *Extension) securableOf(ctx context.Context, s *engine.Session, p engine.Permission) (securable, error) {
	if p.Object == "" && p.ObjectID == 0 && p.Schema == "" {
		return securable{class: classDatabase}, nil
	}
	sec := securable{class: classObject, major: p.ObjectID}
	err := e.reading(ctx, s, p.Database, func(conn *sqlite.Conn) (err error) {
		switch {
		case p.ObjectID != 0:
			sec.schema, err = objectSchema(conn, p.ObjectID)
		case p.Object == "":
			sec, _, err = findSchema(conn, p.Schema)
			sec.class = classSchema
		default:
			sec, _, _, err = findObject(conn, p.Schema, p.Object)
			sec.class = classObject
		}
		return err
	})
	return sec, err
}

// may tells whether s has a permission on a securable of a database.
func (e *Extension) may(ctx context.Context, s *engine.Session, db *engine.Database, sec securable, name string) bool {
	if e.unrestricted(s) {
		return true
	}
	// A statement of the server's that names a database needs no user in it, and the database may be closed.
	outside := sec.class == classDatabase && (name == "ALTER" || name == "CONTROL")
	u, err := e.User(ctx, s, db)
	if err != nil {
		return outside && e.mayServer(ctx, s, serverPermissionFor(name, sec)...)
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return outside && e.mayServer(ctx, s, serverPermissionFor(name, sec)...)
	}
	switch catalog.verdict(u.ID, sec, name) {
	case allows:
		return true
	case denies:
		return false
	}
	return e.ownsSchemaOf(ctx, s, db, catalog.roles(u.ID), sec) || e.mayServer(ctx, s, serverPermissionFor(name, sec)...)
}

// ownsSchemaOf tells whether one of the principals owns a schema, or that of an object: an owner may do everything
// there (docs/relational-databases/security/permissions-database-engine.md).
func (e *Extension) ownsSchemaOf(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	principals map[int32]bool,
	sec securable,
) bool {
	id := sec.schema
	if sec.class == classSchema {
		id = sec.major
	}
	if id == 0 || sec.class != classSchema && sec.class != classObject {
		return false
	}
	owns := false
	err := e.reading(ctx, s, db, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(
			conn,
			"SELECT principal FROM __schemas WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{int64(id)},
				ResultFunc: func(stmt *sqlite.Stmt) error { owns = principals[stmt.ColumnInt32(0)]; return nil }},
		)
	})
	return err == nil && owns
}

// unrestricted: a sysadmin who is not impersonating a database user.
func (e *Extension) unrestricted(s *engine.Session) bool {
	x := e.context(s)
	return s.Login().Sysadmin && (x == nil || x.user == nil)
}

// Refreshed serves engine.Authorizer.
func (e *Extension) Refreshed(ctx context.Context, s *engine.Session, l engine.Login) engine.Login {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return l
	}
	if catalog.loginByID(l.ID) != nil {
		l.Sysadmin = catalog.serverRoles(l.ID)[sysadminID]
	}
	return l
}

// mayServer tells whether s has one of the server permissions.
func (e *Extension) mayServer(ctx context.Context, s *engine.Session, names ...string) bool {
	for _, name := range names {
		if e.maySecurable(ctx, s, name, classServer, 0) {
			return true
		}
	}
	return false
}

// mayDatabase tells whether s has one of the database permissions in db.
func (e *Extension) mayDatabase(ctx context.Context, s *engine.Session, db *engine.Database, names ...string) bool {
	for _, name := range names {
		if e.may(ctx, s, db, securable{class: classDatabase}, name) {
			return true
		}
	}
	return false
}

// maySecurable tells whether s has a permission on a server-wide securable. Who executes as a database user has none of
// his login's rights outside the database.
func (e *Extension) maySecurable(ctx context.Context, s *engine.Session, name string, class, major int32) bool {
	if e.unrestricted(s) {
		return true
	}
	if x := e.context(s); x != nil && x.user != nil {
		return class == classServer && name == "VIEW ANY DATABASE"
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return false
	}
	return catalog.allowed(s.Login().ID, securable{class: class, major: major}, name)
}

// MayOnGroup tells whether s has a permission (ALTER, CONTROL, VIEW DEFINITION) on the availability group of that
// sys.server_permissions.major_id.
func (e *Extension) MayOnGroup(ctx context.Context, s *engine.Session, permission string, id int32) bool {
	return e.maySecurable(ctx, s, strings.ToUpper(permission), classGroup, id)
}

// MayServer tells whether s has a server permission (ALTER ANY AVAILABILITY GROUP, ALTER ANY LINKED SERVER, ...).
func (e *Extension) MayServer(ctx context.Context, s *engine.Session, permission string) bool {
	return e.mayServer(ctx, s, strings.ToUpper(permission))
}

// SetAvailabilityGroups gives the extension a way to find an availability group by name for GRANT ... ON AVAILABILITY
// GROUP::name; id is what sys.availability_replicas.replica_metadata_id says of the local replica.
func (e *Extension) SetAvailabilityGroups(find func(name string) (id int32, ok bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.groups = find
}

func (e *Extension) group(name string) (int32, bool) {
	e.mu.Lock()
	find := e.groups
	e.mu.Unlock()
	if find == nil {
		return 0, false
	}
	return find(name)
}

func (e *Extension) ownsSchema(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	principal int32,
) (owns bool, err error) {
	err = e.reading(ctx, s, db, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare("SELECT 1 FROM __schemas WHERE principal = ?")
		if err != nil {
			return err
		}
		defer stmt.Reset()
		stmt.BindInt64(1, int64(principal))
		owns, err = stmt.Step()
		return err
	})
	return owns, err
}
