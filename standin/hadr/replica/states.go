// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// SynchronizationState is sys.dm_hadr_database_replica_states.synchronization_state.
type SynchronizationState uint8

// The synchronization states, with SQL Server's numbers.
const (
	NotSynchronizing SynchronizationState = 0
	Synchronizing    SynchronizationState = 1
	Synchronized     SynchronizationState = 2
	Reverting        SynchronizationState = 3
	Initializing     SynchronizationState = 4
)

// String is synchronization_state_desc.
func (s SynchronizationState) String() string {
	return [...]string{"NOT SYNCHRONIZING", "SYNCHRONIZING", "SYNCHRONIZED", "REVERTING", "INITIALIZING"}[s]
}

// States is a group as this server sees it at one moment.
type States struct {
	Role Role
	Self uuid.UUID
	// Configuration is the newest one known; on the primary the newest committed one.
	Configuration *group.Configuration
	// Promoting says that a failover to the local replica is under way.
	Promoting bool
	// Nameless says that no primary is named, HalfKnown that nothing is shown of other replicas but their names,
	// HardenedUnknown that the end of the local copies is not.
	Nameless, HalfKnown, HardenedUnknown bool
	// LeaseLeft is what is left of the write lease.
	LeaseLeft time.Duration
	// CommitPendingSince is since when a configuration is being committed; zero when none is.
	CommitPendingSince time.Time
	// Unready says that no local copy is shown as ready for a failover.
	Unready   bool
	Replicas  []ReplicaState
	Databases []DatabaseState
}

// ReplicaState is a replica as this server sees it: its own one, and on the primary all.
type ReplicaState struct {
	ID        uuid.UUID
	Local     bool
	Role      Role
	Connected bool
	Joined    bool
	Health    uint8
	// ErrorNumber, ErrorText and ErrorTime are the last failed connection; 0 for none.
	ErrorNumber int32
	ErrorText   string
	ErrorTime   time.Time
}

// DatabaseState is one copy of a database as this server sees it: its own, and on the primary all.
type DatabaseState struct {
	ID, Replica       uuid.UUID
	Name              string
	Local, Primary    bool
	State             SynchronizationState
	CommitParticipant bool
	Suspended         bool
	SuspendReason     uint8
	Joined            bool
	// Progress is how far the copy is; on the primary's own copy only End and Commit count.
	Received, Hardened, Redone             storage.LSN
	ReceivedTime, HardenedTime, RedoneTime time.Time
	Sent                                   storage.LSN
	SentTime                               time.Time
	// SendQueue and RedoQueue are in KB, SendRate and RedoRate in KB/s.
	SendQueue, SendRate, RedoQueue, RedoRate int64
	End, Commit, Truncation, Recovery        storage.LSN
	CommitTime                               time.Time
	// Lag is secondary_lag_seconds; -1 when it is not known.
	Lag int64
	// InLine says that the copy, a secondary's, has no log of its own: Recovery is no position then.
	InLine bool
	// SuspendPending says that a forced failover is about to suspend the copy.
	SuspendPending bool
	// Known is false when the primary never heard of the copy in this epoch.
	Known bool
}

// The values of synchronization_health.
const (
	notHealthy       = 0
	partiallyHealthy = 1
	healthy          = 2
)

// States describes the group.
func (g *Group) States() *States {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &States{Role: g.role, Self: g.self, Configuration: g.configLocked()}
	s.Unready = g.role != Primary && !g.connectedLocked() && g.host.Answers(config.UnreadyWhenDisconnected)
	s.Nameless = g.role == Secondary && g.host.Answers(config.NoPrimaryName)
	s.HalfKnown = g.role == Resolving && !g.heard && g.host.Answers(config.HalfKnownReplicas)
	s.HardenedUnknown = g.role == Resolving && g.host.Answers(config.HardenedUnknown)
	s.LeaseLeft = max(0, g.lease-BootTime())
	l := g.lead
	s.Promoting = l != nil && g.role == Resolving
	if l != nil && l.proposed != nil {
		s.CommitPendingSince = l.proposedAt.UTC()
	}
	c := s.Configuration
	for i := range c.Databases {
		d := &c.Databases[i]
		s.Databases = append(s.Databases, g.localStateLocked(c, d))
		if g.role != Primary || l == nil {
			continue
		}
		for j := range c.Replicas {
			if r := &c.Replicas[j]; r.ID != g.self && r.Data() {
				s.Databases = append(s.Databases, l.remoteStateLocked(c, d, r))
			}
		}
	}
	if self := c.Replica(g.self); self == nil || !self.Data() {
		s.Databases = slices.DeleteFunc(s.Databases, func(d DatabaseState) bool { return d.Local })
	}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		switch {
		case r.ID == g.self:
			s.Replicas = append(
				s.Replicas,
				ReplicaState{
					ID:        r.ID,
					Local:     true,
					Role:      g.shownRoleLocked(),
					Joined:    true,
					Connected: g.connectedLocked(),
					Health:    replicaHealth(s.Databases, c, r),
				},
			)
		case g.role == Primary && l != nil:
			s.Replicas = append(s.Replicas, l.replicaStateLocked(s.Databases, r))
		}
	}
	return s
}

