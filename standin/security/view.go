// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"strings"
	"time"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// columns parses "name type" pairs, one in a string; the page that has them is named where it is called.
func columns(pairs ...string) []tds.Column {
	var all []tds.Column
	for _, pair := range pairs {
		name, kind, _ := strings.Cut(pair, " ")
		t, err := syntax.ParseType(kind)
		if err != nil {
			panic(fmt.Sprintf("security: column %q: %v", pair, err))
		}
		all = append(all, tds.Column{Name: name, Type: t, Nullable: true})
	}
	return all
}

// documented are the columns that catalog has of a view, after those of the view that it inherits from.
func documented(view string, inherited ...tds.Column) []tds.Column {
	info, ok := catalog.View(view)
	if !ok {
		panic("security: catalog does not have " + view)
	}
	all := inherited
	for _, c := range info.Columns {
		if c.Type == "nvarchar" { // the page of sys.dm_tcp_listener_states gives an address no length
			c.Type = "nvarchar(256)"
		}
		all = append(all, columns(c.Name+" "+c.Type)...)
	}
	return all
}

// viewRow makes the cells of a row by column name.
type viewRow map[string]any

// view registers a view of sys whose rows are made by name; a column that a row leaves out is NULL.
func (e *Extension) view(
	r *engine.Registry,
	name string,
	cols []tds.Column,
	rows func(context.Context, *engine.Session) ([]viewRow, error),
) {
	r.View(
		engine.View{
			Schema:  "sys",
			Name:    name,
			Columns: cols,
			Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
				named, err := rows(ctx, s)
				if err != nil {
					return nil, err
				}
				all := make([][]any, len(named))
				for i, row := range named {
					cells := make([]any, len(cols))
					for j, c := range cols {
						cells[j] = cell(row[c.Name])
					}
					all[i] = cells
				}
				return all, nil
			},
		},
	)
}

// cell turns Go's integer types and zero times into what sqltype wants.
func cell(v any) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int32:
		return int64(x)
	case int8:
		return int64(x)
	case time.Time:
		if x.IsZero() {
			return nil
		}
		return x
	case []byte:
		if x == nil {
			return nil
		}
		return x
	}
	return v
}

func (e *Extension) installViews(r *engine.Registry) {
	e.installPrincipalViews(r)
	e.installPermissionViews(r)
	e.installCryptographyViews(r)
	e.installEndpointViews(r)
	e.installServerViews(r)
}

var principalTypes = map[string]string{
	sqlPrincipal:         "SQL_LOGIN",
	rolePrincipal:        "SERVER_ROLE",
	certificatePrincipal: "CERTIFICATE_MAPPED_LOGIN",
}

var userTypes = map[string]string{
	sqlPrincipal:         "SQL_USER",
	rolePrincipal:        "DATABASE_ROLE",
	certificatePrincipal: "CERTIFICATE_MAPPED_USER",
}

func (e *Extension) installPrincipalViews(r *engine.Registry) {
	principals := documented("sys.server_principals")
	e.view(r, "server_principals", principals, func(ctx context.Context, s *engine.Session) ([]viewRow, error) {
		return e.loginRows(ctx, s, false)
	})
	// docs/relational-databases/system-catalog-views/sys-sql-logins-transact-sql.md
	e.view(r, "sql_logins", append(columns("name sysname", "principal_id int", "sid varbinary(85)", "type char(1)",
		"type_desc nvarchar(60)", "is_disabled int", "create_date datetime", "modify_date datetime",
		"default_database_name sysname", "default_language_name sysname", "credential_id int"),
		columns("is_policy_checked bit", "is_expiration_checked bit", "password_hash varbinary(256)")...),
		func(ctx context.Context, s *engine.Session) ([]viewRow, error) { return e.loginRows(ctx, s, true) })
	// docs/relational-databases/system-catalog-views/sys-server-role-members-transact-sql.md
	e.view(r, "server_role_members", columns("role_principal_id int", "member_principal_id int"), e.serverMemberRows)
	// docs/relational-databases/system-catalog-views/sys-database-principals-transact-sql.md
	e.view(r, "database_principals", columns("name sysname", "principal_id int", "type char(1)", "type_desc nvarchar(60)",
		"default_schema_name sysname", "create_date datetime", "modify_date datetime", "owning_principal_id int",
		"sid varbinary(85)", "is_fixed_role bit", "authentication_type int", "authentication_type_desc nvarchar(60)",
		"default_language_name sysname", "default_language_lcid int", "allow_encrypted_value_modifications bit"), e.userRows)
	// docs/relational-databases/system-catalog-views/sys-database-role-members-transact-sql.md
	e.view(r, "database_role_members", columns("role_principal_id int", "member_principal_id int"), e.databaseMemberRows)
}

