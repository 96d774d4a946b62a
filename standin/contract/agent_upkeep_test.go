// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestJobsUpkeep: the examples of the pages that look after jobs (docs/relational-databases/system-stored-procedures:
// sp-help-jobschedule, sp-help-schedule, sp-update-schedule, sp-delete-schedule, sp-help-jobcount, sp-help-jobserver,
// sp-delete-jobserver, sp-purge-jobhistory).
func TestJobsUpkeep(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	db := connection(t, i.open(t, "msdb"))
	mustExec(t, db, `CREATE LOGIN terrid WITH PASSWORD = N'Str0ng-Passw0rd'`)
	mustExec(
		t,
		db,
		`EXEC dbo.sp_add_schedule @schedule_name = N'NightlyJobs', @freq_type = 4, @freq_interval = 1, @active_start_date = 20240101, @active_start_time = 010000`,
	)
	mustExec(t, db, `EXEC dbo.sp_add_job @job_name = N'NightlyBackups'`)
	mustExec(t, db, `EXEC dbo.sp_add_jobstep @job_name = N'NightlyBackups', @step_name = N's', @command = N'SELECT 1'`)
	mustExec(t, db, `EXEC dbo.sp_attach_schedule @job_name = N'NightlyBackups', @schedule_name = N'NightlyJobs'`)
	mustExec(t, db, `EXEC dbo.sp_add_jobserver @job_name = N'NightlyBackups'`)
	row := func(text string) []any {
		t.Helper()
		rows := query(t, db, text)
		g.Expect(rows).To(HaveLen(1), text)
		return rows[0]
	}
	g.Expect(row(`EXEC dbo.sp_help_jobschedule @job_name = N'NightlyBackups'`)).To(HaveLen(19))
	described := row(
		`EXEC dbo.sp_help_jobschedule @job_name = N'NightlyBackups', @schedule_name = N'NightlyJobs', @include_description = 1`,
	)
	g.Expect(described[14]).To(Equal("Every 1 day(s) at 01:00:00"))
	g.Expect(described[1]).To(Equal("NightlyJobs"))
	g.Expect(row(`EXEC dbo.sp_help_schedule @schedule_name = N'NightlyJobs'`)).To(HaveLen(17))
	g.Expect(query(t, db, `EXEC dbo.sp_help_schedule @attached_schedules_only = 1`)).To(HaveLen(1))
	g.Expect(row(`EXEC dbo.sp_help_jobs_in_schedule @schedule_name = N'NightlyJobs'`)[2]).To(Equal("NightlyBackups"))
	g.Expect(row(`EXEC sp_help_jobcount @schedule_name = N'NightlyJobs'`)).To(Equal([]any{int64(1)}))
	g.Expect(row(`EXEC dbo.sp_help_jobserver @job_name = N'NightlyBackups', @show_last_run_details = 1`)).To(HaveLen(9))

	mustExec(t, db, `EXEC dbo.sp_update_schedule @name = 'NightlyJobs', @enabled = 0, @owner_login_name = 'terrid'`)
	g.Expect(row(`SELECT enabled, SUSER_SNAME(owner_sid), active_start_time FROM dbo.sysschedules WHERE name = N'NightlyJobs'`)).
		To(Equal([]any{int64(0), "terrid", int64(10000)}))
	g.Expect(failure(t, db, `EXEC dbo.sp_update_schedule @name = 'NightlyJobs', @freq_type = 3`).Number).
		To(BeEquivalentTo(14266))
	mustExec(t, db, `EXEC dbo.sp_update_schedule @name = 'NightlyJobs', @new_name = N'RunOnce', @freq_type = 1`)
	g.Expect(failure(t, db, `EXEC dbo.sp_delete_schedule @schedule_name = N'NightlyJobs'`).Number).
		To(BeEquivalentTo(14262))
	g.Expect(failure(t, db, `EXEC dbo.sp_delete_schedule @schedule_name = N'RunOnce'`).Number).
		To(BeEquivalentTo(14372), "a job has it")
	mustExec(t, db, `EXEC dbo.sp_delete_schedule @schedule_name = 'RunOnce', @force_delete = 1`)
	g.Expect(query(t, db,
		`SELECT 1 FROM dbo.sysjobschedules UNION ALL SELECT 1 FROM dbo.sysschedules WHERE name = N'RunOnce'`)).
		To(BeEmpty())

	g.Expect(failure(t, db, `EXEC sp_delete_jobserver @job_name = N'NightlyBackups', @server_name = N'SEATTLE2'`).Number).
		To(BeEquivalentTo(14262))
	mustExec(t, db, `EXEC dbo.sp_start_job @job_name = N'NightlyBackups'`)
	history := func() any { return value(t, db, `SELECT COUNT(*) FROM dbo.sysjobhistory WHERE step_id = 0`) }
	g.Eventually(history).WithTimeout(patient).Should(BeEquivalentTo(1))
	mustExec(t, db, `EXEC dbo.sp_purge_jobhistory @job_name = N'NightlyBackups', @oldest_date = '20200101'`)
	g.Expect(history()).To(BeEquivalentTo(1), "what is newer stays")
	g.Expect(failure(t, db, `EXEC dbo.sp_purge_jobhistory @job_name = N'nope'`).Number).To(BeEquivalentTo(14262))
	mustExec(t, db, `EXEC dbo.sp_purge_jobhistory`)
	g.Expect(value(t, db, `SELECT COUNT(*) FROM dbo.sysjobhistory`)).To(BeEquivalentTo(0))
	mustExec(t, db, `EXEC sp_delete_jobserver @job_name = N'NightlyBackups', @server_name = N'(local)'`)
	g.Expect(failure(t, db, `EXEC sp_delete_jobserver @job_name = N'NightlyBackups', @server_name = N'(local)'`).Number).
		To(BeEquivalentTo(14270))
}

// TestJobCategories: the examples of sp-add-category, sp-help-category, sp-update-category and
// sp-delete-category-transact-sql.md.
func TestJobCategories(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	converse(t, connection(t, i.open(t, "msdb")), []say{
		{`EXEC dbo.sp_add_category @class = N'JOB', @type = N'LOCAL', @name = N'AdminJobs'`, "ok"},
		{`EXEC dbo.sp_add_category @class = N'JOB', @type = N'LOCAL', @name = N'AdminJobs'`, "!14261/16"},
		{`EXEC dbo.sp_add_category @class = N'ALERT', @type = N'LOCAL', @name = N'AdminAlerts'`, "!14266/16"},
		{`EXEC dbo.sp_help_category @name = N'AdminJobs', @suffix = 1`, "100 LOCAL AdminJobs"},
		{
			`EXEC dbo.sp_help_category @class = N'JOB', @type = N'LOCAL', @name = N'[Uncategorized (Local)]'`,
			"0 1 [Uncategorized (Local)]",
		},
		{`EXEC dbo.sp_add_job @job_name = N'j', @category_name = N'AdminJobs'`, "ok"},
		{`EXEC dbo.sp_update_category @class = N'JOB', @name = N'AdminJobs', @new_name = N'Administrative Jobs'`, "ok"},
		{`EXEC dbo.sp_delete_category @name = N'AdminJobs', @class = N'JOB'`, "!14262/16"},
		{`EXEC dbo.sp_delete_category @name = N'REPL-LogReader', @class = N'JOB'`, "!14276/16"},
		{`EXEC dbo.sp_delete_category @name = N'Administrative Jobs', @class = N'JOB'`, "ok"},
		{`SELECT category_id FROM dbo.sysjobs WHERE name = N'j'`, "0"},
	})
}
