// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// A distributed availability group is a Group whose replicas are availability groups. It lives beside its member's
// primary: it leads, or follows the other member, while the member ("the local group") is primary here, and is
// RESOLVING elsewhere. A member never writes to its databases by itself: the distributed group makes them primary
// copies at the global primary, and has them take log at the forwarder, whose group sends on what arrives.
// (docs/database-engine/availability-groups/windows/distributed-availability-groups.md)

// drainTimeout bounds how long SET (ROLE = SECONDARY) waits for the forwarder to have all log.
const drainTimeout = 10 * time.Second

// distributed tells whether the group's replicas are groups.
func (g *Group) distributed() bool { return g.over != uuid.Nil }

// Distributed tells whether the group is a distributed one.
func (g *Group) Distributed() bool { return g.distributed() }

// Above is the distributed group that this group is a member of; nil when there is none.
func (g *Group) Above() *Group { return g.above.Load() }

// Member is the local group that is this distributed group's member here; nil for an ordinary group.
func (g *Group) Member() *Group {
	if !g.distributed() {
		return nil
	}
	return g.m.groupByID(g.over)
}

// leading is the epoch of an open leadership; 0 while this replica is not primary.
func (g *Group) leading() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.role != Primary || g.lead == nil || !g.lead.open {
		return 0
	}
	return g.lead.epoch
}

// overPrimary tells whether the group may talk to others: a distributed one only where its member is primary.
func (g *Group) overPrimary() bool {
	if !g.distributed() {
		return true
	}
	local := g.Member()
	return local != nil && local.leading() != 0
}

// forwarding tells whether the group's databases are not written to here although the group is primary.
func (g *Group) forwarding() bool {
	d := g.above.Load()
	return d != nil && d.Role() != Primary
}

// linkDistributed has every group know the distributed one above it.
func (m *Manager) linkDistributed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	above := map[uuid.UUID]*Group{}
	for _, d := range m.groups {
		if d.distributed() {
			above[d.over] = d
		}
	}
	for id, g := range m.groups {
		g.above.Store(above[id])
	}
}

// DistributedSpec is what CREATE and JOIN of a distributed group need besides its configuration.
type DistributedSpec struct {
	// Local is the member group of this server; it must be primary here.
	Local *Group
	// Owner is the login that runs the statement: seeded databases belong to it.
	Owner []byte
}

// CreateDistributed is CREATE AVAILABILITY GROUP ... WITH (DISTRIBUTED): the local group's databases are the
// distributed group's. It returns when this server is the global primary.
func (m *Manager) CreateDistributed(ctx context.Context, c *group.Configuration, spec DistributedSpec) error {
	local := spec.Local
	epoch := local.leading()
	if epoch == 0 {
		return failure(41140, local.Name())
	}
	self := c.Server(local.Name())
	c.ID, c.Primary, c.Sequence = uuid.New(), self.ID, group.First(1)
	c.Options.Distributed, self.Joined = true, true
	st := &durable{
		ID:                c.ID,
		Name:              c.Name,
		Self:              self.ID,
		Over:              local.ID(),
		Intent:            Primary,
		CreateAnyDatabase: true,
		GrantedBy:         spec.Owner,
		Databases:         map[uuid.UUID]*localCopy{},
	}
	before := c.Clone()
	before.Sequence = 0
	for _, d := range local.Configuration().Databases {
		c.Databases = append(c.Databases, group.Database{ID: d.ID, Name: d.Name, Family: d.Family})
		st.Databases[d.ID] = &localCopy{Name: d.Name, Joined: true}
	}
	st.Accepted, st.Promised = before, 1
	g := newGroup(m, st)
	g.overEpoch = epoch
	if err := m.add(g, failure(19509, g.name)); err != nil {
		return err
	}
	if err := g.begin(1, before, c); err != nil {
		return errors.Join(err, m.forget(g))
	}
	err := g.waitPrimary(ctx)
	// Until now commits did not ask the distributed group. It is there also where nobody waited for it so long.
	m.linkDistributed()
	return err
}

