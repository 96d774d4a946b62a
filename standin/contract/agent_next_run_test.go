// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestNextRunsOfJobs: msdb and sp_help_job say when a job is due next, by the earliest of its schedules, and say
// nothing of one that is not due. By docs/relational-databases/system-tables/dbo-sysjobschedules-transact-sql.md,
// dbo-sysjobactivity-transact-sql.md (next_scheduled_run_date) and
// docs/relational-databases/system-stored-procedures/sp-help-job-transact-sql.md (next_run_date, next_run_time,
// next_run_schedule_id).
func TestNextRunsOfJobs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	db := connection(t, i.open(t, "msdb"))
	mustExec(t, db, `EXEC dbo.sp_add_job @job_name = N'far'`)
	mustExec(t, db, `EXEC dbo.sp_add_jobstep @job_name = N'far', @step_name = N's', @command = N'SELECT 1'`)
	mustExec(
		t,
		db,
		`EXEC dbo.sp_add_jobschedule @job_name = N'far', @name = N'later', @freq_type = 1, @active_start_date = 20990105, @active_start_time = 10000`,
	)
	mustExec(
		t,
		db,
		`EXEC dbo.sp_add_jobschedule @job_name = N'far', @name = N'first', @freq_type = 1, @active_start_date = 20990104, @active_start_time = 233015`,
	)
	const due = `SELECT s.name, a.next_run_date, a.next_run_time FROM dbo.sysjobschedules AS a JOIN dbo.sysschedules AS s ON s.schedule_id = a.schedule_id ORDER BY s.name`
	g.Expect(query(t, db, due)).
		To(Equal([][]any{{"first", int64(0), int64(0)}, {"later", int64(0), int64(0)}}), "it has no server yet")
	mustExec(t, db, `EXEC dbo.sp_add_jobserver @job_name = N'far'`)
	noted := [][]any{{"first", int64(20990104), int64(233015)}, {"later", int64(20990105), int64(10000)}}
	g.Eventually(func() [][]any { return query(t, db, due) }).WithTimeout(patient).Should(Equal(noted))
	first := value(t, db, `SELECT schedule_id FROM dbo.sysschedules WHERE name = N'first'`)
	help := func() []any {
		rows := query(t, db, `EXEC dbo.sp_help_job @job_name = N'far', @job_aspect = N'JOB'`)
		g.Expect(rows).To(HaveLen(1))
		return rows[0][22:25]
	}
	g.Expect(help()).To(Equal([]any{int64(20990104), int64(233015), first}))
	activity := func() any {
		return scalar(
			i.open(t, "msdb"),
			`SELECT next_scheduled_run_date FROM dbo.sysjobactivity AS a JOIN dbo.sysjobs AS j ON j.job_id = a.job_id WHERE j.name = N'far'`,
		)
	}
	g.Eventually(activity).WithTimeout(patient).Should(Equal(time.Date(2099, 1, 4, 23, 30, 15, 0, time.UTC)))

	// A run leaves it as it is, and so does a restart of the server.
	mustExec(t, db, `EXEC dbo.sp_start_job @job_name = N'far'`)
	g.Eventually(func() any { return value(t, db, `SELECT COUNT(*) FROM dbo.sysjobhistory WHERE step_id = 0`) }).
		WithTimeout(patient).
		Should(BeEquivalentTo(1))
	g.Expect(activity()).To(Equal(time.Date(2099, 1, 4, 23, 30, 15, 0, time.UTC)))

	mustExec(t, db, `EXEC dbo.sp_update_schedule @name = N'first', @enabled = 0`)
	g.Eventually(help).
		WithTimeout(patient).
		Should(Equal([]any{int64(20990105), int64(10000),
			value(t, db, `SELECT schedule_id FROM dbo.sysschedules WHERE name = N'later'`)}))
	mustExec(t, db, `EXEC dbo.sp_update_job @job_name = N'far', @enabled = 0`)
	g.Eventually(help).WithTimeout(patient).Should(Equal([]any{int64(0), int64(0), int64(0)}))
	g.Expect(activity()).To(BeNil())

	// What is due often has the next time after each run.
	mustExec(t, db, `EXEC dbo.sp_add_job @job_name = N'often'`)
	mustExec(t, db, `EXEC dbo.sp_add_jobstep @job_name = N'often', @step_name = N's', @command = N'SELECT 1'`)
	mustExec(t, db, `EXEC dbo.sp_add_jobserver @job_name = N'often'`)
	mustExec(
		t,
		db,
		`EXEC dbo.sp_add_jobschedule @job_name = N'often', @name = N'seconds', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 2, @freq_subday_interval = 2`,
	)
	const next = `SELECT next_run_date * CAST(1000000 AS bigint) + next_run_time FROM dbo.sysjobschedules AS a JOIN dbo.sysjobs AS j ON j.job_id = a.job_id WHERE j.name = N'often'`
	g.Eventually(func() any { return value(t, db, next) }).
		WithTimeout(patient).
		Should(BeNumerically(">", int64(20260000000000)))
	before := value(t, db, next)
	g.Eventually(func() any { return value(t, db, next) }).WithTimeout(patient).Should(BeNumerically(">", before))
}

