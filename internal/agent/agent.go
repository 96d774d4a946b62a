// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Container is the name of the sidecar's container in a server's pod.
const Container = "agent"

// Part is something that the sidecar carries beside its probes, such as the election.
type Part interface {
	// Name of the part in Status.Parts and logs.
	Name() string
	// Run works until ctx ends. An error ends the sidecar, which is then started again by the kubelet.
	Run(ctx context.Context) error
	// Status is the part's state, encoded as JSON in Status.Parts. It must not block.
	Status() any
}

// Drainer is a Part that has something to end before the sidecar may.
type Drainer interface {
	// Drain returns when the part may end, or when ctx ends.
	Drain(ctx context.Context)
}

// drainTime bounds Drain. It is less than the pod's grace period.
const drainTime = 50 * time.Second

// Agent is the sidecar.
type Agent struct {
	options   Options
	log       *slog.Logger
	connector *mssql.Connector
	prober    *prober
	measures  *measurer
	telling   *telling
	readers   *readers
	writer    *writer
	rooms     *rooms
	// staging, unless nil, says what mirrors of snapshots take.
	staging func() *files.Staging
	// remembered is the password that the engine last took.
	remembered *mssql.Remembered

	mu       sync.Mutex
	parts    []Part
	handlers map[string]http.Handler
	// elections are the handlers that answer other servers' sidecars.
	elections map[string]http.Handler
}

// New makes a sidecar. Parts are added before Run.
func New(o Options, log *slog.Logger) (*Agent, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	server, err := o.server()
	if err != nil {
		return nil, err
	}
	a := &Agent{options: o, log: log, readers: &readers{file: o.moved("readers.json"), log: log}}
	known := knownFile(o)
	a.remembered = mssql.NewRemembered(func() {
		if err := known.note(); err != nil {
			log.Warn("that the engine knows the agent's login cannot be remembered", "error", err)
		}
	})
	a.measures = &measurer{
		target:    o.target(server),
		connector: a.NewConnector("geosql-agent metrics"),
		interval:  o.MeasureInterval,
		log:       log,
	}
	a.rooms = newRooms(volumeDirs())
	a.telling = newTelling(a.measures, a.rooms)
	a.writer = newWriter(o)
	a.connector = a.NewConnector("geosql-agent")
	a.prober = newProber(o, server, a.connector)
	a.prober.known = func() bool { return a.remembered.Knows(o.target(server).Role.Login()) || known.noted() }
	a.measures.answers = func() bool {
		state := a.prober.current().Engine
		return state == EngineReady || state == EngineUnhealthy
	}
	a.prober.failing = func() string { return a.measures.failing(o.FailureConditionLevel) }
	return a, nil
}

// Add adds a part. It must be called before Run.
func (a *Agent) Add(p Part) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts = append(a.parts, p)
}

// NewConnector makes a connector to the pod's own engine under the agent's login, for a part that must not share its
// connections. program is shown in sys.dm_exec_sessions.
func (a *Agent) NewConnector(program string) *mssql.Connector {
	return mssql.NewConnector(mssql.Options{
		Access:  mssql.FileAccess{TLSDir: a.options.TLSDir, AgentPasswordFile: a.options.PasswordFile},
		Address: func(mssql.Target) string { return a.options.Engine },
		Program: program, Remembered: a.remembered,
	})
}

// Handle adds what a part answers over HTTPS. It must be called before Run.
func (a *Agent) Handle(pattern string, h http.Handler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handlers == nil {
		a.handlers = map[string]http.Handler{}
	}
	a.handlers[pattern] = h
}

// HandlePeers adds what a part answers the sidecars of other servers of the namespace, at an address of its own. Until
// no release is about that asks at that of everybody, it is answered there, too: the handler looks at the certificate
// itself. It must be called before Run.
func (a *Agent) HandlePeers(pattern string, h http.Handler) {
	a.Handle(pattern, h)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.elections == nil {
		a.elections = map[string]http.Handler{}
	}
	a.elections[pattern] = h
}

// Status is the state of the sidecar and its parts.
func (a *Agent) Status() Status {
	status := a.prober.current()
	status.Roles, status.State = a.measures.roles(), a.writer.current()
	status.Volumes, status.Network = a.rooms.current(), readNetwork(networkDir)
	if a.staging != nil {
		status.Staging = a.staging()
	}
	// They are read anew, as they are for each connection: what the Secret has may not be mounted yet.
	if trust, err := credentials.ReadTrust(a.options.TLSDir); err == nil {
		status.TrustedCAs = credentials.Fingerprints(trust)
	}
	a.mu.Lock()
	parts := a.parts
	a.mu.Unlock()
	for _, p := range parts {
		if status.Parts == nil {
			status.Parts = map[string]any{}
		}
		status.Parts[p.Name()] = p.Status()
	}
	return status
}

// Run probes and serves until ctx ends and every Drainer has come to its end, or until the listener or a part fails.
func (a *Agent) Run(ctx context.Context) error {
	defer a.connector.Close()
	ctx, cancel := a.drained(ctx)
	defer cancel()
	doors, err := a.doors()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, d := range doors {
		a.log.Info("serving", "address", d.gate.Addr().String(), "engine", a.options.Engine)
		group.Go(func() error { return d.serve(ctx) })
	}
	group.Go(func() error { a.probe(ctx); return nil })
	group.Go(func() error { a.measures.run(ctx); return nil })
	group.Go(func() error { a.readers.run(ctx); return nil })
	group.Go(func() error { a.writer.run(ctx, a.telling.wrote); return nil })
	group.Go(func() error { a.rooms.run(ctx); return nil })
	a.mu.Lock()
	for _, p := range a.parts {
		group.Go(func() error {
			if err := p.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("%s: %w", p.Name(), err)
			}
			return nil
		})
	}
	a.mu.Unlock()
	return group.Wait()
}

// drained is a context that ends after the given one, once every Drainer among the parts has returned.
func (a *Agent) drained(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		bounded, done := context.WithTimeout(longer, drainTime)
		defer done()
		a.mu.Lock()
		parts := a.parts
		a.mu.Unlock()
		for _, p := range parts {
			if d, ok := p.(Drainer); ok {
				d.Drain(bounded)
			}
		}
	})
	return longer, func() { stop(); cancel() }
}
