// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/workload/history"
)

// rpo judges the time that is lost by what is certain of it: what the clocks leave open is open.
func rpo(goal time.Duration, m Measured) v1alpha1.ObjectiveResult {
	r := result("rpo", "at most "+goal.String())
	if len(m.Read) == 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no replica was read"
		return r
	}
	if len(m.History.Faults) == 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no fault was done"
		return r
	}
	var worst history.FaultFigures
	open := m.nothingAtRisk()
	for _, f := range m.History.Faults {
		if f.RPO >= worst.RPO {
			worst = f
		}
		switch at := fmt.Sprintf("fault %s on %s", f.Name, f.Target); {
		case f.RPOUntold:
			open = at + ": clients' clocks were never compared with the manager's"
		case f.RPO-f.RPOUnsure > goal:
			r.Verdict = v1alpha1.VerdictFailed
		case f.RPO > goal || f.RPOUnsure > 0 && f.RPO+f.RPOUnsure > goal:
			open = fmt.Sprintf("%s: the clocks leave %s open, which the goal lies within", at, f.RPOUnsure)
		}
	}
	r.Measured = worst.RPO.Round(time.Millisecond).String()
	if worst.Name != "" {
		r.Evidence = fmt.Sprintf("fault %s on %s: %d rows lost", worst.Name, worst.Target, worst.Lost)
	}
	if r.Verdict == v1alpha1.VerdictPassed && open != "" {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, open
	}
	return r
}

// rto judges each client at each fault. The worst is shown: of those that missed the goal where there are any.
func rto(goal time.Duration, m Measured) v1alpha1.ObjectiveResult {
	r := result("rto", "at most "+goal.String())
	var worst time.Duration
	var open []string
	samples, failed := 0, false
	for _, f := range m.History.Faults {
		for _, c := range f.Clients {
			verdict, why := c.Meets(max(goal, 1))
			missed := verdict == history.Failed
			if verdict == history.Inconclusive {
				open = append(open, fmt.Sprintf("client %s at fault %s: %s", c.Client, f.Name, why))
			}
			if c.RTO == nil {
				continue
			}
			samples++
			if missed == failed && *c.RTO >= worst || missed && !failed {
				worst, failed = *c.RTO, missed
				r.Measured = shown(c)
				r.Evidence = fmt.Sprintf("client %s at fault %s on %s; usual time between acknowledgements %s",
					c.Client, f.Name, f.Target, c.Usual.Round(time.Millisecond))
			}
		}
	}
	if samples > 0 {
		r.Evidence += fmt.Sprintf("; worst of %d", samples)
	}
	switch {
	case failed:
		r.Verdict = v1alpha1.VerdictFailed
	case len(open) > 0:
		r.Verdict, r.Measured, r.Evidence = v1alpha1.VerdictInconclusive, "", clip(strings.Join(open, "; "))
	case samples == 0:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no fault was done that clients could have noticed"
	case m.NotRecovered != "":
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, clip(
			"the target had not recovered when it was judged: "+m.NotRecovered,
		)
	}
	return r
}

// shown is the time that a client went without service, for people.
func shown(c history.ClientFigures) string {
	text := c.RTO.Round(time.Millisecond).String()
	if c.AtLeast {
		text = "at least " + text
	}
	return text
}

func catchUp(goal time.Duration, m Measured) v1alpha1.ObjectiveResult {
	r := result("redoCatchUp", "at most "+goal.String())
	if m.NoGroup {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive,
			"the target has no availability group: there is no redo to look at"
		return r
	}
	var worst time.Duration
	for _, f := range m.History.Faults {
		if f.CatchUp == nil {
			r.Measured, r.Evidence = "more than "+m.Waited.Round(time.Second).
				String(),
				fmt.Sprintf(
					"after fault %s on %s the replicas were not seen synchronized",
					f.Name,
					f.Target,
				)
			r.Verdict = v1alpha1.VerdictFailed
			if m.Waited <= goal {
				r.Verdict = v1alpha1.VerdictInconclusive
			}
			return r
		}
		if *f.CatchUp >= worst {
			worst = *f.CatchUp
			r.Evidence = fmt.Sprintf("after fault %s on %s", f.Name, f.Target)
		}
	}
	if len(m.History.Faults) == 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no fault was done"
		return r
	}
	r.Verdict, r.Measured = held(worst <= goal), worst.Round(time.Millisecond).String()
	return r
}
