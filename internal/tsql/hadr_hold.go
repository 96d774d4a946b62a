// SPDX-License-Identifier: Apache-2.0

package tsql

// Sources of the statements of this file:
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-availability-replica-states-transact-sql.md and
// sys-dm-hadr-database-replica-states-transact-sql.md, sys-dm-hadr-availability-group-states-transact-sql.md. They are few and small: an agent asks them every second.

// HolderState reads what the holder of a group's votes must know of the local replica: its role, how long a configuration
// commit has been waiting, whether it is connected, the engine's clock, its availability mode and the server that it
// takes for the primary. No row when the instance has no such group.
func HolderState(group string) Statement {
	return new(builder).
		sql(`SELECT COALESCE(s.role_desc, N''), COALESCE(s.connected_state_desc, N''), s.current_configuration_commit_start_time_utc, SYSUTCDATETIME(),
    COALESCE(r.availability_mode_desc, N''), COALESCE(p.primary_replica, N'')
FROM sys.availability_groups AS g
LEFT JOIN sys.dm_hadr_availability_replica_states AS s ON s.group_id = g.group_id AND s.is_local = 1
LEFT JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id
LEFT JOIN sys.dm_hadr_availability_group_states AS p ON p.group_id = g.group_id
WHERE g.name = @group`).arg("group", group).done("read the role in group " + group)
}

// StandingDatabases reads the local databases of a secondary that take no log, without those that a person suspended,
// each with whether it is suspended.
func StandingDatabases(group string) Statement {
	return new(builder).
		sql(`SELECT c.database_name, s.is_suspended
FROM sys.dm_hadr_database_replica_states AS s
JOIN sys.availability_groups AS g ON g.group_id = s.group_id
JOIN sys.availability_databases_cluster AS c ON c.group_database_id = s.group_database_id
WHERE g.name = @group AND s.is_local = 1
    AND (s.is_suspended = 1 AND COALESCE(s.suspend_reason_desc, N'') <> N'SUSPEND_FROM_USER'
    OR s.is_suspended = 0 AND s.synchronization_state_desc = N'NOT SYNCHRONIZING')`).
		arg("group", group).done("read the databases of group " + group + " that take no log")
}
