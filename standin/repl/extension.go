// SPDX-License-Identifier: Apache-2.0

// Package repl is transactional replication within an instance: the distributor with its database, publications and
// their articles, subscriptions, what a publisher's log holds for them, and the procedures and views of all of these.
// Package agent has the agents that move the rows, package profile the parameters that they run with.
package repl

import (
	"context"
	"sync"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// Options are what the extension is made with.
type Options struct {
	// Host is the address at which the instance reaches itself over TDS; empty is 127.0.0.1.
	Host string
	// UNCMapping maps //host/share to a local directory (mssql.conf, section uncmapping).
	UNCMapping map[string]string
	// Limit is the position up to which the log reader may read a database: ok is false for a database in no
	// availability group. nil means that there are no groups.
	Limit func(db *engine.Database) (limit storage.LSN, ok bool)
}

// Extension is the engine extension; make it with New.
type Extension struct {
	options Options
	inst    *engine.Instance

	mu sync.Mutex
	// readers are the sessions that read a database's log (error 18752 for a second one), by database_id.
	readers map[int32]*engine.Session
	// scans are the positions of the log scans, by database_id.
	scans map[int32]*scan
	// agents are those that run here.
	agents *agent.Runner
	// marked are the open transactions that sp_marksubscriptionvalidation marked.
	marked map[*engine.Session]*markedTransaction
	// positions are the subscriptions here that several streams apply to.
	positions map[string]*watchedPosition

	cancel context.CancelFunc
	work   sync.WaitGroup
	key    *stored.Key
}

// Ensure that the engine can use it.
var _ engine.Extension = (*Extension)(nil)

// New makes the extension.
func New(o Options) *Extension {
	key := &stored.Key{}
	return &Extension{
		options:   o,
		key:       key,
		agents:    agent.New(key, o.Host, o.UNCMapping),
		readers:   map[int32]*engine.Session{},
		scans:     map[int32]*scan{},
		marked:    map[*engine.Session]*markedTransaction{},
		positions: map[string]*watchedPosition{},
	}
}

// Install registers everything.
func (e *Extension) Install(r *engine.Registry) error {
	e.inst = r.Instance()
	e.agents.Attach(e.inst)
	r.OnStart(e.start)
	r.OnStop(e.stop)
	r.OnSessionEnd(e.endSession)
	r.OnDatabase(e.databaseEvent)
	r.OnObject(e.objectEvent)
	r.OnAlterTable(e.alterPublished)
	r.OnAlterModule(e.alterModule)
	r.OnExecution(e.execution)
	e.installDistributor(r)
	e.installPublications(r)
	e.installArticles(r)
	e.installSubscriptions(r)
	e.installPull(r)
	e.installLogReader(r)
	e.installRestart(r)
	e.installCheckup(r)
	e.installScripts(r)
	e.installCustomScripting(r)
	e.installSubscribers(r)
	e.installCommands(r)
	e.installHistory(r)
	e.installTokens(r)
	e.installOrigins(r)
	e.installMonitor(r)
	e.installValidation(r)
	e.installProperties(r)
	e.installThresholds(r)
	e.installExpiry(r)
	e.installRedirection(r)
	e.installProfiles(r)
	e.installSnapshot(r)
	e.installViews(r)
	e.installOther(r)
	return nil
}

// Subsystems are the job step subsystems of the agents, for SQL Agent: each runs a step's text; again says that the
// step is tried again when it fails.
func (e *Extension) Subsystems() map[string]func(ctx context.Context, commandLine string, again bool) (string, error) {
	return e.agents.Subsystems()
}

// access says who may run a procedure.
type access uint8

const (
	// anyone: the procedure checks by itself.
	anyone access = iota
	// sysadmins of the server.
	sysadmins
	// owners are sysadmins and members of db_owner in the procedure's database.
	owners
	// agentLogins are owners, and logins in the access list of any publication of the distribution database.
	agentLogins
	// distributionOwners are sysadmins and members of db_owner in the distribution database it runs in.
	distributionOwners
)

// procedure registers a procedure that is documented in the catalog, or that has parameters of its own.
func (e *Extension) procedure(
	r *engine.Registry,
	name string,
	who access,
	parameters []engine.Parameter,
	run func(context.Context, *engine.ProcCall) error,
) {
	r.Procedure(
		engine.Procedure{
			Name:       name,
			Parameters: parameters,
			NotAllowed: notAllowed(name),
			Run: func(ctx context.Context, call *engine.ProcCall) error {
				if err := e.allow(ctx, call, who); err != nil {
					return err
				}
				if err := e.refuseParameters(call, name); err != nil {
					return err
				}
				return call.Session.AsSystem(func() error { return run(ctx, call) })
			},
		},
	)
}

func (e *Extension) allow(ctx context.Context, call *engine.ProcCall, who access) error {
	if who == anyone || call.Session.Login().Sysadmin {
		return nil
	}
	if who == sysadmins {
		return raise(21089, 1)
	}
	u, err := call.Session.User(ctx, call.Database)
	if err != nil {
		return err
	}
	if u.Owner {
		return nil
	}
	if who == agentLogins {
		return e.allowListed(ctx, call)
	}
	return raise(21050, 1)
}

// allowListed is 21049 unless the login is in a publication access list of the distribution database.
func (e *Extension) allowListed(ctx context.Context, call *engine.ProcCall) error {
	name := call.Session.Login().Name
	return call.Session.AsSystem(func() error {
		r, err := call.Session.Query(
			ctx,
			"SELECT TOP (1) publication_id FROM dbo.MSpublication_access WHERE login = @p1",
			name,
		)
		if err == nil && r.Len() == 0 {
			err = raise(21049, 1, name, call.Database.Name())
		}
		return err
	})
}

// text declares a parameter of a procedure that no page documents.
func text(name string) engine.Parameter {
	return engine.Parameter{Name: name, Type: sqltype.NVarCharMax}
}

// Number is text for a number.
func number(name string) engine.Parameter {
	return engine.Parameter{Name: name, Type: sqltype.BigIntType}
}

func (e *Extension) start(ctx context.Context) error {
	if err := e.key.Open(e.inst.Config().DataDir); err != nil {
		return err
	}
	if err := e.startProfiles(ctx); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.work.Go(func() { e.keepLogs(background) })
	return nil
}

func (e *Extension) stop(context.Context) {
	if e.cancel != nil {
		e.cancel()
	}
	e.work.Wait()
}

// ServerName is this instance's name.
func (e *Extension) serverName() string { return e.agents.ServerName() }

// System opens a session of the extension's own in a database.
func (e *Extension) system(ctx context.Context, database string) (*engine.Session, error) {
	return e.agents.System(ctx, database)
}
