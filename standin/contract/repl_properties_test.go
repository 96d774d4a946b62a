// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Properties of subscriptions, agents, profiles and thresholds change by the documented procedures.
func TestReplicationProperties(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	dist := r.dist.open(t, "distribution")

	// The agent of a push subscription.
	const change = `EXEC sp_changesubscription @publication = N'web', @article = N'all', @subscriber = N'SUB', @destination_db = N'shopcopy', @property = @p1, @value = @p2`
	mustExec(t, r.source, change, "subscriptionstreams", "4")
	mustExec(t, r.source, change, "subscriber_login", "somebody")
	g.Expect(query(t, dist,
		`SELECT subscriptionstreams, subscriber_login FROM dbo.MSdistribution_agents WHERE subscriber_db = N'shopcopy'`)).
		To(Equal([][]any{{int64(4), "somebody"}}))
	g.Expect(failure(t, r.source, change, "subscriptionstreams", "65").Number).To(Equal(int32(21055)))
	g.Expect(failure(t, r.source,
		`EXEC sp_changesubscription @publication = N'web', @article = N'all', @subscriber = N'NOBODY', @destination_db = N'shopcopy', @property = N'subscriber_login', @value = N'x'`).Number).
		To(Equal(int32(14055)))

	// The snapshot agent's schedule, in place of the one it has.
	mustExec(
		t,
		r.source,
		`EXEC sp_changepublication_snapshot @publication = N'web', @frequency_type = 4, @frequency_interval = 1, @frequency_subday = 4, @frequency_subday_interval = 15`,
	)
	const schedules = `SELECT s.freq_type, s.freq_subday_interval FROM msdb.dbo.sysschedules AS s JOIN msdb.dbo.sysjobschedules AS j ON j.schedule_id = s.schedule_id
		JOIN msdb.dbo.sysjobs AS b ON b.job_id = j.job_id WHERE b.name = N'snapshot'`
	g.Expect(query(t, r.distDB, schedules)).To(Equal([][]any{{int64(4), int64(15)}}))
	mustExec(
		t,
		r.source,
		`EXEC sp_changepublication_snapshot @publication = N'web', @frequency_type = 4, @frequency_interval = 1, @frequency_subday = 8, @frequency_subday_interval = 2`,
	)
	g.Expect(query(t, r.distDB, schedules)).To(Equal([][]any{{int64(4), int64(2)}}))

	// The distributor's own property.
	g.Expect(value(t, dist, `EXEC sp_helpdistributor_properties`)).To(BeEquivalentTo(10))
	mustExec(t, dist, `EXEC sp_changedistributor_property @property = N'heartbeat_interval', @value = N'5'`)
	g.Expect(value(t, dist, `EXEC sp_helpdistributor_properties`)).To(BeEquivalentTo(5))

	// Profiles.
	g.Expect(query(t, r.distDB, `DECLARE @id int; EXEC sp_help_agent_default @profile_id = @id OUTPUT, @agent_type = 3; EXEC sp_change_agent_profile @profile_id = @id, @property = N'description', @value = N'ours';
		SELECT description FROM msdb.dbo.MSagent_profiles WHERE profile_id = @id AND agent_type = 3 AND def_profile = 1`)).
		To(Equal([][]any{{"ours"}}))

	// Subscriptions that are made inactive get nothing; from when they are active again they do.
	mustExec(t, r.source, `EXEC sp_changesubstatus @publication = N'web', @subscriber = N'SUB', @status = N'inactive'`)
	g.Expect(query(t, r.source, `SELECT DISTINCT status FROM dbo.syssubscriptions`)).To(Equal([][]any{{int64(0)}}))
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (20, N'missed', 1, NULL, NULL)`)
	g.Eventually(r.undelivered).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	mustExec(
		t,
		r.source,
		`EXEC sp_changesubstatus @publication = N'web', @subscriber = N'SUB', @status = N'active', @previous_status = N'inactive'`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (21, N'arrives', 1, NULL, NULL)`)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id = 21`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(1))
	g.Expect(value(t, r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id = 20`)).To(BeEquivalentTo(0))

	// What an agent stumbled over, and how to get over it.
	mustExec(t, r.target, `INSERT INTO dbo.orders VALUES (22, N'in the way', 1, NULL, NULL)`)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (22, N'collides', 1, NULL, NULL)`)
	const errorsOf = `EXEC sp_helpsubscriptionerrors @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy'`
	// An attempt while the subscription was inactive may have left its error, too.
	g.Eventually(func() []any {
		rows, err := tryQuery(dist, errorsOf)
		if err != nil {
			return []any{err.Error()}
		}
		var codes []any
		for _, row := range rows {
			codes = append(codes, row[5])
		}
		return codes
	}).WithTimeout(deliverWithin).Should(ContainElement("2627"))
	newest := value(t, dist, `SELECT MAX(xact_seqno) FROM dbo.MSrepl_transactions WHERE DATALENGTH(xact_seqno) = 10`)
	moved := query(
		t,
		r.target,
		`EXEC sp_setsubscriptionxactseqno @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @xact_seqno = @p1`,
		newest,
	)
	g.Expect(moved).To(HaveLen(1))
	g.Expect(moved[0][1]).To(Equal(newest))
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (23, N'goes on', 1, NULL, NULL)`)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id = 23`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(1))

	// The procedures of the articles, as a script.
	g.Expect(query(t, r.source, `EXEC sp_scriptpublicationcustomprocs @publication = N'web'`)).
		To(ContainElement(ContainElement(ContainSubstring("sp_MSins_dboorders"))))
	// Stored passwords are changed everywhere, and nowhere to be read.
	mustExec(
		t,
		r.distDB,
		`EXEC sp_changereplicationserverpasswords @login_type = 1, @login = N'sa', @password = N'An0ther-One'`,
	)
	g.Expect(value(t, r.distDB, `SELECT COUNT(*) FROM msdb.dbo.MSdistpublishers WHERE password LIKE N'%An0ther-One%'`)).
		To(BeEquivalentTo(0))

	// Thresholds of Replication Monitor.
	const thresholds = `EXEC sp_replmonitorhelppublicationthresholds @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web'`
	g.Expect(query(t, dist, thresholds)).To(HaveLen(2))
	mustExec(
		t,
		dist,
		`EXEC sp_replmonitorchangepublicationthreshold @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @metric_id = 2, @value = 0, @mode = 1`,
	)
	g.Expect(query(t, dist, thresholds)).To(ContainElement(Equal([]any{int64(2), "latency", int64(0), false, true})))
	g.Expect(failure(t, dist,
		`EXEC sp_replmonitorchangepublicationthreshold @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @metric_id = 5, @value = 1`).Number).
		NotTo(BeZero())
}

