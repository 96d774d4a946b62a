// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/tsql"
)

// isolate cuts one server's agent off from the other sites' voters and agents, and those from its site's voter, or
// mends it. What is cut off hears nothing: no refusal, no reset.
func (c *trio) isolate(site int, on bool) {
	c.mu.Lock()
	c.apart = ""
	if on {
		c.apart = c.members[site].name
	}
	c.mu.Unlock()
	for v, voter := range c.voters {
		for i, m := range c.members {
			if (v == site) != (i == site) {
				voter.cut(m.name, on)
			}
		}
	}
}

// silence is an address that takes connections and never says anything.
func silence(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var taken []net.Conn
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			taken = append(taken, conn)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range taken {
			_ = conn.Close()
		}
	})
	return l.Addr().String()
}

// The primary's site hears nothing of the others and they nothing of it: another server is promoted, although voter and
// agent of the lost site take the time that silence takes. The old primary follows when the site is back.
func TestAnIsolatedSiteIsReplaced(t *testing.T) {
	t.Parallel()
	c := newTrio(t, tsql.ConfigurationOnly)
	c.void = silence(t)
	stop := c.writing()
	cut := time.Now()
	c.isolate(0, true)
	c.g.Eventually(func() string {
		r := c.voters[1].record()
		return string(r.State) + " " + r.Holder.Server
	}, busy).Should(Equal("Held dubsec-0"))
	n := c.count()
	c.g.Eventually(c.count, busy, time.Millisecond).Should(BeNumerically(">", n))
	t.Logf("the next primary acknowledges %s after the cut", time.Since(cut))
	c.isolate(0, false)
	c.synchronized(2)
	stop()
	c.members = append(c.members[:1], c.members[2:]...) // the second has no data
	c.check()
	lease := c.voters[1].get()
	lines, err := votes.ParseTimelines(lease.Annotations)
	c.g.Expect(err).NotTo(HaveOccurred())
	last := lines[len(lines)-1]
	c.g.Expect(last).
		To(And(HaveField("Cause", votes.CauseAutomatic), HaveField("From", "tukpub-0"),
			HaveField("Promoted", Not(BeNil()))))
	t.Logf("promoted %s after it was suspected", last.Promoted.Sub(last.Suspected.Time))
}

// A third copy whose agent nobody reaches while primaries change in turn is bound to a former one and takes no log. It
// follows the present primary once its agent is reached again, every time.
func TestABystanderOfChangesCatchesUp(t *testing.T) {
	t.Parallel()
	c := newTrio(t, tsql.SynchronousCommit)
	c.void = silence(t)
	reach := func(on bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.apart = ""
		if !on {
			c.apart = "quisec-0"
		}
	}
	primary := 0
	for round := range 2 {
		next := 2 - primary
		reach(false)
		c.ask(votes.Request{ID: fmt.Sprint("move", round), Kind: votes.RequestSwitchover, To: c.members[next].name})
		c.g.Eventually(func() string {
			r := c.voters[0].record()
			return string(r.State) + " " + r.Holder.Server
		}, busy).Should(Equal("Held " + c.members[next].name))
		reach(true)
		c.synchronized(next)
		primary = next
	}
}
