// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Each transaction n of the ledger writes three rows and makes the counter n. The subscriber's procedures note what they
// apply, in the order in which they do: so a transaction that is applied in parts, twice, not at all or in another order
// shows at any moment, whatever its rows look like in the end.

// ledgerBatch is how many transactions the writer asks for at once; the publisher acknowledges them one by one or not.
const ledgerBatch = 5

// ledgerTable makes the tables to publish.
func (r *replication) ledgerTable(t *testing.T) {
	t.Helper()
	mustExec(t, r.source, `CREATE TABLE dbo.ledger (id int NOT NULL PRIMARY KEY, tx int NOT NULL, filler varchar(200) NOT NULL)`)
	mustExec(t, r.source, `CREATE TABLE dbo.counter (id int NOT NULL PRIMARY KEY, n int NOT NULL)`)
	mustExec(t, r.source, `INSERT INTO dbo.counter VALUES (1, 0)`)
	for _, table := range []string{"ledger", "counter"} {
		mustExec(t, r.source, fmt.Sprintf(`EXEC sp_addarticle @publication = N'web', @article = N'%[1]s', @source_owner = N'dbo', @source_object = N'%[1]s'`, table))
	}
}

// noteWhatIsApplied replaces the subscriber's procedures by ones that note each call, as documented for custom procedures
// (docs/relational-databases/replication/transactional/transactional-articles-specify-how-changes-are-propagated.md).
func (r *replication) noteWhatIsApplied(t *testing.T) {
	t.Helper()
	mustExec(t, r.target, `CREATE TABLE dbo.applied (seq int IDENTITY(1,1) NOT NULL PRIMARY KEY, tx int NOT NULL, id int NOT NULL)`)
	mustExec(t, r.target, `ALTER PROCEDURE dbo.sp_MSins_dboledger @c1 int, @c2 int, @c3 varchar(200) AS
BEGIN
INSERT INTO dbo.ledger (id, tx, filler) VALUES (@c1, @c2, @c3)
INSERT INTO dbo.applied (tx, id) VALUES (@c2, @c1)
END`)
	mustExec(t, r.target, `ALTER PROCEDURE dbo.sp_MSupd_dbocounter @c1 int, @c2 int, @pkc1 int AS
BEGIN
UPDATE dbo.counter SET n = @c2 WHERE id = @pkc1
INSERT INTO dbo.applied (tx, id) VALUES (@c2, -@c2)
END`)
}

// ledgerFault is one row that says what is wrong at the subscriber at one moment, all zeros when nothing is. The counter
// is updated before the rows of its transaction are inserted.
const ledgerFault = `SELECT
	(SELECT COUNT(*) FROM (SELECT tx FROM dbo.ledger GROUP BY tx HAVING COUNT(*) <> 3) AS parts) AS torn,
	(SELECT COUNT(*) FROM dbo.ledger) - 3 * (SELECT n FROM dbo.counter) AS lost,
	(SELECT COUNT(*) FROM dbo.applied) - 4 * (SELECT n FROM dbo.counter) AS again,
	(SELECT COUNT(*) FROM dbo.applied AS a JOIN dbo.applied AS b ON b.seq = a.seq + 1 WHERE b.tx < a.tx) AS disordered`

// write makes transactions from n on at the publisher until stop says so. It returns the last one that is there: one
// whose answer was lost counts when the counter says so.
func (r *replication) writeLedger(n int, stop func(n int) bool, db *sql.DB) (int, error) {
	const text = `SET XACT_ABORT ON; DECLARE @n int = @p1 + 1; WHILE @n <= @p1 + @p2 BEGIN
		BEGIN TRANSACTION; UPDATE dbo.counter SET n = @n WHERE id = 1;
		INSERT INTO dbo.ledger VALUES (@n * 3, @n, REPLICATE('a', @n % 200)), (@n * 3 + 1, @n, 'b'), (@n * 3 + 2, @n, 'c'); COMMIT TRANSACTION;
		SET @n = @n + 1 END`
	// Slow enough for the looks at the whole ledger to keep up with it.
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for !stop(n) {
		<-pace.C
		if _, err := db.Exec(text, n, ledgerBatch); err == nil {
			n += ledgerBatch
			continue
		}
		deadline := time.Now().Add(deliverWithin)
		for {
			if at, ok := scalar(db, `SELECT n FROM dbo.counter WHERE id = 1`).(int64); ok {
				if int(at) < n || int(at) > n+ledgerBatch {
					return n, fmt.Errorf("the publisher's counter is %d after %d", at, n)
				}
				n = int(at)
				break
			}
			if time.Now().After(deadline) {
				return n, fmt.Errorf("the publisher does not answer after transaction %d", n)
			}
		}
	}
	return n, nil
}

