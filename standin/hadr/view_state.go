// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

func now() time.Time { return time.Now().UTC() }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

var healthNames = [...]string{"NOT_HEALTHY", "PARTIALLY_HEALTHY", "HEALTHY"}

// groupStateRows is sys.dm_hadr_availability_group_states.
func groupStateRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		st := g.States()
		r := row{"group_id": g.ID(), "primary_replica": primaryName(st)}
		health := uint8(2)
		for _, x := range st.Replicas {
			health = min(health, x.Health)
		}
		if st.Role == replica.Resolving {
			health = 0
		}
		r["synchronization_health"], r["synchronization_health_desc"] = int64(health), healthNames[health]
		switch st.Role {
		case replica.Primary:
			r["primary_recovery_health"], r["primary_recovery_health_desc"] = int64(1), "ONLINE"
		case replica.Secondary:
			r["secondary_recovery_health"], r["secondary_recovery_health_desc"] = int64(1), "ONLINE"
		}
		out = append(out, r)
	}
	return out
}

// replicaStateRows is sys.dm_hadr_availability_replica_states: on the primary all replicas, elsewhere the local one.
func (e *Extension) replicaStateRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		st := g.States()
		for _, x := range st.Replicas {
			out = append(out, e.replicaStateRow(g, st, x))
		}
	}
	return out
}

// ticksPerSecond is the unit of write_lease_remaining_ticks, taken to be .NET's 100 ns.
const ticksPerSecond = 10_000_000

func (e *Extension) replicaStateRow(g *replica.Group, st *replica.States, x replica.ReplicaState) row {
	connected, connectedName := int64(0), "DISCONNECTED"
	if x.Connected {
		connected, connectedName = 1, "CONNECTED"
	}
	r := row{
		"replica_id":                  x.ID,
		"group_id":                    g.ID(),
		"is_local":                    x.Local,
		"role":                        int64(x.Role),
		"role_desc":                   x.Role.String(),
		"synchronization_health":      int64(x.Health),
		"synchronization_health_desc": healthNames[x.Health],
		"connected_state":             connected,
		"connected_state_desc":        connectedName,
		"is_internal":                 false,
	}
	if x.ErrorNumber != 0 {
		r["last_connect_error_number"], r["last_connect_error_description"] = int64(x.ErrorNumber), cut(x.ErrorText, 1024)
		r["last_connect_error_timestamp"] = timeOrNull(x.ErrorTime)
	}
	if !x.Local {
		return r
	}
	// sys.dm_hadr_availability_replica_states, "Roles and Operational States".
	switch {
	case x.Role != replica.Resolving:
		r["operational_state"], r["operational_state_desc"] = int64(2), "ONLINE"
	case st.Promoting:
		r["operational_state"], r["operational_state_desc"] = int64(0), "PENDING_FAILOVER"
	default:
		r["operational_state"], r["operational_state_desc"] = int64(3), "OFFLINE"
	}
	r["recovery_health"], r["recovery_health_desc"] = int64(1), "ONLINE"
	for i := range st.Databases {
		if d := &st.Databases[i]; d.Local && d.Joined && e.localState(st, d) != engine.Online {
			r["recovery_health"], r["recovery_health_desc"] = int64(0), "ONLINE_IN_PROGRESS"
		}
	}
	if st.Configuration.Options.WriteLease {
		r["write_lease_remaining_ticks"] = int64(st.LeaseLeft.Seconds() * ticksPerSecond)
	}
	r["current_configuration_commit_start_time_utc"] = timeOrNull(st.CommitPendingSince)
	return r
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

func replicaClusterRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		for i := range c.Replicas {
			r := &c.Replicas[i]
			state, name := int64(0), "NOT_JOINED"
			if r.Joined {
				state, name = 1, "JOINED_STANDALONE"
			}
			out = append(
				out,
				row{
					"replica_id":          r.ID,
					"replica_server_name": r.Server,
					"group_id":            c.ID,
					"join_state":          state,
					"join_state_desc":     name,
				},
			)
		}
	}
	return out
}

func replicaNodeRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		for _, r := range g.Configuration().Replicas {
			out = append(out, row{"group_name": g.Name(), "replica_server_name": r.Server, "node_name": r.Server})
		}
	}
	return out
}

var suspendReasons = map[uint8]string{
	0: "SUSPEND_FROM_USER",
	1: "SUSPEND_FROM_PARTNER",
	2: "SUSPEND_FROM_REDO",
	3: "SUSPEND_FROM_CAPTURE",
	4: "SUSPEND_FROM_APPLY",
	5: "SUSPEND_FROM_RESTART",
	6: "SUSPEND_FROM_UNDO",
	7: "SUSPEND_FROM_REVALIDATION",
	8: "SUSPEND_FROM_XRF_UPDATE",
}

// databaseStateRows is sys.dm_hadr_database_replica_states: on the primary all copies, elsewhere the local ones. What
// the primary says of a replica that is not connected is what it knew last.
func (e *Extension) databaseStateRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		st := g.States()
		for i := range st.Databases {
			out = append(out, e.databaseStateRow(g, st, &st.Databases[i]))
		}
	}
	return out
}

