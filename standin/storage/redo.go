// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A batch of redo is one SQLite transaction; it ends after this much log.
const (
	redoBatchBytes        = 1 << 20
	redoBatchTransactions = 500
)

// redoBatch applies the next transactions of the log to the data file, in one SQLite transaction with the new applied
// position: a crash repeats all or nothing of it. It returns how many transactions that were. With hardenedOnly it
// leaves what is not on this server's disk yet.
func (db *Database) redoBatch(ctx context.Context, hardenedOnly bool) (int, error) {
	f, err := db.log.Follow(db.end())
	if err != nil {
		return 0, err
	}
	f.hardened = hardenedOnly
	defer f.Close()
	var batch []*Transaction
	r := newTransactionReader(f)
	for size := 0; size < redoBatchBytes && len(batch) < redoBatchTransactions; {
		t, err := r.tryNext()
		if err != nil {
			return 0, err
		}
		if t == nil {
			break
		}
		for _, rec := range t.records {
			size += len(rec.payload)
		}
		batch = append(batch, t)
	}
	if len(batch) == 0 {
		return 0, nil
	}
	if err := db.takeTurn(ctx); err != nil {
		return 0, err
	}
	defer func() { <-db.turn }()
	return len(batch), db.redo1(batch)
}

// redo1 applies a batch; the caller has the turn. Where the quick way meets rows that collide, the whole batch is
// repeated the careful way.
func (db *Database) redo1(batch []*Transaction) error {
	rows := newRowApplier(db.writer)
	next, err := db.redoTransactions(batch, rows.apply, rows.forget)
	if errors.Is(err, errRowCollides) || errors.Is(err, errOtherColumns) {
		next, err = db.redoTransactions(
			batch,
			func(changeset []byte) error { return applyChangeset(db.writer, changeset) },
			func() {},
		)
	}
	if err != nil {
		return err
	}
	last := batch[len(batch)-1]
	db.mu.Lock()
	db.applied, db.appliedEnd, db.appliedTime, db.identity = last.Commit, last.End, last.Time, next
	db.appliedAt = nowUTC()
	db.mu.Unlock()
	db.generation.Add(1)
	return nil
}

func (db *Database) redoTransactions(
	batch []*Transaction,
	changes func([]byte) error,
	schemaChanged func(),
) (Identity, error) {
	next, last := db.Identity(), batch[len(batch)-1]
	forks := len(next.Forks)
	keepsUndo := db.keepsUndo()
	err := db.inRedoTransaction(func() error {
		for _, t := range batch {
			kept, err := applyRecords(db.writer, t.records, changes, schemaChanged, keepsUndo)
			if err == nil && kept {
				err = datedKept(db.writer, t.Commit)
			}
			if err != nil {
				return fmt.Errorf("redo the transaction at %s: %w", t.Commit, err)
			}
			if t.fork != nil {
				next.Forks = append(next.Forks, *t.fork)
			}
		}
		if err := setApplied(db.writer, last.Commit, last.End); err != nil {
			return err
		}
		if len(next.Forks) == forks {
			return nil
		}
		return setIdentity(db.writer, next)
	})
	return next, err
}

// inRedoTransaction runs do in a SQLite transaction without foreign key checks: the log's changes were checked when
// they were made, and their rows come in another order.
func (db *Database) inRedoTransaction(do func() error) (err error) {
	if err := exec(db.writer, "PRAGMA foreign_keys=OFF"); err != nil {
		return fmt.Errorf("prepare redo: %w", err)
	}
	defer func() {
		if e := exec(db.writer, "PRAGMA foreign_keys=ON"); err == nil && e != nil {
			err = fmt.Errorf("end redo: %w", e)
		}
	}()
	end, err := sqlitex.ImmediateTransaction(db.writer)
	if err != nil {
		return fmt.Errorf("begin redo: %w", err)
	}
	defer end(&err)
	return do()
}

