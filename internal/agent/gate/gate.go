// SPDX-License-Identifier: Apache-2.0

// Package gate bounds what connections to a sidecar may take of it: the same process renews the write lease of its
// engine, and must not end because somebody opens connections.
package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits of a Gate; all must be more than 0. Of too many the newest is let in and another one is closed: an address or
// a peer that has most makes room, so that one that has few is let in however many others there are.
type Limits struct {
	// Handshakes under way in all, and from one address.
	Handshakes, HandshakesOf int
	// Connections whose handshake is done, in all, and of one peer.
	Connections, ConnectionsOf int
	// HandshakeTimeout is how long a handshake may take from when the connection was accepted.
	HandshakeTimeout time.Duration
}

// Gate is a listener of TLS whose connections have their handshake behind them. Serve it with Track as the server's
// ConnState: what is being answered is the last to make room.
type Gate struct {
	listener net.Listener
	config   *tls.Config
	limits   Limits
	peer     func(*tls.Conn) string
	accepted chan accepted
	closed   <-chan struct{}
	close    func() error

	mu   sync.Mutex
	last uint64
	open map[*connection]struct{}
}

type accepted struct {
	conn net.Conn
	err  error
}

// connection counts for its peer until it is closed.
type connection struct {
	net.Conn
	gate *Gate
	// peer is the address it comes from while shaking, and after that whatever the gate's peer says.
	peer          string
	shaking, busy bool
	// number grows with each connection.
	number uint64
}

// New makes a gate before a listener of TCP. peer names whoever a connection counts for once its handshake is done; by
// its address (Address) unless given.
func New(listener net.Listener, config *tls.Config, limits Limits, peer func(*tls.Conn) string) *Gate {
	if peer == nil {
		peer = func(c *tls.Conn) string { return Address(c) }
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gate{listener: listener, config: config, limits: limits, peer: peer, accepted: make(chan accepted),
		closed: ctx.Done(), open: map[*connection]struct{}{}}
	g.close = sync.OnceValue(func() error { cancel(); return listener.Close() })
	go g.run(ctx)
	return g
}

// Address of the other side, without its port; of IPv6 the /64, of which one host may have all.
func Address(c net.Conn) string {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return c.RemoteAddr().String()
	}
	address := at.Addr().Unmap()
	if address.Is4() {
		return address.String()
	}
	network, err := address.WithZone("").Prefix(64)
	if err != nil {
		return address.String()
	}
	return network.String()
}

// Accept implements net.Listener.
func (g *Gate) Accept() (net.Conn, error) {
	select {
	case a := <-g.accepted:
		return a.conn, a.err
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (g *Gate) Addr() net.Addr { return g.listener.Addr() }

// Close implements net.Listener. Connections that were accepted go on.
func (g *Gate) Close() error { return g.close() }

// Track notes whether a connection is being answered; it is a http.Server's ConnState.
func (g *Gate) Track(conn net.Conn, state http.ConnState) {
	over, ok := conn.(*tls.Conn)
	if !ok {
		return
	}
	if c, ok := over.NetConn().(*connection); ok {
		g.mu.Lock()
		defer g.mu.Unlock()
		c.busy = state == http.StateActive
	}
}

// run takes connections, and waits for none of them: a listener that waits is one that nobody reaches.
func (g *Gate) run(ctx context.Context) {
	for {
		raw, err := g.listener.Accept()
		if err != nil {
			// The server pauses and comes back where there are too many files, for one.
			if !g.tell(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if c := g.admit(raw); c != nil {
			go g.shake(ctx, c)
		} else {
			_ = raw.Close()
		}
	}
}

func (g *Gate) tell(a accepted) bool {
	select {
	case g.accepted <- a:
		return true
	case <-g.closed:
		return false
	}
}

// shake has the handshake done in its time, and hands the connection over.
func (g *Gate) shake(ctx context.Context, c *connection) {
	ctx, cancel := context.WithTimeout(ctx, g.limits.HandshakeTimeout)
	defer cancel()
	over := tls.Server(c, g.config)
	if err := over.HandshakeContext(ctx); err != nil || !g.shaken(c, g.peer(over)) || !g.tell(accepted{conn: over}) {
		_ = c.Close()
	}
}

// admit takes a new connection among those whose handshake is under way; nil where there is no room for it.
func (g *Gate) admit(raw net.Conn) *connection {
	c := &connection{Conn: raw, gate: g, peer: Address(raw), shaking: true}
	if !g.enter(c, g.limits.Handshakes, g.limits.HandshakesOf) {
		return nil
	}
	return c
}

// shaken counts a connection among those whose handshake is done, for its peer; false where there is no room for it.
func (g *Gate) shaken(c *connection, peer string) bool {
	g.mu.Lock()
	_, there := g.open[c]
	delete(g.open, c)
	c.peer, c.shaking = peer, false
	g.mu.Unlock()
	return there && g.enter(c, g.limits.Connections, g.limits.ConnectionsOf)
}

// enter counts a connection, and closes another one where there are too many.
func (g *Gate) enter(c *connection, most, ofPeer int) bool {
	g.mu.Lock()
	victim, ok := g.room(c, most, ofPeer)
	if victim != nil {
		delete(g.open, victim)
	}
	if ok {
		g.last++
		c.number = g.last
		g.open[c] = struct{}{}
	}
	g.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
	return ok
}

// room says who makes room for a connection, nil for nobody, and whether there is any.
func (g *Gate) room(c *connection, most, ofPeer int) (victim *connection, ok bool) {
	counts, all := map[string]int{}, 0
	for o := range g.open {
		if o.shaking == c.shaking {
			counts[o.peer]++
			all++
		}
	}
	if counts[c.peer] >= ofPeer {
		victim = g.oldest(c.shaking, c.peer, false)
		return victim, victim != nil
	}
	if all < most {
		return nil, true
	}
	heaviest := c.peer
	for peer, n := range counts {
		if n > counts[heaviest] {
			heaviest = peer
		}
	}
	// One that answers is ended only for a peer that has less.
	victim = g.oldest(c.shaking, heaviest, counts[heaviest] > counts[c.peer]+1)
	if counts[heaviest] <= 1 {
		victim = g.oldest(c.shaking, "", false)
	}
	return victim, victim != nil
}

// oldest connection of a peer, or of all where it is empty: one that is not being answered, or, if there is none and it
// may be, one that is.
func (g *Gate) oldest(shaking bool, peer string, busy bool) (oldest *connection) {
	for c := range g.open {
		if c.shaking != shaking || peer != "" && c.peer != peer || c.busy && !busy {
			continue
		}
		if oldest == nil || oldest.busy && !c.busy || oldest.busy == c.busy && c.number < oldest.number {
			oldest = c
		}
	}
	return oldest
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
