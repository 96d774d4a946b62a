// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
)

// A backup file holds one backup set. BACKUP without INIT or FORMAT onto a file that has one is refused rather than
// appended.

func installBackup(r *Registry) {
	on(r, (*Session).backup)
	on(r, (*Session).restore)
	r.Table(InternalTable{Scope: MsdbOnly, Name: "__backupset", DDL: []string{
		"CREATE TABLE __backupset (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	r.Table(InternalTable{Scope: MsdbOnly, Name: "__restorehistory", DDL: []string{
		"CREATE TABLE __restorehistory (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	installBackupViews(r)
}

// backupNote is what the engine adds to a backup's header.
type backupNote struct {
	Name, Description  string
	MediaName          string
	Files              []File
	Collation          string
	CompatibilityLevel int
	Created            time.Time
	Finished           time.Time
	Set, Media         uuid.UUID
	User               string
	Checksum           bool
	ReadOnly           bool
	UserAccess         string
}

// backupRecord is a row of msdb.dbo.backupset with its file.
type backupRecord struct {
	ID               int64
	Header           storage.BackupHeader
	Note             backupNote
	Database, Device string
	Finished         time.Time
	Bytes            int64
	CheckpointLSN    storage.LSN
}

func (s *Session) nameOr(name, variable string) (string, error) {
	if variable == "" {
		return name, nil
	}
	v := s.variable(variable)
	if v == nil {
		return "", sqlerr.New(137, 2, variable)
	}
	text, _ := v.value.(string)
	return text, nil
}

// device is the path of the one device of a statement.
func (s *Session) device(list []syntax.BackupDevice) (string, error) {
	if len(list) != 1 {
		return "", unsupported("A backup over several devices")
	}
	d := list[0]
	if d.Kind != "DISK" {
		return "", unsupported("A backup device other than DISK")
	}
	path, err := s.nameOr(d.Name, d.Variable)
	if err != nil {
		return "", err
	}
	if path == "" {
		return "", sqlerr.New(3044, 1)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.inst.config.BackupDir, path)
	}
	return s.inst.onDisk(path), nil
}

// backup is BACKUP DATABASE and BACKUP LOG.
func (s *Session) backup(ctx context.Context, n *syntax.Backup, w tds.Writer) error {
	verb := "BACKUP DATABASE"
	if n.Log {
		verb = "BACKUP LOG"
	}
	if s.count > 0 {
		return sqlerr.New(3021, 0)
	}
	name, err := s.nameOr(n.Database, n.Variable)
	if err != nil {
		return err
	}
	db := s.inst.Database(name)
	if db == nil {
		return sqlerr.New(911, 11, name)
	}
	if err := s.require(ctx, Permission{Name: verb, Database: db}); err != nil {
		return err
	}
	if db.ID() == 2 {
		return sqlerr.New(3147, 3)
	}
	if n.Options.Differential {
		return unsupported("A differential backup")
	}
	if n.Options.NoRecovery || n.Options.Standby != "" {
		return unsupported("A tail-log backup WITH NORECOVERY or STANDBY")
	}
	if err := db.available(); err != nil {
		return err
	}
	path, err := s.device(n.Devices)
	if err != nil {
		return err
	}
	if err := s.checkDevice(path, n.Options); err != nil {
		return s.terminated(w, verb, err)
	}
	if err := s.backupTo(ctx, db, n, path, w); err != nil {
		return s.terminated(w, verb, backupError(err, db.Name(), path))
	}
	return nil
}

// terminated sends the error and makes 3013 the statement's.
func (s *Session) terminated(w tds.Writer, verb string, err error) error {
	if errors.Is(err, errCancelled) {
		return err
	}
	first := *asError(err)
	if first.Line == 0 {
		first.Line = s.line
	}
	if e := w.Message(&first); e != nil {
		return e
	}
	return sqlerr.New(3013, 1, verb)
}

func (s *Session) checkDevice(path string, o syntax.BackupOptions) error {
	info, err := os.Stat(path)
	if err != nil || o.Format || o.Init {
		return nil
	}
	if info.Size() == 0 {
		return nil
	}
	return unsupported("Appending a backup set to a file that has one (say WITH INIT or FORMAT, or name another file)")
}

func (s *Session) backupTo(ctx context.Context, db *Database, n *syntax.Backup, path string, w tds.Writer) error {
	info := db.Info()
	note := backupNote{Name: n.Options.Name, Description: n.Options.Description, MediaName: n.Options.MediaName, Files: info.Files, Collation: info.Collation,
		CompatibilityLevel: info.CompatibilityLevel, Created: info.Created, Set: uuid.New(), Media: uuid.New(), User: s.login.Name, Checksum: n.Options.Checksum,
		ReadOnly: info.ReadOnly, UserAccess: info.UserAccess}
	raw, err := json.Marshal(note)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".backup-*")
	if err != nil {
		return sqlerr.New(3201, 1, path, osError(err))
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	opts := storage.BackupOptions{CopyOnly: n.Options.CopyOnly, Compress: n.Options.Compression, Server: s.inst.config.ServerName, Note: raw}
	if n.Options.Stats != nil && *n.Options.Stats > 0 {
		opts.Progress = progress(*n.Options.Stats, w)
	}
	started := time.Now()
	var h storage.BackupHeader
	if n.Log {
		h, err = db.Storage().BackupLog(ctx, tmp, opts)
	} else {
		h, err = db.Storage().Backup(ctx, tmp, opts)
	}
	if err != nil {
		return err
	}
	size, err := s.keepBackup(tmp, path)
	if err != nil {
		return err
	}
	if n.Log {
		err = db.Storage().NoteLogBackup(h)
	} else {
		err = db.Storage().NoteBackup(h)
	}
	if err != nil {
		return err
	}
	note.Finished = time.Now().UTC()
	if err := s.recordBackup(ctx, backupRecord{Header: h, Note: note, Database: db.Name(), Device: path, Finished: note.Finished, Bytes: size}); err != nil {
		return err
	}
	return backupMessages(w, db, n.Log, size, time.Since(started))
}

// keepBackup makes the finished file durable under its name.
func (s *Session) keepBackup(tmp *os.File, path string) (int64, error) {
	info, err := tmp.Stat()
	if err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = tmp.Chmod(0o660)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return 0, sqlerr.New(3202, 1, path, osError(err))
	}
	return info.Size(), nil
}

func osError(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

func progress(step int64, w tds.Writer) func(done, total int64) {
	next := step
	return func(done, total int64) {
		if total <= 0 {
			return
		}
		for percent := done * 100 / total; percent >= next && next <= 100; next += step {
			_ = w.Message(&sqlerr.Error{Number: 3211, State: 1, Message: fmt.Sprintf("%d percent processed.", next)})
		}
	}
}

func backupMessages(w tds.Writer, db *Database, log bool, size int64, took time.Duration) error {
	pages := size/8192 + 1
	file := db.Info().Files[0]
	for _, f := range db.Info().Files {
		if f.Log == log {
			file = f
			break
		}
	}
	if err := w.Message(sqlerr.New(4035, 1, pages, db.Name(), file.LogicalName, 1)); err != nil {
		return err
	}
	verb := "BACKUP DATABASE"
	if log {
		verb = "BACKUP LOG"
	}
	seconds := took.Seconds()
	return w.Message(&sqlerr.Error{Number: 3014, State: 1, Message: fmt.Sprintf("%s successfully processed %d pages in %.3f seconds (%.3f MB/sec).",
		verb, pages, seconds, float64(size)/1e6/max(seconds, 0.001))})
}

func (s *Session) recordBackup(ctx context.Context, r backupRecord) error {
	return s.write(ctx, s.inst.DatabaseByID(4), func(tx *storage.Tx) error {
		err := sqlitex.Execute(tx.Conn(), "SELECT coalesce(max(id), 0) + 1 FROM __backupset", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { r.ID = stmt.ColumnInt64(0); return nil }})
		if err != nil {
			return err
		}
		doc, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return sqlitex.Execute(tx.Conn(), "INSERT INTO __backupset VALUES (?, ?)", &sqlitex.ExecOptions{Args: []any{r.ID, string(doc)}})
	})
}

// backupError is the SQL Server error for what storage says of a backup or restore.
func backupError(err error, database, path string) error {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, storage.ErrNotFull):
		return sqlerr.New(4208, 1, "BACKUP LOG")
	case errors.Is(err, storage.ErrNoBackupBase):
		return sqlerr.New(4214, 1)
	case errors.Is(err, storage.ErrBackupCorrupt):
		return sqlerr.New(3241, 0, path)
	case errors.Is(err, storage.ErrBackupTooEarly):
		return sqlerr.New(4326, 1, "", "")
	case errors.Is(err, storage.ErrBackupTooRecent):
		return sqlerr.New(4305, 1, "", "")
	case errors.Is(err, storage.ErrOtherDatabase):
		return sqlerr.New(3154, 4, database)
	case errors.Is(err, os.ErrExist):
		return sqlerr.New(1834, 1, path, database)
	case errors.Is(err, os.ErrNotExist):
		return sqlerr.New(3201, 2, path, osError(err))
	}
	return err
}

