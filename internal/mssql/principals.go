// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"strings"

	"geosql.dev/operator/internal/tsql"
)

// Login is a SQL login of a server.
type Login struct {
	// SID of the login.
	SID []byte
	// Disabled tells that it may not connect.
	Disabled bool
}

// ReadLogins reads the SQL logins by name.
func ReadLogins(ctx context.Context, q Querier) (map[string]Login, error) {
	logins := map[string]Login{}
	err := q.Query(ctx, tsql.ServerLogins().Because("read the logins"), func(r Row) error {
		var name string
		var l Login
		if err := r.Scan(&name, &l.SID, &l.Disabled); err != nil {
			return err
		}
		logins[name] = l
		return nil
	})
	return logins, err
}

// ReadServerPermissions reads the permissions granted on the server, by login. State W (with grant option) counts as
// granted, D (denied) does not.
func ReadServerPermissions(ctx context.Context, q Querier) (map[string][]string, error) {
	permissions := map[string][]string{}
	err := q.Query(ctx, tsql.ServerPermissions().Because("read the permissions"), func(r Row) error {
		var login, permission, state string
		if err := r.Scan(&login, &permission, &state); err != nil {
			return err
		}
		if state = strings.TrimSpace(state); state == "G" || state == "W" {
			permissions[login] = append(permissions[login], strings.ToUpper(permission))
		}
		return nil
	})
	return permissions, err
}

// ReadServerRoleMembers reads who is in which fixed server role, by role.
func ReadServerRoleMembers(ctx context.Context, q Querier) (map[string][]string, error) {
	members := map[string][]string{}
	err := q.Query(ctx, tsql.ServerRoleMembers().Because("read the members of server roles"), func(r Row) error {
		var role, member string
		if err := r.Scan(&role, &member); err != nil {
			return err
		}
		members[role] = append(members[role], member)
		return nil
	})
	return members, err
}

// TempDBFile is a file of tempdb.
type TempDBFile struct {
	// Name is the logical name.
	Name string
	// Log tells a log file from a data file.
	Log bool
	// Path is where the file is, Next where it will be after the next start.
	Path, Next string
}

// ReadTempDBFiles reads the files of tempdb, data files first.
func ReadTempDBFiles(ctx context.Context, q Querier) ([]TempDBFile, error) {
	var files []TempDBFile
	err := q.Query(ctx, tsql.TempDBFiles().Because("read the files of tempdb"), func(r Row) error {
		var f TempDBFile
		var kind int
		if err := r.Scan(&f.Name, &kind, &f.Next, &f.Path); err != nil {
			return err
		}
		f.Log = kind == 1
		files = append(files, f)
		return nil
	})
	return files, err
}
