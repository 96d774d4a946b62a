// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	r.Measured, r.Bound = worst.RPO.Round(time.Millisecond).String(), bound(worst.RPOUnsure)
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
				r.Measured, r.Bound = shown(c), bound(c.Unsure)
				r.Evidence = fmt.Sprintf("client %s at fault %s on %s; usual time between acknowledgements %s",
					c.Client, f.Name, f.Target, c.Usual.Round(time.Millisecond)) + m.firstServed(c) + m.undisturbed(c.Client)
			}
		}
	}
	if samples > 0 {
		r.Evidence += fmt.Sprintf("; worst of %d", samples) + m.byFirst()
	}
	switch {
	case failed:
		r.Verdict = v1alpha1.VerdictFailed
	case len(open) > 0:
		r.Verdict, r.Measured, r.Bound = v1alpha1.VerdictInconclusive, "", nil
		r.Evidence = clip(strings.Join(open, "; "))
	case samples == 0:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no fault was done that clients could have noticed"
	case m.NotRecovered != "":
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, clip(
			"the target had not recovered when it was judged: "+m.NotRecovered,
		)
	}
	return r
}

// undisturbed is how long a client went without an acknowledgement while nothing was done; empty where that is not
// known.
func (m Measured) undisturbed(client string) string {
	for _, c := range m.History.Undisturbed {
		if c.Client == client && c.RTO != nil {
			return fmt.Sprintf(", longest between two acknowledgements without a fault %s", c.RTO.Round(time.Millisecond))
		}
	}
	return ""
}

// shown is the time that a client went without service, for people.
func shown(c history.ClientFigures) string {
	text := c.RTO.Round(time.Millisecond).String()
	if c.AtLeast {
		text = "at least " + text
	}
	return text
}

// bound is by how much a figure may be wrong; nil where it is exact.
func bound(d time.Duration) *metav1.Duration {
	if d <= 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

// catchUp judges each fault: it has failed when the replicas certainly took too long, and passed when they certainly
// did not. The worst of the worst verdict is shown.
func catchUp(goal time.Duration, m Measured) v1alpha1.ObjectiveResult {
	r := result("redoCatchUp", "at most "+goal.String())
	if m.NoGroup {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive,
			"the target has no availability group: there is no redo to look at"
		return r
	}
	if len(m.History.Faults) == 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no fault was done"
		return r
	}
	judged, worst := false, time.Duration(0)
	for _, f := range m.History.Faults {
		one, took := caughtUp(r, goal, f, m)
		if more := severity(one.Verdict) - severity(r.Verdict); !judged || more > 0 || more == 0 && took >= worst {
			r, judged, worst = one, true, took
		}
	}
	return r
}

// caughtUp judges one fault, and tells how long it took at most as far as that is known.
func caughtUp(
	r v1alpha1.ObjectiveResult,
	goal time.Duration,
	f history.FaultFigures,
	m Measured,
) (v1alpha1.ObjectiveResult, time.Duration) {
	if f.CatchUp == nil {
		r.Measured, r.Bound = "more than "+m.Waited.Round(time.Second).String(), nil
		r.Evidence = fmt.Sprintf("after fault %s on %s the replicas were not seen synchronized", f.Name, f.Target)
		r.Verdict = v1alpha1.VerdictFailed
		if m.Waited <= goal {
			r.Verdict = v1alpha1.VerdictInconclusive
		}
		return r, m.Waited
	}
	least, most := *f.CatchUp-f.CatchUpLess, *f.CatchUp+f.CatchUpMore
	r.Measured, r.Bound = f.CatchUp.Round(time.Millisecond).String(), bound(max(f.CatchUpLess, f.CatchUpMore))
	r.Evidence = fmt.Sprintf("after fault %s on %s", f.Name, f.Target)
	if least != most {
		r.Evidence += fmt.Sprintf(", as it was looked at between %s and %s", max(least, 0).Round(time.Millisecond),
			most.Round(time.Millisecond))
	}
	switch {
	case least > goal:
		r.Verdict = v1alpha1.VerdictFailed
	case most > goal:
		r.Verdict = v1alpha1.VerdictInconclusive
	default:
		r.Verdict = v1alpha1.VerdictPassed
	}
	return r, most
}
