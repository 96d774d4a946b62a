// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
)

// State of a mirror.
type State string

const (
	// Waiting: nothing is known to copy yet.
	Waiting State = "Waiting"
	// Copying: files are being copied.
	Copying State = "Copying"
	// Verified: every file of the snapshot is here, with its checksum.
	Verified State = "Verified"
	// Failing: the last attempt failed; it is tried again from where it was.
	Failing State = "Failing"
)

const (
	// retryPause is the time after a failed attempt.
	retryPause = 3 * time.Second
	// keep is how many snapshots of a publication stay in the mirror: an agent may be applying the one before.
	keep = 2
)

// Status of one mirror, as /status shows it.
type Status struct {
	Subscription string `json:"subscription"`
	// Generation that was asked for.
	Generation string `json:"generation,omitempty"`
	// Snapshot is the folder's name.
	Snapshot string `json:"snapshot,omitempty"`
	State    State  `json:"state"`
	// Bytes that are here of Total.
	Bytes int64 `json:"bytes"`
	Total int64 `json:"total"`
	// MovedBytes came over the link, as they were sent.
	MovedBytes int64 `json:"movedBytes,omitempty"`
	// ReusedBytes are those of Bytes that were not sent.
	ReusedBytes int64 `json:"reusedBytes,omitempty"`
	// Rate of MovedBytes in bytes per second.
	Rate int64 `json:"rate,omitempty"`
	// Seconds that copying took.
	Seconds float64 `json:"seconds,omitempty"`
	// RemainingSeconds until all is here; 0 while that cannot be told.
	RemainingSeconds float64 `json:"remainingSeconds,omitempty"`
	Message          string  `json:"message,omitempty"`
}

// Mirrors keeps the mirrors that are asked for below a folder.
type Mirrors struct {
	dir, namespace string
	log            *slog.Logger

	mu       sync.Mutex
	running  map[string]*mirror
	statuses map[string]Status
}

type mirror struct {
	order  orders.Mirror
	cancel context.CancelFunc
	done   chan struct{}
}

// NewMirrors keeps mirrors below dir, one folder for each distributor of the namespace.
func NewMirrors(dir, namespace string, log *slog.Logger) *Mirrors {
	return &Mirrors{dir: dir, namespace: namespace, log: log, running: map[string]*mirror{}, statuses: map[string]Status{}}
}

// Set replaces what is asked for. A mirror whose order changed begins again, with what is here already; one that is no
// longer asked for ends, and its files stay.
func (m *Mirrors) Set(ctx context.Context, list []orders.Mirror) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := map[string]orders.Mirror{}
	for _, order := range list {
		wanted[order.Subscription] = order
	}
	for name, old := range m.running {
		if order, ok := wanted[name]; ok && reflect.DeepEqual(order, old.order) {
			delete(wanted, name)
			continue
		}
		old.cancel()
		delete(m.running, name)
		delete(m.statuses, name)
		if order, again := wanted[name]; again {
			m.start(ctx, order, old.done)
			delete(wanted, name)
		}
	}
	for _, order := range wanted {
		m.start(ctx, order, nil)
	}
}

// start begins a mirror after the one before has ended. m.mu is held.
func (m *Mirrors) start(ctx context.Context, order orders.Mirror, before chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	one := &mirror{order: order, cancel: cancel, done: make(chan struct{})}
	m.running[order.Subscription] = one
	m.statuses[order.Subscription] = Status{Subscription: order.Subscription, Generation: order.Generation, State: Waiting}
	go func() {
		defer close(one.done)
		if before != nil {
			<-before
		}
		m.run(ctx, one)
	}()
}

// Statuses of all mirrors, sorted by subscription.
func (m *Mirrors) Statuses() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Status{}
	for _, s := range m.statuses {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Subscription, b.Subscription) })
	return list
}

// say changes a mirror's status, unless another order has taken its place.
func (m *Mirrors) say(one *mirror, change func(*Status)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[one.order.Subscription] != one {
		return
	}
	s := m.statuses[one.order.Subscription]
	change(&s)
	m.statuses[one.order.Subscription] = s
}

// run copies until everything is here.
func (m *Mirrors) run(ctx context.Context, one *mirror) {
	if one.order.Generation == "" {
		return
	}
	began := time.Now()
	for {
		err := m.copy(ctx, one)
		if err == nil || ctx.Err() != nil {
			m.say(one, func(s *Status) { s.Seconds = time.Since(began).Seconds() })
			return
		}
		m.log.Warn("a snapshot is not mirrored yet", "subscription", one.order.Subscription, "error", err)
		m.say(one, func(s *Status) { s.State, s.Message = Failing, err.Error() })
		if !pause(ctx) {
			return
		}
	}
}

