// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// acked are the rows whose insert was answered.
type acked struct {
	mu   sync.Mutex
	ids  []int64
	next int
}

// write inserts rows over a connection pool until ctx ends, or nothing is answered any more.
func (a *acked) write(ctx context.Context, db *sql.DB) {
	for ctx.Err() == nil {
		a.mu.Lock()
		id := a.next
		a.next++
		a.mu.Unlock()
		if _, err := db.ExecContext(ctx, "INSERT INTO dbo.t (id) VALUES (@p1)", id); err != nil {
			return
		}
		a.mu.Lock()
		a.ids = append(a.ids, int64(id))
		a.mu.Unlock()
	}
}

func (a *acked) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}

// TestAGKilledPrimaryLosesNothing: kill -9 of the primary under load, then the other replica becomes primary with every
// row that was acknowledged; there and back.
func TestAGKilledPrimaryLosesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	a := &acked{next: 1}
	primary, other := 0, 1
	for range 3 {
		c.synchronized(primary, other)
		db := c.servers[primary].open(t, "app")
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { a.write(ctx, db) })
		}
		before := a.count()
		g.Eventually(a.count, patient, "5ms").Should(BeNumerically(">", before+100))
		c.servers[primary].kill()
		wait.Wait()
		cancel()
		db.Close()
		c.promote(other)
		have, err := c.ids(other)()
		g.Expect(err).NotTo(HaveOccurred())
		for _, id := range a.ids {
			_, found := slices.BinarySearch(have, id)
			g.Expect(found).To(BeTrue(), "the acknowledged row %d is lost", id)
		}
		c.restart(primary)
		mustExec(t, c.admins[primary], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
		c.synchronized(other, primary)
		g.Eventually(c.ids(primary), patient).Should(Equal(have))
		primary, other = other, primary
	}
	t.Logf("%d rows acknowledged", a.count())
}

// TestAGFailoverUnderLoadLosesNothing: the role moves while clients write: from a primary that is well, from one that
// is frozen and wakes up later, and from one that was taken offline. What was acknowledged is there, and nobody who is
// no longer primary acknowledges anything.
func TestAGFailoverUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	a := &acked{next: 1}
	primary, other := 0, 1
	for _, way := range []string{"well", "frozen", "offline"} {
		c.synchronized(primary, other)
		db := c.servers[primary].open(t, "app")
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { a.write(ctx, db) })
		}
		before := a.count()
		g.Eventually(a.count, patient, "5ms").Should(BeNumerically(">", before+100))
		switch way {
		case "frozen":
			c.servers[primary].freeze(t)
		case "offline":
			mustExec(t, c.admins[primary], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
		}
		c.promote(other)
		g.Expect(c.insert(t.Context(), other, 1_000_000+before)).To(Succeed(), way)
		if way == "frozen" {
			c.servers[primary].thaw()
		}
		wait.Wait()
		cancel()
		db.Close()
		g.Eventually(c.role(primary), patient).Should(Equal("RESOLVING"), way)
		have, err := c.ids(other)()
		g.Expect(err).NotTo(HaveOccurred())
		for _, id := range a.ids {
			_, found := slices.BinarySearch(have, id)
			g.Expect(found).To(BeTrue(), "%s: the acknowledged row %d is lost", way, id)
		}
		mustExec(t, c.admins[primary], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
		c.synchronized(other, primary)
		g.Eventually(c.ids(primary), patient).Should(Equal(have), way)
		primary, other = other, primary
	}
	t.Logf("%d rows acknowledged", a.count())
}
