// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage/disk"
)

// Restore makes a database from a full or differential backup set, in Restoring mode: log backups may follow, then
// Recover. It takes the place of files that are there, once it has the whole set.
func Restore(ctx context.Context, in *BackupReader, files Files, opts Options) (*Database, error) {
	if err := RestoreBeside(ctx, in, files, opts); err != nil {
		return nil, err
	}
	if err := TakePlace(files); err != nil {
		return nil, fmt.Errorf("restore database %q: %w", opts.Name, err)
	}
	return OpenRestored(ctx, files, opts)
}

// AcceptsDifferential tells whether a differential backup set can follow what was restored: the full backup on which it
// stands, and no log that it has not. ErrNotTheBase when it cannot, ErrFork when log of another recovery path was
// restored meanwhile.
func (db *Database) AcceptsDifferential(h BackupHeader) error {
	st := db.currentState()
	if h.Identity.Family != db.Identity().Family || st.Base.IsZero() || st.Base != h.DatabaseBackup ||
		h.Last.Less(db.end()) {
		return fmt.Errorf("restore database %q: %w", db.opts.Name, ErrNotTheBase)
	}
	if _, parts := db.Identity().Parts(db.end(), h.Identity.Forks); parts {
		return fmt.Errorf("restore database %q: %w", db.opts.Name, ErrFork)
	}
	return nil
}

// Seed is Restore for an availability group's secondary: the database comes up in Redo mode. The files must not exist.
func Seed(ctx context.Context, in *BackupReader, files Files, opts Options) (*Database, error) {
	for _, path := range []string{files.Data, files.Log} {
		if _, err := os.Stat(path); err == nil {
			return nil, fmt.Errorf("restore database %q: %s: %w", opts.Name, path, os.ErrExist)
		}
	}
	if err := layDown(ctx, in, files, opts, Redo); err != nil {
		return nil, err
	}
	return OpenRestored(ctx, files, opts)
}

// layDown writes the files of a full or differential backup set; they are whole and on disk when it returns nil.
func layDown(ctx context.Context, in *BackupReader, files Files, opts Options, mode Mode) error {
	fail := func(err error) error {
		return fmt.Errorf("restore database %q: %w", opts.Name, err)
	}
	h := in.Header
	if h.Kind == LogBackup {
		return fail(fmt.Errorf("the set is a log backup: %w", ErrBackupTooRecent))
	}
	data := io.Reader(in)
	if h.Chain != nil {
		data = io.LimitReader(in, h.Size)
	}
	if err := receiveData(ctx, data, files.Data); err != nil {
		return fail(errors.Join(err, Remove(files)))
	}
	err := layDownLog(ctx, in, files, opts)
	if err == nil {
		st := state{
			Mode:          mode,
			RecoveryModel: h.RecoveryModel,
			Until:         h.Ended,
			Checksums:     disk.HasChecksums(files.Data),
			Holds:         map[string]LSN{},
		}
		if h.Chain != nil {
			st.FullBackup, st.LogBackup, st.ChainBegin = h.Chain.Full, h.Chain.Log, h.Chain.Begin
		}
		if mode == Restoring {
			// Log backups of the restored database go on where the restore ends. A secondary is told of its primary's.
			st.FullBackup, st.LogBackup = h.Last, h.Last
			switch {
			case h.Kind == DifferentialBackup:
				st.FullBackup, st.Base = h.DatabaseBackup, h.DatabaseBackup
			case !h.CopyOnly:
				st.Base = h.Last
			}
		}
		err = writeState(files.Log, st)
	}
	if err != nil {
		return fail(errors.Join(err, Remove(files)))
	}
	return nil
}

// layDownLog makes the log of a restored database: it begins where the data ends, or with the log that follows the data
// in the set.
func layDownLog(ctx context.Context, in *BackupReader, files Files, opts Options) error {
	h := in.Header
	at, prev, position, blocks := h.Last, h.Prev, h.Bytes, bufio.NewReaderSize(in, backupChunk)
	var raw []byte
	var err error
	if h.Chain != nil {
		raw, err = nextBlock(blocks)
	}
	if err == nil && raw != nil {
		var first *Block
		if first, err = ParseBlock(raw); err == nil {
			// A file may end where the log begins: the block is the next file's first one then.
			at, prev, position = h.LogFrom, first.Prev, first.Position
		}
	}
	if err != nil {
		return errors.Join(ErrBackupCorrupt, err)
	}
	l, err := createLog(files.Log, at, prev, position, opts.SegmentBytes, opts.MaxLogBytes)
	if err != nil {
		return err
	}
	for raw != nil && err == nil {
		if _, err = l.Append(raw); err == nil {
			raw, err = nextBlock(blocks)
		}
	}
	if err == nil {
		err = l.Harden(ctx, l.End())
	}
	return errors.Join(err, l.close())
}

