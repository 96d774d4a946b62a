// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	status := d.Distributor.Status.DeepCopy()
	if at := o.distributor(d); at != nil {
		status.ServerName, status.Publishers = d.System.Host(), configured(d, o)
	}
	changes := conditions.Set(&status.StatusBase, d.Distributor.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Distributor, &d.Distributor.Status, status, changes)
}
