// SPDX-License-Identifier: Apache-2.0

package tsql

// Sources of the statements of this file: docs/relational-databases/system-catalog-views/sys-availability-*.md,
// sys-database-mirroring-endpoints-transact-sql.md, sys-certificates-transact-sql.md, and
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-*.md.

// EndpointState reads the database mirroring endpoint with its port and certificate.
func EndpointState() Statement {
	return text(`SELECT e.name, e.state_desc, e.role_desc, t.port, c.name
FROM sys.database_mirroring_endpoints AS e
JOIN sys.tcp_endpoints AS t ON t.endpoint_id = e.endpoint_id
LEFT JOIN sys.certificates AS c ON c.certificate_id = e.certificate_id`)
}

// Certificates reads the certificates of master with their owners' logins and public parts, their thumbprints, and how
// their private keys are encrypted: MK by the master key, PW by a password, NA for none.
func Certificates() Statement {
	return text(`SELECT c.name, c.expiry_date, CERTENCODED(c.certificate_id), COALESCE(SUSER_SNAME(u.sid), N''),
    c.thumbprint, c.pvt_key_encryption_type
FROM sys.certificates AS c LEFT JOIN sys.database_principals AS u ON u.principal_id = c.principal_id
WHERE c.name NOT LIKE N'##%'`)
}

// UsersOfLogins reads the users of the connection's database that have a login, by the login's name.
// Source: docs/relational-databases/system-catalog-views/sys-database-principals-transact-sql.md.
func UsersOfLogins() Statement {
	return text(`SELECT u.name, l.name
FROM sys.database_principals AS u JOIN sys.server_principals AS l ON l.sid = u.sid`)
}

// EndpointConnectors reads the logins that may connect to the endpoint.
func EndpointConnectors() Statement {
	return text(`SELECT l.name
FROM sys.server_permissions AS g
JOIN sys.server_principals AS l ON l.principal_id = g.grantee_principal_id
JOIN sys.database_mirroring_endpoints AS e ON e.endpoint_id = g.major_id
WHERE g.class = 105 AND g.permission_name = N'CONNECT' AND g.state IN ('G', 'W')`)
}

// KnownReplicas reads on which servers the groups of the instance have replicas, with whether the group spans groups.
func KnownReplicas() Statement {
	return text(`SELECT r.replica_server_name, CAST(COALESCE(g.is_distributed, 0) AS bit)
FROM sys.availability_replicas AS r
JOIN sys.availability_groups AS g ON g.group_id = r.group_id`)
}

// MasterKeyExists selects one row when master has its master key.
func MasterKeyExists() Statement {
	return text("SELECT 1 FROM sys.symmetric_keys WHERE name = N'##MS_DatabaseMasterKey##'")
}

// DatabaseStates reads the user databases with what a group asks of them. last_log_backup_lsn is not NULL once a full
// backup began the log chain
// (docs/relational-databases/system-catalog-views/sys-database-recovery-status-transact-sql.md). After that come the
// properties that are declared, and how many sessions of other programs are in the database: a collation is NULL while
// the database is not online.
func DatabaseStates() Statement {
	return text(
		`SELECT d.name, d.state_desc, d.recovery_model_desc, d.group_database_id,
    CASE WHEN r.last_log_backup_lsn IS NULL THEN 0 ELSE 1 END,
    COALESCE(SUSER_SNAME(d.owner_sid), N''),
    COALESCE(d.collation_name, N''), CAST(d.compatibility_level AS int), d.is_read_committed_snapshot_on,
    (SELECT COUNT(*) FROM sys.dm_exec_sessions AS s
        WHERE s.database_id = d.database_id AND s.is_user_process = 1 AND COALESCE(s.program_name, N'') <> APP_NAME())
FROM sys.databases AS d LEFT JOIN sys.database_recovery_status AS r ON r.database_id = d.database_id
WHERE d.database_id > 4`,
	)
}

// GroupState reads one group as the instance knows it, with its local replica's role.
func GroupState(group string) Statement {
	return new(builder).
		sql(`SELECT g.group_id, g.cluster_type_desc, g.required_synchronized_secondaries_to_commit, g.sequence_number,
    COALESCE(s.role_desc, N''), s.current_configuration_commit_start_time_utc, SYSUTCDATETIME()
FROM sys.availability_groups AS g
LEFT JOIN sys.dm_hadr_availability_replica_states AS s ON s.group_id = g.group_id AND s.is_local = 1
WHERE g.name = @group`).arg("group", group).done("read the state of group " + group)
}

