// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// LoginState is one SQL login as a server has it.
type LoginState struct {
	// SID of the login.
	SID []byte
	// Disabled tells that it may not connect.
	Disabled bool
	// PasswordMatches says that its password is the one that was asked about.
	PasswordMatches bool
	// MayConnect tells that it has CONNECT SQL, ConnectDenied that this is denied to it, which counts more.
	MayConnect, ConnectDenied bool
	// HasDefault tells that the database is there in which it begins when it names none.
	HasDefault bool
	// LockedOut tells that the server lets it in no more for wrong passwords.
	LockedOut bool
	// Checked tells that its password must be complex, Expires that it must be changed after a time.
	Checked, Expires bool
	// Roles of the server that it is a member of.
	Roles []string
	// Permissions on the server itself that it is granted, and Denied those that are denied to it.
	Permissions, Denied []string
}

// Policy is how the login's password is checked.
func (s LoginState) Policy() tsql.PasswordPolicy {
	return tsql.PasswordPolicy{Unchecked: !s.Checked, Expires: s.Expires}
}

// ReadLogin reads a SQL login; nil when there is none of the name. It takes CONTROL SERVER.
func ReadLogin(ctx context.Context, q Querier, name, password string) (*LoginState, error) {
	var state *LoginState
	err := q.Query(ctx, tsql.LoginState(name, password), func(r Row) error {
		state = &LoginState{}
		return r.Scan(
			&state.SID,
			&state.Disabled,
			&state.PasswordMatches,
			&state.MayConnect,
			&state.ConnectDenied,
			&state.HasDefault,
			&state.LockedOut,
			&state.Checked,
			&state.Expires,
		)
	})
	if err != nil || state == nil {
		return nil, err
	}
	err = q.Query(ctx, tsql.LoginRoles(name), func(r Row) error {
		var role string
		err := r.Scan(&role)
		state.Roles = append(state.Roles, role)
		return err
	})
	if err != nil {
		return nil, err
	}
	state.Permissions, state.Denied, err = readPermissions(ctx, q, tsql.LoginPermissions(name))
	return state, err
}

// readPermissions reads what a principal is granted, and what is denied to it.
func readPermissions(ctx context.Context, q Querier, s tsql.Statement) (granted, denied []string, err error) {
	err = q.Query(ctx, s, func(r Row) error {
		var permission, state string
		if err := r.Scan(&permission, &state); err != nil {
			return err
		}
		switch strings.TrimSpace(state) {
		case "G", "W":
			granted = append(granted, strings.ToUpper(permission))
		case "D":
			denied = append(denied, strings.ToUpper(permission))
		}
		return nil
	})
	return granted, denied, err
}

// UserState is one user of a database.
type UserState struct {
	// SID of the login that it is mapped to.
	SID []byte
	// Login is that login's name, empty when the server has none of the SID: then the user is an orphan.
	Login string
	// Roles that it is a member of.
	Roles []string
	// Permissions on the database itself that it is granted, and Denied those that are denied to it.
	Permissions, Denied []string
	// Grants on schemas and objects, and DeniedOn what is denied on them.
	Grants, DeniedOn []Grant
}

// Grant is one permission on a schema or an object.
type Grant struct {
	On         tsql.Securable
	Permission string
	// Delegated tells that somebody gave it who had it with the grant option.
	Delegated bool
}

// ReadUser reads a user of the connection's database; nil when there is none of the name.
func ReadUser(ctx context.Context, q Querier, name string) (*UserState, error) {
	var state *UserState
	err := q.Query(ctx, tsql.UserState(name), func(r Row) error {
		state = &UserState{}
		var login sql.NullString
		err := r.Scan(&state.SID, &login)
		state.Login = login.String
		return err
	})
	if err != nil || state == nil {
		return nil, err
	}
	err = q.Query(ctx, tsql.UserRoles(name), func(r Row) error {
		var role string
		err := r.Scan(&role)
		state.Roles = append(state.Roles, role)
		return err
	})
	if err != nil {
		return nil, err
	}
	if state.Permissions, state.Denied, err = readPermissions(ctx, q, tsql.UserPermissions(name)); err != nil {
		return nil, err
	}
	err = q.Query(ctx, tsql.UserGrants(name), func(r Row) error {
		var g Grant
		var granted string
		if err := r.Scan(&g.On.Schema, &g.On.Object, &g.Permission, &granted, &g.Delegated); err != nil {
			return err
		}
		g.Permission = strings.ToUpper(g.Permission)
		switch strings.TrimSpace(granted) {
		case "G", "W":
			state.Grants = append(state.Grants, g)
		case "D":
			state.DeniedOn = append(state.DeniedOn, g)
		}
		return nil
	})
	return state, err
}

// Owned is what keeps a principal from being dropped: its class as ALTER AUTHORIZATION names it, or one of those below,
// and its name.
type Owned struct{ Class, Name string }

// What no ALTER AUTHORIZATION gives away.
const (
	// OwnedExecuteAs is a module that runs as the principal (15136).
	OwnedExecuteAs = "EXECUTE AS"
	// OwnedGrantor is a principal to which it has granted or denied something (15284).
	OwnedGrantor = "GRANTOR"
	// OwnedSecondary is a database of which the server is a secondary replica, that refuses the statement (976, 3906).
	OwnedSecondary = "SECONDARY"
)

// ReadOwned reads what tsql.UserOwns or tsql.LoginOwns asks for.
func ReadOwned(ctx context.Context, q Querier, s tsql.Statement) ([]Owned, error) {
	var owned []Owned
	err := q.Query(ctx, s, func(r Row) error {
		var o Owned
		err := r.Scan(&o.Class, &o.Name)
		owned = append(owned, o)
		return err
	})
	return owned, err
}
