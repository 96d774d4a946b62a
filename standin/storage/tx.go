// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Tx is the write transaction; there is one at a time in a database. It belongs to one session.
type Tx struct {
	*usage
	db   *Database
	conn *sqlite.Conn
	id   uint64
	capture
	saves    []savepoint
	saveSeq  int
	marks    []Mark
	attached []string
	// began is the newest commit that the transaction can see.
	began LSN
	// metadata says that the application's metadata were changed.
	metadata bool
	done     atomic.Bool
}

type savepoint struct {
	name   string
	sqlite string
	at     captureMark
	marks  int
}

var transactionIDs atomic.Uint64

// Begin waits its turn (fair, bounded by ctx) and starts the write transaction.
func (db *Database) Begin(ctx context.Context) (*Tx, error) {
	if err := db.admit(true); err != nil {
		return nil, err
	}
	if err := db.takeTurn(ctx); err != nil {
		return nil, err
	}
	// The role may have changed meanwhile.
	if err := db.admit(true); err != nil {
		<-db.turn
		return nil, err
	}
	if db.interrupts == nil {
		db.interrupts = newInterruption(db.writer)
	}
	tx := &Tx{usage: newUsage(db.interrupts), db: db, conn: db.writer, id: transactionIDs.Add(1)}
	tx.capture = capture{db: db, conn: db.writer}
	err := exec(db.writer, "BEGIN IMMEDIATE")
	if err == nil {
		err = tx.capture.start()
	}
	if err != nil {
		tx.finish()
		return nil, fmt.Errorf("begin a transaction in database %q: %w", db.opts.Name, err)
	}
	db.mu.Lock()
	db.current = tx
	tx.began = db.applied
	mode := db.mode
	db.mu.Unlock()
	if mode != Primary {
		// The change of mode has not seen this transaction.
		tx.Rollback()
		return nil, fmt.Errorf("database %q: %w", db.opts.Name, ErrReadOnly)
	}
	return tx, nil
}

func (db *Database) takeTurn(ctx context.Context) error {
	select {
	case db.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the write transaction of database %q: %w", db.opts.Name, context.Cause(ctx))
	}
}

// ID is the transaction's number in this process.
func (tx *Tx) ID() uint64 { return tx.id }

// Conn is the writer's connection; DML on it is captured. Use it between Use and leave. DDL must go through ExecDDL.
func (tx *Tx) Conn() *sqlite.Conn { return tx.conn }

// Use brackets one statement's use of the transaction's connection: ctx's end, or the database's change of role,
// interrupts it. Call leave after the statement: between statements the transaction may be rolled back for a change of
// role, and Use then returns the reason. Uses may nest.
func (tx *Tx) Use(ctx context.Context) (leave func(), err error) { return tx.use(ctx) }

// Attach makes another database's committed tables readable as name.table, until the transaction ends.
func (tx *Tx) Attach(ctx context.Context, name string, other *Database) error {
	if err := attach(ctx, tx.conn, name, other); err != nil {
		return err
	}
	tx.attached = append(tx.attached, name)
	return nil
}

// Savepoint sets a named savepoint. A name used again hides the older one.
func (tx *Tx) Savepoint(name string) error {
	tx.saveSeq++
	s := savepoint{name: name, sqlite: "s" + strconv.Itoa(tx.saveSeq), at: tx.capture.mark(), marks: len(tx.marks)}
	if err := exec(tx.conn, "SAVEPOINT "+s.sqlite); err != nil {
		return fmt.Errorf("set savepoint %q: %w", name, err)
	}
	tx.saves = append(tx.saves, s)
	return nil
}

// ErrNoSavepoint is a savepoint that is not set (SQL Server's 628 or 6401).
var ErrNoSavepoint = errors.New("there is no such savepoint")

