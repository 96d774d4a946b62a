// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/tds"
)

// route is read-only routing: a login with read intent that came to a listener of the primary's group goes to the first
// entry of the primary's routing list that can be read, members of one entry in turns; where none can, or the primary
// itself is next, it stays (docs/database-engine/availability-groups/windows/
// configure-read-only-routing-for-an-availability-group-sql-server.md). A login without a database belongs to no group.
func (e *Extension) route(req tds.LoginRequest) *tds.Redirect {
	m := e.replicas()
	if m == nil || req.Database == "" {
		return nil
	}
	g := m.GroupOf(req.Database)
	if g == nil || g.Role() != replica.Primary || !atListener(g.Configuration(), req.Local) {
		return nil
	}
	st := g.States()
	d := st.Configuration.DatabaseNamed(req.Database)
	self := st.Configuration.Replica(st.Self)
	if d == nil || self == nil {
		return nil
	}
	for _, set := range self.ReadOnlyRoutingList {
		first := int(e.routed.Load() % uint64(len(set)))
		for _, name := range slices.Concat(set[first:], set[:first]) {
			switch r := st.Configuration.Server(name); {
			case r == nil:
			case r.ID == st.Self:
				return nil
			case takesReaders(st, r, d.ID):
				e.routed.Add(1)
				return redirect(r)
			}
		}
	}
	return nil
}

// atListener tells whether a connection came to an address and port of one of the group's listeners.
func atListener(c *group.Configuration, local net.Addr) bool {
	at, ok := local.(*net.TCPAddr)
	if !ok {
		return false
	}
	for _, l := range c.Listeners {
		for _, a := range l.IPs {
			if ip, err := netip.ParseAddr(a.IP); err == nil && l.Port == at.Port && ip == at.AddrPort().Addr().Unmap() {
				return true
			}
		}
	}
	return false
}

// takesReaders tells whether a secondary is there to read the database from.
func takesReaders(st *replica.States, r *group.Replica, database uuid.UUID) bool {
	if r.SecondaryConnections == "NO" || r.ReadOnlyRoutingURL == "" {
		return false
	}
	connected := slices.ContainsFunc(st.Replicas, func(s replica.ReplicaState) bool {
		return s.ID == r.ID && s.Connected && s.Role == replica.Secondary
	})
	return connected && slices.ContainsFunc(st.Databases, func(d replica.DatabaseState) bool {
		return d.Replica == r.ID && d.ID == database && (d.State == replica.Synchronized || d.State == replica.Synchronizing)
	})
}

// redirect is where the replica's routing URL leads; nil for one that was recorded and cannot be.
func redirect(r *group.Replica) *tds.Redirect {
	address, err := endpoint.ParseURL(r.ReadOnlyRoutingURL)
	if err != nil {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil
	}
	return &tds.Redirect{Server: host, Port: uint16(n)}
}
