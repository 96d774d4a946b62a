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
	err := q.Query(ctx, tsql.ServerLogins().Because("read the logins"), scanLogins(logins))
	return logins, err
}

func scanLogins(logins map[string]Login) func(Row) error {
	return func(r Row) error {
		var name string
		var l Login
		if err := r.Scan(&name, &l.SID, &l.Disabled); err != nil {
			return err
		}
		logins[name] = l
		return nil
	}
}

// Principals are the logins of a server with what they may do.
type Principals struct {
	// Logins are the SQL logins by name.
	Logins map[string]Login
	// Permissions granted on the server, by login. State W (with grant option) counts as granted.
	Permissions map[string][]string
	// Denied are the permissions on the server that are denied, by login.
	Denied map[string][]string
	// Members of the fixed server roles, by role.
	Members map[string][]string
}

// ReadPrincipals reads the logins of a server with what they may do.
func ReadPrincipals(ctx context.Context, q Querier) (Principals, error) {
	p := Principals{
		Logins:      map[string]Login{},
		Permissions: map[string][]string{},
		Denied:      map[string][]string{},
		Members:     map[string][]string{},
	}
	err := readAll(ctx, q, "read the logins with their permissions and roles", []read{
		{tsql.ServerLogins(), scanLogins(p.Logins)},
		{tsql.ServerPermissions(), func(r Row) error {
			var login, permission, state string
			if err := r.Scan(&login, &permission, &state); err != nil {
				return err
			}
			switch strings.TrimSpace(state) {
			case "G", "W":
				p.Permissions[login] = append(p.Permissions[login], strings.ToUpper(permission))
			case "D":
				p.Denied[login] = append(p.Denied[login], strings.ToUpper(permission))
			}
			return nil
		}},
		{tsql.ServerRoleMembers(), func(r Row) error {
			var role, member string
			err := r.Scan(&role, &member)
			p.Members[role] = append(p.Members[role], member)
			return err
		}},
	}...)
	return p, err
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
