// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"math"
	"strconv"
	"time"
)

// Late is the number that a batch throws that the engine ran after its deadline: nothing of it was begun.
const Late = 50001

// RenewWriteLease renews the lease of the local primary, unless the engine runs the batch after the deadline: a
// renewal that was queued in a frozen engine must not revive a dead lease. The deadline is on the engine's clocks.
// WRITE_LEASE_VALIDITY: docs/t-sql/statements/create-availability-group-transact-sql.md; its renewal by ALTER is how
// Microsoft's agent does it (mssql-server-ha).
func RenewWriteLease(group string, validity time.Duration, deadline Deadline) Statement {
	return new(builder).guard().
		sql("    ALTER AVAILABILITY GROUP ").name(group).sql(" SET (WRITE_LEASE_VALIDITY = ", seconds(validity), ")\n").
		sql("ELSE\n    THROW ", strconv.Itoa(Late), ", N'The deadline of this renewal has passed.', 1;").
		until(deadline).
		done("renew the write lease of " + group)
}

// LeaseLeft reads what is left of the write lease, in ticks (TicksOf); NULL when the group has none. Source:
// docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-availability-replica-states-transact-sql.md.
func LeaseLeft(group string) Statement {
	return new(builder).
		sql(`SELECT s.write_lease_remaining_ticks
FROM sys.dm_hadr_availability_replica_states AS s
JOIN sys.availability_groups AS g ON g.group_id = s.group_id
WHERE g.name = @group AND s.is_local = 1`).
		arg("group", group).done("read what is left of the write lease of " + group)
}

// TicksOf is a number of ticks of 100 ns, without overflow: a group without lease has the greatest bigint.
func TicksOf(ticks int64) time.Duration {
	const tick = 100 * time.Nanosecond
	if ticks > int64(math.MaxInt64/tick) {
		return math.MaxInt64
	}
	return time.Duration(ticks) * tick
}

// Deadline is until when an engine may begin a batch, by two of its clocks: the time of day alone can be set back while
// the batch is queued, and a lease that is dead would be revived.
type Deadline struct {
	// Time of day.
	Time time.Time
	// Ticks are the milliseconds since the machine was started (sys.dm_os_sys_info.ms_ticks), which nobody sets; 0 when
	// they are not known.
	Ticks int64
}

// guard begins a batch that must not run late. Source:
// docs/relational-databases/system-dynamic-management-views/sys-dm-os-sys-info-transact-sql.md (ms_ticks).
func (b *builder) guard() *builder {
	return b.sql("IF SYSUTCDATETIME() < @deadline " +
		"AND (@ticks = 0 OR @ticks > (SELECT ms_ticks FROM sys.dm_os_sys_info))\n")
}

func (b *builder) until(deadline Deadline) *builder {
	return b.arg("deadline", deadline.Time.UTC()).arg("ticks", deadline.Ticks)
}

// SetExternalCluster marks the session as the cluster manager's: FAILOVER of a group with CLUSTER_TYPE EXTERNAL is
// refused without it (error 47104). A reset of the connection forgets it, so it and FAILOVER use one connection.
// Source: docs/relational-databases/system-stored-procedures/sp-set-session-context-transact-sql.md, mssql-server-ha.
func SetExternalCluster() Statement {
	return exec("sys.sp_set_session_context").str("key", "external_cluster").str("value", "yes").
		done("act as the cluster manager")
}

// Failover makes the local replica primary without losing an acknowledged write, unless the engine runs the batch
// after the deadline; the engine refuses with 41142 when it would lose any. The role changes after the statement ends.
// Source: docs/t-sql/statements/alter-availability-group-transact-sql.md (FAILOVER).
func Failover(group string, deadline Deadline) Statement {
	return new(builder).guard().
		sql("    ALTER AVAILABILITY GROUP ").name(group).sql(" FAILOVER\n").
		sql("ELSE\n    THROW ", strconv.Itoa(Late), ", N'The deadline of this failover has passed.', 1;").
		until(deadline).
		done("make this replica the primary of " + group)
}

// ForceFailover makes the local replica primary with what it has, unless the engine runs the batch after the deadline:
// acknowledged writes that it lacks are lost, and data movement to the other replicas is suspended. Only for a person
// who allowed it. Source: docs/t-sql/statements/alter-availability-group-transact-sql.md
// (FORCE_FAILOVER_ALLOW_DATA_LOSS).
func ForceFailover(group string, deadline Deadline) Statement {
	return new(builder).guard().
		sql("    ALTER AVAILABILITY GROUP ").name(group).sql(" FORCE_FAILOVER_ALLOW_DATA_LOSS\n").
		sql("ELSE\n    THROW ", strconv.Itoa(Late), ", N'The deadline of this failover has passed.', 1;").
		until(deadline).
		done("force this replica to be the primary of " + group + ", data loss allowed")
}

// TakeOffline takes the local replica OFFLINE: its role becomes RESOLVING.
// Source: docs/t-sql/statements/alter-availability-group-transact-sql.md (OFFLINE), mssql-server-ha (demote, stop).
func TakeOffline(group string) Statement {
	return alterGroup(group).sql(" OFFLINE").done("take " + group + " offline here")
}

// SetRoleSecondary makes a RESOLVING replica a secondary of the group's primary, unless the engine runs the batch after
// the deadline: it must not undo an OFFLINE that came later. Source:
// docs/t-sql/statements/alter-availability-group-transact-sql.md (SET (ROLE = SECONDARY)).
func SetRoleSecondary(group string, deadline Deadline) Statement {
	return new(builder).guard().
		sql("    ALTER AVAILABILITY GROUP ").name(group).sql(" SET (ROLE = SECONDARY)\n").
		sql("ELSE\n    THROW ", strconv.Itoa(Late), ", N'The deadline of this change of role has passed.', 1;").
		until(deadline).
		done("follow the primary of " + group)
}