// -PollingInterval and -HistoryVerboseLevel do what they say: an agent that looks every hour delivers what there is at
// its start only, and level 3 keeps every message, where level 1 keeps the newest.
func TestAgentParametersAreHonoured(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	const idle = `SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE runstatus = 4 AND start_time = (SELECT MAX(h.start_time) FROM distribution.dbo.MSdistribution_history AS h)`
	// One for each time that it had nothing to do after it had something.
	g.Expect(value(t, r.distDB, idle)).To(BeNumerically("<=", 8), "level 1")
	again := func(parameters string) {
		t.Helper()
		r.stopDistribution(t)
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
			strings.Replace(distributionCommand(0, parameters), "-PollingInterval 1 ", "", 1),
		)
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
		)
	}
	again("-PollingInterval 1 -HistoryVerboseLevel 3")
	g.Eventually(func() any { return scalar(r.distDB, idle) }).WithTimeout(deliverWithin).Should(BeNumerically(">", 12))

	again("-PollingInterval 3600")
	g.Eventually(func() any { return scalar(r.distDB, idle) }).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (70, N'within the hour', 1, NULL, NULL)`)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_commands WHERE type = 30`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
	g.Consistently(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id = 70`) }, "4s").
		Should(BeEquivalentTo(0))
	again("-PollingInterval 1")
	r.bothSame(t)
}

// -KeepAliveMessageInterval has the history say that the agent waits while the subscriber takes long over a statement.
func TestAgentKeepsAlive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	r.stopDistribution(t)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
		distributionCommand(0, "-KeepAliveMessageInterval 1"),
	)
	busy := connection(t, r.target)
	mustExec(t, busy, `BEGIN TRANSACTION; UPDATE dbo.orders SET customer = customer`)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (80, N'waits', 1, NULL, NULL)`)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
	)
	g.Eventually(func() any {
		return scalar(
			r.distDB,
			`SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE comments LIKE N'%waiting for a response from the server%'`,
		)
	}, patient).Should(BeNumerically(">=", 1))
	mustExec(t, busy, `ROLLBACK`)
	r.bothSame(t)
}

