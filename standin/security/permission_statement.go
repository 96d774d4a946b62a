// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"maps"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
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
	// columns is true for an object, whose permissions may be limited to columns.
	columns bool
}

// permissionStatement is GRANT, DENY and REVOKE. Errors: 4606 a permission that doesn't apply to the securable, 4613
// the grantor may not, 4617 and 4624 a grantee that none is given to, 4621 a server permission outside master, 15151
// what isn't found.
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
	if err := connectable(t, n.Action, names, grantees); err != nil {
		return err
	}
	minors, err := e.columnIDs(ctx, s, t, n)
	if err != nil {
		return err
	}
	return e.writing(ctx, s, t.db, func(tx *storage.Tx) error {
		for _, g := range grantees {
			for _, name := range names {
				for _, minor := range minors[name] {
					p := &permission{Class: t.sec.class, Major: t.sec.major, Minor: minor, Grantee: g.id, Grantor: grantor, Name: name}
					if err := change(tx, t.table, n, p); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// target finds the securable. Errors: 4619 CREATE DATABASE and 4621 permissions of the server outside master, 4620
// permissions of both scopes.
func (e *Extension) target(ctx context.Context, s *engine.Session, n *syntax.PermissionStatement) (target, error) {
	inMaster := strings.EqualFold(s.CurrentDatabase().Name(), "master")
	if n.On != nil {
		switch n.On.Class {
		case "LOGIN", "SERVER ROLE", "ENDPOINT", "AVAILABILITY GROUP":
			if !inMaster {
				return target{}, failure(4621, 1)
			}
			return e.serverSecurable(ctx, s, n.On.Class, n.On.Name[0])
		}
		return e.databaseSecurable(ctx, s, n.On, n.On.Name[len(n.On.Name)-1])
	}
	server, database := 0, 0
	for _, p := range n.Permissions {
		switch {
		case p.Name == "CREATE DATABASE" && !inMaster:
			return target{}, failure(4619, 1)
		case serverPermissions[p.Name]:
			server++
		case securablePermissions[classDatabase][p.Name]:
			database++
		}
	}
	switch {
	case server > 0 && database > 0:
		return target{}, failure(4620, 1)
	case server > 0 && !inMaster:
		return target{}, failure(4621, 1)
	case server > 0:
		return e.serverTarget(securable{class: classServer}), nil
	}
	return databaseTarget(s.CurrentDatabase(), securable{class: classDatabase}), nil
}

func (e *Extension) serverTarget(sec securable) target {
	known := securablePermissions[sec.class]
	if sec.class == classServer {
		known = serverPermissions
	}
	return target{sec: sec, db: e.master(), table: tableServerPermissions, server: true, known: known}
}

// of is t with the permissions of one of the kinds that its class of securables has.
func (t target) of(kind string) target {
	t.known = permissionsOf(kind)
	return t
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
		if builtinEndpoint(name) {
			return target{}, sqlerr.Unsupported("A permission on a built-in endpoint")
		}
		if ep := catalog.endpoint(name); ep != nil {
			return e.serverTarget(securable{class: classEndpoint, major: ep.ID}), nil
		}
	case "AVAILABILITY GROUP":
		if id, ok := e.group(name); ok {
			return e.serverTarget(securable{class: classGroup, major: id}), nil
		}
	default:
		if l := catalog.login(name); l != nil && (l.Type == rolePrincipal) == (class == "SERVER ROLE") {
			return e.serverTarget(securable{class: classLogin, major: l.ID}).of(class), nil
		}
	}
	return target{}, notFound
}

func (e *Extension) databaseSecurable(
	ctx context.Context,
	s *engine.Session,
	on *syntax.Securable,
	name string,
) (target, error) {
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
			return databaseTarget(db, securable{class: classPrincipal, major: u.ID}).of(on.Class), nil
		}
		return target{}, notFound
	case "CERTIFICATE":
		if c := catalog.certificate(name); c != nil {
			return databaseTarget(db, securable{class: classCertificate, major: c.ID}), nil
		}
		return target{}, notFound
	}
	if on.Class == "OBJECT" && len(on.Name) > 2 && (len(on.Name) > 3 || !strings.EqualFold(on.Name[0], db.Name())) {
		return target{}, failure(4610, 1)
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
	t.known, t.columns = maps.Clone(t.known), on.Class == "OBJECT"
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
func (e *Extension) objectOn(
	ctx context.Context,
	s *engine.Session,
	conn *sqlite.Conn,
	name []string,
) (sec securable, kind string, ok bool, err error) {
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
		if id, ok := s.SystemTable(schema, object); ok {
			sec, _, err := findSchema(conn, schema)
			return securable{class: classObject, major: id, schema: sec.major}, "U", true, err
		}
	}
	return securable{}, "", false, nil
}

// names are the permissions of the statement; ALL stands for the old list of a class, of columns for what they have.
// Errors: 4606, and 4623 ALL of a class that has no such list.
func (t target) names(n *syntax.PermissionStatement) ([]string, error) {
	var all []string
	for _, p := range n.Permissions {
		if p.Name != "ALL" {
			if !t.known[p.Name] {
				return nil, failure(4606, 1, p.Name)
			}
			all = append(all, p.Name)
			continue
		}
		if allPrivileges[t.sec.class] == nil {
			return nil, failure(4623, 1)
		}
		for _, name := range allPrivileges[t.sec.class] {
			if t.known[name] && (n.On == nil || len(n.On.Columns) == 0 || columnPermissions[name]) {
				all = append(all, name)
			}
		}
	}
	return all, nil
}

// grantorNamed is the principal of AS, who has to have the right to grant (docs/t-sql/statements/grant-transact-sql.md,
// AS).
func (e *Extension) grantorNamed(
	ctx context.Context,
	s *engine.Session,
	t target,
	name string,
	names []string,
) (int32, error) {
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
	if u == nil {
		return 0, failure(15151, 1, "find", "user", name)
	}
	if !caller.Owner && !e.may(ctx, s, t.db, t.sec, "CONTROL") && !catalog.roles(caller.ID)[u.ID] {
		return 0, failure(4618, 1, name)
	}
	roles := catalog.roles(u.ID)
	if u.ID == dboID || roles[dbOwnerID] {
		return u.ID, nil
	}
	for _, permission := range names {
		option := false
		for _, p := range catalog.permissions {
			option = option ||
				(p.Grantee == u.ID || roles[p.Grantee]) && p.about(t.sec) && (p.Name == permission || p.Name == "CONTROL") &&
					p.State == withGrant
		}
		if !option {
			return 0, failure(4613, 1)
		}
	}
	return u.ID, nil
}

// grantor is the principal that gives, if it may: with CONTROL on the securable or the grant option.
func (e *Extension) grantor(
	ctx context.Context,
	s *engine.Session,
	t target,
	n *syntax.PermissionStatement,
	names []string,
) (int32, error) {
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

// columnIDs gives, for each permission, the minor_ids it is about: 0 for the whole securable. Errors: 1019 two lists,
// 1020 a list where there can be none, 4615 a column that is not there.
func (e *Extension) columnIDs(
	ctx context.Context,
	s *engine.Session,
	t target,
	n *syntax.PermissionStatement,
) (map[string][]int32, error) {
	minors := map[string][]int32{}
	var named map[string]int32
	for _, p := range n.Permissions {
		columns := p.Columns
		if n.On != nil && len(n.On.Columns) > 0 {
			if len(columns) > 0 {
				return nil, failure(1019, 1)
			}
			columns = n.On.Columns
		}
		names := []string{p.Name}
		if p.Name == "ALL" {
			names = allPrivileges[t.sec.class]
		}
		if len(columns) == 0 {
			for _, name := range names {
				minors[name] = []int32{0}
			}
			continue
		}
		if !t.columns || p.Name != "ALL" && !columnPermissions[p.Name] {
			return nil, failure(1020, 1)
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
				return nil, failure(4615, 1, c)
			}
			for _, name := range names {
				minors[name] = append(minors[name], id)
			}
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