// JoinDistributed is ALTER AVAILABILITY GROUP ... JOIN AVAILABILITY GROUP ON: it waits for the global primary, and the
// local group follows it from then on. check is told the global primary's configuration.
func (m *Manager) JoinDistributed(
	ctx context.Context,
	name string,
	spec DistributedSpec,
	check func(*group.Configuration) error,
) error {
	local := spec.Local
	epoch := local.leading()
	if epoch == 0 {
		return failure(41140, local.Name())
	}
	if len(local.Configuration().Databases) > 0 {
		return failure(19511, name, local.Name())
	}
	c, err := m.waitOffer(ctx, name, local.Name())
	if err != nil {
		return err
	}
	if err := check(c); err != nil {
		return err
	}
	self := c.Server(local.Name())
	st := &durable{
		ID:                c.ID,
		Name:              c.Name,
		Self:              self.ID,
		Over:              local.ID(),
		Intent:            Secondary,
		Following:         c.Primary,
		ForcedSeen:        c.Forced,
		CreateAnyDatabase: true,
		GrantedBy:         spec.Owner,
		Databases:         map[uuid.UUID]*localCopy{},
	}
	st.Promised, st.Accepted = c.Epoch(), c
	g := newGroup(m, st)
	g.role, g.overEpoch = Secondary, epoch
	if err := m.enter(g, failure(19509, name)); err != nil {
		return err
	}
	m.linkDistributed()
	return nil
}

