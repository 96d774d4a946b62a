// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
)

// tables are msdb's own tables of SQL Server Agent, with the columns of
// docs/relational-databases/system-tables/dbo-sysjobs-transact-sql.md and its neighbours, in an order in which they can
// be made.
var tables = []struct{ name, ddl string }{
	{
		"syscategories",
		`CREATE TABLE msdb.dbo.syscategories (category_id int NOT NULL PRIMARY KEY, category_class int NOT NULL,
		category_type tinyint NOT NULL, name sysname NOT NULL)`,
	},
	{
		"sysjobs",
		`CREATE TABLE msdb.dbo.sysjobs (job_id uniqueidentifier NOT NULL PRIMARY KEY, originating_server_id int NOT NULL,
		name sysname NOT NULL UNIQUE, enabled tinyint NOT NULL, description nvarchar(512) NULL, start_step_id int NOT NULL,
		category_id int NOT NULL, owner_sid varbinary(85) NOT NULL, notify_level_eventlog int NOT NULL,
		notify_level_email int NOT NULL, notify_level_netsend int NOT NULL, notify_level_page int NOT NULL,
		notify_email_operator_id int NOT NULL, notify_netsend_operator_id int NOT NULL, notify_page_operator_id int NOT NULL,
		delete_level int NOT NULL, date_created datetime NOT NULL, date_modified datetime NOT NULL, version_number int NOT NULL)`,
	},
	{"sysjobservers", `CREATE TABLE msdb.dbo.sysjobservers (job_id uniqueidentifier NOT NULL, server_id int NOT NULL,
		last_run_outcome tinyint NOT NULL, last_outcome_message nvarchar(4000) NULL, last_run_date int NOT NULL,
		last_run_time int NOT NULL, last_run_duration int NOT NULL, CONSTRAINT PK_sysjobservers PRIMARY KEY (job_id, server_id))`},
	{
		"sysjobsteps",
		`CREATE TABLE msdb.dbo.sysjobsteps (job_id uniqueidentifier NOT NULL, step_id int NOT NULL, step_name sysname NOT NULL,
		subsystem nvarchar(40) NOT NULL, command nvarchar(max) NULL, flags int NOT NULL, additional_parameters nvarchar(max) NULL,
		cmdexec_success_code int NOT NULL, on_success_action tinyint NOT NULL, on_success_step_id int NOT NULL,
		on_fail_action tinyint NOT NULL, on_fail_step_id int NOT NULL, server sysname NULL, database_name sysname NULL,
		database_user_name sysname NULL, retry_attempts int NOT NULL, retry_interval int NOT NULL, os_run_priority int NOT NULL,
		output_file_name nvarchar(200) NULL, last_run_outcome int NOT NULL, last_run_duration int NOT NULL,
		last_run_retries int NOT NULL, last_run_date int NOT NULL, last_run_time int NOT NULL, proxy_id int NULL,
		step_uid uniqueidentifier NULL, CONSTRAINT PK_sysjobsteps PRIMARY KEY (job_id, step_id))`,
	},
	{
		"sysschedules",
		`CREATE TABLE msdb.dbo.sysschedules (schedule_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, schedule_uid uniqueidentifier NOT NULL,
		originating_server_id int NOT NULL, name sysname NOT NULL, owner_sid varbinary(85) NOT NULL, enabled int NOT NULL,
		freq_type int NOT NULL, freq_interval int NOT NULL, freq_subday_type int NOT NULL, freq_subday_interval int NOT NULL,
		freq_relative_interval int NOT NULL, freq_recurrence_factor int NOT NULL, active_start_date int NOT NULL,
		active_end_date int NOT NULL, active_start_time int NOT NULL, active_end_time int NOT NULL,
		date_created datetime NOT NULL, date_modified datetime NOT NULL, version_number int NOT NULL)`,
	},
	{"sysjobschedules", `CREATE TABLE msdb.dbo.sysjobschedules (schedule_id int NOT NULL, job_id uniqueidentifier NOT NULL,
		next_run_date int NOT NULL, next_run_time int NOT NULL, CONSTRAINT PK_sysjobschedules PRIMARY KEY (schedule_id, job_id))`},
	{"sysjobactivity", `CREATE TABLE msdb.dbo.sysjobactivity (session_id int NOT NULL, job_id uniqueidentifier NOT NULL,
		run_requested_date datetime NULL, run_requested_source sysname NULL, queued_date datetime NULL,
		start_execution_date datetime NULL, last_executed_step_id int NULL, last_executed_step_date datetime NULL,
		stop_execution_date datetime NULL, job_history_id int NULL, next_scheduled_run_date datetime NULL,
		CONSTRAINT PK_sysjobactivity PRIMARY KEY (session_id, job_id))`},
	{
		"sysjobhistory",
		`CREATE TABLE msdb.dbo.sysjobhistory (instance_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, job_id uniqueidentifier NOT NULL,
		step_id int NOT NULL, step_name sysname NOT NULL, sql_message_id int NOT NULL, sql_severity int NOT NULL,
		message nvarchar(4000) NULL, run_status int NOT NULL, run_date int NOT NULL, run_time int NOT NULL,
		run_duration int NOT NULL, operator_id_emailed int NOT NULL, operator_id_netsent int NOT NULL,
		operator_id_paged int NOT NULL, retries_attempted int NOT NULL, server sysname NOT NULL)`,
	},
	{
		"syssessions",
		`CREATE TABLE msdb.dbo.syssessions (session_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, agent_start_date datetime NOT NULL)`,
	},
}

// categories are the local job categories of an installation, with their well-known ids.
const categories = `INSERT INTO msdb.dbo.syscategories VALUES (0,1,1,N'[Uncategorized (Local)]'),(1,1,1,N'Jobs from MSX'),
	(2,1,2,N'[Uncategorized (Multi-Server)]'),(3,1,1,N'Database Maintenance'),(5,1,1,N'Full-Text'),(6,1,1,N'Log Shipping'),
	(10,1,1,N'REPL-Distribution'),(11,1,1,N'REPL-Distribution Cleanup'),(12,1,1,N'REPL-History Cleanup'),
	(13,1,1,N'REPL-LogReader'),(14,1,1,N'REPL-Merge'),(15,1,1,N'REPL-Snapshot'),(16,1,1,N'REPL-Checkup'),
	(17,1,1,N'REPL-Subscription Cleanup'),(18,1,1,N'REPL-Alert Response'),(19,1,1,N'REPL-QueueReader')`

// makeTables makes the tables that msdb lacks.
func makeTables(ctx context.Context, s *engine.Session) error {
	for _, t := range tables {
		r, err := s.Query(ctx, "SELECT OBJECT_ID(@p1) AS id", "msdb.dbo."+t.name)
		if err != nil {
			return fmt.Errorf("look for msdb's table %s: %w", t.name, err)
		}
		if r.Value(0, "id") != nil {
			continue
		}
		if err := s.Exec(ctx, t.ddl); err != nil {
			return fmt.Errorf("make msdb's table %s: %w", t.name, err)
		}
	}
	r, err := s.Query(ctx, "SELECT COUNT(*) AS n FROM msdb.dbo.syscategories")
	if err != nil {
		return fmt.Errorf("read the job categories: %w", err)
	}
	if r.Int(0, "n") > 0 {
		return nil
	}
	if err := s.Exec(ctx, categories); err != nil {
		return fmt.Errorf("fill in the job categories: %w", err)
	}
	return nil
}
