// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"fmt"
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

// change runs DDL in a transaction.
func change(t *testing.T, db *storage.Database, statements ...string) {
	t.Helper()
	g := NewWithT(t)
	tx, err := db.Begin(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer tx.Rollback()
	for _, s := range statements {
		g.Expect(tx.ExecDDL(s)).To(Succeed())
	}
	_, err = tx.Commit(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
}

// copyAt is server n's copy of app as server p sees it.
func (c *cluster) copyAt(p, n int) replica.DatabaseState {
	for _, d := range c.group(p).States().Databases {
		if d.Replica == c.group(n).Self() {
			return d
		}
	}
	return replica.DatabaseState{}
}

// force makes a server primary with what it has.
func (c *cluster) force(n int) {
	g := NewWithT(c.t)
	g.Expect(c.group(n).SetLease(replica.BootTime(), lease)).To(Succeed())
	g.Expect(c.group(n).Force(c.t.Context())).To(Succeed())
	g.Eventually(c.role(n)).Should(Equal(replica.Primary))
}

// seedings counts the copies that were sent to a server.
func (c *cluster) seedings(to int) int {
	n := 0
	for _, s := range c.servers[to].m.Seedings() {
		if s.Ended.IsZero() || s.State() == "COMPLETED" {
			n++
		}
	}
	return n
}

// TestAForcedOverPrimaryComesBack: it is suspended, can be read, shows how much only it has, and takes that back, DDL
// included, without being seeded again. The phases show.
func TestAForcedOverPrimaryComesBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.ConfigurationOnly, nil)
	c.synchronized(0, 1)
	fork := c.servers[0].Database("app").Log().End()
	c.servers[1].stop()
	app := c.servers[0].Database("app")
	change(t, app, "CREATE TABLE made (id INTEGER PRIMARY KEY)")
	change(t, app, "ALTER TABLE t ADD COLUMN extra TEXT")
	ctx := t.Context()
	for i := range 1500 {
		tx, err := app.Begin(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sqlitex.Execute(tx.Conn(), "INSERT INTO t VALUES (?, hex(randomblob(500)), 'lost')",
			&sqlitex.ExecOptions{Args: []any{1000 + i}})).
			To(Succeed())
		_, err = tx.Commit(ctx)
		g.Expect(err).NotTo(HaveOccurred())
	}
	c.servers[0].stop()
	c.servers[1].start()
	c.force(1)
	g.Expect(c.copyAt(1, 0).SuspendPending).To(BeTrue())
	b := c.servers[1].Database("app")
	for i := range 40 {
		tx, err := b.Begin(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sqlitex.Execute(tx.Conn(), "INSERT INTO t VALUES (?, hex(randomblob(400000)))",
			&sqlitex.ExecOptions{Args: []any{5000 + i}})).
			To(Succeed())
		_, err = tx.Commit(ctx)
		g.Expect(err).NotTo(HaveOccurred())
	}

	c.servers[0].start()
	g.Expect(c.group(0).BecomeSecondary(ctx)).To(Succeed())
	g.Eventually(func() uint8 { return c.copyAt(0, 0).SuspendReason }).Should(Equal(uint8(1)), "SUSPEND_FROM_PARTNER")
	for _, from := range []int{0, 1} {
		g.Eventually(func() bool { d := c.copyAt(from, 0); return d.Suspended && !d.Recovery.IsZero() && !d.SuspendPending }).
			Should(BeTrue())
		d := c.copyAt(from, 0)
		g.Expect(d.State).To(Equal(replica.NotSynchronizing))
		g.Expect(fork.Less(d.Recovery)).To(BeFalse())
		g.Expect(d.Recovery.Less(d.Hardened)).To(BeTrue(), "what only it has, as server %d shows it", from)
	}
	a := c.servers[0].Database("app")
	r, err := a.Reader(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	lost, err := sqlitex.ResultInt64(r.Conn().Prep("SELECT count(*) FROM t WHERE extra = 'lost'"))
	r.Release()
	g.Expect(lost, err).To(Equal(int64(1500)), "the lost rows can be salvaged")

	seen := map[replica.SynchronizationState]bool{}
	watch, stop := make(chan struct{}), sync.WaitGroup{}
	stop.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-watch:
				return
			case <-tick.C:
				seen[c.copyAt(0, 0).State] = true
			}
		}
	})
	g.Expect(c.group(0).Resume("app")).To(Succeed())
	c.synchronized(1, 0)
	close(watch)
	stop.Wait()
	g.Expect(seen).To(And(HaveKey(replica.Reverting), HaveKey(replica.Initializing)))
	g.Eventually(func() (int64, error) { return count(ctx, c.servers[0].Database("app")) }).Should(Equal(int64(43)))
	g.Expect(c.servers[0].Database("app")).To(BeIdenticalTo(a), "it was not seeded again")
	g.Expect(c.seedings(0)).To(BeZero())
	g.Eventually(func() bool { return c.copyAt(0, 0).InLine }).Should(BeTrue())
	g.Expect(c.copyAt(0, 0).Suspended).To(BeFalse())
	g.Expect(columns(ctx, a)).To(Equal(int64(2)), "the column is gone")
}

