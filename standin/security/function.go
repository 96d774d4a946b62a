// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

var (
	sysname   = sqltype.Type{Kind: sqltype.NVarChar, Length: 128}
	integer   = sqltype.Type{Kind: sqltype.Int}
	sidType   = sqltype.Type{Kind: sqltype.VarBinary, Length: 85}
	maxBinary = sqltype.Type{Kind: sqltype.VarBinary, Length: 8000}
)

// function registers a scalar function of minimal and maximal number of arguments, all of one type.
func function(
	r *engine.Registry,
	name string,
	least, most int,
	argument, result sqltype.Type,
	eval func(*engine.Session, []any) (any, error),
) {
	r.Function(
		engine.Function{Name: name, MinArgs: least, MaxArgs: most, Parameters: []sqltype.Type{argument}, Type: result,
			Eval: func(s *engine.Session, args []any) (any, error) {
				v, err := eval(s, args)
				return cell(v), err
			}},
	)
}

// text is an argument as text; ok is false for NULL and for one that isn't given.
func text(args []any, i int) (s string, ok bool) {
	if i >= len(args) || args[i] == nil {
		return "", false
	}
	s, ok = args[i].(string)
	return s, ok
}

// installFunctions registers the functions of docs/t-sql/functions/security-functions-transact-sql.md.
func (e *Extension) installFunctions(r *engine.Registry) {
	function(r, "SUSER_ID", 0, 1, sysname, integer, e.suserID)
	function(r, "SUSER_SID", 0, 2, sysname, sidType, e.suserSID)
	function(r, "SUSER_NAME", 0, 1, integer, sysname, e.suserName)
	function(r, "SUSER_SNAME", 0, 1, sidType, sysname, e.suserSName)
	function(r, "ORIGINAL_LOGIN", 0, 0, sysname, sysname, func(s *engine.Session, _ []any) (any, error) {
		return s.OriginalLogin().Name, nil
	})
	function(r, "USER_ID", 0, 1, sysname, integer, e.userID)
	function(r, "DATABASE_PRINCIPAL_ID", 0, 1, sysname, integer, e.userID)
	function(r, "USER_NAME", 0, 1, integer, sysname, e.userName)
	function(r, "IS_SRVROLEMEMBER", 1, 2, sysname, integer, e.isServerRoleMember)
	function(r, "IS_MEMBER", 1, 1, sysname, integer, e.isRoleMember)
	function(r, "IS_ROLEMEMBER", 1, 2, sysname, integer, e.isRoleMember)
	function(r, "HAS_DBACCESS", 1, 1, sysname, integer, e.hasDatabaseAccess)
	function(r, "HAS_PERMS_BY_NAME", 3, 5, sysname, integer, e.hasPermissions)
	r.Function(
		engine.Function{
			Name:       "PERMISSIONS",
			MinArgs:    0,
			MaxArgs:    2,
			Type:       integer,
			Parameters: []sqltype.Type{integer, sysname},
			Eval:       e.permissionBits,
		},
	)
	e.installMyPermissions(r)
	installBuiltinPermissions(r)
	function(
		r,
		"PWDENCRYPT",
		1,
		1,
		sysname,
		sqltype.Type{Kind: sqltype.VarBinary, Length: 128},
		func(_ *engine.Session, args []any) (any, error) {
			password, ok := text(args, 0)
			if !ok {
				return nil, nil
			}
			return hashPassword(password), nil
		},
	)
	r.Function(engine.Function{Name: "PWDCOMPARE", MinArgs: 2, MaxArgs: 3, Type: integer,
		Parameters: []sqltype.Type{sysname, {Kind: sqltype.VarBinary, Length: 128}, integer},
		Eval: func(_ *engine.Session, args []any) (any, error) {
			password, ok := text(args, 0)
			hash, given := args[1].([]byte)
			if !ok || !given {
				return nil, nil
			}
			return truth(passwordMatches(password, hash)), nil
		}})
	r.Function(engine.Function{Name: "LOGINPROPERTY", MinArgs: 2, MaxArgs: 2, Parameters: []sqltype.Type{sysname},
		Type: sqltype.Type{Kind: sqltype.SQLVariant}, Eval: e.loginProperty})
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (e *Extension) suserID(s *engine.Session, args []any) (any, error) {
	if len(args) == 0 {
		return s.Login().ID, nil
	}
	l, err := e.loginNamed(s, args)
	if l == nil || err != nil {
		return nil, err
	}
	return l.ID, nil
}

func (e *Extension) loginNamed(s *engine.Session, args []any) (*login, error) {
	name, ok := text(args, 0)
	if !ok {
		return nil, nil
	}
	c, err := e.server(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return c.login(name), nil
}

func (e *Extension) suserSID(s *engine.Session, args []any) (any, error) {
	if len(args) == 0 {
		return s.Login().SID, nil
	}
	l, err := e.loginNamed(s, args)
	if l == nil || err != nil {
		return nil, err
	}
	return l.SID, nil
}

func (e *Extension) suserName(s *engine.Session, args []any) (any, error) {
	if len(args) == 0 {
		return s.Login().Name, nil
	}
	id, ok := args[0].(int64)
	if !ok {
		return nil, nil
	}
	c, err := e.server(context.Background(), s)
	if err != nil {
		return nil, err
	}
	if l := c.loginByID(int32(id)); l != nil {
		return l.Name, nil
	}
	return nil, nil
}

func (e *Extension) suserSName(s *engine.Session, args []any) (any, error) {
	if len(args) == 0 {
		return s.Login().Name, nil
	}
	sid, ok := args[0].([]byte)
	if !ok {
		return nil, nil
	}
	c, err := e.server(context.Background(), s)
	if err != nil {
		return nil, err
	}
	if l := c.loginBySID(sid); l != nil {
		return l.Name, nil
	}
	return nil, nil
}

func (e *Extension) userID(s *engine.Session, args []any) (any, error) {
	ctx, db := context.Background(), s.CurrentDatabase()
	if len(args) == 0 {
		u, err := s.User(ctx, db)
		return u.ID, err
	}
	name, ok := text(args, 0)
	if !ok {
		return nil, nil
	}
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	if u := c.user(name); u != nil {
		return u.ID, nil
	}
	return nil, nil
}

func (e *Extension) userName(s *engine.Session, args []any) (any, error) {
	ctx, db := context.Background(), s.CurrentDatabase()
	if len(args) == 0 {
		u, err := s.User(ctx, db)
		return u.Name, err
	}
	id, ok := args[0].(int64)
	if !ok {
		return nil, nil
	}
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	if u := c.userByID(int32(id)); u != nil {
		return u.Name, nil
	}
	return nil, nil
}

// isServerRoleMember is NULL for a role or login that isn't there.
func (e *Extension) isServerRoleMember(s *engine.Session, args []any) (any, error) {
	role, ok := text(args, 0)
	if !ok {
		return nil, nil
	}
	c, err := e.server(context.Background(), s)
	if err != nil {
		return nil, err
	}
	found := c.login(role)
	if found == nil || found.Type != rolePrincipal {
		return nil, nil
	}
	id := s.Login().ID
	if len(args) > 1 {
		name, _ := text(args, 1)
		l := c.login(name)
		if l == nil {
			return nil, nil
		}
		id = l.ID
	}
	roles := c.serverRoles(id)
	return truth(roles[found.ID] || roles[sysadminID] && found.Fixed), nil
}

func (e *Extension) isRoleMember(s *engine.Session, args []any) (any, error) {
	role, ok := text(args, 0)
	if !ok {
		return nil, nil
	}
	ctx, db := context.Background(), s.CurrentDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	found := c.user(role)
	if found == nil || found.Type != rolePrincipal {
		return nil, nil
	}
	u, err := s.User(ctx, db)
	if err != nil {
		return nil, err
	}
	id := u.ID
	if len(args) > 1 {
		name, _ := text(args, 1)
		other := c.user(name)
		if other == nil {
			return nil, nil
		}
		id = other.ID
	}
	return truth(c.roles(id)[found.ID]), nil
}

func (e *Extension) hasDatabaseAccess(s *engine.Session, args []any) (any, error) {
	name, ok := text(args, 0)
	if !ok {
		return nil, nil
	}
	db := e.inst.Database(name)
	if db == nil {
		return nil, nil
	}
	if db.State() != engine.Online {
		return int64(0), nil
	}
	_, err := s.User(context.Background(), db)
	return truth(err == nil), nil
}

// hasPermissions is HAS_PERMS_BY_NAME(securable, class, permission [, sub-securable [, sub-class]])
// (docs/t-sql/functions/has-perms-by-name-transact-sql.md); ANY asks for any permission of the class; NULL for what
// isn't known.
func (e *Extension) hasPermissions(s *engine.Session, args []any) (any, error) {
	name, named := text(args, 0)
	class, _ := text(args, 1)
	permission, ok := text(args, 2)
	if !ok {
		return nil, nil
	}
	ctx := context.Background()
	class, permission = strings.ToUpper(class), strings.ToUpper(permission)
	if !named && (class == "" || class == "SERVER") {
		return e.anyOf(permission, serverPermissions, func(p string) bool { return e.mayServer(ctx, s, p) }), nil
	}
	sec, db, server, ok, err := e.namedSecurable(ctx, s, class, name)
	if err != nil || !ok {
		return nil, err
	}
	if column, given := text(args, 3); given {
		// What columns may is what their table may: a grant on columns opens nothing here, and none is denied.
		subclass, _ := text(args, 4)
		columns, err := e.columnsOf(ctx, s, target{sec: sec, db: db})
		if _, found := columns[strings.ToLower(column)]; err != nil || !found || !strings.EqualFold(subclass, "COLUMN") {
			return nil, err
		}
		return e.anyOf(permission, columnPermissions, func(p string) bool { return e.may(ctx, s, db, sec, p) }), nil
	}
	return e.anyOf(permission, securablePermissions[sec.class], func(p string) bool {
		if server {
			return e.maySecurable(ctx, s, p, sec.class, sec.major)
		}
		return e.may(ctx, s, db, sec, p)
	}), nil
}

// anyOf judges one permission, or any of those known; an unknown one is NULL.
func (e *Extension) anyOf(permission string, known map[string]bool, may func(string) bool) any {
	if permission != "ANY" {
		if !known[permission] {
			return nil
		}
		return truth(may(permission))
	}
	for p := range known {
		if p != "ALL" && may(p) {
			return int64(1)
		}
	}
	return int64(0)
}

func (e *Extension) namedSecurable(
	ctx context.Context,
	s *engine.Session,
	class, name string,
) (sec securable, db *engine.Database, server, ok bool, err error) {
	db = s.CurrentDatabase()
	parts := splitName(name)
	last := parts[len(parts)-1]
	catalog, err := e.server(ctx, s)
	if err != nil {
		return sec, db, false, false, err
	}
	switch class {
	case "LOGIN", "SERVER ROLE":
		if l := catalog.login(last); l != nil {
			return securable{class: classLogin, major: l.ID}, nil, true, true, nil
		}
		return sec, nil, true, false, nil
	case "ENDPOINT":
		if ep := catalog.endpoint(last); ep != nil {
			return securable{class: classEndpoint, major: ep.ID}, nil, true, true, nil
		}
		return sec, nil, true, false, nil
	case "AVAILABILITY GROUP":
		id, found := e.group(last)
		return securable{class: classGroup, major: id}, nil, true, found, nil
	case "DATABASE":
		if last != "" {
			db = e.inst.Database(last)
		}
		return securable{class: classDatabase}, db, false, db != nil, nil
	}
	users, err := e.database(ctx, s, db)
	if err != nil {
		return sec, db, false, false, err
	}
	switch class {
	case "USER", "ROLE":
		if u := users.user(last); u != nil {
			return securable{class: classPrincipal, major: u.ID}, db, false, true, nil
		}
	case "CERTIFICATE":
		if c := users.certificate(last); c != nil {
			return securable{class: classCertificate, major: c.ID}, db, false, true, nil
		}
	case "OBJECT", "SCHEMA":
		err = e.reading(ctx, s, db, func(conn *sqlite.Conn) (err error) {
			if class == "SCHEMA" {
				sec, ok, err = findSchema(conn, last)
				return err
			}
			sec, _, ok, err = e.objectOn(ctx, s, conn, parts)
			return err
		})
		return sec, db, false, ok, err
	}
	return sec, db, false, false, nil
}

// splitName splits a name that may be quoted by brackets into its parts.
func splitName(name string) []string {
	var parts []string
	var part strings.Builder
	quoted := false
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '[' && part.Len() == 0 && !quoted:
			quoted = true
		case c == ']' && quoted && i+1 < len(name) && name[i+1] == ']':
			part.WriteByte(c)
			i++
		case c == ']' && quoted:
			quoted = false
		case c == '.' && !quoted:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	return append(parts, part.String())
}

// loginProperty is LOGINPROPERTY (docs/t-sql/functions/loginproperty-transact-sql.md).
func (e *Extension) loginProperty(s *engine.Session, args []any) (any, error) {
	l, err := e.loginNamed(s, args)
	property, ok := text(args, 1)
	if l == nil || l.Type == rolePrincipal || err != nil || !ok {
		return nil, err
	}
	switch strings.ToLower(property) {
	case "passwordhash":
		if !e.mayServer(context.Background(), s, "CONTROL SERVER") {
			return nil, nil
		}
		return l.PasswordHash, nil
	case "passwordhashalgorithm":
		return int64(2), nil
	case "passwordlastsettime":
		return cell(l.PasswordSet), nil
	case "defaultdatabase":
		return l.DefaultDatabase, nil
	case "defaultlanguage":
		return l.DefaultLanguage, nil
	case "ismustchange":
		return truth(l.MustChange), nil
	case "islocked", "isexpired", "badpasswordcount", "historylength":
		return int64(0), nil
	}
	return nil, nil
}
