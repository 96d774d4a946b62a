// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Reader is a snapshot of the database at one moment. It never waits for the writer and the writer never for it; but
// where a gate holds commits back until they are hardened elsewhere, a new snapshot waits until everything in it is:
// nobody is shown what a failover could still take away.
type Reader struct {
	*usage
	db       *Database
	conn     *sqlite.Conn
	attached []string
	released bool
}

// maxIdleReaders bounds the connections kept for later.
const maxIdleReaders = 8

// Reader takes a pooled connection in a read transaction. ctx bounds the wait.
func (db *Database) Reader(ctx context.Context) (*Reader, error) {
	if err := db.admit(false); err != nil {
		return nil, err
	}
	db.mu.Lock()
	var kept *interruption
	if n := len(db.idle); n > 0 {
		kept, db.idle = db.idle[n-1], db.idle[:n-1]
	}
	db.mu.Unlock()
	if kept == nil {
		conn, err := db.connect(sqlite.OpenReadOnly)
		if err != nil {
			return nil, err
		}
		kept = newInterruption(conn)
	}
	r := &Reader{usage: newUsage(kept), db: db, conn: kept.conn}
	db.mu.Lock()
	db.readers[r] = struct{}{}
	db.mu.Unlock()
	if err := r.begin(ctx); err != nil {
		r.Release()
		return nil, err
	}
	return r, nil
}

// begin takes the snapshot.
func (r *Reader) begin(ctx context.Context) error {
	leave, err := r.use(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := exec(r.conn, "BEGIN"); err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	lsn, _, err := readApplied(r.conn)
	if err != nil {
		return err
	}
	return r.db.confirm(ctx, lsn)
}

func readApplied(conn *sqlite.Conn) (lsn, end LSN, err error) {
	stmt, err := conn.Prepare("SELECT value FROM main.__storage WHERE key = 'applied'")
	if err != nil {
		return lsn, end, fmt.Errorf("read the position: %w", err)
	}
	defer stmt.Reset()
	more, err := stmt.Step()
	if err != nil {
		return lsn, end, fmt.Errorf("read the position: %w", err)
	}
	if more {
		var both [2 * len(LSN{})]byte
		stmt.ColumnBytes(0, both[:])
		copy(lsn[:], both[:])
		copy(end[:], both[len(lsn):])
	}
	return lsn, end, nil
}

// Conn is the connection; only for reading, between Use and leave.
func (r *Reader) Conn() *sqlite.Conn { return r.conn }

// Use brackets one statement's use of the reader's connection: ctx's end, or the database's change of role, interrupts
// it. Call leave after the statement. Uses may nest.
func (r *Reader) Use(ctx context.Context) (leave func(), err error) { return r.use(ctx) }

// Refresh ends the snapshot and takes a new one (each statement of READ COMMITTED has its own).
func (r *Reader) Refresh(ctx context.Context) error {
	if err := r.db.admit(false); err != nil {
		return err
	}
	leave, err := r.use(ctx)
	if err != nil {
		return err
	}
	err = exec(r.conn, "COMMIT")
	leave()
	if err != nil {
		return fmt.Errorf("end a read: %w", err)
	}
	return r.begin(ctx)
}

// Attach makes another database's tables readable as name.table, until Release.
func (r *Reader) Attach(ctx context.Context, name string, other *Database) error {
	leave, err := r.use(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := attach(ctx, r.conn, name, other); err != nil {
		return err
	}
	r.attached = append(r.attached, name)
	return nil
}

func attach(ctx context.Context, conn *sqlite.Conn, name string, other *Database) error {
	if err := other.admit(false); err != nil {
		return err
	}
	applied, _ := other.Applied()
	if err := other.confirm(ctx, applied); err != nil {
		return err
	}
	err := sqlitex.ExecuteTransient(conn, "ATTACH DATABASE ? AS "+quote(name),
		&sqlitex.ExecOptions{Args: []any{dataURI(other.files.Data) + "&mode=ro"}})
	if err != nil {
		return fmt.Errorf("read from database %q: %w", other.opts.Name, err)
	}
	return nil
}

// uriPath escapes what has a meaning in a SQLite file URI.
func uriPath(path string) string {
	var out []byte
	for i := range len(path) {
		switch c := path[i]; c {
		case '?', '#', '%':
			out = append(out, fmt.Sprintf("%%%02x", c)...)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// Release gives the connection back. It may be called more than once.
func (r *Reader) Release() {
	r.db.mu.Lock()
	if r.released {
		r.db.mu.Unlock()
		return
	}
	r.released = true
	r.db.mu.Unlock()
	r.breakOff(fmt.Errorf("the reader was released"))
	r.end()
}

// end runs once, when no statement is in progress any more.
func (r *Reader) end() {
	r.settle()
	ok := true
	if !r.conn.AutocommitEnabled() {
		ok = exec(r.conn, "ROLLBACK") == nil
	}
	for _, name := range r.attached {
		ok = ok && sqlitex.ExecuteTransient(r.conn, "DETACH DATABASE "+quote(name), nil) == nil
	}
	r.db.mu.Lock()
	delete(r.db.readers, r)
	ok = ok && r.db.closed == nil && len(r.db.idle) < maxIdleReaders
	if ok {
		r.db.idle = append(r.db.idle, r.interrupts)
	}
	r.db.mu.Unlock()
	if !ok {
		_ = r.db.disconnect(r.conn) // it only reads
	}
}

// admit asks the state and the gate.
func (db *Database) admit(write bool) error {
	db.mu.Lock()
	mode, gate, closed := db.mode, db.gate, db.closed
	db.mu.Unlock()
	if closed != nil {
		return closed
	}
	if gate != nil {
		if err := gate.Admit(write); err != nil {
			return err
		}
	}
	if mode == Restoring && db.Standby() == "" || (write && mode != Primary) {
		return fmt.Errorf("database %q: %w", db.opts.Name, ErrReadOnly)
	}
	return nil
}

// confirm waits until the commit at lsn cannot be lost any more.
func (db *Database) confirm(ctx context.Context, lsn LSN) error {
	db.mu.Lock()
	gate, mode := db.gate, db.mode
	known := !db.acked.Less(lsn)
	db.mu.Unlock()
	if gate == nil || mode != Primary || known {
		return nil
	}
	if err := gate.WaitHardened(ctx, lsn); err != nil {
		return err
	}
	db.confirmed(lsn)
	return nil
}

func (db *Database) confirmed(lsn LSN) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.acked.Less(lsn) {
		db.acked = lsn
	}
}

// nowUTC is the time of log records.
func nowUTC() time.Time { return time.Now().UTC() }
