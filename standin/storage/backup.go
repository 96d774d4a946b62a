// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage/disk"
)

// BackupOptions are the options of a backup.
type BackupOptions struct {
	// CopyOnly leaves the chain of backups as it is.
	CopyOnly bool
	// Differential stands on the newest full backup that is not copy-only.
	Differential bool
	// WithLog adds the log from where the next log backup begins: a copy that is made of the set can take that backup.
	WithLog  bool
	Compress bool
	// Server is the server's name for the header, Note the caller's own words in it.
	Server string
	Note   json.RawMessage
	// Progress, when set, is told the bytes done and to do.
	Progress func(done, total int64)
	// Further are the media families after the first, over which the set is spread.
	Further []io.Writer
}

// families are the media families of a set whose first is out.
func (o BackupOptions) families(out io.Writer) []io.Writer {
	return append([]io.Writer{out}, o.Further...)
}

var snapshotNumber atomic.Uint64

// Backup writes a full or differential backup set: the data file at one moment. Writers go on meanwhile.
func (db *Database) Backup(ctx context.Context, out io.Writer, opts BackupOptions) (BackupHeader, error) {
	started, kind, base := nowUTC(), DatabaseBackup, db.currentState().FullBackup
	if opts.Differential {
		// COPY_ONLY is ignored with DIFFERENTIAL.
		kind, opts.CopyOnly = DifferentialBackup, false
		if base.IsZero() {
			return BackupHeader{}, fmt.Errorf("back up database %q: %w", db.opts.Name, ErrNoBackupBase)
		}
	}
	hold, chain, from := fmt.Sprintf("%s backup %d", HoldReplica, snapshotNumber.Add(1)), db.Chain(), db.end()
	if opts.WithLog && !chain.Log.Less(db.log.Oldest()) && chain.Log.Less(from) {
		from = chain.Log
	}
	if err := db.HoldLog(hold, from); err != nil {
		return BackupHeader{}, err
	}
	defer func() { _ = db.HoldLog(hold, LSN{}) }()
	s, err := db.copyData(ctx)
	if err != nil {
		return BackupHeader{}, fmt.Errorf("back up database %q: %w", db.opts.Name, err)
	}
	defer s.close()
	h := db.header(kind, opts)
	h.DatabaseBackup = base
	if opts.WithLog {
		h.Chain, h.LogFrom = &chain, from
	}
	h.Started, h.Ended, h.Size = started, nowUTC(), s.size
	if h.Identity, err = s.identity(); err != nil {
		return h, fmt.Errorf("back up database %q: %w", db.opts.Name, err)
	}
	if err := db.locate(&h, s.applied, s.end); err != nil {
		return h, fmt.Errorf("back up database %q: %w", db.opts.Name, err)
	}
	w, err := newBackupWriter(h, opts.families(out)...)
	if err == nil {
		err = copyWithProgress(ctx, w, s.file, s.size, opts.Progress)
	}
	if err == nil && opts.WithLog {
		err = db.copyLog(ctx, w, from, h.Last)
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return h, fmt.Errorf("back up database %q: %w", db.opts.Name, err)
	}
	return h, nil
}

// NoteBackup makes a full backup that was stored safely the base of log backups.
func (db *Database) NoteBackup(h BackupHeader) error {
	if h.CopyOnly || h.Kind != DatabaseBackup {
		return nil
	}
	oldest := db.log.Oldest()
	return db.changeState(func(s *state) {
		s.FullBackup = h.Last
		// A copy whose log does not reach back to its chain begins another.
		if s.LogBackup.IsZero() || s.LogBackup.Less(oldest) {
			s.LogBackup, s.ChainBegin = h.Last, h.Last
		}
	})
}

func (db *Database) header(kind BackupKind, opts BackupOptions) BackupHeader {
	return BackupHeader{Kind: kind, Database: db.opts.Name, Server: opts.Server, Identity: db.Identity(),
		RecoveryModel: db.RecoveryModel(), CopyOnly: opts.CopyOnly, Compressed: opts.Compress, Started: nowUTC(),
		Files: db.files, Note: opts.Note}
}

// locate fills in where the log goes on after the commit applied, which ends at end.
func (db *Database) locate(h *BackupHeader, applied, end LSN) error {
	prev, err := db.log.blockBefore(applied, end)
	if err != nil {
		return err
	}
	h.First, h.Last, h.Prev, h.Bytes = end, end, prev, db.log.Bytes(end)
	return nil
}

// dataCopy is a consistent copy of the data file, beside it.
type dataCopy struct {
	path    string
	file    *os.File
	size    int64
	applied LSN
	end     LSN
}

func (c *dataCopy) close() {
	if c.file != nil {
		c.file.Close()
	}
	os.Remove(c.path)
}

func (c *dataCopy) identity() (Identity, error) {
	conn, err := sqlite.OpenConn(dataURI(c.path)+"&immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return Identity{}, fmt.Errorf("read the copy: %w", err)
	}
	defer conn.Close()
	var id Identity
	text, err := sqlitex.ResultText(conn.Prep("SELECT value FROM __storage WHERE key = 'identity'"))
	if err == nil {
		err = json.Unmarshal([]byte(text), &id)
	}
	if err != nil {
		return id, fmt.Errorf("read the copy: %w", err)
	}
	return id, nil
}

const copyPattern = ".copy-*"

func (db *Database) copyData(ctx context.Context) (_ *dataCopy, err error) {
	src, err := db.connect(sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.disconnect(src) }() // it only reads
	if err := exec(src, "BEGIN"); err != nil {
		return nil, fmt.Errorf("copy the data file: %w", err)
	}
	c := &dataCopy{path: fmt.Sprintf("%s.copy-%d", db.files.Data, snapshotNumber.Add(1))}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.applied, c.end, err = readApplied(src); err != nil {
		return nil, err
	}
	if err := copyPages(ctx, src, c.path, db.sealed); err != nil {
		return nil, fmt.Errorf("copy the data file: %w", err)
	}
	if c.file, err = os.Open(c.path); err != nil {
		return nil, fmt.Errorf("copy the data file: %w", err)
	}
	info, err := c.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("copy the data file: %w", err)
	}
	c.size = info.Size()
	return c, nil
}

func copyPages(ctx context.Context, src *sqlite.Conn, path string, sealed bool) error {
	os.Remove(path)
	flags := sqlite.OpenReadWrite | sqlite.OpenCreate
	if sealed {
		if err := disk.Create(path); err != nil {
			return err
		}
		flags = sqlite.OpenReadWrite
	}
	dst, err := openData(path, flags)
	if err != nil {
		return err
	}
	defer dst.Close()
	// The copy is thrown away unless it is complete.
	if err := executeScript(dst, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF"); err != nil {
		return err
	}
	b, err := sqlite.NewBackup(dst, "main", src, "main")
	if err != nil {
		return err
	}
	for {
		more, err := b.Step(256)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !more {
			if e := b.Close(); err == nil {
				err = e
			}
			return err
		}
	}
}

// removeCopies removes copies that a crash left behind.
func (db *Database) removeCopies() {
	left, _ := filepath.Glob(db.files.Data + copyPattern)
	for _, path := range left {
		os.Remove(path)
	}
}

func copyWithProgress(
	ctx context.Context,
	w io.Writer,
	r io.Reader,
	total int64,
	progress func(done, total int64),
) error {
	buf := make([]byte, backupChunk)
	var done int64
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, e := w.Write(buf[:n]); e != nil {
				return e
			}
			done += int64(n)
			if progress != nil {
				progress(done, total)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read the copy: %w", err)
		}
	}
}
