// SPDX-License-Identifier: Apache-2.0

package tsql

// Sources of the statements of this file: sp-add-job-*, sp-add-jobstep-* and sp-add-jobschedule-transact-sql.md in
// docs/relational-databases/system-stored-procedures/, dbo.sysjobs, sysjobsteps, sysjobservers and sysjobschedules in
// docs/relational-databases/system-tables/.

// MaintenanceJob is a job of SQL Server Agent, of one step of T-SQL, that replication makes once.
type MaintenanceJob struct {
	// Name and Category as replication names them.
	Name, Category string
	// Database and Command of the step.
	Database, Command string
	// Start is when it begins every day, as HHMMSS.
	Start int
}

// ExpiredSubscriptions is the job that drops, every night, subscriptions that did not synchronize within the retention.
// An engine makes it where a database is published for the first time, and nowhere that becomes primary of one
// (docs/relational-databases/system-stored-procedures/sp-expired-subscription-cleanup-transact-sql.md).
var ExpiredSubscriptions = MaintenanceJob{
	Name: "Expired subscription clean up", Category: "REPL-Subscription Cleanup", Database: "master",
	Command: "EXEC sys.sp_expired_subscription_cleanup", Start: 10000,
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

// AddMaintenanceSchedule makes the job start every day (freq_type 4).
func AddMaintenanceSchedule(j MaintenanceJob) Statement {
	return exec("msdb.dbo.sp_add_jobschedule").str("job_name", j.Name).str("name", "Replication agent schedule.").
		num("freq_type", 4).num("freq_interval", 1).num("active_start_time", j.Start).
		done("start job " + j.Name + " every day")
}

// MaintenanceJobState reads how many steps, servers and schedules a job has; no row where there is none of the name.
func MaintenanceJobState(name string) Statement {
	return new(builder).sql(`SELECT (SELECT COUNT(*) FROM msdb.dbo.sysjobsteps AS s WHERE s.job_id = j.job_id),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobservers AS v WHERE v.job_id = j.job_id),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS c WHERE c.job_id = j.job_id)
FROM msdb.dbo.sysjobs AS j WHERE j.name = @name`).arg("name", name).done("read job " + name)
}
