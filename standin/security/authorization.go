// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// alterAuthorization changes an owner: of a database, an endpoint, a server role, a role, a certificate or a schema.
// Who asks needs TAKE OWNERSHIP of it and has to be able to act as the new owner; permissions on what is not a database
// end with its owner. Objects have the owner of their schema and no other. Errors: 15151 for what isn't there or may
// not be had, 15150 for schemas whose owner is fixed (docs/t-sql/statements/alter-authorization-transact-sql.md,
// Remarks and Permissions).
func (e *Extension) alterAuthorization(ctx context.Context, s *engine.Session, n *syntax.AlterAuthorization) error {
	name := n.On.Name[len(n.On.Name)-1]
	switch n.On.Class {
	case "DATABASE":
		return e.changeDatabaseOwner(ctx, s, name, n.Principal)
	case "ENDPOINT":
		return e.changeEndpointOwner(ctx, s, name, n.Principal)
	case "SERVER ROLE":
		return e.changeServerRoleOwner(ctx, s, name, n.Principal)
	case "ROLE", "CERTIFICATE":
		return e.changeOwner(ctx, s, n.On.Class, name, n.Principal)
	case "SCHEMA":
		return e.changeSchemaOwner(ctx, s, &n.On, name, n.Principal)
	case "OBJECT":
		if n.SchemaOwner {
			return e.keepSchemaOwner(ctx, s, &n.On, name)
		}
	}
	return failure(1043, 1, "ALTER AUTHORIZATION ON "+n.On.Class)
}

