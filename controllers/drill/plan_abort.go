// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
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
	if a.UnservedFor != nil && p.s.Phase == v1alpha1.DrillRunning {
		if silent := p.now.Sub(p.lastServed()); silent > a.UnservedFor.Duration {
			return fmt.Sprintf("no client was seen to be served for %s", silent.Round(time.Second))
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

// lastServed is when a client was served last, whatever it had asked for, as far as it was ever known: who cannot be
// asked now has not ceased to be served.
func (p *planner) lastServed() time.Time {
	newest := p.s.Started.Time
	for i := range p.s.Clients {
		c := &p.s.Clients[i]
		if l := p.latest[v1alpha1.SiteName(c.Site)].LastAnswered(); l != (history.Instant{}) {
			c.LastAcknowledged = at(l.Time())
		}
		if c.LastAcknowledged != nil && c.LastAcknowledged.After(newest) {
			newest = c.LastAcknowledged.Time
		}
	}
	return newest
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