func columns(ctx context.Context, db *storage.Database) (int64, error) {
	r, err := db.Reader(ctx)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	return sqlitex.ResultInt64(r.Conn().Prep("SELECT count(*) FROM pragma_table_info('t')"))
}

// TestAnotherSecondaryAheadOfTheForkTakesBackToo: the replica that is forced has less than a bystander.
func TestAnotherSecondaryAheadOfTheForkTakesBackToo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	c.servers[1].stop()
	for i := 10; i < 30; i++ {
		g.Expect(insert(t.Context(), c.servers[0].Database("app"), i)).To(Succeed())
	}
	g.Eventually(func() (int64, error) { return count(t.Context(), c.servers[2].Database("app")) }).
		Should(Equal(int64(23)))
	c.servers[0].stop()
	c.servers[1].start()
	g.Expect(c.group(1).SetLease(replica.BootTime(), lease)).To(Succeed())
	g.Expect(number(c.group(1).Failover(t.Context()))).
		To(Equal(int32(41142)), "the bystander says that it would lose writes")
	c.force(1)
	g.Expect(insert(t.Context(), c.servers[1].Database("app"), 100)).To(Succeed())
	c.servers[0].start()
	for _, n := range []int{0, 2} {
		g.Expect(c.group(n).BecomeSecondary(t.Context())).To(Succeed())
		g.Eventually(func() bool {
			d := c.copyAt(n, n)
			return d.Suspended && d.Recovery.Less(d.Hardened) && !d.Recovery.IsZero()
		}).Should(BeTrue())
		g.Expect(c.group(n).Resume("app")).To(Succeed())
		c.synchronized(1, n)
		g.Eventually(func() (int64, error) { return count(t.Context(), c.servers[n].Database("app")) }).
			Should(Equal(int64(4)))
	}
}

// TestRedoThatStopsSuspends: a copy that does not match the log is suspended and says why.
func TestRedoThatStopsSuspends(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newCluster(t, group.Asynchronous, nil)
	c.synchronized(0, 1)
	ctx := t.Context()
	g.Eventually(func() *storage.Database { return c.servers[2].Database("app") }).ShouldNot(BeNil())
	g.Eventually(func() replica.SynchronizationState { return c.copyAt(2, 2).State }).Should(Equal(replica.Synchronizing))
	conn, err := sqlite.OpenConn(c.servers[2].Database("app").Files().Data, sqlite.OpenReadWrite)
	g.Expect(err).NotTo(HaveOccurred())
	conn.SetBlockOnBusy()
	g.Expect(sqlitex.ExecuteTransient(conn, "DELETE FROM t WHERE id = 1", nil)).To(Succeed())
	g.Expect(conn.Close()).To(Succeed())
	app := c.servers[0].Database("app")
	tx, err := app.Begin(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sqlitex.ExecuteTransient(tx.Conn(), "UPDATE t SET v = 'new' WHERE id = 1", nil)).To(Succeed())
	_, err = tx.Commit(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	for _, from := range []int{0, 2} {
		g.Eventually(func() string {
			d := c.copyAt(from, 2)
			return fmt.Sprint(d.Suspended, d.SuspendReason, d.State)
		}).Should(Equal(fmt.Sprint(true, 2, replica.NotSynchronizing)), "SUSPEND_FROM_REDO at server %d", from)
	}
}
