// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Each transaction n of the ledger writes three rows and makes the counter n. The subscriber's procedures note what
// they apply, in the order in which they do: so a transaction that is applied in parts, twice, not at all or in another
// order shows at any moment, whatever its rows look like in the end.

// ledgerBatch is how many transactions the writer asks for at once; the publisher acknowledges them one by one or not.
const ledgerBatch = 5

// ledgerTable makes the tables to publish.
func (r *replication) ledgerTable(t *testing.T) {
	t.Helper()
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.ledger (id int NOT NULL PRIMARY KEY, tx int NOT NULL, filler varchar(200) NOT NULL)`,
	)
	mustExec(t, r.source, `CREATE TABLE dbo.counter (id int NOT NULL PRIMARY KEY, n int NOT NULL)`)
	mustExec(t, r.source, `INSERT INTO dbo.counter VALUES (1, 0)`)
	for _, table := range []string{"ledger", "counter"} {
		mustExec(
			t,
			r.source,
			fmt.Sprintf(
				`EXEC sp_addarticle @publication = N'web', @article = N'%[1]s', @source_owner = N'dbo', @source_object = N'%[1]s'`,
				table,
			),
		)
	}
}

// noteWhatIsApplied replaces the subscriber's procedures by ones that note each call, as documented for custom
// procedures
// (docs/relational-databases/replication/transactional/transactional-articles-specify-how-changes-are-propagated.md).
func (r *replication) noteWhatIsApplied(t *testing.T) {
	t.Helper()
	mustExec(
		t,
		r.target,
		`CREATE TABLE dbo.applied (seq int IDENTITY(1,1) NOT NULL PRIMARY KEY, tx int NOT NULL, id int NOT NULL)`,
	)
	mustExec(t, r.target, `ALTER PROCEDURE dbo.sp_MSins_dboledger @c1 int, @c2 int, @c3 varchar(200) AS
BEGIN
INSERT INTO dbo.ledger (id, tx, filler) VALUES (@c1, @c2, @c3)
INSERT INTO dbo.applied (tx, id) VALUES (@c2, @c1)
END`)
	mustExec(
		t,
		r.target,
		`ALTER PROCEDURE dbo.sp_MSupd_dbocounter @c1 int = NULL, @c2 int = NULL, @pkc1 int, @bitmap binary(1) AS
BEGIN
UPDATE dbo.counter SET n = @c2 WHERE id = @pkc1
INSERT INTO dbo.applied (tx, id) VALUES (@c2, -@c2)
END`,
	)
}

// ledgerFault is one row that says what is wrong at the subscriber at one moment, all zeros when nothing is. The
// counter is updated before the rows of its transaction are inserted. Rows and their order are looked at from
// transaction @p1 on, their number in the whole.
const ledgerFault = `SELECT
	(SELECT COUNT(*) FROM (SELECT tx FROM dbo.ledger WHERE id >= 3 * @p1 GROUP BY tx HAVING COUNT(*) <> 3) AS parts) AS torn,
	(SELECT COUNT(*) FROM dbo.ledger) - 3 * (SELECT n FROM dbo.counter) AS lost,
	(SELECT COUNT(*) FROM dbo.applied) - 4 * (SELECT n FROM dbo.counter) AS again,
	(SELECT COUNT(*) FROM (SELECT tx, LAG(tx) OVER (ORDER BY seq) AS before FROM dbo.applied WHERE seq > 4 * @p1) AS steps WHERE tx < before) AS disordered`

// lookBack is how many transactions are looked at again each time.
const lookBack = 300

// writeLedger makes transactions from n on at the publisher until stop says so. It returns the last one that is there:
// one whose answer was lost counts when the counter says so.
func (r *replication) writeLedger(n int, stop func(n int) bool, db *sql.DB) (int, error) {
	const text = `SET XACT_ABORT ON; DECLARE @n int = @p1 + 1; WHILE @n <= @p1 + @p2 BEGIN
		BEGIN TRANSACTION; UPDATE dbo.counter SET n = @n WHERE id = 1;
		INSERT INTO dbo.ledger VALUES (@n * 3, @n, REPLICATE('a', @n % 200)), (@n * 3 + 1, @n, 'b'), (@n * 3 + 2, @n, 'c'); COMMIT TRANSACTION;
		SET @n = @n + 1 END`
	// Slow enough for the looks at the ledger to keep up with it.
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for !stop(n) {
		<-pace.C
		if _, err := db.Exec(text, n, ledgerBatch); err == nil {
			n += ledgerBatch
			continue
		}
		deadline := time.Now().Add(patient)
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

// ledger is a replication of the ledger while it is written.
type ledger struct {
	*replication
	random *rand.Rand
	// least is how many transactions there have to be in the end.
	least    int64
	reached  int64
	finish   func()
	finished chan struct{}
	written  chan int
}

// newLedger subscribes to the ledger, with more parameters of the agent, and begins to write.
func newLedger(t *testing.T, parameters string) *ledger {
	t.Helper()
	seed := roundsOr("GEOSQL_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("GEOSQL_SEED=%d", seed)
	l := &ledger{
		replication: newReplication(t),
		random:      rand.New(rand.NewPCG(uint64(seed), 1)),
		least:       int64(roundsOr("GEOSQL_TRANSACTIONS", 1000)),
		finished:    make(chan struct{}),
		written:     make(chan int, 1),
	}
	l.distribute(t)
	l.publishWith(t, "@immediate_sync = N'true'")
	l.ledgerTable(t)
	l.newSnapshot(t)
	l.pullWith(t, parameters)
	l.same(t, "dbo.counter", "*", "id")
	l.noteWhatIsApplied(t)
	l.finish = sync.OnceFunc(func() { close(l.finished) })
	var writing sync.WaitGroup
	t.Cleanup(func() { l.finish(); writing.Wait() }) // before the servers end: nobody writes about a test that is over
	writing.Go(func() {
		n, err := l.writeLedger(0, func(int) bool {
			select {
			case <-l.finished:
				return true
			default:
				return false
			}
		}, l.source)
		if err != nil {
			t.Error(err)
		}
		l.written <- n
	})
	return l
}

// look fails when the subscriber, if it answers, shows what a reader must never see. It tells how far it is.
func (l *ledger) look(t *testing.T, from int64) int64 {
	t.Helper()
	rows, _ := tryQuery(l.target, ledgerFault, max(from, 0))
	for _, row := range rows {
		NewWithT(t).Expect(fmt.Sprint(row)).To(Equal("[0 0 0 0]"), "torn, lost, again, disordered")
	}
	n, _ := scalar(l.target, `SELECT n FROM dbo.counter`).(int64)
	return n
}

// deliver waits until what was killed before is overcome, and then for any moment after that.
func (l *ledger) deliver(t *testing.T, round int) {
	t.Helper()
	NewWithT(
		t,
	).Eventually(func() int64 { return l.look(t, l.reached-lookBack) }).
		WithTimeout(deliverWithin).
		WithPolling(time.Millisecond).
		Should(BeNumerically(">", l.reached), "round %d", round)
	until := time.Now().Add(time.Duration(l.random.IntN(400)) * time.Millisecond)
	for ahead := true; ahead; ahead = time.Now().Before(until) {
		l.reached = max(l.reached, l.look(t, l.reached-lookBack))
	}
}

// end writes on until there are as many transactions as there have to be, and compares the whole.
func (l *ledger) end(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for round := 0; l.reached < l.least; round++ {
		l.deliver(t, round)
	}
	l.finish()
	last := 0
	g.Eventually(l.written, patient).Should(Receive(&last))
	g.Eventually(func() int64 { return l.look(t, int64(last)-lookBack) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(last))
	l.look(t, 0)
	l.same(t, "dbo.ledger", "*", "id")
	t.Logf("%d transactions", last)
	g.Expect(int64(last)).To(BeNumerically(">=", l.least))
}

// Publisher, distributor, subscriber and agents are killed at random moments while transactions are written: they
// arrive whole, in the order of their commits, and once, as anybody sees who looks at the subscriber at any moment.
// GEOSQL_REPLICATION_ROUNDS and GEOSQL_SEED change how many kills there are and which, GEOSQL_TRANSACTIONS how many
// transactions there are at least.
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
	l := newLedger(t, parameters)
	moves := []struct {
		name string
		do   func()
	}{
		{"kill the subscriber", func() { l.sub.kill(); g.Expect(l.sub.launch()).To(Succeed()) }},
		{"kill the distributor", func() { l.dist.kill(); g.Expect(l.dist.launch()).To(Succeed()) }},
		{"kill the publisher", func() { l.pub.kill(); g.Expect(l.pub.launch()).To(Succeed()) }},
		{
			"kill the distribution agent's sessions at the subscriber",
			func() { killAgents(l.subDB, "Replication Distribution") },
		},
		{
			"kill the distribution agent's sessions at the distributor",
			func() { killAgents(l.distDB, "Replication Distribution") },
		},
		{"kill the log reader's sessions at the distributor", func() { killAgents(l.distDB, "Replication Log Reader") }},
		{"kill the log reader's sessions at the publisher", func() { killAgents(l.pubDB, "Replication Log Reader") }},
		{
			"stop the distribution agent",
			func() { _, _ = l.subDB.Exec(`EXEC msdb.dbo.sp_stop_job @job_name = N'distribution'`) },
		},
	}
	for round := range roundsOr("GEOSQL_REPLICATION_ROUNDS", kills) {
		l.deliver(t, round)
		move := moves[l.random.IntN(len(moves))]
		t.Logf("round %d: %s at transaction %d", round, move.name, l.reached)
		move.do()
	}
	l.end(t)
}