func (e *Extension) databaseStateRow(g *replica.Group, st *replica.States, d *replica.DatabaseState) row {
	spec := st.Configuration.Replica(d.Replica)
	health := d.Health(spec)
	r := row{"group_id": g.ID(), "replica_id": d.Replica, "group_database_id": d.ID, "is_local": d.Local,
		"is_primary_replica": d.Replica == st.Self && st.Role == replica.Primary,
		"synchronization_state": int64(
			d.State,
		), "synchronization_state_desc": d.State.String(), "is_commit_participant": d.CommitParticipant,
		"synchronization_health": int64(health), "synchronization_health_desc": healthNames[health],
		"is_suspended": d.Suspended, "is_internal": false, "filestream_send_rate": int64(0),
		"low_water_mark_for_ghosts": int64(0)}
	db := e.inst.Database(d.Name)
	if db != nil {
		r["database_id"] = int64(db.ID())
	}
	if d.Suspended {
		r["suspend_reason"], r["suspend_reason_desc"] = int64(d.SuspendReason), suspendReasons[d.SuspendReason]
	}
	if d.Local {
		state := e.localState(st, d)
		r["database_state"], r["database_state_desc"] = int64(state), state.String()
	}
	if !d.Known {
		return r
	}
	if e.databaseProgress(r, d); d.Local && st.HardenedUnknown {
		r["last_hardened_lsn"], r["last_hardened_time"] = nil, nil
	}
	return r
}

// recoveryLSN is recovery_lsn; greater than any last_hardened_lsn where nothing would have to be taken back.
func recoveryLSN(d *replica.DatabaseState) any {
	if d.InLine {
		return noRecovery
	}
	return blockOrNull(d.Recovery)
}

// localState is the state of the local copy: without a role it is not ONLINE.
func (e *Extension) localState(st *replica.States, d *replica.DatabaseState) engine.DatabaseState {
	db := e.inst.Database(d.Name)
	switch {
	case db == nil:
		return engine.Offline
	case st.Role == replica.Resolving && db.State() == engine.Online:
		return engine.Recovering
	}
	return db.State()
}

// noRecovery is recovery_lsn where resynchronization is unnecessary: the greatest log block, padded.
var noRecovery = decimal.RequireFromString("4294967295429496729500001")

// databaseProgress fills in how far a copy is. Only last_redone_lsn is a log sequence number, the others are positions.
func (e *Extension) databaseProgress(r row, d *replica.DatabaseState) {
	r["recovery_lsn"], r["truncation_lsn"] = recoveryLSN(d), blockOrNull(d.Truncation)
	r["end_of_log_lsn"] = blockOrNull(d.End)
	r["last_hardened_lsn"], r["last_hardened_time"] = blockOrNull(d.Hardened), timeOrNull(d.HardenedTime)
	r["last_commit_lsn"], r["last_commit_time"] = lsnOrNull(d.Commit), timeOrNull(d.CommitTime)
	if d.Primary {
		return
	}
	r["last_sent_lsn"], r["last_sent_time"] = blockOrNull(d.Sent), timeOrNull(d.SentTime)
	r["last_received_lsn"], r["last_received_time"] = blockOrNull(d.Received), timeOrNull(d.ReceivedTime)
	r["last_redone_lsn"], r["last_redone_time"] = lsnOrNull(d.Redone), timeOrNull(d.RedoneTime)
	r["redo_queue_size"], r["redo_rate"] = d.RedoQueue, d.RedoRate
	if !d.Local {
		r["log_send_queue_size"], r["log_send_rate"] = d.SendQueue, d.SendRate
	}
	if d.Lag >= 0 {
		r["secondary_lag_seconds"] = d.Lag
	}
}

// databaseReplicaClusterRows is sys.dm_hadr_database_replica_cluster_states: what the configuration says.
func databaseReplicaClusterRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		st := g.States()
		c := st.Configuration
		for i := range c.Databases {
			for j := range c.Replicas {
				if r := &c.Replicas[j]; r.Data() {
					out = append(out, databaseReplicaClusterRow(st, &c.Databases[i], r))
				}
			}
		}
	}
	return out
}

func databaseReplicaClusterRow(st *replica.States, d *group.Database, r *group.Replica) row {
	ready := r.ID == st.Configuration.Primary || slices.Contains(d.Synchronized, r.ID)
	out := row{"replica_id": r.ID, "group_database_id": d.ID, "database_name": d.Name,
		"is_failover_ready": ready && !st.Unready, "is_pending_secondary_suspend": false, "is_database_joined": ready}
	for i := range st.Databases {
		if s := &st.Databases[i]; s.ID == d.ID && s.Replica == r.ID {
			out["is_database_joined"], out["is_pending_secondary_suspend"] = ready || s.Joined, s.SuspendPending
			out["recovery_lsn"], out["truncation_lsn"] = recoveryLSN(s), blockOrNull(s.Truncation)
		}
	}
	return out
}
