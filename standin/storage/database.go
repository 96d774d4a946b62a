// SPDX-License-Identifier: Apache-2.0

// Package storage is a database of the stand-in: one SQLite file, and one log with log sequence numbers from which the
// file can always be brought up to date, on this server or on another.
//
// Tables: every user table has an INTEGER PRIMARY KEY column (name it as you like, "__rowid" for a hidden one); the
// T-SQL primary key becomes a unique index, unless it is a single integer column and can be that column. Changes are
// captured by keys that are compared by bytes, so a key with a collation must not be a SQLite primary key. No SQLite
// triggers, no ON DELETE/UPDATE actions executed by SQLite: redo would run them a second time.
// Tables whose names begin with "__storage" are this package's.
package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage/disk"
)

// Database is an open database.
type Database struct {
	files Files
	opts  Options
	log   *Log

	// turn is the right to use writer; waiters are served in order.
	turn chan struct{}
	// logBackup is the right to back up the log.
	logBackup chan struct{}
	writer    *sqlite.Conn
	// changes tells of the writer's changes; nil before the first transaction.
	changes *changeHook
	// interrupts breaks off the writer's statements; nil before the first transaction.
	interrupts *interruption

	stateMu sync.Mutex
	state   state

	mu       sync.Mutex
	mode     Mode
	gate     Gate
	identity Identity
	// generation moves after every commit that may have changed the application's metadata.
	generation atomic.Uint64
	// applied is the newest commit in the data file, appliedEnd the position after it, acked the newest commit that the
	// gate confirmed.
	applied, appliedEnd, acked LSN
	// appliedTime is the newest commit's time, appliedAt when it was applied here.
	appliedTime, appliedAt time.Time
	published              map[string]bool
	current                *Tx
	readers                map[*Reader]struct{}
	idle                   []*interruption
	closed                 error

	redo       *redoLoop
	background context.CancelFunc
	// sealed says that the data file's pages have checksums; unwatch ends what newDatabase began.
	sealed     bool
	unwatch    func()
	finished   sync.WaitGroup
	checkpoint checkpointState
}

const firstVLF = 32

// Create makes a new database; the files must not exist.
func Create(ctx context.Context, files Files, opts Options) (*Database, error) {
	for _, path := range []string{files.Data, files.Log} {
		if _, err := os.Stat(path); err == nil {
			return nil, fmt.Errorf("create database %q: %s: %w", opts.Name, path, os.ErrExist)
		}
	}
	if opts.RecoveryModel == 0 {
		opts.RecoveryModel = Full
	}
	id := Identity{Database: uuid.New(), Forks: []Fork{{ID: uuid.New()}}}
	id.Family = id.Database
	at := MakeLSN(firstVLF, segmentHeader, 0)
	l, err := createLog(files.Log, at, LSN{}, 0, opts.SegmentBytes, opts.MaxLogBytes)
	if err != nil {
		return nil, fmt.Errorf("create database %q: %w", opts.Name, err)
	}
	db := newDatabase(files, opts, l)
	if err := createData(files.Data); err != nil {
		db.abandon()
		return nil, fmt.Errorf("create database %q: %w", opts.Name, err)
	}
	db.sealed = true
	db.state = state{Mode: Primary, RecoveryModel: opts.RecoveryModel, Checksums: true, Holds: map[string]LSN{}}
	err = writeState(files.Log, db.state)
	if err == nil {
		db.writer, err = db.connect(sqlite.OpenReadWrite)
	}
	if err == nil {
		db.identity = id
		err = db.initialise()
	}
	if err != nil {
		db.abandon()
		return nil, fmt.Errorf("create database %q: %w", opts.Name, err)
	}
	db.start()
	return db, nil
}

// Open opens and recovers a database: all acknowledged transactions whole, no other half.
func Open(ctx context.Context, files Files, opts Options) (*Database, error) {
	db, err := open(ctx, files, opts)
	if err != nil {
		var s *Suspect
		if errors.As(err, &s) {
			s.Database = opts.Name
		}
		return nil, fmt.Errorf("open database %q: %w", opts.Name, err)
	}
	return db, nil
}

