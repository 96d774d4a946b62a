// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"time"

	"geosql.dev/operator/standin/builtin"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/storage"
)

// installActivityViews registers views and functions over what sessions, transactions, logs and files are doing
// (docs/relational-databases/system-dynamic-management-views), and catalog views of settings that have one value here.
func installActivityViews(r *Registry) {
	intT := sqltype.IntType
	r.textView("sys", "dm_os_waiting_tasks", "waiting_task_address varbinary(8), session_id smallint, exec_context_id int, wait_duration_ms bigint, wait_type nvarchar(60), resource_address varbinary(8), blocking_task_address varbinary(8), "+
		"blocking_session_id smallint, blocking_exec_context_id int, resource_description nvarchar(3072)",
		"SELECT NULL, session_id, 0, CAST(wait_time AS bigint), wait_type, NULL, NULL, NULLIF(blocking_session_id, 0), NULL, CAST(wait_resource AS nvarchar(3072)) FROM sys.dm_exec_requests WHERE wait_type IS NOT NULL")
	r.textView("sys", "dm_tran_current_transaction", "transaction_id bigint, transaction_sequence_num bigint, transaction_is_snapshot bit, first_snapshot_sequence_num bigint, last_transaction_sequence_num bigint, first_useful_sequence_num bigint",
		"SELECT CURRENT_TRANSACTION_ID(), CAST(0 AS bigint), CAST(0 AS bit), CAST(NULL AS bigint), CAST(0 AS bigint), CAST(0 AS bigint)")
	r.textView("sys", "dm_db_file_space_usage", "database_id smallint, file_id smallint, filegroup_id smallint, total_page_count bigint, allocated_extent_page_count bigint, unallocated_extent_page_count bigint, "+
		"version_store_reserved_page_count bigint, user_object_reserved_page_count bigint, internal_object_reserved_page_count bigint, mixed_extent_page_count bigint, modified_extent_page_count bigint",
		`SELECT CAST(DB_ID() AS smallint), CAST(file_id AS smallint), CAST(data_space_id AS smallint), CAST(size AS bigint), CAST(FILEPROPERTY(name, 'SpaceUsed') AS bigint), CAST(size - FILEPROPERTY(name, 'SpaceUsed') AS bigint),
			CAST(0 AS bigint), CAST(FILEPROPERTY(name, 'SpaceUsed') AS bigint), CAST(0 AS bigint), CAST(0 AS bigint), CAST(NULL AS bigint) FROM sys.database_files WHERE type = 0`)
	r.recordView("", "sys", "dm_tran_database_transactions", "transaction_id bigint, database_id int, database_transaction_begin_time datetime, database_transaction_type int, database_transaction_state int, database_transaction_status int, "+
		"database_transaction_status2 int, database_transaction_log_record_count bigint, database_transaction_replicate_record_count int, database_transaction_log_bytes_used bigint, database_transaction_log_bytes_reserved bigint, "+
		"database_transaction_log_bytes_used_system int, database_transaction_log_bytes_reserved_system int, database_transaction_begin_lsn numeric(25,0), database_transaction_last_lsn numeric(25,0), "+
		"database_transaction_most_recent_savepoint_lsn numeric(25,0), database_transaction_commit_lsn numeric(25,0), database_transaction_last_rollback_lsn numeric(25,0), database_transaction_next_undo_lsn numeric(25,0)", databaseTransactions)
	r.textFunction("sys", "dm_exec_input_buffer", "event_type nvarchar(256), parameters smallint, event_info nvarchar(max)",
		`SELECT CAST('Language Event' AS nvarchar(256)), CAST(0 AS smallint), t.text FROM sys.dm_exec_connections c CROSS APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) t WHERE c.session_id = @p1 AND ISNULL(@p2, 0) = 0`, intT, intT)
	r.textFunction("sys", "dm_db_stats_properties", "object_id int, stats_id int, last_updated datetime2, rows bigint, rows_sampled bigint, steps int, unfiltered_rows bigint, modification_counter bigint, persisted_sample_percent float",
		`SELECT object_id, stats_id, CAST(STATS_DATE(object_id, stats_id) AS datetime2), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS int), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(0 AS float) FROM sys.stats WHERE object_id = @p1 AND stats_id = @p2`, intT, intT)
	r.TableFunction(TableFunction{Schema: "sys", Name: "dm_db_log_info", Parameters: []sqltype.Type{intT}, Columns: columns("database_id int, file_id smallint, vlf_begin_offset bigint, vlf_size_mb float, vlf_sequence_number bigint, vlf_active bit, " +
		"vlf_status int, vlf_parity tinyint, vlf_first_lsn nvarchar(48), vlf_create_lsn nvarchar(48), vlf_encryptor_thumbprint varbinary(20)"), Rows: virtualLogFiles})
	r.TableFunction(TableFunction{Schema: "sys", Name: "dm_db_index_physical_stats", Parameters: []sqltype.Type{sqltype.SmallIntType, intT, intT, intT, sqltype.Sysname}, Columns: columns("database_id smallint, object_id int, index_id int, " +
		"partition_number int, index_type_desc nvarchar(60), alloc_unit_type_desc nvarchar(60), index_depth tinyint, index_level tinyint, avg_fragmentation_in_percent float, fragment_count bigint, avg_fragment_size_in_pages float, " +
		"page_count bigint, avg_page_space_used_in_percent float, record_count bigint, ghost_record_count bigint, version_ghost_record_count bigint, min_record_size_in_bytes int, max_record_size_in_bytes int, avg_record_size_in_bytes float, " +
		"forwarded_record_count bigint, compressed_page_count bigint, hobt_id bigint, columnstore_delete_buffer_state tinyint, columnstore_delete_buffer_state_desc nvarchar(60), version_record_count bigint, inrow_version_record_count bigint, " +
		"inrow_diff_version_record_count bigint, total_inrow_version_payload_size_in_bytes bigint, offrow_regular_version_record_count bigint, offrow_long_term_version_record_count bigint"), Rows: indexPages})
	installSettingViews(r)
	installUsageViews(r)
}

