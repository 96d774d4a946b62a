// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"strconv"
	"strings"
)

// Sources of the statements of this file:
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-availability-replica-states-transact-sql.md and
// sys-dm-hadr-database-replica-states-transact-sql.md, sys-dm-hadr-availability-group-states-transact-sql.md. They are
// few and small: an agent asks them every second.

// HolderState reads what the holder of a group's votes must know of the local replica: its role, how long a
// configuration commit has been waiting, whether it is connected, the engine's clock, its availability mode, the server
// that it takes for the primary, which group of the name it is, and its session time-out in seconds. No row when the
// instance has no such group.
func HolderState(group string) Statement {
	return new(builder).
		sql(`SELECT COALESCE(s.role_desc, N''), COALESCE(s.connected_state_desc, N''),
    s.current_configuration_commit_start_time_utc, SYSUTCDATETIME(),
    COALESCE(r.availability_mode_desc, N''), COALESCE(p.primary_replica, N''), g.group_id, r.session_timeout,
    (SELECT ms_ticks FROM sys.dm_os_sys_info)
FROM sys.availability_groups AS g
LEFT JOIN sys.dm_hadr_availability_replica_states AS s ON s.group_id = g.group_id AND s.is_local = 1
LEFT JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id
LEFT JOIN sys.dm_hadr_availability_group_states AS p ON p.group_id = g.group_id
WHERE g.name = @group`).
		arg("group", group).done("read the role in group " + group)
}

// StandingDatabases reads the local databases of a secondary that take no log, without those that a person suspended,
// each with whether it is suspended, and how far it is: whatever of that changes is progress.
func StandingDatabases(group string) Statement {
	return new(builder).
		sql(`SELECT c.database_name, s.is_suspended,
    CONCAT(s.database_state, N' ', s.last_received_lsn, N' ', s.last_hardened_lsn, N' ', s.last_redone_lsn, N' ',
    s.redo_queue_size)
FROM sys.dm_hadr_database_replica_states AS s
JOIN sys.availability_groups AS g ON g.group_id = s.group_id
JOIN sys.availability_databases_cluster AS c ON c.group_database_id = s.group_database_id
WHERE g.name = @group AND s.is_local = 1
    AND (s.is_suspended = 1 AND COALESCE(s.suspend_reason_desc, N'') <> N'SUSPEND_FROM_USER'
    OR s.is_suspended = 0 AND s.synchronization_state_desc = N'NOT SYNCHRONIZING')`).
		arg("group", group).done("read the databases of group " + group + " that take no log")
}

// SeedingsHere reads the databases of a group that are being seeded to this instance, each with how far that is.
// Sources: docs/relational-databases/system-dynamic-management-objects/sys-dm-hadr-automatic-seeding.md and
// sys-dm-hadr-physical-seeding-stats.md.
func SeedingsHere(group string) Statement {
	return new(builder).
		sql(`SELECT c.database_name, CONCAT(a.current_state, N' ', (SELECT SUM(p.transferred_size_bytes)
    FROM sys.dm_hadr_physical_seeding_stats AS p
    WHERE p.local_database_name = c.database_name AND p.end_time_utc IS NULL))
FROM sys.dm_hadr_automatic_seeding AS a
JOIN sys.availability_groups AS g ON g.group_id = a.ag_id
LEFT JOIN sys.availability_databases_cluster AS c ON c.group_database_id = a.ag_db_id
WHERE g.name = @group AND a.is_source = 0 AND a.completion_time IS NULL
    AND a.current_state <> N'COMPLETED' AND a.current_state <> N'FAILED'`).
		arg("group", group).done("read what is being seeded here for group " + group)
}

// sessionsAstray are the users' sessions in a database of the group while the local replica is a secondary.
// Source: docs/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql.md.
func sessionsAstray(group string) string {
	return strings.Join([]string{"FROM sys.dm_exec_sessions AS s JOIN sys.databases AS d ON d.database_id = s.database_id",
		"JOIN sys.availability_databases_cluster AS c ON c.group_database_id = d.group_database_id",
		"JOIN sys.availability_groups AS g ON g.group_id = c.group_id",
		"JOIN sys.dm_hadr_availability_replica_states AS r ON r.group_id = g.group_id AND r.is_local = 1",
		"WHERE g.name = " + String(group) + " AND r.role_desc = N'SECONDARY' AND s.is_user_process = 1",
		"AND s.session_id <> @@SPID AND COALESCE(s.program_name, N'') NOT LIKE N'geosql-%'"}, " ")
}

// sessionsSince are those that SessionsSince reads, refusedWriters those that RefusedWriters does.
func sessionsSince(group string, seconds int) string {
	return sessionsAstray(group) + " AND s.login_time" + withinLast(seconds)
}

func refusedWriters(group string, seconds int) string {
	return sessionsAstray(group) + " AND s.prev_error = 3906 AND s.status = N'sleeping' AND s.last_request_end_time" +
		withinLast(seconds)
}

// withinLast compares a time of sys.dm_exec_sessions, which is the engine's local one.
func withinLast(seconds int) string {
	return " >= DATEADD(second, " + strconv.Itoa(-seconds) + ", GETDATE())"
}

// sessionNumbers reads the numbers of at most so many of the given sessions.
func sessionNumbers(which string, most int) *builder {
	return new(builder).sql("SELECT TOP (", strconv.Itoa(most), ") CAST(s.session_id AS int)\n", which)
}

// SessionsSince reads the numbers of the users' sessions that are in a database of the group, of which the local
// replica is a secondary, and began within the last seconds, at most so many; without those of this operator's own
// programs, which connect to the server that they mean.
func SessionsSince(group string, seconds, most int) Statement {
	return sessionNumbers(sessionsSince(group, seconds), most).
		done("read the new sessions in databases of group " + group)
}

// EndSessionSince ends a session while it is one of those that SessionsSince reads: since its number was read the role
// may have come back, and the number may be somebody else's.
// Source: docs/t-sql/language-elements/kill-transact-sql.md.
func EndSessionSince(group string, seconds, id int) Statement {
	return endSession(sessionsSince(group, seconds), id).
		done("end session " + strconv.Itoa(id) + " in a database of group " + group)
}

// RefusedWriters reads the numbers of the sessions, as SessionsSince does, whose last error is that they cannot write
// in a database that is read-only (3906), and whose latest request ended within the last seconds. The error stays that
// of the session until its next one, whatever it asks for in between: one in which a request runs, or that has asked
// for nothing for longer, is not read. Source: docs/relational-databases/errors-events/, and for prev_error, status and
// last_request_end_time
// docs/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql.md.
func RefusedWriters(group string, seconds, most int) Statement {
	return sessionNumbers(refusedWriters(group, seconds), most).
		done("read the sessions that cannot write in databases of group " + group)
}

// EndRefusedWriter ends a session while it is one of those that RefusedWriters reads, as EndSessionSince does.
func EndRefusedWriter(group string, seconds, id int) Statement {
	return endSession(refusedWriters(group, seconds), id).
		done("end session " + strconv.Itoa(id) + ", which cannot write in group " + group)
}

// endSession ends a session while it is one of the given ones.
func endSession(which string, id int) *builder {
	number := strconv.Itoa(id)
	return new(builder).sql("IF EXISTS (SELECT 1 ", which, " AND s.session_id = ", number, ")\n    KILL ", number)
}
