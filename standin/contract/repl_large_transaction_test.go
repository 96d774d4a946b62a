// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A large transaction is cut into smaller ones when the Log Reader Agent is told so, and arrives whole and in order.
// By docs/relational-databases/replication/agents/replication-log-reader-agent.md, -MaxCmdsInTran.
func TestLargeTransactionsAreCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	dist := r.dist.open(t, "distribution")
	running := func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
	}
	restart := func(more string) {
		t.Helper()
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 0; EXEC msdb.dbo.sp_stop_job @job_name = N'logreader'`,
		)
		g.Eventually(running).WithTimeout(patient).Should(BeEquivalentTo(0))
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_jobstep @job_name = N'logreader', @step_id = 1, @command = @p1`,
			"-Publisher [PUB] -PublisherDB [shop] -Distributor [DIST] "+account(
				"Distributor",
			)+account(
				"Publisher",
			)+"-PollingInterval 1 -Continuous"+more,
		)
		g.Eventually(func() error {
			_, err := r.distDB.Exec(`EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`)
			return err
		}).WithTimeout(patient).Should(Succeed())
	}
	const newest = `SELECT COUNT(DISTINCT c.xact_seqno), COUNT(*), MAX(n.n) FROM dbo.MSrepl_commands AS c JOIN (SELECT xact_seqno, COUNT(*) AS n FROM dbo.MSrepl_commands GROUP BY xact_seqno) AS n ON n.xact_seqno = c.xact_seqno WHERE c.xact_seqno > @p1`
	const last = `SELECT MAX(xact_seqno) FROM dbo.MSrepl_transactions WHERE DATALENGTH(xact_seqno) = 10`
	const rows = `INSERT INTO dbo.orders (id, customer) SELECT @p1 + value, CONCAT(N'customer ', value) FROM GENERATE_SERIES(1, 10)`
	mustExec(t, r.source, rows, 100)
	r.bothSame(t)

	before := scalar(dist, last)
	restart(" -MaxCmdsInTran 3")
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; `+rows+`; UPDATE dbo.orders SET amount = 5 WHERE id = 1; COMMIT TRANSACTION`,
		200,
	)
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id IN (102, 103, 104)`)
	r.bothSame(t)
	g.Expect(query(t, dist, newest, before)).To(Equal([][]any{{int64(5), int64(14), int64(3)}}))
	g.Expect(query(t, dist, `SELECT COUNT(*) FROM dbo.MSrepl_transactions WHERE xact_seqno > @p1`, before)).
		To(Equal([][]any{{int64(5)}}))

	// What was cut is not read again, and transactions are whole again without the parameter.
	before = scalar(dist, last)
	restart("")
	mustExec(t, r.source, rows, 300)
	r.bothSame(t)
	g.Expect(query(t, dist, newest, before)).To(Equal([][]any{{int64(1), int64(10), int64(10)}}))
}
