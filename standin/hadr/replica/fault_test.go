// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/storage"
)

// ledger is what writers were told.
type ledger struct {
	mu    sync.Mutex
	acked map[int]bool
	next  int
}

// write inserts a row at a server as long as it takes it.
func (l *ledger) write(ctx context.Context, s *server) {
	db := s.Database("app")
	if db == nil {
		return
	}
	l.mu.Lock()
	id := l.next
	l.next++
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if insert(ctx, db, id) == nil {
		l.mu.Lock()
		l.acked[id] = true
		l.mu.Unlock()
	}
}

// rows are the ids at a server.
func rows(ctx context.Context, db *storage.Database) (map[int]bool, error) {
	r, err := db.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	out := map[int]bool{}
	err = sqlitex.Execute(r.Conn(), "SELECT id FROM t", &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		out[s.ColumnInt(0)] = true
		return nil
	}})
	return out, err
}

// TestFaultsLoseNothing lets servers stop and start, and replicas be taken offline and promoted, at random while rows
// are written everywhere: the primary after each round has every acknowledged row.
func TestFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	g.Expect(c.group(0).SetLease(replica.BootTime(), 10*time.Minute)).To(Succeed())
	l := &ledger{acked: map[int]bool{}, next: 1000}
	primary := 0
	for round := range 6 {
		// Writers at every server: whoever wrongly takes a write would be found out.
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for _, s := range c.servers {
			for range 2 {
				wait.Go(func() {
					pace := time.NewTicker(2 * time.Millisecond)
					defer pace.Stop()
					for ctx.Err() == nil {
						l.write(ctx, s)
						<-pace.C
					}
				})
			}
		}
		before := len(l.snapshot())
		g.Eventually(func() int { return len(l.snapshot()) }).Should(BeNumerically(">", before+10))
		victim := rnd.IntN(3)
		switch rnd.IntN(3) {
		case 0:
			g.Expect(c.group(primary).Offline(ctx)).To(Succeed())
		case 1:
			g.Expect(c.group(victim).Offline(ctx)).To(Succeed())
		}
		stop()
		wait.Wait()
		c.servers[victim].stop()
		if rnd.IntN(2) == 0 {
			c.servers[victim].start()
			victim = -1
		}
		primary = c.elect(rnd, victim)
		have, err := rows(t.Context(), c.servers[primary].Database("app"))
		g.Expect(err).NotTo(HaveOccurred())
		for id := range l.snapshot() {
			g.Expect(have[id]).To(BeTrue(), "round %d: the primary %d lacks the acknowledged row %d", round, primary, id)
		}
		if victim >= 0 {
			c.servers[victim].start()
		}
		for i := range c.servers {
			if i != primary {
				g.Expect(c.group(i).BecomeSecondary(t.Context())).To(Succeed())
				c.synchronized(primary, i)
			}
		}
	}
	t.Logf("%d acknowledged rows", len(l.snapshot()))
}

func (l *ledger) snapshot() map[int]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[int]bool{}
	for id := range l.acked {
		out[id] = true
	}
	return out
}

// elect promotes some replica that lets itself be promoted losslessly, if none is primary; dead is a stopped server.
func (c *cluster) elect(rnd *rand.Rand, dead int) int {
	g := NewWithT(c.t)
	winner := -1
	g.Eventually(func() int {
		for i := range c.servers {
			if i != dead && c.group(i).Role() == replica.Primary {
				winner = i
				return winner
			}
		}
		i := rnd.IntN(3)
		if i != dead {
			_ = c.group(i).SetLease(replica.BootTime(), 10*time.Minute)
			_ = c.group(i).Failover(c.t.Context())
		}
		return -1
	}, "20s", "50ms").ShouldNot(Equal(-1))
	return winner
}
