// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

// DatabaseState is sys.databases.state.
type DatabaseState uint8

// The states, with SQL Server's numbers.
const (
	Online          DatabaseState = 0
	Restoring       DatabaseState = 1
	Recovering      DatabaseState = 2
	RecoveryPending DatabaseState = 3
	Suspect         DatabaseState = 4
	Emergency       DatabaseState = 5
	Offline         DatabaseState = 6
)

// String is state_desc.
func (s DatabaseState) String() string {
	return [...]string{"ONLINE", "RESTORING", "RECOVERING", "RECOVERY_PENDING", "SUSPECT", "EMERGENCY", "OFFLINE"}[s]
}

// DatabaseInfo is what master knows of a database.
type DatabaseInfo struct {
	ID       int32
	Name     string
	Created  time.Time
	OwnerSID []byte
	Files    []metadata.File
	// Collation is the database's collation name.
	Collation          string
	CompatibilityLevel int
	ReadOnly           bool
	// UserAccess is MULTI_USER, SINGLE_USER or RESTRICTED_USER.
	UserAccess string
	// SnapshotIsolation and ReadCommittedSnapshot are recorded as asked for; reads are snapshots in any case.
	SnapshotIsolation, ReadCommittedSnapshot bool
	// Published, Subscribed and Distributor are sys.databases' flags.
	Published, Subscribed, MergePublished, Distributor bool
	// Trustworthy, Broker and the like are recorded only.
	Options map[string]string
	// BrokerGUID is service_broker_guid.
	BrokerGUID uuid.UUID
	// ReplicaID and GroupDatabaseID are set while the database is in an availability group.
	ReplicaID, GroupDatabaseID uuid.UUID
	// Offline and RestoringState survive restarts.
	Offline, Restoring bool
	// RecoveryModel is what the last open said, for databases that are not open.
	RecoveryModel storage.RecoveryModel
	// Replaced are files in whose place a restore has put others, until that is done.
	Replaced []storage.Files `json:",omitempty"`
	// attached tells that the files were there before the database, and stay where it cannot be added.
	attached bool
	// placements are what CREATE DATABASE declares beside the first two files, until the database has them.
	placements []*metadata.Object
}

// Database is one database of the instance.
type Database struct {
	inst *Instance
	// id never changes: it is asked for without mu.
	id int32

	updating sync.Mutex // one change of info at a time

	mu      sync.RWMutex
	info    DatabaseInfo
	state   DatabaseState
	storage *storage.Database
	single  *Session
	idents  *identities
	schemas schemaCache
}

// ID is database_id: master 1, tempdb 2, model 3, msdb 4.
func (db *Database) ID() int32 { return db.id }

// Name is its name.
func (db *Database) Name() string {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.info.Name
}

// Info is a copy of what master knows of it.
func (db *Database) Info() DatabaseInfo {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.info
}

// State is sys.databases.state.
func (db *Database) State() DatabaseState {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.state
}

// SetState changes the state that the views show and that USE checks (hadr: RESTORING, RECOVERING, ONLINE).
func (db *Database) SetState(s DatabaseState) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.state = s
}

// Storage is the open database; nil when it is OFFLINE, RECOVERY_PENDING or SUSPECT.
func (db *Database) Storage() *storage.Database {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.storage
}

// System tells whether it is master, tempdb, model or msdb.
func (db *Database) System() bool { return db.id <= 4 }

// Update changes what master knows of it, durably.
func (db *Database) Update(ctx context.Context, change func(*DatabaseInfo)) error {
	return db.inst.updateDatabase(ctx, db, change)
}

// Database finds a database by name (the collation of names is case-insensitive); nil when there is none.
func (inst *Instance) Database(name string) *Database {
	inst.mu.RLock()
	defer inst.mu.RUnlock()
	for _, db := range inst.databases {
		if strings.EqualFold(db.Name(), name) {
			return db
		}
	}
	return nil
}

// DatabaseByID finds a database by its database_id; nil when there is none.
func (inst *Instance) DatabaseByID(id int32) *Database {
	inst.mu.RLock()
	defer inst.mu.RUnlock()
	return inst.databases[id]
}

// Standby is the standby file of a database that can be read between two restores; empty where it is none.
func (db *Database) Standby() string {
	if st := db.Storage(); st != nil {
		return st.Standby()
	}
	return ""
}
