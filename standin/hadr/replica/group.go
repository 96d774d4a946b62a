// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// Group is this server's replica of one availability group.
type Group struct {
	m    *Manager
	host Host
	// id, name and self (the local replica's ID) never change.
	id, self uuid.UUID
	name     string

	// transition is held while databases change their mode; it is taken before mu.
	transition sync.Mutex

	// lines are the connections on which the others are asked; they have a lock of their own.
	lines lines

	mu sync.Mutex
	// changed is closed and replaced whenever something changes that others wait for.
	changed chan struct{}
	st      *durable
	role    Role
	// lead is set while this replica is primary or is becoming it.
	lead *leadership
	// lease is when the write lease ends, by BootTime; 0 is none.
	lease time.Duration
	// contact is the primary that was last heard of, when, and over which connection.
	contact struct {
		primary uuid.UUID
		at      time.Time
		conn    *endpoint.Conn
		err     string
	}
	streams map[uuid.UUID]*stream
	copies  map[uuid.UUID]*copyState
	gates   map[uuid.UUID]*gate
	stopped bool
	// silent says that OFFLINE has taken it out of its role, where such a replica answers nobody.
	silent bool
	// recovering is until when FAILOVER waits, where SET (ROLE = SECONDARY) blocks it.
	recovering time.Time
	comeback
	// over is the local group that is this distributed group's member here (zero for an ordinary group, it never
	// changes), and overEpoch that group's epoch as primary that this one goes with; 0 while it is not primary.
	over      uuid.UUID
	overEpoch uint32
	// above is the distributed group that this group is a member of; nil when there is none.
	above atomic.Pointer[Group]
}

// copyState is what is known of a local copy while the instance runs.
type copyState struct {
	reverting bool
	seeding   bool
	// stopSeed ends the seeding that is under way.
	stopSeed func()
	// initializing is the position that the copy has to reach after an undo; zero when it need not.
	initializing storage.LSN
	// recovery is up to where the copy has the same log as the primary's; zero when it has none of its own.
	recovery storage.LSN
	// sendQueue is the log that the primary has not sent yet, in KB, as it said last.
	sendQueue int64
	// backedUp is where this copy's own newest log backup ends, which the primary of the epoch backedUpEpoch has noted.
	backedUp      storage.LSN
	backedUpEpoch uint32
	receivedTime  time.Time
	hardenedTime  time.Time
	redo          rateMeter
}

func newGroup(m *Manager, st *durable) *Group {
	return &Group{
		comeback: newComeback(m.host),

		m:       m,
		host:    m.host,
		id:      st.ID,
		self:    st.Self,
		name:    st.Name,
		over:    st.Over,
		changed: make(chan struct{}),
		st:      st,
		streams: map[uuid.UUID]*stream{},
		copies:  map[uuid.UUID]*copyState{},
		gates:   map[uuid.UUID]*gate{},
	}
}

// Name is the group's name.
func (g *Group) Name() string { return g.name }

// ID is group_id.
func (g *Group) ID() uuid.UUID { return g.id }

// Self is the local replica's ID.
func (g *Group) Self() uuid.UUID { return g.self }

// Role is the local replica's role.
func (g *Group) Role() Role {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.role
}

// Configuration is the configuration as this replica knows it: on the primary the newest committed one. It must not be
// changed.
func (g *Group) Configuration() *group.Configuration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.configLocked()
}

func (g *Group) configLocked() *group.Configuration {
	if g.lead != nil && g.role == Primary {
		return g.lead.committed
	}
	return g.st.Accepted
}

// Has tells whether a local database belongs to the group.
func (g *Group) Has(database string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, c := g.copyNamedLocked(database)
	return c != nil
}

func (g *Group) copyNamedLocked(name string) (uuid.UUID, *localCopy) {
	for id, c := range g.st.Databases {
		if strings.EqualFold(c.Name, name) {
			return id, c
		}
	}
	return uuid.Nil, nil
}

func (g *Group) copyStateLocked(id uuid.UUID) *copyState {
	c := g.copies[id]
	if c == nil {
		c = &copyState{}
		g.copies[id] = c
	}
	return c
}

