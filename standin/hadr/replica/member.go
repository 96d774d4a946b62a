// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// Create is CREATE AVAILABILITY GROUP: c is the configuration without sequence, primary and IDs; lease is the write
// lease's length from started on, 0 for none. It returns when the replica is PRIMARY.
func (m *Manager) Create(ctx context.Context, c *group.Configuration, started, lease time.Duration) (*Group, error) {
	self := c.Server(m.host.ServerName())
	if self == nil {
		return nil, failure(35237, c.Name)
	}
	c.ID, c.Primary, c.Sequence = uuid.New(), self.ID, group.First(1)
	self.Joined = true
	c.Options.WriteLease = lease > 0
	st := &durable{ID: c.ID, Name: c.Name, Self: self.ID, Intent: Resolving, Databases: map[uuid.UUID]*localCopy{}}
	before := c.Clone()
	before.Sequence, before.Databases = 0, nil
	st.Accepted = before
	st.Promised = 1
	for i := range c.Databases {
		st.Databases[c.Databases[i].ID] = &localCopy{Name: c.Databases[i].Name, Joined: true}
	}
	g := newGroup(m, st)
	if lease > 0 {
		g.lease = started + lease
	}
	if err := m.add(g, failure(41114, c.Name)); err != nil {
		return nil, err
	}
	err := g.enlist(ctx, c)
	if err == nil {
		err = g.begin(1, before, c)
	}
	if err != nil {
		return nil, errors.Join(err, g.disband(context.WithoutCancel(ctx), c))
	}
	return g, g.waitPrimary(ctx)
}

// enlist takes the first databases into a group that is being made.
func (g *Group) enlist(ctx context.Context, c *group.Configuration) error {
	for i := range c.Databases {
		d := &c.Databases[i]
		g.attach(d.ID, d.Name)
		if err := g.host.Member(ctx, d.Name, g.self, d.ID); err != nil {
			return fmt.Errorf("take database %q into availability group %q: %w", d.Name, g.name, err)
		}
	}
	return nil
}

// disband frees the databases of a group that could not be made, and forgets it: its gate would let nobody in.
func (g *Group) disband(ctx context.Context, c *group.Configuration) error {
	var failed error
	for i := range c.Databases {
		d := &c.Databases[i]
		g.detach(d.ID, d.Name)
		if err := g.host.Member(ctx, d.Name, uuid.Nil, uuid.Nil); err != nil {
			failed = errors.Join(failed, fmt.Errorf("take database %q out of availability group %q: %w", d.Name, g.name, err))
		}
	}
	return errors.Join(failed, g.m.forget(g))
}

// add has a group take part in this server; taken is the error where the server has it, or one of its name, already.
func (m *Manager) add(g *Group, taken error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.groups {
		if other.id == g.id || equalName(other.name, g.name) {
			return taken
		}
	}
	m.groups[g.id] = g
	return nil
}

// enter is add for a group whose state is to be on disk before anybody is answered in its name.
func (m *Manager) enter(g *Group, taken error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := m.add(g, taken); err != nil {
		return err
	}
	if err := g.st.save(m.folder); err != nil {
		return errors.Join(err, m.forget(g))
	}
	return nil
}

// waitPrimary waits until the replica is PRIMARY, or has failed to become it.
func (g *Group) waitPrimary(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.role != Primary {
		if g.lead == nil {
			return failure(41160, g.name, 41181)
		}
		if err := g.waitLocked(ctx); err != nil {
			return failure(41149, g.name)
		}
	}
	return nil
}

// Join is ALTER AVAILABILITY GROUP ... JOIN: it waits for the primary, which connects to every replica of its
// configuration, and becomes a secondary of it: in a group with CLUSTER_TYPE = EXTERNAL it is RESOLVING until that
// primary has reached it once more.
func (m *Manager) Join(ctx context.Context, name string, clusterType group.ClusterType) (*Group, error) {
	if m.Group(name) != nil {
		return nil, failure(41106, name)
	}
	c, err := m.waitOffer(ctx, name, m.host.ServerName())
	if err != nil {
		return nil, err
	}
	if c.Options.ClusterType != clusterType {
		return nil, failure(47100, name)
	}
	self := c.Server(m.host.ServerName())
	st := &durable{
		ID:         c.ID,
		Name:       c.Name,
		Self:       self.ID,
		Intent:     Secondary,
		Following:  c.Primary,
		ForcedSeen: c.Forced,
		Databases:  map[uuid.UUID]*localCopy{},
	}
	st.Promised, st.Accepted = c.Epoch(), c
	g := newGroup(m, st)
	if clusterType != group.External {
		g.role = Secondary
	}
	if err := m.enter(g, failure(41106, name)); err != nil {
		return nil, err
	}
	return g, nil
}

