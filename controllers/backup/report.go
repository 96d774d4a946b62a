// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// maxDatabases is how many status takes.
const maxDatabases = 64

func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	before, status := d.Backup.Status, reported(d, o)
	changes := conditions.Set(&status.StatusBase, d.Backup.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Backup, &before, &status, changes)
}

func reported(d Desired, o Observed) v1alpha1.BackupStatus {
	status := *d.Backup.Status.DeepCopy()
	if status.Outcome != "" {
		return status
	}
	all := databases(d)
	status.Databases = all[:min(len(all), maxDatabases)]
	if status.Outcome = ended(d, all); status.Outcome != "" {
		status.Completed = &metav1.Time{Time: o.Now.Truncate(time.Second)}
	}
	return status
}