func open(ctx context.Context, files Files, opts Options) (*Database, error) {
	if _, err := os.Stat(files.Data); err != nil {
		return nil, err
	}
	st, err := readState(files.Log)
	if err != nil {
		return nil, err
	}
	l, err := openLog(files.Log, opts.SegmentBytes, opts.MaxLogBytes, st.Mode == Primary)
	if err != nil {
		return nil, err
	}
	db := newDatabase(files, opts, l)
	db.state, db.mode = st, st.Mode
	db.removeCopies()
	db.sealed = disk.HasChecksums(files.Data)
	if st.Checksums && !db.sealed {
		db.abandon()
		return nil, &Suspect{Reason: fmt.Sprintf("the header of %s is damaged", files.Data)}
	}
	if err = db.cutAhead(); err == nil {
		db.writer, err = db.connect(sqlite.OpenReadWrite)
	}
	if err == nil {
		err = db.readInternal()
	}
	if err == nil {
		err = db.recover(ctx)
	}
	if err != nil {
		db.abandon()
		return nil, db.suspected(err)
	}
	db.start()
	return db, nil
}

func newDatabase(files Files, opts Options, l *Log) *Database {
	db := &Database{files: files, opts: opts, log: l, turn: make(chan struct{}, 1), logBackup: make(chan struct{}, 1),
		readers: map[*Reader]struct{}{}, published: map[string]bool{}, unwatch: func() {}}
	if !opts.Logless {
		db.unwatch = disk.BeforeSync(files.Data, l.syncWritten)
	}
	return db
}

// connect opens a connection with everything that the database's text may use.
func (db *Database) connect(flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	conn, err := openData(db.files.Data, flags)
	if err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	conn.SetBlockOnBusy()
	// Durability is the log's; NORMAL keeps the file consistent over a power cut, from where the log is replayed.
	pragmas := "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA " +
		"foreign_keys=ON; PRAGMA trusted_schema=ON; PRAGMA temp_store=MEMORY;" +
		fmt.Sprintf(
			"PRAGMA journal_size_limit=%d;",
			keptWAL,
		)
	if db.opts.Logless {
		pragmas += "PRAGMA synchronous=OFF;"
	}
	err = executeScript(conn, pragmas)
	if err == nil && db.opts.Prepare != nil {
		err = db.opts.Prepare(conn)
	}
	if err != nil {
		_ = db.disconnect(conn)
		return nil, fmt.Errorf("set up a connection to the data file: %w", err)
	}
	return conn, nil
}

// disconnect closes a connection of connect.
func (db *Database) disconnect(conn *sqlite.Conn) error {
	err := conn.Close()
	if db.opts.Forget != nil {
		db.opts.Forget(conn)
	}
	return err
}

// initialise makes this package's tables. __storage has no key on purpose: it is not captured then, it is this copy's
// own.
func (db *Database) initialise() error {
	id, err := json.Marshal(db.identity)
	if err != nil {
		return err
	}
	err = sqlitex.ExecuteScript(db.writer, `
		CREATE TABLE __storage (key TEXT NOT NULL, value);
		CREATE TABLE __storage_published (name TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
		INSERT INTO __storage VALUES ('applied', zeroblob(20)), ('identity', '');`, nil)
	if err == nil {
		db.appliedEnd = db.log.End()
		err = setApplied(db.writer, LSN{}, db.appliedEnd)
	}
	if err == nil {
		err = sqlitex.Execute(db.writer, "UPDATE __storage SET value = ? WHERE key = 'identity'",
			&sqlitex.ExecOptions{Args: []any{string(id)}})
	}
	if err == nil {
		// The log does not have these.
		err = sqlitex.ExecuteTransient(db.writer, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
	}
	if err != nil {
		return fmt.Errorf("set up the data file: %w", err)
	}
	return nil
}

// readInternal reads what the data file says about itself.
func (db *Database) readInternal() error {
	err := sqlitex.Execute(db.writer, "SELECT key, value FROM __storage", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			switch stmt.ColumnText(0) {
			case "applied":
				var both [2 * len(LSN{})]byte
				stmt.ColumnBytes(1, both[:])
				copy(db.applied[:], both[:])
				copy(db.appliedEnd[:], both[len(LSN{}):])
				return nil
			case "identity":
				return json.Unmarshal([]byte(stmt.ColumnText(1)), &db.identity)
			}
			return nil
		}})
	if err != nil {
		return fmt.Errorf("read the data file %s: %w", db.files.Data, err)
	}
	return db.readPublished()
}

func (db *Database) readPublished() error {
	published := map[string]bool{}
	err := sqlitex.Execute(db.writer, "SELECT name FROM __storage_published", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			published[stmt.ColumnText(0)] = true
			return nil
		}})
	if err != nil {
		return fmt.Errorf("read which tables are published: %w", err)
	}
	db.mu.Lock()
	db.published = published
	db.mu.Unlock()
	return nil
}

