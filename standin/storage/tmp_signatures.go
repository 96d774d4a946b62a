// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"
)

var errSoon = errors.New("being written")

// Database is an open database.
type Database struct{ log *Log }

// Log is a database's transaction log.
type Log struct{}

// Reader is a snapshot of the database at one moment.
type Reader struct{}

// Tx is the write transaction; there is one at a time in a database.
type Tx struct{}

// Create makes a new database; the files must not exist.
func Create(ctx context.Context, files Files, opts Options) (*Database, error) { return nil, errSoon }

// Open opens and recovers a database: all acknowledged transactions whole, no other half.
func Open(ctx context.Context, files Files, opts Options) (*Database, error) { return nil, errSoon }

// Close ends the database after a checkpoint. Transactions still open are rolled back.
func (db *Database) Close() error { return errSoon }

// Drop closes the database and removes its files.
func (db *Database) Drop() error { return errSoon }

// Reader takes a pooled connection in a read transaction. ctx bounds the wait and interrupts its statements.
func (db *Database) Reader(ctx context.Context) (*Reader, error) { return nil, errSoon }

// Conn is the connection; only for reading.
func (r *Reader) Conn() *sqlite.Conn { return nil }

// Attach makes another database's tables readable as name.table.
func (r *Reader) Attach(name string, other *Database) error { return errSoon }

// Refresh ends the snapshot and takes a new one (each statement of READ COMMITTED has its own).
func (r *Reader) Refresh() error { return errSoon }

// SetContext exchanges the context whose end interrupts the reader's statements.
func (r *Reader) SetContext(ctx context.Context) {}

// Release gives the connection back.
func (r *Reader) Release() {}

// Begin waits its turn (fair, bounded by ctx) and starts the write transaction.
func (db *Database) Begin(ctx context.Context) (*Tx, error) { return nil, errSoon }

// Conn is the writer's connection; DML on it is captured. DDL must go through ExecDDL.
func (tx *Tx) Conn() *sqlite.Conn { return nil }

// SetContext exchanges the context whose end interrupts the transaction's statements (each T-SQL statement has its own).
func (tx *Tx) SetContext(ctx context.Context) {}

// Attach makes another database's committed tables readable as name.table.
func (tx *Tx) Attach(name string, other *Database) error { return errSoon }

// ExecDDL executes SQLite DDL and records it for redo.
func (tx *Tx) ExecDDL(sql string) error { return errSoon }

// Savepoint sets a named savepoint.
func (tx *Tx) Savepoint(name string) error { return errSoon }

// RollbackTo undoes all changes since the savepoint, which stays set.
func (tx *Tx) RollbackTo(name string) error { return errSoon }

// ReleaseSavepoint forgets a savepoint and keeps its changes.
func (tx *Tx) ReleaseSavepoint(name string) error { return errSoon }

// Mark puts an application record into the log at the transaction's commit (replication marks, tracer tokens).
func (tx *Tx) Mark(kind string, payload []byte) {}

// Commit makes the transaction durable and ends it. It returns the commit record's LSN (zero when nothing was changed).
func (tx *Tx) Commit(ctx context.Context) (LSN, error) { return LSN{}, errSoon }

// Rollback ends the transaction without a trace. It is safe to call after Commit.
func (tx *Tx) Rollback() {}

// Checkpoint brings all committed changes into the data file, durably, and truncates what the log need not keep.
func (db *Database) Checkpoint(ctx context.Context) error { return errSoon }

// SetGate sets or (nil) removes the gate.
func (db *Database) SetGate(g Gate) {}

// Log is the database's transaction log.
func (db *Database) Log() *Log { return db.log }

// Mode is what the database takes now.
func (db *Database) Mode() Mode { return Primary }

// Identity is the database's identity.
func (db *Database) Identity() Identity { return Identity{} }

// RecoveryModel is the database's recovery model.
func (db *Database) RecoveryModel() RecoveryModel { return Full }

// SetRecoveryModel changes the recovery model.
func (db *Database) SetRecoveryModel(ctx context.Context, m RecoveryModel) error { return errSoon }

// SetFullImages says for which tables update records carry the whole row (published tables: the log reader needs the key).
func (db *Database) SetFullImages(ctx context.Context, tables []string) error { return errSoon }

// ReuseWait is sys.databases.log_reuse_wait and its description.
func (db *Database) ReuseWait() (int, string) { return 0, "NOTHING" }

// HoldLog keeps the log from lsn on for owner; a zero lsn releases it. Owners: "REPLICATION", "AVAILABILITY_REPLICA...", "LOG_BACKUP".
func (db *Database) HoldLog(owner string, lsn LSN) error { return errSoon }