// connectedLocked tells whether the local replica is in touch with its group. Hearing of a primary is not enough: a
// secondary that is bound to an earlier one takes none of the new one's log.
func (g *Group) connectedLocked() bool {
	switch g.role {
	case Primary:
		return true
	case Secondary:
		r := g.st.Accepted.Replica(g.self)
		return r != nil && g.followsLocked(g.contact.primary) && !g.contact.at.IsZero() &&
			time.Since(g.contact.at) < r.Timeout()
	}
	return false
}

func (l *leadership) replicaStateLocked(all []DatabaseState, r *group.Replica) ReplicaState {
	out := ReplicaState{ID: r.ID, Joined: r.Joined, Role: Resolving, Health: replicaHealth(all, l.g.configLocked(), r)}
	if p := l.peers[r.ID]; p != nil {
		out.Connected = p.connected && p.reply.Known && time.Since(p.lastReply) < p.timeoutLocked()
		if out.Connected {
			out.Role = p.reply.Role
		}
		if !p.connected {
			out.ErrorNumber, out.ErrorText, out.ErrorTime = p.problem.number, p.problem.text, p.problem.at
		}
	}
	if r.Mode == group.ConfigurationOnly && out.Connected {
		out.Health = healthy
	}
	return out
}

// replicaHealth follows sys.dm_hadr_availability_replica_states: that of the replica's least healthy database. One that
// has joined no database, or fewer than the group has, is not healthy, the primary of an empty group among them.
func replicaHealth(all []DatabaseState, c *group.Configuration, r *group.Replica) uint8 {
	if !r.Data() {
		return healthy
	}
	worst, joined := uint8(healthy), 0
	for i := range all {
		if d := &all[i]; d.Replica == r.ID && (d.Joined || d.Primary) {
			worst, joined = min(worst, d.Health(r)), joined+1
		}
	}
	if joined == 0 || joined < len(c.Databases) {
		return notHealthy
	}
	return worst
}

// Health follows sys.dm_hadr_database_replica_states.synchronization_health.
func (d *DatabaseState) Health(r *group.Replica) uint8 {
	switch {
	case d.State == Synchronized, d.State == Synchronizing && r.Mode == group.Asynchronous:
		return healthy
	case d.State == NotSynchronizing:
		return notHealthy
	}
	return partiallyHealthy
}

// localStateLocked is the local copy.
func (g *Group) localStateLocked(c *group.Configuration, d *group.Database) DatabaseState {
	out := DatabaseState{
		ID:      d.ID,
		Replica: g.self,
		Name:    d.Name,
		Local:   true,
		Known:   true,
		Lag:     -1,
		Primary: g.role == Primary,
	}
	lc := g.st.Databases[d.ID]
	cs := g.copyStateLocked(d.ID)
	if lc != nil {
		out.Joined, out.Suspended, out.SuspendReason = lc.Joined, lc.Suspended, lc.Reason
	}
	var db *storage.Database
	if lc != nil {
		db = g.host.Database(lc.Name)
	}
	self := c.Replica(g.self)
	out.State = g.localSynchronizationLocked(self, d, cs, db != nil && out.Joined && !out.Suspended, out.Suspended)
	out.CommitParticipant = out.State == Synchronized
	if db != nil {
		g.localProgressLocked(&out, self, cs, db)
	}
	return out
}

// localSynchronizationLocked is the state of the local copy; moves says that it is open, joined and not suspended.
func (g *Group) localSynchronizationLocked(
	self *group.Replica,
	d *group.Database,
	cs *copyState,
	moves, suspended bool,
) SynchronizationState {
	streams := g.streams[d.ID] != nil
	switch {
	case cs.seeding:
		return Initializing
	case cs.reverting:
		return Reverting
	case !cs.initializing.IsZero() && streams && !suspended:
		return Initializing
	case !moves:
		return NotSynchronizing
	case g.role == Primary && self != nil && self.Mode == group.Synchronous:
		return Synchronized
	case g.role == Primary:
		return Synchronizing
	case g.role == Secondary && streams && slices.Contains(d.Synchronized, g.self):
		return Synchronized
	case g.role == Secondary && streams:
		return Synchronizing
	}
	return NotSynchronizing
}

