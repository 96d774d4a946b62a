// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// age makes the subscription look as if it had last been synchronized five hours ago.
func (r *replication) age(t *testing.T) {
	t.Helper()
	mustExec(
		t,
		r.distDB,
		`UPDATE distribution.dbo.MSdistribution_history SET time = DATEADD(hour, -5, GETDATE()); UPDATE distribution.dbo.MSsubscriptions SET subscription_time = DATEADD(hour, -5, GETDATE())`,
	)
}

// stopDistribution stops the push agent and keeps it stopped.
func (r *replication) stopDistribution(t *testing.T) {
	t.Helper()
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 0; EXEC msdb.dbo.sp_stop_job @job_name = N'distribution'`,
	)
	NewWithT(t).Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Distribution'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
}

// A subscription that is not synchronized for longer than transactions are kept is made inactive and has to be
// reinitialized; one that is not for longer than its publication's retention is dropped.
func TestSubscriptionsExpire(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true', @retention = 0")
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	const statuses = `SELECT DISTINCT status FROM distribution.dbo.MSsubscriptions WHERE subscriber_db = N'shopcopy'`

	r.stopDistribution(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (5, N'while nobody looks', 1, NULL, NULL)`)
	mustExec(t, r.distDB, `EXEC distribution.sys.sp_MSdistribution_cleanup`)
	g.Expect(query(t, r.distDB, statuses)).To(Equal([][]any{{int64(2)}}))
	mustExec(
		t,
		r.distDB,
		`EXEC sp_changedistributiondb @database = N'distribution', @property = N'max_distretention', @value = N'3'`,
	)
	r.age(t)
	mustExec(t, r.distDB, `EXEC distribution.sys.sp_MSdistribution_cleanup`)
	g.Expect(query(t, r.distDB, statuses)).To(Equal([][]any{{int64(0)}}))
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
	)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_errors WHERE error_code = '21074'`)
	}).WithTimeout(deliverWithin).ShouldNot(BeEquivalentTo(0))
	mustExec(
		t,
		r.source,
		`EXEC sp_reinitsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB', @destination_db = N'shopcopy', @invalidate_snapshot = 1`,
	)
	r.snapshot(t)
	r.bothSame(t)

	mustExec(t, r.source, `EXEC sp_changepublication @publication = N'web', @property = N'retention', @value = N'4'`)
	mustExec(t, r.pubDB, `EXEC sp_expired_subscription_cleanup`)
	g.Expect(value(t, r.source, `SELECT COUNT(*) FROM dbo.syssubscriptions`)).To(BeEquivalentTo(2))
	r.stopDistribution(t)
	r.age(t)
	mustExec(t, r.pubDB, `EXEC sp_expired_subscription_cleanup`)
	g.Expect(value(t, r.source, `SELECT COUNT(*) FROM dbo.syssubscriptions`)).To(BeEquivalentTo(0))
	g.Expect(query(t, r.distDB, statuses)).To(BeEmpty())
	g.Expect(value(t, r.pubDB, `SELECT COUNT(*) FROM msdb.dbo.sysjobs WHERE name = N'Expired subscription clean up'`)).
		To(BeEquivalentTo(1))
}

// The job that drops expired subscriptions is made once and then left as it is: publishing a database that fails half
// way leaves nothing of it, and the call is repeated as a whole.
func TestTheJobForExpiredSubscriptionsIsNotLeftHalfMade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	msdb := r.pub.open(t, "msdb")
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	mustExec(t, msdb, `EXEC dbo.sp_delete_job @job_name = N'Expired subscription clean up'`)
	mustExec(t, msdb, `CREATE TRIGGER full_disk ON dbo.sysjobsteps AFTER INSERT AS THROW 50000, N'no room', 1`)
	const publish = `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`
	g.Expect(failure(t, r.pubDB, publish).Number).To(BeEquivalentTo(50000))
	mustExec(t, msdb, `DROP TRIGGER full_disk`)
	mustExec(t, r.pubDB, publish)
	g.Expect(query(t, msdb, `SELECT s.step_name, h.name, v.server_id FROM dbo.sysjobs AS j JOIN dbo.sysjobsteps AS s ON s.job_id = j.job_id
		JOIN dbo.sysjobschedules AS js ON js.job_id = j.job_id JOIN dbo.sysschedules AS h ON h.schedule_id = js.schedule_id
		JOIN dbo.sysjobservers AS v ON v.job_id = j.job_id WHERE j.name = N'Expired subscription clean up'`)).
		To(Equal([][]any{
			{"Run agent.", "Replication agent schedule.", int64(0)}}))
}
