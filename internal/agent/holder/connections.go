// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"net"
	"sync"
	"time"
)

// connections are those to one API server that are open.
type connections struct {
	dialer net.Dialer

	mu   sync.Mutex
	open map[*connection]struct{}
}

// connection is one of them.
type connection struct {
	*net.TCPConn
	of *connections
}

func newConnections() *connections {
	return &connections{
		dialer: net.Dialer{Timeout: 3 * time.Second, KeepAlive: 5 * time.Second},
		open:   map[*connection]struct{}{},
	}
}

// dial opens one.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialed, err := c.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, ok := dialed.(*net.TCPConn)
	if !ok {
		return dialed, nil
	}
	made := &connection{TCPConn: tcp, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[made] = struct{}{}
	return made, nil
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.TCPConn.Close()
}

// closeUnheard closes those over which something was sent, in vain since a call was begun: nothing comes back, not even
// an acknowledgement by the other side's kernel. After a cut network has healed TCP would wait for its next
// retransmission, up to minutes later, where a new connection works at once. One whose other side is there, and slow,
// stays: a new one would cost that side a handshake, and this one two round trips, in the very moment in which there is
// no time.
func (c *connections) closeUnheard(since time.Time) {
	c.mu.Lock()
	var unheard []*connection
	for conn := range c.open {
		if conn.unheard(since) {
			unheard = append(unheard, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range unheard {
		_ = conn.Close()
	}
}