// localProgressLocked is how far the local copy is.
func (g *Group) localProgressLocked(out *DatabaseState, self *group.Replica, cs *copyState, db *storage.Database) {
	p := g.progressLocked(out.ID, db)
	out.End, out.Commit, out.CommitTime = p.Received, p.Redone, p.RedoneCommit
	out.Hardened, out.HardenedTime = p.Hardened, p.HardenedTime
	out.Truncation = db.Log().Oldest()
	if g.role == Primary && g.lead != nil {
		// The primary's own row has the minimum over its secondaries.
		for key, rem := range g.lead.remotes {
			if key.database == out.ID && !rem.Hardened.IsZero() && rem.Hardened.Less(out.Hardened) {
				out.Hardened, out.HardenedTime = rem.Hardened, rem.HardenedTime
			}
		}
		if self != nil && self.Mode == group.Asynchronous {
			out.Hardened, out.HardenedTime = storage.LSN{}, time.Time{}
		}
	}
	if g.role != Primary {
		out.Received, out.ReceivedTime = p.Received, p.ReceivedTime
		out.Redone, out.RedoneTime = p.Redone, p.RedoneTime
		out.RedoQueue, out.RedoRate = int64(p.RedoQueue>>10), int64(p.RedoRate>>10)
		out.SendQueue = cs.sendQueue
	}
	// On the primary it is where its log began to be its own, on a secondary where it parts from the primary's.
	out.Recovery, out.InLine = cs.recovery, g.role != Primary && cs.recovery.IsZero()
	if g.role == Primary {
		forks := db.Identity().Forks
		out.Recovery = forks[len(forks)-1].Start
	}
}

// remoteStateLocked is a secondary's copy as the primary knows it; it goes stale when the replica is disconnected.
func (l *leadership) remoteStateLocked(c *group.Configuration, d *group.Database, r *group.Replica) DatabaseState {
	out := DatabaseState{ID: d.ID, Replica: r.ID, Name: d.Name, Lag: -1}
	rem := l.remotes[remoteKey{r.ID, d.ID}]
	p := l.peers[r.ID]
	out.SuspendPending = c.Forced != 0 && (p == nil || !p.reply.Known || p.reply.ForcedSeen < c.Forced)
	if rem == nil {
		return out
	}
	out.Known, out.Joined, out.Suspended, out.SuspendReason = true, rem.Joined, rem.Suspended ||
		l.suspended[d.ID], rem.Reason
	connected := p != nil && p.connected
	switch {
	case !connected || out.Suspended:
		out.State = NotSynchronizing
	case rem.Reverting:
		out.State = Reverting
	case rem.Initializing && rem.streaming:
		out.State = Initializing
	case slices.Contains(d.Synchronized, r.ID) && rem.streaming:
		out.State = Synchronized
	case rem.streaming:
		out.State = Synchronizing
	case l.g.m.isSeeding(l.g.id, d.ID, r.ID):
		out.State = Initializing
	}
	out.CommitParticipant = slices.Contains(d.Synchronized, r.ID)
	shown := &rem.shown
	out.Received, out.Hardened, out.Redone = shown.Received, shown.Hardened, shown.Redone
	out.ReceivedTime, out.HardenedTime, out.RedoneTime = shown.ReceivedTime, shown.HardenedTime, shown.RedoneTime
	out.Sent, out.SentTime = rem.sent, rem.sentTime
	out.Commit, out.CommitTime = shown.Redone, shown.RedoneCommit
	out.End, out.Truncation = shown.Hardened, storage.LSN{}
	out.Recovery, out.InLine = rem.Recovery, rem.Recovery.IsZero()
	out.RedoQueue, out.RedoRate = int64(shown.RedoQueue>>10), int64(shown.RedoRate>>10)
	out.SendRate = int64(rem.sendRate.rate >> 10)
	if db := l.g.host.Database(d.Name); db != nil {
		out.SendQueue = rem.queue(db.Log())
		applied, at := db.Applied()
		switch {
		case !rem.Redone.Less(applied):
			out.Lag = 0
		case !rem.RedoneCommit.IsZero() && at.After(rem.RedoneCommit):
			out.Lag = int64(at.Sub(rem.RedoneCommit).Seconds())
		}
	}
	return out
}

func (m *Manager) isSeeding(group, database, remote uuid.UUID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seeding {
		if s.Group == group && s.Database == database && s.Remote == remote && s.Ended.IsZero() {
			return true
		}
	}
	return false
}

// ReplicationLimit is the position up to which the log reader may read: hardened at every secondary, or, with trace
// flag 1448, at every synchronous one. ok is false when the local replica is not primary. A secondary that was not
// heard of since this replica became primary holds everything back.
func (g *Group) ReplicationLimit(database string) (limit storage.LSN, ok bool) {
	if g.forwarding() {
		// What arrives at a forwarder is replicated by the global primary.
		return limit, false
	}
	ignoreAsynchronous := g.host.TraceFlag(1448)
	g.mu.Lock()
	defer g.mu.Unlock()
	id, c := g.copyNamedLocked(database)
	l := g.lead
	if c == nil || g.role != Primary || l == nil || !l.open || !g.leaseValidLocked() {
		return limit, false
	}
	db := g.host.Database(c.Name)
	if db == nil {
		return limit, false
	}
	limit = db.Log().Hardened()
	for i := range l.committed.Replicas {
		r := &l.committed.Replicas[i]
		if r.ID == g.self || !r.Data() || (r.Mode == group.Asynchronous && ignoreAsynchronous) {
			continue
		}
		rem := l.remotes[remoteKey{r.ID, id}]
		if rem == nil {
			return storage.LSN{}, true
		}
		if rem.Hardened.Less(limit) {
			limit = rem.Hardened
		}
	}
	return limit, true
}
