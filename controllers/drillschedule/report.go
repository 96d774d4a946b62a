// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"context"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// report writes the status. A time whose drill could not be made is still due, and so is a number.
func (r *Reconciler) report(ctx context.Context, d Desired, _ Observed, p reconcile.Plan, failed error) error {
	before, next := &d.Schedule.Status, reconcile.Noted[*v1alpha1.DrillScheduleStatus](p)
	if failed != nil {
		next.LastScheduled, next.Missed = before.LastScheduled, before.Missed
		next.Repeated = before.Repeated
		if slices.ContainsFunc(p.Steps, makes) {
			next.Active = "" // nobody knows of it that it is there
		}
	}
	changes := conditions.Set(&next.StatusBase, d.Schedule.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Schedule, before, next, changes)
}

func makes(s reconcile.Step) bool {
	_, ok := s.(Make)
	return ok
}
