// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// planFormer cleans up at servers that are no longer replicas, once the primary's configuration does not name them any
// more: DROP AVAILABILITY GROUP must run on every replica. Their databases stay as they are. A server that does not
// answer, or calls itself primary, is waited for without holding up anything else.
func planFormer(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	configuration := o.Instances[primary].Group
	for _, server := range d.former() {
		if configuration.Replica(host(server)) != nil {
			continue
		}
		// Its agent keeps the orders as long as it may have to make the engine step down. It loses them before the engine
		// loses the group: one that claimed votes meanwhile would leave a writable copy behind.
		i := o.Instances[server]
		if i.Err != nil || i.callsItselfPrimary() || d.fenced() && o.Agents[server].Err != nil {
			continue
		}
		if d.fenced() && o.Agents[server].Told != nil {
			takeOrders(o, server, p)
		} else if deaf(d, o, server) == "" {
			drop(p, d, o, server)
		} else {
			tellOfTheEnd(o, server, p)
		}
	}
	if len(p.Steps) > 0 {
		return p.Settle(creating("former replicas are being cleaned up"))
	}
	return true
}

// neverMade says that the group cannot be on any server: no server was ever seen with it, and nobody ever held a term.
// The manager makes a group only once the initial primary's agent has claimed the first one; a term stays on the voters
// for good, and every voter has to be asked that a person has not called lost.
func (o Observed) neverMade(d Desired) bool {
	have, _ := o.elsewhere(d)
	if !d.fenced() || d.Group.Status.GroupID != "" || o.exists(d) || len(have) > 0 || len(o.Voters) == 0 {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(o.Voters, o.Joining), func(v Voter) bool {
		return v.Err != nil && !errors.Is(v.Err, votes.ErrAbsent) && !errors.Is(v.Err, sites.ErrSiteLost) ||
			v.Err == nil && v.Record.Term > 0
	})
}

// planDelete takes a group away when its object is deleted and reclaimPolicy is Delete, and else leaves it running: the
// agents go on without the object. Databases stay on every replica. A manager may end after any step: the secondaries'
// right to claim votes goes first, then the group on them, and on the primary only when nobody else has it who could be
// elected, and its agent has been told: it would end the engine of a group that it takes for dropped by hand. The
// primary needs its votes until then, so the Leases go last.
func planDelete(d Desired, o Observed) reconcile.Plan {
	var p reconcile.Plan
	if !v1alpha1.MayDestroy(d.Group, d.Group.Spec.ReclaimPolicy) {
		// It may have been Delete until a moment ago.
		for _, s := range append(d.servers(), d.former()...) {
			stay(o, s, &p)
		}
		p.Done = true
		return p
	}
	// A server that was a replica may have the group still: it was away when it was to forget it.
	servers := append(d.servers(), d.former()...)
	if waiting := unknownFor(d, o, servers); len(waiting) > 0 {
		p.Settle(
			deleting(
				"nothing is dropped before every replica has answered: those that do not could elect a primary of their own",
				waiting,
			),
		)
		return p
	}
	primary := o.primary(d)
	secondaries := slices.DeleteFunc(servers, func(s v1alpha1.ServerName) bool { return s == primary })
	if !planDropSecondaries(d, o, secondaries, &p) {
		return p
	}
	if !planDropPrimary(d, o, primary, &p) {
		return p
	}
	var waiting []string
	for _, v := range slices.Concat(o.Voters, o.Joining, o.Former) {
		switch {
		case errors.Is(v.Err, votes.ErrAbsent):
		case errors.Is(v.Err, sites.ErrUnknownSite):
			// This process may not have looked yet, or the hub was made anew: that is no word of anybody.
			waiting = append(waiting, fmt.Sprintf("%s (no such Site: declare it again, with lifecycle Lost if it is gone for "+
				"good)", v.Site))
		case errors.Is(v.Err, sites.ErrSiteLost):
			p.Leave("the Lease %s and the agents' account at voter %s (%v)", votes.LeaseName(d.name()), v.Site, v.Err)
		case v.Err != nil:
			waiting = append(waiting, string(v.Site))
		default:
			p.Add(RemoveVotes{Site: v.Site, UID: v.UID, Version: v.Version})
		}
	}
	for _, s := range append(d.servers(), d.former()...) {
		if i, known := o.Instances[s]; known && errors.Is(i.Err, sites.ErrSiteLost) {
			p.Leave("the group on %s, and what its agent was told, in Secret %s at site %s (%v)", host(s),
				credentials.OrdersName(s), d.Sites[s], i.Err)
		}
	}
	p.Done = len(p.Steps) == 0 && len(waiting) == 0
	p.Settle(deleting("the votes are being removed", waiting))
	return p
}

