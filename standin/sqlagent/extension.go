// SPDX-License-Identifier: Apache-2.0

// Package sqlagent is SQL Server Agent within an instance: msdb's jobs, their steps and schedules, the scheduler, and
// the execution of steps. Subsystems other than TSQL are given by whoever puts the instance together.
package sqlagent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
)

// Step is one execution of a job step, as its subsystem gets it.
type Step struct {
	JobID   uuid.UUID
	JobName string
	StepID  int
	// Command is the step's text, Database its database.
	Command, Database string
	// Again says that the step is tried again when it fails.
	Again bool
}

// Subsystem executes the steps of one subsystem. It returns when the step has ended, soon after ctx ended. The message
// goes into the step's history; the error makes the step fail.
type Subsystem func(ctx context.Context, step Step) (message string, err error)

// Options are what the extension is made with.
type Options struct {
	// Subsystems are by name: "Distribution", "LogReader", "Snapshot". TSQL is built in, others are refused.
	Subsystems map[string]Subsystem
	// Host is the address at which the instance serves its clients; empty is 127.0.0.1. Nothing is started before it
	// answers there, because agents connect to their own server as everybody does.
	Host string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Extension is the engine extension; make it with New.
type Extension struct {
	options Options
	inst    *engine.Instance
	now     func() time.Time

	mu sync.Mutex
	// running are the jobs that execute now.
	running map[uuid.UUID]*execution
	// next is when jobs are due next.
	next map[uuid.UUID]time.Time
	// session is this start's msdb.dbo.syssessions.session_id, 0 while the agent does not run.
	session int64
	ctx     context.Context
	cancel  context.CancelFunc
	changed chan struct{}
	work    sync.WaitGroup
}

// Ensure that the engine can use it.
var _ engine.Extension = (*Extension)(nil)

// New makes the extension.
func New(o Options) *Extension {
	e := &Extension{options: o, now: o.Now, running: map[uuid.UUID]*execution{}, changed: make(chan struct{}, 1)}
	if e.now == nil {
		e.now = time.Now
	}
	return e
}

// Install registers everything.
func (e *Extension) Install(r *engine.Registry) error {
	e.inst = r.Instance()
	r.OnStart(e.start)
	r.OnStop(e.stop)
	e.installJobs(r)
	e.installSteps(r)
	e.installSchedules(r)
	e.installHelp(r)
	e.installAbsentLists(r)
	e.installUpkeep(r)
	e.installCategories(r)
	return nil
}

// system opens a session of the agent's own.
func (e *Extension) system(ctx context.Context) (*engine.Session, error) {
	return e.inst.Session(ctx, engine.SystemLogin, "msdb", "SQLAgent - Generic Refresher")
}

// start makes msdb's tables and, when the agent is enabled, starts the scheduler.
func (e *Extension) start(ctx context.Context) error {
	s, err := e.system(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := makeTables(ctx, s); err != nil {
		return err
	}
	if !e.inst.Config().AgentEnabled {
		return nil
	}
	r, err := s.Query(
		ctx,
		"INSERT INTO msdb.dbo.syssessions (agent_start_date) VALUES (GETDATE()); SELECT CAST(SCOPE_IDENTITY() AS int) AS id",
	)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.session = r.Int(0, "id")
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.mu.Unlock()
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		e.schedule(e.ctx)
	}()
	return nil
}

// errStopping is why steps end when the instance does.
var errStopping = errors.New("SQLServerAgent is stopping")

func (e *Extension) stop(context.Context) {
	e.mu.Lock()
	cancel := e.cancel
	for _, x := range e.running {
		x.cancel(errStopping)
	}
	e.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	ended := make(chan struct{})
	go func() { e.work.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		e.inst.Log().Warn("SQLServerAgent: jobs did not end in time; their last steps have no history")
	}
}

// enabled tells whether the agent runs.
func (e *Extension) enabled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ctx != nil && e.ctx.Err() == nil
}

// refresh makes the scheduler read the schedules again.
func (e *Extension) refresh() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// asSystem runs f in the caller's session with the agent's rights on msdb.
func (e *Extension) asSystem(
	f func(context.Context, *engine.ProcCall) error,
) func(context.Context, *engine.ProcCall) error {
	return func(ctx context.Context, call *engine.ProcCall) error {
		return call.Session.AsSystem(func() error { return f(ctx, call) })
	}
}

// procedure registers a procedure of msdb's dbo schema.
func (e *Extension) procedure(
	r *engine.Registry,
	name string,
	parameters []engine.Parameter,
	run func(context.Context, *engine.ProcCall) error,
) {
	r.Procedure(
		engine.Procedure{Schema: "dbo", Database: "msdb", Name: name, Parameters: parameters, Run: e.asSystem(run)},
	)
}
