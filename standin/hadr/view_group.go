// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"math"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
)

// backupPreferences and clusterTypes are the _desc columns of sys.availability_groups, which are in lower case.
var (
	backupPreferences = [...]string{"primary", "secondary_only", "secondary", "none"}
	clusterTypes      = [...]string{group.WSFC: "wsfc", group.External: "external", group.None: "none"}
)

// groupRows is sys.availability_groups.
func groupRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		out = append(out, row{
			"group_id": c.ID, "name": c.Name,
			"failure_condition_level": int64(c.Options.FailureConditionLevel),
			"health_check_timeout":    healthCheckTimeout(c),
			"automated_backup_preference": int64(
				c.Options.BackupPreference,
			), "automated_backup_preference_desc": backupPreferences[c.Options.BackupPreference],
			"version": int64(
				0,
			), "basic_features": c.Options.Basic, "dtc_support": false, "db_failover": c.Options.DBFailover,
			"is_distributed": c.Options.Distributed,
			"cluster_type":   int64(c.Options.ClusterType), "cluster_type_desc": clusterTypes[c.Options.ClusterType],
			"required_synchronized_secondaries_to_commit": int64(c.Options.RequiredSynchronized),
			"sequence_number": int64(c.Sequence), "is_contained": false,
		})
	}
	return out
}

// healthCheckTimeout is NULL where it does not fit the column, an int: HEALTH_CHECK_TIMEOUT goes up to 4,294,967,295.
func healthCheckTimeout(c *group.Configuration) any {
	if c.Options.HealthCheckTimeout > math.MaxInt32 {
		return nil
	}
	return c.Options.HealthCheckTimeout
}

func groupClusterRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		out = append(
			out,
			row{"group_id": c.ID, "name": c.Name, "failure_condition_level": int64(c.Options.FailureConditionLevel),
				"health_check_timeout": healthCheckTimeout(c), "automated_backup_preference": int64(c.Options.BackupPreference),
				"automated_backup_preference_desc": backupPreferences[c.Options.BackupPreference]},
		)
	}
	return out
}

// failoverMode is failover_mode with its description: 0 AUTOMATIC, 1 MANUAL, 2 EXTERNAL; a configuration-only replica
// shows the group's.
func failoverMode(c *group.Configuration, r *group.Replica) (int64, string) {
	mode := r.FailoverMode
	if mode == "" {
		mode = "MANUAL"
		if c.Options.ClusterType == group.External {
			mode = "EXTERNAL"
		}
	}
	return map[string]int64{"AUTOMATIC": 0, "MANUAL": 1, "EXTERNAL": 2}[mode], mode
}

// replicaRows is sys.availability_replicas.
func replicaRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		half := g.States().HalfKnown
		for i := range c.Replicas {
			r := replicaRow(g, c, &c.Replicas[i])
			if half && c.Replicas[i].ID != g.Self() {
				r = row{"replica_id": c.Replicas[i].ID, "group_id": c.ID, "replica_server_name": c.Replicas[i].Server}
			}
			out = append(out, r)
		}
	}
	return out
}

func replicaRow(g *replica.Group, c *group.Configuration, r *group.Replica) row {
	mode, modeName := failoverMode(c, r)
	seeding, seedingName := int64(1), "MANUAL"
	if r.AutomaticSeeding {
		seeding, seedingName = 0, "AUTOMATIC"
	}
	primary := map[string]int64{"ALL": 2, "READ_WRITE": 3}[r.PrimaryConnections]
	secondary := map[string]int64{"NO": 0, "READ_ONLY": 1, "ALL": 2}[r.SecondaryConnections]
	var metadata any
	if r.ID == g.Self() {
		metadata = int64(r.MetadataID)
	}
	return row{
		"replica_id": r.ID, "group_id": c.ID, "replica_metadata_id": metadata, "replica_server_name": r.Server,
		"owner_sid":    r.OwnerSID,
		"endpoint_url": r.EndpointURL, "availability_mode": int64(r.Mode), "availability_mode_desc": r.Mode.String(),
		"failover_mode": mode, "failover_mode_desc": modeName, "session_timeout": int64(r.SessionTimeout),
		"primary_role_allow_connections": primary, "primary_role_allow_connections_desc": r.PrimaryConnections,
		"secondary_role_allow_connections": secondary, "secondary_role_allow_connections_desc": r.SecondaryConnections,
		"create_date": timeOrNull(
			r.Created,
		), "modify_date": timeOrNull(r.Modified), "backup_priority": int64(r.BackupPriority),
		"read_only_routing_url": textOrNull(r.ReadOnlyRoutingURL), "seeding_mode": seeding, "seeding_mode_desc": seedingName,
		"read_write_routing_url": textOrNull(r.ReadWriteRoutingURL),
	}
}

func databaseClusterRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		for _, d := range c.Databases {
			out = append(out, row{"group_id": c.ID, "group_database_id": d.ID, "database_name": d.Name})
		}
	}
	return out
}

func listenerRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		for _, l := range c.Listeners {
			var ips []string
			for _, a := range l.IPs {
				ips = append(ips, "'IP Address: "+a.IP+"'")
			}
			out = append(out, row{"group_id": c.ID, "listener_id": l.ID.String(), "dns_name": l.Name, "port": int64(l.Port),
				"is_conformant": true, "ip_configuration_string_from_cluster": textOrNull(strings.Join(ips, " or "))})
		}
	}
	return out
}

// listenerAddressRows is sys.availability_group_listener_ip_addresses; an address is ONLINE where its group's primary
// is.
func listenerAddressRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		state, name := int64(0), "OFFLINE"
		if g.Role() == replica.Primary {
			state, name = 1, "ONLINE"
		}
		for _, l := range g.Configuration().Listeners {
			for _, a := range l.IPs {
				out = append(
					out,
					row{"listener_id": l.ID.String(), "ip_address": a.IP, "ip_subnet_mask": textOrNull(a.Mask), "is_dhcp": l.DHCP,
						"state": state, "state_desc": name},
				)
			}
		}
	}
	return out
}

func routingRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		c := g.Configuration()
		for i := range c.Replicas {
			for priority, set := range c.Replicas[i].ReadOnlyRoutingList {
				for _, name := range set {
					if to := c.Server(name); to != nil {
						out = append(
							out,
							row{"replica_id": c.Replicas[i].ID, "routing_priority": int64(priority + 1), "read_only_replica_id": to.ID},
						)
					}
				}
			}
		}
	}
	return out
}

// nameRows is sys.dm_hadr_name_id_map.
func nameRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, g := range m.Groups() {
		out = append(
			out,
			row{"ag_name": g.Name(), "ag_id": g.ID(), "ag_resource_id": g.ID().String(), "ag_group_id": g.ID().String()},
		)
	}
	return out
}

// seedingRows is sys.dm_hadr_automatic_seeding.
func seedingRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, s := range m.Seedings() {
		r := row{
			"start_time":           timeOrNull(s.Started),
			"completion_time":      timeOrNull(s.Ended),
			"ag_id":                s.Group,
			"ag_db_id":             s.Database,
			"ag_remote_replica_id": s.Remote,
			"operation_id":         s.ID,
			"is_source":            s.Source,
			"current_state":        s.State(),
			"performed_seeding":    s.Streaming,
			"number_of_attempts":   int64(s.Attempts),
			"error_code":           int64(s.Code),
		}
		if s.Failure >= 0 {
			r["failure_state"], r["failure_state_desc"] = int64(s.Failure), s.FailureName()
		}
		out = append(out, r)
	}
	return out
}

// seedingStatsRows is sys.dm_hadr_physical_seeding_stats: the operations that move data.
func (e *Extension) seedingStatsRows(m *replica.Manager, _ *engine.Session) []row {
	var out []row
	for _, s := range m.Seedings() {
		if !s.Streaming {
			continue
		}
		role := "Destination"
		if s.Source {
			role = "Source"
		}
		r := row{"local_physical_seeding_id": s.ID, "remote_physical_seeding_id": s.ID, "local_database_name": s.Name,
			"remote_machine_name": s.RemoteServer, "role_desc": role, "internal_state_desc": s.State(),
			"transferred_size_bytes": s.Transferred, "database_size_bytes": s.Size, "start_time_utc": timeOrNull(s.Started),
			"end_time_utc": timeOrNull(
				s.Ended,
			), "is_compression_enabled": false, "total_disk_io_wait_time_ms": int64(0), "total_network_wait_time_ms": int64(0)}
		if db := e.inst.Database(s.Name); db != nil {
			r["local_database_id"] = int64(db.ID())
		}
		end := s.Ended
		if end.IsZero() {
			end = now()
		}
		if d := end.Sub(s.Started).Seconds(); d > 0 {
			rate := float64(s.Transferred) / d
			r["transfer_rate_bytes_per_second"] = int64(rate)
			if s.Ended.IsZero() && rate > 0 && s.Size > s.Transferred {
				r["estimate_time_complete_utc"] = now().Add(seconds(float64(s.Size-s.Transferred) / rate))
			}
		}
		if s.Failure >= 0 {
			r["failure_code"], r["failure_message"], r["failure_time_utc"] = int64(s.Code), s.Message, timeOrNull(s.Ended)
		}
		out = append(out, r)
	}
	return out
}

// primaryName is the server that is known to be primary now; empty when none is.
func primaryName(st *replica.States) string {
	c := st.Configuration
	switch st.Role {
	case replica.Primary:
		return serverOf(c, st.Self)
	case replica.Secondary:
		for _, r := range st.Replicas {
			if r.Local && r.Connected && !st.Nameless {
				return serverOf(c, c.Primary)
			}
		}
	}
	return ""
}

func serverOf(c *group.Configuration, id uuid.UUID) string {
	if r := c.Replica(id); r != nil {
		return r.Server
	}
	return ""
}
