// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// mute takes connections at an address and never says anything. It counts them.
func mute(t *testing.T, address string) *atomic.Int32 {
	t.Helper()
	var l net.Listener
	NewWithT(t).Eventually(func() (err error) { l, err = net.Listen("tcp", address); return err }, "30s").Should(Succeed())
	var taken atomic.Int32
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			taken.Add(1)
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	return &taken
}

// A replica that has lost its primary has connections to the others ready: its promotion opens no
// other to those that answer, and does not wait for the one that is gone.
func TestAPromotionAfterALossIsReadyBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	address := c.servers[0].m.Address()
	c.servers[0].stop()
	taken := mute(t, address)
	const graces = 600 * time.Millisecond
	took, again := time.Hour, false
	for attempt := 0; attempt < 5 && (took >= graces || !again); attempt++ {
		if attempt > 0 {
			// The machine was busy. The last primary may be promoted anew.
			g.Expect(c.group(1).Offline(t.Context())).To(Succeed())
		}
		greeted := taken.Load() + 2
		g.Eventually(taken.Load, "60s").
			Should(BeNumerically(">=", greeted), "the one that is gone is greeted again and again")
		elsewhere := func() int32 { return c.servers[1].dialled.Load() - taken.Load() }
		before := elsewhere()
		g.Expect(c.group(1).SetLease(replica.BootTime(), lease)).To(Succeed())
		began := time.Now()
		g.Expect(c.group(1).Failover(t.Context())).To(Succeed())
		took = time.Since(began)
		g.Eventually(c.role(1), "60s").Should(Equal(replica.Primary))
		again = true
		NewGomega(func(string, ...int) { again = false }).Eventually(elsewhere, "5s", "1ms").Should(Equal(before))
	}
	g.Expect(took).To(BeNumerically("<", graces))
	g.Expect(again).To(BeTrue(), "the connection to the third is used again")
}

// A primary ends its connections: the others are greeted at once, not when it is their turn, because the next promotion
// may come within a second.
func TestWhatIsLostIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var took []time.Duration
	for range 3 {
		// Connections that were made before would be used again: each time other servers, and not before those are closed
		// with which a replica that joins greets the others.
		var first *gate
		c := newCluster(t, group.ConfigurationOnly, func(conf *group.Configuration) {
			first = newGate(t, strings.TrimPrefix(conf.Replicas[0].EndpointURL, "TCP://"))
			conf.Replicas[0].EndpointURL = "TCP://" + first.listener.Addr().String()
		})
		c.synchronized(0, 1)
		g.Eventually(first.carried.Load, "60s", "10ms").Should(BeZero())
		before, began := c.servers[1].dialled.Load(), time.Now()
		g.Expect(c.group(0).Offline(t.Context())).To(Succeed())
		g.Eventually(c.servers[1].dialled.Load, "60s", "1ms").Should(BeNumerically(">", before))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	g.Expect(took[1]).To(BeNumerically("<", time.Second), "most of %v", took)
}

// A primary falls silent and its connections stay: the others are greeted as soon as it counts as gone, because a group
// may have timings with which it is replaced within seconds.
func TestSilenceIsNoticedSoon(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var gates []*gate
	c := newCluster(t, group.ConfigurationOnly, func(conf *group.Configuration) {
		gates = append(gates, newGate(t, strings.TrimPrefix(conf.Replicas[1].EndpointURL, "TCP://")))
		conf.Replicas[1].EndpointURL = "TCP://" + gates[0].listener.Addr().String()
	})
	c.synchronized(0, 1)
	var took []time.Duration
	for range 5 {
		g.Eventually(c.connected(1), "60s", "1ms").Should(BeTrue())
		before, began := c.servers[1].dialled.Load(), time.Now()
		gates[0].shut()
		g.Eventually(c.servers[1].dialled.Load, "60s", "1ms").Should(BeNumerically(">", before))
		took = append(took, time.Since(began))
		gates[0].open()
	}
	slices.Sort(took)
	g.Expect(took[3]).To(BeNumerically("<", 3*time.Second), "most of %v", took)
}
