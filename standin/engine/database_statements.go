// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

func installServerStatements(r *Registry) {
	installSetOptions(r)
	installScopedConfigurations(r)
	installQueryStore(r)
	on(r, (*Session).createDatabase)
	on(r, (*Session).dropDatabase)
	on(r, (*Session).alterDatabase)
	on(r, (*Session).kill)
	on(r, (*Session).killBackground)
	on(r, func(s *Session, ctx context.Context, n *syntax.Checkpoint, w tds.Writer) error {
		if s.require(ctx, Permission{Name: "CHECKPOINT", Database: s.db}) != nil {
			return sqlerr.New(3505, 1, s.db.Name())
		}
		return s.db.Storage().Checkpoint(ctx)
	})
	on(r, (*Session).shutdown)
	on(r, func(s *Session, ctx context.Context, n *syntax.Reconfigure, w tds.Writer) error {
		if s.require(ctx, Permission{Name: "ALTER SETTINGS"}) != nil {
			return sqlerr.New(5812, 1)
		}
		return s.reconfigure(ctx)
	})
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
	if n.Collation != "" {
		named, ok := sqltype.ParseCollation(n.Collation)
		if !ok {
			return sqlerr.New(448, 1, n.Collation)
		}
		if sqltype.UnicodeOnly(named.Name) {
			return sqlerr.New(453, 1, named.Name)
		}
		n.Collation = named.Name
	}
	info := DatabaseInfo{Name: n.Name, Collation: n.Collation, OwnerSID: s.login.SID, Options: map[string]string{}}
	for _, o := range n.Options {
		switch {
		case o.Name == "RESTRICTED_USER":
			info.UserAccess = o.Name
		case recordedOptions[o.Name]:
			info.Options[o.Name] = o.Value
		}
	}
	if !n.ForAttach && !n.ForAttachRebuildLog {
		// of new databases since SQL Server 2022 (docs/relational-databases/performance/monitoring-performance-by-using-the-query-store.md)
		info.Options["QUERY_STORE"] = "ON"
	}
	var err error
	if info.Files, err = s.inst.declaredFiles(n); err != nil {
		return err
	}
	if err := s.inst.CheckPaths(info.Files); err != nil {
		return err
	}
	if info.attached = n.ForAttach || n.ForAttachRebuildLog; !info.attached { // what is attached has its own
		if info.placements, err = declaredPlacements(n, info.Files); err != nil {
			return err
		}
	}
	_, err = s.inst.AddDatabase(ctx, info, func(files storage.Files, opts storage.Options) (*storage.Database, error) {
		if info.attached {
			if err := s.inst.present(info.Files); err != nil {
				return nil, err
			}
			return storage.Open(ctx, files, opts)
		}
		opts.RecoveryModel = s.inst.DatabaseByID(3).RecoveryModel()
		return storage.Create(ctx, files, opts)
	})
	if err != nil {
		if strings.Contains(err.Error(), "file exists") || strings.Contains(err.Error(), "file already exists") {
			return sqlerr.New(5170, 1, metadata.StorageFiles(info.Files).Data)
		}
		return err
	}
	s.inst.log.Info("database created", "database", n.Name)
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
		return sqlerr.New(3708, 4, "drop", "database", db.Name(), "database")
	}
	// Source: docs/t-sql/statements/drop-database-transact-sql.md (Permissions).
	if s.require(ctx, Permission{Name: "CONTROL", Database: db}) != nil &&
		s.require(ctx, Permission{Name: "ALTER ANY DATABASE"}) != nil {
		return sqlerr.New(3701, 2, "drop", "database", db.Name())
	}
	info := db.Info()
	if info.Published || info.MergePublished || info.Distributor {
		return sqlerr.New(3724, 1, "drop", "database", db.Name())
	}
	if len(s.inst.UsersOf(db, s)) > 0 || s.db == db {
		return sqlerr.New(3702, 4, db.Name())
	}
	if err := s.inst.Announce(ctx, DatabaseEvent{Kind: DatabaseDropping, Database: db}); err != nil {
		return err
	}
	if err := s.inst.RemoveDatabase(ctx, db); err != nil {
		return err
	}
	s.inst.log.Info("database dropped", "database", db.Name())
	return nil
}

// UsersOf are the other sessions whose current database is db, or that have a transaction open there.
func (inst *Instance) UsersOf(db *Database, except *Session) []*Session {
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
	} else if db.System() {
		return sqlerr.New(12104, 1, db.Name())
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
	case syntax.DBCollate:
		return unsupported("ALTER DATABASE ... COLLATE")
	case syntax.DBSetHADR:
		return sqlerr.New(35220, 1)
	}
	return unsupported(fmt.Sprintf("ALTER DATABASE with %s", bind.NodeName(n.Action)))
}

func (s *Session) renameDatabase(ctx context.Context, db *Database, name string) error {
	if db.System() {
		return sqlerr.New(5016, 1, db.Name())
	}
	if s.inst.Database(name) != nil {
		return sqlerr.New(1801, 3, name)
	}
	if err := s.inst.Announce(ctx,
		DatabaseEvent{Kind: DatabaseAltering, Database: db, Option: "NAME", Value: name}); err != nil {
		return err
	}
	if db.InGroup() {
		return sqlerr.New(957, 1, db.Name())
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.Name = name })
}

// kill is KILL of a session. There are no distributed transactions that a unit of work could name, and what a session
// that was killed had open is rolled back before it is gone.
func (s *Session) kill(ctx context.Context, n *syntax.Kill, w tds.Writer) error {
	if err := s.require(ctx, Permission{Name: "ALTER ANY CONNECTION"}); err != nil {
		return sqlerr.New(6102, 1)
	}
	switch {
	case s.count > 0:
		return sqlerr.New(6115, 1)
	case n.UnitOfWork != "" && n.StatusOnly:
		return sqlerr.New(6121, 1, n.UnitOfWork)
	case n.UnitOfWork != "":
		return sqlerr.New(6110, 1, n.UnitOfWork)
	case n.SPID < 1 || n.SPID > math.MaxInt16: // the type of session_id in the views
		return sqlerr.New(6101, 1, n.SPID)
	case n.StatusOnly:
		return sqlerr.New(6120, 1, n.SPID)
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
			s.waitUntil(ctx, killedWithin, func() bool { return !slices.Contains(s.inst.Sessions(), other) })
		}
		return nil
	}
	return sqlerr.New(6106, 1, n.SPID)
}

// killedWithin bounds KILL's wait for the session to be gone, which is soon unless it has much to roll back. Who drops
// its login with the next statement would else be told that it is logged in (15434).
const killedWithin = 5 * time.Second

// killBackground is KILL QUERY NOTIFICATION SUBSCRIPTION and KILL STATS JOB. There are no subscriptions, and no job
// updates statistics.
func (s *Session) killBackground(ctx context.Context, n *syntax.KillBackground, w tds.Writer) error {
	if err := s.require(ctx, Permission{Name: "ALTER ANY CONNECTION"}); err != nil {
		return sqlerr.New(6102, 1)
	}
	switch {
	case n.Statistics:
		return unsupported("KILL STATS JOB")
	case !n.All:
		return sqlerr.New(9206, 1, n.ID)
	}
	return nil
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
	return s.waitUntil(ctx, d, func() bool { return len(s.inst.UsersOf(db, s)) == 0 })
}

// waitUntil waits a short time for other sessions to bring a condition about.
func (s *Session) waitUntil(ctx context.Context, d time.Duration, reached func() bool) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if reached() {
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
