// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// textView registers a system view whose rows are those of a query over other views of the same database.
func (r *Registry) textView(schema, name, list, text string) {
	v := View{Schema: schema, Name: name, Columns: columns(list)}
	v.Rows = func(ctx context.Context, s *Session) ([][]any, error) {
		return s.rowsOf(ctx, s.viewDatabase(), text, nil)
	}
	r.View(v)
}

// installTextViews registers the views that are other views in another form: INFORMATION_SCHEMA
// (docs/relational-databases/system-information-schema-views) and the compatibility views
// (docs/relational-databases/system-compatibility-views).
func installTextViews(r *Registry) {
	const name = "nvarchar(128)"
	r.textView("INFORMATION_SCHEMA", "CHECK_CONSTRAINTS", "CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname, CHECK_CLAUSE nvarchar(4000)",
		"SELECT DB_NAME(), SCHEMA_NAME(schema_id), name, CAST(definition AS nvarchar(4000)) FROM sys.check_constraints")
	constraints := `(SELECT k.object_id, k.name, k.schema_id, k.parent_object_id, ic.column_id FROM sys.key_constraints k JOIN sys.index_columns ic ON ic.object_id = k.parent_object_id AND ic.index_id = k.unique_index_id
		UNION ALL SELECT f.object_id, f.name, f.schema_id, f.parent_object_id, c.parent_column_id FROM sys.foreign_keys f JOIN sys.foreign_key_columns c ON c.constraint_object_id = f.object_id
		UNION ALL SELECT k.object_id, k.name, k.schema_id, k.parent_object_id, c.column_id FROM sys.check_constraints k JOIN sys.columns c ON c.object_id = k.parent_object_id
			AND (c.column_id = k.parent_column_id OR k.parent_column_id = 0 AND k.definition LIKE '%[^a-z0-9_@#$]' + REPLACE(REPLACE(c.name, '[', '[[]'), '_', '[_]') + '[^a-z0-9_@#$]%'))`
	r.textView("INFORMATION_SCHEMA", "CONSTRAINT_COLUMN_USAGE", "TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, COLUMN_NAME sysname, CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname",
		"SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, COL_NAME(x.parent_object_id, x.column_id), DB_NAME(), SCHEMA_NAME(x.schema_id), x.name FROM "+constraints+" x JOIN sys.objects t ON t.object_id = x.parent_object_id WHERE x.column_id > 0")
	r.textView("INFORMATION_SCHEMA", "CONSTRAINT_TABLE_USAGE", "TABLE_CATALOG "+name+", TABLE_SCHEMA "+name+", TABLE_NAME sysname, CONSTRAINT_CATALOG "+name+", CONSTRAINT_SCHEMA "+name+", CONSTRAINT_NAME sysname",
		"SELECT DISTINCT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, DB_NAME(), SCHEMA_NAME(x.schema_id), x.name FROM "+constraints+" x JOIN sys.objects t ON t.object_id = x.parent_object_id")
	r.textView("INFORMATION_SCHEMA", "PARAMETERS", "SPECIFIC_CATALOG "+name+", SPECIFIC_SCHEMA "+name+", SPECIFIC_NAME sysname, ORDINAL_POSITION int, PARAMETER_MODE nvarchar(10), IS_RESULT nvarchar(10), AS_LOCATOR nvarchar(10), "+
		"PARAMETER_NAME "+name+", DATA_TYPE "+name+", CHARACTER_MAXIMUM_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_SCALE int",
		`SELECT DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, p.parameter_id, IIF(p.is_output = 1, 'INOUT', 'IN'), 'NO', 'NO', p.name, TYPE_NAME(p.user_type_id),
			CASE WHEN TYPE_NAME(p.user_type_id) IN ('nvarchar', 'nchar') AND p.max_length > 0 THEN p.max_length / 2 WHEN TYPE_NAME(p.user_type_id) LIKE '%char' OR TYPE_NAME(p.user_type_id) LIKE '%binary' THEN p.max_length END,
			NULLIF(p.precision, 0), IIF(p.precision = 0, NULL, CAST(p.scale AS int)) FROM sys.parameters p JOIN sys.objects o ON o.object_id = p.object_id`)
	r.textView("INFORMATION_SCHEMA", "SEQUENCES", "SEQUENCE_CATALOG "+name+", SEQUENCE_SCHEMA "+name+", SEQUENCE_NAME sysname, DATA_TYPE nvarchar(128), NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE int, "+
		"START_VALUE bigint, MINIMUM_VALUE bigint, MAXIMUM_VALUE bigint, INCREMENT bigint, CYCLE_OPTION bit",
		`SELECT DB_NAME(), SCHEMA_NAME(schema_id), name, TYPE_NAME(user_type_id), precision, CAST(10 AS smallint), CAST(scale AS int), CAST(start_value AS bigint), CAST(minimum_value AS bigint), CAST(maximum_value AS bigint),
			CAST(increment AS bigint), is_cycling FROM sys.sequences`)
	r.textView("sys", "all_views", objectColumns, "SELECT * FROM sys.all_objects WHERE type = 'V'")
	r.textView("sys", "system_views", objectColumns, "SELECT * FROM sys.all_objects WHERE type = 'V' AND is_ms_shipped = 1")
	r.textView("sys", "syscolumns", "name sysname, id int, xtype tinyint, xusertype smallint, length smallint, colid smallint, prec smallint, scale int, iscomputed int, isnullable int, collation sysname",
		"SELECT name, object_id, system_type_id, CAST(user_type_id AS smallint), max_length, CAST(column_id AS smallint), CAST(precision AS smallint), CAST(scale AS int), CAST(is_computed AS int), CAST(is_nullable AS int), collation_name FROM sys.columns")
	r.textView("sys", "systypes", "name sysname, xtype tinyint, status tinyint, xusertype smallint, length smallint, xprec tinyint, xscale tinyint, uid smallint, collation sysname",
		"SELECT name, system_type_id, CAST(0 AS tinyint), CAST(user_type_id AS smallint), max_length, precision, scale, CAST(schema_id AS smallint), collation_name FROM sys.types")
	r.textView("sys", "sysusers", "uid smallint, name sysname, sid varbinary(85), createdate datetime, updatedate datetime, islogin int, issqluser int, issqlrole int",
		"SELECT CAST(principal_id AS smallint), name, sid, create_date, modify_date, IIF(type = 'R', 0, 1), IIF(type = 'S', 1, 0), IIF(type = 'R', 1, 0) FROM sys.database_principals WHERE principal_id < 32768")
	r.textView("sys", "syslogins", "sid varbinary(85), createdate datetime, updatedate datetime, name sysname, dbname sysname, language sysname, denylogin int, hasaccess int, isntname int, sysadmin int, loginname sysname",
		"SELECT sid, create_date, modify_date, name, default_database_name, default_language_name, CAST(is_disabled AS int), 1, 0, IS_SRVROLEMEMBER('sysadmin', name), name FROM sys.server_principals WHERE type <> 'R'")
	r.textView("sys", "syscomments", "id int, number smallint, colid smallint, status smallint, ctext varbinary(8000), texttype smallint, language smallint, encrypted bit, compressed bit, text nvarchar(4000)",
		"SELECT object_id, CAST(1 AS smallint), CAST(1 AS smallint), CAST(0 AS smallint), CAST(NULL AS varbinary(8000)), CAST(2 AS smallint), CAST(0 AS smallint), CAST(IIF(definition IS NULL, 1, 0) AS bit), CAST(0 AS bit), CAST(definition AS nvarchar(4000)) FROM sys.sql_modules")
	r.textView("sys", "sysfiles", "fileid smallint, groupid smallint, size int, maxsize int, growth int, status int, perf int, name sysname, filename nvarchar(260)",
		"SELECT CAST(file_id AS smallint), CAST(IIF(type = 0, 1, 0) AS smallint), size, max_size, growth, 0, 0, name, physical_name FROM sys.database_files")
	installHostViews(r)
	installAbsentViews(r)
	installUnkeptViews(r)
	installActivityViews(r)
	installReferences(r)
}

