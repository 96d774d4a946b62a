// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// report writes what was decided and what the steps found out.
func (r *Reconciler) report(ctx context.Context, w *world, p Plan, failed error) error {
	defer r.begun(w.drill)
	s := &w.next
	if w.done.after != nil {
		s.RecordedAfter = w.done.after
	}
	for i := range s.Faults {
		w.reportFault(s, &s.Faults[i])
	}
	if w.done.judged != nil {
		w.done.judged.write(s)
		p.Outcome = outcome(s)
	}
	changes := conditions.Set(&s.StatusBase, w.drill.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, w.drill, &w.drill.Status, s, changes)
}

// reportFault notes what came of creating a fault's objects.
func (w *world) reportFault(s *v1alpha1.DrillStatus, f *v1alpha1.FaultStatus) {
	for j := range f.Objects {
		one := &f.Objects[j]
		if err := w.done.objectErr[keyOf(*one)]; err != nil {
			one.Message = conditions.Shorten(err.Error(), 512)
			f.Message = conditions.Shorten(err.Error(), 1024)
		}
	}
	if err := w.done.frozen[f.Name]; err != nil {
		f.Message = conditions.Shorten(err.Error(), 1024)
	}
	began, ok := w.done.injected[f.Name]
	if !ok || f.State != v1alpha1.FaultInjecting {
		return
	}
	if f.Injected == nil {
		f.Injected = at(began)
		note(s, began, "Injected", f.Name, f.Effect.Asked)
	}
	for j := range f.Objects {
		if w.done.objectErr[keyOf(f.Objects[j])] != nil {
			return // the others are tried again
		}
	}
	if w.done.frozen[f.Name] != nil {
		return
	}
	f.State, f.Message = v1alpha1.FaultActive, ""
}