// GroupReplicas reads the replicas of one group as the instance knows them.
func GroupReplicas(group string) Statement {
	return new(builder).
		sql(`SELECT r.replica_server_name, r.endpoint_url, r.availability_mode_desc, r.seeding_mode_desc, r.session_timeout,
    r.secondary_role_allow_connections_desc, COALESCE(s.is_local, CAST(0 AS bit)), s.role_desc, s.connected_state_desc,
    s.synchronization_health_desc
FROM sys.availability_replicas AS r
JOIN sys.availability_groups AS g ON g.group_id = r.group_id
LEFT JOIN sys.dm_hadr_availability_replica_states AS s ON s.replica_id = r.replica_id
WHERE g.name = @group`).arg("group", group).done("read the replicas of group " + group)
}

// GroupDatabases reads the names of a group's databases.
func GroupDatabases(group string) Statement {
	return new(builder).
		sql(`SELECT d.database_name FROM sys.availability_databases_cluster AS d
JOIN sys.availability_groups AS g ON g.group_id = d.group_id WHERE g.name = @group`).
		arg("group", group).done("read the databases of group " + group)
}

// GroupListeners reads the listeners of a group with their addresses.
func GroupListeners(group string) Statement {
	return new(builder).
		sql(`SELECT l.dns_name, l.port, i.ip_address, i.ip_subnet_mask
FROM sys.availability_group_listeners AS l
JOIN sys.availability_groups AS g ON g.group_id = l.group_id
LEFT JOIN sys.availability_group_listener_ip_addresses AS i ON i.listener_id = l.listener_id
WHERE g.name = @group`).arg("group", group).done("read the listener of group " + group)
}

// GroupDatabaseStates reads the state of the group's databases on every replica that the instance knows about: a
// secondary knows its own rows only, and the primary's rows about a disconnected secondary are stale. last_hardened_lsn
// may be unknown by the role that the replica is in. Nothing stands for it: another measure of the same log would be
// compared with it, and a copy that is ahead of a fork be taken for one that is not. Times are UTC.
func GroupDatabaseStates(group string) Statement {
	return new(builder).
		sql(`SELECT r.replica_server_name, c.database_name, s.is_local, s.synchronization_state_desc, s.is_suspended,
    COALESCE(s.suspend_reason_desc, N''),
    s.log_send_queue_size, s.redo_queue_size, s.redo_rate,
    s.last_hardened_lsn, s.last_redone_lsn, `+utc("s.last_commit_time")+`,
    COALESCE(f.is_failover_ready, CAST(0 AS bit))
FROM sys.dm_hadr_database_replica_states AS s
JOIN sys.availability_groups AS g ON g.group_id = s.group_id
JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id
JOIN sys.availability_databases_cluster AS c ON c.group_database_id = s.group_database_id
LEFT JOIN sys.dm_hadr_database_replica_cluster_states AS f ON f.replica_id = s.replica_id
    AND f.group_database_id = s.group_database_id
WHERE g.name = @group`).
		arg("group", group).done("read the database states of group " + group)
}

// Seedings reads the newest automatic seeding of each replica and database of a group, unless it is complete.
func Seedings(group string) Statement {
	return new(builder).
		sql(`SELECT r.replica_server_name, c.database_name, a.current_state, a.failure_state_desc
FROM sys.dm_hadr_automatic_seeding AS a
JOIN sys.availability_groups AS g ON g.group_id = a.ag_id
JOIN sys.availability_replicas AS r ON r.replica_id = a.ag_remote_replica_id
JOIN sys.availability_databases_cluster AS c ON c.group_database_id = a.ag_db_id
WHERE g.name = @group AND a.current_state <> N'COMPLETED' AND a.start_time = (
    SELECT MAX(n.start_time) FROM sys.dm_hadr_automatic_seeding AS n
    WHERE n.ag_db_id = a.ag_db_id AND n.ag_remote_replica_id = a.ag_remote_replica_id)`).
		arg("group", group).done("read the seedings of group " + group)
}

// ReplicaIDs reads the IDs of a group's replicas as the instance knows them: one that was removed and added again has
// another one, and its own engine may still go by the former.
func ReplicaIDs(group string) Statement {
	return new(builder).
		sql(`SELECT r.replica_server_name, r.replica_id
FROM sys.availability_replicas AS r JOIN sys.availability_groups AS g ON g.group_id = r.group_id
WHERE g.name = @group AND r.replica_server_name IS NOT NULL`).
		arg("group", group).done("read the replica IDs of group " + group)
}

// UnjoinedCopies reads which copies of a group's databases have not joined it, as the instance knows: the primary knows
// of all replicas.
func UnjoinedCopies(group string) Statement {
	return new(builder).
		sql(`SELECT r.replica_server_name, f.database_name
FROM sys.dm_hadr_database_replica_cluster_states AS f
JOIN sys.availability_replicas AS r ON r.replica_id = f.replica_id
JOIN sys.availability_groups AS g ON g.group_id = r.group_id
WHERE g.name = @group AND f.is_database_joined = 0`).
		arg("group", group).done("read the copies of group " + group + " that have not joined")
}
