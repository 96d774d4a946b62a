// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"context"
	_ "embed"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// unkeptViews are the views of machinery that the stand-in does not have (plans and their statistics, buffers, threads,
// row versions, memory-optimised tables, Service Broker, full text, CLR, audits, event sessions), a view and its
// documented columns in a line (docs/relational-databases/system-dynamic-management-views,
// docs/relational-databases/system-catalog-views). They are empty.
//
//go:embed unkept.txt
var unkeptViews string

// installUnkeptViews registers those, and the functions that go with them.
func installUnkeptViews(r *engine.Registry) {
	for _, line := range strings.Split(strings.TrimSpace(unkeptViews), "\n") {
		name, list, _ := strings.Cut(line, ": ")
		r.EmptyView("", "sys", name, list)
	}
	handle, intT := sqltype.VarBinaryOf(64), sqltype.IntType
	const plan = "dbid smallint, objectid int, number smallint, encrypted bit, query_plan "
	r.TextFunction(
		"sys",
		"dm_exec_query_plan",
		plan+"xml",
		"SELECT CAST(NULL AS smallint), NULL, CAST(NULL AS smallint), CAST(0 AS bit), CAST(NULL AS xml)",
		handle,
	)
	r.TextFunction(
		"sys",
		"dm_exec_text_query_plan",
		plan+"nvarchar(max)",
		"SELECT CAST(NULL AS smallint), NULL, CAST(NULL AS smallint), CAST(0 AS bit), CAST(NULL AS nvarchar(max))",
		handle,
		intT,
		intT,
	)
	none := func(name, list string, parameters ...sqltype.Type) {
		r.TableFunction(
			engine.TableFunction{
				Schema:     "sys",
				Name:       name,
				Parameters: parameters,
				Columns:    engine.ColumnList(list),
				Rows:       func(context.Context, *engine.Session, []any) ([][]any, error) { return nil, nil },
			},
		)
	}
	none("dm_exec_plan_attributes", "attribute varchar(128), value sql_variant, is_cache_key bit", handle)
	// No plans are kept, in flight or finished.
	none("dm_exec_query_plan_stats", plan+"xml", handle)
	none(
		"dm_exec_query_statistics_xml",
		"session_id smallint, request_id int, sql_handle varbinary(64), plan_handle varbinary(64), query_plan xml",
		sqltype.SmallIntType,
	)
	none(
		"dm_db_stats_histogram",
		"object_id int, stats_id int, step_number int, range_high_key sql_variant, range_rows real, equal_rows real, "+
			"distinct_range_rows bigint, average_range_rows real",
		intT,
		intT,
	)
	// Statistics are never incremental.
	none(
		"dm_db_incremental_stats_properties",
		"object_id int, stats_id int, partition_number int, last_updated datetime2, rows bigint, rows_sampled bigint, "+
			"steps int, unfiltered_rows bigint, modification_counter bigint",
		intT,
		intT,
	)
	none("fn_trace_getinfo", "traceid int, property int, value sql_variant", intT)
	r.TextFunction(
		"sys",
		"fn_virtualfilestats",
		"DbId smallint, FileId smallint, TimeStamp bigint, NumberReads bigint, BytesRead bigint, IoStallReadMS bigint, "+
			"NumberWrites bigint, BytesWritten bigint, IoStallWriteMS bigint, IoStallMS bigint, FileHandle varbinary(8), "+
			"BytesOnDisk bigint",
		"SELECT database_id, file_id, sample_ms, num_of_reads, num_of_bytes_read, io_stall_read_ms, num_of_writes, "+
			"num_of_bytes_written, io_stall_write_ms, io_stall, file_handle, size_on_disk_bytes FROM "+
			"sys.dm_io_virtual_file_stats(@p1, @p2)",
		intT,
		intT,
	)
	// It has what is in the cache of metadata, of which there is none.
	none(
		"dm_db_index_operational_stats",
		"database_id smallint, object_id int, index_id int, partition_number int, hobt_id bigint, leaf_insert_count "+
			"bigint, leaf_delete_count bigint, leaf_update_count bigint, leaf_ghost_count bigint, "+
			"nonleaf_insert_count bigint, nonleaf_delete_count bigint, nonleaf_update_count bigint, leaf_allocation_count "+
			"bigint, nonleaf_allocation_count bigint, leaf_page_merge_count bigint, nonleaf_page_merge_count bigint, "+
			"range_scan_count bigint, singleton_lookup_count bigint, forwarded_fetch_count bigint, lob_fetch_in_pages "+
			"bigint, lob_fetch_in_bytes bigint, lob_orphan_create_count bigint, lob_orphan_insert_count bigint, "+
			"row_overflow_fetch_in_pages bigint, row_overflow_fetch_in_bytes bigint, column_value_push_off_row_count bigint, "+
			"column_value_pull_in_row_count bigint, row_lock_count bigint, row_lock_wait_count bigint, "+
			"row_lock_wait_in_ms bigint, page_lock_count bigint, page_lock_wait_count bigint, page_lock_wait_in_ms bigint, "+
			"index_lock_promotion_attempt_count bigint, index_lock_promotion_count bigint, page_latch_wait_count bigint, "+
			"page_latch_wait_in_ms bigint, page_io_latch_wait_count bigint, page_io_latch_wait_in_ms bigint, "+
			"tree_page_latch_wait_count bigint, tree_page_latch_wait_in_ms bigint, tree_page_io_latch_wait_count bigint, "+
			"tree_page_io_latch_wait_in_ms bigint, page_compression_attempt_count bigint, page_compression_success_count bigint",
		intT,
		intT,
		intT,
		intT,
	)
	none("fn_servershareddrives", "DriveName nchar(1)")
}