// openBackup opens a backup file and reads its header.
func openBackup(path string) (*os.File, *storage.BackupReader, backupNote, error) {
	var note backupNote
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, note, sqlerr.New(3201, 2, path, osError(err))
	}
	r, err := storage.OpenBackup(f)
	if err != nil {
		f.Close()
		return nil, nil, note, backupError(err, "", path)
	}
	if len(r.Header.Note) > 0 {
		if err := json.Unmarshal(r.Header.Note, &note); err != nil {
			f.Close()
			return nil, nil, note, sqlerr.New(3241, 0, path)
		}
	}
	return f, r, note, nil
}

// restore is RESTORE in all its forms.
func (s *Session) restore(ctx context.Context, n *syntax.Restore, w tds.Writer) error {
	switch n.Kind {
	case "DATABASE", "LOG":
		verb := "RESTORE " + n.Kind
		if s.count > 0 {
			return sqlerr.New(3021, 0)
		}
		if err := s.require(ctx, Permission{Name: "CREATE ANY DATABASE"}); err != nil {
			return sqlerr.New(262, 1, "CREATE DATABASE", "master")
		}
		name, err := s.nameOr(n.Database, n.Variable)
		if err != nil {
			return err
		}
		if err := s.restoreInto(ctx, n, name, w); err != nil {
			path := ""
			if len(n.Devices) == 1 {
				path, _ = s.device(n.Devices)
			}
			return s.terminated(w, verb, backupError(err, name, path))
		}
		return nil
	}
	path, err := s.device(n.Devices)
	if err != nil {
		return err
	}
	f, r, note, err := openBackup(path)
	if err != nil {
		return s.terminated(w, "RESTORE "+n.Kind, err)
	}
	defer f.Close()
	switch n.Kind {
	case "HEADERONLY":
		return writeHeader(w, r.Header, note)
	case "FILELISTONLY":
		return writeFileList(w, r.Header, note)
	case "LABELONLY":
		return writeLabel(w, note)
	}
	if err := r.Verify(); err != nil {
		return s.terminated(w, "VERIFY DATABASE", backupError(err, "", path))
	}
	return w.Message(&sqlerr.Error{Number: 3262, State: 1, Message: "The backup set on file 1 is valid."})
}

