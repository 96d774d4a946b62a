// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A job with two steps: the first fails and goes on, the second writes a row. Its history, activity and outcome are as
// documented (docs/relational-databases/system-tables/dbo-sysjobhistory-transact-sql.md).
func TestJobRunsItsSteps(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	db := i.open(t, "master")
	mustExec(t, db, `CREATE DATABASE jobs`)
	mustExec(t, db, `CREATE TABLE jobs.dbo.t (id int NOT NULL PRIMARY KEY, at datetime NOT NULL)`)
	mustExec(t, db, `EXEC msdb.dbo.sp_add_job @job_name = N'nightly', @category_name = N'Database Maintenance'`)
	mustExec(
		t,
		db,
		`EXEC msdb.dbo.sp_add_jobstep @job_name = N'nightly', @step_name = N'fails', @command = N'RAISERROR(N''no luck'', 16, 1)', @on_fail_action = 3`,
	)
	mustExec(
		t,
		db,
		`EXEC msdb.dbo.sp_add_jobstep @job_name = N'nightly', @step_name = N'writes', @database_name = N'jobs', @command = N'INSERT INTO dbo.t SELECT COUNT(*) + 1, GETDATE() FROM dbo.t'`,
	)

	g.Expect(failure(t, db, `EXEC msdb.dbo.sp_start_job @job_name = N'nightly'`).Number).
		To(BeEquivalentTo(14256), "no job server yet")
	mustExec(t, db, `EXEC msdb.dbo.sp_add_jobserver @job_name = N'nightly'`)
	mustExec(t, db, `EXEC msdb.dbo.sp_start_job @job_name = N'nightly'`)
	g.Eventually(func() any { return value(t, db, `SELECT COUNT(*) FROM jobs.dbo.t`) }).
		WithTimeout(patient).
		Should(BeEquivalentTo(1))
	g.Eventually(func() any {
		return value(t, db, `SELECT COUNT(*) FROM msdb.dbo.sysjobhistory WHERE step_id = 0 AND run_status = 1`)
	}).WithTimeout(patient).Should(BeEquivalentTo(1))
	g.Expect(value(t, db, `SELECT run_status FROM msdb.dbo.sysjobhistory WHERE step_name = N'fails'`)).
		To(BeEquivalentTo(0))
	g.Expect(value(t, db, `SELECT [message] FROM msdb.dbo.sysjobhistory WHERE step_name = N'fails'`)).
		To(ContainSubstring("no luck"))
	g.Eventually(func() any { return value(t, db, `SELECT last_run_outcome FROM msdb.dbo.sysjobservers`) }).
		WithTimeout(patient).
		Should(BeEquivalentTo(1), "it is written after the history")

	g.Expect(failure(t, db, `EXEC msdb.dbo.sp_add_job @job_name = N'nightly'`).Number).To(BeEquivalentTo(14261))
	g.Expect(failure(t, db,
		`EXEC msdb.dbo.sp_add_jobstep @job_name = N'nightly', @step_name = N's', @subsystem = N'CMDEXEC', @command = N'ls'`).Number).
		To(BeEquivalentTo(14266), "not supported, so refused")
	g.Expect(failure(t, db, `EXEC msdb.dbo.sp_add_job @job_name = N'x', @colour = 1`).Number).To(BeEquivalentTo(8145))
	g.Expect(failure(t, db, `EXEC msdb.dbo.sp_add_jobstep @job_name = N'nightly'`).Number).To(BeEquivalentTo(201))
	mustExec(t, db, `EXEC msdb.dbo.sp_delete_job @job_name = N'nightly'`)
	g.Expect(value(t, db, `SELECT COUNT(*) FROM msdb.dbo.sysjobsteps`)).To(BeEquivalentTo(0))
}

// A job that waits is stopped, and its schedules start it again.
func TestJobSchedulesAndStop(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	db := i.open(t, "msdb")
	mustExec(t, db, `EXEC sp_add_job @job_name = N'waits'`)
	mustExec(
		t,
		db,
		`EXEC sp_add_jobstep @job_name = N'waits', @step_name = N'wait', @command = N'WAITFOR DELAY ''00:10:00'''`,
	)
	mustExec(t, db, `EXEC sp_add_jobserver @job_name = N'waits'`)
	mustExec(
		t,
		db,
		`EXEC sp_add_jobschedule @job_name = N'waits', @name = N'often', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 2, @freq_subday_interval = 1`,
	)
	status := func() any {
		return value(
			t,
			db,
			`SELECT COUNT(*) FROM sysjobactivity WHERE start_execution_date IS NOT NULL AND stop_execution_date IS NULL`,
		)
	}
	g.Eventually(status).WithTimeout(patient).Should(BeEquivalentTo(1))
	g.Expect(failure(t, db, `EXEC sp_start_job @job_name = N'waits'`).Number).To(BeEquivalentTo(22022), "it runs already")
	mustExec(t, db, `EXEC sp_update_job @job_name = N'waits', @enabled = 0`)
	mustExec(t, db, `EXEC sp_stop_job @job_name = N'waits'`)
	g.Eventually(func() any {
		return value(t, db, `SELECT COUNT(*) FROM sysjobhistory WHERE step_id = 0 AND run_status = 3`)
	}).WithTimeout(patient).Should(BeEquivalentTo(1))
}

