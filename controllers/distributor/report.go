// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"

	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/replication"
)

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p replication.Plan, failed error) error {
	outcome := p.Outcome
	if failed != nil {
		outcome = conditions.InProgress(conditions.ReasonApplyFailed, failed.Error()+"; it is tried again")
	}
	status := d.Distributor.Status.DeepCopy()
	if at := o.distributor(d); at != nil {
		status.ServerName, status.Publishers = d.System.Host(), configured(d, o)
	}
	changes := conditions.Set(&status.StatusBase, d.Distributor.Generation, outcome)
	if err := replication.WriteStatus(ctx, r.hub, d.Distributor, "Distributor", &d.Distributor.Status, status); err != nil {
		return err
	}
	conditions.Emit(r.events, d.Distributor, changes)
	return nil
}
