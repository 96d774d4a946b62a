// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

const kilobyte = 1024

// Families of the manager that speak of an AvailabilityGroup. server is the instance's name, as in the group's status.
var (
	GroupPrimaries = gauge(
		"geosql_availabilitygroup_primaries",
		"How many replicas are known to be primary: 0 or 1. A primary that cannot be seen is not counted.",
		"namespace",
		"group",
	)
	GroupTerm = gauge("geosql_availabilitygroup_term",
		"Term that a majority of the votes is in, or else the newest that was seen.", "namespace", "group")
	GroupObjectiveRPO = gauge("geosql_availabilitygroup_objective_rpo_seconds",
		"Declared objective: how much acknowledged work may be lost, as time.", "namespace", "group")
	GroupObjectiveRTO = gauge("geosql_availabilitygroup_objective_rto_seconds",
		"Declared objective: how long writes may be refused.", "namespace", "group")
	GroupObjectiveRedo = gauge("geosql_availabilitygroup_objective_redo_catch_up_seconds",
		"Declared objective: how long redo may need to drain its queue.", "namespace", "group")
	GroupObjectiveBackup = gauge("geosql_availabilitygroup_objective_backup_rpo_seconds",
		"Declared objective: how old the newest moment may be that a store restores.", "namespace", "group")
	GroupRestorable = gauge("geosql_availabilitygroup_restorable_timestamp_seconds",
		"Newest moment to which a store alone restores every database by backups that were read back from it. Absent "+
			"without the objective, and while that cannot be told.", "namespace", "group")
	GroupDataLoss = gauge(
		"geosql_availabilitygroup_estimated_data_loss_seconds",
		"What losing the primary now would cost: of the secondaries whose state is known, the least that one of them "+
			"lacks in any database. Absent when nothing is known of any.",
		"namespace",
		"group",
	)
	GroupPromotable = gauge("geosql_availabilitygroup_promotable_replicas",
		"How many secondaries could become primary now without losing anything.", "namespace", "group")
	VoterState = gauge(
		"geosql_availabilitygroup_voter_state",
		"1 for the state in which the manager sees the vote of a site: Held, Claimed, Released, Absent or Unknown.",
		"namespace",
		"group",
		"site",
		"state",
	)
	VoterTerm = gauge("geosql_availabilitygroup_voter_term",
		"Term of the vote of a site, of now or of when it was last seen.", "namespace", "group", "site")
	VoteHolder = gauge(
		"geosql_availabilitygroup_vote_holder",
		"1 for the server that holds the vote of a site, of now or of when it was last seen.",
		"namespace",
		"group",
		"site",
		"server",
	)

	ReplicaRole = gauge(
		"geosql_availabilitygroup_replica_role",
		"1 for the role of a replica: PRIMARY, SECONDARY, RESOLVING, NotJoined or Unknown.",
		"namespace",
		"group",
		"server",
		"role",
	)
	ReplicaConnected = gauge(
		"geosql_availabilitygroup_replica_connected",
		"1 when the replica is connected to the primary, 0 when it is not, -1 when that is unknown.",
		"namespace",
		"group",
		"server",
	)
	ReplicaHealth = gauge(
		"geosql_availabilitygroup_replica_synchronization_health",
		"1 for the synchronization health of a replica: HEALTHY, PARTIALLY_HEALTHY, NOT_HEALTHY or Unknown.",
		"namespace",
		"group",
		"server",
		"health",
	)
	ReplicaPromotable = gauge(
		"geosql_availabilitygroup_replica_promotable",
		"1 when the replica could become primary now without losing anything, 0 when it could not, -1 when that is unknown.",
		"namespace",
		"group",
		"server",
	)
	ReplicaObserved = gauge("geosql_availabilitygroup_replica_observed_timestamp_seconds",
		"When the manager last had an answer of the replica's engine.", "namespace", "group", "server")

	DatabaseState = gauge(
		"geosql_availabilitygroup_database_synchronization_state",
		"1 for the synchronization state of a database on a replica, as sys.dm_hadr_database_replica_states says, "+
			"or Unknown.",
		"namespace",
		"group",
		"server",
		"database",
		"state",
	)
	DatabaseSuspended = gauge("geosql_availabilitygroup_database_suspended",
		"1 while data movement of a database to a replica is suspended.", "namespace", "group", "server", "database")
	DatabaseSendQueue = gauge("geosql_availabilitygroup_database_log_send_queue_bytes",
		"Log that the primary has not sent to a replica.", "namespace", "group", "server", "database")
	DatabaseRedoQueue = gauge("geosql_availabilitygroup_database_redo_queue_bytes",
		"Log that a replica has received and not redone.", "namespace", "group", "server", "database")
	DatabaseRedoRate = gauge("geosql_availabilitygroup_database_redo_bytes_per_second",
		"Average rate at which a replica redoes log.", "namespace", "group", "server", "database")
	DatabaseLastCommit = gauge(
		"geosql_availabilitygroup_database_last_commit_timestamp_seconds",
		"Time of the newest commit that a replica has, or had when its engine last answered.",
		"namespace",
		"group",
		"server",
		"database",
	)
	DatabaseDataLoss = gauge(
		"geosql_availabilitygroup_database_estimated_data_loss_seconds",
		"What would be lost if the replica became primary now: the primary's last commit time less the replica's, 0 when "+
			"it is ready for failover.",
		"namespace",
		"group",
		"server",
		"database",
	)
	DatabaseRecovery = gauge("geosql_availabilitygroup_database_estimated_recovery_seconds",
		"How long redo would take: redo queue divided by redo rate.", "namespace", "group", "server", "database")
)

