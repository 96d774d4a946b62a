// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// restore is RESTORE in all its forms.
func restore(ctx context.Context, s *engine.Session, n *syntax.Restore, w tds.Writer) error {
	switch n.Kind {
	case "DATABASE", "LOG":
		verb := "RESTORE " + n.Kind
		if s.InUserTransaction() {
			return terminated(s, w, verb, sqlerr.New(3021, 0))
		}
		if err := s.Require(ctx, engine.Permission{Name: "CREATE ANY DATABASE"}); err != nil {
			return sqlerr.New(262, 1, "CREATE DATABASE", "master")
		}
		name, err := nameOr(s, n.Database, n.Variable)
		if err != nil {
			return err
		}
		if err := judgeTransfer(s, n.Options.TransferOptions, n.Options.Variables); err != nil {
			return terminated(s, w, verb, err)
		}
		if err := restoreInto(ctx, s, n, name, w); err != nil {
			return terminated(s, w, verb, backupError(err, name, nil))
		}
		return nil
	}
	if n.Kind == "LABELONLY" && len(n.Devices) > 1 {
		return sqlerr.Unsupported("RESTORE LABELONLY of several devices")
	}
	paths, err := devices(ctx, s, n.Devices)
	if err != nil {
		return noDevice(s, w, "RESTORE "+n.Kind, err)
	}
	if err := lookAt(s, n, paths, w); err != nil {
		verb := "RESTORE " + n.Kind
		if n.Kind == "VERIFYONLY" {
			verb = "VERIFY DATABASE"
		}
		return terminated(s, w, verb, err)
	}
	return nil
}

// lookAt is RESTORE HEADERONLY, FILELISTONLY, LABELONLY and VERIFYONLY.
func lookAt(s *engine.Session, n *syntax.Restore, paths []string, w tds.Writer) error {
	if n.Kind == "HEADERONLY" {
		return headers(s, n, paths, w)
	}
	set, err := openBackup(s, paths, n.Options, n.Kind != "VERIFYONLY")
	if err != nil {
		return err
	}
	defer set.close()
	switch n.Kind {
	case "FILELISTONLY":
		return writeFileList(w, set.Header, set.note)
	case "LABELONLY":
		return writeLabel(w, set.Header, set.note)
	}
	r, err := set.reader()
	if err == nil {
		err = r.Verify()
	}
	if err != nil {
		return backupError(err, "", set.paths)
	}
	return w.Message(
		&sqlerr.Error{Number: 3262, State: 1, Message: fmt.Sprintf("The backup set on file %d is valid.", set.Position)},
	)
}

// headers is RESTORE HEADERONLY: of all sets, or of the one that FILE = names.
func headers(s *engine.Session, n *syntax.Restore, paths []string, w tds.Writer) error {
	number, err := setNumber(s, n.Options)
	if err != nil {
		return err
	}
	m, damage := openMedia(s, paths, n.Options, true)
	if m == nil {
		return damage
	}
	defer m.close()
	var rows [][]any
	for _, set := range m.media.Sets {
		if number != 0 && int64(set.Position) != number {
			continue
		}
		note, err := noteOf(set.Header, m.paths[0])
		if err != nil {
			return err
		}
		rows = append(rows, headerRow(set, note))
	}
	next := len(m.media.Sets) + 1
	if m.media.Unfinished && (number == 0 || number == int64(next)) {
		rows = append(rows, unfinishedRow(next))
	}
	if damage == nil && len(rows) == 0 {
		return sqlerr.New(4038, 1, number, m.paths[0])
	}
	if len(rows) > 0 {
		if err := engine.WriteResult(w, headerColumns(), rows); err != nil || number != 0 {
			return err
		}
	}
	return damage
}

func restoreInto(ctx context.Context, s *engine.Session, n *syntax.Restore, name string, w tds.Writer) error {
	o := n.Options
	if o.StopAtMark != "" || o.StopBeforeMark != "" {
		return sqlerr.Unsupported("RESTORE WITH STOPATMARK and STOPBEFOREMARK")
	}
	standby, err := standbyFile(ctx, s, o)
	if err != nil {
		return err
	}
	stop, err := stopTime(s, o)
	if err != nil {
		return err
	}
	db := s.Instance().Database(name)
	switch {
	case db != nil && db.ID() == 2:
		return sqlerr.New(3147, 3)
	case db != nil && db.InGroup():
		return sqlerr.New(3104, 1, db.Name())
	case len(n.Devices) == 0 && standby != "":
		return enterStandby(ctx, s, db, name, standby)
	case len(n.Devices) == 0:
		return recoverOnly(ctx, s, db, name)
	}
	paths, err := restoredFrom(ctx, s, n, standby)
	if err != nil {
		return err
	}
	set, err := openBackup(s, paths, o, false)
	if err != nil {
		return err
	}
	defer set.close()
	return backupError(restoreSet(ctx, s, n, restoring{db: db, name: name, standby: standby, stop: stop}, set, w),
		name, set.paths)
}

