// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// recordedOptions are options of ALTER DATABASE ... SET that are kept and shown, and change nothing else.
var recordedOptions = map[string]bool{
	"AUTO_CLOSE":                           true,
	"AUTO_SHRINK":                          true,
	"AUTO_CREATE_STATISTICS":               true,
	"AUTO_UPDATE_STATISTICS":               true,
	"AUTO_UPDATE_STATISTICS_ASYNC":         true,
	"PAGE_VERIFY":                          true,
	"ANSI_NULL_DEFAULT":                    true,
	"ANSI_NULLS":                           true,
	"ANSI_PADDING":                         true,
	"ANSI_WARNINGS":                        true,
	"ARITHABORT":                           true,
	"CONCAT_NULL_YIELDS_NULL":              true,
	"NUMERIC_ROUNDABORT":                   true,
	"QUOTED_IDENTIFIER":                    true,
	"RECURSIVE_TRIGGERS":                   true,
	"CURSOR_CLOSE_ON_COMMIT":               true,
	"CURSOR_DEFAULT":                       true,
	"TRUSTWORTHY":                          true,
	"DB_CHAINING":                          true,
	"PARAMETERIZATION":                     true,
	"ENABLE_BROKER":                        true,
	"DISABLE_BROKER":                       true,
	"HONOR_BROKER_PRIORITY":                true,
	"DATE_CORRELATION_OPTIMIZATION":        true,
	"TARGET_RECOVERY_TIME":                 true,
	"DELAYED_DURABILITY":                   true,
	"ACCELERATED_DATABASE_RECOVERY":        true,
	"SUPPLEMENTAL_LOGGING":                 true,
	"VARDECIMAL_STORAGE_FORMAT":            true,
	"NON_TRANSACTED_ACCESS":                true,
	"TEMPORAL_HISTORY_RETENTION":           true,
	"MIXED_PAGE_ALLOCATION":                true,
	"MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT": true,
	"CONTAINMENT":                          true,
}

// setDatabase is ALTER DATABASE ... SET option, ... [WITH termination]. All options are judged before the first is set.
func (s *Session) setDatabase(ctx context.Context, db *Database, a syntax.DBSet, w tds.Writer) error {
	if err := together(db, a); err != nil {
		return err
	}
	for _, o := range a.Options {
		if err := settable(db, o); err != nil {
			return err
		}
	}
	for _, o := range a.Options {
		value := o.Value
		if value == "" {
			value = "ON"
		}
		if err := s.inst.Announce(ctx,
			DatabaseEvent{Kind: DatabaseAltering, Database: db, Option: o.Name, Value: value}); err != nil {
			return err
		}
		if err := s.setDatabaseOption(ctx, db, o, a); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) setDatabaseOption(ctx context.Context, db *Database, o syntax.DatabaseOption, a syntax.DBSet) error {
	switch o.Name {
	case "SINGLE_USER", "RESTRICTED_USER", "MULTI_USER", "OFFLINE", "ONLINE":
	default:
		if db.Standby() != "" {
			return sqlerr.New(5063, 1, db.Name())
		}
	}
	switch o.Name {
	case "RECOVERY":
		return s.setRecovery(ctx, db, o.Value)
	case "READ_ONLY", "READ_WRITE":
		if db.System() {
			return sqlerr.New(5058, 1, o.Name, db.Name())
		}
		if err := s.Terminate(ctx, db, a); err != nil {
			return err
		}
		return db.Update(ctx, func(i *DatabaseInfo) { i.ReadOnly = o.Name == "READ_ONLY" })
	case "SINGLE_USER", "RESTRICTED_USER", "MULTI_USER":
		return s.setAccess(ctx, db, o.Name, a)
	case "OFFLINE", "ONLINE":
		return s.setOffline(ctx, db, o.Name == "OFFLINE", a)
	case "ALLOW_SNAPSHOT_ISOLATION":
		return db.Update(ctx, func(i *DatabaseInfo) { i.SnapshotIsolation = o.Value == "ON" })
	case "READ_COMMITTED_SNAPSHOT":
		if err := s.Terminate(ctx, db, a); err != nil {
			return err
		}
		return db.Update(ctx, func(i *DatabaseInfo) { i.ReadCommittedSnapshot = o.Value == "ON" })
	case "COMPATIBILITY_LEVEL":
		level, err := strconv.Atoi(o.Value)
		if err != nil {
			return err
		}
		return db.Update(ctx, func(i *DatabaseInfo) { i.CompatibilityLevel = level })
	}
	switch o.Name {
	case "QUERY_STORE":
		return db.Update(ctx, func(i *DatabaseInfo) { i.setQueryStore(o) })
	case "NEW_BROKER":
		return db.Update(ctx, func(i *DatabaseInfo) { i.BrokerGUID = uuid.New() })
	case "TORN_PAGE_DETECTION": // the former name of an option of PAGE_VERIFY
		verify := map[string]string{"ON": "TORN_PAGE_DETECTION", "OFF": "NONE"}[o.Value]
		return db.Update(ctx, func(i *DatabaseInfo) { i.Options["PAGE_VERIFY"] = verify })
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.Options[o.Name] = o.Value })
}