// Drop is DROP AVAILABILITY GROUP: the group is gone from this server; its databases stay, a secondary's as RESTORING.
func (m *Manager) Drop(ctx context.Context, g *Group) error {
	if d := g.above.Load(); d != nil {
		if err := m.dropAbove(d); err != nil {
			return err
		}
	}
	g.mu.Lock()
	l, wasPrimary := g.lead, g.role == Primary
	g.mu.Unlock()
	if l != nil {
		g.resign(l, Resolving, "DROP AVAILABILITY GROUP")
	}
	g.mu.Lock()
	streams := g.takeStreamsLocked()
	g.role, g.stopped = Resolving, true
	copies := g.copyNamesLocked()
	g.broadcastLocked()
	g.mu.Unlock()
	closeStreams(streams)
	// A group that is stopped serves nobody: it goes also when the client is gone.
	ctx = context.WithoutCancel(ctx)
	for id, name := range copies {
		if err := g.release(ctx, id, name, wasPrimary); err != nil {
			return err
		}
	}
	return m.forget(g)
}

// release takes a database out of the group on this server. The primary's copy goes on as a database of its own, a
// secondary's is RESTORING.
func (g *Group) release(ctx context.Context, id uuid.UUID, name string, primary bool) error {
	if g.distributed() {
		return g.releaseDistributed(ctx, name)
	}
	db := g.host.Database(name)
	primary = primary && !g.forwarding()
	if db != nil {
		mode := storage.Restoring
		if primary {
			mode = storage.Primary
		}
		if err := db.SetMode(ctx, mode, failure(983, name)); err != nil {
			return fmt.Errorf("take database %q out of the group: %w", name, err)
		}
		for owner := range db.Holds() {
			if strings.HasPrefix(owner, storage.HoldReplica) {
				if err := db.HoldLog(owner, storage.LSN{}); err != nil {
					return err
				}
			}
		}
	}
	g.detach(id, name)
	if g.host.Exists(name) {
		if err := g.host.Member(ctx, name, uuid.Nil, uuid.Nil); err != nil {
			return err
		}
		if err := g.host.Restoring(ctx, name, !primary); err != nil {
			return err
		}
	}
	return nil
}

// removed is a replica that finds out that it is no longer in the configuration.
func (g *Group) removed() {
	g.host.Log().Warn("availability group: the local replica was removed", "group", g.Name())
	if err := g.m.Drop(context.Background(), g); err != nil {
		g.host.Log().Error("availability group: the removed replica could not be cleaned up", "group", g.Name(), "error", err)
	}
}

// dropRemovedDatabases releases local copies of databases that the configuration no longer has.
func (g *Group) dropRemovedDatabases(c *group.Configuration) {
	g.mu.Lock()
	gone := g.goneLocked(c)
	for id := range gone {
		if s := g.streams[id]; s != nil {
			s.conn.Close()
		}
	}
	g.mu.Unlock()
	g.letGo(context.Background(), gone, false)
}

// goneLocked are the local copies of databases that the configuration does not have.
func (g *Group) goneLocked(c *group.Configuration) map[uuid.UUID]string {
	gone := g.copyNamesLocked()
	maps.DeleteFunc(gone, func(id uuid.UUID, _ string) bool { return c.Database(id) != nil })
	return gone
}

// letGo releases and forgets local copies of databases that were removed from the group.
func (g *Group) letGo(ctx context.Context, gone map[uuid.UUID]string, primary bool) {
	for id, name := range gone {
		if err := g.leaveGroup(ctx, id, name, primary); err != nil {
			g.host.Log().
				Error("availability group: a removed database could not be released", "group", g.Name(), "database", name, "error",
					err)
		}
	}
}

// leaveGroup releases a local copy and forgets it.
func (g *Group) leaveGroup(ctx context.Context, id uuid.UUID, name string, primary bool) error {
	if err := g.release(ctx, id, name, primary); err != nil {
		return err
	}
	return g.update(func(d *durable) { delete(d.Databases, id) })
}

// joinRestored is for databases whose copy an interrupted seeding has completed, but which are not joined yet.
func (g *Group) joinRestored(c *group.Configuration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range c.Databases {
		d := &c.Databases[i]
		lc := g.st.Databases[d.ID]
		if lc == nil || lc.Joined || g.copyStateLocked(d.ID).seeding {
			continue
		}
		db := g.host.Database(lc.Name)
		if db == nil || db.Mode() != storage.Redo || db.Identity().Family != d.Family {
			continue
		}
		if err := g.updateLocked(func(s *durable) { s.Databases[d.ID].Joined = true }); err != nil {
			g.host.Log().
				Error("availability group: a seeded database could not be joined", "group", g.name, "database", d.Name, "error",
					err)
		}
	}
}