// restoring is what a set is restored to: the database, nil for a new one, and its name; the file of STANDBY, empty
// without; and the time of STOPAT, zero without.
type restoring struct {
	db            *engine.Database
	name, standby string
	stop          time.Time
}

// restoreSet restores the set, and leaves the database as the statement says.
func restoreSet(
	ctx context.Context,
	s *engine.Session,
	n *syntax.Restore,
	to restoring,
	set *openedSet,
	w tds.Writer,
) error {
	o, db := n.Options, to.db
	started, reached := time.Now(), to.stop.IsZero()
	r, err := set.reader()
	if err != nil {
		return err
	}
	if n.Kind == "LOG" {
		reached, err = restoreLog(ctx, s, db, to.name, set.paths[0], r, to.stop)
	} else {
		if !to.stop.IsZero() && set.Header.Ended.After(to.stop) {
			return sqlerr.New(4338, 1)
		}
		db, err = restoreData(ctx, s, db, to.name, r, set.note, o)
		if err == nil && set.note.Settings != nil {
			err = db.TakeSettings(ctx, *set.note.Settings)
		}
	}
	if err != nil {
		return err
	}
	switch {
	case o.NoRecovery:
	case !reached:
		// The time to stop at lies beyond this set: the database waits for more log.
		err = w.Message(sqlerr.New(4322, 1))
	case to.standby != "":
		err = enterStandby(ctx, s, db, to.name, to.standby)
	default:
		err = recoverOnly(ctx, s, db, to.name)
	}
	if err != nil {
		return err
	}
	if err := recordRestore(ctx, s, db, n, set); err != nil {
		return err
	}
	return restoreMessages(w, n, db, set, time.Since(started))
}

// restoredFrom are the files that a backup is read from, none of which can be the standby file as well.
func restoredFrom(ctx context.Context, s *engine.Session, n *syntax.Restore, standby string) ([]string, error) {
	paths, err := devices(ctx, s, n.Devices)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if disk.Same(path, standby) {
			return nil, sqlerr.New(3170, 1)
		}
	}
	return paths, nil
}

func restoreMessages(w tds.Writer, n *syntax.Restore, db *engine.Database, set *openedSet, took time.Duration) error {
	pages := set.Header.Size/8192 + 1
	if err := w.Message(sqlerr.New(4035, 1, pages, db.Name(), db.Info().Files[0].LogicalName, set.Position)); err != nil {
		return err
	}
	return w.Message(
		&sqlerr.Error{
			Number:  3014,
			State:   1,
			Message: fmt.Sprintf("RESTORE %s successfully processed %d pages in %.3f seconds.", n.Kind, pages, took.Seconds()),
		},
	)
}

// stopTime is STOPAT, zero when it is not given.
func stopTime(s *engine.Session, o syntax.RestoreOptions) (time.Time, error) {
	variable := o.Variables["STOPAT"]
	if o.StopAt == "" && variable == "" {
		return time.Time{}, nil
	}
	return timeOr(s, o.StopAt, variable)
}

func restoreLog(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	name, path string,
	r *storage.BackupReader,
	stop time.Time,
) (reached bool, err error) {
	switch {
	case db == nil:
		return false, sqlerr.New(3118, 1, name)
	case !awaitsLog(db):
		return false, sqlerr.New(3117, 1)
	case r.Header.Kind != storage.LogBackup:
		return false, sqlerr.New(3135, 1, path, "BACKUP DATABASE")
	}
	end, err := leaveStandby(ctx, s, db)
	if err != nil {
		return false, err
	}
	reached, err = db.Storage().RestoreLogUntil(ctx, r, stop)
	return reached, end(err)
}

