// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/storage/disk"
)

// Restore makes a database from a full backup set, in Restoring mode: log backups may follow, then Recover. The files
// must not exist. What an interrupted restore leaves is removed with Remove.
func Restore(ctx context.Context, in *BackupReader, files Files, opts Options) (*Database, error) {
	return restore(ctx, in, files, opts, Restoring)
}

// Seed is Restore for an availability group's secondary: the database comes up in Redo mode.
func Seed(ctx context.Context, in *BackupReader, files Files, opts Options) (*Database, error) {
	return restore(ctx, in, files, opts, Redo)
}

func restore(ctx context.Context, in *BackupReader, files Files, opts Options, mode Mode) (*Database, error) {
	fail := func(err error) (*Database, error) {
		return nil, fmt.Errorf("restore database %q: %w", opts.Name, err)
	}
	h := in.Header
	if h.Kind != DatabaseBackup {
		return fail(fmt.Errorf("the set is a log backup: %w", ErrBackupTooRecent))
	}
	for _, path := range []string{files.Data, files.Log} {
		if _, err := os.Stat(path); err == nil {
			return fail(fmt.Errorf("%s: %w", path, os.ErrExist))
		}
	}
	if err := receiveData(ctx, in, files.Data); err != nil {
		return fail(errors.Join(err, Remove(files)))
	}
	l, err := createLog(files.Log, h.Last, h.Prev, h.Bytes, opts.SegmentBytes, opts.MaxLogBytes)
	if err != nil {
		return fail(errors.Join(err, Remove(files)))
	}
	err = l.close()
	if err == nil {
		err = writeState(files.Log, state{Mode: mode, RecoveryModel: h.RecoveryModel, FullBackup: h.DatabaseBackup,
			Checksums: disk.HasChecksums(files.Data), Holds: map[string]LSN{}})
	}
	if err != nil {
		return fail(errors.Join(err, Remove(files)))
	}
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
	tmp := path + ".restoring"
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
	if err := db.restoreLog(ctx, in); err != nil {
		return fmt.Errorf("restore the log of database %q: %w", db.opts.Name, err)
	}
	return nil
}

func (db *Database) restoreLog(ctx context.Context, in *BackupReader) error {
	h := in.Header
	end := db.log.End()
	switch {
	case db.Mode() != Restoring:
		return ErrReadOnly
	case h.Kind != LogBackup:
		return fmt.Errorf("the set is not a log backup: %w", ErrOtherDatabase)
	case h.Identity.Family != db.Identity().Family:
		return ErrOtherDatabase
	case h.Last.Less(end):
		return ErrBackupTooEarly
	case end.Less(h.First):
		return ErrBackupTooRecent
	}
	buf := bufio.NewReaderSize(in, backupChunk)
	for {
		head, err := buf.Peek(8)
		if errors.Is(err, io.EOF) && len(head) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		n := blockLength(head)
		if n == 0 {
			return ErrBackupCorrupt
		}
		raw := make([]byte, n)
		if _, err := io.ReadFull(buf, raw); err != nil {
			return errors.Join(ErrBackupCorrupt, err)
		}
		if _, err := db.log.Append(raw); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	if err := db.log.Harden(ctx, db.log.End()); err != nil {
		return err
	}
	for {
		n, err := db.redoBatch(ctx, false)
		if err != nil || n == 0 {
			return err
		}
	}
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
