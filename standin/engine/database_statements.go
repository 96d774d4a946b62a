// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
)

func installServerStatements(r *Registry) {
	installSetOptions(r)
	installBackup(r)
	on(r, (*Session).createDatabase)
	on(r, (*Session).dropDatabase)
	on(r, (*Session).alterDatabase)
	on(r, (*Session).kill)
	on(r, func(s *Session, ctx context.Context, n *syntax.Checkpoint, w tds.Writer) error {
		return s.db.Storage().Checkpoint(ctx)
	})
	on(r, (*Session).shutdown)
	on(r, func(s *Session, ctx context.Context, n *syntax.Reconfigure, w tds.Writer) error {
		return s.reconfigure(ctx)
	})
	on(r, (*Session).dbcc)
}

// createDatabase is CREATE DATABASE.
func (s *Session) createDatabase(ctx context.Context, n *syntax.CreateDatabase, w tds.Writer) error {
	if s.count > 0 {
		return sqlerr.New(226, 6, "CREATE DATABASE")
	}
	if err := s.require(ctx, Permission{Name: "CREATE ANY DATABASE"}); err != nil {
		return sqlerr.New(262, 1, "CREATE DATABASE", "master")
	}
	switch {
	case n.SnapshotOf != "":
		return unsupported("A database snapshot")
	case n.Containment == "PARTIAL":
		return unsupported("CONTAINMENT = PARTIAL")
	case s.inst.Database(n.Name) != nil:
		return sqlerr.New(1801, 3, n.Name)
	}
	if _, ok := sqltype.ParseCollation(n.Collation); n.Collation != "" && !ok {
		return sqlerr.New(448, 1, n.Collation)
	}
	info := DatabaseInfo{Name: n.Name, Collation: n.Collation, OwnerSID: s.login.SID}
	var err error
	if info.Files, err = s.inst.declaredFiles(n); err != nil {
		return err
	}
	if err := s.inst.checkPaths(info.Files); err != nil {
		return err
	}
	_, err = s.inst.AddDatabase(ctx, info, func(files storage.Files, opts storage.Options) (*storage.Database, error) {
		if n.ForAttach || n.ForAttachRebuildLog {
			return storage.Open(ctx, files, opts)
		}
		opts.RecoveryModel = s.inst.DatabaseByID(3).recoveryModel()
		return storage.Create(ctx, files, opts)
	})
	if err != nil {
		if strings.Contains(err.Error(), "file exists") || strings.Contains(err.Error(), "file already exists") {
			return sqlerr.New(5170, 1, filesOf(info.Files).Data)
		}
		return err
	}
	s.inst.log.Info("database created", "database", n.Name)
	return nil
}