// planDropSecondaries takes their orders, and drops the group where the agent says that it has none any more: one that
// has not heard it yet claims votes, and its server would be primary when it loses the group.
func planDropSecondaries(d Desired, o Observed, servers []v1alpha1.ServerName, p *reconcile.Plan) bool {
	const what = "the group is being dropped on its secondaries"
	for _, s := range servers {
		takeOrders(o, s, p)
	}
	if len(p.Steps) > 0 {
		return p.Settle(deleting(what, nil))
	}
	var waiting []string
	for _, s := range servers {
		if why := deaf(d, o, s); why != "" {
			waiting = append(waiting, why)
			tellOfTheEnd(o, s, p)
			continue
		}
		drop(p, d, o, s)
	}
	if len(p.Steps)+len(waiting) > 0 {
		return p.Settle(deleting(what, waiting))
	}
	return true
}

// deaf says why a server's agent may go on as if nothing of the group ended; empty when it says itself that it has
// heard what it was told, when none runs, and where there is nothing to act on. One of an earlier release does not
// tell: what was written for it counts.
func deaf(d Desired, o Observed, s v1alpha1.ServerName) string {
	i, agent := o.Instances[s], o.Agents[s]
	if !d.fenced() || i.Err != nil || i.Group == nil {
		return ""
	}
	word, err := agent.Word.Get()
	switch {
	case err != nil:
		return fmt.Sprintf("the agent of %s, which is to say that it has heard of it: %v", host(s), err)
	case word.Idle:
		return ""
	case agent.Told != nil && agent.Told.Ending &&
		(word.State == "" || word.State == orders.StateEnding && word.EndingID == agent.Told.EndingID):
		return ""
	}
	return "the agent of " + host(s) + ", which has not heard of it yet"
}

// planDropPrimary drops the group on the last server that has it: its databases go on as databases of its own, and its
// votes last until it has none. Its agent is told before, and loses its orders after that.
func planDropPrimary(d Desired, o Observed, primary v1alpha1.ServerName, p *reconcile.Plan) bool {
	if primary == "" {
		return true
	}
	if told := o.Agents[primary]; d.fenced() && told.Err == nil && told.Told == nil {
		// Somebody has deleted the Secret. Its agent goes by what it was told before, and has to be told once more,
		// with the timings by which it counts.
		if outcome, known := knownTimings(d, o, true); !known {
			return p.Settle(outcome)
		}
		p.Add(GiveOrders{Server: primary, Reason: "they are missing, and it is to learn that the group is dropped"})
	}
	if markEnding(o, primary, p); len(p.Steps) > 0 {
		return p.Settle(deleting("the agent of the primary is being told that the group is about to be dropped", nil))
	}
	if why := deaf(d, o, primary); why != "" {
		return p.Settle(deleting("the agent of the primary is being told that the group is about to be dropped",
			[]string{why}))
	}
	drop(p, d, o, primary)
	takeOrders(o, primary, p)
	if len(p.Steps) > 0 {
		return p.Settle(deleting("the group is being dropped on its primary", nil))
	}
	return true
}