func (tx *Tx) findSavepoint(name string) (int, error) {
	for i := len(tx.saves) - 1; i >= 0; i-- {
		if tx.saves[i].name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("savepoint %q: %w", name, ErrNoSavepoint)
}

// RollbackTo undoes all changes since the savepoint, which stays set.
func (tx *Tx) RollbackTo(name string) error {
	i, err := tx.findSavepoint(name)
	if err != nil {
		return err
	}
	s := tx.saves[i]
	if err := exec(tx.conn, "ROLLBACK TO "+s.sqlite); err != nil {
		return fmt.Errorf("roll back to savepoint %q: %w", name, err)
	}
	tx.saves = tx.saves[:i+1]
	tx.marks = tx.marks[:s.marks]
	return tx.capture.rewind(s.at)
}

// ReleaseSavepoint forgets a savepoint and those set after it; their changes stay.
func (tx *Tx) ReleaseSavepoint(name string) error {
	i, err := tx.findSavepoint(name)
	if err != nil {
		return err
	}
	if err := exec(tx.conn, "RELEASE "+tx.saves[i].sqlite); err != nil {
		return fmt.Errorf("release savepoint %q: %w", name, err)
	}
	tx.saves = tx.saves[:i]
	return nil
}

// Mark puts an application record into the log at the transaction's commit (replication marks, tracer tokens).
func (tx *Tx) Mark(kind string, payload []byte) {
	tx.marks = append(tx.marks, Mark{Kind: kind, Payload: payload})
}

// MarkHere is Mark, with the record in its place among the transaction's: after the changes made before, before those
// made later. A rollback to a savepoint takes it back.
func (tx *Tx) MarkHere(kind string, payload []byte) error {
	c := &tx.capture
	if c.db.opts.Logless {
		return nil
	}
	if err := c.separate(); err != nil {
		return err
	}
	c.taken = append(c.taken, record{recordMark, encodeMark(Mark{Kind: kind, Payload: payload})})
	return nil
}

// Quietly runs f, whose changes of rows belong to a change of the schema: other copies repeat them, but their log
// records carry no column names and rows, whatever SetFullImages says, so that a log reader does not take them for the
// application's. When f fails, the caller rolls back to a savepoint.
func (tx *Tx) Quietly(f func() error) error {
	c := &tx.capture
	if c.db.opts.Logless {
		return f()
	}
	if err := c.separate(); err != nil {
		return err
	}
	c.quiet = true
	defer func() { c.quiet = false }()
	if err := f(); err != nil {
		return err
	}
	return c.separate()
}

// partMark is the kind of the mark before a record of changes that are a part of something; its payload says of what.
const partMark = "\x00partof"

// PartOf says what the rows that are changed from here on are changed as a part of: log readers find it with each of
// them (TableChange.PartOf). nil is nothing. It lasts until it is called again; a rollback to a savepoint leaves it.
func (tx *Tx) PartOf(what []byte) error {
	c := &tx.capture
	if c.db.opts.Logless || bytes.Equal(c.partOf, what) {
		return nil
	}
	if err := c.take(); err != nil {
		return err
	}
	c.recorders[len(c.recorders)-1].enabled = false
	c.partOf = what
	c.record()
	return nil
}

// SetFullImages says for which tables log records carry column names and, for updates, the whole row. It replaces the
// former list, and travels with the database. Changes of this transaction made before are not affected.
func (tx *Tx) SetFullImages(tables []string) error {
	if err := exec(tx.conn, "DELETE FROM __storage_published"); err != nil {
		return fmt.Errorf("set which tables are published: %w", err)
	}
	published := map[string]bool{}
	for _, t := range tables {
		err := sqlitex.Execute(
			tx.conn,
			"INSERT OR IGNORE INTO __storage_published VALUES (?)",
			&sqlitex.ExecOptions{Args: []any{t}},
		)
		if err != nil {
			return fmt.Errorf("set which tables are published: %w", err)
		}
		published[t] = true
	}
	tx.capture.setPublished(published)
	return nil
}

// ChangesMetadata says that the transaction changes what the application knows about the database (MetadataGeneration).
func (tx *Tx) ChangesMetadata() { tx.metadata = true }

// Rollback ends the transaction without a trace. It is safe to call after Commit.
func (tx *Tx) Rollback() { tx.abort(errTransactionEnded) }

var errTransactionEnded = errors.New("the transaction has ended")

// abort rolls back; reason is what later uses get to see.
func (tx *Tx) abort(reason error) {
	tx.breakOff(reason)
	if tx.done.Swap(true) {
		return
	}
	tx.finish()
}

// finish leaves the connection as the next transaction needs it, and gives up the turn.
func (tx *Tx) finish() {
	tx.done.Store(true)
	tx.settle()
	tx.capture.stop()
	if !tx.conn.AutocommitEnabled() {
		// Fails only when SQLite has rolled back by itself.
		_ = exec(tx.conn, "ROLLBACK")
	}
	for _, name := range tx.attached {
		_ = exec(tx.conn, "DETACH DATABASE "+quote(name))
	}
	tx.db.mu.Lock()
	if tx.db.current == tx {
		tx.db.current = nil
	}
	tx.db.mu.Unlock()
	<-tx.db.turn
}

// exec executes one statement without parameters and keeps it prepared.
func exec(conn *sqlite.Conn, sql string) error { return sqlitex.Execute(conn, sql, nil) }
