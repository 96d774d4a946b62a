// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// Opener opens the storage of a database that is added to an instance.
type Opener func(files storage.Files, opts storage.Options) (*storage.Database, error)

var systemDatabases = []struct {
	id   int32
	name string
}{{1, "master"}, {3, "model"}, {4, "msdb"}, {2, "tempdb"}}

// openAll creates or opens the system databases and then opens all others.
func (inst *Instance) openAll(ctx context.Context) error {
	for _, sys := range systemDatabases {
		if err := inst.openSystem(ctx, sys.id, sys.name); err != nil {
			return fmt.Errorf("start the engine: %w", err)
		}
	}
	infos, err := inst.readDatabases(ctx)
	if err != nil {
		return fmt.Errorf("start the engine: read the list of databases: %w", err)
	}
	for _, info := range infos {
		if info.ID <= 4 {
			inst.recall(info)
			if len(info.Replaced) > 0 {
				if err := inst.finishRestore(ctx, inst.DatabaseByID(info.ID)); err != nil {
					return fmt.Errorf("start the engine: %w", err)
				}
			}
			continue
		}
		db := &Database{inst: inst, id: info.ID, info: info, state: Recovering}
		inst.addDatabase(db)
		inst.openUser(ctx, db)
	}
	return nil
}

// recall applies what master remembers of a system database.
func (inst *Instance) recall(info DatabaseInfo) {
	db := inst.DatabaseByID(info.ID)
	if db == nil {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	opened := db.info.Files
	db.info = info
	db.info.Files = opened
}

func (inst *Instance) newInfo(id int32, name string, files []metadata.File) DatabaseInfo {
	return DatabaseInfo{ID: id, Name: name, Created: time.Now().UTC(), OwnerSID: []byte{1}, Files: files,
		Collation: sqltype.DefaultCollation, CompatibilityLevel: 160, UserAccess: "MULTI_USER", BrokerGUID: uuid.New(),
		Options: map[string]string{}, RecoveryModel: storage.Full}
}

func (inst *Instance) addDatabase(db *Database) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	inst.databases[db.id] = db
}

// openUser opens a user database as it is; failures become its state.
func (inst *Instance) openUser(ctx context.Context, db *Database) {
	if db.Info().Offline {
		db.SetState(Offline)
		return
	}
	var st *storage.Database
	err := inst.finishRestore(ctx, db)
	info := db.Info()
	if err == nil {
		st, err = storage.Open(ctx, inst.filesOnDisk(info.Files), inst.storageOptions(info.Name))
	}
	if err != nil {
		inst.log.Error("database could not be opened", "database", info.Name, "error", err.Error())
		var suspect *storage.Suspect
		if errors.As(err, &suspect) {
			db.SetState(Suspect)
		} else {
			db.SetState(RecoveryPending)
		}
		return
	}
	limitLog(st, info.Files)
	db.mu.Lock()
	db.storage, db.state = st, Online
	if st.Mode() == storage.Restoring && st.Standby() == "" {
		db.state = Restoring
	}
	db.mu.Unlock()
	if st.Mode() == storage.Primary && !db.InGroup() {
		if err := inst.PrepareTables(ctx, db); err != nil {
			inst.log.Error("database lacks internal tables", "database", info.Name, "error", err.Error())
		}
	}
	if err := inst.Announce(ctx, DatabaseEvent{Kind: DatabaseOpened, Database: db}); err != nil {
		inst.log.Error("an extension failed to open a database", "database", info.Name, "error", err.Error())
	}
}

// InGroup tells whether the database is in an availability group.
func (db *Database) InGroup() bool { return db.Info().ReplicaID != uuid.Nil }

// PrepareTables makes the internal tables that a database lacks.
func (inst *Instance) PrepareTables(ctx context.Context, db *Database) error {
	missing, err := inst.missingTables(ctx, db)
	if err != nil || len(missing) == 0 {
		return err
	}
	return inTransaction(ctx, db.storage, func(tx *storage.Tx) error {
		for _, t := range missing {
			for _, ddl := range t.DDL {
				if err := runInternal(tx, ddl); err != nil {
					return fmt.Errorf("make table %s in database %q: %w", t.Name, db.Name(), err)
				}
			}
		}
		return nil
	})
}

