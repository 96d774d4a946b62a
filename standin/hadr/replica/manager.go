// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage/disk"
)

// Manager has the local replicas of all groups of an instance.
type Manager struct {
	host   Host
	folder string
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	// keeping is held while distributed groups are brought in line, or dropped; it is taken before everything else.
	keeping sync.Mutex

	mu     sync.Mutex
	groups map[uuid.UUID]*Group
	// offers are configurations that primaries sent for groups that this server has not joined.
	offers  map[string]offer
	offered chan struct{}
	server  *endpoint.Server
	address string
	// openedAt is when the endpoint was opened last; late is when replicas whose first connection had failed came for the
	// first time.
	openedAt time.Time
	late     map[uuid.UUID]time.Time
	seeding  []*Seeding

	// lost has a token when a primary's connection has ended since keepLines looked last.
	lost chan struct{}
}

type offer struct {
	config *group.Configuration
	at     time.Time
}

// offerValid is how long a primary's offer counts after it was last heard of.
const offerValid = 15 * time.Second

// Open reads the groups that the server takes part in. Their databases must be open.
func Open(ctx context.Context, host Host, folder string) (*Manager, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("open availability groups: %w", err)
	}
	m := &Manager{
		host:    host,
		folder:  folder,
		groups:  map[uuid.UUID]*Group{},
		offers:  map[string]offer{},
		offered: make(chan struct{}),
		lost:    make(chan struct{}, 1),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	states, err := loadStates(folder)
	if err != nil {
		return nil, err
	}
	for _, st := range states {
		m.groups[st.ID] = newGroup(m, st)
	}
	m.linkDistributed()
	for _, st := range states {
		g := m.groups[st.ID]
		if err := g.restart(ctx); err != nil {
			return nil, fmt.Errorf("start availability group %q: %w", st.Name, err)
		}
	}
	m.wait.Go(m.keepDistributed)
	m.wait.Go(m.keepLines)
	return m, nil
}

// Listen opens, moves or (with an empty address) closes the endpoint.
func (m *Manager) Listen(address string) error {
	m.mu.Lock()
	old := m.server
	if old != nil && m.address == address {
		m.mu.Unlock()
		return nil
	}
	m.server, m.address = nil, ""
	m.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if address == "" {
		return nil
	}
	s, err := endpoint.Listen(address, m.host.Identity, m.serve)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server, m.address, m.openedAt = s, address, time.Now()
	return nil
}

// opened is when the endpoint was opened last.
func (m *Manager) opened() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.openedAt
}

// deaf tells of a replica whose first connection has failed, until its endpoint or this one is restarted
// (config.FirstConnectionCounts).
func (m *Manager) deaf(h hello) bool {
	if !m.host.Answers(config.FirstConnectionCounts) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !h.Late {
		delete(m.late, h.From)
		return false
	}
	since, known := m.late[h.From]
	if !known {
		if m.late == nil {
			m.late = map[uuid.UUID]time.Time{}
		}
		since = time.Now()
		m.late[h.From] = since
	}
	return !m.openedAt.After(since)
}

// Address is where the endpoint listens; empty when it does not.
func (m *Manager) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		return ""
	}
	return m.server.Addr().String()
}

// Close stops all replicas and the endpoint; what is on disk stays as it is.
func (m *Manager) Close() {
	m.cancel()
	for _, g := range m.Groups() {
		g.stop()
	}
	m.mu.Lock()
	s := m.server
	m.server = nil
	m.mu.Unlock()
	if s != nil {
		s.Close()
	}
	m.wait.Wait()
}

// Groups are the groups of this server by name.
func (m *Manager) Groups() []*Group {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Group, 0, len(m.groups))
	for _, g := range m.groups {
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name() < out[j].Name() })
	return out
}

// Group finds a group by name; nil when this server has none.
func (m *Manager) Group(name string) *Group {
	for _, g := range m.Groups() {
		if strings.EqualFold(g.Name(), name) {
			return g
		}
	}
	return nil
}

func (m *Manager) groupByID(id uuid.UUID) *Group {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[id]
}

// GroupOf finds the group of a local database by the database's name; nil when it is in none. It is never a distributed
// one.
func (m *Manager) GroupOf(database string) *Group {
	for _, g := range m.Groups() {
		if !g.distributed() && g.Has(database) {
			return g
		}
	}
	return nil
}

func (m *Manager) offer(c *group.Configuration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offers[strings.ToLower(c.Name)] = offer{c, time.Now()}
	close(m.offered)
	m.offered = make(chan struct{})
}

// waitOffer waits for a primary that has this server in its group's configuration.
func (m *Manager) waitOffer(ctx context.Context, name, member string) (*group.Configuration, error) {
	for {
		m.mu.Lock()
		o, ok := m.offers[strings.ToLower(name)]
		ch := m.offered
		m.mu.Unlock()
		if ok && time.Since(o.at) < offerValid && o.config.Server(member) != nil {
			return o.config, nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return nil, failure(47106, name)
		case <-m.ctx.Done():
			return nil, errors.New("the instance stops")
		}
	}
}

// forget removes a group from this server.
func (m *Manager) forget(g *Group) error {
	m.mu.Lock()
	delete(m.groups, g.id)
	m.mu.Unlock()
	m.linkDistributed()
	if err := os.Remove(statePath(m.folder, g.id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove availability group %q: %w", g.Name(), err)
	}
	if err := disk.SyncFolder(m.folder); err != nil {
		return fmt.Errorf("remove availability group %q: %w", g.Name(), err)
	}
	return nil
}

// dial opens a connection to another replica and says hello.
func (m *Manager) dial(ctx context.Context, url string, h hello) (*endpoint.Conn, error) {
	address, err := endpoint.ParseURL(url)
	if err != nil {
		return nil, err
	}
	id, err := m.host.Identity(ctx)
	if err != nil {
		return nil, err
	}
	c, err := endpoint.Dial(ctx, address, id)
	if err != nil {
		return nil, err
	}
	h.Server = m.host.ServerName()
	if d, ok := ctx.Deadline(); ok {
		_ = c.SetWriteDeadline(d)
	}
	if err := c.SendValue(msgHello, h); err != nil {
		c.Close()
		return nil, err
	}
	_ = c.SetWriteDeadline(time.Time{})
	return c, nil
}
