// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	_ "embed"
	"strings"

	"geosql.dev/operator/standin/sqltype"
)

// unkeptViews are the views of machinery that the stand-in does not have (plans and their statistics, buffers, threads, row
// versions, memory-optimised tables, Service Broker, full text, CLR, audits, event sessions), a view and its documented columns in a
// line (docs/relational-databases/system-dynamic-management-views, docs/relational-databases/system-catalog-views). They are empty.
//
//go:embed views_unkept.txt
var unkeptViews string

// emptyView registers a view without rows.
func (r *Registry) emptyView(database, schema, name, list string) {
	r.recordView(database, schema, name, list, func(context.Context, *Session) ([]record, error) { return nil, nil })
}

// textFunction registers a table-valued function that is a query over views: its arguments are @p1 and the following.
func (r *Registry) textFunction(schema, name, list, text string, parameters ...sqltype.Type) {
	r.TableFunction(TableFunction{Schema: schema, Name: name, Parameters: parameters, Columns: columns(list), Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
		return s.rowsOf(ctx, s.db, text, args)
	}})
}

// refusedFunctions are documented table-valued functions that the stand-in does not have: they are refused by name, not as unknown.
var refusedFunctions = map[string]bool{"fn_dblog": true, "fn_dump_dblog": true, "fn_trace_gettable": true, "fn_xe_file_target_read_file": true, "fn_get_audit_file": true,
	"dm_db_page_info": true, "dm_db_index_operational_stats": true, "dm_fts_parser": true, "fn_validate_plan_guide": true, "dm_db_incremental_stats_properties": true, "fn_get_sql": true,
	"dm_exec_query_plan_stats": true, "dm_exec_cursors": true, "dm_os_file_exists": true, "dm_exec_describe_first_result_set_for_object": true, "dm_exec_query_statistics_xml": true}

// rowsOf are the rows of a query of the engine's own in a database.
func (s *Session) rowsOf(ctx context.Context, db *Database, text string, args []any) ([][]any, error) {
	before, counted := s.db, s.rowCount
	s.db = db
	w := &insertTarget{Writer: &discardWriter{}}
	err := s.run(ctx, text, args, w)
	s.db, s.rowCount = before, counted
	return w.rows, err
}

// installUnkeptViews registers those, and the functions that go with them.
func installUnkeptViews(r *Registry) {
	for _, line := range strings.Split(strings.TrimSpace(unkeptViews), "\n") {
		name, list, _ := strings.Cut(line, ": ")
		r.emptyView("", "sys", name, list)
	}
	r.emptyView("", "sys", "internal_tables", objectColumns+", internal_type tinyint, internal_type_desc nvarchar(60), parent_id int, parent_minor_id int, lob_data_space_id int, filestream_data_space_id int")
	handle, intT := sqltype.VarBinaryOf(64), sqltype.IntType
	plan := "dbid smallint, objectid int, number smallint, encrypted bit, query_plan nvarchar(max)"
	r.textFunction("sys", "dm_exec_query_plan", plan, "SELECT CAST(NULL AS smallint), NULL, CAST(NULL AS smallint), CAST(0 AS bit), CAST(NULL AS nvarchar(max))", handle)
	r.textFunction("sys", "dm_exec_text_query_plan", plan, "SELECT CAST(NULL AS smallint), NULL, CAST(NULL AS smallint), CAST(0 AS bit), CAST(NULL AS nvarchar(max))", handle, intT, intT)
	none := func(name, list string, parameters ...sqltype.Type) {
		r.TableFunction(TableFunction{Schema: "sys", Name: name, Parameters: parameters, Columns: columns(list), Rows: func(context.Context, *Session, []any) ([][]any, error) { return nil, nil }})
	}
	none("dm_exec_plan_attributes", "attribute varchar(128), value sql_variant, is_cache_key bit", handle)
	none("dm_db_stats_histogram", "object_id int, stats_id int, step_number int, range_high_key sql_variant, range_rows real, equal_rows real, distinct_range_rows bigint, average_range_rows real", intT, intT)
	none("fn_trace_getinfo", "traceid int, property int, value sql_variant", intT)
	r.textFunction("sys", "fn_virtualfilestats", "DbId smallint, FileId smallint, TimeStamp bigint, NumberReads bigint, BytesRead bigint, IoStallReadMS bigint, NumberWrites bigint, BytesWritten bigint, IoStallWriteMS bigint, IoStallMS bigint, FileHandle varbinary(8), BytesOnDisk bigint",
		"SELECT database_id, file_id, sample_ms, num_of_reads, num_of_bytes_read, io_stall_read_ms, num_of_writes, num_of_bytes_written, io_stall_write_ms, io_stall, file_handle, size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(@p1, @p2)", intT, intT)
	none("fn_servershareddrives", "DriveName nchar(1)")
	installMsdbViews(r)
	installSptValues(r)
	installResourceViews(r)
	installNamedFunctions(r)
}

