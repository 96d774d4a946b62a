// SPDX-License-Identifier: Apache-2.0

// Package replica is the local replica of availability groups: roles, the write lease, configuration commits, log
// shipping and seeding. It knows databases by their storage, and the rest of the instance by the Host interface.
package replica

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// Host is the instance as this package needs it.
type Host interface {
	// ServerName is @@SERVERNAME.
	ServerName() string
	// Identity is what the mirroring endpoint shows and whom it lets in.
	Identity(ctx context.Context) (*endpoint.Identity, error)
	// Database is the storage of an open local database; nil when there is none of that name.
	Database(name string) *storage.Database
	// Exists tells whether there is a database of that name, in any state.
	Exists(name string) bool
	// Seed makes a database whose storage open provides; or gives an existing one new storage.
	Seed(ctx context.Context, spec SeedSpec, open OpenFunc) error
	// Member notes in master that a database belongs to a group; zero IDs that it does not.
	Member(ctx context.Context, database string, replica, groupDatabase uuid.UUID) error
	// Restoring shows a database as RESTORING, or not.
	Restoring(ctx context.Context, database string, restoring bool) error
	// Disconnect ends the connections of clients that are in the database.
	Disconnect(database string)
	// DefaultFolders are where databases' files go by default.
	DefaultFolders() (data, log string)
	// Settings are the options that a database's secondaries have as well, TakeSettings gives them to one.
	Settings(database string) json.RawMessage
	TakeSettings(ctx context.Context, database string, settings json.RawMessage) error
	// TraceFlag tells whether a trace flag is set.
	TraceFlag(flag int) bool
	// Answers tells whether the instance answers a question the other way.
	Answers(name config.Answer) bool
	// Log is the error log.
	Log() *slog.Logger
}

// OpenFunc makes storage in the given files.
type OpenFunc func(files storage.Files, opts storage.Options) (*storage.Database, error)

// SeedSpec is the database that seeding makes.
type SeedSpec struct {
	Name     string
	Files    storage.Files
	OwnerSID []byte
}

// Role is sys.dm_hadr_availability_replica_states.role.
type Role uint8

// The roles, with SQL Server's numbers.
const (
	Resolving Role = 0
	Primary   Role = 1
	Secondary Role = 2
)

// String is role_desc.
func (r Role) String() string { return [...]string{"RESOLVING", "PRIMARY", "SECONDARY"}[r] }

// failure makes a *sqlerr.Error as an error.
func failure(number int32, args ...any) error { return sqlerr.New(number, 1, args...) }