// suspendForcedLocked suspends the movement of all databases once after a forced failover of another server. It comes
// with the configuration that tells of it: no log may be taken, and nothing taken back, between the two.
func (g *Group) suspendForcedLocked(primary []primaryDatabase) error {
	c := g.st.Accepted
	if c == nil || c.Forced <= g.st.ForcedSeen || c.Primary == g.self {
		return nil
	}
	err := g.updateLocked(func(d *durable) {
		d.ForcedSeen = c.Forced
		for id, lc := range d.Databases {
			if !g.distributed() || g.hasMoreLocked(lc.Name, id, primary) {
				lc.Suspended, lc.Reason = true, suspendPartner
			}
		}
	})
	for id, s := range g.streams {
		s.conn.Close()
		delete(g.streams, id)
	}
	return err
}

// reconcileDatabases has the primary's copies attached as its configuration says.
func (g *Group) reconcileDatabases(l *leadership) {
	g.mu.Lock()
	c := l.committed
	if !l.open {
		g.mu.Unlock()
		return
	}
	gone := g.goneLocked(c)
	for id := range gone {
		l.stopWorkersLocked(id)
	}
	g.mu.Unlock()
	g.letGo(l.ctx, gone, true)
	for i := range c.Databases {
		if err := g.adopt(l, &c.Databases[i]); err != nil {
			g.host.Log().
				Error("availability group: a database could not be added on the primary", "group", g.Name(), "database",
					c.Databases[i].Name, "error", err)
		}
	}
	g.releaseHolds(c)
}

// adopt completes ADD DATABASE where the statement was cut short: its client or the instance was gone before its end.
func (g *Group) adopt(l *leadership, d *group.Database) error {
	g.mu.Lock()
	known, gated := g.st.Databases[d.ID] != nil, g.gates[d.ID] != nil
	g.mu.Unlock()
	db := g.host.Database(d.Name)
	if db == nil || db.Identity().Family != d.Family || known && g.distributed() {
		return nil
	}
	if !known {
		if err := g.update(func(s *durable) { s.Databases[d.ID] = &localCopy{Name: d.Name, Joined: true} }); err != nil {
			return err
		}
	}
	if known && gated {
		return g.host.Member(l.ctx, d.Name, g.Self(), d.ID)
	}
	return errors.Join(g.holdForAll(l, d.ID, db), g.belong(l.ctx, d.ID, d.Name))
}

// belong has a copy's commits ask the group, and notes in master that it is the group's.
func (g *Group) belong(ctx context.Context, id uuid.UUID, name string) error {
	g.attach(id, name)
	return g.host.Member(ctx, name, g.Self(), id)
}

// releaseHolds lets go of log that was kept for replicas that are gone.
func (g *Group) releaseHolds(c *group.Configuration) {
	for _, db := range g.local() {
		for owner := range db.Holds() {
			name, ok := strings.CutPrefix(owner, holdOwnerPrefix)
			if id, err := uuid.Parse(name); ok && err == nil && c.Replica(id) == nil && !g.heldByAnother(id) {
				if err := db.HoldLog(owner, storage.LSN{}); err != nil {
					g.host.Log().Error("availability group: log could not be released", "group", g.Name(), "error", err)
				}
			}
		}
	}
}

