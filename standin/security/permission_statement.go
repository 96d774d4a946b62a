// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"maps"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/syntax"
)

// target is the securable of a GRANT, DENY or REVOKE and where its permissions are kept.
type target struct {
	sec   securable
	db    *engine.Database
	table string
	// server is true when grantees are logins and server roles.
	server bool
	// known are the permissions that apply to the securable.
	known map[string]bool
}

// permissionStatement is GRANT, DENY and REVOKE. Errors: 4606 a permission that doesn't apply to the securable, 4613 the
// grantor may not, 4621 a server permission outside master, 4624 a grantee that none is given to, 15151 what isn't found.
func (e *Extension) permissionStatement(ctx context.Context, s *engine.Session, n *syntax.PermissionStatement) error {
	t, err := e.target(ctx, s, n)
	if err != nil {
		return err
	}
	names, err := t.names(n)
	if err != nil {
		return err
	}
	grantor, err := e.grantor(ctx, s, t, n, names)
	if err != nil {
		return err
	}
	grantees, err := e.grantees(ctx, s, t, n.Principals)
	if err != nil {
		return err
	}
	minors, err := e.columnIDs(ctx, s, t, n)
	if err != nil {
		return err
	}
	return e.writing(ctx, s, t.db, func(tx *storage.Tx) error {
		for _, grantee := range grantees {
			for _, name := range names {
				for _, minor := range minors[name] {
					p := &permission{Class: t.sec.class, Major: t.sec.major, Minor: minor, Grantee: grantee, Grantor: grantor, Name: name}
					if err := change(tx, t.table, n, p); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// change carries out one permission's change.
func change(tx *storage.Tx, table string, n *syntax.PermissionStatement, p *permission) error {
	switch {
	case n.Action == "DENY":
		p.State = denied
	case n.Action == "REVOKE" && n.GrantOptionFor:
		return dropGrantOption(tx, table, p)
	case n.Action == "REVOKE":
		return revoke(tx, table, *p)
	case n.WithGrantOption:
		p.State = withGrant
	default:
		p.State = granted
	}
	return grant(tx, table, p)
}

// dropGrantOption turns GRANT WITH GRANT OPTION into GRANT.
func dropGrantOption(tx *storage.Tx, table string, p *permission) error {
	all, err := readAll[permission](tx.Conn(), table)
	if err != nil {
		return err
	}
	for _, row := range all {
		if row.Class == p.Class && row.Major == p.Major && row.Minor == p.Minor && row.Grantee == p.Grantee &&
			row.Name == p.Name && row.State == withGrant {
			row.State = granted
			return put(tx, table, row)
		}
	}
	return nil
}

// target finds the securable.
func (e *Extension) target(ctx context.Context, s *engine.Session, n *syntax.PermissionStatement) (target, error) {
	if n.On == nil {
		if serverPermissions[n.Permissions[0].Name] {
			if !strings.EqualFold(s.CurrentDatabase().Name(), "master") {
				return target{}, failure(4621, 1)
			}
			return e.serverTarget(securable{class: classServer}), nil
		}
		return databaseTarget(s.CurrentDatabase(), securable{class: classDatabase}), nil
	}
	name := n.On.Name[len(n.On.Name)-1]
	switch n.On.Class {
	case "LOGIN", "SERVER ROLE", "ENDPOINT", "AVAILABILITY GROUP":
		return e.serverSecurable(ctx, s, n.On.Class, name)
	}
	return e.databaseSecurable(ctx, s, n.On, name)
}

func (e *Extension) serverTarget(sec securable) target {
	known := securablePermissions[sec.class]
	if sec.class == classServer {
		known = serverPermissions
	}
	return target{sec: sec, db: e.master(), table: tableServerPermissions, server: true, known: known}
}

func databaseTarget(db *engine.Database, sec securable) target {
	return target{sec: sec, db: db, table: tablePermissions, known: securablePermissions[sec.class]}
}

func (e *Extension) serverSecurable(ctx context.Context, s *engine.Session, class, name string) (target, error) {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return target{}, err
	}
	notFound := failure(15151, 1, "find", strings.ToLower(class), name)
	switch class {
	case "ENDPOINT":
		if ep := catalog.endpoint(name); ep != nil {
			return e.serverTarget(securable{class: classEndpoint, major: ep.ID}), nil
		}
	case "AVAILABILITY GROUP":
		if id, ok := e.group(name); ok {
			return e.serverTarget(securable{class: classGroup, major: id}), nil
		}
	default:
		if l := catalog.login(name); l != nil && (l.Type == rolePrincipal) == (class == "SERVER ROLE") {
			return e.serverTarget(securable{class: classLogin, major: l.ID}), nil
		}
	}
	return target{}, notFound
}

func (e *Extension) databaseSecurable(ctx context.Context, s *engine.Session, on *syntax.Securable, name string) (target, error) {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return target{}, err
	}
	notFound := failure(15151, 1, "find", strings.ToLower(on.Class), name)
	switch on.Class {
	case "DATABASE":
		if !strings.EqualFold(name, db.Name()) {
			return target{}, failure(15151, 1, "find", "database", name)
		}
		return databaseTarget(db, securable{class: classDatabase}), nil
	case "USER", "ROLE":
		if u := catalog.user(name); u != nil && (u.Type == rolePrincipal) == (on.Class == "ROLE") {
			return databaseTarget(db, securable{class: classPrincipal, major: u.ID}), nil
		}
		return target{}, notFound
	case "CERTIFICATE":
		if c := catalog.certificate(name); c != nil {
			return databaseTarget(db, securable{class: classCertificate, major: c.ID}), nil
		}
		return target{}, notFound
	}
	var sec securable
	var kind string
	var ok bool
	err = e.reading(ctx, s, db, func(conn *sqlite.Conn) (err error) {
		switch on.Class {
		case "SCHEMA":
			sec, ok, err = findSchema(conn, name)
		case "OBJECT":
			sec, kind, ok, err = e.objectOn(ctx, s, conn, on.Name)
		}
		return err
	})
	if err != nil {
		return target{}, err
	}
	if !ok {
		return target{}, notFound
	}
	t := databaseTarget(db, sec)
	t.known = maps.Clone(t.known)
	for _, name := range foreignToKind(kind) {
		delete(t.known, name)
	}
	return t, nil
}

// foreignToKind are the permissions on objects that those of a kind do not have
// (docs/t-sql/statements/grant-object-permissions-transact-sql.md, permission).
func foreignToKind(kind string) []string {
	switch kind {
	case "P":
		return []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "RECEIVE", "VIEW CHANGE TRACKING"}
	case "FN":
		return []string{"SELECT", "INSERT", "UPDATE", "DELETE", "RECEIVE", "VIEW CHANGE TRACKING"}
	case "U", "V", "IF", "TF":
		return []string{"EXECUTE", "RECEIVE"}
	}
	return nil
}

// objectOn finds [database.][schema.]object; without a schema the user's default schema and then dbo are searched.
func (e *Extension) objectOn(ctx context.Context, s *engine.Session, conn *sqlite.Conn, name []string) (sec securable, kind string, ok bool, err error) {
	object := name[len(name)-1]
	schemas := s.SchemasSearched()
	if len(name) > 1 && name[len(name)-2] != "" {
		schemas = []string{name[len(name)-2]}
	}
	if len(name) > 2 && !strings.EqualFold(name[len(name)-3], s.CurrentDatabase().Name()) {
		return securable{}, "", false, nil
	}
	for _, schema := range schemas {
		sec, kind, ok, err = findObject(conn, schema, object)
		if err != nil || ok {
			return sec, kind, ok, err
		}
	}
	return securable{}, "", false, nil
}

// names are the permissions of the statement; ALL stands for the old list of each class.
func (t target) names(n *syntax.PermissionStatement) ([]string, error) {
	var all []string
	for _, p := range n.Permissions {
		if p.Name == "ALL" {
			for _, name := range allPrivileges[t.sec.class] {
				if t.known[name] {
					all = append(all, name)
				}
			}
			continue
		}
		if !t.known[p.Name] {
			return nil, failure(4606, 1, p.Name)
		}
		all = append(all, p.Name)
	}
	return all, nil
}

// grantorNamed is the principal of AS, who has to have the right to grant (docs/t-sql/statements/grant-transact-sql.md, AS).
func (e *Extension) grantorNamed(ctx context.Context, s *engine.Session, t target, name string, names []string) (int32, error) {
	if t.server {
		catalog, err := e.server(ctx, s)
		if err != nil {
			return 0, err
		}
		if catalog.login(name) == nil {
			return 0, failure(15151, 1, "find", "login", name)
		}
		return 0, sqlerr.Unsupported("AS with a permission of the server")
	}
	catalog, err := e.database(ctx, s, t.db)
	if err != nil {
		return 0, err
	}
	caller, err := s.User(ctx, t.db)
	if err != nil {
		return 0, err
	}
	u := catalog.user(name)
	if u == nil || !caller.Owner && !e.may(ctx, s, t.db, t.sec, "CONTROL") && !catalog.roles(caller.ID)[u.ID] {
		return 0, failure(15151, 1, "find", "user", name)
	}
	roles := catalog.roles(u.ID)
	if u.ID == dboID || roles[dbOwnerID] {
		return u.ID, nil
	}
	for _, permission := range names {
		option := false
		for _, p := range catalog.permissions {
			option = option || (p.Grantee == u.ID || roles[p.Grantee]) && p.about(t.sec) && (p.Name == permission || p.Name == "CONTROL") && p.State == withGrant
		}
		if !option {
			return 0, failure(4613, 1)
		}
	}
	return u.ID, nil
}

// grantor is the principal that gives, if it may: with CONTROL on the securable or the grant option.
func (e *Extension) grantor(ctx context.Context, s *engine.Session, t target, n *syntax.PermissionStatement, names []string) (int32, error) {
	if n.As != "" {
		return e.grantorNamed(ctx, s, t, n.As, names)
	}
	if t.server {
		if !e.maySecurable(ctx, s, "CONTROL", t.sec.class, t.sec.major) && !e.mayServer(ctx, s, "CONTROL SERVER") &&
			!(t.sec.class == classLogin && e.mayServer(ctx, s, "ALTER ANY LOGIN")) &&
			!(t.sec.class == classServer && e.isSecurityAdmin(ctx, s)) {
			return 0, failure(4613, 1)
		}
		return s.Login().ID, nil
	}
	u, err := s.User(ctx, t.db)
	if err != nil {
		return 0, err
	}
	if u.Owner || e.may(ctx, s, t.db, t.sec, "CONTROL") {
		return dboID, nil
	}
	catalog, err := e.database(ctx, s, t.db)
	if err != nil {
		return 0, err
	}
	roles := catalog.roles(u.ID)
	if roles[dbSecurityAdminID] {
		return u.ID, nil
	}
	for _, name := range names {
		option := false
		for _, p := range catalog.permissions {
			option = option || roles[p.Grantee] && p.about(t.sec) && p.Name == name && p.State == withGrant
		}
		if !option {
			return 0, failure(4613, 1)
		}
	}
	return u.ID, nil
}

func (e *Extension) isSecurityAdmin(ctx context.Context, s *engine.Session) bool {
	catalog, err := e.server(ctx, s)
	return err == nil && catalog.serverRoles(s.Login().ID)[securityadminID]
}

// grantees are the ids of the named principals.
func (e *Extension) grantees(ctx context.Context, s *engine.Session, t target, principals []string) ([]int32, error) {
	var ids []int32
	if t.server {
		catalog, err := e.server(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, name := range principals {
			l := catalog.login(name)
			if l == nil {
				return nil, failure(15151, 1, "find", "login", name)
			}
			if l.ID == saID || l.Fixed || l.ID == s.Login().ID {
				return nil, failure(4624, 1)
			}
			ids = append(ids, l.ID)
		}
		return ids, nil
	}
	catalog, err := e.database(ctx, s, t.db)
	if err != nil {
		return nil, err
	}
	for _, name := range principals {
		u := catalog.user(name)
		if u == nil {
			return nil, failure(15151, 1, "find", "user", name)
		}
		if u.ID == dboID || u.ID == informationSchemaID || u.ID == sysID || u.Fixed {
			return nil, failure(4624, 1)
		}
		ids = append(ids, u.ID)
	}
	return ids, nil
}

// columnIDs gives, for each permission, the minor_ids it is about: 0 for the whole securable.
func (e *Extension) columnIDs(ctx context.Context, s *engine.Session, t target, n *syntax.PermissionStatement) (map[string][]int32, error) {
	minors := map[string][]int32{}
	var named map[string]int32
	for _, p := range n.Permissions {
		columns := p.Columns
		if n.On != nil && len(columns) == 0 {
			columns = n.On.Columns
		}
		if len(columns) == 0 {
			minors[p.Name] = []int32{0}
			continue
		}
		if n.Action == "DENY" {
			// Statements are judged by object: a denial that is kept and not enforced would be worse than none.
			return nil, failure(1043, 1, "DENY of a permission on columns")
		}
		if named == nil {
			var err error
			if named, err = e.columnsOf(ctx, s, t); err != nil {
				return nil, err
			}
		}
		for _, c := range columns {
			id, ok := named[strings.ToLower(c)]
			if !ok {
				return nil, failure(207, 1, c)
			}
			minors[p.Name] = append(minors[p.Name], id)
		}
	}
	for _, name := range allPrivileges[t.sec.class] {
		if minors[name] == nil {
			minors[name] = []int32{0}
		}
	}
	return minors, nil
}

// columnsOf has the numbers of a table's columns by their names in lower case.
func (e *Extension) columnsOf(ctx context.Context, s *engine.Session, t target) (map[string]int32, error) {
	named, err := e.columnsNamed(ctx, s, t)
	columns := make(map[string]int32, len(named))
	for name, id := range named {
		columns[strings.ToLower(name)] = id
	}
	return columns, err
}

// columnsNamed is columnsOf with the names as they are.
func (e *Extension) columnsNamed(ctx context.Context, s *engine.Session, t target) (map[string]int32, error) {
	columns := map[string]int32{}
	err := e.reading(ctx, s, t.db, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT json_extract(c.value, '$.name'), json_extract(c.value, '$.id')
			FROM __objects o, json_each(o.doc, '$.table.columns') c WHERE o.id = ?`, &sqlitex.ExecOptions{
			Args: []any{t.sec.major}, ResultFunc: func(stmt *sqlite.Stmt) error {
				columns[stmt.ColumnText(0)] = stmt.ColumnInt32(1)
				return nil
			}})
	})
	return columns, err
}
