// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

const (
	// keepInterval is how often the distributed groups are brought in line with their members.
	keepInterval = 200 * time.Millisecond
	keepTimeout  = 10 * time.Second
)

// keepDistributed brings the distributed groups of this server in line with their members until the server stops.
func (m *Manager) keepDistributed() {
	tick := time.NewTicker(keepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			return
		}
		m.keepOnce()
	}
}

func (m *Manager) keepOnce() {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	for _, g := range m.Groups() {
		if !g.distributed() {
			m.adoptAbove(g)
		}
	}
	for _, g := range m.Groups() {
		if !g.distributed() {
			continue
		}
		ctx, cancel := context.WithTimeout(m.ctx, keepTimeout)
		if err := g.keep(ctx); err != nil && m.ctx.Err() == nil {
			g.host.Log().
				Warn("availability group: the distributed group could not be brought in line with its member", "group", g.Name(),
					"error", err)
		}
		cancel()
	}
}

// adoptAbove learns of the distributed group above a local one from the local one's configuration: its primary has put
// it there.
func (m *Manager) adoptAbove(local *Group) {
	d := local.above.Load()
	if d != nil && d.overEpochNow() != 0 {
		return
	}
	leading := local.leading() != 0
	record := local.Configuration().Above
	if len(record) == 0 {
		if d != nil && !leading && local.Role() == Secondary {
			if err := m.dropAbove(d); err != nil {
				local.host.Log().
					Error("availability group: a distributed group could not be forgotten", "group", d.Name(), "error", err)
			}
		}
		return
	}
	st := &durable{}
	if err := json.Unmarshal(record, st); err != nil {
		local.host.Log().
			Error("availability group: what is known of the distributed group cannot be read", "group", local.Name(), "error",
				err)
		return
	}
	if st.Databases == nil {
		st.Databases = map[uuid.UUID]*localCopy{}
	}
	if d == nil {
		if err := m.enter(newGroup(m, st), failure(19509, st.Name)); err != nil {
			local.host.Log().
				Error("availability group: the distributed group above it could not be taken up", "group", local.Name(),
					"distributed", st.Name, "error", err)
			return
		}
		m.linkDistributed()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	present, err := d.recordLocked()
	if err != nil {
		local.host.Log().
			Error("availability group: the state of the distributed group could not be compared", "group", d.name, "error", err)
		return
	}
	older := st.Promised < d.st.Promised || st.Promised == d.st.Promised && st.Accepted.Sequence < d.st.Accepted.Sequence
	if d.lead != nil || older || leading && st.Promised == d.st.Promised || bytes.Equal(record, present) {
		return
	}
	if err := d.updateLocked(func(s *durable) { *s = *st }); err != nil {
		local.host.Log().
			Error("availability group: the state of the distributed group could not be stored", "group", d.name, "error", err)
	}
}

func (g *Group) overEpochNow() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.overEpoch
}

// recordLocked is what the next primary of the local group has to know.
func (g *Group) recordLocked() (json.RawMessage, error) {
	data, err := json.Marshal(g.st)
	if err != nil {
		return nil, fmt.Errorf("write down the state of distributed availability group %q: %w", g.name, err)
	}
	return data, nil
}

// publish puts the state into the local group's configuration, which a majority of its voters then has.
func (g *Group) publish(ctx context.Context, local *Group) error {
	g.mu.Lock()
	record, err := g.recordLocked()
	g.mu.Unlock()
	if err != nil {
		return err
	}
	if bytes.Equal(record, local.Configuration().Above) {
		return nil
	}
	return local.Alter(ctx, func(c *group.Configuration) error {
		c.Above = record
		return nil
	})
}

// keep brings a distributed group in line with its member: where that is primary it leads or follows, elsewhere it
// stands down.
func (g *Group) keep(ctx context.Context) error {
	local := g.Member()
	if local == nil {
		return nil
	}
	epoch := local.leading()
	g.mu.Lock()
	was, l, intent, role := g.overEpoch, g.lead, g.st.Intent, g.role
	g.mu.Unlock()
	if was != 0 && epoch != was {
		g.standDown(l, intent)
		return nil
	}
	if epoch == 0 {
		return nil
	}
	if was == 0 {
		g.mu.Lock()
		g.overEpoch = epoch
		if intent == Secondary && g.lead == nil {
			g.role = Secondary
		}
		g.broadcastLocked()
		g.mu.Unlock()
	}
	if intent == Primary && l == nil {
		return g.leadAgain(ctx, local)
	}
	switch role {
	case Primary:
		if err := g.takeDatabases(ctx, local); err != nil {
			return err
		}
	case Secondary:
		if err := g.passDatabases(ctx, local); err != nil {
			return err
		}
	}
	return g.publish(ctx, local)
}