func (s *Session) setRecovery(ctx context.Context, db *Database, value string) error {
	model, ok := map[string]storage.RecoveryModel{"FULL": storage.Full, "BULK_LOGGED": storage.BulkLogged,
		"SIMPLE": storage.Simple}[value]
	if !ok {
		return sqlerr.New(102, 1, value)
	}
	if db.InGroup() && model != storage.Full {
		return sqlerr.New(1468, 1, db.Name())
	}
	if err := db.Available(); err != nil {
		return err
	}
	if err := db.Storage().SetRecoveryModel(model); err != nil {
		return err
	}
	if db.System() {
		return nil
	}
	return db.Update(ctx, func(i *DatabaseInfo) { i.RecoveryModel = model })
}

// Terminate ends other sessions in a database as WITH ROLLBACK says, or waits for them.
func (s *Session) Terminate(ctx context.Context, db *Database, a syntax.DBSet) error {
	wait := 2 * time.Second
	switch {
	case a.NoWait:
		wait = 0
	case a.RollbackAfter > 0:
		wait = time.Duration(a.RollbackAfter) * time.Second
	case a.RollbackImmediate:
		wait = 0
	default:
		if s.settings.lockTimeout >= 0 {
			wait = time.Duration(s.settings.lockTimeout) * time.Millisecond
		}
	}
	if s.waitUnused(ctx, db, wait) {
		return nil
	}
	if !a.RollbackImmediate && a.RollbackAfter == 0 {
		return sqlerr.New(5070, 2, db.Name())
	}
	for _, other := range s.inst.UsersOf(db, s) {
		other.interrupt()
		if s.inst.config.KillSession != nil {
			s.inst.config.KillSession(other.spid)
		}
	}
	if !s.waitUnused(ctx, db, 5*time.Second) {
		return sqlerr.New(5061, 1, db.Name())
	}
	return nil
}

func (s *Session) setAccess(ctx context.Context, db *Database, mode string, a syntax.DBSet) error {
	if db.ID() == 1 || db.ID() == 2 {
		return sqlerr.New(5058, 1, mode, db.Name())
	}
	if mode == "SINGLE_USER" {
		if err := s.Terminate(ctx, db, a); err != nil {
			return sqlerr.New(5064, 1, db.Name())
		}
	}
	if err := db.Update(ctx, func(i *DatabaseInfo) { i.UserAccess = mode }); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.single = nil
	if mode == "SINGLE_USER" && s.db == db {
		db.single = s
	}
	return nil
}

// claimSingleUser makes s the one session of a SINGLE_USER database that it enters.
func (s *Session) claimSingleUser(db *Database) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.info.UserAccess == "SINGLE_USER" && db.single == nil && !s.internal {
		db.single = s
	}
}

func (s *Session) releaseSingleUser() {
	for _, db := range s.inst.Databases() {
		db.mu.Lock()
		if db.single == s {
			db.single = nil
		}
		db.mu.Unlock()
	}
}

func (s *Session) setOffline(ctx context.Context, db *Database, offline bool, a syntax.DBSet) error {
	if db.System() {
		return sqlerr.New(5058, 1, "OFFLINE", db.Name())
	}
	if offline == (db.State() == Offline) {
		return nil
	}
	if offline {
		if db.InGroup() {
			return sqlerr.New(1468, 2, db.Name())
		}
		if s.db == db {
			s.db = s.inst.DatabaseByID(1)
		}
		if err := s.Terminate(ctx, db, a); err != nil {
			return err
		}
		if err := s.inst.Announce(ctx, DatabaseEvent{Kind: DatabaseClosing, Database: db}); err != nil {
			return err
		}
		db.saveIdentities()
		if err := db.Update(ctx, func(i *DatabaseInfo) { i.Offline = true }); err != nil {
			return err
		}
		st := db.Storage()
		db.mu.Lock()
		db.storage, db.state = nil, Offline
		db.forget()
		db.mu.Unlock()
		return st.Close()
	}
	if err := db.Update(ctx, func(i *DatabaseInfo) { i.Offline = false }); err != nil {
		return err
	}
	db.SetState(Recovering)
	s.inst.openUser(ctx, db)
	return db.Available()
}

// CheckPaths refuses files in folders that don't exist (5133).
func (inst *Instance) CheckPaths(files []metadata.File) error {
	for _, f := range files {
		if err := inst.makeMount(f.PhysicalName); err != nil {
			return err
		}
		dir := filepath.Dir(inst.onDisk(f.PhysicalName))
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return sqlerr.New(5133, 1, dir, "2(The system cannot find the file specified.)")
		}
		if !filepath.IsAbs(f.PhysicalName) {
			return sqlerr.New(5105, 1, f.PhysicalName)
		}
	}
	return nil
}

// TraceFlag tells whether a trace flag is on.
func (inst *Instance) TraceFlag(flag int) bool {
	inst.mu.RLock()
	defer inst.mu.RUnlock()
	if inst.traceFlags != nil {
		return inst.traceFlags[flag]
	}
	for _, f := range inst.config.TraceFlags {
		if f == flag {
			return true
		}
	}
	return false
}
