// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"context"
	_ "embed"
	"strings"

	"geosql.dev/standin/engine"
)

// unkeptOfMsdb are tables and views of msdb that are empty: there are no alerts, proxies, profiles of mail, plans of
// maintenance ...
//
//go:embed unkept_msdb.txt
var unkeptOfMsdb string

// subsystems of SQL Server Agent that run here, with their numbers (syssubsystems-transact-sql.md).
const subsystems = "(VALUES (1, N'TSQL'), (4, N'Snapshot'), (5, N'LogReader'), (6, N'Distribution')) AS s " +
	"(subsystem_id, subsystem)"

// installMsdbViews registers the tables of msdb for what the stand-in does not do: pages are not repaired, mail is not
// sent, logs are not shipped (docs/relational-databases/system-tables).
func installMsdbViews(r *engine.Registry) {
	for _, line := range strings.Split(strings.TrimSpace(unkeptOfMsdb), "\n") {
		name, list, _ := strings.Cut(line, ": ")
		r.EmptyView("msdb", "dbo", name, list)
	}
	r.TextViewOf(
		"msdb",
		"dbo",
		"sysjobs_view",
		"job_id uniqueidentifier, originating_server nvarchar(30), name sysname, enabled tinyint, description "+
			"nvarchar(512), start_step_id int, category_id int, owner_sid varbinary(85), notify_level_eventlog int, "+
			"notify_level_email int, notify_level_netsend int, notify_level_page int, notify_email_operator_id int, "+
			"notify_netsend_operator_id int, notify_page_operator_id int, delete_level int, date_created datetime, "+
			"date_modified datetime, "+
			"version_number int, originating_server_id int, master_server bit",
		"SELECT job_id, CAST(@@SERVERNAME AS nvarchar(30)), name, enabled, description, start_step_id, category_id, "+
			"owner_sid, notify_level_eventlog, notify_level_email, notify_level_netsend, notify_level_page, "+
			"notify_email_operator_id, "+
			"notify_netsend_operator_id, notify_page_operator_id, delete_level, date_created, date_modified, version_number, "+
			"originating_server_id, CAST(0 AS bit) FROM msdb.dbo.sysjobs",
	)
	r.TextViewOf(
		"msdb",
		"dbo",
		"sysoriginatingservers_view",
		"originating_server_id int, originating_server sysname, master_server bit",
		"SELECT 0, CAST(@@SERVERNAME AS sysname), CAST(0 AS bit)",
	)
	r.EmptyView(
		"msdb",
		"dbo",
		"sysoriginatingservers",
		"originating_server_id int, originating_server sysname, master_server bit",
	)
	r.TextViewOf(
		"msdb",
		"dbo",
		"syssubsystems",
		"subsystem_id int, subsystem nvarchar(40), description_id int, subsystem_dll nvarchar(255), agent_exe "+
			"nvarchar(255), start_entry_point nvarchar(30), event_entry_point nvarchar(30), "+
			"stop_entry_point nvarchar(30), max_worker_threads int",
		"SELECT subsystem_id, subsystem, CAST(NULL AS int), CAST(NULL AS nvarchar(255)), CAST(NULL AS nvarchar(255)), "+
			"CAST(NULL AS nvarchar(30)), CAST(NULL AS nvarchar(30)), CAST(NULL AS nvarchar(30)), CAST(NULL "+
			"AS int) FROM "+subsystems,
	)
	for _, name := range []string{"log_shipping_primary_databases", "log_shipping_monitor_primary",
		"log_shipping_monitor_secondary", "log_shipping_secondary", "log_shipping_secondary_databases",
		"log_shipping_primary_secondaries"} {
		r.EmptyView("msdb", "dbo", name, logShippingColumns[name])
	}
	// Policies are not managed here, which tools ask first.
	r.RecordView(
		"msdb",
		"dbo",
		"syspolicy_configuration",
		"name sysname, current_value sql_variant",
		func(context.Context, *engine.Session) ([]engine.Record, error) {
			return []engine.Record{
				{"name": "Enabled", "current_value": int64(0)},
				{"name": "HistoryRetentionInDays", "current_value": int64(0)},
				{"name": "LogOnSuccess", "current_value": int64(0)},
			}, nil
		},
	)
	r.EmptyView(
		"msdb",
		"dbo",
		"syspolicy_system_health_state",
		"health_state_id bigint, policy_id int, last_run_date datetime, target_query_expression_with_id nvarchar(400), "+
			"target_query_expression nvarchar(max), result bit",
	)
	r.EmptyView(
		"msdb",
		"dbo",
		"syspolicy_policies",
		"policy_id int, name sysname, condition_id int, root_condition_id int, date_created datetime, execution_mode int, "+
			"policy_category_id int, schedule_uid uniqueidentifier, "+
			"description nvarchar(max), help_text nvarchar(4000), help_link nvarchar(2083), object_set_id int, is_enabled "+
			"bit, job_id uniqueidentifier, created_by sysname, modified_by sysname, date_modified datetime, is_system bit",
	)
	r.EmptyView(
		"msdb",
		"dbo",
		"suspect_pages",
		"database_id int, file_id int, page_id bigint, event_type int, error_count int, last_update_date datetime",
	)
	r.EmptyView(
		"msdb",
		"dbo",
		"logmarkhistory",
		"database_name nvarchar(128), mark_name nvarchar(128), description nvarchar(255), user_name nvarchar(128), lsn "+
			"numeric(25,0), mark_time datetime",
	)
	mail := "mailitem_id int, profile_id int, recipients varchar(max), copy_recipients varchar(max), " +
		"blind_copy_recipients varchar(max), subject nvarchar(255), body nvarchar(max), body_format varchar(20), " +
		"importance varchar(6), " +
		"sensitivity varchar(12), file_attachments nvarchar(max), attachment_encoding varchar(20), query nvarchar(max), " +
		"execute_query_database sysname, attach_query_result_as_file bit, query_result_header bit, query_result_width int, " +
		"query_result_separator char(1), exclude_query_output bit, append_query_error bit, send_request_date datetime, " +
		"send_request_user sysname, sent_account_id int, sent_status varchar(8), sent_date datetime, last_mod_date " +
		"datetime, last_mod_user sysname"
	for _, name := range []string{"sysmail_allitems", "sysmail_faileditems", "sysmail_sentitems", "sysmail_unsentitems"} {
		r.EmptyView("msdb", "dbo", name, mail)
	}
	r.EmptyView(
		"msdb",
		"dbo",
		"sysmail_event_log",
		"log_id int, event_type varchar(11), log_date datetime, description nvarchar(max), process_id int, mailitem_id "+
			"int, account_id int, last_mod_date datetime, last_mod_user sysname",
	)
	r.EmptyView(
		"msdb",
		"dbo",
		"sysoperators",
		"id int, name sysname, enabled tinyint, email_address nvarchar(100), last_email_date int, last_email_time int, "+
			"pager_address nvarchar(100), last_pager_date int, last_pager_time int, "+
			"weekday_pager_start_time int, weekday_pager_end_time int, saturday_pager_start_time int, "+
			"saturday_pager_end_time int, sunday_pager_start_time int, sunday_pager_end_time int, pager_days tinyint, "+
			"netsend_address nvarchar(100), "+
			"last_netsend_date int, last_netsend_time int, category_id int",
	)
}

