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

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
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
	Engine keeper.Engine
	// Source tells the orders.
	Source Source
	// Peers are the sidecars of the other servers; over HTTPS with the certificates in TLSDir unless given.
	Peers keeper.Peers
	// TLSDir has tls.crt, tls.key and ca.crt of the server.
	TLSDir string
	// PeerAddresses says where a server's sidecar answers, host:port, first where it answers elections alone; by the
	// server's name unless given.
	PeerAddresses func(server string) []string
	// StateDir keeps the last orders and, for good, what was promised; empty to keep none, which only tests may.
	StateDir string
	// DataDir is the folder on the data volume where StateDir is on a volume of its own: a copy of the promises lies
	// there, and what was there of the orders moves. Empty where StateDir is on the data volume.
	DataDir string
	// Timings of the votes of groups whose orders have none of their own; ballot.DefaultTimings unless given.
	Timings ballot.Timings
	// Log receives what changes.
	Log *slog.Logger
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
}

// Holder is the part.
type Holder struct {
	options Options
	engine  keeper.Engine
	peers   keeper.Peers
	memory  memory
	telling *telling
	// found is the run of the engine that was there before this agent, empty for none: another agent may have served it.
	found string

	mu      sync.Mutex
	runners map[string]*runner
	// followed says that the orders of before this agent began, at least, have been looked at.
	followed bool
	// former are the last runners of each group, those included that have been stopped and may not have ended yet.
	former map[string]*runner
	// kept are the promises of each group that was served.
	kept map[string]*Promises
	// saving is held while the orders are remembered, so that what is newer is not overwritten.
	saving sync.Mutex
}

// New makes the part. Close nothing: Run ends with its context.
func New(o Options) (*Holder, error) {
	if o.Timings == (ballot.Timings{}) {
		o.Timings = ballot.DefaultTimings()
	}
	if err := o.Timings.Check(); err != nil {
		return nil, err
	}
	if o.Engine == nil {
		o.Engine = NewEngine(o.Connector, o.Target, o.Process)
	}
	if o.Peers == nil {
		o.Peers = newPeers(o.TLSDir, o.Target.Namespace, o.PeerAddresses)
	}
	h := &Holder{options: o, engine: o.Engine, peers: o.Peers, telling: newTelling(o.Registerer),
		memory: memory{log: o.Log}, runners: map[string]*runner{}, former: map[string]*runner{},
		kept: map[string]*Promises{}}
	// One that cannot be seen is none that could be served.
	h.found, _ = o.Process.Run()
	if o.StateDir != "" {
		h.memory.file.Path = filepath.Join(o.StateDir, ordersFile)
	}
	if o.DataDir != "" {
		h.memory.file.Former = filepath.Join(o.DataDir, ordersFile)
	}
	return h, nil
}

