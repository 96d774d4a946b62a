// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/schedule"
)

const (
	// tick is the time between two looks at what is due.
	tick = 2 * time.Second
	// sourcesStale is when what was read of the engine is too old to back up by.
	sourcesStale = 30 * time.Second
	// listEvery is the time between two lists of a store.
	listEvery = 30 * time.Second
	// pauseLeast and pauseMost bound the pause after something failed; it doubles with each failure.
	pauseLeast, pauseMost = 5 * time.Second, 5 * time.Minute
)

// runner carries out one policy's order.
type runner struct {
	planner
	server string
	engine *taker
	sets   *local
	stores map[string]*catalog
	log    *slog.Logger
	now    func() time.Time
	begun  time.Time
	// listEvery is the time between two lists of a store.
	listEvery time.Duration

	mu      sync.Mutex
	seen    []mssql.BackupSource
	read    time.Time
	failing map[string]failure
	sending map[string]Sending
}

// failure is what failed the last time, how often in a row, and when it is tried again.
type failure struct {
	Err   error
	Times int
	Next  time.Time
}

// newRunner makes the runner of an order. An order that cannot be read is an error.
func newRunner(order orders.Backup, p *Part) (*runner, error) {
	r := &runner{planner: planner{order: order}, server: p.server, engine: p.engine, sets: p.sets, log: p.log, now: p.now,
		begun: p.now(), listEvery: p.listEvery, stores: map[string]*catalog{}, failing: map[string]failure{},
		sending: map[string]Sending{}}
	var err error
	if r.schedules, err = schedules(order); err != nil {
		return nil, err
	}
	for _, s := range order.Stores {
		opened, err := store.Open(store.Bucket{Endpoint: s.Endpoint, Name: s.Bucket, Prefix: s.Prefix, Region: s.Region,
			VirtualHosted: s.VirtualHosted, AccessKey: s.AccessKey, SecretKey: s.SecretKey, CA: s.CA,
			UploadRate: s.UploadRate})
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", s.Name, err)
		}
		r.stores[s.Name] = &catalog{name: s.Name, folder: backup.Folder(order.Namespace, order.Target), store: opened,
			now: p.now}
	}
	return r, nil
}

func schedules(order orders.Backup) (backup.Schedules, error) {
	var s backup.Schedules
	for _, of := range []struct {
		times orders.BackupTimes
		into  *backup.Times
	}{{order.Full, &s.Full}, {order.Differential, &s.Differential}} {
		if of.times.Schedule == "" {
			continue
		}
		parsed, err := schedule.Parse(of.times.Schedule, of.times.TimeZone)
		if err != nil {
			return s, fmt.Errorf("policy %s: %w", order.Policy, err)
		}
		*of.into = parsed
	}
	if order.LogEvery > 0 {
		s.Log = backup.Every(order.LogEvery)
	}
	s.CopyOnly = order.Group != "" && !order.AtPrimary
	return s, nil
}

// run carries the order out until ctx ends. A backup that is being taken then goes on until life ends.
func (r *runner) run(life, ctx context.Context) {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	lanes.Go(func() { r.each(ctx, tick, r.readSources) })
	lanes.Go(func() { r.each(ctx, tick, func(context.Context) { r.takeAll(life, r.planData) }) })
	lanes.Go(func() { r.each(ctx, tick, func(context.Context) { r.takeAll(life, r.planLogs) }) })
	lanes.Go(func() { r.each(ctx, tick, r.keep) })
	for _, c := range r.stores {
		lanes.Go(func() {
			r.each(ctx, r.listEvery, func(ctx context.Context) { r.try("list "+c.name, func() error { return c.list(ctx) }) })
		})
		lanes.Go(func() { r.each(ctx, tick, func(ctx context.Context) { r.sendAll(ctx, c) }) })
	}
	<-ctx.Done()
	for _, c := range r.stores {
		c.store.Close()
	}
}

