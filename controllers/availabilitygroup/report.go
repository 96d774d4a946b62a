// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// statusOwner is the field manager of a group's status; the names' condition has another.
const statusOwner = client.FieldOwner("geosql-operator-availabilitygroup")

// ownConditions are the conditions that this controller writes.
var ownConditions = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionFenced,
	v1alpha1.ConditionDegraded, v1alpha1.ConditionLogRoom, v1alpha1.ConditionKeysComplete,
	v1alpha1.ConditionVotesComplete, v1alpha1.ConditionElectionsPaused, v1alpha1.ConditionBackupObjectiveMet,
}

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	group := d.Group
	status := describe(group.Status, d, o)
	changes := conditions.Set(&status.StatusBase, group.Generation, reconcile.Outcome(p.Outcome, failed))
	own := []metav1.Condition{
		fenced(d, o),
		degraded(d, o),
		logRoom(d, o),
	}
	if c, known := votesComplete(d, o); known {
		own = append(own, c)
	}
	if c, known := electionsPaused(d, o); known {
		own = append(own, c)
	}
	if c, known := keysComplete(d, o); known && c != nil {
		own = append(own, *c)
	} else if known {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionKeysComplete)
	}
	status.Restorable = nil
	if d.backupRPO() > 0 {
		var c metav1.Condition
		c, status.Restorable = backupObjective(d, o)
		own = append(own, c)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionBackupObjectiveMet)
	}
	for _, c := range own {
		if change := conditions.SetOne(&status.StatusBase, group.Generation, c); change != nil && change.Old != nil {
			changes = append(changes, *change)
		}
	}
	return r.write(ctx, d, o, &status, changes)
}

// write writes the status where more than the times of the last answers has changed. Those are confirmed else: each
// look would be a write.
func (r *Reconciler) write(
	ctx context.Context,
	d Desired,
	o Observed,
	status *v1alpha1.AvailabilityGroupStatus,
	changes []conditions.Change,
) error {
	group := d.Group
	if r.reporter.Differs(&group.Status, seenAsBefore(group.Status, status)) {
		return r.reporter.Report(ctx, group, &group.Status, status, changes)
	}
	var silent []string
	for _, server := range append(d.servers(), d.former()...) {
		if i, asked := o.Instances[server]; !asked || i.Err != nil {
			silent = append(silent, host(server))
		}
	}
	r.confirmed.Confirm(group, o.Now, silent...)
	return nil
}

// seenAsBefore is a status in which each replica that answered before and answers now was last seen when it was before.
func seenAsBefore(before v1alpha1.AvailabilityGroupStatus,
	status *v1alpha1.AvailabilityGroupStatus) *v1alpha1.AvailabilityGroupStatus {
	same := status.DeepCopy()
	for i := range same.Replicas {
		r := &same.Replicas[i]
		for _, old := range before.Replicas {
			if old.Server == r.Server && old.ObservedAt != nil && r.ObservedAt != nil {
				r.ObservedAt = old.ObservedAt.DeepCopy()
			}
		}
	}
	return same
}

// fenced says whether votes and a write lease keep a second primary from writing.
func fenced(d Desired, o Observed) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionFenced, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonFenced,
		Message: fmt.Sprintf(
			"a majority of %d voters and a write lease of %s fence the primary",
			len(o.Voters),
			told(d, o).WriteLease,
		)}
	known := 0
	for _, v := range o.Voters {
		if v.Err == nil {
			known++
		}
	}
	_, majority := o.leading()
	switch {
	case !d.fenced():
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotFenced
		c.Message = "clusterType None: nothing keeps a former primary from writing"
	case len(o.Voters) < 3:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoWitness
		c.Message = fmt.Sprintf(
			"%d voter: losing it stops the group, and failover is manual; name three sites in spec.voters",
			len(o.Voters),
		)
	case !majority:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonVoterNotAnswering
		c.Message = fmt.Sprintf("%d of %d voters are known", known, len(o.Voters))
	}
	if changing := votersChanging(d, o); changing != "" {
		if c.Status == metav1.ConditionTrue {
			c.Reason = v1alpha1.ReasonVotersChanging
		}
		c.Message += "; " + changing
	}
	return c
}

// degraded says whether the group serves with less than what is declared.
func degraded(d Desired, o Observed) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonComplete,
		Message: "every replica answers and is connected"}
	primary := o.primary(d)
	if primary == "" {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonPrimaryUnknown,
			"no replica that answers is primary"
		return c
	}
	var missing []string
	group := o.Instances[primary].Group
	for _, server := range d.servers() {
		if r := group.Replica(host(server)); server != primary && (r == nil || r.Connected != "CONNECTED") {
			missing = append(missing, host(server))
		}
	}
	if len(missing) > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonReplicaDisconnected
		c.Message = fmt.Sprintf("%s is primary; not connected to it: %s", host(primary), list(missing))
	}
	return c
}

// logRoom says whether the logs at the primary can take what transactions write. A full one is no reason to fail over:
// the database is ONLINE, and what keeps the log from being truncated is the same on every replica
// (docs/database-engine/availability-groups/windows/sql-server-always-on-database-health-detection-failover-option.md).
func logRoom(d Desired, o Observed) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionLogRoom, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonLogHasRoom,
		Message: "the logs of the group's databases have room at the primary"}
	primary := o.primary(d)
	if primary == "" {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonPrimaryUnknown,
			"no replica that answers is primary"
		return c
	}
	i := o.Instances[primary]
	if i.LogsErr != nil || i.Logs == nil {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonLogNotMeasured, fmt.Sprintf(
			"the logs of %s are not known: %v",
			host(primary),
			i.LogsErr,
		)
		return c
	}
	var full []string
	for _, database := range d.databases() {
		log, known := i.Logs[database]
		if room, _ := log.RoomKB(); known && log.Full() {
			full = append(
				full,
				fmt.Sprintf("%s (%d KB used, room for %d KB more, kept by %s)", database, log.UsedKB, room, log.Wait),
			)
		}
	}
	if len(full) > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonLogFull
		c.Message = fmt.Sprintf(
			"the log is full on %s: %s. Transactions fail (9002) until a backup of the log, room on its volume or a greater "+
				"MAXSIZE lets it go on; nothing fails over for it",
			host(primary),
			strings.Join(full, ", "),
		)
	}
	return c
}
