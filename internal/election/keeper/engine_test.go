// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
)

// The simulated engine knows as little as the protocol assumes: FAILOVER is granted by the local configuration alone,
// so that choosing the replica with the newest one is the protocol's business; and an OFFLINE replica neither takes log
// nor agrees to configurations of any primary that was there before.

func (r *run) call(ctx time.Duration, do func(now time.Duration)) error {
	w := r.s.w
	if r.dead {
		return errors.New("connection refused")
	}
	deadline := w.now + ctx
	guarded := func(now time.Duration) {
		if now < deadline || w.breaks.ignoreGuard {
			do(now)
		}
	}
	if r.severed {
		r.queued = append(r.queued, guarded)
		return fmt.Errorf("read: connection reset by peer: %w", keeper.ErrUnanswered)
	}
	if r.frozen {
		r.queued = append(r.queued, guarded)
		return fmt.Errorf("waiting: %w", context.DeadlineExceeded)
	}
	guarded(w.now)
	return nil
}

func (r *run) thaw() {
	r.frozen, r.severed = false, false
	for _, do := range r.queued {
		do(r.s.w.now)
	}
	r.queued = nil
}

// travel lets the time pass that a statement takes to arrive, and returns what is left then until its deadline.
func (r *run) travel(deadline time.Time) time.Duration {
	if r.lag > 0 {
		lag := r.lag
		r.lag = 0
		for left := lag; left > 0; left -= 200 * time.Millisecond {
			r.s.w.advance(min(left, 200*time.Millisecond))
			r.s.w.meanwhile()
		}
	}
	return deadline.Sub(r.s.w.wall())
}

func (r *run) Observe(context.Context, string) (ballot.Observation, error) {
	if err := r.call(time.Second, func(time.Duration) {}); err != nil {
		return ballot.Observation{}, err
	}
	r.frozen, r.freezeNext = r.freezeNext, false
	r.severed, r.severNext = r.severNext, false
	o := ballot.Observation{Exists: r.s.exists, Role: r.role, Mode: ballot.ModeSynchronous, Primary: r.follows}
	o.Connected = r.role == ballot.RoleSecondary && r.s.w.leads(r.follows, r.s)
	if p := r.s.w.primary(); r.nods && p != nil && r.role == ballot.RoleSecondary && r.s.w.engines(p, r.s) {
		o.Primary, o.Connected = p.name, true
		if r.follows != "" && r.follows != p.name {
			o.Standing = []string{"Content"}
		}
	}
	if r.stands && r.role == ballot.RoleSecondary {
		o.Standing = []string{"Content"}
	}
	if r.suspended {
		o.Suspended = []string{"Content"}
	}
	o.CommitPending, o.Skew = r.pending, r.skew
	if r.lingers > 0 {
		r.lingers--
		o.Role = r.lingering
	}
	r.otherwise(&o)
	return o, nil
}

func (r *run) Inspect(context.Context, string) (ballot.Inspection, error) {
	if r.dead || r.frozen {
		return ballot.Inspection{}, errors.New("no answer")
	}
	i := ballot.Inspection{Sequence: r.s.config.sequence, Names: []string{"Content"}}
	if r.behind {
		i.Sequence--
	}
	if r.s.w.breaks.ignoreSequence {
		i.Sequence = 1
	}
	for _, name := range names {
		mode := ballot.ModeSynchronous
		if r.s.w.breaks.asynchronous || r.s.w.breaks.smallQuorum && name != r.s.name {
			mode = ballot.ModeAsynchronous
		}
		i.Replicas = append(i.Replicas, ballot.Replica{Server: name, Mode: mode})
	}
	if r.s.w.breaks.noReplicas {
		i.Replicas = nil
	}
	if r.s.w.breaks.lostReplicas {
		i.Replicas = append(
			i.Replicas,
			ballot.Replica{Server: "lost-0", Mode: ballot.ModeSynchronous},
			ballot.Replica{Server: "gone-0", Mode: ballot.ModeSynchronous},
		)
	}
	for _, s := range r.s.w.servers {
		if s != r.s && r.role != ballot.RolePrimary && !r.tellsAll || s.bare {
			continue
		}
		d := ballot.DatabaseState{Server: s.name, Name: "Content", Local: s == r.s, State: "NOT SYNCHRONIZING",
			Suspended: s == r.s && r.suspended, HardenedLSN: fmt.Sprint(len(s.log)),
			Ready: r.s.config.synced[s.name] && r.tellsReadiness()}
		if r.s.config.synced[s.name] {
			d.State = "SYNCHRONIZED"
		}
		if s == r.s && r.role == ballot.RoleResolving && r.s.w.returning.hardenedUnknown {
			d.HardenedLSN = ""
		}
		if r.s.w.shown != nil {
			r.s.w.shown(&d)
		}
		i.Databases = append(i.Databases, d)
	}
	return i, nil
}

