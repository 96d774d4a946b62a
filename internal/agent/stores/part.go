// SPDX-License-Identifier: Apache-2.0

// Package stores keeps backups of other servers on the backup volume of a server: its sidecar answers those of the
// servers of its namespace, in as much of S3 as internal/backup/store asks, over TLS that both sides authenticate.
// Nothing of it takes the room that the log backups of the server itself need.
package stores

import (
	"cmp"
	"context"
	"fmt"
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
const PartName = "stores"

const (
	// storesDir is the folder of the stores on the backup volume.
	storesDir = "stores"
	// tryEvery is the time between two attempts at each store.
	tryEvery = 30 * time.Second
	// requestsMost is how many requests are answered at once; each takes some hundred KiB at most.
	requestsMost = 24
	// patience is how long a request waits for others to be answered: less than who asks waits for an answer.
	patience = 20 * time.Second
)

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Part is what a server's sidecar does about stores that it keeps. It answers under Pattern.
type Part struct {
	source         Source
	dir, namespace string
	log            *slog.Logger
	now            func() time.Time
	// fileSystem asks the volume.
	fileSystem func(dir string) (capacity, free int64, err error)
	// at is called at points between steps; tests end the process there.
	at    func(point string)
	every time.Duration
	// slots are those of requests that are being answered, for one of which another waits as long as patience.
	slots    chan struct{}
	patience time.Duration

	// setting is held while folders are opened: a volume may not answer for long, and whoever asks for the status does not
	// wait for it.
	setting sync.Mutex

	mu      sync.Mutex
	shelves map[string]*shelf
	refused map[string]refused
}

// refused is a store whose folder cannot be opened.
type refused struct {
	order orders.Store
	why   string
}

// NewPart keeps stores of a namespace on a backup volume.
func NewPart(source Source, namespace, backupDir string, log *slog.Logger) *Part {
	return &Part{source: source, dir: filepath.Join(backupDir, storesDir), namespace: namespace, log: log, now: time.Now,
		fileSystem: backups.FileSystem, at: func(string) {}, every: tryEvery, slots: make(chan struct{}, requestsMost),
		patience: patience, shelves: map[string]*shelf{}, refused: map[string]refused{}}
}

// Name of the part.
func (p *Part) Name() string { return PartName }

// Run follows the orders until ctx ends.
func (p *Part) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var trying sync.WaitGroup
	trying.Go(func() { p.tryAll(ctx) })
	defer func() { cancel(); trying.Wait() }()
	return p.source.Watch(ctx, func(data map[string][]byte) {
		all, errs := orders.Stores(data)
		for _, err := range errs {
			p.log.Warn("orders that cannot be read", "error", err)
		}
		p.set(all)
	})
}

// set has these stores kept. One that is told no more is not answered for any more, and what it has stays.
func (p *Part) set(all []orders.Store) {
	p.setting.Lock()
	defer p.setting.Unlock()
	wanted := map[string]orders.Store{}
	for _, s := range all {
		wanted[s.Name] = s
	}
	for _, s := range p.all() {
		order, still := wanted[s.name]
		if still {
			s.setQuota(order.Quota)
			delete(wanted, s.name)
			continue
		}
		p.mu.Lock()
		delete(p.shelves, s.name)
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.refused = map[string]refused{}
	p.mu.Unlock()
	for _, order := range wanted {
		p.begin(order)
	}
}

// begin has a store answered for once its folder is open. p.setting is held.
func (p *Part) begin(order orders.Store) {
	s, err := p.open(order)
	if err != nil {
		p.log.Error("a store cannot be kept", "store", order.Name, "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.refused[order.Name] = refused{order, err.Error()}
		return
	}
	delete(p.refused, order.Name)
	p.shelves[order.Name] = s
}

// open opens a store's folder.
func (p *Part) open(order orders.Store) (*shelf, error) {
	name := order.Name
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("open the folder of store %q: that is no name", name)
	}
	dir := filepath.Join(p.dir, p.namespace, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open the folder of store %s: %w", name, err)
	}
	s, err := openShelf(dir, order, p.now, p.at, func() (int64, int64, error) { return p.fileSystem(dir) })
	if err != nil {
		return nil, fmt.Errorf("open the folder of store %s: %w", name, err)
	}
	return s, nil
}

// shelf is that of a store; nil where it is not kept here.
func (p *Part) shelf(name string) *shelf {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shelves[name]
}

func (p *Part) all() []*shelf {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*shelf
	for _, s := range p.shelves {
		all = append(all, s)
	}
	return all
}

// tryAll tries every store, again and again, and begins those anew whose folder could not be opened.
func (p *Part) tryAll(ctx context.Context) {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		for _, s := range p.all() {
			s.try(p.now)
		}
		p.beginAgain()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// beginAgain begins those whose folder could not be opened.
func (p *Part) beginAgain() {
	p.setting.Lock()
	defer p.setting.Unlock()
	p.mu.Lock()
	left := slices.Collect(maps.Values(p.refused))
	p.mu.Unlock()
	for _, r := range left {
		p.begin(r.order)
	}
}

// Status of a store that the server keeps, as /status shows it.
type Status struct {
	Store string `json:"store"`
	// Tried is when an object was last written, read back and removed, or could not be; zero while it never was.
	Tried time.Time `json:"tried,omitzero"`
	// Error says why it could not be, or why nothing can be stored; empty when it can.
	Error string `json:"error,omitempty"`
	// Bytes are what it has, RoomBytes what can be stored yet.
	Bytes     int64 `json:"bytes"`
	RoomBytes int64 `json:"roomBytes"`
}

// Status of the stores, by name.
func (p *Part) Status() any {
	all := []Status{}
	for _, s := range p.all() {
		all = append(all, s.status())
	}
	p.mu.Lock()
	for name, r := range p.refused {
		all = append(all, Status{Store: name, Tried: p.now(), Error: r.why})
	}
	p.mu.Unlock()
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Store, b.Store) })
	return all
}
