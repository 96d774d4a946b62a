// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// report writes what was decided and what the steps found out.
func (r *Reconciler) report(ctx context.Context, _ Desired, w *Observed, p reconcile.Plan, failed error) error {
	defer r.begun(w.drill)
	done := w.done
	if done == nil {
		done = newResults()
	}
	s := reported(p, done)
	said := p.Outcome
	if done.judged != nil {
		said = outcome(s)
	}
	changes := conditions.Set(&s.StatusBase, w.drill.Generation, reconcile.Outcome(said, failed))
	return r.reporter.Report(ctx, w.drill, &w.drill.Status, s, changes)
}

// reported is the status that was planned with what came of the steps.
func reported(p reconcile.Plan, done *results) *v1alpha1.DrillStatus {
	decided := reconcile.Noted[decided](p)
	s := decided.Status.DeepCopy()
	if done.after != nil {
		s.RecordedAfter, s.SoldBefore = done.after, done.sold
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		reportFailures(f, done)
		reportInjected(s, f, decided.Then[f.Name], done)
	}
	if done.judged != nil {
		done.judged.write(s)
	}
	return s
}

// reportFailures notes what could not be done of a fault.
func reportFailures(f *v1alpha1.FaultStatus, done *results) {
	for j := range f.Objects {
		one := &f.Objects[j]
		if err := done.objectErr[keyOf(*one)]; err != nil {
			one.Message = conditions.Shorten(err.Error(), 512)
			f.Message = conditions.Shorten(err.Error(), 1024)
		}
	}
	if err := done.frozen[f.Name]; err != nil {
		f.Message = conditions.Shorten(err.Error(), 1024)
	}
}

// reportInjected notes when a fault began, and that it is in the state that was planned for it once all of it was
// done. What could not be done is tried again.
func reportInjected(s *v1alpha1.DrillStatus, f *v1alpha1.FaultStatus, then v1alpha1.FaultState, done *results) {
	began, ok := done.injected[f.Name]
	if !ok || then == "" {
		return
	}
	if f.Injected == nil {
		f.Injected = at(began)
		if by, known := done.begun[f.Name]; known {
			boundsOfFault(f).BegunBy = at(by)
		}
		note(s, v1alpha1.DrillEvent{Time: *at(began), Event: "Injected", Fault: f.Name, Message: f.Effect.Asked})
	}
	failed := func(o v1alpha1.FaultObject) bool { return done.objectErr[keyOf(o)] != nil }
	if slices.ContainsFunc(f.Objects, failed) || done.frozen[f.Name] != nil {
		return
	}
	f.State, f.Message = then, ""
}
