// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// timings are those that the group's agents are told, and false where it is not known by which they count already. A
// group keeps what it has: what was recorded of it, or what any agent was told, where nothing was written the defaults
// of that time. The ones of new groups are for a group of which every server says that it is not there.
func timings(d Desired, o Observed) (ballot.Timings, bool) {
	declared, base := d.Group.Spec.Timings, ballot.DefaultTimings()
	known, status := o.told(d), d.Group.Status
	switch {
	case orders.Declares(declared):
	case status.Timings != nil:
		base = orders.Timings(status.Timings, base)
	case known != nil:
		base = known.Safety()
	case status.GroupID != "":
		// A release that recorded nothing has made it.
	case o.exists(d) || len(o.silent(d)) > 0 || o.unread(d) != "":
		return base, false
	default:
		base = d.Timings
	}
	return orders.Timings(declared, base), true
}

// record keeps in status by what timings a group is made, for good: a later release may have other defaults.
func record(s *v1alpha1.AvailabilityGroupStatus, d Desired, o Observed) {
	if t, known := timings(d, o); d.fenced() && known && s.Timings == nil && (o.told(d) != nil || o.exists(d)) {
		s.Timings = orders.Recorded(t)
	}
}

// told are the timings in force, those of new groups where none are known.
func told(d Desired, o Observed) ballot.Timings {
	if t, known := timings(d, o); known {
		return t
	}
	return d.Timings
}

// told are the orders that any agent of the group has, nil for none that were read.
func (o Observed) told(d Desired) *orders.Group {
	for _, s := range d.servers() {
		if a := o.Agents[s]; a.Err == nil && a.Told != nil {
			return a.Told
		}
	}
	return nil
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

// sameTimings says whether the agents may be told the timings: not when one of them counts votes by others, or may do
// so because the group is there and its orders cannot be read. With different ones two agents could be primary at a
// time.
func sameTimings(d Desired, o Observed, begun bool) (conditions.Outcome, bool) {
	want, is := timings(d, o)
	known := false
	for _, s := range d.servers() {
		switch a := o.Agents[s]; {
		case a.Err != nil || a.Told == nil:
		case !is || a.Told.Safety() != want.Safety():
			return conditions.Stalled(v1alpha1.ReasonTimingsDiffer, fmt.Sprintf(
				"the agent of %s counts by other timings than spec.timings: those of a group that is there are not changed. "+
					"Declare the group with the timings that it has",
				host(s),
			)), false
		default:
			known = true
		}
	}
	switch unread := o.unread(d); {
	case begun && !known && unread != "":
		return conditions.Unknown(
			v1alpha1.ReasonTimingsDiffer,
			fmt.Sprintf("by what timings the group counts is not known: the orders of %s cannot be read", unread),
		), false
	case !is && (begun || unread != ""):
		return conditions.Unknown(v1alpha1.ReasonTimingsDiffer, fmt.Sprintf(
			"by what timings the group counts is not known: it may be there, and neither its status nor the orders of any of "+
				"its agents say so. Restore a Secret %s, or write the timings that it has into status.timings: "+
				"kubectl edit --subresource=status availabilitygroup %s -n %s",
			credentials.OrdersName("SERVER"), d.Group.Name, d.Group.Namespace)), false
	case !is:
		return conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
				"timings are chosen when every replica says that it has no such group; no answer from %s", o.why(o.silent(d)))),
			false
	}
	return conditions.Outcome{}, true
}
