// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
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
)

// runner carries out one policy's order.
type runner struct {
	planner
	*steps
	// part are the steps that are the server's and no policy's.
	part   *steps
	server string
	engine *taker
	sets   *local
	stores map[string]*catalog
	begun  time.Time
	// tick is the time between two looks at what is due, listEvery that between two lists of a store.
	tick, listEvery time.Duration

	mu      sync.Mutex
	seen    []mssql.BackupSource
	read    time.Time
	sending map[string]Sending
}

// newRunner makes the runner of an order. An order that cannot be read is an error.
func newRunner(order orders.Backup, p *Part) (*runner, error) {
	r := &runner{planner: planner{order: order}, steps: newSteps(p.log.With("policy", order.Policy), p.now), part: p.steps,
		server: p.server, engine: p.engine, sets: p.sets, begun: p.now(), tick: p.tick, listEvery: p.listEvery,
		stores: map[string]*catalog{}, sending: map[string]Sending{}}
	var err error
	if r.schedules, err = schedules(order); err != nil {
		return nil, err
	}
	for _, s := range order.Stores {
		opened, err := Open(s, p.who)
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

// run carries the order out until ctx ends. What the engine is backing up then goes on until life ends, in lanes of the
// engine's for which run does not wait. Nothing that takes long holds up what must not wait for it: logs are backed up
// and sent beside data, and the volume is freed beside all that goes to a store or comes from it.
func (r *runner) run(life, ctx context.Context) {
	var lanes sync.WaitGroup
	lane := func(pause time.Duration, do func(context.Context)) { lanes.Go(func() { each(ctx, pause, do) }) }
	lane(r.tick, r.readSources)
	r.engine.lanes.Go(func() { each(ctx, r.tick, func(ctx context.Context) { r.takeData(life, ctx) }) })
	lane(r.tick, func(context.Context) { r.takeLogs(life) })
	lane(r.tick, func(context.Context) { r.forgetAll() })
	for _, c := range r.stores {
		lane(r.listEvery, func(ctx context.Context) {
			r.try("list", "list "+c.name, func() error { return c.list(ctx) })
			r.try("list", "claim the folder in "+c.name, func() error { return r.claim(ctx, c) })
		})
		for _, logs := range []bool{false, true} {
			lane(r.tick, func(ctx context.Context) { r.sendAll(ctx, c, logs) })
		}
		// What goes is told by a list.
		lane(r.listEvery, func(ctx context.Context) { r.removeAll(ctx, c) })
		lane(r.tick, func(ctx context.Context) { r.checkAll(ctx, c) })
		lane(r.tick, func(ctx context.Context) { r.checkAgain(ctx, c) })
	}
	lanes.Wait()
	for _, c := range r.stores {
		c.store.Close()
	}
}

func (r *runner) readSources(ctx context.Context) {
	r.try("read", "read the databases", func() error {
		ctx, cancel := context.WithTimeout(ctx, asking)
		defer cancel()
		at := r.now()
		db, err := r.engine.open.Ask(ctx)
		if err != nil {
			return err
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
	o := &Observed{Begun: r.begun, Now: r.now(), Own: r.own(), Unread: !r.sets.read()}
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

// step names the step that takes a backup.
func (t Take) step() string {
	return fmt.Sprintf("take a %s backup of %s", strings.ToLower(string(t.Kind)), t.Database)
}

func (r *runner) due(lane string, all []Take) []Take {
	var asked []string
	for _, t := range all {
		asked = append(asked, t.step())
	}
	r.only(lane, asked...)
	return all
}

// takeData takes the backups of data that are due, one after another, until ctx ends.
func (r *runner) takeData(life, ctx context.Context) {
	o := r.observed()
	for _, t := range r.due("take data", r.planData(o)) {
		if ctx.Err() != nil {
			return
		}
		r.try("take data", t.step(), func() error { return r.engine.take(life, r.order, t, r.expected(o, t)) })
	}
}

// takeLogs takes the backups of logs that are due, each database's by itself.
func (r *runner) takeLogs(life context.Context) {
	for _, t := range r.due("take logs", r.planLogs(r.observed())) {
		r.engine.lanes.Go(func() {
			r.try("take logs", t.step(), func() error { return r.engine.take(life, r.order, t, 0) })
		})
	}
}

// expected is how many bytes a backup may have, by the last of its kind; 0 where there is none.
func (r *runner) expected(o *Observed, t Take) (bytes int64) {
	var newest time.Time
	for _, d := range o.all() {
		if d.Kind == t.Kind && d.Family == t.Family && strings.EqualFold(d.Database, t.Database) &&
			d.Finished.After(newest) {
			newest, bytes = d.Finished, d.Stored()
		}
	}
	return bytes
}

// sendAll brings to a store what it lacks of logs, or of data.
func (r *runner) sendAll(ctx context.Context, c *catalog, logs bool) {
	lane := "send data to " + c.name
	if logs {
		lane = "send logs to " + c.name
	}
	var all []errand
	for _, s := range r.planSends(r.observed()) {
		if s.Store == c.name && (s.Kind == backup.Log) == logs {
			all = append(all, errand{fmt.Sprintf("send the %s (%s) to %s", s.Set, s.ID, c.name), s.Folder(),
				func() error { return r.sendOne(ctx, c, lane, s) }})
		}
	}
	r.each(ctx, lane, c.store, all)
}

func (r *runner) sendOne(ctx context.Context, c *catalog, lane string, s Send) error {
	if s.Damaged != nil && !slices.ContainsFunc(c.current().Sets, func(k Kept) bool { return k.ID == s.ID && k.Damaged }) {
		return nil // it was read back whole meanwhile, or removed
	}
	going := Sending{Set: s.Set, Store: c.name, Of: s.Stored()}
	r.note(lane, &going)
	defer r.note(lane, nil)
	if err := r.sets.whole(ctx, s.Own, s.Damaged != nil); err != nil {
		return err
	}
	if err := r.clear(ctx, c, s); err != nil {
		return err
	}
	to := r.storeOf(c.name)
	parcel, err := r.sets.pack(ctx, s.Own, to)
	if err != nil {
		return err
	}
	may := func(ctx context.Context) error { return r.mine(ctx, c) }
	err = send(ctx, c.store, r.sets, parcel, may, func(bytes int64) {
		going.Bytes, going.Of = bytes, parcel.Stored()
		r.note(lane, &going)
	})
	if err != nil {
		return err
	}
	return r.sets.stored(s.Own, r.place(c.name), r.now())
}

// Sending is how far a set is on its way to a store.
type Sending struct {
	backup.Set
	Store     string
	Bytes, Of int64
}

func (r *runner) note(step string, s *Sending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == nil {
		delete(r.sending, step)
		return
	}
	r.sending[step] = *s
}

// forgetAll frees the backup volume.
func (r *runner) forgetAll() {
	const lane, free, missing = "forget", "free the backup volume", "account for what was backed up"
	o := r.observed()
	var all []errand
	for _, own := range r.planForget(o) {
		all = append(all, errand{fmt.Sprintf("remove the %s (%s) from the backup volume", own.Set, own.ID), "",
			func() error { return r.sets.forget(own) }})
	}
	r.each(context.Background(), free, nil, all)
	r.try(lane, missing, func() error { return r.engine.account(r.order.Policy, o.all(), r.server, o.listed()) })
	r.only(lane, missing)
}

// removeAll removes from a store what nobody has need of.
func (r *runner) removeAll(ctx context.Context, c *catalog) {
	var all []errand
	for _, one := range r.planRemovals(r.observed().in(c.name)) {
		all = append(all, errand{fmt.Sprintf("remove %s from %s", one.folder(), c.name), one.folder(), func() error {
			if err := r.mine(ctx, c); err != nil {
				return err
			}
			if err := remove(ctx, c.store, one, r.now()); err != nil || one.Set == nil {
				return err
			}
			c.change(one.Set.ID, func(Kept) *Kept { return nil })
			return nil
		}})
	}
	r.each(ctx, "remove from "+c.name, c.store, all)
}

// checkAll reads back what a store has.
func (r *runner) checkAll(ctx context.Context, c *catalog) {
	r.readBack(ctx, c, "read back from "+c.name, r.planChecks(r.observed().in(c.name), r.server))
}

// checkAgain reads back what a person wants to have read back once more. It is a lane of its own: it may take hours,
// and what was taken meanwhile is to be read back as well.
func (r *runner) checkAgain(ctx context.Context, c *catalog) {
	r.readBack(ctx, c, "read back again from "+c.name, r.planChecksAgain(r.observed().in(c.name)))
}

func (r *runner) readBack(ctx context.Context, c *catalog, lane string, checks []Check) {
	var all []errand
	for _, one := range checks {
		all = append(all, errand{fmt.Sprintf("%s: the %s (%s)", lane, one.Set, one.ID), one.Folder(),
			func() error { return r.check(ctx, c, one) }})
	}
	r.each(ctx, lane, c.store, all)
}

func (r *runner) check(ctx context.Context, c *catalog, one Check) error {
	may := func(ctx context.Context) error { return r.mine(ctx, c) }
	damage, err := check(ctx, c.store, one.Kept, r.server, may, r.now)
	if errors.Is(err, errRemoved) {
		c.change(one.ID, func(Kept) *Kept { return nil })
		return nil
	}
	if err != nil {
		return err
	}
	if damage != "" {
		r.log.Error("a backup in a store is damaged", "store", one.Store, "backup", one.Key(), "damage", damage)
	}
	c.change(one.ID, func(k Kept) *Kept {
		k.Verified, k.Damaged = damage == "", damage != ""
		if v := r.order.Verification; v != nil {
			k.CheckedFor = v.Request
		}
		return &k
	})
	return nil
}

// failing are the steps that failed the last time, the policy's and the server's, for the status.
func (r *runner) failing() map[string]string {
	var all map[string]string
	for _, s := range []*steps{r.steps, r.part} {
		for what, err := range s.failures() {
			if all == nil {
				all = map[string]string{}
			}
			all[what] = err.Error()
		}
	}
	return all
}
