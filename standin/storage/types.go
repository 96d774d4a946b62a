// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
)

// Files are a database's files.
type Files struct {
	// Data is the SQLite file (SQL Server's .mdf).
	Data string
	// Log is the folder of virtual log files (it stands where SQL Server has its .ldf).
	Log string
}

// RecoveryModel is sys.databases.recovery_model.
type RecoveryModel uint8

// The recovery models, with SQL Server's numbers.
const (
	Full       RecoveryModel = 1
	BulkLogged RecoveryModel = 2
	Simple     RecoveryModel = 3
)

// Mode is what the database takes now.
type Mode uint8

// The modes.
const (
	// Primary takes reads and writes.
	Primary Mode = iota
	// Redo takes log of another server (an availability group's secondary); reads, but no writes.
	Redo
	// Restoring takes restores only (RESTORE ... WITH NORECOVERY).
	Restoring
)

// Options are what the server sets for a database.
type Options struct {
	// Name is for messages only.
	Name string
	// Prepare is called once for every connection: collations, functions, virtual tables.
	Prepare func(*sqlite.Conn) error
	// Forget is called once for every connection that was closed.
	Forget func(*sqlite.Conn)
	// MaxLogBytes is the size at which the log is full; 0 means 2 TB.
	MaxLogBytes int64
	// SegmentBytes is the size of a virtual log file; 0 means 16 MB.
	SegmentBytes int64
	// RecoveryModel for Create; 0 means Full. Open reads it from the file.
	RecoveryModel RecoveryModel
	// Logless is for tempdb: nothing is captured, nothing is durable.
	Logless bool
}

// Identity names a database over its copies and its history.
type Identity struct {
	// Database is sys.database_recovery_status.database_guid, new for every created or restored database.
	Database uuid.UUID
	// Family is family_guid: the same for all copies of one database.
	Family uuid.UUID
	// Forks is the recovery history, oldest first; the last one is the current recovery fork.
	Forks []Fork
}

// LastFork is the recovery fork that a database is on; none where it never forked.
func (id Identity) LastFork() uuid.UUID {
	if len(id.Forks) == 0 {
		return uuid.Nil
	}
	return id.Forks[len(id.Forks)-1].ID
}

// Fork is one recovery fork: a branch of the log.
type Fork struct {
	ID uuid.UUID `json:"id"`
	// Start is the position at which it left the fork before it.
	Start LSN `json:"start"`
}

// Gate is asked by every transaction; availability groups set one.
type Gate interface {
	// Admit is asked when a reader or a transaction begins; its error is returned as it is.
	Admit(write bool) error
	// WaitHardened returns when the commit at that position is hardened wherever it has to be. Its error becomes an
	// ErrOutcomeUnknown.
	WaitHardened(ctx context.Context, lsn LSN) error
}