// declaredFiles are the files of CREATE DATABASE, with defaults where none are declared.
func (inst *Instance) declaredFiles(n *syntax.CreateDatabase) ([]File, error) {
	files := inst.defaultFiles(n.Name)
	if len(n.Files) > 0 {
		files = nil
		for i, f := range n.Files {
			file := File{ID: int32(i + 1), LogicalName: f.LogicalName, SizePages: 1024, MaxSizePages: -1, Growth: 8192}
			if i > 0 {
				file.ID = int32(i + 2)
			}
			if err := declare(&file, f); err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		def := inst.defaultFiles(n.Name)[1]
		if len(n.Logs) == 0 {
			files = append(files, def)
		}
	} else if len(n.Logs) > 0 {
		files = files[:1]
	}
	for i, f := range n.Logs {
		file := File{ID: 2, Log: true, LogicalName: f.LogicalName, SizePages: 1024, MaxSizePages: 268435456, Growth: 8192}
		if i > 0 {
			file.ID = int32(len(files) + 2)
		}
		if err := declare(&file, f); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	seen := map[string]bool{}
	for _, f := range files {
		if f.LogicalName == "" || f.PhysicalName == "" {
			return nil, sqlerr.New(5172, 1, f.LogicalName)
		}
		if seen[lower(f.LogicalName)] {
			return nil, sqlerr.New(1828, 3, f.LogicalName)
		}
		seen[lower(f.LogicalName)] = true
	}
	return files, nil
}

func declare(file *File, f syntax.FileSpec) error {
	if f.FileName != nil {
		file.PhysicalName = *f.FileName
	}
	if f.Size != nil {
		file.SizePages = f.Size.KB / 8
	}
	if f.MaxSize != nil {
		file.MaxSizePages = f.MaxSize.KB / 8
		if f.MaxSize.Unlimited {
			file.MaxSizePages = -1
		}
	}
	if f.Growth != nil {
		file.Growth, file.PercentGrowth = f.Growth.KB/8, false
		if f.Growth.Percent {
			file.Growth, file.PercentGrowth = f.Growth.KB, true
		}
	}
	if file.MaxSizePages > 0 && file.SizePages > file.MaxSizePages {
		return sqlerr.New(5040, 1, "", file.ID, file.SizePages, file.MaxSizePages)
	}
	return nil
}

// dropDatabase is DROP DATABASE.
func (s *Session) dropDatabase(ctx context.Context, n *syntax.DropDatabase, w tds.Writer) error {
	if s.count > 0 {
		return sqlerr.New(226, 5, "DROP DATABASE")
	}
	for _, name := range n.Names {
		db := s.inst.Database(name)
		if db == nil {
			if n.IfExists {
				continue
			}
			return sqlerr.New(3701, 1, "drop", "database", name)
		}
		if err := s.dropOne(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) dropOne(ctx context.Context, db *Database) error {
	if db.System() {
		return sqlerr.New(3708, 4, "drop", "database", db.Name(), "system database")
	}
	// Source: docs/t-sql/statements/drop-database-transact-sql.md (Permissions).
	if s.require(ctx, Permission{Name: "CONTROL", Database: db}) != nil && s.require(ctx, Permission{Name: "ALTER ANY DATABASE"}) != nil {
		return sqlerr.New(3701, 2, "drop", "database", db.Name())
	}
	info := db.Info()
	if info.Published || info.MergePublished || info.Distributor {
		return sqlerr.New(3724, 1, "drop", "database", db.Name())
	}
	if len(s.inst.users(db, s)) > 0 || s.db == db {
		return sqlerr.New(3702, 4, db.Name())
	}
	if err := s.inst.event(ctx, DatabaseEvent{Kind: DatabaseDropping, Database: db}); err != nil {
		return err
	}
	if err := s.inst.RemoveDatabase(ctx, db); err != nil {
		return err
	}
	s.inst.log.Info("database dropped", "database", db.Name())
	return nil
}

// users are the other sessions whose current database is db, or that have a transaction open there.
func (inst *Instance) users(db *Database, except *Session) []*Session {
	var out []*Session
	for _, other := range inst.Sessions() {
		if other == except {
			continue
		}
		other.status.mu.Lock()
		in := other.status.database == db.ID()
		other.status.mu.Unlock()
		if in && !other.internal {
			out = append(out, other)
		}
	}
	return out
}

// alterDatabase is ALTER DATABASE.
func (s *Session) alterDatabase(ctx context.Context, n *syntax.AlterDatabase, w tds.Writer) error {
	db := s.db
	if !n.Current {
		if db = s.inst.Database(n.Name); db == nil {
			return sqlerr.New(5011, 5, n.Name)
		}
	}
	if err := s.require(ctx, Permission{Name: "ALTER", Database: db}); err != nil {
		return sqlerr.New(5011, 2, db.Name())
	}
	if run := s.inst.registry.alterations[reflect.TypeOf(n.Action)]; run != nil {
		return run(ctx, s, db, n.Action, w)
	}
	if s.count > 0 {
		return sqlerr.New(226, 6, "ALTER DATABASE")
	}
	switch a := n.Action.(type) {
	case syntax.DBSet:
		return s.setDatabase(ctx, db, a, w)
	case syntax.DBModifyName:
		return s.renameDatabase(ctx, db, a.NewName)
	case syntax.DBAddFile:
		return s.addFiles(ctx, db, a)
	case syntax.DBModifyFile:
		return s.modifyFile(ctx, db, a.File, w)
	case syntax.DBRemoveFile:
		return s.removeFile(ctx, db, a.LogicalName)
	case syntax.DBCollate:
		return unsupported("ALTER DATABASE ... COLLATE")
	case syntax.DBSetHADR:
		return sqlerr.New(35220, 1)
	}
	return unsupported(fmt.Sprintf("ALTER DATABASE with %s", named(n.Action)))
}

func (s *Session) renameDatabase(ctx context.Context, db *Database, name string) error {
	if db.System() {
		return sqlerr.New(5016, 1, db.Name())
	}
	if s.inst.Database(name) != nil {
		return sqlerr.New(1801, 3, name)
	}
	if err := s.inst.event(ctx, DatabaseEvent{Kind: DatabaseAltering, Database: db, Option: "NAME", Value: name}); err != nil {
		return err
	}
	if db.inGroup() {
		return sqlerr.New(957, 1, db.Name())
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.Name = name })
}

func (s *Session) addFiles(ctx context.Context, db *Database, a syntax.DBAddFile) error {
	var added []File
	info := db.Info()
	next := int32(0)
	for _, f := range info.Files {
		next = max(next, f.ID)
	}
	for _, f := range a.Files {
		next++
		file := File{ID: next, Log: a.Log, LogicalName: f.LogicalName, SizePages: 1024, MaxSizePages: -1, Growth: 8192}
		if err := declare(&file, f); err != nil {
			return err
		}
		if file.LogicalName == "" || file.PhysicalName == "" {
			return sqlerr.New(5172, 1, file.LogicalName)
		}
		for _, old := range append(info.Files, added...) {
			if strings.EqualFold(old.LogicalName, file.LogicalName) {
				return sqlerr.New(1828, 3, file.LogicalName)
			}
		}
		added = append(added, file)
	}
	if err := s.inst.checkPaths(added); err != nil {
		return err
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.Files = append(i.Files, added...) })
}

func (s *Session) modifyFile(ctx context.Context, db *Database, f syntax.FileSpec, w tds.Writer) error {
	found := false
	for _, old := range db.Info().Files {
		found = found || strings.EqualFold(old.LogicalName, f.LogicalName)
	}
	if !found {
		return sqlerr.New(5041, 1, f.LogicalName)
	}
	if f.FileName != nil && db.ID() != 2 {
		return unsupported("Moving a file of a database other than tempdb")
	}
	defer func() { limitLog(db.Storage(), db.Info().Files) }()
	return db.Update(ctx, func(i *DatabaseInfo) {
		for n := range i.Files {
			if !strings.EqualFold(i.Files[n].LogicalName, f.LogicalName) {
				continue
			}
			if db.ID() == 2 && i.Files[n].Effective == "" {
				i.Files[n].Effective = i.Files[n].PhysicalName
			}
			_ = declare(&i.Files[n], f)
			if f.NewName != nil {
				i.Files[n].LogicalName = *f.NewName
			}
		}
	})
}

// maxLogPages is the greatest size of a log file, 2 TB (docs/sql-server/maximum-capacity-specifications-for-sql-server.md).
const maxLogPages = 268435456

// limitLog holds a database's log to the MAXSIZE of its file.
func limitLog(st *storage.Database, files []File) {
	if st == nil {
		return
	}
	for _, f := range files {
		if f.Log && f.MaxSizePages > 0 && f.MaxSizePages < maxLogPages {
			st.Log().Limit(f.MaxSizePages * 8192)
			return
		}
	}
}

func (s *Session) removeFile(ctx context.Context, db *Database, name string) error {
	for _, f := range db.Info().Files {
		if !strings.EqualFold(f.LogicalName, name) {
			continue
		}
		if f.ID <= 2 {
			return sqlerr.New(5020, 1)
		}
		return db.Update(ctx, func(i *DatabaseInfo) {
			for n := range i.Files {
				if i.Files[n].ID == f.ID {
					i.Files = append(i.Files[:n], i.Files[n+1:]...)
					return
				}
			}
		})
	}
	return sqlerr.New(5009, 1)
}

// kill is KILL spid.
func (s *Session) kill(ctx context.Context, n *syntax.Kill, w tds.Writer) error {
	if err := s.require(ctx, Permission{Name: "ALTER ANY CONNECTION"}); err != nil {
		return sqlerr.New(6102, 1)
	}
	if n.SPID == int64(s.spid) {
		return sqlerr.New(6104, 1)
	}
	for _, other := range s.inst.Sessions() {
		if int64(other.spid) != n.SPID {
			continue
		}
		if other.internal {
			return sqlerr.New(6107, 1)
		}
		other.interrupt()
		if s.inst.config.KillSession != nil {
			s.inst.config.KillSession(other.spid)
		}
		return nil
	}
	return sqlerr.New(6106, 1, n.SPID)
}

func (s *Session) shutdown(ctx context.Context, n *syntax.Shutdown, w tds.Writer) error {
	if err := s.require(ctx, Permission{Name: "SHUTDOWN"}); err != nil {
		return sqlerr.New(6004, 1)
	}
	if s.inst.config.Shutdown == nil {
		return unsupported("SHUTDOWN of this instance")
	}
	noWait := n.NoWait
	s.inst.shutdown.Do(func() { go s.inst.config.Shutdown(noWait) })
	return nil
}

// waitUnused waits a short time for sessions that were told to leave a database.
func (s *Session) waitUnused(ctx context.Context, db *Database, d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if len(s.inst.users(db, s)) == 0 {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