var groupFamilies = []*Family{
	GroupPrimaries, GroupTerm, GroupObjectiveRPO, GroupObjectiveRTO, GroupObjectiveRedo, GroupObjectiveBackup,
	GroupRestorable, GroupDataLoss, GroupPromotable, VoterState, VoterTerm, VoteHolder, ReplicaRole, ReplicaConnected,
	ReplicaHealth, ReplicaPromotable, ReplicaObserved,
	DatabaseState, DatabaseSuspended, DatabaseSendQueue, DatabaseRedoQueue, DatabaseRedoRate, DatabaseLastCommit,
	DatabaseDataLoss, DatabaseRecovery,
}

func (o *Objects) groups(ctx context.Context, s Sink) error {
	var list v1alpha1.AvailabilityGroupList
	if err := o.hub.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		s.group(o.confirmed.Of(&list.Items[i]))
	}
	return nil
}

func (s Sink) group(g *v1alpha1.AvailabilityGroup) {
	s.conditions("AvailabilityGroup", g, g.Status.Conditions)
	if objectives := g.Spec.Objectives; objectives != nil {
		s.seconds(GroupObjectiveRPO, objectives.RPO, g.Namespace, g.Name)
		s.seconds(GroupObjectiveRTO, objectives.RTO, g.Namespace, g.Name)
		s.seconds(GroupObjectiveRedo, objectives.RedoCatchUp, g.Namespace, g.Name)
		s.seconds(GroupObjectiveBackup, objectives.BackupRPO, g.Namespace, g.Name)
	}
	s.time(GroupRestorable, g.Status.Restorable, g.Namespace, g.Name)
	if g.Status.GroupID == "" {
		// It has not been made yet: it lacks nothing that it had.
		return
	}
	s.SetBool(GroupPrimaries, g.Status.Primary != "", g.Namespace, g.Name)
	s.Set(GroupTerm, float64(g.Status.Term), g.Namespace, g.Name)
	for _, v := range g.Status.Voters {
		s.Set(VoterState, 1, g.Namespace, g.Name, v.Site, v.State)
		s.Set(VoterTerm, float64(v.Term), g.Namespace, g.Name, v.Site)
		if v.Holder != "" {
			s.Set(VoteHolder, 1, g.Namespace, g.Name, v.Site, v.Holder)
		}
	}
	promotable := 0
	var least *float64
	for _, r := range g.Status.Replicas {
		s.replica(g, r)
		if strings.EqualFold(r.Server, g.Status.Primary) {
			continue
		}
		if r.Promotable != nil && r.Promotable.Status == metav1.ConditionTrue {
			promotable++
		}
		if lacks := lacks(r); lacks != nil && (least == nil || *lacks < *least) {
			least = lacks
		}
	}
	s.Set(GroupPromotable, float64(promotable), g.Namespace, g.Name)
	if least != nil {
		s.Set(GroupDataLoss, *least, g.Namespace, g.Name)
	}
}

// lacks is the most that a replica lacks in any database, in seconds; nil when it has none or that of one is not known.
func lacks(r v1alpha1.ReplicaStatus) *float64 {
	var most *float64
	for _, d := range r.Databases {
		if d.EstimatedDataLoss == nil {
			return nil
		}
		if seconds := d.EstimatedDataLoss.Seconds(); most == nil || seconds > *most {
			most = &seconds
		}
	}
	return most
}

func (s Sink) replica(g *v1alpha1.AvailabilityGroup, r v1alpha1.ReplicaStatus) {
	labels := []string{g.Namespace, g.Name, r.Server}
	with := func(label string) []string { return append(labels[:3:3], label) }
	s.Set(ReplicaRole, 1, with(r.Role)...)
	if r.ConnectedState != "" {
		connected := map[string]float64{"CONNECTED": 1, "DISCONNECTED": 0}
		value, known := connected[r.ConnectedState]
		if !known {
			value = -1
		}
		s.Set(ReplicaConnected, value, labels...)
	}
	if r.SynchronizationHealth != "" {
		s.Set(ReplicaHealth, 1, with(r.SynchronizationHealth)...)
	}
	if r.Promotable != nil {
		value := map[metav1.ConditionStatus]float64{
			metav1.ConditionTrue:    1,
			metav1.ConditionFalse:   0,
			metav1.ConditionUnknown: -1,
		}
		s.Set(ReplicaPromotable, value[r.Promotable.Status], labels...)
	}
	s.time(ReplicaObserved, r.ObservedAt, labels...)
	for _, d := range r.Databases {
		s.database(with(d.Name), d)
	}
}

func (s Sink) database(labels []string, d v1alpha1.ReplicaDatabaseStatus) {
	s.Set(DatabaseState, 1, append(labels[:4:4], d.SynchronizationState)...)
	if d.SynchronizationState != "Unknown" {
		s.SetBool(DatabaseSuspended, d.Suspended != "", labels...)
	}
	for family, value := range map[*Family]*int64{DatabaseSendQueue: d.LogSendQueueKB, DatabaseRedoQueue: d.RedoQueueKB,
		DatabaseRedoRate: d.RedoRateKBps} {
		if value != nil {
			s.Set(family, float64(*value)*kilobyte, labels...)
		}
	}
	s.time(DatabaseLastCommit, d.LastCommitTime, labels...)
	s.seconds(DatabaseDataLoss, d.EstimatedDataLoss, labels...)
	s.seconds(DatabaseRecovery, d.EstimatedRecoveryTime, labels...)
}
