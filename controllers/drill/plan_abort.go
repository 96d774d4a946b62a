// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// abortIfAsked ends a run that has gone too far or too long.
func (p *planner) abortIfAsked() {
	if !active(p.s.Phase) || p.s.Phase == v1alpha1.DrillJudging || p.s.AbortReason != "" {
		return
	}
	a := p.drill.Spec.AbortWhen
	switch {
	case p.drill.Spec.Abort:
		p.abort("Aborted", "a person asked for it")
	case p.now.Sub(p.s.Accepted.Time) > drill.TimeLimit(p.drill.Spec):
		p.abort("TimeLimit", "its time limit of "+drill.TimeLimit(p.drill.Spec).String()+" is reached")
	case a == nil:
	default:
		if text := p.tooFar(*a); text != "" {
			p.abort("Aborted", text)
		}
	}
}

func (p *planner) tooFar(a v1alpha1.DrillAbort) string {
	if a.UnservedFor != nil && p.s.Phase == v1alpha1.DrillRunning && len(p.latest) > 0 {
		newest := p.s.Started.Time
		for _, l := range p.latest {
			if t := l.Acknowledged.Time(); t.After(newest) {
				newest = t
			}
		}
		if silent := p.now.Sub(newest); silent > a.UnservedFor.Duration {
			return fmt.Sprintf("no client was served for %s", silent.Round(time.Second))
		}
	}
	for _, name := range p.target.data {
		s := p.sample(p.now, name)
		if a.RedoQueueKB != nil && s.RedoQueueKB != nil && *s.RedoQueueKB > *a.RedoQueueKB {
			return fmt.Sprintf("%s has %d KB to redo", name, *s.RedoQueueKB)
		}
		if a.SendQueueKB != nil && s.SendQueueKB != nil && *s.SendQueueKB > *a.SendQueueKB {
			return fmt.Sprintf("%d KB wait to be sent to %s", *s.SendQueueKB, name)
		}
	}
	return ""
}

// abort takes every fault back and lets the run be judged; event is how the timeline calls it.
func (p *planner) abort(event, why string) {
	p.s.AbortReason = conditions.Shorten(why, 1024)
	p.note(p.now, event, "", why)
	for i := range p.s.Faults {
		f, ended := &p.s.Faults[i], sighting{sight: seenAborted}
		if f.State == v1alpha1.FaultWaiting {
			ended.text = "the drill was ended before its time"
		}
		p.move(f, drill.Occurrence{}, ended)
	}
	if p.s.Phase != v1alpha1.DrillRecovering {
		// One that was recovering has waited already; its last fault ended when it did.
		p.s.Phase, p.s.Ended = v1alpha1.DrillRecovering, at(p.now)
	}
	if p.s.Started == nil {
		// Nothing was done that could be judged.
		p.complete(v1alpha1.VerdictInconclusive, v1alpha1.ReasonDrillAborted, why)
		return
	}
	p.wait(v1alpha1.ReasonDrillRecovering, "the drill is ended: "+why)
}
