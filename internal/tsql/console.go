// SPDX-License-Identifier: Apache-2.0

package tsql

// SessionState selects the database in which a session is, how many transactions it has open, and whether the database
// takes writes: READ_WRITE, READ_ONLY, or NULL where the server does not tell. It names no table: it waits for no lock,
// and begins no transaction of a session that has IMPLICIT_TRANSACTIONS ON.
// Sources: docs/t-sql/functions/db-name-transact-sql.md, trancount-transact-sql.md, databasepropertyex-transact-sql.md,
// docs/t-sql/statements/set-implicit-transactions-transact-sql.md.
func SessionState() Statement {
	return text(`SELECT DB_NAME(), @@TRANCOUNT, CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(128))`).
		Because("read where the session is")
}

// LocalRoles selects the groups of which the instance hosts a replica, with that replica's role; it is empty of one
// that has not joined.
// Source: docs/relational-databases/system-dynamic-management-views/
// sys-dm-hadr-availability-replica-states-transact-sql.md, which takes VIEW SERVER STATE.
func LocalRoles() Statement {
	return text(`SELECT g.name, COALESCE(s.role_desc, N'')
FROM sys.availability_groups AS g
LEFT JOIN sys.dm_hadr_availability_replica_states AS s ON s.group_id = g.group_id AND s.is_local = 1`).
		Because("read the roles of the local replicas")
}