// applyRecords repeats a transaction's records. kept tells whether tables were copied aside for undo.
func applyRecords(
	conn *sqlite.Conn,
	records []record,
	changes func([]byte) error,
	schemaChanged func(),
	keepsUndo bool,
) (kept bool, err error) {
	for _, rec := range records {
		switch rec.kind {
		case recordChanges:
			err = changes(rec.payload)
		case recordSchema:
			var s schemaChange
			if s, err = decodeSchemaChange(rec.payload); err == nil && keepsUndo && len(s.kept) > 0 {
				kept, err = true, keepTables(conn, s.kept)
			}
			if err == nil {
				err = executeScript(conn, s.sql)
			}
			schemaChanged()
		case recordImages, recordMark:
		default:
			err = fmt.Errorf("log record of unknown kind %d", rec.kind)
		}
		if err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// end is the position after the newest commit in the data file.
func (db *Database) end() LSN {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.appliedEnd
}

func setApplied(conn *sqlite.Conn, lsn, end LSN) error {
	stmt, err := conn.Prepare("UPDATE main.__storage SET value = ? WHERE key = 'applied'")
	if err != nil {
		return fmt.Errorf("note the applied position: %w", err)
	}
	defer stmt.Reset()
	stmt.BindBytes(1, append(append([]byte{}, lsn[:]...), end[:]...))
	if _, err := stmt.Step(); err != nil {
		return fmt.Errorf("note the applied position: %w", err)
	}
	return nil
}

func setIdentity(conn *sqlite.Conn, id Identity) error {
	data, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("note the recovery forks: %w", err)
	}
	err = sqlitex.Execute(conn, "UPDATE main.__storage SET value = ?1 WHERE key = 'identity' AND value <> ?1",
		&sqlitex.ExecOptions{Args: []any{string(data)}})
	if err != nil {
		return fmt.Errorf("note the recovery forks: %w", err)
	}
	return nil
}

// redoLoop follows the local log on a secondary.
type redoLoop struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	mu     sync.Mutex
	err    error
}

// RedoError is why redo stopped; nil while it runs.
func (db *Database) RedoError() error {
	db.mu.Lock()
	loop := db.redo
	db.mu.Unlock()
	if loop == nil {
		return nil
	}
	loop.mu.Lock()
	defer loop.mu.Unlock()
	return loop.err
}

func (db *Database) startRedo() {
	ctx, cancel := context.WithCancelCause(context.Background())
	loop := &redoLoop{cancel: cancel, done: make(chan struct{})}
	db.mu.Lock()
	db.redo = loop
	db.mu.Unlock()
	go func() {
		defer close(loop.done)
		err := db.runRedo(ctx)
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return
		}
		loop.mu.Lock()
		loop.err = err
		loop.mu.Unlock()
	}()
}

func (db *Database) runRedo(ctx context.Context) error {
	for {
		changed := db.log.Changed()
		n, err := db.redoBatch(ctx, true)
		if err != nil {
			return err
		}
		if n > 0 {
			db.signalApplied()
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// signalApplied wakes those who wait on the log's Changed.
func (db *Database) signalApplied() {
	db.log.mu.Lock()
	defer db.log.mu.Unlock()
	if db.log.err == nil {
		db.log.publishedLocked()
	}
}

func (db *Database) stopRedo() {
	db.mu.Lock()
	loop := db.redo
	db.redo = nil
	db.mu.Unlock()
	if loop != nil {
		loop.cancel(ErrClosed)
		<-loop.done
	}
}

// SuspendRedo stops redo on a secondary (ALTER DATABASE ... SET HADR SUSPEND); received log is still hardened.
func (db *Database) SuspendRedo() { db.stopRedo() }

// ResumeRedo starts redo again on a secondary.
func (db *Database) ResumeRedo() {
	db.stopRedo()
	if db.Mode() == Redo {
		db.startRedo()
	}
}
