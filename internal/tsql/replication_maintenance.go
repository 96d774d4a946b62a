// SPDX-License-Identifier: Apache-2.0

package tsql

import "fmt"

// Sources of the statements of this file: sp-add-job-*, sp-add-jobstep-* and sp-add-jobschedule-transact-sql.md in
// docs/relational-databases/system-stored-procedures/, dbo.sysjobs, sysjobsteps, sysjobservers, sysjobschedules,
// syscategories and MSdistributiondbs in docs/relational-databases/system-tables/.

// MaintenanceJob is a job of SQL Server Agent, of one step of T-SQL, that replication makes once.
type MaintenanceJob struct {
	// Name and Category as replication names them.
	Name, Category string
	// Database and Command of the step.
	Database, Command string
	// Start is when it begins every day, as HHMMSS.
	Start int
	// Every is after how many minutes it begins again on that day; 0 for once a day.
	Every int
}

// ExpiredSubscriptions is the job that drops, every night, subscriptions that did not synchronize within the retention.
// An engine makes it where a database is published for the first time, and nowhere that becomes primary of one
// (docs/relational-databases/system-stored-procedures/sp-expired-subscription-cleanup-transact-sql.md).
var ExpiredSubscriptions = MaintenanceJob{
	Name: "Expired subscription clean up", Category: "REPL-Subscription Cleanup", Database: "master",
	Command: "EXEC sys.sp_expired_subscription_cleanup", Start: 10000,
}

// DistributionCleanup is the job that removes from a distribution database what is delivered or older than its
// retention, and old snapshots. An engine makes it with the database alone
// (docs/relational-databases/replication/administration/run-replication-maintenance-jobs-sql-server-management-studio.md).
// The retention is read where the engine keeps it at each start: one that is lengthened later counts at once.
func DistributionCleanup(database string) MaintenanceJob {
	return MaintenanceJob{
		Name: "Distribution clean up: " + database, Category: "REPL-Distribution Cleanup", Database: database,
		Command: "DECLARE @min int, @max int; SELECT @min = min_distretention, @max = max_distretention " +
			"FROM msdb.dbo.MSdistributiondbs WHERE name = DB_NAME(); " +
			"EXEC dbo.sp_MSdistribution_cleanup @min_distretention = @min, @max_distretention = @max;",
		Start: 500, Every: 10,
	}
}

// HistoryCleanup is the job that removes from a distribution database the history of agents that is older than its
// history retention, as DistributionCleanup does with what is delivered.
func HistoryCleanup(database string) MaintenanceJob {
	return MaintenanceJob{
		Name: "Agent history clean up: " + database, Category: "REPL-History Cleanup", Database: database,
		Command: "DECLARE @hours int; SELECT @hours = history_retention FROM msdb.dbo.MSdistributiondbs " +
			"WHERE name = DB_NAME(); EXEC dbo.sp_MShistory_cleanup @history_retention = @hours;",
		Every: 10,
	}
}

// AddMaintenanceJob adds a job without a step.
func AddMaintenanceJob(j MaintenanceJob) Statement {
	return exec("msdb.dbo.sp_add_job").str("job_name", j.Name).str("category_name", j.Category).
		done("add job " + j.Name)
}

// AddMaintenanceStep adds the job's step.
func AddMaintenanceStep(j MaintenanceJob) Statement {
	return exec("msdb.dbo.sp_add_jobstep").str("job_name", j.Name).num("step_id", 1).str("step_name", stepName).
		str("subsystem", "TSQL").str("command", j.Command).str("database_name", j.Database).
		done("say what job " + j.Name + " runs")
}

// AddMaintenanceSchedule makes the job start every day (freq_type 4), and after some minutes again (freq_subday_type 4)
// where it does so.
func AddMaintenanceSchedule(j MaintenanceJob) Statement {
	b := exec("msdb.dbo.sp_add_jobschedule").str("job_name", j.Name).str("name", "Replication agent schedule.").
		num("freq_type", 4).num("freq_interval", 1).num("active_start_time", j.Start)
	if j.Every > 0 {
		return b.num("freq_subday_type", 4).num("freq_subday_interval", j.Every).
			done(fmt.Sprintf("start job %s every %d minutes", j.Name, j.Every))
	}
	return b.done("start job " + j.Name + " every day")
}

// MaintenanceJobState selects the name of a job, whether it is enabled, how many steps, servers and schedules it has,
// how its last run ended and with what words; no row where there is none. It is the one of the name, or one that is in
// the category for the database: a person may have given it another name.
func MaintenanceJobState(j MaintenanceJob) Statement {
	return new(builder).sql(`SELECT TOP (1) j.name, CAST(j.enabled AS int),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobsteps AS s WHERE s.job_id = j.job_id),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobservers AS n WHERE n.job_id = j.job_id),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS t WHERE t.job_id = j.job_id),
    CAST(COALESCE(v.last_run_outcome, 5) AS int), COALESCE(CAST(v.last_outcome_message AS nvarchar(1024)), N'')
FROM msdb.dbo.sysjobs AS j JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id
    LEFT JOIN msdb.dbo.sysjobservers AS v ON v.job_id = j.job_id
WHERE j.name = @name OR c.name = @category AND EXISTS (SELECT 1 FROM msdb.dbo.sysjobsteps AS s
    WHERE s.job_id = j.job_id AND s.database_name = @database)
ORDER BY CASE WHEN j.name = @name THEN 0 ELSE 1 END, j.name`).
		arg("name", j.Name).arg("category", j.Category).arg("database", j.Database).done("read job " + j.Name)
}
