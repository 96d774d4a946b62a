// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

var (
	errStopped    = errors.New("the instance stops")
	errNotLeading = errors.New("this replica is no longer primary")
)

// leadership is one epoch of this replica as primary, from the first proposal on. Its fields are guarded by the group's
// mu, apart from those that never change.
type leadership struct {
	g      *Group
	epoch  uint32
	ctx    context.Context
	cancel context.CancelCauseFunc
	wait   sync.WaitGroup

	// committed is the newest committed configuration; at first that of the epoch before.
	committed *group.Configuration
	// proposed is being committed since proposedAt; nil when nothing is.
	proposed   *group.Configuration
	proposedAt time.Time
	queue      []*change
	// open is set once the databases are ready: reads and writes are let in.
	open  bool
	peers map[uuid.UUID]*peer
	// remotes are the secondaries' copies.
	remotes map[remoteKey]*remote
	// suspended are the databases whose movement was suspended at this primary.
	suspended map[uuid.UUID]bool
}

type remoteKey struct{ replica, database uuid.UUID }

// remote is a secondary's copy of a database as the primary knows it. It goes stale when the replica is not connected.
type remote struct {
	secondaryStatus
	// shown is what the views say.
	shown progress
	// streaming is set while log is being sent.
	streaming bool
	// streamEnded is when that ended last.
	streamEnded time.Time
	// gating: commits already wait for it, from gateAt on, although it is not called synchronized yet.
	gating   bool
	gateAt   storage.LSN
	sent     storage.LSN
	sentTime time.Time
	sendRate rateMeter
	// seedFailed is why automatic seeding was given up; it is tried again when the cause may be gone.
	seedFailed string
}

// change is a statement's change of the configuration.
type change struct {
	apply func(*group.Configuration) error
	done  chan error
}

// startLeadingLocked begins an epoch: first is proposed, old is what it replaces.
func (g *Group) startLeadingLocked(epoch uint32, old, first *group.Configuration) *leadership {
	l := &leadership{
		g:          g,
		epoch:      epoch,
		committed:  old,
		proposed:   first,
		proposedAt: time.Now(),
		peers:      map[uuid.UUID]*peer{},
		remotes:    map[remoteKey]*remote{},
		suspended:  map[uuid.UUID]bool{},
	}
	l.ctx, l.cancel = context.WithCancelCause(g.m.ctx)
	g.lead = l
	g.broadcastLocked()
	return l
}

// end stops the epoch's goroutines and fails what waits for it. It does not wait for them.
func (l *leadership) end(reason error) {
	l.cancel(reason)
	l.g.lines.drop()
	l.g.mu.Lock()
	queue := l.queue
	l.queue = nil
	for _, p := range l.peers {
		p.hangUpLocked()
	}
	l.g.broadcastLocked()
	l.g.mu.Unlock()
	for _, c := range queue {
		c.done <- errNotLeading
	}
}

// syncPeersLocked has a peer for every other replica of the newest configuration.
func (l *leadership) syncPeersLocked() {
	c := l.newestLocked()
	for i := range c.Replicas {
		r := &c.Replicas[i]
		if r.ID == l.g.self || l.peers[r.ID] != nil {
			continue
		}
		p := newPeer(l, r.ID)
		l.peers[r.ID] = p
		l.wait.Go(p.run)
	}
	for id, p := range l.peers {
		if c.Replica(id) == nil && !p.leaving {
			p.leaving = true
		}
	}
}

// stopWorkersLocked ends what is sent of a database.
func (l *leadership) stopWorkersLocked(database uuid.UUID) {
	for _, p := range l.peers {
		if cancel := p.workers[database]; cancel != nil {
			cancel()
		}
	}
}

func (l *leadership) newestLocked() *group.Configuration {
	if l.proposed != nil {
		return l.proposed
	}
	return l.committed
}

func (l *leadership) remoteLocked(replica, database uuid.UUID) *remote {
	k := remoteKey{replica, database}
	r := l.remotes[k]
	if r == nil {
		r = &remote{}
		l.remotes[k] = r
	}
	return r
}

func synchronizedIn(c *group.Configuration, database uuid.UUID) []uuid.UUID {
	if d := c.Database(database); d != nil {
		return d.Synchronized
	}
	return nil
}

// configure commits configurations one after another until the epoch ends. The first proposal is there already.
func (l *leadership) configure(ready func() error) {
	g := l.g
	first := true
	for {
		g.mu.Lock()
		l.syncPeersLocked()
		if l.proposed == nil {
			l.proposeLocked()
		}
		if l.ctx.Err() != nil || g.lead != l {
			g.mu.Unlock()
			return
		}
		if l.proposed == nil {
			_ = g.waitLocked(l.ctx)
			g.mu.Unlock()
			continue
		}
		if !l.committedLocked() {
			_ = g.waitLocked(l.ctx)
			g.mu.Unlock()
			continue
		}
		l.finishLocked()
		g.mu.Unlock()
		if first {
			first = false
			if err := ready(); err != nil {
				g.host.Log().Error("availability group: the replica could not become primary", "group", g.Name(), "error", err)
				g.resign(l, Resolving, "its databases could not be opened")
				return
			}
		}
		g.reconcileDatabases(l)
	}
}