// ChangeDistributed changes the options of a distributed group: at the global primary for both members, at the
// forwarder as this server knows them until it hears of the global primary again. The documents have both run the
// statement.
func (g *Group) ChangeDistributed(ctx context.Context, change func(*group.Configuration) error) error {
	if g.Role() == Primary {
		return g.Alter(ctx, change)
	}
	if !g.overPrimary() {
		return failure(41140, g.Name())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	next := g.st.Accepted.Clone()
	if err := change(next); err != nil {
		return err
	}
	return g.updateLocked(func(d *durable) { d.Accepted = next })
}

// becomeGlobalPrimary makes the local group's databases those that are written to.
func (g *Group) becomeGlobalPrimary(l *leadership) error {
	g.transition.Lock()
	defer g.transition.Unlock()
	for id, db := range g.local() {
		if err := l.ctx.Err(); err != nil {
			return context.Cause(l.ctx)
		}
		if db.Mode() != storage.Primary {
			if err := takeOver(l.ctx, id, db); err != nil {
				return err
			}
		}
		if err := g.holdForAll(l, id, db); err != nil {
			return err
		}
	}
	// An unfinished end of the log was cut off: the local secondaries have to hear of it.
	g.breakShipping()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead != l {
		return errNotLeading
	}
	g.role, l.open = Primary, true
	g.host.Log().Info("availability group: the local group is the global primary", "group", g.name, "epoch", l.epoch)
	g.broadcastLocked()
	return nil
}

// breakShipping has the local group's secondaries ask again from where the log goes on.
func (g *Group) breakShipping() {
	local := g.Member()
	if local == nil {
		return
	}
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.lead == nil {
		return
	}
	for _, p := range local.lead.peers {
		for _, cancel := range p.workers {
			cancel()
		}
	}
}

// drain ends writing at the global primary and waits until the forwarder, where it is connected, has all log: then
// last_hardened_lsn is the same on both sides.
func (g *Group) drain(ctx context.Context) {
	g.mu.Lock()
	l := g.lead
	if g.role != Primary || l == nil {
		g.mu.Unlock()
		return
	}
	names := g.copyNamesLocked()
	g.mu.Unlock()
	all := g.local()
	for id, db := range all {
		g.host.Disconnect(names[id])
		if err := db.SetMode(ctx, storage.Redo, g.notInRole(id)); err != nil {
			g.host.Log().
				Error("availability group: a database could not leave the primary role", "group", g.Name(), "database", id, "error",
					err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.lead == l && !l.drainedLocked(all) {
		if g.waitLocked(ctx) != nil {
			return
		}
	}
}

func (l *leadership) drainedLocked(all map[uuid.UUID]*storage.Database) bool {
	for key, r := range l.remotes {
		if db := all[key.database]; db != nil && r.streaming && r.Hardened.Less(db.Log().End()) {
			return false
		}
	}
	return true
}

// raise has a global primary begin again in an epoch after one that the other member has promised: the one that this
// server learnt of from the primary before it may be older.
func (g *Group) raise(l *leadership, promised uint32) {
	if err := g.update(func(d *durable) { d.Promised = max(d.Promised, promised) }); err != nil {
		g.host.Log().Error("availability group: the epoch could not be stored", "group", g.Name(), "error", err)
		return
	}
	g.resign(l, Primary, "the other availability group has promised a newer epoch")
}

// ownEpochLocked is the first epoch from on that the local replica may lead in: the first member of a distributed group
// leads in odd ones, the second in even ones, for nothing but a person decides between them.
func (g *Group) ownEpochLocked(epoch uint32) uint32 {
	if !g.distributed() {
		return epoch
	}
	odd := g.st.Accepted.Replicas[0].ID == g.self
	if (epoch%2 == 1) != odd {
		epoch++
	}
	return epoch
}

// hasMoreLocked tells whether the local copy may have log that the primary does not have. A forced failover does not
// suspend a copy that has nothing to lose: so ends the documented failover without loss of data.
func (g *Group) hasMoreLocked(name string, id uuid.UUID, primary []primaryDatabase) bool {
	db := g.host.Database(name)
	if db == nil {
		return false
	}
	for i := range primary {
		if p := &primary[i]; p.ID == id {
			_, parts := db.Identity().Parts(db.Log().End(), p.Forks)
			return parts || p.End.Less(db.Log().End())
		}
	}
	return true
}

// releaseDistributed lets go of the log that a database of a distributed group was kept for. What the forwarder's group
// has of it, that group releases itself.
func (g *Group) releaseDistributed(ctx context.Context, name string) error {
	db := g.host.Database(name)
	if db == nil {
		return nil
	}
	for _, r := range g.Configuration().Replicas {
		if _, held := db.Holds()[holdOwner(r.ID)]; held {
			if err := db.HoldLog(holdOwner(r.ID), storage.LSN{}); err != nil {
				return err
			}
		}
	}
	local := g.Member()
	if g.Role() != Secondary || local == nil || local.leading() == 0 || local.Has(name) {
		return nil
	}
	// It was not passed on to the forwarder's group yet.
	if err := db.SetMode(ctx, storage.Restoring, failure(983, name)); err != nil {
		return err
	}
	return g.host.Restoring(ctx, name, true)
}

// heldByAnother tells whether log is kept for a replica of the distributed group above or of the member below.
func (g *Group) heldByAnother(replica uuid.UUID) bool {
	for _, other := range []*Group{g.above.Load(), g.Member()} {
		if other != nil && other.Configuration().Replica(replica) != nil {
			return true
		}
	}
	return false
}

// DropDistributed is DROP AVAILABILITY GROUP of a distributed group on one of its sides: the local group goes on alone.
func (m *Manager) DropDistributed(ctx context.Context, g *Group) error {
	local := g.Member()
	if local != nil && local.leading() == 0 {
		return failure(41140, local.Name())
	}
	m.keeping.Lock()
	defer m.keeping.Unlock()
	if local == nil {
		return m.dropAbove(g)
	}
	// The local secondaries learn of it first: what is in the configuration comes back.
	err := local.Alter(ctx, func(c *group.Configuration) error {
		c.Above = nil
		return nil
	})
	if err == nil {
		err = m.dropAbove(g)
	}
	if err != nil {
		return err
	}
	return local.reclaim(ctx)
}

// dropAbove forgets a distributed group; its databases stay as they are.
func (m *Manager) dropAbove(g *Group) error {
	g.mu.Lock()
	l := g.lead
	g.lead, g.role, g.stopped = nil, Resolving, true
	streams := g.takeStreamsLocked()
	names := g.copyNamesLocked()
	g.mu.Unlock()
	closeStreams(streams)
	if err := m.forget(g); err != nil {
		return err
	}
	if l != nil {
		l.end(errNotLeading)
	}
	for _, name := range names {
		if err := g.releaseDistributed(m.ctx, name); err != nil {
			return fmt.Errorf("take database %q out of the distributed group: %w", name, err)
		}
	}
	return nil
}

// reclaim makes the databases of a primary that no distributed group stands above those that are written to.
func (g *Group) reclaim(ctx context.Context) error {
	g.transition.Lock()
	defer g.transition.Unlock()
	for id, db := range g.local() {
		if db.Mode() == storage.Primary {
			continue
		}
		if err := takeOver(ctx, id, db); err != nil {
			return err
		}
		g.mu.Lock()
		l := g.lead
		g.mu.Unlock()
		if l == nil {
			return errNotLeading
		}
		if err := g.holdForAll(l, id, db); err != nil {
			return err
		}
	}
	return nil
}
