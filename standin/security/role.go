// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"slices"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

func (e *Extension) createRole(ctx context.Context, s *engine.Session, n *syntax.CreateRole) error {
	if n.Server {
		return e.createServerRole(ctx, s, n)
	}
	db := s.CurrentDatabase()
	if !e.mayDatabase(ctx, s, db, "CREATE ROLE", "ALTER ANY ROLE") {
		return failure(262, 1, "CREATE ROLE", db.Name())
	}
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	if catalog.user(n.Name) != nil {
		return failure(15023, 1, n.Name)
	}
	if err := validPrincipalName(n.Name); err != nil {
		return err
	}
	owner, err := e.ownerOf(ctx, s, db, catalog, n.Authorization)
	if err != nil {
		return err
	}
	if u := catalog.userByID(owner); n.Authorization != "" && !e.mayActAs(ctx, s, db, catalog, u) {
		return failure(15151, 1, "find", "principal", n.Authorization)
	}
	now := e.now().UTC()
	r := &user{Name: n.Name, Type: rolePrincipal, Created: now, Modified: now, Owner: owner}
	return e.writing(ctx, s, db, func(tx *storage.Tx) error {
		if r.ID, err = nextUserID(tx); err != nil {
			return err
		}
		r.SID = roleSID(r.ID)
		return put(tx, tableUsers, r)
	})
}

// ownerOf is the principal that AUTHORIZATION names, or the creator's user.
func (e *Extension) ownerOf(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	c *databaseCatalog,
	name string,
) (int32, error) {
	if name == "" {
		u, err := s.User(ctx, db)
		if err != nil {
			return 0, err
		}
		return u.ID, nil
	}
	u := c.user(name)
	if u == nil {
		return 0, failure(15151, 1, "find", "principal", name)
	}
	return u.ID, nil
}

// principal is the principal_id of a database's user or role that s may make the owner of a schema
// (docs/t-sql/statements/create-schema-transact-sql.md, Permissions).
func (e *Extension) principal(ctx context.Context, s *engine.Session, db *engine.Database, name string) (int32, bool) {
	c, err := e.database(ctx, s, db)
	if err != nil {
		return 0, false
	}
	u := c.user(name)
	if u == nil || !e.mayActAs(ctx, s, db, c, u) {
		return 0, false
	}
	return u.ID, true
}

func (e *Extension) hasPrincipal(ctx context.Context, s *engine.Session, db *engine.Database, name string) bool {
	c, err := e.database(ctx, s, db)
	return err == nil && c.user(name) != nil
}

func (e *Extension) createServerRole(ctx context.Context, s *engine.Session, n *syntax.CreateRole) error {
	if !e.mayServer(ctx, s, "CREATE SERVER ROLE", "ALTER ANY SERVER ROLE") {
		return notPermitted()
	}
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	if catalog.login(n.Name) != nil {
		return failure(15025, 1, n.Name)
	}
	if err := validPrincipalName(n.Name); err != nil {
		return err
	}
	owner := s.Login().ID
	if n.Authorization != "" {
		l := catalog.login(n.Authorization)
		if l == nil || !e.mayActAsLogin(ctx, s, l) {
			return failure(15151, 1, "find", "server principal", n.Authorization)
		}
		owner = l.ID
	}
	now := e.now().UTC()
	r := &login{Name: n.Name, SID: newSID(), Type: rolePrincipal, Created: now, Modified: now, Owner: owner}
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		if r.ID, err = nextID(tx, tableLogins, firstLogin); err != nil {
			return err
		}
		return put(tx, tableLogins, r)
	})
}

func (e *Extension) alterRole(ctx context.Context, s *engine.Session, n *syntax.AlterRole) error {
	if n.Server {
		return e.alterServerRole(ctx, s, n)
	}
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	role := catalog.user(n.Name)
	if role == nil || role.Type != rolePrincipal || !e.mayChangeRole(ctx, s, db, role) {
		return failure(15151, 1, "alter", "role", n.Name)
	}
	if n.NewName != "" {
		return e.renameRole(ctx, s, db, catalog, *role, n.NewName)
	}
	if role.ID == publicID {
		return failure(15081, 1)
	}
	member := catalog.user(n.AddMember + n.DropMember)
	if member == nil {
		return failure(
			15151,
			1,
			map[bool]string{true: "add", false: "drop"}[n.AddMember != ""],
			"principal",
			n.AddMember+n.DropMember,
		)
	}
	if member.Fixed || member.ID == dboID || member.ID == publicID || member.ID == informationSchemaID ||
		member.ID == sysID {
		return failure(15405, 1, member.Name)
	}
	if n.AddMember != "" && catalog.roles(role.ID)[member.ID] {
		return failure(15413, 1)
	}
	changed := *member
	changed.MemberOf = membership(member.MemberOf, role.ID, n.AddMember != "")
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return put(tx, tableUsers, &changed) })
}