// broadcastLocked wakes everybody who waits for a change.
func (g *Group) broadcastLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// updateLocked changes the durable state: on disk first, in memory only when that worked.
func (g *Group) updateLocked(change func(*durable)) error {
	data, err := json.Marshal(g.st)
	if err != nil {
		return fmt.Errorf("change the state of availability group %q: %w", g.name, err)
	}
	next := &durable{}
	if err := json.Unmarshal(data, next); err != nil {
		return fmt.Errorf("change the state of availability group %q: %w", g.name, err)
	}
	if next.Databases == nil {
		next.Databases = map[uuid.UUID]*localCopy{}
	}
	change(next)
	if err := next.save(g.m.folder); err != nil {
		return err
	}
	g.st = next
	g.broadcastLocked()
	return nil
}

func (g *Group) update(change func(*durable)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.updateLocked(change)
}

// waitLocked waits for the next change, or the context's end; mu is released meanwhile.
func (g *Group) waitLocked(ctx context.Context) error {
	ch := g.changed
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// copyNamesLocked are the names of the local copies, by group database ID.
func (g *Group) copyNamesLocked() map[uuid.UUID]string {
	names := map[uuid.UUID]string{}
	for id, c := range g.st.Databases {
		names[id] = c.Name
	}
	return names
}

func (g *Group) copyNames() map[uuid.UUID]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.copyNamesLocked()
}

// local lists the open local copies.
func (g *Group) local() map[uuid.UUID]*storage.Database {
	out := map[uuid.UUID]*storage.Database{}
	for id, name := range g.copyNames() {
		if db := g.host.Database(name); db != nil {
			out[id] = db
		}
	}
	return out
}

// localDatabase is the open local copy of a group database; nil when there is none.
func (g *Group) localDatabase(id uuid.UUID) *storage.Database {
	g.mu.Lock()
	c := g.st.Databases[id]
	g.mu.Unlock()
	if c == nil {
		return nil
	}
	return g.host.Database(c.Name)
}

// attach puts the group's gate before a local database.
func (g *Group) attach(id uuid.UUID, name string) {
	db := g.host.Database(name)
	if db == nil || g.distributed() {
		// The gate of a distributed group's database is that of the local group, which asks the distributed one.
		return
	}
	g.mu.Lock()
	gt := g.gates[id]
	if gt == nil {
		gt = &gate{g: g, id: id, name: name}
		g.gates[id] = gt
	}
	g.mu.Unlock()
	db.SetGate(gt)
}

// detach takes the gate away.
func (g *Group) detach(id uuid.UUID, name string) {
	g.mu.Lock()
	delete(g.gates, id)
	g.mu.Unlock()
	if g.distributed() {
		return
	}
	if db := g.host.Database(name); db != nil {
		db.SetGate(nil)
	}
}

// restart is the start of the instance. A primary of an EXTERNAL group is RESOLVING until somebody decides; one without
// a cluster believes that it still is primary; a secondary waits for its primary.
func (g *Group) restart(ctx context.Context) error {
	g.mu.Lock()
	copies := g.copyNamesLocked()
	intent := g.st.Intent
	cluster := g.st.Accepted.Options.ClusterType
	g.mu.Unlock()
	if g.distributed() {
		// It goes on when the local group is primary.
		return nil
	}
	for id, name := range copies {
		g.attach(id, name)
	}
	if intent == Primary && cluster == group.None {
		return g.resumePrimary(ctx)
	}
	for id, db := range g.local() {
		if err := db.SetMode(ctx, storage.Redo, g.notInRole(id)); err != nil {
			return err
		}
	}
	if intent == Primary {
		g.saysPrimary()
		return g.update(func(d *durable) { d.Intent = Resolving })
	}
	return nil
}

// stop ends the replica's work when the instance stops.
func (g *Group) stop() {
	g.mu.Lock()
	g.stopped = true
	lead := g.lead
	g.lead = nil
	if g.role == Primary {
		g.role = Resolving
	}
	streams := g.takeStreamsLocked()
	g.broadcastLocked()
	g.mu.Unlock()
	closeStreams(streams)
	if lead != nil {
		lead.end(errStopped)
		lead.wait.Wait()
	}
}

func (g *Group) takeStreamsLocked() []*stream {
	var out []*stream
	for id, s := range g.streams {
		out = append(out, s)
		delete(g.streams, id)
	}
	return out
}

func closeStreams(all []*stream) {
	for _, s := range all {
		s.conn.Close()
	}
}
