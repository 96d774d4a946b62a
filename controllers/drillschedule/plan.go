// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Make makes a drill.
type Make struct{ Drill *v1alpha1.Drill }

// Describe implements Step.
func (s Make) Describe() string { return "make Drill " + s.Drill.Name }

// Drop deletes a drill that is over.
type Drop struct{ Drill *v1alpha1.Drill }

// Describe implements Step.
func (s Drop) Describe() string { return "delete Drill " + s.Drill.Name + ", beyond the history limit" }

// plan makes the drill that is due and drops those that are too many. The status that is to be is its note.
func plan(d Desired, o Observed) reconcile.Plan {
	if d.Schedule.Spec.Repeat != nil {
		return planRepeat(d, o)
	}
	s := d.Schedule.Status.DeepCopy()
	p := reconcile.Plan{Note: s}
	if d.Err != nil {
		p.Outcome = conditions.Stalled(v1alpha1.ReasonScheduleInvalid, d.Err.Error())
		return p
	}
	p.Outcome = conditions.Ready(v1alpha1.ReasonScheduled, "drills are made when their time comes")
	s.Repeated = nil
	sumUp(o, s)
	p.Steps = surplus(d, o)
	after := d.countFrom(s, o.Now)
	due, missed := d.Times.Due(after, o.Now)
	next := d.Times.Next(o.Now)
	suspended := d.Schedule.Spec.Suspend
	s.Next = nil
	if !next.IsZero() && !suspended {
		s.Next = &metav1.Time{Time: next}
	}
	switch {
	case due.IsZero():
	case suspended:
		// Times that come while it is suspended are not made up for.
		s.LastScheduled = &metav1.Time{Time: due}
	case o.has(d.drillOf(due).Name):
		// It was made, and the manager ended before it could say so.
		s.Missed += missed
		s.LastScheduled = &metav1.Time{Time: due}
	case s.Active != "" || o.Now.Sub(due) > d.Deadline:
		s.Missed += missed + 1
		s.LastScheduled = &metav1.Time{Time: due}
	default:
		s.Missed += missed
		s.LastScheduled = &metav1.Time{Time: due}
		made := d.drillOf(due)
		s.Active = made.Name
		p.Add(Make{Drill: made})
	}
	if suspended {
		p.Outcome = conditions.Ready(v1alpha1.ReasonScheduleSuspended, "no drills are made while spec.suspend is true")
	}
	return p
}

// countFrom is the time after which times count. One that lies ahead is of a clock that was wrong, and times of a
// schedule that was edited since the last look count from now: nobody asked for those that lie before.
func (d Desired) countFrom(s *v1alpha1.DrillScheduleStatus, now time.Time) time.Time {
	edited := s.ObservedGeneration != 0 && s.ObservedGeneration != d.Schedule.Generation
	if edited || s.LastScheduled != nil && s.LastScheduled.After(now) {
		s.LastScheduled = &metav1.Time{Time: now}
	}
	if s.LastScheduled != nil {
		return s.LastScheduled.Time
	}
	return d.Schedule.CreationTimestamp.Time
}

// planDelete lets a schedule go: its drills go with it, by their owner references.
func planDelete(d Desired, _ Observed) reconcile.Plan {
	return reconcile.Plan{
		Done:    true,
		Outcome: conditions.InProgress(v1alpha1.ReasonDeleting, ""),
		Note:    d.Schedule.Status.DeepCopy(),
	}
}

// sumUp notes what became of the drills.
func sumUp(o Observed, s *v1alpha1.DrillScheduleStatus) {
	s.Active = ""
	for _, d := range o.Drills {
		if neverBegins(d, o.Now) {
			continue
		}
		if d.Status.Phase != v1alpha1.DrillCompleted {
			s.Active = d.Name
			continue
		}
		s.LastVerdict = d.Status.Verdict
		if d.Status.Verdict == v1alpha1.VerdictPassed && d.Status.Completed != nil {
			s.LastPassed = &metav1.Time{Time: d.Status.Completed.Truncate(time.Second)}
		}
	}
}

// neverBegins says that a drill waits for which it is too late: it holds up no other.
func neverBegins(d v1alpha1.Drill, now time.Time) bool {
	waits := d.Status.Phase == "" || d.Status.Phase == v1alpha1.DrillPending
	return waits && drill.TooLate(d.Spec, now)
}

// surplus are the oldest drills beyond the limits.
func surplus(d Desired, o Observed) []reconcile.Step {
	var steps []reconcile.Step
	left := map[bool]int{true: d.Passed, false: d.Others}
	for _, drill := range slices.Backward(o.Drills) {
		if drill.Status.Phase != v1alpha1.DrillCompleted {
			continue
		}
		passed := drill.Status.Verdict == v1alpha1.VerdictPassed
		if left[passed]--; left[passed] < 0 {
			steps = append(steps, Drop{Drill: &drill})
		}
	}
	return steps
}