// TestFiltersOfHelpJob: the parameters of sp_help_job that choose among jobs
// (docs/relational-databases/system-stored-procedures/sp-help-job-transact-sql.md, Arguments and example B).
func TestFiltersOfHelpJob(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newInstance(t).open(t, "msdb"))
	mustExec(t, db, `CREATE LOGIN francoisa WITH PASSWORD = N'Str0ng-Passw0rd'`)
	mustExec(
		t,
		db,
		`EXEC dbo.sp_add_job @job_name = N'hers', @owner_login_name = N'francoisa', @description = N'Rebuilds 100% of it', @category_name = N'Database Maintenance'`,
	)
	mustExec(
		t,
		db,
		`EXEC dbo.sp_add_jobstep @job_name = N'hers', @step_name = N's', @subsystem = N'TSQL', @command = N'SELECT 1'`,
	)
	mustExec(t, db, `EXEC dbo.sp_add_jobserver @job_name = N'hers'`)
	mustExec(t, db, `EXEC dbo.sp_add_job @job_name = N'nobodys', @enabled = 0`)
	names := func(arguments string) []string {
		t.Helper()
		out := []string{}
		for _, row := range query(t, db, "EXEC dbo.sp_help_job "+arguments) {
			out = append(out, row[2].(string))
		}
		return out
	}
	for arguments, want := range map[string][]string{
		`@job_type = N'LOCAL'`:        {"hers"},
		`@job_type = N'MULTI-SERVER'`: {},
		`@job_type = N'MULTI-SERVER', @owner_login_name = N'francoisa', @subsystem = N'TSQL', @execution_status = 1`: {},
		`@job_type = N'LOCAL', @owner_login_name = N'francoisa', @subsystem = N'TSQL', @execution_status = 4`:        {"hers"},
		`@owner_login_name = N'sa'`:                                    {"nobodys"},
		`@subsystem = N'Snapshot'`:                                     {},
		`@category_name = N'Database Maintenance'`:                     {"hers"},
		`@enabled = 0`:                                                 {"nobodys"},
		`@description = N'Rebuilds%'`:                                  {"hers"},
		`@date_comparator = '>', @date_created = '20200101'`:           {"hers", "nobodys"},
		`@date_comparator = '<', @date_last_modified = '20200101'`:     {},
		`@date_comparator = '=', @date_created = '20200101'`:           {},
		`@date_comparator = '>', @date_created = '2020', @enabled = 1`: {"hers"},
	} {
		g.Expect(names(arguments)).To(ConsistOf(want), arguments)
	}
	for arguments, number := range map[string]int32{
		`@job_type = N'REMOTE'`:                                         14266,
		`@date_comparator = '>'`:                                        14282,
		`@date_created = '20200101'`:                                    14282,
		`@date_comparator = '!', @date_created = '20200101'`:            14266,
		`@job_name = N'hers', @category_name = N'Database Maintenance'`: 14280,
		`@job_name = N'nope'`:                                           14262,
	} {
		g.Expect(failure(t, db, "EXEC dbo.sp_help_job "+arguments).Number).To(Equal(number), arguments)
	}
}
