// SPDX-License-Identifier: Apache-2.0

// Package backups is the part of a server's sidecar that takes backups by the policies of the server's databases, keeps
// copies in stores, reads them back, and removes what the retention has no need of. It goes on while no manager can be
// asked: the order lies at the server's site.
package backups

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// PartName is the part's name, under which /status has the Statuses.
const PartName = "backups"

// setsDir is the folder of the sets on the backup volume.
const setsDir = "sets"

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Part is what a server's sidecar does about backups.
type Part struct {
	source Source
	server string
	sets   *local
	engine *taker
	log    *slog.Logger
	now    func() time.Time
	// listEvery is the time between two lists of a store.
	listEvery time.Duration

	mu      sync.Mutex
	running map[string]*running
	refused map[string]string
}

type running struct {
	*runner
	cancel context.CancelFunc
	done   chan struct{}
}

// NewPart takes backups of an instance to its backup volume. open connects to its master database.
func NewPart(
	source Source,
	server, backupDir string,
	open func(context.Context) (*mssql.DB, error),
	log *slog.Logger,
) *Part {
	sets := &local{dir: filepath.Join(backupDir, setsDir)}
	return &Part{source: source, server: server, sets: sets, log: log, now: time.Now, listEvery: listEvery,
		engine:  &taker{open: open, sets: sets, taking: map[string]Taking{}, live: map[string]bool{}},
		running: map[string]*running{}, refused: map[string]string{}}
}

// Name of the part.
func (p *Part) Name() string { return PartName }

// Run follows the orders until ctx ends.
func (p *Part) Run(ctx context.Context) error {
	if err := p.sets.load(); err != nil {
		p.log.Warn("backups on the backup volume that cannot be used", "error", err)
	}
	defer func() { p.set(ctx, nil) }()
	return p.source.Watch(ctx, func(data map[string][]byte) {
		policies, errs := orders.Backups(data)
		for _, err := range errs {
			p.log.Warn("orders that cannot be read", "error", err)
		}
		p.set(ctx, policies)
	})
}

// set has these policies carried out. One that changed begins again; what it had begun to take goes on.
func (p *Part) set(ctx context.Context, policies []orders.Backup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := map[string]orders.Backup{}
	for _, order := range policies {
		wanted[order.Policy] = order
	}
	p.refused = map[string]string{}
	for name, r := range p.running {
		if order, still := wanted[name]; still && reflect.DeepEqual(order, r.order) {
			delete(wanted, name)
			continue
		}
		r.cancel()
		<-r.done
		delete(p.running, name)
	}
	for name, order := range wanted {
		r, err := newRunner(order, p)
		if err != nil {
			p.refused[name] = err.Error()
			p.log.Error("a backup policy cannot be carried out", "policy", name, "error", err)
			continue
		}
		running := &running{runner: r, done: make(chan struct{})}
		var alive context.Context
		alive, running.cancel = context.WithCancel(ctx)
		go func() {
			defer close(running.done)
			r.run(ctx, alive)
		}()
		p.running[name] = running
	}
}

// Status of one policy at this server, as /status shows it.
type Status struct {
	Policy string `json:"policy"`
	// Refused says why the order cannot be carried out.
	Refused string `json:"refused,omitempty"`
	// Databases are those of the target that any set is known of, or that are here.
	Databases []DatabaseStatus `json:"databases,omitempty"`
	// Stores say when they were last listed, and why not since.
	Stores []StoreStatus `json:"stores,omitempty"`
	// Taking and Sending are what goes on.
	Taking  []TakingStatus  `json:"taking,omitempty"`
	Sending []SendingStatus `json:"sending,omitempty"`
	// Failing are steps that failed the last time, by what they are, with why.
	Failing map[string]string `json:"failing,omitempty"`
	// Requests that a set answers, with the set's key.
	Requests map[string]string `json:"requests,omitempty"`
}

// DatabaseStatus is what is known of a database's backups.
type DatabaseStatus struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	// Here says that the engine has it, ONLINE.
	Here bool `json:"here,omitempty"`
	// Windows are between which moments it can be restored to any from the stores, or without any store from this server's
	// backup volume.
	Windows []backup.Window `json:"windows,omitempty"`
	// Full, Differential and Log are when the newest of each ended; zero is none.
	Full         time.Time `json:"full,omitzero"`
	Differential time.Time `json:"differential,omitzero"`
	Log          time.Time `json:"log,omitzero"`
	// Sets, and the bytes that they have; Damaged are those of them that were not read back as they were written,
	// Unverified those that were not read back yet.
	Sets       int   `json:"sets"`
	Bytes      int64 `json:"bytes"`
	Damaged    int   `json:"damaged,omitempty"`
	Unverified int   `json:"unverified,omitempty"`
	// Waiting are sets on this server's backup volume that some store lacks, with their bytes.
	Waiting      int   `json:"waiting,omitempty"`
	WaitingBytes int64 `json:"waitingBytes,omitempty"`
}

// StoreStatus is what is known of a store.
type StoreStatus struct {
	Name       string    `json:"name"`
	Listed     time.Time `json:"listed,omitzero"`
	Error      string    `json:"error,omitempty"`
	Unreadable []string  `json:"unreadable,omitempty"`
}

// TakingStatus is a backup that goes on.
type TakingStatus struct {
	Database string      `json:"database"`
	Kind     backup.Kind `json:"kind"`
	Since    time.Time   `json:"since"`
}

// SendingStatus is a set on its way to a store.
type SendingStatus struct {
	Store    string      `json:"store"`
	Database string      `json:"database"`
	Kind     backup.Kind `json:"kind"`
	Bytes    int64       `json:"bytes"`
	Of       int64       `json:"of"`
}

// Status of the policies, by name.
func (p *Part) Status() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Status
	for name, why := range p.refused {
		all = append(all, Status{Policy: name, Refused: why})
	}
	for _, r := range p.running {
		all = append(all, r.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Policy, b.Policy) })
	return all
}
