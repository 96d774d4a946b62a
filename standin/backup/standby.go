// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/syntax"
)

// awaitsLog tells whether a further restore can follow the last one.
func awaitsLog(db *engine.Database) bool { return db.State() == engine.Restoring || db.Standby() != "" }

// standbyFile is the file that STANDBY names, empty without it. It may be there already, but not be another database's.
func standbyFile(ctx context.Context, s *engine.Session, o syntax.RestoreOptions) (string, error) {
	name, err := nameOr(s, o.Standby, o.Variables["STANDBY"])
	if err != nil || name == "" {
		return "", err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Instance().Config().BackupDir, name)
	}
	file := metadata.File{PhysicalName: name}
	if err := s.Instance().CheckPaths([]metadata.File{file}); err != nil {
		return "", err
	}
	path := placeOf(s.Instance(), file)
	for _, db := range s.Instance().Databases() {
		for _, f := range db.Files(ctx) {
			if placeOf(s.Instance(), f) == path || disk.Same(placeOf(s.Instance(), f), path) {
				return "", sqlerr.New(1834, 1, name, db.Name())
			}
		}
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", sqlerr.New(3170, 1)
	}
	return path, nil
}

// enterStandby is the end of RESTORE ... WITH STANDBY.
func enterStandby(ctx context.Context, s *engine.Session, db *engine.Database, name, file string) error {
	if db == nil {
		return sqlerr.New(911, 1, name)
	}
	st := db.Storage()
	if st == nil || st.Mode() != storage.Restoring {
		return sqlerr.New(3153, 1)
	}
	for _, f := range db.Files(ctx) {
		if disk.Same(placeOf(s.Instance(), f), file) {
			return sqlerr.New(1834, 1, f.PhysicalName, db.Name())
		}
	}
	if err := disk.Replace(file, []byte("The standby file of a database.\n"), 0o640); err != nil {
		return fmt.Errorf("create the standby file: %w", err)
	}
	if err := st.SetStandby(file); err != nil {
		return err
	}
	db.SetState(engine.Online)
	db.ReadAnew()
	return nil
}

// leaveStandby is the begin of the next restore: nobody may be in the database (3102, 3101). back makes it a standby
// again, where the restore fails; otherwise the standby file goes.
func leaveStandby(ctx context.Context, s *engine.Session, db *engine.Database) (end func(error) error, err error) {
	file := db.Standby()
	switch {
	case file == "":
		return func(err error) error { return err }, nil
	case s.CurrentDatabase() == db:
		return nil, sqlerr.New(3102, 1, "RESTORE", db.Name())
	case len(s.Instance().UsersOf(db, s)) > 0:
		return nil, sqlerr.New(3101, 1)
	}
	db.SetState(engine.Restoring)
	if err := db.Storage().SetStandby(""); err != nil {
		db.SetState(engine.Online)
		return nil, err
	}
	return func(err error) error {
		if err == nil {
			if e := os.Remove(file); e != nil && !errors.Is(e, os.ErrNotExist) {
				s.Instance().
					Log().
					Warn("a standby file that is not needed any more could not be removed", "file", file, "error", e.Error())
			}
			return nil
		}
		if e := enterStandby(ctx, s, db, db.Name(), file); e != nil {
			s.Instance().
				Log().
				Warn("a restore failed, and the database is no standby any more", "database", db.Name(), "error", e.Error())
		}
		return err
	}, nil
}
