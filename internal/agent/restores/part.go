// SPDX-License-Identifier: Apache-2.0

// Package restores is the part of a server's sidecar that restores databases there from stores of backups, each once,
// as the manager orders it. Everything is downloaded and compared with its description first; then the engine restores
// set by set. Between any two steps the sidecar may end: the next life goes on.
package restores

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
)

// PartName is the part's name, under which /status has the Statuses.
const PartName = "restores"

// strayFor is how long what is left of a restore stays of which there is neither an order nor a mark: the order comes
// back when only the Secret was lost.
const strayFor = 7 * 24 * time.Hour

// restoresDir is the folder of the downloads on the backup volume.
const restoresDir = "restores"

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Part is what a server's sidecar does about restores.
type Part struct {
	source Source
	dir    string
	engine backups.Engine
	// who asks the sidecars of other servers.
	who backups.Identity
	log *slog.Logger
	now func() time.Time
	// free is how many bytes of a folder's file system downloads may take.
	free func(dir string) (int64, error)
	// at is called before each step, and when the engine has answered and nothing is written down yet; tests end the part
	// there.
	at func(ctx context.Context, point string)
	// tick and pause are the times between two looks, and after the first failure.
	tick, pause time.Duration

	mu      sync.Mutex
	running map[string]*running
	// followed says that the orders of before this life, at least, have been carried out.
	followed bool
}

type running struct {
	*runner
	cancel context.CancelFunc
	done   chan struct{}
}

// NewPart restores to an instance from its backup volume, by the engine's connections for data.
func NewPart(source Source, backupDir string, engine backups.Engine, log *slog.Logger) *Part {
	return &Part{source: source, dir: filepath.Join(backupDir, restoresDir), engine: engine, log: log, now: time.Now,
		free: free, at: func(context.Context, string) {}, tick: tick, pause: pauseLeast, running: map[string]*running{}}
}

// Known has the part ask the sidecars of other servers as who they know it by. It must be called before Run.
func (p *Part) Known(who backups.Identity) { p.who = who }

func free(dir string) (int64, error) {
	capacity, left, err := backups.FileSystem(dir)
	if err != nil {
		return 0, err
	}
	return usable(capacity, left), nil
}

// usable leaves the log backups of the server's databases their room, as backups of data do: without them the
// databases stop.
func usable(capacity, left int64) int64 { return max(left-backups.Reserved(capacity), 0) }

// Name of the part.
func (p *Part) Name() string { return PartName }

// Run follows the orders until ctx ends.
func (p *Part) Run(ctx context.Context) error {
	defer p.endAll()
	return p.source.Watch(ctx, func(data map[string][]byte) {
		all, errs := orders.Restores(data)
		for _, err := range errs {
			p.log.Warn("orders that cannot be read", "error", err)
		}
		p.set(ctx, all, len(errs) == 0)
	})
}

// endAll ends what goes on. What the engine was told goes on there or is broken off: the next life finds out.
func (p *Part) endAll() {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.running))
	p.mu.Unlock()
	forget := p.endThese(all)
	forget()
}

// endThese ends these, and returns what forgets them. Others may ask for the status meanwhile.
func (p *Part) endThese(stale []*running) (forget func()) {
	for _, r := range stale {
		r.cancel()
	}
	for _, r := range stale {
		<-r.done
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range stale {
			delete(p.running, r.order.UID)
		}
	}
}

// set has these orders carried out. What is withdrawn ends, and its downloads go; the database is left as it is. One
// whose order is missing goes on. It is called by one goroutine.
func (p *Part) set(ctx context.Context, all []orders.Restore, whole bool) {
	wanted, withdrawn, names := map[string]orders.Restore{}, map[string]bool{}, map[string]string{}
	for _, order := range all {
		if order.UID == "" || order.UID != filepath.Base(order.UID) || strings.HasPrefix(order.UID, ".") {
			continue
		}
		names[order.Name] = order.UID
		if order.Withdrawn {
			withdrawn[order.UID] = true
		} else {
			wanted[order.UID] = order
		}
	}
	var stale []*running
	p.mu.Lock()
	for uid, r := range p.running {
		order, still := wanted[uid]
		other := names[r.order.Name]
		switch {
		case still:
			r.tell(order)
			delete(wanted, uid)
		case withdrawn[uid], other != "" && other != uid:
			withdrawn[uid] = true
			stale = append(stale, r)
		}
	}
	p.mu.Unlock()
	forget := p.endThese(stale)
	p.begin(ctx, wanted)
	p.sweep(withdrawn, whole)
	// From then on the manager takes it for withdrawn.
	forget()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.followed = true
}

func (p *Part) begin(ctx context.Context, wanted map[string]orders.Restore) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for uid, order := range wanted {
		r := &running{runner: newRunner(order, p), done: make(chan struct{})}
		var alive context.Context
		alive, r.cancel = context.WithCancel(ctx)
		go func() {
			defer close(r.done)
			r.run(alive)
		}()
		p.running[uid] = r
	}
}

// sweep removes the folders of Restores that are withdrawn, and, where all orders could be read, those of which nobody
// has known anything for long.
func (p *Part) sweep(withdrawn map[string]bool, whole bool) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return // there are none, or it is tried again with the next orders
	}
	for _, e := range entries {
		p.mu.Lock()
		known := p.running[e.Name()] != nil
		p.mu.Unlock()
		if !withdrawn[e.Name()] && (known || !whole || !p.stray(e.Name())) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(p.dir, e.Name())); err != nil {
			p.log.Warn("what was downloaded for a restore that is no more cannot be removed", "restore", e.Name(), "error",
				err)
		}
	}
}

// stray says that nothing was written down of a restore for long.
func (p *Part) stray(uid string) bool {
	info, err := os.Stat(filepath.Join(p.dir, uid, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Join(p.dir, uid))
	}
	return err == nil && p.now().Sub(info.ModTime()) >= strayFor
}

// Status of the restores, by name. Before the orders of its life are carried out it says so too: that it says nothing
// of a restore does not mean then that there is nothing of it. It is never nil, as it was in releases that do not tell.
func (p *Part) Status() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []Status{}
	if !p.followed {
		all = append(all, Status{Step: Unread})
	}
	for _, r := range p.running {
		all = append(all, r.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name+a.UID, b.Name+b.UID) })
	return all
}