// loginRows are all principals for who may see them (VIEW ANY DEFINITION or ALTER ANY LOGIN), else the caller's own,
// sa and the fixed roles (docs/relational-databases/system-catalog-views/sys-server-principals-transact-sql.md).
func (e *Extension) loginRows(ctx context.Context, s *engine.Session, sql bool) ([]viewRow, error) {
	c, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	all := e.mayServer(ctx, s, "VIEW ANY DEFINITION", "VIEW ANY SECURITY DEFINITION", "ALTER ANY LOGIN")
	hashes := e.mayServer(ctx, s, "CONTROL SERVER", "VIEW ANY SECURITY DEFINITION")
	var rows []viewRow
	for _, l := range c.logins {
		if sql && l.Type != sqlPrincipal || !all && l.ID >= firstLogin && l.ID != s.Login().ID {
			continue
		}
		row := viewRow{
			"name":                  l.Name,
			"principal_id":          l.ID,
			"sid":                   l.SID,
			"type":                  l.Type,
			"type_desc":             principalTypes[l.Type],
			"is_disabled":           l.Disabled,
			"create_date":           l.Created,
			"modify_date":           l.Modified,
			"is_fixed_role":         l.Fixed,
			"is_policy_checked":     l.CheckPolicy,
			"is_expiration_checked": l.CheckExpiration,
		}
		row["is_disabled"] = 0
		if l.Disabled {
			row["is_disabled"] = 1
		}
		if l.Type == rolePrincipal {
			row["owning_principal_id"] = l.Owner
		} else {
			row["default_database_name"], row["default_language_name"] = l.DefaultDatabase, l.DefaultLanguage
		}
		if hashes {
			row["password_hash"] = l.PasswordHash
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (e *Extension) serverMemberRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	c, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	all := e.mayServer(ctx, s, "VIEW ANY DEFINITION", "VIEW ANY SECURITY DEFINITION")
	var rows []viewRow
	for _, l := range c.logins {
		if !all && l.ID >= firstLogin && l.ID != s.Login().ID {
			continue
		}
		for _, role := range l.MemberOf {
			rows = append(rows, viewRow{"role_principal_id": role, "member_principal_id": l.ID})
		}
	}
	return rows, nil
}

func (e *Extension) userRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	db := s.ViewDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	self, err := s.User(ctx, db)
	if err != nil {
		return nil, err
	}
	all := e.mayDatabase(ctx, s, db, "VIEW DEFINITION", "ALTER ANY USER")
	var rows []viewRow
	for _, u := range c.users {
		if !all && u.ID >= firstUser && u.ID < dbOwnerID && u.ID != self.ID {
			continue
		}
		sid := u.SID
		if u.ID == dboID {
			sid = db.Info().OwnerSID
			if len(sid) == 0 {
				sid = []byte{1}
			}
		}
		row := viewRow{"name": u.Name, "principal_id": u.ID, "type": u.Type, "type_desc": userTypes[u.Type],
			"create_date": u.Created, "modify_date": u.Modified, "sid": sid, "is_fixed_role": u.Fixed,
			"authentication_type": u.Authentication, "authentication_type_desc": "NONE",
			"allow_encrypted_value_modifications": false}
		if u.Authentication == 1 {
			row["authentication_type_desc"] = "INSTANCE"
		}
		if u.Owner != 0 {
			row["owning_principal_id"] = u.Owner
		}
		if u.DefaultSchema != "" {
			row["default_schema_name"] = u.DefaultSchema
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (e *Extension) databaseMemberRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	db := s.ViewDatabase()
	c, err := e.database(ctx, s, db)
	if err != nil {
		return nil, err
	}
	self, err := s.User(ctx, db)
	if err != nil {
		return nil, err
	}
	all := e.mayDatabase(ctx, s, db, "VIEW DEFINITION", "ALTER ANY ROLE")
	var rows []viewRow
	for _, u := range c.users {
		if !all && u.ID >= firstUser && u.ID != self.ID {
			continue
		}
		for _, role := range u.MemberOf {
			rows = append(rows, viewRow{"role_principal_id": role, "member_principal_id": u.ID})
		}
	}
	return rows, nil
}

var stateNames = map[string]string{granted: "GRANT", withGrant: "GRANT_WITH_GRANT_OPTION", denied: "DENY"}

func (e *Extension) installPermissionViews(r *engine.Registry) {
	e.view(
		r,
		"server_permissions",
		documented("sys.server_permissions"),
		func(ctx context.Context, s *engine.Session) ([]viewRow, error) {
			c, err := e.server(ctx, s)
			if err != nil {
				return nil, err
			}
			roles := c.serverRoles(s.Login().ID)
			all := e.mayServer(ctx, s, "VIEW ANY DEFINITION", "VIEW ANY SECURITY DEFINITION")
			return permissionRows(c.permissions, func(p *permission) bool { return all || roles[p.Grantee] }), nil
		},
	)
	// docs/relational-databases/system-catalog-views/sys-database-permissions-transact-sql.md
	e.view(r, "database_permissions", columns(
		"class tinyint",
		"class_desc nvarchar(60)",
		"major_id int",
		"minor_id int",
		"grantee_principal_id int",
		"grantor_principal_id int",
		"type char(4)",
		"permission_name nvarchar(128)",
		"state char(1)",
		"state_desc nvarchar(60)",
	), func(ctx context.Context, s *engine.Session) ([]viewRow, error) {
		db := s.ViewDatabase()
		c, err := e.database(ctx, s, db)
		if err != nil {
			return nil, err
		}
		u, err := s.User(ctx, db)
		if err != nil {
			return nil, err
		}
		roles := c.roles(u.ID)
		all := e.mayDatabase(ctx, s, db, "VIEW DEFINITION")
		return permissionRows(c.permissions, func(p *permission) bool { return all || roles[p.Grantee] }), nil
	})
}

func permissionRows(all []*permission, visible func(*permission) bool) []viewRow {
	var rows []viewRow
	for _, p := range all {
		if !visible(p) {
			continue
		}
		rows = append(
			rows,
			viewRow{"class": p.Class, "class_desc": classNames[p.Class], "major_id": p.Major, "minor_id": p.Minor,
				"grantee_principal_id": p.Grantee, "grantor_principal_id": p.Grantor,
				"type":            fmt.Sprintf("%-4s", permissionTypes[p.Name]),
				"permission_name": p.Name, "state": p.State, "state_desc": stateNames[p.State]},
		)
	}
	return rows
}