// killAgents ends the sessions of agents of a kind on a server at once, in whatever they are doing.
func killAgents(db *sql.DB, program string) {
	rows, err := tryQuery(db, `SELECT session_id FROM sys.dm_exec_sessions WHERE program_name = N'`+program+`'`)
	if err != nil {
		return
	}
	for _, row := range rows {
		// It may have ended by itself.
		_, _ = db.Exec(fmt.Sprintf("KILL %v", row[0]))
	}
}

// roundsOr is a number of the environment.
func roundsOr(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

// Publisher, distributor, subscriber and agents are killed at random moments while transactions are written: they
// arrive whole, in the order of their commits, and once, as anybody sees who looks at the subscriber at any moment.
// GEOSQL_ROUNDS and GEOSQL_SEED change how many kills there are and which.
func TestTransactionsArriveWholeInOrderOnce(t *testing.T) {
	t.Parallel()
	arriveWholeInOrderOnce(t, 14, "")
}

// The same with several streams, each of them with a few transactions at a time.
func TestTransactionsArriveWholeInOrderOnceInStreams(t *testing.T) {
	t.Parallel()
	arriveWholeInOrderOnce(t, 8, "-SubscriptionStreams 4 -CommitBatchSize 3")
}

func arriveWholeInOrderOnce(t *testing.T, kills int, parameters string) {
	g := NewWithT(t)
	rounds, seed := roundsOr("GEOSQL_ROUNDS", kills), roundsOr("GEOSQL_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("GEOSQL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.ledgerTable(t)
	r.newSnapshot(t)
	r.pullWith(t, parameters)
	r.same(t, "dbo.counter", "*", "id")
	r.noteWhatIsApplied(t)

	finished := make(chan struct{})
	written := make(chan int, 1)
	go func() {
		n, err := r.writeLedger(0, func(int) bool {
			select {
			case <-finished:
				return true
			default:
				return false
			}
		}, r.source)
		if err != nil {
			t.Error(err)
		}
		written <- n
	}()
	look := func() {
		t.Helper()
		for _, row := range func() [][]any { rows, _ := tryQuery(r.target, ledgerFault); return rows }() {
			g.Expect(fmt.Sprint(row)).To(Equal("[0 0 0 0]"), "torn, lost, again, disordered")
		}
	}
	moves := []struct {
		name string
		do   func()
	}{
		{"kill the subscriber", func() { r.sub.kill(); g.Expect(r.sub.launch()).To(Succeed()) }},
		{"kill the distributor", func() { r.dist.kill(); g.Expect(r.dist.launch()).To(Succeed()) }},
		{"kill the publisher", func() { r.pub.kill(); g.Expect(r.pub.launch()).To(Succeed()) }},
		{"kill the distribution agent's sessions at the subscriber", func() { killAgents(r.subDB, "Replication Distribution") }},
		{"kill the distribution agent's sessions at the distributor", func() { killAgents(r.distDB, "Replication Distribution") }},
		{"kill the log reader's sessions at the distributor", func() { killAgents(r.distDB, "Replication Log Reader") }},
		{"kill the log reader's sessions at the publisher", func() { killAgents(r.pubDB, "Replication Log Reader") }},
		{"stop the distribution agent", func() { _, _ = r.subDB.Exec(`EXEC msdb.dbo.sp_stop_job @job_name = N'distribution'`) }},
	}
	arrived := func() int64 { n, _ := scalar(r.target, `SELECT n FROM dbo.counter`).(int64); return n }
	reached := int64(0)
	for round := range rounds {
		// The next fault comes at any moment after the one before was overcome.
		g.Eventually(func() int64 { look(); return arrived() }).WithTimeout(deliverWithin).WithPolling(time.Millisecond).Should(BeNumerically(">", reached), "round %d", round)
		until := time.Now().Add(time.Duration(random.IntN(400)) * time.Millisecond)
		for time.Now().Before(until) {
			look()
		}
		reached = max(reached, arrived())
		move := moves[random.IntN(len(moves))]
		t.Logf("round %d: %s at transaction %v", round, move.name, reached)
		move.do()
	}
	close(finished)
	last := 0
	g.Eventually(written, deliverWithin).Should(Receive(&last))
	g.Eventually(func() any { look(); return scalar(r.target, `SELECT n FROM dbo.counter`) }).WithTimeout(2 * deliverWithin).Should(BeEquivalentTo(last))
	look()
	r.same(t, "dbo.ledger", "*", "id")
	t.Logf("%d transactions, %d kills", last, rounds)
	g.Expect(last).To(BeNumerically(">", 20*rounds))
}
