// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/tds"
)

// Login is the server principal of a session.
type Login struct {
	Name string
	// SID is sys.server_principals.sid; sa's is one byte, 0x01.
	SID []byte
	// ID is principal_id; sa's is 1.
	ID int32
	// DefaultDatabase may be empty for master.
	DefaultDatabase string
	// DefaultLanguage may be empty for us_english.
	DefaultLanguage string
	// Sysadmin may do everything and is dbo in every database.
	Sysadmin bool
}

// User is the database principal of a session in one database.
type User struct {
	Name string
	SID  []byte
	// ID is principal_id; dbo's is 1, guest's 2.
	ID            int32
	DefaultSchema string
	// Owner is true for dbo and for members of db_owner.
	Owner bool
}

// DBO is the user that sysadmins are.
var DBO = User{Name: "dbo", SID: []byte{1}, ID: 1, DefaultSchema: "dbo", Owner: true}

// Authenticator checks logins.
type Authenticator interface {
	// Authenticate checks name and password; a *sqlerr.Error 18456 with the documented state says no.
	Authenticate(ctx context.Context, req tds.LoginRequest) (Login, error)
}

// Permission is one right on one securable.
type Permission struct {
	// Name is the permission in its T-SQL words: SELECT, INSERT, EXECUTE, ALTER ANY DATABASE, CONTROL ...
	Name string
	// Database is nil for server-wide securables.
	Database *Database
	// Schema and Object name an object of the database; empty for the database itself.
	Schema, Object string
	// ObjectID is sys.objects.object_id, 0 for none.
	ObjectID int32
}

// Authorizer decides what a session may do. The engine does not ask it about sysadmins.
type Authorizer interface {
	// User is the session's user in db; a *sqlerr.Error 916 when it has none.
	User(ctx context.Context, s *Session, db *Database) (User, error)
	// Refreshed is the login as it is now: its membership of sysadmin may have changed since it logged in.
	Refreshed(ctx context.Context, s *Session, l Login) Login
	// Sight tells what s sees of the objects of db by their numbers and schemas.
	Sight(ctx context.Context, s *Session, db *Database) func(object, schema int32) Sight
	// Allow is nil when s has the permission, else the *sqlerr.Error (229, 262, 300, 15247 ...).
	Allow(ctx context.Context, s *Session, p Permission) error
}

// RemoteServers executes on linked servers.
type RemoteServers interface {
	// Query runs text at the linked server with the mapping of s's login and returns its first result set.
	Query(ctx context.Context, s *Session, server, text string) (*Result, error)
	// Execute runs text there and passes everything it gives to w.
	Execute(ctx context.Context, s *Session, server, text string, w tds.Writer) error
}