func (s *Session) restoreInto(ctx context.Context, n *syntax.Restore, name string, w tds.Writer) error {
	o := n.Options
	if o.Standby != "" || o.StopAt != "" || o.StopAtMark != "" || o.StopBeforeMark != "" {
		return unsupported("RESTORE WITH STANDBY, STOPAT, STOPATMARK and STOPBEFOREMARK")
	}
	if o.File > 1 {
		return sqlerr.New(3242, 2, fmt.Sprintf("file %d", o.File))
	}
	db := s.inst.Database(name)
	if len(n.Devices) == 0 {
		return s.recoverOnly(ctx, db, name)
	}
	path, err := s.device(n.Devices)
	if err != nil {
		return err
	}
	f, r, note, err := openBackup(path)
	if err != nil {
		return err
	}
	defer f.Close()
	started := time.Now()
	if n.Kind == "LOG" {
		err = s.restoreLog(ctx, db, name, r)
	} else {
		db, err = s.restoreData(ctx, db, name, r, note, o)
	}
	if err != nil {
		return err
	}
	if !o.NoRecovery {
		if err := s.recoverOnly(ctx, db, name); err != nil {
			return err
		}
	}
	if err := s.recordRestore(ctx, db, r.Header, path, n.Kind); err != nil {
		return err
	}
	pages := r.Header.Size/8192 + 1
	if err := w.Message(sqlerr.New(4035, 1, pages, name, db.Info().Files[0].LogicalName, 1)); err != nil {
		return err
	}
	return w.Message(&sqlerr.Error{Number: 3014, State: 1, Message: fmt.Sprintf("RESTORE %s successfully processed %d pages in %.3f seconds.", n.Kind, pages, time.Since(started).Seconds())})
}

func (s *Session) restoreLog(ctx context.Context, db *Database, name string, r *storage.BackupReader) error {
	switch {
	case db == nil:
		return sqlerr.New(3118, 1, name)
	case db.State() != Restoring:
		return sqlerr.New(3117, 1)
	}
	return db.Storage().RestoreLog(ctx, r)
}

