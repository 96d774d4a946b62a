// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/links"
	"geosql.dev/operator/internal/metrics"
)

func gauge(name, help string, labels ...string) *metrics.Family {
	return &metrics.Family{Name: name, Help: help, Type: metrics.Gauge, Labels: labels}
}

// Families of the sidecar that speak of its engine. server is the instance's name as the group's configuration has it.
var (
	engineState = gauge(
		"geosql_agent_engine_state",
		"1 for the state that the probe finds the engine in, 0 for the others: Starting, Bootstrapping, Frozen, "+
			"Unhealthy, Ready or Unknown.",
		"state",
	)
	probes = &metrics.Family{
		Name:   "geosql_agent_probes_total",
		Help:   "Probes of the engine by what they found.",
		Type:   metrics.Counter,
		Labels: []string{"state"},
	}
	probeSeconds = &metrics.Family{
		Name:    "geosql_agent_probe_seconds",
		Help:    "How long a probe of the engine took.",
		Type:    metrics.Histogram,
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
	}
	certificateExpiry = gauge("geosql_agent_certificate_expiry_timestamp_seconds",
		"When the certificate in the pod's files ends.")
	stateWritable = gauge(
		"geosql_agent_state_writable",
		"1 when the volume that the agent's promises are kept on has taken a file, 0 when it has not: no promise is given "+
			"then, and no replica promoted that needs this one's. volume is agent, or data in a pod that was started before "+
			"agents had a volume of their own.",
		"volume",
	)
	measured = gauge(
		"geosql_agent_measurement_timestamp_seconds",
		"When the engine's views were last read. Without it, and without all that follows, the engine does not answer, or "+
			"they have not been read for half a minute.",
	)
	diagnostics = gauge(
		"geosql_agent_diagnostics_state",
		"State of a component by sp_server_diagnostics: 0 unknown, 1 clean, 2 warning, 3 error. type is instance or that "+
			"of a group.",
		"type",
		"component",
	)

	replicaRole = gauge("geosql_agent_replica_role",
		"1 for the role of a replica as this engine knows it: PRIMARY, SECONDARY or RESOLVING.", "group", "server", "role")
	replicaConnected = gauge("geosql_agent_replica_connected",
		"1 when a replica is connected as this engine knows it, 0 when it is not.", "group", "server")
	replicaHealth = gauge(
		"geosql_agent_replica_synchronization_health",
		"1 for the synchronization health of a replica as this engine knows it: HEALTHY, PARTIALLY_HEALTHY or NOT_HEALTHY.",
		"group",
		"server",
		"health",
	)
	copyState = gauge(
		"geosql_agent_database_synchronization_state",
		"1 for the synchronization state of a copy as this engine knows it: SYNCHRONIZED, SYNCHRONIZING, NOT "+
			"SYNCHRONIZING, REVERTING or INITIALIZING. The primary knows all copies, a secondary its own.",
		"group",
		"server",
		"database",
		"state",
	)
	copySuspended = gauge("geosql_agent_database_suspended",
		"1 while data movement of a copy is suspended.", "group", "server", "database")
	copySendQueue = gauge("geosql_agent_database_log_send_queue_bytes",
		"Log not yet sent to a copy.", "group", "server", "database")
	copySendRate = gauge("geosql_agent_database_log_send_bytes_per_second",
		"Average rate at which log is sent to a copy.", "group", "server", "database")
	copyRedoQueue = gauge("geosql_agent_database_redo_queue_bytes",
		"Log that a copy has received and not redone.", "group", "server", "database")
	copyRedoRate = gauge("geosql_agent_database_redo_bytes_per_second",
		"Average rate at which a copy redoes log.", "group", "server", "database")
	copyLag = gauge("geosql_agent_database_secondary_lag_seconds",
		"How far a copy is behind the primary, as the engine says (secondary_lag_seconds).", "group", "server", "database")
	copyHardened = gauge("geosql_agent_database_last_hardened_timestamp_seconds",
		"When the last log of a copy was hardened.", "group", "server", "database")
	copyRedone = gauge("geosql_agent_database_last_redone_timestamp_seconds",
		"When the last log of a copy was redone.", "group", "server", "database")
	copyCommitted = gauge("geosql_agent_database_last_commit_timestamp_seconds",
		"Time of the newest commit of a copy.", "group", "server", "database")

	databaseState = gauge(
		"geosql_agent_database_state",
		"1 for the state of a database of this engine, as sys.databases says: ONLINE, RESTORING, RECOVERING and so on.",
		"database",
		"state",
	)
	logReuseWait = gauge("geosql_agent_log_reuse_wait",
		"1 for what keeps a log from being truncated (log_reuse_wait_desc), NOTHING when nothing does.", "database", "wait")
	logSize = gauge("geosql_agent_log_size_bytes", "Size of a log.", "database")
	logUsed = gauge("geosql_agent_log_used_bytes", "How much of a log is used.", "database")
	logRoom = gauge(
		"geosql_agent_log_room_bytes",
		"How much a log can still take: what is unused of it, and what it may grow by as far as MAXSIZE, its increment "+
			"and its volume let it.",
		"database",
	)
)

var measuredFamilies = []*metrics.Family{
	measured,
	diagnostics,
	replicaRole,
	replicaConnected,
	replicaHealth,
	copyState,
	copySuspended,
	copySendQueue,
	copySendRate,
	copyRedoQueue,
	copyRedoRate,
	copyLag,
	copyHardened,
	copyRedone,
	copyCommitted,
	databaseState,
	logReuseWait,
	logSize,
	logUsed,
	logRoom,
}

// Families are all metrics of the sidecar, those of mirrors, links and the election included.
func Families() []*metrics.Family {
	all := append(
		[]*metrics.Family{engineState, probes, probeSeconds, certificateExpiry, stateWritable,
			volumeCapacity, volumeFree}, measuredFamilies...)
	return append(append(append(all, files.Families()...), links.Families()...), holder.Families()...)
}