// committedLocked tells whether the proposal has its majorities.
func (l *leadership) committedLocked() bool {
	g := l.g
	return group.Committed(l.committed, l.proposed, func(id uuid.UUID) uint64 {
		if id == g.self {
			return g.st.Accepted.Sequence
		}
		if p := l.peers[id]; p != nil {
			return p.accepted
		}
		return 0
	})
}

func (l *leadership) finishLocked() {
	l.committed, l.proposed, l.proposedAt = l.proposed, nil, time.Time{}
	for len(l.queue) > 0 && l.queue[0].apply == nil {
		l.queue[0].done <- nil
		l.queue = l.queue[1:]
	}
	for key, r := range l.remotes {
		if r.gating && slices.Contains(synchronizedIn(l.committed, key.database), key.replica) {
			r.gating = false
		}
	}
	l.g.broadcastLocked()
}

// proposeLocked proposes the next configuration when something is to be changed.
func (l *leadership) proposeLocked() {
	next := l.committed.Clone()
	for len(l.queue) > 0 {
		c := l.queue[0]
		if err := c.apply(next); err != nil {
			c.done <- err
			l.queue = l.queue[1:]
			next = l.committed.Clone()
			continue
		}
		// Its done is sent when the proposal is committed. One at a time: a change may add or remove one voter.
		c.apply = nil
		break
	}
	changed := len(l.queue) > 0
	if !changed {
		changed = l.markJoinedLocked(next)
	}
	if l.markSynchronizedLocked(next) {
		changed = true
	}
	if !changed {
		return
	}
	next.Sequence++
	if err := l.g.updateLocked(func(d *durable) { d.Accept(next.Clone()) }); err != nil {
		l.g.host.Log().Error("availability group: the configuration could not be stored", "group", l.g.name, "error", err)
		l.failQueueLocked(err)
		return
	}
	l.proposed, l.proposedAt = next, time.Now()
	l.syncPeersLocked()
	l.g.broadcastLocked()
}

func (l *leadership) failQueueLocked(err error) {
	for _, c := range l.queue {
		c.done <- err
	}
	l.queue = nil
}

// markJoinedLocked lets one more replica vote that has joined.
func (l *leadership) markJoinedLocked(next *group.Configuration) bool {
	for i := range next.Replicas {
		r := &next.Replicas[i]
		if p := l.peers[r.ID]; p != nil && !r.Joined && p.connected && p.reply.Known && p.reply.Promised <= l.epoch &&
			p.reply.Follows {
			r.Joined = true
			return true
		}
	}
	return false
}

// markSynchronizedLocked updates which secondaries are called synchronized. A secondary is called so only when commits
// already wait for it and it has everything before that; it stays so until it is lost, and commits wait until that,
// too, is committed.
func (l *leadership) markSynchronizedLocked(next *group.Configuration) bool {
	changed := false
	for i := range next.Databases {
		d := &next.Databases[i]
		var keep []uuid.UUID
		for j := range next.Replicas {
			r := &next.Replicas[j]
			if r.ID == next.Primary {
				continue
			}
			was := slices.Contains(d.Synchronized, r.ID)
			is := l.shouldBeSynchronizedLocked(r, d.ID, was)
			if is {
				keep = append(keep, r.ID)
			}
			changed = changed || was != is
		}
		// A replica that was removed is not synchronized any more.
		changed = changed || len(keep) != len(d.Synchronized)
		d.Synchronized = keep
	}
	return changed
}

func (l *leadership) shouldBeSynchronizedLocked(r *group.Replica, database uuid.UUID, was bool) bool {
	rem := l.remotes[remoteKey{r.ID, database}]
	p := l.peers[r.ID]
	self := l.committed.Replica(l.g.self)
	eligible := r.Mode == group.Synchronous && r.Joined && rem != nil && p != nil && self != nil &&
		self.Mode == group.Synchronous &&
		!p.lostLocked() && !l.suspended[database] &&
		!rem.Suspended
	switch {
	case !eligible:
		if rem != nil {
			rem.gating = false
		}
		return false
	case was:
		// A replica that is there but takes no log (it was taken offline, or follows no more) is lost, too.
		return rem.streaming || (p.reply.Follows && time.Since(rem.streamEnded) < lossGrace)
	default:
		return rem.gating && rem.streaming && !rem.Hardened.Less(rem.gateAt)
	}
}

// Alter changes the configuration on the primary: it waits until the change is committed. When ctx ends first, the
// change may still be committed later.
func (g *Group) Alter(ctx context.Context, f func(*group.Configuration) error) error {
	g.mu.Lock()
	l := g.lead
	if g.role != Primary || l == nil {
		g.mu.Unlock()
		return failure(41140, g.name)
	}
	c := &change{apply: f, done: make(chan error, 1)}
	l.queue = append(l.queue, c)
	g.broadcastLocked()
	g.mu.Unlock()
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return failure(41149, g.Name())
	}
}