func (s *Session) restoreData(ctx context.Context, db *Database, name string, r *storage.BackupReader, note backupNote, o syntax.RestoreOptions) (*Database, error) {
	if r.Header.Kind != storage.DatabaseBackup {
		return nil, sqlerr.New(3118, 1, name)
	}
	if db != nil {
		return db, s.restoreOver(ctx, db, r, note, o)
	}
	files, err := s.restoredFiles(name, note, o)
	if err != nil {
		return nil, err
	}
	info := DatabaseInfo{Name: name, Files: files, Collation: note.Collation, Created: note.Created, OwnerSID: s.login.SID}
	return s.inst.AddDatabase(ctx, info, func(files storage.Files, opts storage.Options) (*storage.Database, error) {
		return storage.Restore(ctx, r, files, opts)
	})
}

// restoredFiles are the places of the restored files: MOVE's, or those of the backup.
func (s *Session) restoredFiles(name string, note backupNote, o syntax.RestoreOptions) ([]File, error) {
	files := append([]File(nil), note.Files...)
	if len(files) == 0 {
		files = s.inst.defaultFiles(name)
	}
	for _, m := range o.Move {
		found := false
		for i := range files {
			if strings.EqualFold(files[i].LogicalName, m.LogicalName) {
				files[i].PhysicalName, found = m.Path, true
			}
		}
		if !found {
			return nil, sqlerr.New(3234, 2, m.LogicalName, name)
		}
	}
	for _, other := range s.inst.Databases() {
		if strings.EqualFold(other.Name(), name) {
			continue
		}
		for _, f := range other.Info().Files {
			for _, mine := range files {
				if f.PhysicalName == mine.PhysicalName {
					return nil, sqlerr.New(1834, 1, f.PhysicalName, other.Name())
				}
			}
		}
	}
	return files, s.inst.checkPaths(files)
}

func (s *Session) restoreOver(ctx context.Context, db *Database, r *storage.BackupReader, note backupNote, o syntax.RestoreOptions) error {
	if db.ID() <= 4 && db.ID() != 4 {
		return sqlerr.New(3108, 1)
	}
	if db.inGroup() {
		return sqlerr.New(3104, 1, db.Name())
	}
	if s.db == db {
		return sqlerr.New(3102, 1, "RESTORE", db.Name())
	}
	if len(s.inst.users(db, s)) > 0 {
		return sqlerr.New(3101, 1)
	}
	if st := db.Storage(); st != nil && !o.Replace {
		if st.Identity().Family != r.Header.Identity.Family {
			return sqlerr.New(3154, 4, db.Name())
		}
		if db.State() == Online && st.RecoveryModel() != storage.Simple {
			return sqlerr.New(3159, 1, db.Name())
		}
	}
	old := filesOf(db.Info().Files)
	files, err := s.restoredFiles(db.Name(), note, o)
	if err != nil {
		return err
	}
	return s.inst.ReplaceStorage(ctx, db, func(_ storage.Files, opts storage.Options) (*storage.Database, error) {
		if err := storage.Remove(old); err != nil {
			return nil, err
		}
		if err := db.Update(ctx, func(i *DatabaseInfo) { i.Files = files }); err != nil {
			return nil, err
		}
		return storage.Restore(ctx, r, filesOf(files), opts)
	})
}

// recoverOnly is RESTORE ... WITH RECOVERY.
func (s *Session) recoverOnly(ctx context.Context, db *Database, name string) error {
	if db == nil {
		return sqlerr.New(911, 1, name)
	}
	st := db.Storage()
	if st == nil || st.Mode() != storage.Restoring {
		return sqlerr.New(3153, 1)
	}
	if err := st.Recover(ctx); err != nil {
		return err
	}
	db.SetState(Online)
	db.mu.Lock()
	db.forget()
	db.mu.Unlock()
	if err := s.inst.prepareTables(ctx, db); err != nil {
		return err
	}
	return s.inst.event(ctx, DatabaseEvent{Kind: DatabaseOpened, Database: db})
}

// restoreRecord is a row of msdb.dbo.restorehistory.
type restoreRecord struct {
	ID       int64
	Database string
	User     string
	At       time.Time
	Kind     string
	Device   string
	Set      uuid.UUID
}

func (s *Session) recordRestore(ctx context.Context, db *Database, h storage.BackupHeader, path, kind string) error {
	r := restoreRecord{Database: db.Name(), User: s.login.Name, At: time.Now().UTC(), Kind: kind[:1], Device: path}
	return s.write(ctx, s.inst.DatabaseByID(4), func(tx *storage.Tx) error {
		err := sqlitex.Execute(tx.Conn(), "SELECT coalesce(max(id), 0) + 1 FROM __restorehistory", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { r.ID = stmt.ColumnInt64(0); return nil }})
		if err != nil {
			return err
		}
		doc, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return sqlitex.Execute(tx.Conn(), "INSERT INTO __restorehistory VALUES (?, ?)", &sqlitex.ExecOptions{Args: []any{r.ID, string(doc)}})
	})
}
