// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// gate carries connections to an endpoint. While it is shut, what is sent there waits.
type gate struct {
	listener net.Listener
	// answers are how often something came back over the newest connection.
	answers atomic.Int32
	// carried are the connections through it that stand.
	carried atomic.Int32

	mu      sync.Mutex
	isShut  bool
	waiting []func()
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	g := &gate{listener: l}
	t.Cleanup(func() {
		_ = l.Close()
		g.open()
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			g.answers.Store(0)
			g.carried.Add(1)
			go func() {
				carry(near, far, g.pass)
				g.carried.Add(-1)
			}()
			go carry(far, near, func(send func()) { g.answers.Add(1); send() })
		}
	}()
	return g
}

func carry(from, to net.Conn, pass func(send func())) {
	for {
		data := make([]byte, 64<<10)
		n, err := from.Read(data)
		if n > 0 {
			pass(func() { _, _ = to.Write(data[:n]) }) // an end that is closed shows when it is read
		}
		if err != nil {
			pass(func() { _, _ = from.Close(), to.Close() })
			return
		}
	}
}

func (g *gate) pass(send func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut {
		g.waiting = append(g.waiting, send)
		return
	}
	send()
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = true
}

// letPass lets through what waits, and says whether anything did.
func (g *gate) letPass() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	waited := len(g.waiting) > 0
	for _, send := range g.waiting {
		send()
	}
	g.waiting = nil
	return waited
}

func (g *gate) open() {
	g.letPass()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = false
}

// A promotion where nobody serves takes two round trips to the nearest other replica: its promise, and the
// configuration. One that is farther is not waited for.
func TestAPromotionTakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var gates []*gate
	c := newCluster(t, group.ConfigurationOnly, func(conf *group.Configuration) {
		for i := range conf.Replicas {
			r := &conf.Replicas[i]
			gates = append(gates, newGate(t, strings.TrimPrefix(r.EndpointURL, "TCP://")))
			r.EndpointURL = "TCP://" + gates[i].listener.Addr().String()
		}
	})
	c.synchronized(0, 1)
	g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
	gates[2].answers.Store(0)
	came := false
	for attempt := 0; attempt < 6 && !came; attempt++ {
		if attempt > 0 {
			// A connection was being made just then, or the machine was so busy that the questions ran out of time.
			g.Expect(c.group(1).Offline(t.Context())).To(Succeed())
			gates[2].answers.Store(0)
		}
		g.Eventually(gates[2].answers.Load, "60s", "1ms").Should(BeNumerically(">=", 3), "the others are greeted")
		came = c.promotedWithin(2, gates)
	}
	g.Expect(came).To(BeTrue())
}

// promotedWithin promotes the second server while nothing reaches the first, and the third only so many times.
func (c *cluster) promotedWithin(roundTrips int, gates []*gate) bool {
	gates[0].shut()
	gates[2].shut()
	defer gates[0].open()
	g := NewWithT(c.t)
	g.Expect(c.group(1).SetLease(replica.BootTime(), lease)).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- c.group(1).Failover(c.t.Context()) }()
	for range roundTrips {
		g.Eventually(gates[2].letPass, "60s", "1ms").Should(BeTrue())
	}
	promoted := false
	came := NewGomega(func(string, ...int) {})
	promoted = came.Eventually(c.role(1), "10s", "1ms").Should(Equal(replica.Primary))
	gates[2].open()
	return <-ended == nil && promoted
}