// installHostViews registers what the operating system tells: processors and memory
// (docs/relational-databases/system-dynamic-management-views).
func installHostViews(r *Registry) {
	r.recordView("", "sys", "dm_os_schedulers", "scheduler_address varbinary(8), parent_node_id int, scheduler_id int, cpu_id smallint, status nvarchar(60), is_online bit, is_idle bit, preemptive_switches_count int, "+
		"context_switches_count int, current_tasks_count int, runnable_tasks_count int, current_workers_count int, active_workers_count int, work_queue_count bigint, pending_disk_io_count int, load_factor int",
		func(ctx context.Context, s *Session) ([]record, error) {
			var out []record
			for i := range runtime.NumCPU() {
				out = append(out, record{"parent_node_id": 0, "scheduler_id": i, "cpu_id": i, "status": "VISIBLE ONLINE", "is_online": true, "is_idle": i > 0})
			}
			return out, nil
		})
	r.recordView("", "sys", "dm_os_sys_memory", "total_physical_memory_kb bigint, available_physical_memory_kb bigint, total_page_file_kb bigint, available_page_file_kb bigint, system_cache_kb bigint, "+
		"kernel_paged_pool_kb bigint, kernel_nonpaged_pool_kb bigint, system_high_memory_signal_state bit, system_low_memory_signal_state bit, system_memory_state_desc nvarchar(256)",
		func(ctx context.Context, s *Session) ([]record, error) {
			m := kilobytes("/proc/meminfo")
			return []record{{"total_physical_memory_kb": m["MemTotal"], "available_physical_memory_kb": m["MemAvailable"], "total_page_file_kb": m["MemTotal"] + m["SwapTotal"],
				"available_page_file_kb": m["MemAvailable"] + m["SwapFree"], "system_cache_kb": m["Cached"], "system_high_memory_signal_state": true, "system_low_memory_signal_state": false,
				"system_memory_state_desc": "Available physical memory is high"}}, nil
		})
	r.recordView("", "sys", "dm_os_process_memory", "physical_memory_in_use_kb bigint, large_page_allocations_kb bigint, locked_page_allocations_kb bigint, total_virtual_address_space_kb bigint, "+
		"virtual_address_space_reserved_kb bigint, virtual_address_space_committed_kb bigint, virtual_address_space_available_kb bigint, page_fault_count bigint, memory_utilization_percentage int, "+
		"available_commit_limit_kb bigint, process_physical_memory_low bit, process_virtual_memory_low bit", func(ctx context.Context, s *Session) ([]record, error) {
		m := kilobytes("/proc/self/status")
		return []record{{"physical_memory_in_use_kb": m["VmRSS"], "large_page_allocations_kb": int64(0), "locked_page_allocations_kb": m["VmLck"], "virtual_address_space_committed_kb": m["VmData"],
			"virtual_address_space_reserved_kb": m["VmSize"], "memory_utilization_percentage": 100, "process_physical_memory_low": false, "process_virtual_memory_low": false}}, nil
	})
	r.recordView("", "sys", "dm_tran_active_transactions", "transaction_id bigint, name nvarchar(32), transaction_begin_time datetime, transaction_type int, transaction_uow uniqueidentifier, transaction_state int, "+
		"transaction_status int, transaction_status2 int, dtc_state int, dtc_status int, dtc_isolation_level int, filestream_transaction_id varbinary(128)", func(ctx context.Context, s *Session) ([]record, error) {
		if s.count == 0 {
			return nil, nil
		}
		title := s.name
		if title == "" {
			title = "user_transaction"
		}
		return []record{{"transaction_id": int64(s.descriptor), "name": title, "transaction_begin_time": s.began, "transaction_type": 1, "transaction_state": 2, "transaction_status": 0,
			"transaction_status2": 0, "dtc_state": 0, "dtc_status": 0, "dtc_isolation_level": 0}}, nil
	})
}

// kilobytes reads a file of lines "Name: 123 kB".
func kilobytes(path string) map[string]int64 {
	out := map[string]int64{}
	data, err := os.ReadFile(path)
	if err != nil {
		return out // another system; the columns are 0
	}
	for _, line := range strings.Split(string(data), "\n") {
		name, rest, _ := strings.Cut(line, ":")
		if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
			out[name] = n
		}
	}
	return out
}
