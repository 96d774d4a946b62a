// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
)

// relay carries connections to an endpoint. Those that it abandons are silent from then on: the endpoint's ends stay
// open, as behind a cut.
type relay struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	pairs []*pair
}

type pair struct {
	near, far net.Conn
	abandoned atomic.Bool
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	r := &relay{listener: l, target: target}
	t.Cleanup(func() {
		_ = l.Close()
		r.each(func(p *pair) { _, _ = p.near.Close(), p.far.Close() })
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", r.target)
			if err != nil {
				_ = near.Close()
				continue
			}
			p := &pair{near: near, far: far}
			r.mu.Lock()
			r.pairs = append(r.pairs, p)
			r.mu.Unlock()
			go p.carry(near, far)
			go p.carry(far, near)
		}
	}()
	return r
}

func (p *pair) carry(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if p.abandoned.Load() {
			return
		}
		if n > 0 {
			_, _ = to.Write(buffer[:n]) // an end that is closed shows when it is read
		}
		if err != nil {
			_, _ = p.near.Close(), p.far.Close()
			return
		}
	}
}

func (r *relay) each(f func(*pair)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pairs {
		f(p)
	}
}

// A connection of a primary that was cut ends at the secondary long after the primary has made another one. That is no
// news of the primary: the secondary stays connected.
func TestAConnectionOfBeforeACutIsNotMissed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var r *relay
	c := newCluster(t, group.Synchronous, func(conf *group.Configuration) {
		r = newRelay(t, strings.TrimPrefix(conf.Replicas[1].EndpointURL, "TCP://"))
		conf.Replicas[1].EndpointURL = "TCP://" + r.listener.Addr().String()
	})
	c.synchronized(0, 1, 2)
	g.Eventually(c.connected(1)).Should(BeTrue())

	var abandoned []*pair
	r.each(func(p *pair) {
		p.abandoned.Store(true)
		abandoned = append(abandoned, p)
	})
	g.Eventually(c.connected(1)).WithPolling(10 * time.Millisecond).Should(BeFalse())
	g.Eventually(c.connected(1)).WithPolling(10 * time.Millisecond).Should(BeTrue())
	c.synchronized(0, 1)
	for _, p := range abandoned {
		_ = p.far.Close()
	}
	g.Consistently(c.connected(1)).WithTimeout(3 * time.Second).WithPolling(time.Millisecond).Should(BeTrue())
}
