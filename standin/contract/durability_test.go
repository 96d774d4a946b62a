// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestCommittedSurvivesKill writes from several sessions, kills the process with SIGKILL in the middle and compares
// what was acknowledged with what is there. Each transaction writes one row to each of two tables, so a half-applied
// one shows.
func TestCommittedSurvivesKill(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "crash")
	mustExec(
		t,
		db,
		"CREATE TABLE a (writer int NOT NULL, n int NOT NULL, filler char(200) NOT NULL DEFAULT 'x', PRIMARY KEY "+
			"(writer, n))",
	)
	mustExec(t, db, "CREATE TABLE b (writer int NOT NULL, n int NOT NULL, PRIMARY KEY (writer, n))")
	const writers = 6
	next := make([]int, writers)
	acknowledged := make([]map[int]bool, writers)
	for w := range acknowledged {
		acknowledged[w] = map[int]bool{}
	}
	for round := range 3 {
		load := i.open(t, "crash")
		var total atomic.Int64
		var done sync.WaitGroup
		for w := range writers {
			done.Add(1)
			go func() {
				defer done.Done()
				for {
					n := next[w]
					next[w]++
					if err := writeBoth(load, w, n); err != nil {
						return
					}
					acknowledged[w][n] = true
					total.Add(1)
				}
			}()
		}
		g.Eventually(total.Load, patient, time.Millisecond).Should(BeNumerically(">", 150))
		i.kill()
		done.Wait()
		load.Close()
		g.Expect(i.launch()).To(Succeed(), "round %d", round)
		check := i.open(t, "crash")
		g.Expect(value(t, check,
			"SELECT COUNT(*) FROM a FULL JOIN b ON a.writer = b.writer AND a.n = b.n WHERE a.n IS NULL OR b.n IS NULL")).
			To(Equal(int64(0)), "half-applied transactions")
		found := make([]map[int]bool, writers)
		for w := range found {
			found[w] = map[int]bool{}
		}
		for _, row := range query(t, check, "SELECT writer, n FROM a") {
			found[row[0].(int64)][int(row[1].(int64))] = true
		}
		for w := range writers {
			for n := range acknowledged[w] {
				g.Expect(found[w]).To(HaveKey(n), "acknowledged row (%d, %d) after round %d", w, n, round)
			}
			g.Expect(len(found[w])).
				To(BeNumerically("<=", len(acknowledged[w])+round+1), "at most one unanswered commit per writer and round")
		}
	}
}

func writeBoth(db *sql.DB, writer, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, table := range []string{"a", "b"} {
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+table+" (writer, n) VALUES (@p1, @p2)", writer, n); err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}

// TestUncommittedIsGoneAfterKill leaves a transaction open, visible to itself only.
func TestUncommittedIsGoneAfterKill(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "crash")
	mustExec(t, db, "CREATE TABLE t (id int PRIMARY KEY)")
	mustExec(t, db, "INSERT t VALUES (1)")
	tx, err := db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	mustExec(t, tx, "INSERT t VALUES (2)")
	mustExec(t, tx, "DELETE t WHERE id = 1")
	mustExec(t, tx, "CREATE TABLE u (id int)")
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	check := i.open(t, "crash")
	g.Expect(query(t, check, "SELECT id FROM t")).To(Equal([][]any{{int64(1)}}))
	g.Expect(value(t, check, "SELECT OBJECT_ID('u')")).To(BeNil())
}

// TestDefinitionsSurviveKill checks that databases, tables and logins are as durable as rows.
func TestDefinitionsSurviveKill(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	for n := range 3 {
		name := fmt.Sprintf("db%d", n)
		db := i.newDatabase(t, name)
		mustExec(t, db, "CREATE SCHEMA own")
		mustExec(t, db, "CREATE TABLE own.t (id int IDENTITY PRIMARY KEY, v nvarchar(10) UNIQUE)")
		mustExec(t, db, "INSERT own.t VALUES (N'one')")
		i.kill()
		g.Expect(i.launch()).To(Succeed())
		again := i.open(t, name)
		g.Expect(failure(t, again, "INSERT own.t VALUES (N'ONE')").Number).To(Equal(int32(2627)))
		mustExec(t, again, "INSERT own.t VALUES (N'two')")
		g.Expect(value(t, again, "SELECT COUNT(DISTINCT id) FROM own.t")).To(Equal(int64(2)))
	}
	mustExec(t, i.open(t, ""), "DROP DATABASE db1")
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	g.Expect(query(t, i.open(t, ""), "SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY name")).
		To(Equal([][]any{{"db0"}, {"db2"}}))
}