// inTransaction runs f in a transaction of its own, which is rolled back where f fails.
func inTransaction(ctx context.Context, db *storage.Database, f func(*storage.Tx) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	leave, err := tx.Use(ctx)
	if err != nil {
		return err
	}
	err = f(tx)
	leave()
	if err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

// runInternal executes DDL as DDL and rows as rows.
func runInternal(tx *storage.Tx, sql string) error {
	head := strings.ToUpper(strings.TrimSpace(sql))
	if strings.HasPrefix(head, "INSERT") || strings.HasPrefix(head, "UPDATE") {
		return sqlitex.ExecuteTransient(tx.Conn(), sql, nil)
	}
	return tx.ExecDDL(sql)
}

func (inst *Instance) missingTables(ctx context.Context, db *Database) ([]InternalTable, error) {
	r, err := db.storage.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	leave, err := r.Use(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	have := map[string]bool{}
	err = sqlitex.ExecuteTransient(r.Conn(), "SELECT name FROM sqlite_schema WHERE type = 'table'", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { have[stmt.ColumnText(0)] = true; return nil }})
	if err != nil {
		return nil, err
	}
	var missing []InternalTable
	for _, t := range inst.registry.tables {
		if !have[t.Name] &&
			(t.Scope == EveryDatabase || t.Scope == MasterOnly && db.id == 1 || t.Scope == MsdbOnly && db.id == 4) {
			missing = append(missing, t)
		}
	}
	return missing, nil
}

func (inst *Instance) readDatabases(ctx context.Context) ([]DatabaseInfo, error) {
	var infos []DatabaseInfo
	err := inst.readMaster(ctx, "SELECT doc FROM __databases ORDER BY id", func(stmt *sqlite.Stmt) error {
		var info DatabaseInfo
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &info); err != nil {
			return fmt.Errorf("read what master knows of a database: %w", err)
		}
		infos = append(infos, info)
		return nil
	})
	return infos, err
}

func (inst *Instance) readMaster(ctx context.Context, sql string, row func(*sqlite.Stmt) error) error {
	r, err := inst.DatabaseByID(1).Storage().Reader(ctx)
	if err != nil {
		return err
	}
	defer r.Release()
	leave, err := r.Use(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return sqlitex.Execute(r.Conn(), sql, &sqlitex.ExecOptions{ResultFunc: row})
}

// writeMaster runs f in a transaction of its own in master.
func (inst *Instance) writeMaster(ctx context.Context, f func(*sqlite.Conn) error) error {
	return inTransaction(ctx, inst.DatabaseByID(1).Storage(), func(tx *storage.Tx) error { return f(tx.Conn()) })
}

func (inst *Instance) saveInfo(ctx context.Context, info DatabaseInfo) error {
	doc, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return inst.writeMaster(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(
			conn,
			"INSERT OR REPLACE INTO __databases VALUES (?, ?)",
			&sqlitex.ExecOptions{Args: []any{int64(info.ID), string(doc)}},
		)
	})
}

func (inst *Instance) updateDatabase(ctx context.Context, db *Database, change func(*DatabaseInfo)) error {
	db.updating.Lock()
	defer db.updating.Unlock()
	info := db.Info()
	options := map[string]string{}
	for k, v := range info.Options {
		options[k] = v
	}
	info.Options = options
	info.Files = append([]metadata.File(nil), info.Files...)
	change(&info)
	if err := inst.saveInfo(ctx, info); err != nil {
		return fmt.Errorf("record the change of database %q in master: %w", info.Name, err)
	}
	db.mu.Lock()
	db.info = info
	db.mu.Unlock()
	return nil
}

// AddDatabase registers a database durably in master and opens its storage with open: RESTORE, seeding, CREATE
// DATABASE. info needs Name; ID, files and the rest get defaults where they are missing. Error 1801: the name is taken.
// When open fails, nothing is left behind in master.
func (inst *Instance) AddDatabase(ctx context.Context, info DatabaseInfo, open Opener) (*Database, error) {
	inst.changing.Lock()
	defer inst.changing.Unlock()
	if inst.Database(info.Name) != nil {
		return nil, sqlerr.New(1801, 3, info.Name)
	}
	full := inst.newInfo(inst.freeID(), info.Name, inst.DefaultFiles(info.Name))
	if len(info.Files) > 0 {
		full.Files = info.Files
	}
	if info.Collation != "" {
		full.Collation = info.Collation
	}
	if len(info.OwnerSID) > 0 {
		full.OwnerSID = info.OwnerSID
	}
	if !info.Created.IsZero() {
		full.Created = info.Created
	}
	if info.UserAccess != "" {
		full.UserAccess = info.UserAccess
	}
	maps.Copy(full.Options, info.Options)
	full.Restoring, full.ReplicaID, full.GroupDatabaseID = info.Restoring, info.ReplicaID, info.GroupDatabaseID
	st, err := open(inst.filesOnDisk(full.Files), inst.storageOptions(full.Name))
	if err != nil {
		return nil, err
	}
	limitLog(st, full.Files)
	full.RecoveryModel = st.RecoveryModel()
	db := &Database{inst: inst, id: full.ID, info: full, state: Online, storage: st}
	if st.Mode() == storage.Restoring {
		db.state = Restoring
	}
	if st.Mode() == storage.Primary {
		err = inst.PrepareTables(ctx, db)
	}
	if err == nil {
		err = inst.preparePlacements(ctx, db, info.placements)
	}
	if err == nil {
		err = inst.saveInfo(ctx, full)
	}
	if err != nil && info.attached {
		return nil, errors.Join(err, st.Close())
	}
	if err != nil {
		return nil, errors.Join(err, st.Drop())
	}
	inst.addDatabase(db)
	if err := inst.Announce(ctx, DatabaseEvent{Kind: DatabaseCreated, Database: db}); err != nil {
		return nil, err
	}
	return db, nil
}