// OpenRestored is Open for files whose log begins with what is restored.
func OpenRestored(ctx context.Context, files Files, opts Options) (*Database, error) {
	db, err := Open(ctx, files, opts)
	if err == nil {
		err = db.noteBase(ctx)
	}
	return db, err
}

// noteBase notes the newest commit in a data file whose log begins only after it: undo may lead back to there.
func (db *Database) noteBase(ctx context.Context) error {
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	applied, _ := db.Applied()
	oldest := db.log.Oldest()
	if !applied.Less(oldest) {
		return nil
	}
	err := sqlitex.Execute(db.writer, "DELETE FROM main.__storage WHERE key = 'base'", nil)
	if err == nil {
		err = sqlitex.Execute(db.writer, "INSERT INTO main.__storage VALUES ('base', ?)",
			&sqlitex.ExecOptions{Args: []any{append(append([]byte{}, applied[:]...), oldest[:]...)}})
	}
	if err != nil {
		return fmt.Errorf("note where the log of database %q begins: %w", db.opts.Name, err)
	}
	return nil
}

// base is the newest commit before the oldest log; ErrNoUndo when it is not known.
func (db *Database) base() (LSN, error) {
	var both [2 * len(LSN{})]byte
	err := sqlitex.Execute(db.writer, "SELECT value FROM main.__storage WHERE key = 'base'", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			stmt.ColumnBytes(0, both[:])
			return nil
		}})
	if err != nil {
		return LSN{}, fmt.Errorf("read where the log begins: %w", err)
	}
	if oldest := db.log.Oldest(); LSN(both[len(LSN{}):]) != oldest {
		return LSN{}, ErrNoUndo
	}
	return LSN(both[:len(LSN{})]), nil
}

// receiveData writes the data file; it has its name only once it is whole and on disk.
func receiveData(ctx context.Context, in io.Reader, path string) error {
	tmp := path + partSuffix
	f, err := disk.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	err = copyWithProgress(ctx, f, in, 0, nil)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = disk.Rename(tmp, path)
	}
	return err
}

// RestoreLog applies a log backup set to a database in Restoring mode.
func (db *Database) RestoreLog(ctx context.Context, in *BackupReader) error {
	_, err := db.RestoreLogUntil(ctx, in, time.Time{})
	return err
}

// RestoreLogUntil is RestoreLog up to the transactions that were committed at the time stop or later, unless that is
// zero (docs/t-sql/statements/restore-statements-arguments-transact-sql.md, STOPAT). reached is false when the set ends
// before that time: more log is needed. ErrStopTooEarly when the database has such transactions already.
func (db *Database) RestoreLogUntil(ctx context.Context, in *BackupReader, stop time.Time) (reached bool, err error) {
	if reached, err = db.restoreLog(ctx, in, stop); err != nil {
		return false, fmt.Errorf("restore the log of database %q: %w", db.opts.Name, err)
	}
	return reached, nil
}

func (db *Database) restoreLog(ctx context.Context, in *BackupReader, stop time.Time) (reached bool, err error) {
	h := in.Header
	switch {
	case db.Mode() != Restoring:
		return false, ErrReadOnly
	case h.Kind != LogBackup:
		return false, fmt.Errorf("the set is not a log backup: %w", ErrOtherDatabase)
	case h.Identity.Family != db.Identity().Family:
		return false, ErrOtherDatabase
	}
	if !stop.IsZero() {
		if err := db.readyToStop(ctx, stop); err != nil {
			return false, err
		}
	}
	if err := db.continues(ctx, h); err != nil {
		return false, err
	}
	if reached, err = db.receiveLog(ctx, in, stop); err != nil {
		return false, err
	}
	if err := db.log.Harden(ctx, db.log.End()); err != nil {
		return false, err
	}
	if err := db.redoAll(ctx); err != nil {
		return false, err
	}
	return reached || stop.IsZero() || !stop.After(h.Started), db.noteRestored()
}