func (e *Extension) changeDatabaseOwner(ctx context.Context, s *engine.Session, name, principal string) error {
	db := e.inst.Database(name)
	if db == nil || !e.mayDatabase(ctx, s, db, "TAKE OWNERSHIP", "CONTROL") {
		return failure(15151, 1, "find", "database", name)
	}
	if db.System() {
		return failure(15109, 1)
	}
	logins, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	l := logins.login(principal)
	if l == nil || l.Type == rolePrincipal || !e.mayActAsLogin(ctx, s, l) {
		return failure(15151, 1, "find", "principal", principal)
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	if catalog.userBySID(l.SID) != nil {
		return failure(15110, 1)
	}
	return db.Update(ctx, func(info *engine.DatabaseInfo) { info.OwnerSID = l.SID })
}

func (e *Extension) changeServerRoleOwner(ctx context.Context, s *engine.Session, name, principal string) error {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	found := catalog.login(name)
	if found == nil || found.Type != rolePrincipal || found.Fixed || found.ID == serverPublicID ||
		!e.maySecurable(ctx, s, "TAKE OWNERSHIP", classLogin, found.ID) {
		return failure(15151, 1, "find", "server role", name)
	}
	owner := catalog.login(principal)
	if owner == nil || owner.ID == found.ID || !e.mayActAsLogin(ctx, s, owner) {
		return failure(15151, 1, "find", "principal", principal)
	}
	role := *found
	role.Owner = owner.ID
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		if err := put(tx, tableLogins, &role); err != nil || found.Owner == owner.ID {
			return err
		}
		for _, p := range catalog.permissions {
			if p.about(securable{class: classLogin, major: role.ID}) {
				if err := remove(tx, tableServerPermissions, p.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// mayActAsLogin tells whether a login or server role may be made the owner of something by s: its own, one that it may
// impersonate, a role that it is a member of or may alter.
func (e *Extension) mayActAsLogin(ctx context.Context, s *engine.Session, l *login) bool {
	if l.Type == rolePrincipal {
		catalog, err := e.server(ctx, s)
		if x := e.context(s); err == nil && (x == nil || x.user == nil) && catalog.serverRoles(s.Login().ID)[l.ID] {
			return true
		}
		return e.maySecurable(ctx, s, "ALTER", classLogin, l.ID)
	}
	if x := e.context(s); l.ID == s.Login().ID && (x == nil || x.user == nil) {
		return true
	}
	return e.mayImpersonateLogin(ctx, s, l)
}

// mayActAs tells whether a user or role may be made the owner of something by s: itself, a user that it may
// impersonate, a role that it is a member of or may alter.
func (e *Extension) mayActAs(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	catalog *databaseCatalog,
	owner *user,
) bool {
	self, err := s.User(ctx, db)
	if err != nil {
		return false
	}
	sec := securable{class: classPrincipal, major: owner.ID}
	if owner.Type == rolePrincipal {
		return catalog.roles(self.ID)[owner.ID] || e.may(ctx, s, db, sec, "ALTER")
	}
	return self.ID == owner.ID || e.may(ctx, s, db, sec, "IMPERSONATE")
}

// changeOwner is that of a role or a certificate.
func (e *Extension) changeOwner(ctx context.Context, s *engine.Session, class, name, principal string) error {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	owner := catalog.user(principal)
	if owner == nil || !e.mayDatabase(ctx, s, db, "CONTROL") || !e.mayActAs(ctx, s, db, catalog, owner) {
		return failure(15151, 1, "find", "principal", principal)
	}
	if class == "ROLE" {
		found := catalog.user(name)
		if found == nil || found.Type != rolePrincipal || found.Fixed {
			return failure(15151, 1, "find", "role", name)
		}
		role := *found
		role.Owner = owner.ID
		return e.writing(ctx, s, db, func(tx *storage.Tx) error {
			if err := put(tx, tableUsers, &role); err != nil || found.Owner == owner.ID {
				return err
			}
			return dropPermissions(tx, securable{class: classPrincipal, major: role.ID})
		})
	}
	found := catalog.certificate(name)
	if found == nil {
		return failure(15151, 1, "find", "certificate", name)
	}
	if owner.Type == rolePrincipal {
		return failure(15345, 1, "certificate")
	}
	c := *found
	c.Owner = owner.ID
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		if err := put(tx, tableCertificates, &c); err != nil || found.Owner == owner.ID {
			return err
		}
		return dropPermissions(tx, securable{class: classCertificate, major: c.ID})
	})
}

// changeSchemaOwner takes the permissions on a schema and its objects, which have no owners of their own, back with its
// owner.
func (e *Extension) changeSchemaOwner(
	ctx context.Context,
	s *engine.Session,
	on *syntax.Securable,
	name, principal string,
) error {
	db := s.CurrentDatabase()
	t, err := e.databaseSecurable(ctx, s, on, name)
	if err != nil {
		return err
	}
	if !e.may(ctx, s, db, t.sec, "TAKE OWNERSHIP") {
		return failure(15151, 1, "find", "schema", name)
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	owner := catalog.user(principal)
	if owner == nil || !e.mayActAs(ctx, s, db, catalog, owner) {
		return failure(15151, 1, "find", "principal", principal)
	}
	err = s.SetSchemaOwner(ctx, name, owner.ID, func(tx *storage.Tx, objects []int32) error {
		secs := []securable{t.sec}
		for _, id := range objects {
			secs = append(secs, securable{class: classObject, major: id})
		}
		return dropPermissions(tx, secs...)
	})
	if err != nil {
		return err
	}
	e.wrote(s, db)
	return nil
}

// keepSchemaOwner is TO SCHEMA OWNER of an object: nothing changes, for those who may ask for it.
func (e *Extension) keepSchemaOwner(ctx context.Context, s *engine.Session, on *syntax.Securable, name string) error {
	db := s.CurrentDatabase()
	t, err := e.databaseSecurable(ctx, s, on, name)
	if err != nil {
		return err
	}
	if !e.may(ctx, s, db, t.sec, "TAKE OWNERSHIP") {
		return failure(15151, 1, "find", "object", name)
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	var id int32
	err = e.reading(ctx, s, db, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(
			conn,
			"SELECT principal FROM __schemas WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{int64(t.sec.schema)},
				ResultFunc: func(stmt *sqlite.Stmt) error { id = stmt.ColumnInt32(0); return nil }},
		)
	})
	if err != nil {
		return err
	}
	if owner := catalog.userByID(id); owner == nil || !e.mayActAs(ctx, s, db, catalog, owner) {
		return failure(15151, 1, "find", "principal", "SCHEMA OWNER")
	}
	return nil
}

// dropPermissions forgets what was granted and denied on securables of a database.
func dropPermissions(tx *storage.Tx, secs ...securable) error {
	rows, err := readAll[permission](tx.Conn(), tablePermissions)
	if err != nil {
		return err
	}
	about := map[[2]int32]bool{}
	for _, sec := range secs {
		about[[2]int32{sec.class, sec.major}] = true
	}
	for _, row := range rows {
		if !about[[2]int32{row.Class, row.Major}] {
			continue
		}
		if err := remove(tx, tablePermissions, row.ID); err != nil {
			return err
		}
	}
	return nil
}