// pause waits until it is time for another attempt. False says that ctx has ended before.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// copy brings the newest whole snapshot here. Files gather in a folder beside, which gets its name when all of them
// have their checksums: a folder under its own name is whole.
func (m *Mirrors) copy(ctx context.Context, one *mirror) error {
	source, err := newSource(one.order, m.namespace)
	if err != nil {
		return err
	}
	defer source.close()
	listing, err := source.list(ctx)
	if err != nil {
		return err
	}
	if err := listing.check(); err != nil {
		return err
	}
	total := listing.total()
	m.say(one, func(s *Status) {
		s.Snapshot, s.State, s.Total, s.Bytes, s.Message = listing.Snapshot, Copying, total, 0, ""
	})
	parent := filepath.Join(m.dir, one.order.Host, tree, listing.Folder)
	final := filepath.Join(parent, listing.Snapshot)
	if _, err := os.Stat(final); errors.Is(err, fs.ErrNotExist) {
		// Before as well: one after another that is superseded before it is whole would fill the volume.
		if err := m.prunePartial(one, parent, listing.Snapshot); err != nil {
			return err
		}
		partial := filepath.Join(parent, partialName(listing.Snapshot))
		progress := func(n int64) { m.say(one, func(s *Status) { s.Bytes += n }) }
		if err := source.fetch(ctx, listing, partial, progress); err != nil {
			return err
		}
		if err := finish(partial, final); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("look for the mirror of snapshot %s: %w", listing.Snapshot, err)
	}
	m.say(one, func(s *Status) { s.State, s.Bytes, s.Message = Verified, total, "" })
	m.log.Info("snapshot mirrored", "subscription", one.order.Subscription, "snapshot", listing.Snapshot, "bytes", total)
	return errors.Join(m.prune(parent), m.prunePartial(one, parent, listing.Snapshot))
}

// finish gives a complete folder its name, durably.
func finish(partial, final string) error {
	if err := syncDir(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, final); err != nil {
		return fmt.Errorf("put the mirrored snapshot in place: %w", err)
	}
	return syncDir(filepath.Dir(final))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("flush folder %s: %w", dir, err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// Names of folders in which the files of a snapshot gather.
const partialPrefix, partialSuffix = ".", ".partial"

func partialName(snapshot string) string { return partialPrefix + snapshot + partialSuffix }

// prunePartial removes what was begun of snapshots older than one, unless another mirror of this server is at it.
func (m *Mirrors) prunePartial(one *mirror, parent, snapshot string) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look through the mirror: %w", err)
	}
	for _, e := range entries {
		begun := strings.TrimSuffix(strings.TrimPrefix(e.Name(), partialPrefix), partialSuffix)
		if !e.IsDir() || e.Name() != partialName(begun) || !isStamp(begun) || begun >= snapshot || m.copying(one, begun) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
			return fmt.Errorf("remove what was begun of an old snapshot from the mirror: %w", err)
		}
		m.log.Info("what was begun of a snapshot that was superseded is removed", "snapshot", begun)
	}
	return nil
}

// copying tells that another mirror copies the snapshot.
func (m *Mirrors) copying(one *mirror, snapshot string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.statuses {
		if name != one.order.Subscription && s.Snapshot == snapshot && (s.State == Copying || s.State == Failing) {
			return true
		}
	}
	return false
}

// prune removes all but the newest snapshots of a publication. These are copies.
func (m *Mirrors) prune(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("look through the mirror: %w", err)
	}
	var whole []string
	for _, e := range entries {
		if e.IsDir() && isStamp(e.Name()) {
			whole = append(whole, e.Name())
		}
	}
	slices.Sort(whole)
	if len(whole) <= keep {
		return nil
	}
	for _, name := range whole[:len(whole)-keep] {
		if err := os.RemoveAll(filepath.Join(parent, name)); err != nil {
			return fmt.Errorf("remove an old snapshot from the mirror: %w", err)
		}
	}
	return nil
}

// check refuses a listing whose names would leave the mirror's folder.
func (l *Listing) check() error {
	names := []string{l.Folder, l.Snapshot}
	for _, f := range l.Files {
		names = append(names, f.Path)
	}
	for _, name := range names {
		if !filepath.IsLocal(name) || strings.HasPrefix(name, ".") {
			return fmt.Errorf("the distributor's sidecar names a file %q, which is not below its folder", name)
		}
	}
	return nil
}

func (l *Listing) total() int64 {
	var n int64
	for _, f := range l.Files {
		n += f.Size
	}
	return n
}