// installMsdbViews registers the tables of msdb for what the stand-in does not do: pages are not repaired, mail is not sent, logs are
// not shipped (docs/relational-databases/system-tables).
func installMsdbViews(r *Registry) {
	for _, name := range []string{"log_shipping_primary_databases", "log_shipping_monitor_primary", "log_shipping_monitor_secondary", "log_shipping_secondary", "log_shipping_secondary_databases",
		"log_shipping_primary_secondaries"} {
		r.emptyView("msdb", "dbo", name, logShippingColumns[name])
	}
	// Policies are not managed here, which tools ask first.
	r.recordView("msdb", "dbo", "syspolicy_configuration", "name sysname, current_value sql_variant", func(context.Context, *Session) ([]record, error) {
		return []record{{"name": "Enabled", "current_value": int64(0)}, {"name": "HistoryRetentionInDays", "current_value": int64(0)}, {"name": "LogOnSuccess", "current_value": int64(0)}}, nil
	})
	r.emptyView("msdb", "dbo", "syspolicy_system_health_state", "health_state_id bigint, policy_id int, last_run_date datetime, target_query_expression_with_id nvarchar(400), target_query_expression nvarchar(max), result bit")
	r.emptyView("msdb", "dbo", "syspolicy_policies", "policy_id int, name sysname, condition_id int, root_condition_id int, date_created datetime, execution_mode int, policy_category_id int, schedule_uid uniqueidentifier, "+
		"description nvarchar(max), help_text nvarchar(4000), help_link nvarchar(2083), object_set_id int, is_enabled bit, job_id uniqueidentifier, created_by sysname, modified_by sysname, date_modified datetime, is_system bit")
	r.emptyView("msdb", "dbo", "suspect_pages", "database_id int, file_id int, page_id bigint, event_type int, error_count int, last_update_date datetime")
	r.emptyView("msdb", "dbo", "logmarkhistory", "database_name nvarchar(128), mark_name nvarchar(128), description nvarchar(255), user_name nvarchar(128), lsn numeric(25,0), mark_time datetime")
	mail := "mailitem_id int, profile_id int, recipients varchar(max), copy_recipients varchar(max), blind_copy_recipients varchar(max), subject nvarchar(255), body nvarchar(max), body_format varchar(20), importance varchar(6), " +
		"sensitivity varchar(12), file_attachments nvarchar(max), attachment_encoding varchar(20), query nvarchar(max), execute_query_database sysname, attach_query_result_as_file bit, query_result_header bit, query_result_width int, " +
		"query_result_separator char(1), exclude_query_output bit, append_query_error bit, send_request_date datetime, send_request_user sysname, sent_account_id int, sent_status varchar(8), sent_date datetime, last_mod_date datetime, last_mod_user sysname"
	for _, name := range []string{"sysmail_allitems", "sysmail_faileditems", "sysmail_sentitems", "sysmail_unsentitems"} {
		r.emptyView("msdb", "dbo", name, mail)
	}
	r.emptyView("msdb", "dbo", "sysmail_event_log", "log_id int, event_type varchar(11), log_date datetime, description nvarchar(max), process_id int, mailitem_id int, account_id int, last_mod_date datetime, last_mod_user sysname")
	r.emptyView("msdb", "dbo", "sysoperators", "id int, name sysname, enabled tinyint, email_address nvarchar(100), last_email_date int, last_email_time int, pager_address nvarchar(100), last_pager_date int, last_pager_time int, "+
		"weekday_pager_start_time int, weekday_pager_end_time int, saturday_pager_start_time int, saturday_pager_end_time int, sunday_pager_start_time int, sunday_pager_end_time int, pager_days tinyint, netsend_address nvarchar(100), "+
		"last_netsend_date int, last_netsend_time int, category_id int")
	sets := View{Database: "msdb", Schema: "dbo", Name: "backupmediaset", Columns: columns("media_set_id int, media_uuid uniqueidentifier, media_family_count tinyint, name nvarchar(128), description nvarchar(255), software_name nvarchar(128), software_vendor_id int, MTF_major_version tinyint, " +
		"mirror_count tinyint, is_password_protected bit, is_compressed bit, is_encrypted bit")}
	sets.Rows = func(ctx context.Context, s *Session) ([][]any, error) {
		return s.rowsOf(ctx, s.viewDatabase(), "SELECT media_set_id, media_family_id, CAST(1 AS tinyint), CAST(NULL AS nvarchar(128)), CAST(NULL AS nvarchar(255)), CAST(NULL AS nvarchar(128)), CAST(NULL AS int), CAST(NULL AS tinyint), CAST(1 AS tinyint), CAST(0 AS bit), CAST(0 AS bit), "+
			"CAST(0 AS bit) FROM msdb.dbo.backupmediafamily", nil)
	}
	r.View(sets)
}

