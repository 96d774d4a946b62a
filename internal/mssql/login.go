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
}

// ReadLogin reads a SQL login; nil when there is none of the name. It takes CONTROL SERVER.
func ReadLogin(ctx context.Context, q Querier, name, password string) (*LoginState, error) {
	var state *LoginState
	err := q.Query(ctx, tsql.LoginState(name, password), func(r Row) error {
		state = &LoginState{}
		return r.Scan(&state.SID, &state.Disabled, &state.PasswordMatches)
	})
	return state, err
}

// UserState is one user of a database.
type UserState struct {
	// SID of the login that it is mapped to.
	SID []byte
	// Login is that login's name, empty when the server has none of the SID: then the user is an orphan.
	Login string
	// Roles that it is a member of.
	Roles []string
	// Permissions on the database itself that it is granted.
	Permissions []string
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
	err = q.Query(ctx, tsql.UserPermissions(name), func(r Row) error {
		var permission, granted string
		if err := r.Scan(&permission, &granted); err != nil {
			return err
		}
		if granted = strings.TrimSpace(granted); granted == "G" || granted == "W" {
			state.Permissions = append(state.Permissions, strings.ToUpper(permission))
		}
		return nil
	})
	return state, err
}