// unknownFor are the servers of which it must be known, before a group is dropped anywhere, whether they have it, and
// those that call themselves primary while another one is: they step down by themselves as long as they have orders,
// and a DROP there would leave a second writable copy. One whose site a person has called lost is not waited for, nor
// is one that cannot have the group.
func unknownFor(d Desired, o Observed, servers []v1alpha1.ServerName) (waiting []string) {
	never, primary := o.neverMade(d), o.primary(d)
	for _, s := range servers {
		i, ok := o.Instances[s]
		orders := o.Agents[s]
		switch {
		case !ok || errors.Is(i.Err, sites.ErrSiteLost):
		case i.Err != nil && (never || d.Group.Status.GroupID == "" && d.NeverAnswered[s]):
			// Its engine may never have started: there is nothing to drop on it, only to forget. A group is made only once all
			// engines have answered; a server that is deleted with the group and never did would wait for it for ever.
		case i.Err != nil:
			waiting = append(waiting, host(s))
		case d.fenced() && i.callsItselfPrimary() && s != primary:
			waiting = append(waiting, host(s)+", which calls itself primary and is to step down")
		case orders.Err != nil && !errors.Is(orders.Err, sites.ErrSiteLost):
			waiting = append(waiting, "the site of "+host(s))
		}
	}
	return waiting
}

// drop takes the group away on a server that has it.
func drop(p *reconcile.Plan, d Desired, o Observed, s v1alpha1.ServerName) {
	if i := o.Instances[s]; i.Err == nil && i.Group != nil {
		var heard error
		if why := deaf(d, o, s); why != "" {
			heard = errors.New(why)
		}
		dropGroup(p, reconcile.Seen("its agent has heard that the group ends, or none runs", i.Err, heard), s,
			tsql.DropGroup(d.name()))
	}
}

// markEnding tells a server's agent that the group which it has is about to be dropped there.
func markEnding(o Observed, s v1alpha1.ServerName, p *reconcile.Plan) {
	i, orders := o.Instances[s], o.Agents[s]
	if i.Err == nil && i.Group != nil && orders.Err == nil && orders.Told != nil &&
		(!orders.Told.Ending || orders.Told.EndingID != i.Group.ID) {
		p.Add(MarkEnding{Server: s, Ending: true, ID: i.Group.ID})
	}
}

// stay tells the agent of a server that has the group that it stays there. Where the group was dropped before, the
// orders go: without the mark the agent would end the engine of a group that it takes for dropped by hand.
func stay(o Observed, s v1alpha1.ServerName, p *reconcile.Plan) {
	i, orders := o.Instances[s], o.Agents[s]
	switch {
	case i.Err != nil || orders.Err != nil || orders.Told == nil || !orders.Told.Ending:
	case i.Group != nil:
		p.Add(MarkEnding{Server: s})
	default:
		takeOrders(o, s, p)
	}
}

// takeOrders takes the group from the orders of a server's agent that has some.
func takeOrders(o Observed, s v1alpha1.ServerName, p *reconcile.Plan) {
	i, known := o.Instances[s]
	if orders := o.Agents[s]; known && !errors.Is(i.Err, sites.ErrSiteLost) && orders.Err == nil && orders.Told != nil {
		p.Add(TakeOrders{Server: s})
	}
}

// tellOfTheEnd writes that a server's orders have ended where nothing says so any more: somebody has deleted the
// Secret, or what it has cannot be read, before the agent had heard of it. It would go on for ever with what it was
// told before.
func tellOfTheEnd(o Observed, s v1alpha1.ServerName, p *reconcile.Plan) {
	if told := o.Agents[s]; told.Err == nil && told.Told == nil && !told.Ended {
		p.Add(TakeOrders{Server: s})
	}
}

func deleting(what string, waiting []string) conditions.Outcome {
	if len(waiting) > 0 {
		return conditions.Unknown(v1alpha1.ReasonDeleting, fmt.Sprintf(
			"%s; waiting for an answer from %s; if its site is gone for good set the Site's lifecycle to Lost",
			what,
			list(waiting),
		))
	}
	return conditions.InProgress(v1alpha1.ReasonDeleting, what)
}
