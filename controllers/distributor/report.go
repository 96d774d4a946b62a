// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	status := d.Distributor.Status.DeepCopy()
	if at := o.distributor(d); at != nil {
		status.ServerName, status.Publishers = d.System.Host(), configured(d, o)
	}
	status.Database = room(status.Database, d, o)
	changes := conditions.Set(&status.StatusBase, d.Distributor.Generation, outcome(d, p, failed))
	if c := cleanedUp(d, o); c != nil {
		if change := conditions.SetOne(&status.StatusBase, d.Distributor.Generation, *c); change != nil {
			changes = append(changes, *change)
		}
	}
	return r.reporter.Report(ctx, d.Distributor, &d.Distributor.Status, status, changes)
}

// room is how large the distribution database is. It stays as it was written while it has changed by little, or while
// nobody knows.
func room(before *v1alpha1.DatabaseRoom, d Desired, o Observed) *v1alpha1.DatabaseRoom {
	size, err := o.Size.Get()
	if err != nil || size == 0 {
		return before
	}
	now := &v1alpha1.DatabaseRoom{Used: size, Free: d.Free}
	if before == nil || (before.Free == nil) != (now.Free == nil) {
		return now
	}
	whole := size + ptr.Deref(now.Free, 0)
	if reconcile.WorthWriting(before.Used, size, whole) ||
		reconcile.WorthWriting(ptr.Deref(before.Free, 0), ptr.Deref(now.Free, 0), whole) {
		return now
	}
	return before
}

// cleanedUp says whether what is old is removed from the distribution database; nil before there was a run of it. What
// was said once is taken back when nobody knows any more.
func cleanedUp(d Desired, o Observed) *metav1.Condition {
	at := o.distributor(d)
	listed := at != nil && slices.ContainsFunc(at.Distribution, func(x mssql.DistributionDatabase) bool {
		return strings.EqualFold(x.Name, d.System.Database)
	})
	switch {
	case at == nil && o.Servers[d.System.Server].Err != nil:
		return unknownCleanup(d, o.Servers[d.System.Server].Err.Error())
	case at == nil:
		return unknownCleanup(d, d.System.Host()+" was not asked")
	case !listed && d.Distributor.DeletionTimestamp != nil:
		return nil // it is ended with everything else
	case !listed:
		return unknownCleanup(d, fmt.Sprintf("%s does not list distribution database %s", d.System.Host(), d.System.Database))
	}
	cleanup, history := ended(d, o.Cleanup, "cleans it up"), ended(d, o.History, "removes the old history of agents")
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		for _, c := range []*metav1.Condition{cleanup, history} {
			if c != nil && c.Status == status {
				return c
			}
		}
	}
	if history == nil {
		return nil
	}
	return cleanup
}

// ended says how a job that keeps the distribution database small has ended; nil before there was a run of it.
func ended(d Desired, seen reconcile.Reading[*mssql.MaintenanceJob], what string) *metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonCleanupFailed}
	const grows = "; until it ends well, %s and the snapshot folder grow: docs/runbooks/replication.md says what helps"
	job, err := seen.Get()
	switch {
	case err != nil:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonCleanupUnknown
		c.Message = "how the clean-up has ended is not known: " + err.Error()
	case job == nil:
		c.Message = fmt.Sprintf("%s has no job that %s, and it is made again"+grows, d.System.Host(), what, d.System.Database)
	case !job.Enabled:
		c.Message = fmt.Sprintf("job %q on %s is disabled"+grows, job.Name, d.System.Host(), d.System.Database)
	case job.Outcome == mssql.JobSucceeded:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonCleanedUp, "the clean-up has ended well"
	case job.Outcome == mssql.JobFailed || job.Outcome == mssql.JobCanceled:
		c.Message = fmt.Sprintf("job %q on %s has failed"+grows+". It ended with: %s",
			job.Name, d.System.Host(), d.System.Database, job.Message)
	default:
		return unknownCleanup(d, fmt.Sprintf("job %q on %s has not run since it was made", job.Name, d.System.Host()))
	}
	return &c
}

// unknownCleanup takes back what was said of the clean-up; nil when nothing was.
func unknownCleanup(d Desired, why string) *metav1.Condition {
	if meta.FindStatusCondition(d.Distributor.Status.Conditions, v1alpha1.ConditionCleanedUp) == nil {
		return nil
	}
	return &metav1.Condition{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionUnknown,
		Reason: v1alpha1.ReasonCleanupUnknown, Message: "how the clean-up has ended is not known: " + why}
}

// outcome of the plan after its steps. That the snapshot folder is not there (21037) is told with what to do about it:
// the sidecar makes the one that it serves, and nobody makes one that was declared.
func outcome(d Desired, p reconcile.Plan, failed error) conditions.Outcome {
	if !mssql.HasNumber(failed, tsql.NoWorkingDirectory) {
		return reconcile.Outcome(p.Outcome, failed)
	}
	if d.System.Mirrored() {
		return conditions.InProgress(v1alpha1.ReasonWaitingForServer, fmt.Sprintf("the sidecar of server %s has not "+
			"made the snapshot folder %s yet, without which no publisher is admitted; its log says why: %s",
			d.System.Host(), conf.SnapshotDir, failed))
	}
	return conditions.InProgress(v1alpha1.ReasonWaitingForServer, fmt.Sprintf("the snapshot folder %s is not there on "+
		"server %s, without which no publisher is admitted: make it there, for user 10001, or take "+
		"spec.snapshotFolder out: %s", d.System.WorkingDirectory, d.System.Host(), failed))
}