func (r *run) RenewLease(_ context.Context, _ string, validity time.Duration, deadline time.Time) error {
	r.renewBy = deadline
	if r.refusesLease {
		return errors.New("there is insufficient system memory (701)")
	}
	return r.call(r.travel(deadline), func(now time.Duration) { r.lease = max(r.lease, now+validity) })
}

func (r *run) Failover(_ context.Context, _ string, validity time.Duration, deadline time.Time) error {
	if r.refuse || !r.s.config.synced[r.s.name] && !r.s.w.breaks.force {
		return keeper.ErrNotSynchronized
	}
	var said error
	if err := r.call(r.travel(deadline), func(now time.Duration) { said = r.failOver(now, validity) }); err != nil {
		return err
	}
	return said
}

func (r *run) Force(_ context.Context, _ string, validity time.Duration, deadline time.Time) error {
	r.s.w.forced = true
	return r.call(r.travel(deadline), func(now time.Duration) { r.take(now, validity, true) })
}

// take makes the replica primary of a new epoch if a majority agrees to it, as the engines of the model do: a FAILOVER
// that finds none comes to nothing. By force it becomes primary alone, and opens once a majority has the configuration.
func (r *run) take(now, validity time.Duration, force bool) (taken bool) {
	if r.role == ballot.RolePrimary {
		return true
	}
	r.lease = max(r.lease, now+validity)
	c := configuration{sequence: (r.s.w.epoch()+1)<<32 | 1, synced: map[string]bool{r.s.name: true}}
	agreed := r.s.w.commit(r.s, c)
	if !agreed && !force {
		return false
	}
	r.s.config, r.s.silent = c, false
	r.role, r.follows, r.ready = ballot.RolePrimary, "", agreed
	r.promoted, r.s.led = now, true
	if agreed {
		r.s.w.checkComplete(r.s)
	}
	return true
}

func (r *run) Offline(ctx context.Context, _ string) error {
	if r.unstoppable || !r.s.exists && !r.frozen {
		return errors.New("refused")
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		r.offlineWithin = time.Until(deadline)
	}
	return r.call(time.Hour, func(time.Duration) {
		r.lingers, r.lingering = r.lingersNext, r.role
		r.role, r.ready, r.follows, r.coming = ballot.RoleResolving, false, "", 0
		r.s.left, r.s.silent = r.s.w.epoch(), r.s.w.breaks.silent
		r.offlines++
		r.s.latch.offline = r.s.latch.on
	})
}

func (r *run) BecomeSecondary(_ context.Context, _ string, deadline time.Time) error {
	if r.s.latched(r.s.w) {
		return fmt.Errorf("error 41104: %w", keeper.ErrNoPrimaryYet)
	}
	return r.call(deadline.Sub(r.s.w.wall()), func(now time.Duration) {
		r.role, r.follows, r.s.silent, r.recovering = ballot.RoleSecondary, "", false, now+r.s.w.breaks.recovery
		r.coming = 0
	})
}

func (r *run) Resume(context.Context, string, []string) error {
	return r.call(time.Hour, func(time.Duration) { r.suspended = false })
}

func (r *run) Copies(context.Context, string, []string) ([]keeper.Copy, error) {
	if r.dead || r.frozen {
		return nil, errors.New("no answer")
	}
	switch {
	case r.outside != "":
		return []keeper.Copy{{Name: "Content", State: r.outside}}, nil
	case r.s.exists && !r.s.bare || len(r.s.log) > 0:
		return []keeper.Copy{{Name: "Content", State: "ONLINE", InGroup: true}}, nil
	}
	return nil, nil
}

func (r *run) Reseed(_ context.Context, _ string, databases []string) error {
	r.reseeded++
	r.gaveUp = databases
	return r.reseedErr
}

func (r *run) EndSessions(context.Context, string, time.Duration) error {
	r.cleared++
	return nil
}

