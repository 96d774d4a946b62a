// SPDX-License-Identifier: Apache-2.0

// Package holder is the sidecar's part in the election: for every group that the server serves it holds the votes,
// renews the engine's write lease, and makes the last holder primary again after its engine, its pod or the agent was
// restarted.
package holder

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/orders"
)

// Options of the part.
type Options struct {
	// Target is the pod's engine under the agent's login.
	Target mssql.Target
	// PodUID is the pod's UID.
	PodUID string
	// Connector connects to the engine over loopback. It must be the part's own: its connections are given up whenever the
	// engine does not answer in time.
	Connector *mssql.Connector
	// Process is the engine's; ProcFS in a pod.
	Process Process
	// Engine is the pod's engine; over T-SQL by Connector and Target unless given.
	Engine election.Engine
	// Source tells the orders.
	Source Source
	// StateDir keeps the last orders; empty to keep none.
	StateDir string
	// Timings of the votes; election.DefaultTimings unless given.
	Timings election.Timings
	// Log receives what changes.
	Log *slog.Logger
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
}

// renewEvery is how often tokens are looked at.
const renewEvery = 5 * time.Minute

// Holder is the part.
type Holder struct {
	options Options
	engine  election.Engine
	memory  memory
	metrics *metrics

	mu      sync.Mutex
	runners map[string]*runner
}

// New makes the part. Close nothing: Run ends with its context.
func New(o Options) (*Holder, error) {
	if o.Timings == (election.Timings{}) {
		o.Timings = election.DefaultTimings()
	}
	if err := o.Timings.Check(); err != nil {
		return nil, err
	}
	if o.Engine == nil {
		o.Engine = NewEngine(o.Connector, o.Target, o.Process)
	}
	h := &Holder{options: o, engine: o.Engine, metrics: newMetrics(o.Registerer),
		memory: memory{log: o.Log}, runners: map[string]*runner{}}
	if o.StateDir != "" {
		h.memory.file = filepath.Join(o.StateDir, "orders.json")
	}
	return h, nil
}

// Name is the part's name in the sidecar's status.
func (h *Holder) Name() string { return "election" }

// GroupStatus is what /status says of a group.
type GroupStatus struct {
	// Role of the local replica as last seen.
	Role string `json:"role,omitempty"`
	// Term and State of this server's own claim; 0 and empty without one.
	Term  int64  `json:"term,omitempty"`
	State string `json:"state,omitempty"`
	// Paused forbids claims.
	Paused bool `json:"paused,omitempty"`
	// Action is the last thing done beside renewals, and when.
	Action string    `json:"action,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Error of the last step.
	Error string `json:"error,omitempty"`
	// Stepped is when the last step ended.
	Stepped time.Time `json:"stepped,omitzero"`
	// Votes at each voter, as "server term state"; empty when unknown.
	Votes map[string]string `json:"votes,omitempty"`
}

// Status is the state of every group by name.
func (h *Holder) Status() any {
	h.mu.Lock()
	defer h.mu.Unlock()
	status := map[string]GroupStatus{}
	for name, r := range h.runners {
		status[name] = r.current()
	}
	return status
}

// Run holds until ctx ends.
func (h *Holder) Run(ctx context.Context) error {
	tasks, ctx := errgroup.WithContext(ctx)
	changes := make(chan map[string]orders.Group, 1)
	changes <- h.memory.load()
	tasks.Go(func() error {
		return h.options.Source.Watch(ctx, func(data map[string][]byte) {
			groups, errs := orders.DecodeAll(data)
			for _, err := range errs {
				h.options.Log.Error("orders cannot be read", "error", err)
			}
			select {
			case changes <- groups:
			case <-ctx.Done():
			}
		})
	})
	tasks.Go(func() error {
		renew := time.NewTicker(renewEvery)
		defer renew.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case groups := <-changes:
				h.follow(ctx, tasks, groups)
			case <-renew.C:
			}
			if h.renewTokens(ctx) {
				h.memory.save(h.present())
			}
		}
	})
	return tasks.Wait()
}

// follow starts, changes and stops runners so that they match the orders.
func (h *Holder) follow(ctx context.Context, tasks *errgroup.Group, groups map[string]orders.Group) {
	h.mu.Lock()
	for name, g := range groups {
		if r := h.runners[name]; r != nil {
			r.change(g)
			continue
		}
		h.options.Log.Info("group ordered", "group", name, "voters", len(g.Voters))
		r := newRunner(h, g)
		h.runners[name] = r
		tasks.Go(func() error { r.run(ctx); return nil })
	}
	for name, r := range h.runners {
		if _, ok := groups[name]; !ok {
			h.options.Log.Info("group no longer ordered", "group", name)
			r.stop()
			h.metrics.forget(name)
			delete(h.runners, name)
		}
	}
	h.mu.Unlock()
	h.memory.save(h.present())
}

// present are the orders with the newest tokens.
func (h *Holder) present() map[string]orders.Group {
	h.mu.Lock()
	defer h.mu.Unlock()
	groups := map[string]orders.Group{}
	for name, r := range h.runners {
		groups[name] = r.ordered()
	}
	return groups
}

// renewTokens tells whether any token is new.
func (h *Holder) renewTokens(ctx context.Context) bool {
	h.mu.Lock()
	var voters []*voter
	for _, r := range h.runners {
		voters = append(voters, r.voterList()...)
	}
	h.mu.Unlock()
	renewed := false
	for _, v := range voters {
		fresh, err := v.renew(ctx, time.Now())
		if err != nil {
			h.options.Log.Warn("a voter's token is old", "error", err)
		}
		renewed = renewed || fresh
	}
	return renewed
}

// self is the holder that this sidecar's votes name, for one run of the engine.
func (h *Holder) self(run string) election.Holder {
	return election.Holder{Server: credentials.HostName(h.options.Target.Server), PodUID: h.options.PodUID, Engine: run}
}