// databaseTransactions is the session's own transaction, in the database where it is.
func databaseTransactions(_ context.Context, s *Session) ([]record, error) {
	if s.count == 0 {
		return nil, nil
	}
	return []record{{"transaction_id": int64(s.descriptor), "database_id": s.db.ID(), "database_transaction_begin_time": s.began.UTC(), "database_transaction_type": 1, "database_transaction_state": 4, "database_transaction_status": 0,
		"database_transaction_status2": 0, "database_transaction_replicate_record_count": 0}}, nil
}

// virtualLogFiles is sys.dm_db_log_info.
func virtualLogFiles(_ context.Context, s *Session, args []any) ([][]any, error) {
	db := s.db
	if args[0] != nil {
		db = s.inst.DatabaseByID(int32(integer(args[0])))
	}
	if db == nil || db.Storage() == nil {
		return nil, nil
	}
	var rows [][]any
	for _, v := range db.Storage().Log().VirtualFiles() {
		rows = append(rows, []any{int64(db.ID()), int64(2), int64(v.Begin), float64(v.Bytes) / (1 << 20), int64(v.Number), true, int64(2), int64(64), storage.MakeLSN(v.Number, v.First, 0).String(), nil, nil})
	}
	return rows, nil
}

// indexPages is sys.dm_db_index_physical_stats: every index is one piece of a B-tree of one level, as far as it is known.
func indexPages(ctx context.Context, s *Session, args []any) ([][]any, error) {
	mode, _ := args[4].(string)
	if modes := []string{"", "default", "limited", "sampled", "detailed"}; !slices.Contains(modes, lower(mode)) {
		return nil, unsupported("The mode " + mode + " of sys.dm_db_index_physical_stats")
	}
	scan := "LIMITED"
	if lower(mode) == "sampled" || lower(mode) == "detailed" {
		scan = "DETAILED"
	}
	var rows [][]any
	for _, db := range s.inst.Databases() {
		if args[0] != nil && integer(args[0]) != 0 && integer(args[0]) != int64(db.ID()) || db.State() != Online {
			continue
		}
		found, err := s.rowsOf(ctx, db, `SELECT CAST(DB_ID() AS smallint), p.object_id, p.index_id, p.partition_number, CASE WHEN i.type = 0 THEN 'HEAP' WHEN i.type = 1 THEN 'CLUSTERED INDEX' ELSE 'NONCLUSTERED INDEX' END, 'IN_ROW_DATA', CAST(1 AS tinyint),
				CAST(0 AS tinyint), CAST(0 AS float), CAST(1 AS bigint), CAST(p.used_page_count AS float), p.used_page_count, CAST(NULL AS float), IIF(@p4 = 'LIMITED', NULL, p.row_count), CAST(IIF(@p4 = 'LIMITED', NULL, 0) AS bigint),
				CAST(IIF(@p4 = 'LIMITED', NULL, 0) AS bigint), CAST(NULL AS int), CAST(NULL AS int), CAST(NULL AS float), CAST(IIF(i.type = 0 AND @p4 <> 'LIMITED', 0, NULL) AS bigint), CAST(0 AS bigint), p.partition_id,
				CAST(0 AS tinyint), 'NOT VALID', CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint)
			FROM sys.dm_db_partition_stats p JOIN sys.indexes i ON i.object_id = p.object_id AND i.index_id = p.index_id
			WHERE (ISNULL(@p1, 0) = 0 OR p.object_id = @p1) AND (ISNULL(@p2, -1) = -1 OR p.index_id = @p2) AND (ISNULL(@p3, 0) = 0 OR p.partition_number = @p3) ORDER BY p.object_id, p.index_id, p.partition_number`,
			[]any{args[1], args[2], args[3], scan})
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// installSettingViews registers catalog views of features whose settings are always the same here: no mirroring, no Query Store, the
// defaults of a database's scope.
func installSettingViews(r *Registry) {
	r.textView("sys", "database_mirroring", "database_id int, mirroring_guid uniqueidentifier, mirroring_state tinyint, mirroring_state_desc nvarchar(60), mirroring_role tinyint, mirroring_role_desc nvarchar(60), mirroring_role_sequence int, "+
		"mirroring_safety_level tinyint, mirroring_safety_level_desc nvarchar(60), mirroring_safety_sequence int, mirroring_partner_name nvarchar(128), mirroring_partner_instance nvarchar(128), mirroring_witness_name nvarchar(128), "+
		"mirroring_witness_state tinyint, mirroring_witness_state_desc nvarchar(60), mirroring_failover_lsn numeric(25,0), mirroring_connection_timeout int, mirroring_redo_queue int, mirroring_redo_queue_type nvarchar(60), "+
		"mirroring_end_of_log_lsn numeric(25,0), mirroring_replication_lsn numeric(25,0)",
		"SELECT database_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM sys.databases")
	r.textView("sys", "database_query_store_options", "desired_state smallint, desired_state_desc nvarchar(60), actual_state smallint, actual_state_desc nvarchar(60), readonly_reason int, current_storage_size_mb bigint, "+
		"flush_interval_seconds bigint, interval_length_minutes bigint, max_storage_size_mb bigint, stale_query_threshold_days bigint, max_plans_per_query bigint, query_capture_mode smallint, query_capture_mode_desc nvarchar(60), "+
		"size_based_cleanup_mode smallint, size_based_cleanup_mode_desc nvarchar(60), wait_stats_capture_mode smallint, wait_stats_capture_mode_desc nvarchar(60), actual_state_additional_info nvarchar(4000), "+
		"capture_policy_execution_count int, capture_policy_total_compile_cpu_time_ms bigint, capture_policy_total_execution_cpu_time_ms bigint, capture_policy_stale_threshold_hours int",
		"SELECT CAST(0 AS smallint), 'OFF', CAST(0 AS smallint), 'OFF', 0, CAST(0 AS bigint), CAST(900 AS bigint), CAST(60 AS bigint), CAST(1000 AS bigint), CAST(30 AS bigint), CAST(200 AS bigint), CAST(2 AS smallint), 'AUTO', CAST(1 AS smallint), "+
			"'AUTO', CAST(1 AS smallint), 'ON', CAST(N'' AS nvarchar(4000)), CAST(NULL AS int), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS int)")
	r.textView("sys", "database_scoped_configurations", "configuration_id int, name nvarchar(60), value sql_variant, value_for_secondary sql_variant, is_value_default bit",
		"SELECT id, name, value, CAST(NULL AS sql_variant), CAST(1 AS bit) FROM (VALUES (1, N'MAXDOP', CAST(0 AS sql_variant)), (2, N'LEGACY_CARDINALITY_ESTIMATION', CAST(0 AS sql_variant)), (3, N'PARAMETER_SNIFFING', CAST(1 AS sql_variant)), "+
			"(4, N'QUERY_OPTIMIZER_HOTFIXES', CAST(0 AS sql_variant)), (6, N'IDENTITY_CACHE', CAST(1 AS sql_variant))) v (id, name, value)")
	r.recordView("", "sys", "time_zone_info", "name sysname, current_utc_offset nvarchar(6), is_currently_dst bit", func(context.Context, *Session) ([]record, error) {
		var out []record
		for _, name := range builtin.TimeZones() {
			zone, err := builtin.TimeZone(name)
			if err != nil {
				return nil, err
			}
			now := time.Now().In(zone)
			out = append(out, record{"name": name, "current_utc_offset": now.Format("-07:00"), "is_currently_dst": now.IsDST()})
		}
		return out, nil
	})
	token := "principal_id int, sid varbinary(85), name nvarchar(128), type nvarchar(128), usage nvarchar(128)"
	r.textView("sys", "login_token", token, `SELECT principal_id, sid, name, CAST(IIF(type = 'R', 'SERVER ROLE', 'SQL LOGIN') AS nvarchar(128)), CAST('GRANT OR DENY' AS nvarchar(128)) FROM sys.server_principals
		WHERE name = SUSER_SNAME() OR type = 'R' AND (name = 'public' OR IS_SRVROLEMEMBER(name) = 1)`)
	r.textView("sys", "user_token", token, `SELECT principal_id, sid, name, CAST(IIF(type = 'R', 'ROLE', 'SQL USER') AS nvarchar(128)), CAST('GRANT OR DENY' AS nvarchar(128)) FROM sys.database_principals
		WHERE name = USER_NAME() OR type = 'R' AND (name = 'public' OR IS_ROLEMEMBER(name) = 1)`)
}

// installUsageViews registers INFORMATION_SCHEMA's views of which object uses what.
func installUsageViews(r *Registry) {
	const name = "nvarchar(128)"
	r.textView("INFORMATION_SCHEMA", "COLUMN_DOMAIN_USAGE", "DOMAIN_CATALOG "+name+", DOMAIN_SCHEMA "+name+", DOMAIN_NAME sysname, TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, COLUMN_NAME sysname",
		"SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, c.name FROM sys.columns c JOIN sys.objects o ON o.object_id = c.object_id JOIN sys.types t ON t.user_type_id = c.user_type_id WHERE t.is_user_defined = 1")
	r.textView("INFORMATION_SCHEMA", "COLUMN_PRIVILEGES", "GRANTOR "+name+", GRANTEE "+name+", TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, COLUMN_NAME sysname, PRIVILEGE_TYPE varchar(10), IS_GRANTABLE varchar(3)",
		"SELECT USER_NAME(d.grantor_principal_id), USER_NAME(d.grantee_principal_id), DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, c.name, CAST(d.permission_name AS varchar(10)), CAST(IIF(d.state = 'W', 'YES', 'NO') AS varchar(3)) FROM sys.database_permissions d "+
			"JOIN sys.objects t ON t.object_id = d.major_id JOIN sys.columns c ON c.object_id = t.object_id AND (d.minor_id = 0 OR d.minor_id = c.column_id) WHERE d.class = 1 AND d.state IN ('G', 'W') AND d.permission_name IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')")
	r.emptyView("", "INFORMATION_SCHEMA", "DOMAIN_CONSTRAINTS", "CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname, DOMAIN_CATALOG "+name+", DOMAIN_SCHEMA "+name+", DOMAIN_NAME sysname, IS_DEFERRABLE varchar(2), "+
		"INITIALLY_DEFERRED varchar(2)")
	r.textView("INFORMATION_SCHEMA", "VIEW_TABLE_USAGE", "VIEW_CATALOG "+name+", VIEW_SCHEMA "+name+", VIEW_NAME sysname, TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname",
		"SELECT DB_NAME(), SCHEMA_NAME(v.schema_id), v.name, DB_NAME(), SCHEMA_NAME(o.schema_id), o.name FROM sys.sql_expression_dependencies d JOIN sys.views v ON v.object_id = d.referencing_id JOIN sys.objects o ON o.object_id = d.referenced_id WHERE o.type IN ('U', 'V')")
}