func (r *run) EndWriters(context.Context, string) (int, error) { return 0, nil }

func (r *run) Kill() error {
	if r.unstoppable {
		return errors.New("operation not permitted")
	}
	r.dead = true
	return nil
}

// epoch is the newest one of all.
func (w *world) epoch() (newest int64) {
	for _, s := range w.servers {
		newest = max(newest, s.config.epoch())
	}
	return newest
}

// leads says whether a server's engine is a primary that reaches another one's.
func (w *world) leads(primary string, s *server) bool {
	i := slices.Index(names, primary)
	return i >= 0 && w.servers[i].run.role == ballot.RolePrimary && w.engines(w.servers[i], s)
}

// engines says whether two engines reach each other.
func (w *world) engines(a, b *server) bool {
	return !a.apart[b.name] && !b.apart[a.name] && !a.run.dead && !b.run.dead && !a.run.frozen && !b.run.frozen
}

// accepts says whether a replica agrees to a configuration: not to an older one, and, while OFFLINE, not to one of a
// primary that was there before, or to none.
func (s *server) accepts(c configuration) bool {
	if s.silent || c.sequence < s.config.sequence {
		return false
	}
	return s.run.role != ballot.RoleResolving || c.epoch() > max(s.config.epoch(), s.left) ||
		c.sequence == s.config.sequence
}

// commit lets a majority agree on a configuration of a primary.
func (w *world) commit(p *server, c configuration) bool {
	agreed := []*server{p}
	for _, s := range w.servers {
		if s != p && w.engines(p, s) && s.accepts(c) && s.run.role != ballot.RolePrimary {
			agreed = append(agreed, s)
		}
	}
	if len(agreed) < 2 {
		return false
	}
	for _, s := range agreed {
		s.config = c
	}
	if trace != nil {
		trace("%s %s commits %v with %d", w.now, p.name, c, len(agreed))
	}
	return true
}

// replicate lets every primary that may serve bring its followers up to date and change its configuration.
func (w *world) replicate() {
	for _, p := range w.servers {
		if !p.run.writable() || p.run.frozen {
			continue
		}
		if !p.run.ready {
			if !w.commit(p, p.config) {
				continue
			}
			p.run.ready = true
			w.checkComplete(p)
		}
		w.drawIn(p)
		for _, s := range w.servers {
			if s == p || s.bare || !w.engines(p, s) || s.run.role != ballot.RoleSecondary ||
				s.config.epoch() > p.config.epoch() {
				continue
			}
			if s.run.follows == "" {
				s.run.follows = p.name
			}
			if s.run.follows != p.name || s.run.suspended {
				continue
			}
			s.log = slices.Clone(p.log)
			if !p.config.synced[s.name] {
				w.commit(p, p.config.with(func(m map[string]bool) { m[s.name] = true }))
			}
		}
	}
}

// checkComplete sees whether a new primary has every write that was acknowledged.
func (w *world) checkComplete(p *server) {
	if w.forced {
		return
	}
	for _, id := range w.acked {
		if !slices.Contains(p.log, id) {
			w.report("%s became primary without the acknowledged write %d", p.name, id)
			return
		}
	}
}

// write lets every primary that may serve try one write: it is acknowledged once all synchronized replicas have it; one
// that does not answer is first given up by a configuration commit.
func (w *world) write() {
	for _, p := range w.servers {
		if !p.run.writable() || !p.run.ready || p.run.frozen {
			continue
		}
		w.written++
		id := w.written
		p.log = append(p.log, id)
		acknowledged := true
		for _, s := range w.servers {
			if s == p || !p.config.synced[s.name] {
				continue
			}
			if w.engines(p, s) && s.run.role == ballot.RoleSecondary && s.run.follows == p.name &&
				s.config.epoch() <= p.config.epoch() {
				s.log = slices.Clone(p.log)
				continue
			}
			if !w.commit(p, p.config.with(func(m map[string]bool) { delete(m, s.name) })) {
				acknowledged = false
			}
		}
		if acknowledged {
			w.acked = append(w.acked, id)
			if trace != nil {
				trace("%s %s acknowledges %d under %v", w.now, p.name, id, p.config)
			}
		}
	}
	if writers := w.writers(); len(writers) > 1 && !w.breaks.endless {
		w.report("two engines are writable: %v", writers)
	}
}
