// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"
	"fmt"

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
	changes := conditions.Set(&status.StatusBase, d.Distributor.Generation, outcome(d, p, failed))
	return r.reporter.Report(ctx, d.Distributor, &d.Distributor.Status, status, changes)
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
