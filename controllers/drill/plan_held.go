// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/workload/history"
)

// silentAtMost is for how long clients of a site may be answered nothing, beside what they think, while service holds;
// less where service has to hold for less.
const silentAtMost = 10 * time.Second

// held says whether clients were served for as long, since they were first seen to be served after the last fault, as
// service has to hold. When that was is in the timeline, so that it outlives this process.
func (p *planner) held() bool {
	if len(p.s.Faults) == 0 {
		return true
	}
	if p.silent() {
		p.unserved()
		return false
	}
	i := slices.IndexFunc(p.s.Timeline, p.servedAgain)
	if i < 0 {
		p.note(p.now, eventServedAgain, "", "")
		return false
	}
	long, _ := p.servedSince(p.s.Timeline[i].Time.Add(drill.ServedFor(p.drill.Spec.Objectives)))
	return long
}

// servedAgain tells of a moment of the timeline whether from then on it is waited for that service holds.
func (p *planner) servedAgain(e v1alpha1.DrillEvent) bool {
	return e.Event == eventServedAgain && !e.Time.Before(p.s.Ended)
}

// unserved takes it back that clients are served again: service has to hold anew from when they are. Otherwise the
// first acknowledgement after a longer interruption would end the clients, before service could be seen to hold.
func (p *planner) unserved() {
	p.s.Timeline = slices.DeleteFunc(p.s.Timeline, p.servedAgain)
}

// silent says whether clients of some site are answered nothing any more, reads too. It may cost time and nothing else:
// who is taken to be silent and is not is waited for a while longer. A query of decision support takes as long as it
// takes.
func (p *planner) silent() bool {
	if p.drill.Spec.Workload.Profile == v1alpha1.ProfileDecisionSupport {
		return false
	}
	most := min(silentAtMost, drill.ServedFor(p.drill.Spec.Objectives))
	if think, thinks := drill.ThinkTime(p.drill.Spec.Workload); thinks {
		most += 3 * think
	}
	return slices.ContainsFunc(p.s.Clients, func(c v1alpha1.DrillClient) bool {
		answered := p.latest[v1alpha1.SiteName(c.Site)].LastAnswered()
		return answered != (history.Instant{}) && p.now.Sub(answered.Time()) > most
	})
}
