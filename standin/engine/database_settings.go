// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"reflect"

	"github.com/google/uuid"
)

// serverOptions are options that master has of a database, not the database itself: they stay behind when it goes to
// another server (docs/relational-databases/databases/database-detach-and-attach-sql-server.md, Attach a database).
var serverOptions = []string{"TRUSTWORTHY", "DB_CHAINING"}

// DatabaseSettings are the options that a database takes with it to other servers, in backups and to the secondaries of
// its availability group.
type DatabaseSettings struct {
	CompatibilityLevel                       int
	SnapshotIsolation, ReadCommittedSnapshot bool
	BrokerGUID                               uuid.UUID
	Options                                  map[string]string
}

// Settings are the options that go with the database.
func (db *Database) Settings() DatabaseSettings {
	i := db.Info()
	options := map[string]string{}
	maps.Copy(options, i.Options)
	for _, name := range serverOptions {
		delete(options, name)
	}
	return DatabaseSettings{
		CompatibilityLevel:    i.CompatibilityLevel,
		SnapshotIsolation:     i.SnapshotIsolation,
		ReadCommittedSnapshot: i.ReadCommittedSnapshot,
		BrokerGUID:            i.BrokerGUID,
		Options:               options,
	}
}

// TakeSettings has the database have the options that came with it.
func (db *Database) TakeSettings(ctx context.Context, s DatabaseSettings) error {
	if reflect.DeepEqual(db.Settings(), s) {
		return nil
	}
	return db.Update(ctx, func(i *DatabaseInfo) {
		own := i.Options
		i.CompatibilityLevel, i.SnapshotIsolation, i.ReadCommittedSnapshot, i.BrokerGUID, i.Options = s.CompatibilityLevel,
			s.SnapshotIsolation, s.ReadCommittedSnapshot, s.BrokerGUID, map[string]string{}
		maps.Copy(i.Options, s.Options)
		for _, name := range serverOptions {
			if v, set := own[name]; set {
				i.Options[name] = v
			}
		}
	})
}