// -CommitBatchSize, -CommitBatchThreshold and -ReadBatchSize cut what waits into so many commits at the subscriber and
// so many readings of the log; -PacketSize is that of the agent's connections.
func TestAgentBatches(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	// Each commit at the subscriber moves the subscription's position once.
	mustExec(t, r.target, `CREATE TABLE dbo.commits (n int IDENTITY PRIMARY KEY)`)
	mustExec(
		t,
		r.target,
		`CREATE TRIGGER dbo.moved ON dbo.MSreplication_subscriptions AFTER UPDATE AS INSERT INTO dbo.commits DEFAULT VALUES`,
	)
	next := 200
	// deliver has 20 transactions of one row wait for an agent with those parameters, and counts its commits.
	deliver := func(parameters string) int64 {
		t.Helper()
		r.stopDistribution(t)
		mustExec(t, r.target, `DELETE FROM dbo.commits`)
		for range 20 {
			mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (@p1, N'batch', 1, NULL, NULL)`, next)
			next++
		}
		g.Eventually(func() any {
			return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_commands WHERE type = 30`)
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(next - 200))
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_jobstep @job_name = N'distribution', @step_id = 1, @command = @p1`,
			distributionCommand(0, parameters),
		)
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`,
		)
		r.same(t, "dbo.orders", "*", "id")
		n, _ := scalar(r.target, `SELECT COUNT(*) FROM dbo.commits`).(int64)
		return n
	}
	g.Expect(deliver("-PacketSize 8192")).To(BeEquivalentTo(1))
	g.Expect(scalar(r.subDB,
		`SELECT MIN(c.net_packet_size) FROM sys.dm_exec_connections AS c JOIN sys.dm_exec_sessions AS s ON s.session_id = c.session_id WHERE s.program_name = N'Replication Distribution'`)).
		To(BeEquivalentTo(8192))
	g.Expect(deliver("-CommitBatchSize 5")).To(BeEquivalentTo(4))
	g.Expect(deliver("-CommitBatchThreshold 10")).To(BeEquivalentTo(2))

	// The log reader's history tells how it read.
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 0; EXEC msdb.dbo.sp_stop_job @job_name = N'logreader'`,
	)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	for range 20 {
		mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (@p1, N'batch', 1, NULL, NULL)`, next)
		next++
	}
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_jobstep @job_name = N'logreader', @step_id = 1, @command = @p1`,
		"-Publisher [PUB] -PublisherDB [shop] -Distributor [DIST] "+account(
			"Distributor",
		)+account(
			"Publisher",
		)+"-PollingInterval 1 -Continuous -ReadBatchSize 5 -HistoryVerboseLevel 2",
	)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`,
	)
	r.same(t, "dbo.orders", "*", "id")
	g.Eventually(func() any {
		rows, err := tryQuery(
			r.distDB,
			`SELECT delivered_transactions FROM distribution.dbo.MSlogreader_history WHERE runstatus = 3 AND start_time = (SELECT MAX(h.start_time) FROM distribution.dbo.MSlogreader_history AS h) ORDER BY timestamp`,
		)
		if err != nil {
			return err
		}
		return rows
	}).WithTimeout(deliverWithin).Should(Equal([][]any{{int64(5)}, {int64(10)}, {int64(15)}, {int64(20)}}))
}