// ordersFile has the last orders.
const ordersFile = "orders.json"

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
	// Quarantined says that the copies here stay suspended until a person decides what becomes of what they alone have.
	Quarantined bool `json:"quarantined,omitempty"`
	// Waiting is what a change of voters waits for.
	Waiting string `json:"waiting,omitempty"`
	// Beyond names what was told of terms that nobody can have claimed: votes, or the last request.
	Beyond string `json:"beyond,omitempty"`
	// Action is the last thing done beside renewals, and when.
	Action string    `json:"action,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Orders are what the last step went by: with StateEnding, of which group of the name the manager wrote that it ends.
	// Empty of a release that does not tell.
	Orders   orders.State `json:"orders,omitempty"`
	EndingID string       `json:"endingID,omitempty"`
	// Error of the last step.
	Error string `json:"error,omitempty"`
	// Stepped is when the last step ended.
	Stepped time.Time `json:"stepped,omitzero"`
	// Votes at each voter, as "server term state"; empty when unknown.
	Votes map[string]string `json:"votes,omitempty"`
}

// Status is the state of every group by name. A group whose orders have ended is there until nothing is done for it any
// more.
func (h *Holder) Status() any {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.followed {
		// Before it goes by what it remembers, having no group does not mean that it does nothing for one.
		return map[string]GroupStatus(nil)
	}
	status := map[string]GroupStatus{}
	for name, r := range h.former {
		select {
		case <-r.over:
		default:
			if h.runners[name] == nil {
				last := r.current()
				last.Orders = orders.StateEnded
				status[name] = last
			}
		}
	}
	for name, r := range h.runners {
		status[name] = r.current()
	}
	return status
}

// Run holds until ctx ends.
func (h *Holder) Run(ctx context.Context) error {
	defer h.endCopies(ctx)
	tasks, ctx := errgroup.WithContext(ctx)
	changes := make(chan told, 1)
	changes <- told{groups: h.memory.load()}
	tasks.Go(func() error {
		return h.options.Source.Watch(ctx, func(data map[string][]byte) {
			groups, errs := orders.DecodeAll(data)
			for _, err := range errs {
				h.options.Log.Error("orders cannot be read", "error", err)
			}
			select {
			case changes <- told{groups: groups, ended: orders.Ended(data)}:
			case <-ctx.Done():
			}
		})
	})
	given := make(chan struct{}, 1)
	tasks.Go(func() error { return h.followAll(ctx, tasks, changes, given) })
	tasks.Go(func() error { return h.keepTokens(ctx, given) })
	return tasks.Wait()
}

// followAll follows changes of the orders; given has a token after each. Nothing else is done here: a pause must not
// wait for it.
func (h *Holder) followAll(
	ctx context.Context,
	tasks *errgroup.Group,
	changes <-chan told,
	given chan<- struct{},
) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-changes:
			h.follow(ctx, tasks, now)
		}
		select {
		case given <- struct{}{}:
		default:
		}
	}
}

// timings of a group's votes.
func (h *Holder) timings(g orders.Group) ballot.Timings {
	if g.Timings != nil {
		return *g.Timings
	}
	return h.options.Timings
}

// told are the orders that can be read, and those that have ended.
type told struct {
	groups map[string]orders.Group
	ended  map[string]bool
}

// follow starts, changes and stops runners so that they match the orders. Those whose orders cannot be read, or are
// missing, go on with what they were told before: a primary whose agent stopped would stop serving.
func (h *Holder) follow(ctx context.Context, tasks *errgroup.Group, now told) {
	h.mu.Lock()
	h.followed = true
	for name, g := range now.groups {
		if r := h.runners[name]; r != nil {
			r.change(g)
			continue
		}
		h.options.Log.Info("group ordered", "group", name, "voters", len(g.Voters))
		r := newRunner(h, g)
		former := h.former[name]
		h.runners[name], h.former[name] = r, r
		tasks.Go(func() error { r.runAfter(ctx, former); return nil })
	}
	for name := range now.ended {
		if r := h.runners[name]; r != nil {
			h.options.Log.Info("the orders of the group have ended", "group", name)
			r.stop()
			h.telling.forget(name)
			delete(h.runners, name)
		}
	}
	h.mu.Unlock()
	h.remember()
}

// remember keeps the orders with the newest tokens.
func (h *Holder) remember() {
	h.saving.Lock()
	defer h.saving.Unlock()
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

// promises is what is remembered of a group for good.
func (h *Holder) promises(g orders.Group) keeper.Memory {
	if h.options.StateDir == "" {
		return &volatile{}
	}
	name := "promises-" + g.Name + ".json"
	if h.options.DataDir == "" {
		return FileMemory{Path: filepath.Join(h.options.StateDir, name)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept[g.Name] == nil {
		h.kept[g.Name] = NewPromises(
			filepath.Join(h.options.StateDir, name), filepath.Join(h.options.DataDir, name), h.options.Log)
	}
	return h.kept[g.Name]
}

// copiesEnd bounds how long the end of a sidecar waits for the copies of its promises.
const copiesEnd = 2 * time.Second

// endCopies waits for the copies of the promises: an agent of a former release may follow.
func (h *Holder) endCopies(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), copiesEnd)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.kept {
		p.Close(ctx)
	}
}

// volatile forgets with the process.
type volatile struct{ remembered keeper.Remembered }

func (v *volatile) Load() (keeper.Remembered, error) { return v.remembered, nil }
func (v *volatile) Save(r keeper.Remembered) error   { v.remembered = r; return nil }

// Drain returns when this server holds no group's votes any more, or its engine has ended and that was told to the
// voters, or ctx ends. A sidecar whose pod is being ended lives on as long as that takes: its word is what spares the
// others the wait for its votes to expire.
func (h *Holder) Drain(ctx context.Context) {
	ticker := time.NewTicker(processPoll)
	defer ticker.Stop()
	for h.holds() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (h *Holder) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runners {
		if r.current().Term > 0 {
			return true
		}
	}
	return false
}

// self is the holder that this sidecar's votes name, for one run of the engine.
func (h *Holder) self(run string) votes.Holder {
	return votes.Holder{Server: credentials.HostName(h.options.Target.Server), PodUID: h.options.PodUID, Engine: run}
}
