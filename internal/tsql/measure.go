// SPDX-License-Identifier: Apache-2.0

package tsql

// MeasuredReplicas reads the replicas of every group as the instance knows them.
// Source: docs/relational-databases/system-dynamic-management-views/
// sys-dm-hadr-availability-replica-states-transact-sql.md.
func MeasuredReplicas() Statement {
	return text(
		`SELECT g.name, r.replica_server_name, COALESCE(s.role_desc, N''), COALESCE(s.connected_state_desc, N''),
    COALESCE(s.synchronization_health_desc, N'')
FROM sys.dm_hadr_availability_replica_states AS s
JOIN sys.availability_groups AS g ON g.group_id = s.group_id
JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id`,
	).Because("measure the replicas of the groups")
}

// MeasuredCopies reads the copies of every group's databases as the instance knows them: the primary knows all, a
// secondary its own. Queues are KB, rates KB per second, times UTC. Source:
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-database-replica-states-transact-sql.md.
func MeasuredCopies() Statement {
	return text(
		`SELECT g.name, r.replica_server_name, c.database_name, COALESCE(s.synchronization_state_desc, N''), s.is_suspended,
    s.log_send_queue_size, s.log_send_rate, s.redo_queue_size, s.redo_rate, s.secondary_lag_seconds,
    ` + utc("s.last_hardened_time") + ", " + utc("s.last_redone_time") + ", " + utc("s.last_commit_time") + `
FROM sys.dm_hadr_database_replica_states AS s
JOIN sys.availability_groups AS g ON g.group_id = s.group_id
JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id
JOIN sys.availability_databases_cluster AS c ON c.group_database_id = s.group_database_id`,
	).Because("measure the copies of the databases")
}

// MeasuredDatabases reads the state of the databases and what keeps the log of each from being truncated.
// Source: docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md.
func MeasuredDatabases() Statement {
	return text(
		"SELECT name, state_desc, log_reuse_wait_desc FROM sys.databases WHERE database_id > 4",
	).Because("measure the databases")
}

// LogSizes reads size and used size of the logs, in KB, from the performance counters: sys.dm_db_log_space_usage speaks
// of the connection's database alone, which a secondary may not open.
// Sources: docs/relational-databases/system-dynamic-management-views/sys-dm-os-performance-counters-transact-sql.md,
// docs/relational-databases/performance-monitor/sql-server-databases-object.md.
func LogSizes() Statement {
	return text(`SELECT RTRIM(instance_name), RTRIM(counter_name), cntr_value
FROM sys.dm_os_performance_counters
WHERE object_name LIKE N'%:Databases%' AND counter_name IN (N'Log File(s) Size (KB)',
    N'Log File(s) Used Size (KB)')`).Because("measure the logs")
}

// LogGrowth reads of every log file of user databases how far it may still grow: sizes in KB (greatest -1 is as far as
// the volume goes), the increment in KB or percent (0: it does not grow), and the bytes that its volume has free; and
// what keeps the database's log from being truncated. Sources:
// docs/relational-databases/system-catalog-views/sys-master-files-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-os-volume-stats-transact-sql.md.
func LogGrowth() Statement {
	return text(
		`SELECT d.name, d.log_reuse_wait_desc, CAST(f.size AS bigint) * 8, IIF(f.max_size = -1, -1,
		CAST(f.max_size AS bigint) * 8),
    IIF(f.is_percent_growth = 1, CAST(f.growth AS bigint), CAST(f.growth AS bigint) * 8), f.is_percent_growth,
    v.available_bytes
FROM sys.master_files AS f
JOIN sys.databases AS d ON d.database_id = f.database_id
CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v
WHERE f.type = 1 AND d.database_id > 4`,
	).Because("measure the room of the logs")
}

// DatabaseSize reads how many bytes the files of a database have on their volumes; 0 where there is no such database.
// Source: docs/relational-databases/system-catalog-views/sys-master-files-transact-sql.md.
func DatabaseSize(database string) Statement {
	return new(builder).sql("SELECT COALESCE(SUM(CAST(size AS bigint)), 0) * 8192 FROM sys.master_files WHERE "+
		"database_id = DB_ID(@database)").arg("database", database).done("measure database " + database)
}

// ServerDiagnostics lets the instance examine its components once.
// Source: docs/relational-databases/system-stored-procedures/sp-server-diagnostics-transact-sql.md.
func ServerDiagnostics() Statement {
	return exec("sp_server_diagnostics").done("let the engine examine itself")
}
