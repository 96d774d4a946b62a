// SPDX-License-Identifier: Apache-2.0

package backup

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

	"geosql.dev/standin/backupmedia"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// backupNote is what the engine adds to a backup's header.
type backupNote struct {
	backupmedia.Label
	Name, Description string
	Files             []metadata.File
	// Groups are the names of the file groups by number.
	Groups             map[int32]string
	Collation          string
	CompatibilityLevel int
	Created            time.Time
	Finished           time.Time
	Set                uuid.UUID
	User               string
	Checksum           bool
	ReadOnly           bool
	// Settings are the database's options, nil in sets that are older than the note of them.
	Settings   *engine.DatabaseSettings
	UserAccess string
	// Base is the set on which a differential one stands.
	Base uuid.UUID
	// Tail says that the backup left the database RESTORING.
	Tail bool
}

// backupRecord is a row of msdb.dbo.backupset with its file.
type backupRecord struct {
	ID       int64
	Header   storage.BackupHeader
	Note     backupNote
	Database string
	// Devices are the paths of the media families, in their order; Device is the one of a time when there was one.
	Devices []string
	Device  string `json:",omitempty"`
	// Position is the set's number in the file; 0 of a time when a file had one set.
	Position      int
	Finished      time.Time
	Bytes         int64
	CheckpointLSN storage.LSN
}

// devices are the paths of the media families, in their order.
func (b backupRecord) devices() []string {
	if len(b.Devices) == 0 {
		return []string{b.Device}
	}
	return b.Devices
}

func nameOr(s *engine.Session, name, variable string) (string, error) {
	if variable == "" {
		return name, nil
	}
	value, declared := s.VariableValue(variable)
	if !declared {
		return "", sqlerr.New(137, 2, variable)
	}
	text, _ := value.(string)
	return text, nil
}