func restoreData(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	name string,
	r *storage.BackupReader,
	note backupNote,
	o syntax.RestoreOptions,
) (*engine.Database, error) {
	switch r.Header.Kind {
	case storage.DatabaseBackup:
	case storage.DifferentialBackup:
		return db, restoreDifferential(ctx, s, db, name, r)
	default:
		return nil, sqlerr.New(3118, 1, name)
	}
	if db != nil {
		return db, restoreOverDatabase(ctx, s, db, r, note, o)
	}
	files, err := restoredFiles(ctx, s, name, nil, note, o)
	if err != nil {
		return nil, err
	}
	info := engine.DatabaseInfo{
		Name:      name,
		Files:     files,
		Collation: note.Collation,
		Created:   note.Created,
		OwnerSID:  s.Login().SID,
	}
	return s.Instance().AddDatabase(ctx, info, func(files storage.Files, opts storage.Options) (*storage.Database, error) {
		return storage.Restore(ctx, r, files, opts)
	})
}

func restoreOverDatabase(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	r *storage.BackupReader,
	note backupNote,
	o syntax.RestoreOptions,
) error {
	if db.ID() <= 4 && db.ID() != 4 {
		return sqlerr.New(3108, 1)
	}
	if s.CurrentDatabase() == db {
		return sqlerr.New(3102, 1, "RESTORE", db.Name())
	}
	if len(s.Instance().UsersOf(db, s)) > 0 {
		return sqlerr.New(3101, 1)
	}
	if st := db.Storage(); st != nil && !o.Replace {
		if st.Identity().Family != r.Header.Identity.Family {
			return sqlerr.New(3154, 4, db.Name())
		}
		stops := o.StopAt != "" || o.Variables["STOPAT"] != ""
		if db.State() == engine.Online && db.Standby() == "" && st.RecoveryModel() != storage.Simple && !stops {
			return sqlerr.New(3159, 1, db.Name())
		}
	}
	files, err := restoredFiles(ctx, s, db.Name(), db, note, o)
	if err != nil {
		return err
	}
	end, err := leaveStandby(ctx, s, db)
	if err != nil {
		return err
	}
	return end(s.Instance().RestoreOver(ctx, db, files, r))
}

// restoreDifferential puts the differential backup's data in the place of what was restored of its base.
func restoreDifferential(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	name string,
	r *storage.BackupReader,
) error {
	switch {
	case db == nil:
		return sqlerr.New(3118, 1, name)
	case !awaitsLog(db):
		return sqlerr.New(3117, 1)
	}
	if err := db.Storage().AcceptsDifferential(r.Header); err != nil {
		return err
	}
	end, err := leaveStandby(ctx, s, db)
	if err != nil {
		return err
	}
	return end(s.Instance().RestoreOver(ctx, db, db.Info().Files, r))
}

// recoverOnly is RESTORE ... WITH RECOVERY.
func recoverOnly(ctx context.Context, s *engine.Session, db *engine.Database, name string) error {
	if db == nil {
		return sqlerr.New(911, 1, name)
	}
	st := db.Storage()
	if st == nil || st.Mode() != storage.Restoring {
		return sqlerr.New(3153, 1)
	}
	end, err := leaveStandby(ctx, s, db)
	if err != nil {
		return err
	}
	if err := end(st.Recover(ctx)); err != nil {
		return err
	}
	db.SetState(engine.Online)
	db.ReadAnew()
	if err := s.Instance().PrepareTables(ctx, db); err != nil {
		return err
	}
	return s.Instance().Announce(ctx, engine.DatabaseEvent{Kind: engine.DatabaseOpened, Database: db})
}

// restoreRecord is a row of msdb.dbo.restorehistory.
type restoreRecord struct {
	ID       int64
	Database string
	User     string
	At       time.Time
	Kind     string
	// Devices are the files that it was read from; none in records of a time when there was one.
	Devices []string
	Set     uuid.UUID
	// Replace and NoRecovery are the statement's options.
	Replace, NoRecovery bool
	// Files are where the files went, Groups the names of their file groups.
	Files  []metadata.File
	Groups []string
}

func recordRestore(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	n *syntax.Restore,
	set *openedSet,
) error {
	r := restoreRecord{
		Database:   db.Name(),
		User:       s.Login().Name,
		At:         time.Now().UTC(),
		Kind:       string(set.Header.Kind),
		Devices:    set.paths,
		Set:        set.note.Set,
		Replace:    n.Options.Replace,
		NoRecovery: n.Options.NoRecovery,
		Files:      db.Info().Files,
	}
	for _, f := range r.Files {
		name := set.note.Groups[f.DataSpace()]
		if name == "" {
			name = "PRIMARY"
		}
		if !f.Log && !slices.Contains(r.Groups, name) {
			r.Groups = append(r.Groups, name)
		}
	}
	return record(ctx, s, "__restorehistory", &r.ID, &r)
}
