// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// blockDistribution keeps everybody else from writing to the distribution database until release is called.
func (r *replication) blockDistribution(t *testing.T) (release func()) {
	t.Helper()
	var tx *sql.Tx
	// The server may have been started again just now.
	NewWithT(t).Eventually(func() (err error) {
		if tx, err = r.distDB.BeginTx(context.Background(), nil); err != nil {
			return err
		}
		if _, err = tx.Exec(`INSERT INTO distribution.dbo.MSrepl_errors (id, time, error_text) VALUES (0, GETDATE(), N'never seen')`); err != nil {
			_ = tx.Rollback()
		}
		return err
	}).WithTimeout(deliverWithin).Should(Succeed())
	// A server that is killed meanwhile releases as well.
	return func() { _ = tx.Rollback() }
}

// undelivered is how many transactions the publisher still keeps for the log reader.
func (r *replication) undelivered() any {
	rows, err := tryQuery(r.source, `EXEC sp_replcounters`)
	if err != nil {
		return err.Error()
	}
	for _, row := range rows {
		if row[0] == "shop" {
			return row[1]
		}
	}
	return "shop is not published"
}

// holdDelivery commits some transactions and holds the log reader where it has read them and waits for the distributor.
func (r *replication) holdDelivery(t *testing.T, id *int, random *rand.Rand) (n int, release func()) {
	t.Helper()
	g := NewWithT(t)
	deadline := time.Now().Add(6 * patient)
	for {
		// It runs, and has nothing to do.
		g.Eventually(func() any {
			return scalar(r.pubDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
		g.Eventually(r.undelivered).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
		release = r.blockDistribution(t)
		n = 1 + random.IntN(5)
		for range n {
			*id++
			mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (@p1, N'late', 1, NULL, NULL)`, *id)
		}
		for attempt := time.Now().Add(15 * time.Second); time.Now().Before(attempt); {
			if waits := scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_requests AS q JOIN sys.dm_exec_sessions AS s ON s.session_id = q.session_id
				CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS x WHERE s.program_name = N'Replication Log Reader' AND q.blocking_session_id <> 0 AND x.text LIKE N'%sp_MSadd_replcmds27hp%'`); waits == int64(
				1,
			) {
				return n, release
			}
		}
		// It waits with its history instead.
		release()
		g.Expect(time.Now().Before(deadline)).To(BeTrue(), "the log reader never waited with a delivery")
	}
}

// The log reader tells the publisher that transactions are delivered when the distributor has them, and not before: at
// whatever moment in between it, the distributor or the publisher ends, they are still there to be read again, even
// when the log is truncated then. GEOSQL_ROUNDS and GEOSQL_SEED change how many rounds there are and which.
func TestLogReaderDeliversBeforeItAcknowledges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seed := roundsOr("GEOSQL_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("GEOSQL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.pull(t)
	r.snapshot(t)
	r.bothSame(t)
	mustExec(t, r.source, `CREATE TABLE dbo.unpublished (id int IDENTITY(1,1) PRIMARY KEY, filler varchar(8000) NOT NULL)`)
	mustExec(t, r.pubDB, `ALTER DATABASE shop SET RECOVERY SIMPLE`)

	for _, db := range []*sql.DB{r.source, r.target, r.pubDB, r.distDB} {
		db.SetMaxIdleConns(0) // none that ended with its server
	}

	id := 1000
	moves := []struct {
		name    string
		do      func()
		restart bool
	}{
		{"nothing", func() {}, false},
		{
			"kill the log reader's sessions at the distributor",
			func() { killAgents(r.distDB, "Replication Log Reader") },
			false,
		},
		{"kill the log reader's sessions at the publisher", func() { killAgents(r.pubDB, "Replication Log Reader") }, false},
		{"kill the distributor", func() { r.dist.kill(); g.Expect(r.dist.launch()).To(Succeed()) }, true},
		{"kill the publisher", func() { r.pub.kill(); g.Expect(r.pub.launch()).To(Succeed()) }, true},
	}
	for round := range roundsOr("GEOSQL_ROUNDS", 6) {
		n, release := r.holdDelivery(t, &id, random)
		g.Expect(r.undelivered()).To(BeEquivalentTo(n), "round %d: acknowledged before it is delivered", round)

		move := moves[(round+seed)%len(moves)]
		t.Logf("round %d: %d transactions, %s", round, n, move.name)
		move.do()
		if round%3 == 0 {
			// More than a virtual log file, so that the log can be truncated where nothing holds it.
			mustExec(
				t,
				r.source,
				`DECLARE @n int = 0; BEGIN TRANSACTION; WHILE @n < 2500 BEGIN INSERT INTO dbo.unpublished (filler) VALUES (REPLICATE('x', 8000)); SET @n = @n + 1 END; COMMIT TRANSACTION`,
			)
			mustExec(t, r.source, `CHECKPOINT`)
		}
		if !move.restart {
			g.Expect(r.undelivered()).To(BeEquivalentTo(n), "round %d: acknowledged before it is delivered", round)
		}
		release()
	}
	r.bothSame(t)
	g.Expect(query(t, r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id > 1000`)).To(Equal([][]any{{int64(id - 1000)}}))
	g.Expect(query(t, r.distDB,
		fmt.Sprintf(`SELECT COUNT(*), COUNT(DISTINCT xact_seqno) FROM distribution.dbo.MSrepl_commands WHERE type = 30 AND article_id = (SELECT article_id FROM distribution.dbo.MSarticles WHERE article = N'%s')`, "orders"))).
		To(
			Equal([][]any{{int64(id - 1000), int64(id - 1000)}}), "each transaction once")
}
