// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	defaultDeadline = 10 * time.Minute
	defaultPassed   = 3
	defaultOthers   = 10
	// stamp is how a drill's time is written in its name.
	stamp = "200601021504"
)

// Step is one thing to do.
type Step interface {
	Describe() string
}

// Make makes a drill.
type Make struct{ Drill *v1alpha1.Drill }

// Describe implements Step.
func (s Make) Describe() string { return "make Drill " + s.Drill.Name }

// Drop deletes a drill that is over.
type Drop struct{ Drill *v1alpha1.Drill }

// Describe implements Step.
func (s Drop) Describe() string { return "delete Drill " + s.Drill.Name + ", beyond the history limit" }

// Plan is what is done next.
type Plan struct {
	Steps   []Step
	Outcome conditions.Outcome
	Done    bool
}

// Gist implements reconcile.Plan.
func (p Plan) Gist() reconcile.Gist {
	return reconcile.Gist{Steps: len(p.Steps), Progress: p.Outcome.Progress, Done: p.Done}
}

// plan makes the drill that is due and drops those that are too many.
func plan(w *world) Plan {
	spec, s := w.schedule.Spec, &w.next
	schedule, err := drill.ParseSchedule(spec.Schedule, spec.TimeZone)
	if err != nil {
		return Plan{Outcome: conditions.Stalled(conditions.ReasonScheduleInvalid, err.Error())}
	}
	p := Plan{Outcome: conditions.Ready(conditions.ReasonScheduled, "drills are made when their time comes")}
	w.sumUp()
	p.Steps = w.surplus()
	after := w.schedule.CreationTimestamp.Time
	if s.LastScheduled != nil {
		after = s.LastScheduled.Time
	}
	due, missed := schedule.Due(after, w.now)
	next := schedule.Next(w.now)
	s.Next = nil
	if !next.IsZero() && !spec.Suspend {
		s.Next = &metav1.Time{Time: next}
	}
	deadline := defaultDeadline
	if spec.StartingDeadline != nil {
		deadline = spec.StartingDeadline.Duration
	}
	switch {
	case due.IsZero():
	case spec.Suspend:
		// Times that come while it is suspended are not made up for.
		s.LastScheduled = &metav1.Time{Time: due}
	case w.made(due):
		// It was made, and the manager ended before it could say so.
		s.Missed += missed
		s.LastScheduled = &metav1.Time{Time: due}
	case s.Active != "" || w.now.Sub(due) > deadline:
		s.Missed += missed + 1
		s.LastScheduled = &metav1.Time{Time: due}
	default:
		s.Missed += missed
		s.LastScheduled = &metav1.Time{Time: due}
		d := w.make(due)
		s.Active = d.Name
		p.Steps = append(p.Steps, Make{Drill: d})
	}
	if spec.Suspend {
		p.Outcome = conditions.Ready(conditions.ReasonScheduleSuspended, "no drills are made while spec.suspend is true")
	}
	return p
}

// sumUp notes what became of the drills.
func (w *world) sumUp() {
	s := &w.next
	s.Active = ""
	for _, d := range w.drills {
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

// surplus are the oldest drills beyond the limits.
func (w *world) surplus() []Step {
	var steps []Step
	left := map[bool]int{
		true:  limit(w.schedule.Spec.PassedHistoryLimit, defaultPassed),
		false: limit(w.schedule.Spec.OtherHistoryLimit, defaultOthers),
	}
	for i := len(w.drills) - 1; i >= 0; i-- {
		d := &w.drills[i]
		if d.Status.Phase != v1alpha1.DrillCompleted {
			continue
		}
		passed := d.Status.Verdict == v1alpha1.VerdictPassed
		if left[passed]--; left[passed] < 0 {
			steps = append(steps, Drop{Drill: d})
		}
	}
	return steps
}

func limit(n *int32, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return int(*n)
}

// made says that the drill of a time is there already.
func (w *world) made(due time.Time) bool {
	name := w.make(due).Name
	return slices.ContainsFunc(w.drills, func(d v1alpha1.Drill) bool { return d.Name == name })
}

// make is the drill of a time. Its name follows from the time, so that none is made twice.
func (w *world) make(due time.Time) *v1alpha1.Drill {
	t := w.schedule.Spec.Template
	labels := map[string]string{}
	maps.Copy(labels, t.Labels)
	labels[v1alpha1.LabelDrillSchedule] = w.schedule.Name
	when := due.UTC().Format(stamp)
	d := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   w.schedule.Namespace,
			Name:        fmt.Sprintf("%s-%s", w.schedule.Name, when),
			Labels:      labels,
			Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DrillSchedule", Name: w.schedule.Name, UID: w.schedule.UID},
			},
		},
		Spec: *t.Spec.DeepCopy(),
	}
	d.Spec.RunID = when
	return d
}