// standDown ends the group's part here: the local group's primary is elsewhere, or began anew.
func (g *Group) standDown(l *leadership, intent Role) {
	if l != nil {
		g.resign(l, intent, "the local availability group changed its role")
	}
	g.mu.Lock()
	g.role, g.overEpoch = Resolving, 0
	streams := g.takeStreamsLocked()
	g.broadcastLocked()
	g.mu.Unlock()
	closeStreams(streams)
}

// leadAgain is the return of a global primary after a failover within the local group, or a restart. The epoch is in
// the local group's configuration before it is used: no two servers of the group lead in the same one.
func (g *Group) leadAgain(ctx context.Context, local *Group) error {
	g.mu.Lock()
	epoch := g.ownEpochLocked(g.st.Promised + 1)
	newest := g.st.Accepted
	err := g.updateLocked(func(d *durable) { d.Prepare(epoch) })
	g.mu.Unlock()
	if err != nil {
		return err
	}
	if err := g.publish(ctx, local); err != nil {
		return err
	}
	return g.begin(epoch, newest, group.Promotion(newest, g.Self(), epoch))
}

// takeDatabases has the databases of the global primary's group in the distributed one.
func (g *Group) takeDatabases(ctx context.Context, local *Group) error {
	have, want := g.Configuration(), local.Configuration()
	for i := range want.Databases {
		d := want.Databases[i]
		// The forwarder's own group has given it another ID.
		if have.DatabaseNamed(d.Name) != nil {
			continue
		}
		db := g.host.Database(d.Name)
		if db == nil {
			continue
		}
		if err := g.update(func(s *durable) { s.Databases[d.ID] = &localCopy{Name: d.Name, Joined: true} }); err != nil {
			return err
		}
		for j := range have.Replicas {
			if r := &have.Replicas[j]; r.ID != g.Self() {
				if err := db.HoldLog(holdOwner(r.ID), db.Log().End()); err != nil {
					return err
				}
			}
		}
		err := g.Alter(ctx, func(c *group.Configuration) error {
			if c.DatabaseNamed(d.Name) == nil {
				c.Databases = append(c.Databases, group.Database{ID: d.ID, Name: d.Name, Family: d.Family})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range have.Databases {
		if want.DatabaseNamed(have.Databases[i].Name) == nil {
			if err := g.RemoveDatabase(ctx, have.Databases[i].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// passDatabases has the forwarder's group hold what arrived of the distributed one, and nothing else.
func (g *Group) passDatabases(ctx context.Context, local *Group) error {
	g.mu.Lock()
	joined, known := []string{}, map[uuid.UUID]bool{}
	for id, c := range g.st.Databases {
		known[id] = true
		if c.Joined && !g.copyStateLocked(id).seeding {
			joined = append(joined, c.Name)
		}
	}
	accepted := g.st.Accepted
	g.mu.Unlock()
	for _, name := range joined {
		db := g.host.Database(name)
		if db == nil || db.Mode() != storage.Redo || local.Configuration().DatabaseNamed(name) != nil {
			continue
		}
		if err := local.AddDatabase(ctx, name); err != nil {
			return err
		}
	}
	for _, d := range local.Configuration().Databases {
		if accepted.DatabaseNamed(d.Name) == nil && !g.Has(d.Name) {
			if err := local.RemoveDatabase(ctx, d.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// admitAbove decides for a primary whose databases a distributed group stands above.
func (g *Group) admitAbove(name string, write, intent bool) error {
	d := g.above.Load()
	if d == nil || g.Role() != Primary {
		return nil
	}
	d.mu.Lock()
	role, open := d.role, d.lead != nil && d.lead.open
	d.mu.Unlock()
	switch {
	case role == Primary && open:
		return nil
	case role == Secondary && write:
		return nil // storage says that it takes no writes
	case role == Secondary:
		g.mu.Lock()
		defer g.mu.Unlock()
		id, c := g.copyNamedLocked(name)
		if c == nil {
			return nil
		}
		return g.readableLocked(id, c.Name, intent)
	}
	return failure(983, name)
}

// waitHardenedAbove waits until the distributed group has a commit where it has to be, while the local group is
// primary.
func (g *Group) waitHardenedAbove(ctx context.Context, name string, lsn storage.LSN) error {
	d := g.above.Load()
	if d == nil {
		return nil
	}
	if err := d.waitHardenedNamed(ctx, name, lsn); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.role != Primary || !g.leaseValidLocked() {
		return failure(983, name)
	}
	return nil
}

func (g *Group) waitHardenedNamed(ctx context.Context, name string, lsn storage.LSN) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if g.role != Primary || g.lead == nil {
			return failure(983, name)
		}
		id, c := g.copyNamedLocked(name)
		if c == nil || g.lead.hardenedLocked(id, lsn) {
			return nil
		}
		if err := g.waitLocked(ctx); err != nil {
			return err
		}
	}
}