// mayChangeRole: ALTER ANY ROLE changes all but the fixed roles' members, which db_owner (and for the roles below it
// nobody else) changes; a role's owner changes his own.
func (e *Extension) mayChangeRole(ctx context.Context, s *engine.Session, db *engine.Database, role *user) bool {
	if role.Fixed {
		return e.mayDatabase(ctx, s, db, "CONTROL")
	}
	u, err := s.User(ctx, db)
	return err == nil && u.ID == role.Owner || e.mayDatabase(ctx, s, db, "ALTER ANY ROLE")
}

func (e *Extension) renameRole(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	c *databaseCatalog,
	r user,
	name string,
) error {
	if r.Fixed || r.ID == publicID {
		return failure(15150, 1, "alter", "role", r.Name)
	}
	if other := c.user(name); other != nil && other.ID != r.ID {
		return failure(15023, 1, name)
	}
	if err := validPrincipalName(name); err != nil {
		return err
	}
	r.Name, r.Modified = name, e.now().UTC()
	return e.writing(ctx, s, db, func(tx *storage.Tx) error { return put(tx, tableUsers, &r) })
}

// membership is a list of roles with one added or dropped.
func membership(roles []int32, role int32, add bool) []int32 {
	roles = slices.DeleteFunc(slices.Clone(roles), func(id int32) bool { return id == role })
	if add {
		roles = append(roles, role)
	}
	return roles
}

func (e *Extension) alterServerRole(ctx context.Context, s *engine.Session, n *syntax.AlterRole) error {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	role := catalog.login(n.Name)
	if role == nil || role.Type != rolePrincipal || !e.mayChangeServerRole(ctx, s, catalog, role) {
		return failure(15151, 1, "alter", "server role", n.Name)
	}
	if n.NewName != "" {
		if role.Fixed || role.ID == serverPublicID {
			return failure(15150, 1, "alter", "server role", n.Name)
		}
		if other := catalog.login(n.NewName); other != nil && other.ID != role.ID {
			return failure(15025, 1, n.NewName)
		}
		if err := validPrincipalName(n.NewName); err != nil {
			return err
		}
		changed := *role
		changed.Name, changed.Modified = n.NewName, e.now().UTC()
		return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return put(tx, tableLogins, &changed) })
	}
	if role.ID == serverPublicID {
		return failure(15081, 1)
	}
	member := catalog.login(n.AddMember + n.DropMember)
	if member == nil {
		return failure(
			15151,
			1,
			map[bool]string{true: "add", false: "drop"}[n.AddMember != ""],
			"principal",
			n.AddMember+n.DropMember,
		)
	}
	if member.ID == saID || member.Fixed || member.ID == serverPublicID {
		return failure(15405, 1, member.Name)
	}
	if n.AddMember != "" && catalog.serverRoles(role.ID)[member.ID] {
		return failure(15413, 1)
	}
	changed := *member
	changed.MemberOf = membership(member.MemberOf, role.ID, n.AddMember != "")
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return put(tx, tableLogins, &changed) })
}

// mayChangeServerRole: members of a fixed role add to that role; ALTER ANY SERVER ROLE changes user-made ones
// (docs/t-sql/statements/alter-server-role-transact-sql.md, "Permissions").
func (e *Extension) mayChangeServerRole(ctx context.Context, s *engine.Session, c *serverCatalog, role *login) bool {
	if role.Fixed {
		return s.Login().Sysadmin || role.ID != sysadminID && c.serverRoles(s.Login().ID)[role.ID]
	}
	return role.Owner == s.Login().ID || e.mayServer(ctx, s, "ALTER ANY SERVER ROLE")
}

func (e *Extension) dropRole(ctx context.Context, s *engine.Session, n *syntax.DropRole) error {
	if n.Server {
		return e.dropServerRole(ctx, s, n)
	}
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return err
	}
	role := catalog.user(n.Name)
	if role == nil && n.IfExists {
		return nil
	}
	if role == nil || role.Type != rolePrincipal || !e.mayChangeRole(ctx, s, db, role) {
		return failure(15151, 1, "drop", "role", n.Name)
	}
	if role.Fixed || role.ID == publicID {
		return failure(15150, 1, "drop", "role", n.Name)
	}
	for _, u := range catalog.users {
		if slices.Contains(u.MemberOf, role.ID) {
			return failure(15144, 1)
		}
	}
	return e.dropPrincipal(ctx, s, db, catalog, role)
}

func (e *Extension) dropServerRole(ctx context.Context, s *engine.Session, n *syntax.DropRole) error {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return err
	}
	role := catalog.login(n.Name)
	if role == nil || role.Type != rolePrincipal || !e.mayChangeServerRole(ctx, s, catalog, role) {
		return failure(15151, 1, "drop", "server role", n.Name)
	}
	if role.Fixed || role.ID == serverPublicID {
		return failure(15150, 1, "drop", "server role", n.Name)
	}
	for _, l := range catalog.logins {
		if slices.Contains(l.MemberOf, role.ID) {
			return failure(15144, 1)
		}
	}
	if catalog.ownsRole(role) {
		return failure(15141, 1, "server role")
	}
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		for _, p := range catalog.permissions {
			if p.Grantee == role.ID {
				if err := remove(tx, tableServerPermissions, p.ID); err != nil {
					return err
				}
			}
		}
		return remove(tx, tableLogins, role.ID)
	})
}
