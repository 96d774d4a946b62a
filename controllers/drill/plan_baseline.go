// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
)

// eventBaselineMeasured is the moment at which the target was seen to be well, and the faults' times begin to count.
const eventBaselineMeasured = "BaselineMeasured"

// baseline measures until the time is over. Faults are done to a target that is well by what the drill itself reads:
// its engines' roles and copies, and what its clients were acknowledged. The operator's word is noted beside it, and
// decides nothing here. What was written meanwhile is judged in any case.
func (p *planner) baseline() {
	waited := p.now.Sub(p.s.Baseline.Time) - drill.Baseline(p.drill.Spec)
	if waited < 0 {
		return
	}
	well, text := p.synchronized()
	if well {
		well, text = p.servedSince(p.now.Add(-servedWithin(p.drill)))
	}
	switch {
	case well:
		p.s.Phase, p.s.Started = v1alpha1.DrillRunning, at(p.now)
		p.note(p.now, eventBaselineMeasured, "", p.wellBy()+"; "+p.operatorSays())
		p.wait(v1alpha1.ReasonDrillRunning, "faults are injected when their time comes")
	case waited < wellWithin:
		p.wait(v1alpha1.ReasonDrillBaseline, "the target is not well by what the drill reads of it: "+text)
	default:
		p.s.Started = at(p.now)
		p.abort("Aborted", fmt.Sprintf("the target was not well when the baseline was over, nor %s later: %s; %s",
			wellWithin, text, p.operatorSays()))
	}
}

// servedWithin is how old the newest acknowledgement of a client may be that is being served: two operations that took
// as long as they may, with what its users think between them.
func servedWithin(d *v1alpha1.Drill) time.Duration {
	thinks := time.Duration(0)
	if d.Spec.Workload.ThinkTime != nil {
		thinks = d.Spec.Workload.ThinkTime.Duration
	}
	return 10*time.Second + 2*(operationTimeout(d)+thinks)
}

// wellBy is by what the drill saw that the target is well.
func (p *planner) wellBy() string {
	var list []string
	for _, name := range p.target.data {
		one := p.sample(p.now, name)
		text := string(name) + " answers"
		if one.Role != "" {
			text = strings.TrimSpace(fmt.Sprintf("%s is %s %s", name, one.Role, one.Synchronization))
		}
		list = append(list, text)
	}
	sites := make([]string, len(p.s.Clients))
	for i, c := range p.s.Clients {
		sites[i] = c.Site
	}
	return strings.Join(list, ", ") + "; clients of " + strings.Join(sites, ", ") + " are served"
}

// operatorSays is what the operator's own conditions say of the target.
func (p *planner) operatorSays() string {
	return "the operator says: " + cmp.Or(p.target.unwell, "Ready")
}