// releaseFormer lets go of log that this copy kept for each replica while it was the one that is written to: what the
// primary says that all may need is held instead, and the holds of before would stand still.
func (g *Group) releaseFormer(c *group.Configuration, db *storage.Database) error {
	if db.Holds()[holdGroup].IsZero() {
		return nil
	}
	for owner := range db.Holds() {
		name, ok := strings.CutPrefix(owner, holdOwnerPrefix)
		if id, err := uuid.Parse(name); ok && err == nil && c.Replica(id) != nil && !g.heldByAnother(id) {
			if err := db.HoldLog(owner, storage.LSN{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// AddDatabase is ADD DATABASE of a database that the statement has checked.
func (g *Group) AddDatabase(ctx context.Context, name string) error {
	db := g.host.Database(name)
	if db == nil {
		return failure(35238, name, g.Name())
	}
	id := uuid.New()
	if err := g.update(func(d *durable) { d.Databases[id] = &localCopy{Name: name, Joined: true} }); err != nil {
		return err
	}
	// The hold comes first: seeding needs the log from here on.
	c := g.Configuration()
	for i := range c.Replicas {
		if r := &c.Replicas[i]; r.ID != g.Self() && r.Data() {
			if err := db.HoldLog(holdOwner(r.ID), db.Log().End()); err != nil {
				return err
			}
		}
	}
	err := g.Alter(ctx, func(c *group.Configuration) error {
		if c.DatabaseNamed(name) != nil {
			return failure(35280, name, c.Name)
		}
		c.Databases = append(c.Databases, group.Database{ID: id, Name: name, Family: db.Identity().Family})
		return nil
	})
	if err != nil {
		return err
	}
	return g.belong(context.WithoutCancel(ctx), id, name)
}

// RemoveDatabase is REMOVE DATABASE on the primary.
func (g *Group) RemoveDatabase(ctx context.Context, name string) error {
	return g.Alter(ctx, func(c *group.Configuration) error {
		if c.DatabaseNamed(name) == nil {
			return failure(35281, name, c.Name)
		}
		c.Databases = slices.DeleteFunc(c.Databases, func(d group.Database) bool { return equalName(d.Name, name) })
		return nil
	})
}

// Grant is GRANT (or DENY) CREATE ANY DATABASE; sid is the login that ran it, which will own seeded databases.
func (g *Group) Grant(on bool, sid []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.st.Accepted.Replica(g.self); r != nil && r.Mode == group.ConfigurationOnly {
		return failure(47111, g.name)
	}
	return g.updateLocked(func(d *durable) { d.CreateAnyDatabase, d.GrantedBy = on, sid })
}

// JoinDatabase is ALTER DATABASE ... SET HADR AVAILABILITY GROUP on a secondary: the database was restored WITH
// NORECOVERY and follows the primary from now on.
func (g *Group) JoinDatabase(ctx context.Context, name string) error {
	g.mu.Lock()
	c := g.st.Accepted
	role := g.role
	_, already := g.copyNamedLocked(name)
	g.mu.Unlock()
	d := c.DatabaseNamed(name)
	switch {
	case role == Primary:
		return failure(35240, name, g.Name())
	case d == nil:
		return failure(41132, name, g.Name())
	case already != nil && already.Joined:
		return failure(41145, name, g.Name())
	}
	db := g.host.Database(name)
	if db == nil {
		return failure(41148, name, g.Name())
	}
	if db.Identity().Family != d.Family {
		return failure(1407, name)
	}
	if db.Mode() == storage.Primary {
		return failure(1408, name)
	}
	if err := db.SetMode(ctx, storage.Redo, nil); err != nil {
		return err
	}
	if err := g.update(func(s *durable) { s.Databases[d.ID] = &localCopy{Name: name, Joined: true} }); err != nil {
		return err
	}
	// It has joined, and is not joined twice: what follows is done also when the client is gone.
	ctx = context.WithoutCancel(ctx)
	g.attach(d.ID, name)
	if err := g.host.Restoring(ctx, name, false); err != nil || g.distributed() {
		return err
	}
	return g.host.Member(ctx, name, g.Self(), d.ID)
}

// LeaveDatabase is SET HADR OFF on a secondary.
func (g *Group) LeaveDatabase(ctx context.Context, name string) error {
	g.mu.Lock()
	id, c := g.copyNamedLocked(name)
	role := g.role
	if s := g.streams[id]; s != nil {
		s.conn.Close()
	}
	g.mu.Unlock()
	if c == nil {
		return failure(35242, name)
	}
	if role == Primary {
		return failure(35240, name, g.Name())
	}
	return g.leaveGroup(ctx, id, name, false)
}

// Suspend is SET HADR SUSPEND: on a secondary for its copy, on the primary for all copies.
func (g *Group) Suspend(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, c := g.copyNamedLocked(name)
	if c == nil {
		return failure(35242, name)
	}
	if g.lead != nil {
		g.lead.suspended[id] = true
		g.lead.stopWorkersLocked(id)
	}
	if s := g.streams[id]; s != nil {
		s.conn.Close()
	}
	return g.updateLocked(func(d *durable) { d.Databases[id].Suspended, d.Databases[id].Reason = true, suspendUser })
}

// Resume is SET HADR RESUME.
func (g *Group) Resume(name string) error {
	g.mu.Lock()
	id, c := g.copyNamedLocked(name)
	if c == nil {
		g.mu.Unlock()
		return failure(35242, name)
	}
	if g.lead != nil {
		delete(g.lead.suspended, id)
	}
	err := g.updateLocked(func(d *durable) { d.Databases[id].Suspended = false })
	g.mu.Unlock()
	if db := g.localDatabase(id); err == nil && db != nil && db.RedoError() != nil {
		db.ResumeRedo()
	}
	return err
}