// logShippingColumns are those of the tables of log shipping.
var logShippingColumns = map[string]string{
	"log_shipping_primary_databases": "primary_id uniqueidentifier, primary_database sysname, backup_directory " +
		"nvarchar(500), backup_share nvarchar(500), backup_retention_period int, backup_job_id uniqueidentifier, " +
		"monitor_server sysname, " +
		"monitor_server_security_mode bit, last_backup_file nvarchar(500), last_backup_date datetime, " +
		"user_specified_monitor bit, backup_compression tinyint",
	"log_shipping_monitor_primary": "primary_id uniqueidentifier, primary_server sysname, primary_database sysname, " +
		"backup_threshold int, threshold_alert int, threshold_alert_enabled bit, last_backup_file nvarchar(500), " +
		"last_backup_date datetime, last_backup_date_utc datetime, history_retention_period int",
	"log_shipping_monitor_secondary": "secondary_server sysname, secondary_database sysname, secondary_id " +
		"uniqueidentifier, primary_server sysname, primary_database sysname, restore_threshold int, threshold_alert int, " +
		"threshold_alert_enabled bit, " +
		"last_copied_file nvarchar(500), last_copied_date datetime, last_copied_date_utc datetime, last_restored_file " +
		"nvarchar(500), last_restored_date datetime, last_restored_date_utc datetime, last_restored_latency int, " +
		"history_retention_period int",
	"log_shipping_secondary": "secondary_id uniqueidentifier, primary_server sysname, primary_database sysname, " +
		"backup_source_directory nvarchar(500), backup_destination_directory nvarchar(500), file_retention_period int, " +
		"copy_job_id uniqueidentifier, " +
		"restore_job_id uniqueidentifier, monitor_server sysname, monitor_server_security_mode bit, " +
		"user_specified_monitor bit, last_copied_file nvarchar(500), last_copied_date datetime",
	"log_shipping_secondary_databases": "secondary_database sysname, secondary_id uniqueidentifier, restore_delay int, " +
		"restore_all bit, restore_mode bit, disconnect_users bit, block_size int, buffer_count int, max_transfer_size int, " +
		"last_restored_file nvarchar(500), last_restored_date datetime",
	"log_shipping_primary_secondaries": "primary_id uniqueidentifier, secondary_server sysname, " +
		"secondary_database sysname",
}
