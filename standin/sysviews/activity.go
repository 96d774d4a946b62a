// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// installActivityViews registers what sessions wait for and what files have in them, by the engine's views of sessions,
// requests and files (docs/relational-databases/system-dynamic-management-views).
func installActivityViews(r *engine.Registry) {
	intT := sqltype.IntType
	r.TextView(
		"sys",
		"dm_os_waiting_tasks",
		"waiting_task_address varbinary(8), session_id smallint, exec_context_id int, wait_duration_ms bigint, wait_type "+
			"nvarchar(60), resource_address varbinary(8), blocking_task_address varbinary(8), "+
			"blocking_session_id smallint, blocking_exec_context_id int, resource_description nvarchar(3072)",
		"SELECT NULL, session_id, 0, CAST(wait_time AS bigint), wait_type, NULL, NULL, NULLIF(blocking_session_id, 0), "+
			"NULL, CAST(wait_resource AS nvarchar(3072)) FROM sys.dm_exec_requests WHERE wait_type IS NOT NULL",
	)
	r.TextView(
		"sys",
		"dm_tran_current_transaction",
		"transaction_id bigint, transaction_sequence_num bigint, transaction_is_snapshot bit, first_snapshot_sequence_num "+
			"bigint, last_transaction_sequence_num bigint, first_useful_sequence_num bigint",
		"SELECT CURRENT_TRANSACTION_ID(), CAST(0 AS bigint), CAST(0 AS bit), CAST(NULL AS bigint), CAST(0 AS bigint), "+
			"CAST(0 AS bigint)",
	)
	r.TextView(
		"sys",
		"dm_db_file_space_usage",
		"database_id smallint, file_id smallint, filegroup_id smallint, total_page_count bigint, "+
			"allocated_extent_page_count bigint, unallocated_extent_page_count bigint, "+
			"version_store_reserved_page_count bigint, user_object_reserved_page_count bigint, "+
			"internal_object_reserved_page_count bigint, mixed_extent_page_count bigint, modified_extent_page_count bigint",
		`SELECT CAST(DB_ID() AS smallint), CAST(file_id AS smallint), CAST(data_space_id AS smallint), CAST(size AS bigint), CAST(FILEPROPERTY(name, 'SpaceUsed') AS bigint), CAST(size - FILEPROPERTY(name, 'SpaceUsed') AS bigint),
			CAST(0 AS bigint), CAST(FILEPROPERTY(name, 'SpaceUsed') AS bigint), CAST(0 AS bigint), CAST(0 AS bigint), CAST(NULL AS bigint) FROM sys.database_files WHERE type = 0`,
	)
	r.TextFunction(
		"sys",
		"dm_exec_input_buffer",
		"event_type nvarchar(256), parameters smallint, event_info nvarchar(max)",
		`SELECT CAST('Language Event' AS nvarchar(256)), CAST(0 AS smallint), t.text FROM sys.dm_exec_connections c CROSS APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) t WHERE c.session_id = @p1 AND ISNULL(@p2, 0) = 0`,
		intT,
		intT,
	)
	r.TextFunction(
		"sys",
		"dm_db_stats_properties",
		"object_id int, stats_id int, last_updated datetime2, rows bigint, rows_sampled bigint, steps int, "+
			"unfiltered_rows bigint, modification_counter bigint, persisted_sample_percent float",
		`SELECT object_id, stats_id, CAST(STATS_DATE(object_id, stats_id) AS datetime2), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS int), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(0 AS float) FROM sys.stats WHERE object_id = @p1 AND stats_id = @p2`,
		intT,
		intT,
	)
}