// logShippingColumns are those of the tables of log shipping.
var logShippingColumns = map[string]string{
	"log_shipping_primary_databases": "primary_id uniqueidentifier, primary_database sysname, backup_directory nvarchar(500), backup_share nvarchar(500), backup_retention_period int, backup_job_id uniqueidentifier, monitor_server sysname, " +
		"monitor_server_security_mode bit, last_backup_file nvarchar(500), last_backup_date datetime, user_specified_monitor bit, backup_compression tinyint",
	"log_shipping_monitor_primary": "primary_id uniqueidentifier, primary_server sysname, primary_database sysname, backup_threshold int, threshold_alert int, threshold_alert_enabled bit, last_backup_file nvarchar(500), last_backup_date datetime, " +
		"last_backup_date_utc datetime, history_retention_period int",
	"log_shipping_monitor_secondary": "secondary_server sysname, secondary_database sysname, secondary_id uniqueidentifier, primary_server sysname, primary_database sysname, restore_threshold int, threshold_alert int, threshold_alert_enabled bit, " +
		"last_copied_file nvarchar(500), last_copied_date datetime, last_copied_date_utc datetime, last_restored_file nvarchar(500), last_restored_date datetime, last_restored_date_utc datetime, last_restored_latency int, history_retention_period int",
	"log_shipping_secondary": "secondary_id uniqueidentifier, primary_server sysname, primary_database sysname, backup_source_directory nvarchar(500), backup_destination_directory nvarchar(500), file_retention_period int, copy_job_id uniqueidentifier, " +
		"restore_job_id uniqueidentifier, monitor_server sysname, monitor_server_security_mode bit, user_specified_monitor bit, last_copied_file nvarchar(500), last_copied_date datetime",
	"log_shipping_secondary_databases": "secondary_database sysname, secondary_id uniqueidentifier, restore_delay int, restore_all bit, restore_mode bit, disconnect_users bit, block_size int, buffer_count int, max_transfer_size int, " +
		"last_restored_file nvarchar(500), last_restored_date datetime",
	"log_shipping_primary_secondaries": "primary_id uniqueidentifier, secondary_server sysname, secondary_database sysname",
}
