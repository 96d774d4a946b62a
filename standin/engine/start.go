// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

func lower(s string) string { return strings.ToLower(s) }

// Instance is a running instance.
type Instance struct {
	config   Config
	started  time.Time
	log      *slog.Logger
	registry *Registry
	conns    connStates
	locks    lockTable
	applocks appLocks

	mu        sync.RWMutex
	databases map[int32]*Database
	sessions  map[int]*Session
	nextSPID  int
	closed    bool

	changing sync.Mutex // held while databases are created, dropped, opened or closed
	counters counters
	shutdown sync.Once
	// traceFlags are those that are on, once one was changed.
	traceFlags map[int]bool
	// agentPassword is the password of AgentAccount.
	agentPassword func() string
	// inUse are the configuration options' values that were set.
	inUse map[int64]int64
}

// firstUserSPID is the first session_id of clients.
const firstUserSPID = 51

// New starts an instance: creates the system databases at the first start, recovers all databases, runs the OnStart
// hooks. A database that cannot be recovered is SUSPECT or RECOVERY_PENDING and stops nothing else; master must open.
func New(ctx context.Context, config Config) (*Instance, error) {
	if config.ServerName == "" || config.DataDir == "" {
		return nil, errors.New("start the engine: Config needs ServerName and DataDir")
	}
	if config.LogDir == "" {
		config.LogDir = config.DataDir
	}
	if config.BackupDir == "" {
		config.BackupDir = config.DataDir
	}
	if config.Version == "" {
		config.Version = DefaultVersion
	}
	if config.Edition == "" {
		config.Edition = "Developer Edition (64-bit)"
	}
	inst := &Instance{
		config:        config,
		started:       time.Now(),
		log:           config.Log,
		agentPassword: sync.OnceValue(rand.Text),
		databases:     map[int32]*Database{},
		sessions:      map[int]*Session{},
		nextSPID:      firstUserSPID,
	}
	if inst.log == nil {
		inst.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	inst.registry = newRegistry(inst)
	if err := inst.install(); err != nil {
		return nil, err
	}
	for _, dir := range []string{config.DataDir, config.LogDir, config.BackupDir} {
		if err := os.MkdirAll(dir, 0o770); err != nil {
			return nil, fmt.Errorf("start the engine: %w", err)
		}
	}
	if err := inst.openAll(ctx); err != nil {
		return nil, errors.Join(err, inst.closeDatabases())
	}
	if err := inst.loadConfiguration(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the engine: read the configuration: %w", err), inst.Close())
	}
	for _, start := range inst.registry.starters {
		if err := start(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start the engine: %w", err), inst.Close())
		}
	}
	if err := inst.startProcedures(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the engine: find the startup procedures: %w", err), inst.Close())
	}
	return inst, nil
}

// install fills the registry: the engine's own parts first, then the extensions.
func (inst *Instance) install() error {
	r := inst.registry
	installGlobals(r)
	installProperties(r)
	installStatements(r)
	installProcedures(r)
	installViews(r)
	for _, t := range coreTables {
		r.Table(t)
	}
	r.Table(InternalTable{Scope: MasterOnly, Name: "__databases", DDL: []string{
		"CREATE TABLE __databases (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)"}})
	r.Table(InternalTable{Scope: MasterOnly, Name: "__configurations", DDL: []string{
		"CREATE TABLE __configurations (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)"}})
	for _, e := range inst.config.Extensions {
		if err := e.Install(r); err != nil {
			return fmt.Errorf("install %T: %w", e, err)
		}
	}
	r.refuseTheRest()
	if err := r.complete(); err != nil {
		return err
	}
	if len(r.problems) > 0 {
		sort.Strings(r.problems)
		return errors.New("install the extensions: " + strings.Join(r.problems, "; "))
	}
	return nil
}

// Close stops the instance: hooks, sessions, a checkpoint of every database.
func (inst *Instance) Close() error {
	inst.mu.Lock()
	if inst.closed {
		inst.mu.Unlock()
		return nil
	}
	inst.closed = true
	inst.mu.Unlock()
	for i := len(inst.registry.stoppers) - 1; i >= 0; i-- {
		inst.registry.stoppers[i](context.Background())
	}
	for _, s := range inst.Sessions() {
		s.interrupt()
	}
	for _, s := range inst.Sessions() {
		s.waitIdle(2 * time.Second)
	}
	return inst.closeDatabases()
}

func (inst *Instance) closeDatabases() error {
	var all []error
	for _, db := range inst.Databases() {
		if db.ID() > 4 {
			_ = inst.Announce(context.Background(), DatabaseEvent{Kind: DatabaseClosing, Database: db})
		}
	}
	list := inst.Databases()
	for i := len(list) - 1; i >= 0; i-- {
		if st := list[i].Storage(); st != nil {
			list[i].saveIdentities()
			if err := st.Close(); err != nil {
				all = append(all, fmt.Errorf("close database %q: %w", list[i].Name(), err))
			}
		}
	}
	return errors.Join(all...)
}

// Announce tells the hooks of a database; the first error stops it.
func (inst *Instance) Announce(ctx context.Context, e DatabaseEvent) error {
	for _, h := range inst.registry.databaseHooks {
		if err := h(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// ServerName is @@SERVERNAME.
func (inst *Instance) ServerName() string { return inst.config.ServerName }

// Version is the engine version that clients see, such as 16.0.4000.
func (inst *Instance) Version() [4]byte {
	b := inst.build()
	return [4]byte{byte(b[0]), byte(b[1]), byte(b[2] >> 8), byte(b[2])}
}

// ServerProperty is SERVERPROPERTY(name); nil for NULL and where there is no such property.
func (inst *Instance) ServerProperty(name string) any {
	if value := inst.registry.properties[lower(name)]; value != nil {
		return value(inst)
	}
	return nil
}

// Databases are all databases in the order of their IDs.
func (inst *Instance) Databases() []*Database {
	inst.mu.RLock()
	defer inst.mu.RUnlock()
	list := make([]*Database, 0, len(inst.databases))
	for _, db := range inst.databases {
		list = append(list, db)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID() < list[j].ID() })
	return list
}

// Sessions are all sessions in the order of their SPIDs.
func (inst *Instance) Sessions() []*Session {
	inst.mu.RLock()
	defer inst.mu.RUnlock()
	list := make([]*Session, 0, len(inst.sessions))
	for _, s := range inst.sessions {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].spid < list[j].spid })
	return list
}

// storageOptions are what every database is opened with.
func (inst *Instance) storageOptions(name string) storage.Options {
	return storage.Options{
		Name:         name,
		Prepare:      inst.prepareConn,
		Forget:       inst.conns.forget,
		SegmentBytes: inst.config.SegmentBytes,
		MaxLogBytes:  inst.config.MaxLogBytes,
	}
}

func (inst *Instance) systemFiles(name string) []metadata.File {
	logName := map[string]string{"master": "mastlog", "model": "modellog", "msdb": "MSDBLog", "tempdb": "templog"}[name]
	data := map[string]string{"master": "master.mdf", "model": "model.mdf", "msdb": "MSDBData.mdf",
		"tempdb": "tempdb.mdf"}[name]
	logical := map[string]string{"master": "master", "model": "modeldev", "msdb": "MSDBData", "tempdb": "tempdev"}[name]
	logFile := logName + ".ldf"
	return []metadata.File{
		{
			ID:           1,
			LogicalName:  logical,
			PhysicalName: filepath.Join(inst.config.DataDir, data),
			SizePages:    1024,
			MaxSizePages: -1,
			Growth:       8192,
		},
		{
			ID:           2,
			Log:          true,
			LogicalName:  logName,
			PhysicalName: filepath.Join(inst.config.DataDir, logFile),
			SizePages:    1024,
			MaxSizePages: 268435456,
			Growth:       8192,
		},
	}
}

// Login serves tds.Backend.
func (inst *Instance) Login(ctx context.Context, req tds.LoginRequest) (tds.Session, error) {
	inst.counters.logins.Add(1)
	login, err := inst.authenticate(ctx, req)
	if err != nil {
		return nil, err
	}
	if route := inst.registry.route; route != nil && req.Redirectable && req.ReadOnlyIntent {
		if to := route(req); to != nil {
			return nil, to
		}
	}
	s, err := inst.openSession(ctx, sessionSpec{login: login, database: req.Database, request: req})
	if err != nil {
		return nil, err
	}
	if err := s.logon(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}
