// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"context"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// report writes the status. A time whose drill could not be made is still due.
func (r *Reconciler) report(ctx context.Context, w *world, p Plan, failed error) error {
	if failed != nil {
		w.next.LastScheduled, w.next.Missed = w.schedule.Status.LastScheduled, w.schedule.Status.Missed
	}
	changes := conditions.Set(&w.next.StatusBase, w.schedule.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, w.schedule, &w.schedule.Status, &w.next, changes)
}
