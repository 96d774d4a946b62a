// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/repeated"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
)

// planRepeat makes the next of the drills that follow each other, when the one before is over. What was made is told by
// the drills themselves and by the status together, so that a manager that ends in between makes none twice.
func planRepeat(d Desired, o Observed) reconcile.Plan {
	s := d.Schedule.Status.DeepCopy()
	p := reconcile.Plan{Note: s}
	r := *d.Schedule.Spec.Repeat
	sumUp(o, s)
	o.Drills = drawnBy(r, o.Drills) // those that the clock made before it repeated are none of them
	s.Next, s.Repeated = nil, summed(r, o, s.Repeated)
	last := drill.First(r) + s.Repeated.Made - 1
	stopped := stops(r, o)
	switch {
	case s.Active != "":
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRepeating, fmt.Sprintf("Drill %s runs, the %d. of %d", s.Active,
			s.Repeated.Made, r.Times))
	case last >= drill.Last(r):
		p.Outcome = conditions.Ready(v1alpha1.ReasonRepeated, told(*s.Repeated))
	case stopped != "":
		s.Repeated.Stopped = conditions.Shorten(stopped, 512)
		p.Outcome = conditions.Stalled(v1alpha1.ReasonRepeatStopped, stopped+": look what it left behind; "+
			"spec.repeat.stopAfter says after which no further one is made")
	case d.Schedule.Spec.Suspend:
		p.Outcome = conditions.Ready(v1alpha1.ReasonScheduleSuspended, "no drills are made while spec.suspend is true")
	default:
		made := d.drawn(last+1, o.Now)
		s.Repeated.Made++
		s.Active = made.Name
		p.Add(Make{Drill: made})
		p.Outcome = conditions.InProgress(v1alpha1.ReasonRepeating, fmt.Sprintf("Drill %s is made, the %d. of %d", made.Name,
			s.Repeated.Made, r.Times))
	}
	return p
}

// drawnBy are the drills that were drawn with the seed.
func drawnBy(r v1alpha1.DrillRepeat, drills []v1alpha1.Drill) []v1alpha1.Drill {
	return slices.DeleteFunc(slices.Clone(drills), func(d v1alpha1.Drill) bool {
		return !strings.HasPrefix(d.Annotations[v1alpha1.AnnotationDrillSeed], fmt.Sprintf("%d/", r.Seed))
	})
}

// stops says why no further drill is made; empty while one may be.
func stops(r v1alpha1.DrillRepeat, o Observed) string {
	after := cmp.Or(r.StopAfter, v1alpha1.StopAfterNotPassed)
	if after == v1alpha1.StopNever {
		return ""
	}
	for _, one := range o.Drills {
		switch failed := one.Status.Verdict == v1alpha1.VerdictFailed; {
		case failed:
			return fmt.Sprintf("Drill %s has failed: %s", one.Name, one.Status.Message)
		case after == v1alpha1.StopAfterFailed:
		case neverBegins(one, o.Now):
			return fmt.Sprintf("Drill %s did not begin in time: %s", one.Name, one.Status.Message)
		case one.Status.Phase == v1alpha1.DrillCompleted && one.Status.Verdict != v1alpha1.VerdictPassed:
			return fmt.Sprintf("Drill %s did not pass, it is %s: %s", one.Name,
				cmp.Or(string(one.Status.Verdict), "without a verdict"), one.Status.Message)
		}
	}
	return ""
}

// summed are the drills that are there, summed up.
func summed(r v1alpha1.DrillRepeat, o Observed, before *v1alpha1.RepeatedDrills) *v1alpha1.RepeatedDrills {
	sum := repeated.Summarize(o.Drills)
	n := func(of int) int32 { return int32(of) } //nolint:gosec // at most 200
	s := &v1alpha1.RepeatedDrills{Seed: r.Seed, Passed: n(sum.Passed), Failed: n(sum.Failed),
		Inconclusive: n(sum.Inconclusive), Told: n(sum.Told), Lost: n(sum.Lost)}
	if before != nil {
		s.Made = before.Made
	}
	for number := drill.Last(r); number >= drill.First(r); number-- {
		if o.has(nameOf(o.Schedule, number)) {
			s.Made = max(s.Made, number-drill.First(r)+1)
			break
		}
	}
	for _, one := range o.Drills {
		if neverBegins(one, o.Now) {
			s.Inconclusive++
		}
	}
	s.Deleted = max(s.Made-n(len(o.Drills)), 0)
	if sum.Told > 0 {
		s.LossAtMost = fmt.Sprintf("%.3g", 100*sum.AtMost)
	}
	if len(sum.RTO) > 0 {
		at := func(share float64) metav1.Duration {
			return metav1.Duration{Duration: history.Percentile(sum.RTO, share)}
		}
		s.RTO = &v1alpha1.RepeatedRTO{Drills: n(len(sum.RTO)), Least: at(0), Median: at(0.5), P95: at(0.95), Most: at(1)}
	}
	return s
}

// told is what the drills tell, for people.
func told(s v1alpha1.RepeatedDrills) string {
	text := fmt.Sprintf("%d passed, %d failed, %d inconclusive", s.Passed, s.Failed, s.Inconclusive)
	if s.Deleted > 0 {
		text += fmt.Sprintf(", %d deleted", s.Deleted)
	}
	if s.LossAtMost != "" {
		text += fmt.Sprintf("; rows were lost in %d of %d, so in at most %s %% of such drills (95 %% confidence)", s.Lost,
			s.Told, s.LossAtMost)
	}
	return text
}
