// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The transaction that fails is named, those before it arrive, and sp_setsubscriptionxactseqno passes over it, as its
// page says; what -SkipErrors passes over is told, too.
func TestErrorsOfTheDistributionAgent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	r.stopDistribution(t)
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 2`)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (101, N'before', 1, NULL, NULL)`)
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; INSERT INTO dbo.orders VALUES (102, N'within', 1, NULL, NULL); UPDATE dbo.orders SET amount = 7 WHERE id = 2; COMMIT TRANSACTION`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (103, N'after', 1, NULL, NULL)`)
	g.Eventually(r.undelivered).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
	)

	const errors = `SELECT TOP (1) error_code, CONVERT(varchar(34), xact_seqno, 1), command_id FROM distribution.dbo.MSrepl_errors WHERE xact_seqno IS NOT NULL AND error_code NOT LIKE '%[A-Z]%' ORDER BY id DESC`
	g.Eventually(func() int { rows, _ := tryQuery(r.distDB, errors); return len(rows) }).
		WithTimeout(deliverWithin).
		Should(Equal(1))
	failed := query(t, r.distDB, errors)[0]
	// The update comes before the insert: a transaction's changes are in an order of their own.
	g.Expect(failed[0]).To(Equal("20598"))
	g.Expect(failed[2]).To(BeEquivalentTo(1))
	have := func() any {
		rows, err := tryQuery(r.target, `SELECT id FROM dbo.orders WHERE id > 100 ORDER BY id`)
		if err != nil {
			return err
		}
		return rows
	}
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(101)}}))
	dist := r.dist.open(t, "distribution")
	stop := func() {
		t.Helper()
		// An agent that has failed may not run just now, which is an error of sp_stop_job.
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 0; BEGIN TRY EXEC msdb.dbo.sp_stop_job @job_name = N'distribution' END TRY BEGIN CATCH END CATCH`,
		)
		g.Eventually(func() any {
			return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Distribution'`)
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	}
	listed := query(
		t,
		dist,
		`EXEC sp_helpsubscriptionerrors @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy'`,
	)
	g.Expect(listed).NotTo(BeEmpty())
	g.Expect(listed[len(listed)-1][7]).NotTo(BeNil())
	g.Expect(query(t, dist, `EXEC sp_browsereplcmds @xact_seqno_start = @p1, @xact_seqno_end = @p1`, failed[1])).
		To(HaveLen(2))

	stop()
	mustExec(
		t,
		r.target,
		`DECLARE @lsn varbinary(16) = CONVERT(varbinary(16), @p1, 1); EXEC sp_setsubscriptionxactseqno @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @xact_seqno = @lsn`,
		failed[1],
	)
	start := func() {
		t.Helper()
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
		)
	}
	start()
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(101)}, {int64(103)}}))

	// The installation's profile for that passes over the command alone, and tells of it.
	stop()
	profile := value(
		t,
		r.distDB,
		`SELECT profile_id FROM msdb.dbo.MSagent_profiles WHERE agent_type = 3 AND profile_name = N'Continue on data consistency errors.'`,
	)
	agent := value(t, dist, `SELECT id FROM dbo.MSdistribution_agents`)
	mustExec(t, dist, `EXEC sp_update_agent_profile @agent_type = 3, @agent_id = @p1, @profile_id = @p2`, agent, profile)
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; INSERT INTO dbo.orders VALUES (104, N'beside', 1, NULL, NULL); UPDATE dbo.orders SET amount = 8 WHERE id = 2; COMMIT TRANSACTION`,
	)
	start()
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(101)}, {int64(103)}, {int64(104)}}))
	g.Eventually(func() any {
		return scalar(
			dist,
			`SELECT COUNT(*) FROM dbo.MSdistribution_history AS h JOIN dbo.MSrepl_errors AS e ON e.id = h.error_id WHERE h.comments LIKE N'Skipping error signaled.%' AND e.error_code = N'20598' AND e.xact_seqno = h.xact_seqno`,
		)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
	g.Expect(query(t, dist,
		`SELECT agent_type, profile_name, def_profile FROM msdb.dbo.MSagent_profiles ORDER BY agent_type, profile_id`)).
		To(Equal([][]any{
			{
				int64(1),
				"Default agent profile",
				true,
			}, {int64(2), "Default agent profile", true}, {int64(2), "Verbose history agent profile.", false},
			{int64(3), "Default agent profile", true},
			{int64(3), "Verbose history agent profile.", false}, {int64(3), "Continue on data consistency errors.", false}}))
}
