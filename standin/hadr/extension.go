// SPDX-License-Identifier: Apache-2.0

// Package hadr is the part of an instance that knows availability groups: their statements, views and functions. The
// replicas themselves are in package replica.
package hadr

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
)

// Extension is the engine extension; make it with New.
type Extension struct {
	security Security
	inst     *engine.Instance

	mu      sync.Mutex
	manager *replica.Manager
	health  healthSession
	// routed counts the logins that were routed: those to a load-balanced set take its members in turns.
	routed atomic.Uint64
}

// Ensure that the engine can use it.
var _ engine.Extension = (*Extension)(nil)

// New makes the extension.
func New(security Security) *Extension { return &Extension{security: security} }

// Install registers everything.
func (e *Extension) Install(r *engine.Registry) error {
	e.inst = r.Instance()
	r.OnStart(e.start)
	r.OnStop(e.stop)
	r.OnDatabase(e.databaseEvent)
	r.OnAccess(e.access)
	r.OnReadOnlyLogin(e.route)
	r.Counters(e.counters)
	r.Statement((*syntax.CreateAvailabilityGroup)(nil), e.create)
	r.Statement((*syntax.AlterAvailabilityGroup)(nil), e.alter)
	r.Statement((*syntax.DropAvailabilityGroup)(nil), e.drop)
	r.AlterDatabase(syntax.DBSetHADR{}, e.setHADR)
	e.installHealthSession(r)
	r.ServerProperty("IsHadrEnabled", func(inst *engine.Instance) any {
		if inst.Config().HADREnabled {
			return int64(1)
		}
		return int64(0)
	})
	// 0 not started and pending, 1 started and running, 2 not started and failed.
	r.ServerProperty("HadrManagerStatus", func(inst *engine.Instance) any {
		if e.replicas() != nil && inst.Config().HADREnabled {
			return int64(1)
		}
		return int64(0)
	})
	r.Function(engine.Function{Name: "fn_hadr_is_primary_replica", MinArgs: 1, MaxArgs: 1,
		Parameters: []sqltype.Type{
			{Kind: sqltype.NVarChar, Length: 128},
		}, Type: sqltype.Type{Kind: sqltype.Bit}, Eval: e.isPrimary})
	r.Function(engine.Function{Name: "fn_hadr_backup_is_preferred_replica", MinArgs: 1, MaxArgs: 1,
		Parameters: []sqltype.Type{
			{Kind: sqltype.NVarChar, Length: 128},
		}, Type: sqltype.Type{Kind: sqltype.Bit}, Eval: e.isPreferredForBackup})
	two := []sqltype.Type{sqltype.GUIDType, sqltype.GUIDType}
	r.TableFunction(
		engine.TableFunction{
			Schema:     "sys",
			Name:       "fn_hadr_distributed_ag_replica",
			Parameters: two,
			Columns:    engine.ColumnList("group_id uniqueidentifier"),
			Rows:       e.memberGroup,
		},
	)
	r.TableFunction(
		engine.TableFunction{
			Schema:     "sys",
			Name:       "fn_hadr_distributed_ag_database_replica",
			Parameters: two,
			Columns:    engine.ColumnList("group_database_id uniqueidentifier"),
			Rows:       e.memberDatabase,
		},
	)
	r.Procedure(engine.Procedure{Name: "sp_server_diagnostics", Run: e.diagnostics})
	for _, v := range e.views() {
		r.View(v)
	}
	return nil
}

// start opens the groups: all databases are recovered, and no client is in yet.
func (e *Extension) start(ctx context.Context) error {
	m, err := replica.Open(ctx, host{e}, filepath.Join(e.inst.Config().DataDir, "hadr"))
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.manager = m
	e.mu.Unlock()
	if err := e.dropStaleMembership(ctx); err != nil {
		return err
	}
	e.security.SetAvailabilityGroups(func(name string) (int32, bool) {
		g := m.Group(name)
		if g == nil {
			return 0, false
		}
		return securableID(g), true
	})
	e.security.OnEndpointChange(func() { e.listen(context.Background()) })
	e.listen(ctx)
	return nil
}

