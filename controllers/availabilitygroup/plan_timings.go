// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// timings are those that the group's agents are told, and false where it is not known by which they count already. A
// group keeps what it has, whatever is declared later: what was recorded of it, or what any agent was told, where
// nothing was written the defaults of that time. What is declared, or else the ones of new groups, is for a group of
// which every server says that it is not there. The two that no vote counts by are as declared at any time.
func timings(d Desired, o Observed) (ballot.Timings, bool) {
	declared, status := d.Group.Spec.Timings, d.Group.Status
	base, told := ballot.DefaultTimings(), o.told(d)
	switch {
	case status.Timings != nil:
		base = orders.Timings(status.Timings, base)
	case told != "":
		base = o.Agents[told].Told.Safety()
	case o.exists(d) || status.GroupID != "" || len(o.silent(d)) > 0 || o.unread(d) != "":
		return base, false
	default:
		return chosen(d), true
	}
	if declared != nil {
		base = orders.Timings(&v1alpha1.GroupTimings{Failover: declared.Failover, Offline: declared.Offline}, base)
	}
	return base, true
}

// chosen are the timings that a new group would have.
func chosen(d Desired) ballot.Timings {
	base := d.Timings
	if orders.Declares(d.Group.Spec.Timings) {
		base = ballot.DefaultTimings()
	}
	return orders.Timings(d.Group.Spec.Timings, base)
}

// record keeps in status by what timings a group is made, for good: a later release may have other defaults. What the
// agents were told is the only evidence, where they agree.
func record(s *v1alpha1.AvailabilityGroupStatus, d Desired, o Observed) {
	first := o.told(d)
	if !d.fenced() || s.Timings != nil || first == "" {
		return
	}
	t := o.Agents[first].Told.Safety()
	for _, server := range d.servers() {
		if a := o.Agents[server]; a.Err == nil && a.Told != nil && a.Told.Safety() != t {
			return
		}
	}
	s.Timings = orders.Recorded(t)
}

// told are the timings in force, those of new groups where none are known.
func told(d Desired, o Observed) ballot.Timings {
	if t, known := timings(d, o); known {
		return t
	}
	return d.Timings
}

// told is the first server whose agent's orders were read, empty for none.
func (o Observed) told(d Desired) v1alpha1.ServerName {
	for _, s := range d.servers() {
		if a := o.Agents[s]; a.Err == nil && a.Told != nil {
			return s
		}
	}
	return ""
}

// unread are the servers whose orders cannot be read, empty for none.
func (o Observed) unread(d Desired) string {
	var silent []v1alpha1.ServerName
	for _, s := range d.servers() {
		if o.Agents[s].Err != nil {
			silent = append(silent, s)
		}
	}
	return list(silent)
}

// sameTimings says whether the agents may be told the timings, and whether these are what is declared.
func sameTimings(d Desired, o Observed, begun bool) (conditions.Outcome, bool) {
	if outcome, same := knownTimings(d, o, begun); !same {
		return outcome, false
	}
	has, _ := timings(d, o)
	wants := chosen(d)
	if !orders.Declares(d.Group.Spec.Timings) || wants.Safety() == has.Safety() {
		return conditions.Outcome{}, true
	}
	return conditions.Stalled(v1alpha1.ReasonTimingsDiffer, fmt.Sprintf(
		"spec.timings are others than the group has by %s: %s. Those of a group that is there are not changed: declare "+
			"what it has, or take spec.timings out",
		source(d, o), differences("spec.timings", wants, "the group", has))), false
}

// source names what tells of the timings in force.
func source(d Desired, o Observed) string {
	if d.Group.Status.Timings != nil {
		return "status.timings"
	}
	return "the orders of the agent of " + host(o.told(d))
}

// knownTimings says whether the agents may be told the timings in force: not when one of them counts votes by others,
// or may do so because the group may be there and nothing tells of its timings. With different ones two agents could be
// primary at a time.
func knownTimings(d Desired, o Observed, begun bool) (conditions.Outcome, bool) {
	has, known := timings(d, o)
	unread := o.unread(d)
	switch {
	case !known && (begun || unread != "" || d.Group.Status.GroupID != ""):
		also := ""
		if unread != "" {
			also = fmt.Sprintf(" (the orders of %s cannot be read)", unread)
		}
		return conditions.Unknown(v1alpha1.ReasonTimingsDiffer, fmt.Sprintf(
			"by what timings the group counts is not known: it may be there, and neither its status nor the orders of any of "+
				"its agents say so%s. Restore a Secret %s, or write the timings that it has into status.timings: %s",
			also, credentials.OrdersName("SERVER"), editStatus(d))), false
	case !known:
		return conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
				"timings are chosen when every replica says that it has no such group; no answer from %s", o.why(o.silent(d)))),
			false
	}
	for _, s := range d.servers() {
		a := o.Agents[s]
		if a.Err != nil || a.Told == nil || a.Told.Safety() == has.Safety() {
			continue
		}
		from := source(d, o)
		remedy := "restore the Secret of the one that has others than the group was made with"
		if d.Group.Status.Timings != nil {
			remedy = "write into status.timings what all agents have: " + editStatus(d)
		}
		return conditions.Stalled(v1alpha1.ReasonTimingsDiffer, fmt.Sprintf(
			"the agent of %s counts by other timings than %s: %s. Nobody is told any before they are the same: %s",
			host(s), from, differences("the agent", a.Told.Safety(), from, has), remedy)), false
	}
	return conditions.Outcome{}, true
}

func editStatus(d Desired) string {
	return fmt.Sprintf("kubectl edit --subresource=status availabilitygroup %s -n %s", d.Group.Name, d.Group.Namespace)
}

// differences names the timings that differ, with their values.
func differences(here string, a ballot.Timings, there string, b ballot.Timings) string {
	one, other := orders.Recorded(a), orders.Recorded(b)
	var all []string
	for _, f := range []struct {
		name string
		of   func(*v1alpha1.GroupTimings) *metav1.Duration
	}{
		{"voteExpiry", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.VoteExpiry }},
		{"renewInterval", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.RenewInterval }},
		{"apiTimeout", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.APITimeout }},
		{"acknowledge", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.Acknowledge }},
		{"agentRestart", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.AgentRestart }},
		{"writeLease", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.WriteLease }},
		{"overrun", func(t *v1alpha1.GroupTimings) *metav1.Duration { return t.Overrun }},
	} {
		if x, y := f.of(one).Duration, f.of(other).Duration; x != y {
			all = append(all, fmt.Sprintf("%s is %s in %s and %s in %s", f.name, x, here, y, there))
		}
	}
	return strings.Join(all, ", ")
}
