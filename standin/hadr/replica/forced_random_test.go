// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/storage"
)

// content is the schema and the rows of a database, apart from what storage keeps for itself.
func content(ctx context.Context, db *storage.Database) (string, error) {
	if db == nil {
		return "", fmt.Errorf("no database")
	}
	r, err := db.Reader(ctx)
	if err != nil {
		return "", err
	}
	defer r.Release()
	var out strings.Builder
	var tables []string
	err = sqlitex.ExecuteTransient(
		r.Conn(),
		"SELECT name, type, sql FROM sqlite_schema WHERE name NOT LIKE '\\_\\_storage%' ESCAPE '\\' AND sql IS NOT NULL "+
			"ORDER BY name",
		&sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error {
				fmt.Fprintln(&out, s.ColumnText(2))
				if s.ColumnText(1) == "table" {
					tables = append(tables, s.ColumnText(0))
				}
				return nil
			}},
	)
	for _, name := range tables {
		if err == nil {
			err = sqlitex.ExecuteTransient(
				r.Conn(),
				`SELECT * FROM "`+name+`" ORDER BY 1`,
				&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
					for i := range s.ColumnCount() {
						fmt.Fprint(&out, s.ColumnText(i), "|")
					}
					fmt.Fprintln(&out)
					return nil
				}},
			)
		}
	}
	return out.String(), err
}

// disturb writes rows and changes of the schema at random.
func disturb(t *testing.T, rnd *rand.Rand, db *storage.Database) {
	t.Helper()
	g := NewWithT(t)
	for range 1 + rnd.IntN(4) {
		tx, err := db.Begin(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		for range 1 + rnd.IntN(3) {
			n, id := rnd.IntN(3), rnd.IntN(20)
			// Some of them fail, which is as good.
			_ = sqlitex.ExecuteTransient(
				tx.Conn(),
				fmt.Sprintf("INSERT INTO t (id, v) VALUES (%d, hex(randomblob(%d)))", rnd.IntN(1000), rnd.IntN(3000)),
				nil,
			)
			_ = sqlitex.ExecuteTransient(
				tx.Conn(),
				fmt.Sprintf("UPDATE t SET v = 'changed %d' WHERE id %% 20 = %d", rnd.IntN(100), id),
				nil,
			)
			switch rnd.IntN(6) {
			case 0:
				_ = tx.ExecDDL(fmt.Sprintf("ALTER TABLE t ADD COLUMN c%d TEXT DEFAULT 'new'", n))
			case 1:
				_ = tx.ExecDDL(fmt.Sprintf("ALTER TABLE t DROP COLUMN c%d", n))
			case 2:
				_ = tx.ExecDDL(fmt.Sprintf("CREATE TABLE n%d (id INTEGER PRIMARY KEY, v TEXT UNIQUE)", n))
				_ = sqlitex.ExecuteTransient(tx.Conn(), fmt.Sprintf("INSERT INTO n%d VALUES (1, 'one'), (2, 'two')", n), nil)
			case 3:
				_ = tx.ExecDDL(fmt.Sprintf("DROP TABLE n%d", n))
			case 4:
				_ = sqlitex.ExecuteTransient(tx.Conn(), fmt.Sprintf("DELETE FROM t WHERE id %% 20 = %d", id), nil)
			}
		}
		_, err = tx.Commit(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// TestForcedFailoversConverge forces a replica that lacks something, again and again, while rows and the schema change:
// all copies come to be what the primary is, from the log alone.
func TestForcedFailoversConverge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	c := newCluster(t, group.Synchronous, nil)
	c.synchronized(0, 1, 2)
	g.Expect(c.group(0).SetLease(replica.BootTime(), time.Hour)).To(Succeed())
	primary := 0
	for round := range 5 {
		disturb(t, rnd, c.servers[primary].Database("app"))
		next := (primary + 1 + rnd.IntN(2)) % 3
		other := 3 - primary - next
		c.servers[next].stop()
		disturb(t, rnd, c.servers[primary].Database("app"))
		if rnd.IntN(2) == 0 {
			c.servers[other].stop()
			c.servers[next].start()
			disturb(t, rnd, c.servers[primary].Database("app"))
			c.servers[primary].stop()
		} else {
			c.servers[primary].stop()
			c.servers[other].stop()
			c.servers[next].start()
		}
		c.force(next)
		disturb(t, rnd, c.servers[next].Database("app"))
		for _, n := range []int{primary, other} {
			c.servers[n].start()
			g.Expect(c.group(n).BecomeSecondary(t.Context())).To(Succeed())
			g.Eventually(func() bool { return c.copyAt(n, n).Suspended }).Should(BeTrue(), "round %d", round)
			g.Expect(c.group(n).Resume("app")).To(Succeed())
			c.synchronized(next, n)
		}
		want, err := content(t.Context(), c.servers[next].Database("app"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, n := range []int{primary, other} {
			g.Eventually(func() (string, error) { return content(t.Context(), c.servers[n].Database("app")) }).
				Should(Equal(want), "round %d: server %d", round, n)
			g.Expect(c.seedings(n)).To(BeZero(), "round %d: server %d was seeded again", round, n)
		}
		primary = next
	}
}