// devices are the paths of a statement's devices; 3205 where there are too many.
func devices(ctx context.Context, s *engine.Session, list []syntax.BackupDevice) ([]string, error) {
	if len(list) > backupmedia.MaxDevices {
		return nil, sqlerr.New(3205, 1, backupmedia.MaxDevices)
	}
	var paths []string
	for _, d := range list {
		path, err := device(ctx, s, d)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// device is the path of a device.
func device(ctx context.Context, s *engine.Session, d syntax.BackupDevice) (string, error) {
	if d.Kind != "DISK" && d.Kind != "" {
		return "", sqlerr.Unsupported("A backup device other than DISK")
	}
	path, err := nameOr(s, d.Name, d.Variable)
	if err != nil {
		return "", err
	}
	if d.Kind == "" {
		if path, err = logicalDevice(ctx, s, path); err != nil {
			return "", err
		}
	}
	if path == "" {
		return "", sqlerr.New(3044, 1)
	}
	if strings.EqualFold(path, "NUL") {
		return os.DevNull, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Instance().Config().BackupDir, path)
	}
	return s.Instance().OnDisk(path), nil
}

// backup is BACKUP DATABASE and BACKUP LOG.
func (e Extension) backup(ctx context.Context, s *engine.Session, n *syntax.Backup, w tds.Writer) error {
	verb := "BACKUP DATABASE"
	if n.Log {
		verb = "BACKUP LOG"
	}
	if s.InUserTransaction() {
		return terminated(s, w, verb, sqlerr.New(3021, 0))
	}
	name, err := nameOr(s, n.Database, n.Variable)
	if err != nil {
		return err
	}
	db := s.Instance().Database(name)
	if db == nil {
		return terminated(s, w, verb, sqlerr.New(911, 11, name))
	}
	if err := s.Require(ctx, engine.Permission{Name: verb, Database: db}); err != nil {
		return err
	}
	switch {
	case db.ID() == 2:
		return sqlerr.New(3147, 3)
	case db.ID() == 1 && n.Log:
		return terminated(s, w, verb, sqlerr.New(4212, 1))
	case db.ID() == 1 && n.Options.Differential:
		return terminated(s, w, verb, sqlerr.New(3024, 0))
	}
	if n.Options.Standby != "" {
		return sqlerr.Unsupported("A tail-log backup WITH STANDBY")
	}
	if err := db.Available(); err != nil {
		return err
	}
	if db.Standby() != "" {
		return terminated(s, w, verb, sqlerr.New(3036, 1, db.Name()))
	}
	if secondary(db) {
		if err := e.atSecondary(n, db); err != nil {
			return terminated(s, w, verb, err)
		}
	}
	if n.Options.NoRecovery {
		if err := alone(s, db); err != nil {
			return terminated(s, w, verb, err)
		}
	}
	if err := judgeTransfer(s, n.Options.TransferOptions, n.Options.Variables); err != nil {
		return terminated(s, w, verb, err)
	}
	paths, err := devices(ctx, s, n.Devices)
	if err != nil {
		return noDevice(s, w, verb, err)
	}
	if err := e.backupTo(ctx, s, db, n, paths, w); err != nil {
		return terminated(s, w, verb, backupError(err, db.Name(), paths))
	}
	return nil
}

// terminated sends the error, or those of misplaced files, and makes 3013 the statement's, which is all that a TRY
// block gets (docs/t-sql/language-elements/try-catch-transact-sql.md, Remarks: a CATCH block has one error).
func terminated(s *engine.Session, w tds.Writer, verb string, err error) error {
	if errors.Is(err, engine.ErrCancelled) {
		return err
	}
	messages := []*sqlerr.Error{engine.AsError(err)}
	if wrong := misplaced(nil); errors.As(err, &wrong) {
		messages = append(wrong, sqlerr.New(3119, 1))
	}
	if e := s.SendBefore(w, messages); e != nil {
		return e
	}
	return sqlerr.New(3013, 1, verb)
}

func (e Extension) backupTo(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	n *syntax.Backup,
	paths []string,
	w tds.Writer,
) error {
	o := n.Options
	expires, err := backupOptions(s, &o)
	if err != nil {
		return err
	}
	m, err := backupmedia.Open(paths, o)
	if err != nil {
		return err
	}
	defer m.Close()
	note, err := newNote(ctx, s, db, o, m.Label())
	if err != nil {
		return err
	}
	note.Expires = expires
	raw, err := json.Marshal(note)
	if err != nil {
		return err
	}
	// NO_TRUNCATE stands for COPY_ONLY and CONTINUE_AFTER_ERROR.
	opts := storage.BackupOptions{
		CopyOnly:     o.CopyOnly || o.NoTruncate,
		Differential: o.Differential,
		Compress:     o.Compression,
		Server:       s.Instance().Config().ServerName,
		Note:         raw,
	}
	if o.Stats != nil && *o.Stats > 0 {
		opts.Progress = progress(*o.Stats, w)
	}
	started := time.Now()
	h, position, size, err := e.storeBackup(ctx, s, db, n, m, opts, w)
	if err != nil {
		return err
	}
	note.Finished = time.Now().UTC()
	if err := recordBackup(ctx, s,
		backupRecord{Header: h, Note: note, Database: db.Name(), Devices: m.Paths(), Position: position,
			Finished: note.Finished, Bytes: size}); err != nil {
		return err
	}
	return backupMessages(w, db, n.Log, position, size, time.Since(started))
}

// newNote is what the engine adds to the header of a backup set that begins now.
func newNote(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	o syntax.BackupOptions,
	label backupmedia.Label,
) (backupNote, error) {
	info, settings := db.Info(), db.Settings()
	note := backupNote{
		Settings:           &settings,
		Groups:             db.FileGroupNames(ctx),
		Name:               o.Name,
		Description:        o.Description,
		Label:              label,
		Files:              db.Files(ctx),
		Collation:          info.Collation,
		CompatibilityLevel: info.CompatibilityLevel,
		Created:            info.Created,
		Set:                uuid.New(),
		User:               s.Login().Name,
		Checksum:           o.Checksum,
		ReadOnly:           info.ReadOnly,
		UserAccess:         info.UserAccess,
		Tail:               o.NoRecovery,
	}
	var err error
	if o.Differential {
		note.Base, err = differentialBase(ctx, s, db)
	}
	return note, err
}

// differentialBase is the set of the newest full backup that is not copy-only; 3035 where there is none. The history
// may not have it any more.
func differentialBase(ctx context.Context, s *engine.Session, db *engine.Database) (uuid.UUID, error) {
	full, _ := db.Storage().BackupPositions()
	if full.IsZero() {
		return uuid.Nil, sqlerr.New(3035, 1, db.Name())
	}
	list, err := documents[backupRecord](ctx, s, "__backupset")
	base := uuid.Nil
	for _, b := range list {
		if b.Header.Kind == storage.DatabaseBackup && !b.Header.CopyOnly && b.Header.Last == full &&
			b.Header.Identity.Family == db.Storage().Identity().Family {
			base = b.Note.Set
		}
	}
	return base, err
}

// alone is the error of a statement that takes a database out of use: 1468 in a group, 3102 and 3101 while somebody is
// in it.
func alone(s *engine.Session, db *engine.Database) error {
	switch {
	case db.InGroup():
		return sqlerr.New(1468, 1, db.Name())
	case s.CurrentDatabase() == db:
		return sqlerr.New(3102, 1, "BACKUP", db.Name())
	case len(s.Instance().UsersOf(db, s)) > 0:
		return sqlerr.New(3101, 1)
	}
	return nil
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

func backupMessages(w tds.Writer, db *engine.Database, log bool, position int, size int64, took time.Duration) error {
	pages := size/8192 + 1
	file := db.Info().Files[0]
	for _, f := range db.Info().Files {
		if f.Log == log {
			file = f
			break
		}
	}
	if err := w.Message(sqlerr.New(4035, 1, pages, db.Name(), file.LogicalName, position)); err != nil {
		return err
	}
	verb := "BACKUP DATABASE"
	if log {
		verb = "BACKUP LOG"
	}
	seconds := took.Seconds()
	return w.Message(
		&sqlerr.Error{
			Number: 3014,
			State:  1,
			Message: fmt.Sprintf("%s successfully processed %d pages in %.3f seconds (%.3f MB/sec).",
				verb, pages, seconds, float64(size)/1e6/max(seconds, 0.001)),
		},
	)
}

func recordBackup(ctx context.Context, s *engine.Session, r backupRecord) error {
	return record(ctx, s, "__backupset", &r.ID, &r)
}

// record keeps a document in a table of msdb under the number after its last one, which goes to id, a field of the
// document.
func record(ctx context.Context, s *engine.Session, table string, id *int64, document any) error {
	return s.Write(ctx, s.Instance().DatabaseByID(4), func(tx *storage.Tx) error {
		err := sqlitex.Execute(tx.Conn(), "SELECT coalesce(max(id), 0) + 1 FROM "+table, &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { *id = stmt.ColumnInt64(0); return nil }})
		if err != nil {
			return err
		}
		text, err := json.Marshal(document)
		if err != nil {
			return err
		}
		return sqlitex.Execute(
			tx.Conn(),
			"INSERT INTO "+table+" VALUES (?, ?)",
			&sqlitex.ExecOptions{Args: []any{*id, string(text)}},
		)
	})
}

// backupError is the SQL Server error for what storage says of a backup or restore. The paths are in the order of the
// media families.
func backupError(err error, database string, paths []string) error {
	path := backupmedia.DamagedPath(err, paths)
	var e *sqlerr.Error
	var line *storage.OutOfLine
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, storage.ErrNotFull):
		return sqlerr.New(4208, 1, "BACKUP LOG")
	case errors.Is(err, storage.ErrNoBackupBase):
		return sqlerr.New(4214, 1)
	case errors.Is(err, storage.ErrBackupCorrupt):
		return sqlerr.New(3241, 0, path)
	case errors.As(err, &line) && errors.Is(err, storage.ErrBackedUpAhead):
		return sqlerr.New(35295, 1, database, line.Needs, line.Has)
	case errors.As(err, &line) && errors.Is(err, storage.ErrBackupTooEarly):
		return sqlerr.New(4326, 1, line.Has.Numeric(), line.Needs.Numeric())
	case errors.As(err, &line):
		return sqlerr.New(4305, 1, line.Has.Numeric(), line.Needs.Numeric())
	case errors.Is(err, storage.ErrFork):
		return sqlerr.New(4330, 1)
	case errors.Is(err, storage.ErrStopTooEarly):
		return sqlerr.New(4335, 1)
	case errors.Is(err, storage.ErrNotTheBase):
		return sqlerr.New(3136, 1)
	case errors.Is(err, storage.ErrOtherDatabase):
		return sqlerr.New(3154, 4, database)
	case errors.Is(err, os.ErrNotExist):
		return sqlerr.New(3201, 2, path, sqlerr.OperatingSystem(err))
	}
	return err
}
