// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"geosql.dev/operator/standin/metadata"
	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/storage/disk"
	"geosql.dev/operator/standin/syntax"
)

// standby is the standby file of a database that can be read between two restores; empty where it is none.
func (db *Database) standby() string {
	if st := db.Storage(); st != nil {
		return st.Standby()
	}
	return ""
}

// awaitsLog tells whether a further restore can follow the last one.
func (db *Database) awaitsLog() bool { return db.State() == Restoring || db.standby() != "" }

// standbyFile is the file that STANDBY names, empty without it. It may be there already, but not be another database's.
func (s *Session) standbyFile(o syntax.RestoreOptions) (string, error) {
	name, err := s.nameOr(o.Standby, o.Variables["STANDBY"])
	if err != nil || name == "" {
		return "", err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.inst.config.BackupDir, name)
	}
	file := metadata.File{PhysicalName: name}
	if err := s.inst.checkPaths([]metadata.File{file}); err != nil {
		return "", err
	}
	path := s.inst.placeOf(file)
	for _, db := range s.inst.Databases() {
		for _, f := range db.files(s.context()) {
			if s.inst.placeOf(f) == path || sameFile(s.inst.placeOf(f), path) {
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
func (s *Session) enterStandby(db *Database, name, file string) error {
	if db == nil {
		return sqlerr.New(911, 1, name)
	}
	st := db.Storage()
	if st == nil || st.Mode() != storage.Restoring {
		return sqlerr.New(3153, 1)
	}
	for _, f := range db.files(s.context()) {
		if sameFile(s.inst.placeOf(f), file) {
			return sqlerr.New(1834, 1, f.PhysicalName, db.Name())
		}
	}
	if err := disk.Replace(file, []byte("The standby file of a database.\n"), 0o640); err != nil {
		return fmt.Errorf("create the standby file: %w", err)
	}
	if err := st.SetStandby(file); err != nil {
		return err
	}
	db.SetState(Online)
	db.mu.Lock()
	db.forget()
	db.mu.Unlock()
	return nil
}

// leaveStandby is the begin of the next restore: nobody may be in the database (3102, 3101). back makes it a standby again, where the
// restore fails; otherwise the standby file goes.
func (s *Session) leaveStandby(db *Database) (end func(error) error, err error) {
	file := db.standby()
	switch {
	case file == "":
		return func(err error) error { return err }, nil
	case s.db == db:
		return nil, sqlerr.New(3102, 1, "RESTORE", db.Name())
	case len(s.inst.users(db, s)) > 0:
		return nil, sqlerr.New(3101, 1)
	}
	db.SetState(Restoring)
	if err := db.Storage().SetStandby(""); err != nil {
		db.SetState(Online)
		return nil, err
	}
	return func(err error) error {
		if err == nil {
			if e := os.Remove(file); e != nil && !errors.Is(e, os.ErrNotExist) {
				s.inst.log.Warn("a standby file that is not needed any more could not be removed", "file", file, "error", e.Error())
			}
			return nil
		}
		if e := s.enterStandby(db, db.Name(), file); e != nil {
			s.inst.log.Warn("a restore failed, and the database is no standby any more", "database", db.Name(), "error", e.Error())
		}
		return err
	}, nil
}