// continues tells whether a log backup goes on where the database is, on its recovery path
// (docs/relational-databases/backup-restore/recovery-paths-sql-server.md).
func (db *Database) continues(ctx context.Context, h BackupHeader) error {
	// What an earlier restore left when it was broken off may begin a recovery fork.
	if err := db.redoAll(ctx); err != nil {
		return err
	}
	end := db.log.End()
	at, parts := db.Identity().Parts(end, h.Identity.Forks)
	switch {
	case parts && at.Less(h.Last):
		return ErrFork
	case h.Last.Less(end):
		return &OutOfLine{Reason: ErrBackupTooEarly, Has: h.Last, Needs: end}
	case end.Less(h.First):
		return &OutOfLine{Reason: ErrBackupTooRecent, Has: h.First, Needs: end}
	}
	return nil
}

// redoAll brings the data file to the end of the log.
func (db *Database) redoAll(ctx context.Context) error {
	for {
		n, err := db.redoBatch(ctx, false)
		if n == 0 || err != nil {
			return err
		}
	}
}

// noteRestored notes where the next log backup goes on, when this server makes it, and up to what time the database has
// transactions, for a STOPAT after a restart.
func (db *Database) noteRestored() error {
	_, at := db.Applied()
	end := db.end()
	return db.changeState(func(s *state) {
		if !s.FullBackup.IsZero() {
			s.LogBackup = end
		}
		if at.After(s.Until) {
			s.Until = at
		}
	})
}

// readyToStop cuts log that is not redone yet, which an earlier restore left when it was broken off: some of it may be
// from after the time.
func (db *Database) readyToStop(ctx context.Context, stop time.Time) error {
	if !db.currentState().Until.Before(stop) {
		return ErrStopTooEarly
	}
	if err := db.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	return db.cutUnfinished()
}

// receiveLog puts a set's blocks into the log, whole transactions at a time, up to the first one of the time stop.
func (db *Database) receiveLog(ctx context.Context, in io.Reader, stop time.Time) (reached bool, err error) {
	have := db.log.End()
	buf := bufio.NewReaderSize(in, backupChunk)
	transactions := &transactionReader{}
	var held [][]byte
	for {
		raw, err := nextBlock(buf)
		if err != nil {
			return false, err
		}
		if raw == nil {
			return false, db.appendAll(held)
		}
		held = append(held, raw)
		if !stop.IsZero() {
			t, err := transactions.addRaw(raw)
			switch {
			case err != nil:
				return false, err
			case t == nil:
				continue
			case !t.Time.Before(stop) && t.Commit.Less(have):
				return false, ErrStopTooEarly
			case !t.Time.Before(stop):
				return true, nil
			}
		}
		if err := db.appendAll(held); err != nil {
			return false, err
		}
		held = held[:0]
		if err := ctx.Err(); err != nil {
			return false, context.Cause(ctx)
		}
	}
}

func (db *Database) appendAll(blocks [][]byte) error {
	for _, raw := range blocks {
		if _, err := db.log.Append(raw); err != nil {
			return err
		}
	}
	return nil
}

// nextBlock reads a block, nil after the last one.
func nextBlock(buf *bufio.Reader) ([]byte, error) {
	head, err := buf.Peek(8)
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := blockLength(head)
	if n == 0 {
		return nil, ErrBackupCorrupt
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(buf, raw); err != nil {
		return nil, errors.Join(ErrBackupCorrupt, err)
	}
	return raw, nil
}

// addRaw is add for a block as it was sent.
func (r *transactionReader) addRaw(raw []byte) (*Transaction, error) {
	b, err := ParseBlock(raw)
	if err != nil {
		return nil, errors.Join(ErrBackupCorrupt, err)
	}
	return r.add(b)
}

// Recover ends a restore: the database takes reads and writes, in a new recovery fork.
func (db *Database) Recover(ctx context.Context) error {
	if db.Mode() != Restoring {
		return fmt.Errorf("recover database %q: it is not restoring", db.opts.Name)
	}
	if err := db.SetMode(ctx, Primary, nil); err != nil {
		return err
	}
	_, err := db.BeginFork(ctx)
	return err
}