// recover repeats what the log has and the data file lacks.
func (db *Database) recover(ctx context.Context) error {
	if db.opts.Logless {
		return nil
	}
	if end := db.log.End(); !db.applied.Less(end) && !db.applied.IsZero() {
		return &Suspect{Reason: fmt.Sprintf("the data file is at %s, the log ends at %s", db.applied, end)}
	}
	for {
		n, err := db.redoBatch(ctx, false)
		if err != nil {
			return fmt.Errorf("recover: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

func (db *Database) start() {
	ctx, cancel := context.WithCancel(context.Background())
	db.background = cancel
	db.checkpoint.at = time.Now()
	db.finished.Add(1)
	go func() {
		defer db.finished.Done()
		db.checkpoints(ctx)
	}()
	if db.mode == Redo {
		db.startRedo()
	}
}

// abandon closes what a failed Create or Open has opened.
func (db *Database) abandon() {
	if db.writer != nil {
		_ = db.closeWriter() // the error that led here is the one that tells
	}
	db.unwatch()
	db.log.close()
}

// Close ends the database after a checkpoint. Transactions still open are rolled back.
func (db *Database) Close() error {
	if !db.shut() {
		return nil
	}
	db.background()
	db.finished.Wait()
	db.stopRedo()
	db.breakAll(ErrClosed)
	db.turn <- struct{}{}
	err := db.checkpointLocked(false)
	if e := errors.Join(db.checkpoint.close(db.disconnect), db.closeWriter()); err == nil && e != nil {
		err = fmt.Errorf("close the data file: %w", e)
	}
	db.mu.Lock()
	for _, i := range db.idle {
		_ = db.disconnect(i.conn) // it only reads
	}
	db.idle = nil
	db.mu.Unlock()
	db.unwatch()
	if e := db.log.close(); err == nil {
		err = e
	}
	return err
}

func (db *Database) closeWriter() error {
	err := db.disconnect(db.writer)
	if db.changes != nil {
		db.changes.close()
	}
	return err
}

// shut marks the database closed; false when it already was.
func (db *Database) shut() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed != nil {
		return false
	}
	db.closed = fmt.Errorf("database %q: %w", db.opts.Name, ErrClosed)
	return true
}

// Drop closes the database and removes its files.
func (db *Database) Drop() error {
	err := db.Close()
	if e := Remove(db.files); e != nil {
		return e
	}
	return err
}

// Remove removes a closed database's files, also those of one whose creation was cut short.
func Remove(files Files) error {
	for _, path := range []string{files.Data, files.Data + "-wal", files.Data + "-shm"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove database file: %w", err)
		}
	}
	if err := os.RemoveAll(files.Log); err != nil {
		return fmt.Errorf("remove log: %w", err)
	}
	return nil
}

// Files are the database's files.
func (db *Database) Files() Files { return db.files }

// Log is the database's transaction log.
func (db *Database) Log() *Log { return db.log }

// Mode is what the database takes now.
func (db *Database) Mode() Mode {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.mode
}

// Identity is the database's identity.
func (db *Database) Identity() Identity {
	db.mu.Lock()
	defer db.mu.Unlock()
	id := db.identity
	id.Forks = append([]Fork(nil), id.Forks...)
	return id
}

// Applied is the newest commit in the data file and its time; on a secondary that is the last redone one.
func (db *Database) Applied() (LSN, time.Time) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.applied, db.appliedTime
}

// MetadataGeneration is a number that is another one after every commit of a transaction that said ChangesMetadata, and
// after everything that redo or undo did. What was read of the metadata after it was asked for holds until it changes.
// The error is that of Reader, where the database must not be read.
func (db *Database) MetadataGeneration() (uint64, error) {
	if err := db.admit(false); err != nil {
		return 0, err
	}
	return db.generation.Load(), nil
}

// RecoveryModel is the database's recovery model.
func (db *Database) RecoveryModel() RecoveryModel { return db.currentState().RecoveryModel }

// SetRecoveryModel changes the recovery model. Going to Simple breaks the chain of log backups.
func (db *Database) SetRecoveryModel(m RecoveryModel) error {
	return db.changeState(func(s *state) {
		s.RecoveryModel = m
		if m == Simple {
			s.FullBackup, s.LogBackup, s.ChainBegin = LSN{}, LSN{}, LSN{}
		}
	})
}

// SetGate sets or (nil) removes the gate.
func (db *Database) SetGate(g Gate) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.gate = g
	db.acked = LSN{}
}

// AppliedEnd is the position after the newest commit in the data file.
func (db *Database) AppliedEnd() LSN { return db.end() }

// AppliedAt is when the newest commit was applied here; zero before the first since the start.
func (db *Database) AppliedAt() time.Time {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.appliedAt
}