// ReplaceStorage closes a database's storage and opens another in its place (seeding again). When open fails the
// database is left RECOVERY_PENDING.
func (inst *Instance) ReplaceStorage(ctx context.Context, db *Database, open Opener) error {
	inst.changing.Lock()
	defer inst.changing.Unlock()
	return inst.replaceStorage(ctx, db, open)
}

func (inst *Instance) replaceStorage(ctx context.Context, db *Database, open Opener) error {
	if st := db.Storage(); st != nil {
		if err := st.Close(); err != nil {
			inst.log.Warn("close a database that is replaced", "database", db.Name(), "error", err.Error())
		}
	}
	st, err := open(inst.filesOnDisk(db.Info().Files), inst.storageOptions(db.Name()))
	if err == nil {
		limitLog(st, db.Info().Files)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.storage = st
	db.forget()
	if err != nil {
		db.storage, db.state = nil, RecoveryPending
		return err
	}
	db.state = Online
	if st.Mode() == storage.Restoring {
		db.state = Restoring
	}
	return nil
}

// RemoveDatabase takes a database out of master and removes its files.
func (inst *Instance) RemoveDatabase(ctx context.Context, db *Database) error {
	return inst.takeOut(ctx, db, (*storage.Database).Drop, removeClosed)
}

// takeOut takes a database out of the instance: open does what becomes of its files when they are open, closed
// otherwise.
func (inst *Instance) takeOut(
	ctx context.Context,
	db *Database,
	open func(*storage.Database) error,
	closed func(storage.Files) error,
) error {
	inst.changing.Lock()
	defer inst.changing.Unlock()
	err := inst.writeMaster(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(
			conn,
			"DELETE FROM __databases WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{int64(db.ID())}},
		)
	})
	if err != nil {
		return fmt.Errorf("take database %q out of master: %w", db.Name(), err)
	}
	inst.mu.Lock()
	delete(inst.databases, db.ID())
	inst.mu.Unlock()
	st := db.Storage()
	db.mu.Lock()
	db.storage, db.state = nil, Offline
	db.mu.Unlock()
	if st != nil {
		return open(st)
	}
	return closed(inst.filesOnDisk(db.Info().Files))
}

func (inst *Instance) freeID() int32 {
	inst.mu.RLock()
	defer inst.mu.RUnlock()
	id := int32(5)
	for inst.databases[id] != nil {
		id++
	}
	return id
}

// DefaultFiles are the files of a database whose statement declares none.
func (inst *Instance) DefaultFiles(name string) []metadata.File {
	safe := strings.NewReplacer("/", "_", "\x00", "_").Replace(name)
	return []metadata.File{
		{
			ID:           1,
			LogicalName:  name,
			PhysicalName: inst.config.DataDir + "/" + safe + ".mdf",
			SizePages:    1024,
			MaxSizePages: -1,
			Growth:       8192,
		},
		{
			ID:           2,
			Log:          true,
			LogicalName:  name + "_log",
			PhysicalName: inst.config.LogDir + "/" + safe + "_log.ldf",
			SizePages:    1024,
			MaxSizePages: 268435456,
			Growth:       8192,
		},
	}
}

// Available is nil when the database's state lets it be used.
func (db *Database) Available() error {
	name := db.Name()
	switch db.State() {
	case Restoring:
		return sqlerr.New(927, 2, name)
	case Recovering:
		return sqlerr.New(922, 1, name)
	case RecoveryPending:
		return sqlerr.New(945, 2, name)
	case Suspect:
		return sqlerr.New(926, 1, name)
	case Offline:
		return sqlerr.New(942, 4, name)
	}
	if db.Storage() == nil {
		return sqlerr.New(942, 4, name)
	}
	return nil
}

// admitSession enforces SINGLE_USER and RESTRICTED_USER.
func (db *Database) admitSession(s *Session) error {
	db.mu.RLock()
	defer db.mu.RUnlock()
	switch db.info.UserAccess {
	case "SINGLE_USER":
		if db.single != nil && db.single != s && !s.internal {
			return sqlerr.New(924, 1, db.info.Name)
		}
	case "RESTRICTED_USER":
		if !s.login.Sysadmin {
			return sqlerr.New(923, 1, db.info.Name)
		}
	}
	return nil
}
