// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
)

// openBackup opens a backup file and reads its header. A file has one backup set: set is 1, 0 when none is named (4038).
func openBackup(path string, set int64) (*os.File, *storage.BackupReader, backupNote, error) {
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
	if set > 1 {
		f.Close()
		return nil, nil, note, sqlerr.New(4038, 1, set, path)
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
			return s.terminated(w, verb, sqlerr.New(3021, 0))
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
				path, _ = s.device(ctx, n.Devices)
			}
			return s.terminated(w, verb, backupError(err, name, path))
		}
		return nil
	}
	path, err := s.device(ctx, n.Devices)
	if err != nil {
		return s.noDevice(w, "RESTORE "+n.Kind, err)
	}
	f, r, note, err := openBackup(path, n.Options.File)
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
	db := s.inst.Database(name)
	if len(n.Devices) == 0 {
		return s.recoverOnly(ctx, db, name)
	}
	path, err := s.device(ctx, n.Devices)
	if err != nil {
		return err
	}
	f, r, note, err := openBackup(path, o.File)
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
	if err := s.recordRestore(ctx, db, path, n.Kind); err != nil {
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
		for _, f := range other.files(s.context()) {
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
	old := s.inst.filesOnDisk(db.Info().Files)
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
		return storage.Restore(ctx, r, s.inst.filesOnDisk(files), opts)
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

func (s *Session) recordRestore(ctx context.Context, db *Database, path, kind string) error {
	r := restoreRecord{Database: db.Name(), User: s.login.Name, At: time.Now().UTC(), Kind: kind[:1], Device: path}
	return s.record(ctx, "__restorehistory", &r.ID, &r)
}