// dropStaleMembership frees databases that master believes to be in a group that this server does not know: CREATE or
// DROP AVAILABILITY GROUP was cut short.
func (e *Extension) dropStaleMembership(ctx context.Context) error {
	for _, db := range e.inst.Databases() {
		if db.Info().GroupDatabaseID == uuid.Nil || e.replicas().GroupOf(db.Name()) != nil {
			continue
		}
		if err := (host{e}).Member(ctx, db.Name(), uuid.Nil, uuid.Nil); err != nil {
			return err
		}
		// A copy that took log of a primary cannot go on by itself.
		if st := db.Storage(); st != nil && st.Mode() == storage.Redo {
			if err := st.SetMode(ctx, storage.Restoring, nil); err != nil {
				return err
			}
			if err := (host{e}).Restoring(ctx, db.Name(), true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Extension) stop(context.Context) {
	if m := e.replicas(); m != nil {
		m.Close()
	}
}

// replicas is nil before the start.
func (e *Extension) replicas() *replica.Manager {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.manager
}

// listen opens the endpoint as it is declared now, or closes it.
func (e *Extension) listen(ctx context.Context) {
	ep, err := e.security.Endpoint(ctx)
	address := ""
	if err == nil && ep.Started && e.inst.Config().HADREnabled {
		address = net.JoinHostPort(ep.IP, strconv.Itoa(ep.Port))
	}
	if err == nil {
		err = e.replicas().Listen(address)
	}
	if err != nil {
		e.inst.Log().Error("The Database Mirroring endpoint cannot listen.", "error", err)
	} else if address != "" {
		e.inst.Log().Info("The Database Mirroring endpoint is now listening.", "address", e.replicas().Address())
	}
}

// group finds a group by name; 41100 when this server has none.
func (e *Extension) group(name string) (*replica.Group, error) {
	if err := e.enabled(); err != nil {
		return nil, err
	}
	g := e.replicas().Group(name)
	if g == nil {
		return nil, failure(41100, name)
	}
	return g, nil
}

// mayDefine tells where CREATE, ALTER and DROP AVAILABILITY GROUP may not be: without the feature (47105), in a
// transaction (226), in another database than master (35208).
func (e *Extension) mayDefine(s *engine.Session, statement string) error {
	if err := e.enabled(); err != nil {
		return err
	}
	if s.InUserTransaction() {
		return failure(226, statement)
	}
	if !strings.EqualFold(s.Database(), "master") {
		return failure(35208)
	}
	return nil
}

func (e *Extension) enabled() error {
	if !e.inst.Config().HADREnabled {
		return failure(47105)
	}
	return nil
}

// access decides whether a session may use a database that is in a group.
func (e *Extension) access(_ context.Context, s *engine.Session, db *engine.Database) error {
	m := e.replicas()
	if m == nil || db.System() {
		return nil
	}
	g := m.GroupOf(db.Name())
	if g == nil {
		return nil
	}
	return g.Readable(db.Name(), s.Request().ReadOnlyIntent)
}

// databaseEvent forbids what a database in a group does not take.
func (e *Extension) databaseEvent(_ context.Context, event engine.DatabaseEvent) error {
	m := e.replicas()
	if m == nil || event.Database.System() {
		return nil
	}
	g := m.GroupOf(event.Database.Name())
	if g == nil {
		return nil
	}
	name := event.Database.Name()
	switch event.Kind {
	case engine.DatabaseDropping:
		return failure(3752, name)
	case engine.DatabaseAltering:
		switch event.Option {
		case "RECOVERY", "OFFLINE", "READ_ONLY", "NAME", "EMERGENCY", "SINGLE_USER", "RESTRICTED_USER", "AUTO_CLOSE":
			if event.Option == "RECOVERY" && event.Value == "FULL" {
				return nil
			}
			return failure(1468, name)
		}
		if st := event.Database.Storage(); st != nil && st.Mode() == storage.Redo {
			return failure(3906, name)
		}
	}
	return nil
}

func (e *Extension) isPrimary(s *engine.Session, args []any) (any, error) {
	name, _ := args[0].(string)
	m := e.replicas()
	if m == nil || name == "" {
		return nil, nil
	}
	g := m.GroupOf(name)
	if g == nil {
		return nil, nil
	}
	return g.Role() == replica.Primary, nil
}

// isPreferredForBackup follows AUTOMATED_BACKUP_PREFERENCE; a database in no group is backed up where it is.
func (e *Extension) isPreferredForBackup(s *engine.Session, args []any) (any, error) {
	name, _ := args[0].(string)
	m := e.replicas()
	if m == nil {
		return true, nil
	}
	g := m.GroupOf(name)
	if g == nil {
		return true, nil
	}
	c, primary := g.Configuration(), g.Role() == replica.Primary
	switch c.Options.BackupPreference {
	case 0:
		return primary, nil
	case 3:
		return true, nil
	}
	best, priority := uuid.Nil, -1
	for i := range c.Replicas {
		r := &c.Replicas[i]
		if r.Data() && r.ID != c.Primary && r.BackupPriority > priority {
			best, priority = r.ID, r.BackupPriority
		}
	}
	if best == uuid.Nil {
		return primary && c.Options.BackupPreference == 2, nil
	}
	return best == g.Self(), nil
}

// ReplicationLimit is the position up to which the log reader may read a database: ok is false when the database is in
// a group whose primary this server is not. A database in no group is limited by its own log only.
func (e *Extension) ReplicationLimit(db *engine.Database) (limit storage.LSN, ok bool) {
	m := e.replicas()
	if m != nil {
		if g := m.GroupOf(db.Name()); g != nil {
			return g.ReplicationLimit(db.Name())
		}
	}
	st := db.Storage()
	if st == nil {
		return limit, false
	}
	return st.Log().Hardened(), true
}

// MayBackUp serves backup.Replicas.
func (e *Extension) MayBackUp(database string) error { return e.replicas().MayBackUp(database) }

// BackUpLog serves backup.Replicas.
func (e *Extension) BackUpLog(
	ctx context.Context,
	database string,
	write func() (storage.LSN, error),
) (noted bool, err error) {
	return e.replicas().BackUpLog(ctx, database, write)
}

// Listener tells whether a name is a listener of a group of this server, with its group's name and port.
func (e *Extension) Listener(name string) (group string, port int, ok bool) {
	m := e.replicas()
	if m == nil {
		return "", 0, false
	}
	for _, g := range m.Groups() {
		for _, l := range g.Configuration().Listeners {
			if equal(l.Name, name) {
				return g.Name(), l.Port, true
			}
		}
	}
	return "", 0, false
}

// failure makes a *sqlerr.Error as an error.
func failure(number int32, args ...any) error { return sqlerr.New(number, 1, args...) }