// A replication agent's step acts as the server, so it does not run in the job of a login that is no sysadmin, whatever
// its command line says; the same step does in a sysadmin's job.
func TestAnAgentsStepRunsForSysadminsOnly(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	db := i.open(t, "msdb")
	mustExec(t, db, `CREATE LOGIN clerk WITH PASSWORD = N'Str0ng-Passw0rd'`)
	mustExec(t, db, `EXEC sp_add_job @job_name = N'reads', @owner_login_name = N'clerk'`)
	mustExec(
		t,
		db,
		`EXEC sp_add_jobstep @job_name = N'reads', @step_name = N'run', @subsystem = N'LogReader', @command = N'-Publisher [x] -PublisherDB [y] -Distributor [z] -DistributorSecurityMode 1'`,
	)
	mustExec(t, db, `EXEC sp_add_jobserver @job_name = N'reads'`)
	outcome := func(runs int) string {
		// The history of the run before is there shortly before that run is over.
		g.Eventually(func() error {
			_, err := db.Exec(`EXEC sp_start_job @job_name = N'reads'`)
			return err
		}).WithTimeout(patient).Should(Succeed())
		g.Eventually(func() any {
			return value(t, db, `SELECT COUNT(*) FROM sysjobhistory WHERE step_id = 0 AND run_status = 0`)
		}).WithTimeout(patient).Should(BeEquivalentTo(runs))
		return value(t, db,
			`SELECT TOP (1) [message] FROM sysjobhistory WHERE step_id = 1 ORDER BY instance_id DESC`).(string)
	}
	g.Expect(outcome(1)).To(ContainSubstring("the owner of job 'reads' is no member of sysadmin"))
	mustExec(t, db, `EXEC sp_update_job @job_name = N'reads', @owner_login_name = N'sa'`)
	g.Expect(outcome(2)).NotTo(ContainSubstring("sysadmin"))
}

// A job that a transaction makes and starts begins when the others can see it: SQL Server's agent waits for its rows.
// One that is taken back does not begin.
func TestAJobBeginsWhenItsTransactionHasCommitted(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	db := i.open(t, "msdb")
	mustExec(t, db, `CREATE DATABASE jobs`)
	mustExec(t, db, `CREATE TABLE jobs.dbo.t (id int NOT NULL)`)
	const makes = `EXEC sp_add_job @job_name = @p1; EXEC sp_add_jobserver @job_name = @p1;
		EXEC sp_add_jobstep @job_name = @p1, @step_name = N'writes', @database_name = N'jobs', @command = N'INSERT INTO dbo.t VALUES (1)'; `
	const starts = `EXEC sp_start_job @job_name = @p1; `
	mustExec(t, db, `BEGIN TRANSACTION; `+makes+starts+`WAITFOR DELAY '00:00:01'; COMMIT TRANSACTION`, "new")
	over := func() any {
		return value(t, db, `SELECT COUNT(*) FROM sysjobhistory WHERE step_id = 0 AND run_status = 1`)
	}
	g.Eventually(over).WithTimeout(patient).Should(BeEquivalentTo(1))
	mustExec(t, db, `BEGIN TRANSACTION; `+makes+starts+`ROLLBACK TRANSACTION`, "never")
	mustExec(t, db, makes, "kept")
	mustExec(
		t,
		db,
		`BEGIN TRANSACTION; SAVE TRANSACTION before; `+makes+starts+`ROLLBACK TRANSACTION before; EXEC sp_start_job @job_name = N'kept'; COMMIT TRANSACTION`,
		"nor this one",
	)
	g.Eventually(over).WithTimeout(patient).Should(BeEquivalentTo(2))
	g.Expect(value(t, db, `SELECT COUNT(*) FROM sysjobhistory WHERE step_id = 0`)).To(BeEquivalentTo(2))
	g.Expect(value(t, db, `SELECT COUNT(*) FROM jobs.dbo.t`)).To(BeEquivalentTo(2))
}
