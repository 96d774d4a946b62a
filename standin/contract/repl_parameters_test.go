// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// -MaxDeliveredTransactions ends a run of the agent, -TransactionsPerHistory and -BcpBatchSize make the history say how
// far it is; Replication Monitor warns of what took longer than its threshold.
func TestAgentParameters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	dist := r.dist.open(t, "distribution")
	n := 0
	// run has so many transactions, each larger than a buffer, wait for an agent with those parameters.
	run := func(transactions int, parameters string) {
		t.Helper()
		mustExec(t, r.distDB, `EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 0`)
		// It may have ended by itself.
		_, _ = r.distDB.Exec(`EXEC msdb.dbo.sp_stop_job @job_name = N'distribution'`)
		g.Eventually(func() any {
			return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Distribution'`)
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
		for range transactions {
			n++
			mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES ('part', @p1, @p2)`, n, bytes.Repeat([]byte{byte(n)}, 60<<10))
		}
		g.Eventually(func() any {
			return scalar(dist, `SELECT COUNT(*) FROM dbo.MSrepl_commands WHERE type = 30 AND partial_command = 0`)
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(n))
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
			distributionCommand(0, parameters),
		)
		mustExec(t, r.distDB, `EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`)
	}
	const newest = ` FROM dbo.MSdistribution_history WHERE start_time = (SELECT MAX(h.start_time) FROM dbo.MSdistribution_history AS h)`

	run(6, "-MaxDeliveredTransactions 4")
	g.Eventually(func() any { return scalar(dist, `SELECT MAX(delivered_transactions)`+newest+` AND runstatus = 2`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(4))
	g.Expect(scalar(r.target, `SELECT COUNT(*) FROM dbo.pictures WHERE code = 'part'`)).To(BeEquivalentTo(4))

	// A second after it came to the distributor, what is delivered is late.
	for _, metric := range []string{"1, @value = 80", "2, @value = 0"} {
		mustExec(
			t,
			dist,
			`EXEC sp_replmonitorchangepublicationthreshold @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @mode = 1, @metric_id = `+metric,
		)
	}
	g.Eventually(func() any {
		return scalar(dist, `SELECT DATEDIFF(millisecond, MAX(entry_time), GETDATE()) FROM dbo.MSrepl_transactions`)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 2000))
	run(0, "-MaxDeliveredTransactions 2")
	g.Eventually(func() any { return scalar(dist, `SELECT MAX(delivered_transactions)`+newest+` AND runstatus = 2`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(2))
	const monitor = `SET NOCOUNT ON; DECLARE @t TABLE (status int, warning int, subscriber sysname, subscriber_db sysname, publisher_db sysname, publication sysname, publication_type int, subtype int, latency int, latencythreshold int,
		agentnotrunning int, agentnotrunningthreshold int, timetoexpiration int, expirationthreshold int, last_distsync datetime, distribution_agentname sysname, mergeagentname sysname NULL, friendly sysname NULL, location sysname NULL,
		connection int, performance int, speed float, duration int, monitorranking int, job varbinary(16), mergejob varbinary(16), agent int, profile int, merge_agent int, mergeprofile int);
		INSERT INTO @t EXEC sp_replmonitorhelpsubscription @publisher = N'PUB', @mode = `
	g.Expect(query(t, dist,
		monitor+`2; SELECT status, warning, latencythreshold, timetoexpiration, expirationthreshold, agentnotrunning, monitorranking, IIF(latency > 0, 1, 0) FROM @t`)).
		To(Equal([][]any{{int64(2), int64(2), int64(0), int64(336), int64(67), int64(0), int64(56), int64(1)}}))
	g.Expect(query(t, dist, monitor+`1; SELECT COUNT(*) FROM @t`)).To(Equal([][]any{{int64(0)}}))
	g.Expect(query(t, dist, monitor+`3; SELECT COUNT(*) FROM @t`)).To(Equal([][]any{{int64(1)}}))
	g.Expect(query(t, dist, `EXEC sp_replmonitorhelppublication @publisher = N'PUB'`)[0][4]).To(Equal(int64(2)))

	const logins = `SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Logins/sec'`
	before := scalar(r.distDB, logins).(int64)
	run(9, "-CommitBatchSize 1 -TransactionsPerHistory 1 -HistoryVerboseLevel 2")
	r.same(t, "dbo.pictures", "*", "code, part")
	g.Eventually(func() any {
		rows, err := tryQuery(
			dist,
			`SELECT DISTINCT delivered_transactions`+newest+` AND runstatus = 3 AND delivered_transactions > 0`,
		)
		return fmt.Sprint(rows, err)
	}).WithTimeout(deliverWithin).Should(Equal("[[2] [4] [6] [8] [9]] <nil>"))
	g.Expect(scalar(r.distDB, logins)).
		To(BeNumerically("<=", before+3), "the agent's connection, that of its history, and this test's")

	mustExec(t, r.source, `EXEC sp_reinitsubscription @publication = N'web', @subscriber = N'SUB'`)
	r.snapshot(t)
	run(0, "-BcpBatchSize 5 -HistoryVerboseLevel 2")
	r.bothSame(t)
	g.Eventually(func() any {
		rows, err := tryQuery(
			dist,
			`SELECT comments FROM dbo.MSdistribution_history WHERE comments LIKE N'Bulk copied data into table ''pictures''%' ORDER BY timestamp`,
		)
		return fmt.Sprint(rows, err)
	}).WithTimeout(deliverWithin).Should(Equal("[[Bulk copied data into table 'pictures' (5 rows).] [Bulk copied data " +
		"into table 'pictures' (10 rows).] [Bulk copied data into table 'pictures' (15 rows).]] <nil>"))
}

// A validation in a transaction that is marked for some subscriptions is theirs alone.
func TestValidationOfSomeSubscriptions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	dist := r.dist.open(t, "distribution")
	mustExec(t, r.subDB, `CREATE DATABASE othercopy`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'othercopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'all'`,
	)
	job(
		t,
		r.distDB,
		"other",
		"Distribution",
		strings.Replace(distributionCommand(0, ""), "[shopcopy]", "[othercopy]", 1),
		true,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'othercopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'other'`,
		saPassword,
	)
	r.snapshot(t)
	g.Eventually(func() any { return scalar(r.subDB, `SELECT COUNT(*) FROM othercopy.dbo.orders`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(2))
	const mark = `EXEC sp_marksubscriptionvalidation @publication = N'web', @subscriber = N'SUB', @destination_db = N'othercopy'; `
	const validate = `EXEC sp_article_validation @publication = N'web', @article = N'orders', @rowcount_only = 2, @full_or_fast = 0, @subscription_level = `
	g.Expect(failure(t, r.source, mark).Number).To(Equal(int32(18774)))
	g.Expect(failure(t, r.source, `BEGIN TRANSACTION; `+strings.Replace(mark, "othercopy", "nowhere", 1)).Number).
		To(Equal(int32(14050)))
	mustExec(t, r.source, `IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION`)
	mustExec(t, r.source, `BEGIN TRANSACTION; `+mark+validate+`1; COMMIT TRANSACTION`)
	mustExec(t, r.source, validate+`1`) // nothing is marked any more
	mustExec(t, r.source, validate+`0`)
	g.Eventually(func() any {
		rows, err := tryQuery(
			dist,
			`SELECT a.subscriber_db, COUNT(*) FROM dbo.MSdistribution_history AS h JOIN dbo.MSdistribution_agents AS a ON a.id = h.agent_id WHERE h.comments LIKE N'%passed data validation.' GROUP BY a.subscriber_db ORDER BY 1`,
		)
		return fmt.Sprint(rows, err)
	}).WithTimeout(deliverWithin).Should(Equal("[[othercopy 2] [shopcopy 1]] <nil>"))
}