// each does something, and again after a pause, until ctx ends.
func (r *runner) each(ctx context.Context, pause time.Duration, do func(context.Context)) {
	timer := time.NewTicker(pause)
	defer timer.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// try does something unless it failed a short time ago. What fails is logged when it begins to.
func (r *runner) try(what string, do func() error) {
	r.mu.Lock()
	before := r.failing[what]
	r.mu.Unlock()
	if r.now().Before(before.Next) {
		return
	}
	err := do()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || errors.Is(err, context.Canceled) {
		delete(r.failing, what)
		return
	}
	if before.Times == 0 {
		r.log.Warn("a backup's step failed, and is tried again", "policy", r.order.Policy, "step", what, "error", err)
	}
	pause := min(pauseLeast<<min(before.Times, 10), pauseMost)
	r.failing[what] = failure{Err: err, Times: before.Times + 1, Next: r.now().Add(pause)}
}

func (r *runner) readSources(ctx context.Context) {
	r.try("read the databases", func() error {
		ctx, cancel := context.WithTimeout(ctx, asking)
		defer cancel()
		at := r.now()
		db, err := r.engine.open(ctx)
		if err != nil {
			return err
		}
		if err := r.engine.settleAll(ctx); err != nil && !errors.Is(err, errUnsettled) {
			r.log.Warn("a backup that was begun cannot be settled", "error", err)
		}
		sources, err := mssql.ReadBackupSources(ctx, db)
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen, r.read = sources, at
		return nil
	})
}

// observed is what is known now. Of an engine that has not answered for a while nothing is.
func (r *runner) observed() *Observed {
	o := &Observed{Begun: r.begun, Now: r.now(), Own: r.sets.all(r.order.Namespace, r.order.Target)}
	r.mu.Lock()
	if o.Now.Sub(r.read) < sourcesStale {
		o.Sources = r.seen
	}
	r.mu.Unlock()
	for _, s := range r.order.Stores {
		o.Stores = append(o.Stores, r.stores[s.Name].current())
	}
	return o
}

// takeAll takes what a plan has, one after another.
func (r *runner) takeAll(ctx context.Context, plan func(*Observed) []Take) {
	for _, t := range plan(r.observed()) {
		r.try(fmt.Sprintf("take a %s backup of %s", strings.ToLower(string(t.Kind)), t.Database), func() error {
			return r.engine.take(ctx, r.order, t, r.now())
		})
	}
}

// sendAll brings to a store what it lacks.
func (r *runner) sendAll(ctx context.Context, c *catalog) {
	for _, s := range r.planSends(r.observed()) {
		if s.Store != c.name {
			continue
		}
		r.try("send to "+c.name, func() error {
			r.note(c.name, &Sending{Set: s.Set, Of: s.Stored()})
			defer r.note(c.name, nil)
			if err := r.clear(ctx, c, s); err != nil {
				return err
			}
			err := send(ctx, c.store, r.sets, s.Own, func(bytes int64) {
				r.note(c.name, &Sending{Set: s.Set, Bytes: bytes, Of: s.Stored()})
			})
			if err != nil {
				return err
			}
			return r.sets.stored(s.Own, c.name, r.now())
		})
		if ctx.Err() != nil {
			return
		}
	}
}

// Sending is how far a set is on its way to a store.
type Sending struct {
	backup.Set
	Bytes, Of int64
}

func (r *runner) note(store string, s *Sending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == nil {
		delete(r.sending, store)
		return
	}
	r.sending[store] = *s
}

// keep frees the backup volume, and looks after what the stores have.
func (r *runner) keep(ctx context.Context) {
	for _, own := range r.planForget(r.observed()) {
		r.try("free the backup volume", func() error { return r.sets.forget(own) })
	}
	for _, one := range r.planRemovals(r.observed()) {
		r.try("remove from "+one.Store, func() error {
			c := r.stores[one.Store]
			if err := remove(ctx, c.store, one); err != nil || one.Set == nil {
				return err
			}
			c.change(one.Set.ID, func(Kept) *Kept { return nil })
			return nil
		})
	}
	for _, one := range r.planChecks(r.observed(), r.server) {
		r.try("read back from "+one.Store, func() error { return r.check(ctx, one) })
	}
}

func (r *runner) check(ctx context.Context, one Check) error {
	c := r.stores[one.Store]
	damage, err := check(ctx, c.store, one.Kept, r.server, r.now)
	if err != nil {
		return err
	}
	if damage != "" {
		r.log.Error("a backup in a store is damaged", "policy", r.order.Policy, "store", one.Store, "backup", one.Key(),
			"damage", damage)
	}
	c.change(one.ID, func(k Kept) *Kept { k.Verified, k.Damaged = damage == "", damage != ""; return &k })
	return nil
}
