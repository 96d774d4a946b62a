// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// readerSetsUp tells that the log reader runs with the right to set up a subscriber that begins without a snapshot, or
// that it is somebody else's, who has to see to it. Without the right it would fail at the registration, and deliver to
// nobody.
func (o Observed) readerSetsUp(d Desired) bool {
	job := o.LogReaderJob
	return job != nil && (!replication.Described(job.Description) || job.Running && d.System.SetsUp(job))
}

// registersWithout tells that the subscription may be registered without a snapshot now: the log reader can set it up,
// or the publisher's engine refused it last for want of the snapshot folder. Then nothing comes of it that the log
// reader would need the right for; once the engine takes it, the log reader gets the right when it fails for it.
func (o Observed) registersWithout(d Desired) bool {
	ready := meta.FindStatusCondition(d.Subscription.Status.Conditions, v1alpha1.ConditionReady)
	return o.readerSetsUp(d) || ready != nil && ready.Reason == v1alpha1.ReasonSnapshotFolderMissing
}

// awaitsNewest tells that tables were found different from the publisher's, and that the snapshot is being made with
// which the subscriber begins then. That may take longer than the right lasts, and needs none.
func (o Observed) awaitsNewest(d Desired) bool {
	ready := meta.FindStatusCondition(d.Subscription.Status.Conditions, v1alpha1.ConditionReady)
	return d.snapshots() && o.stale(d) && ready != nil && ready.Reason == v1alpha1.ReasonSnapshotRunning
}

// outcome of the plan after its steps. That the publisher's engine cannot write below the snapshot folder is told with
// what to do about it.
func outcome(d Desired, o Observed, p reconcile.Plan, failed error) conditions.Outcome {
	if !mssql.HasNumber(failed, tsql.NoScriptFolder, tsql.NoScriptCopy) {
		return reconcile.Outcome(p.Outcome, failed)
	}
	primary := o.primary(d)
	help := fmt.Sprintf("it maps the names of those servers that were declared when it was started last: kubectl geosql "+
		"restart %s -n %s has it map them all", primary, d.Subscription.Namespace)
	if !d.System.Mirrored() {
		help = "make the folder there, for user 10001, or take spec.snapshotFolder out of the Distributor"
	}
	return conditions.InProgress(v1alpha1.ReasonSnapshotFolderMissing, fmt.Sprintf(
		"%s begins without a snapshot, and the engine of %s cannot write below the snapshot folder %s, as it does then; "+
			"%s: %s", d.database(), credentials.HostName(primary), d.System.WorkingDirectory, help, failed))
}

// awaitReader waits until the Publication has given the log reader the right.
func awaitReader(d Desired, p *replication.Plan) bool {
	message := fmt.Sprintf("%s begins without a snapshot: before it is registered, Publication %s gives the log reader "+
		"login %s, in sysadmin on %s, with which it sets the subscriber up", d.database(), d.publication(),
		d.System.SetUpLogin, d.System.Host())
	if r := d.Publication.Status.LogReaderRight; r != nil && r.Since != nil && r.Ended != nil {
		message += fmt.Sprintf("; it had that from %s to %s, and this was not registered: Publication %s says what helps",
			r.Since.UTC().Format(time.RFC3339), r.Ended.UTC().Format(time.RFC3339), d.publication())
	}
	return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForLogReader, message))
}
