// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// otherVoters are the declared sites if others vote, or will when the change under way has ended; nil if not. A group
// that declares none keeps those that it has.
func otherVoters(d Desired, o Observed) []string {
	declared := siteStrings(d.Group.Spec.Voters)
	if d.Group.Status.GroupID == "" || len(declared) == 0 || votes.SameSites(declared, o.Configuration.Final()) {
		return nil
	}
	return declared
}

// configured is the newest configuration of voters that is known of. Sites that do not vote tell nobody of one: what is
// there may be of a former group. A hub that was made again knows the voters from the declaration alone, and others may
// be declared than those that vote: agents and votes know better.
func configured(
	d Desired,
	agents map[v1alpha1.ServerName]Orders,
	voted map[v1alpha1.SiteName]Voter,
) votes.Configuration {
	records := map[string]votes.Record{}
	for site, v := range voted {
		if v.Err == nil {
			records[string(site)] = v.Record
		}
	}
	c := d.configuration()
	if d.Group.Status.GroupID != "" {
		return c.Follow(records)
	}
	for _, server := range slices.Sorted(maps.Keys(agents)) {
		if a := agents[server]; a.Err == nil && a.Told != nil {
			c = c.Learn(a.Told.Voting())
		}
	}
	return votes.Known(c, c.Among(records)...).Follow(records)
}

// readVotes reads the votes of all sites that vote, of those that are to and, of a group that is being deleted, of
// those that did. read reads the votes of some sites, each once; what they tell may name others.
func readVotes(
	d Desired,
	agents map[v1alpha1.ServerName]Orders,
	read func([]v1alpha1.SiteName) []Voter,
) map[v1alpha1.SiteName]Voter {
	votes := map[v1alpha1.SiteName]Voter{}
	sites := append(d.voters(), d.Group.Spec.Voters...)
	if !d.Group.DeletionTimestamp.IsZero() {
		sites = append(sites, siteNames(d.Group.Status.FormerVoters)...)
	}
	for len(sites) > 0 {
		slices.Sort(sites)
		for _, v := range read(slices.Compact(sites)) {
			votes[v.Site] = v
		}
		// A configuration that was not known may name others.
		sites = slices.DeleteFunc(siteNames(configured(d, agents, votes).Sites()), func(s v1alpha1.SiteName) bool {
			_, known := votes[s]
			return known
		})
	}
	return votes
}

// take sorts the votes that were read by what their sites are in the newest configuration. What agents read as no vote
// is none here.
func (o *Observed) take(d Desired, votes map[v1alpha1.SiteName]Voter) {
	votes = believed(configured(d, o.Agents, nil), votes)
	o.Configuration = configured(d, o.Agents, votes)
	taken := map[v1alpha1.SiteName]bool{}
	begun := d.Group.DeletionTimestamp.IsZero() && (o.exists(d) || d.Group.Status.GroupID != "")
	for _, site := range siteNames(o.Configuration.Sites()) {
		v := votes[site]
		if begun && v.Err == nil && v.Record.Term == 0 {
			v.Err = errNeverVoted
		}
		o.Voters = append(o.Voters, v)
		taken[site] = true
	}
	for _, site := range d.Group.Spec.Voters {
		if v, ok := votes[site]; ok && !taken[site] {
			o.Joining = append(o.Joining, v)
			taken[site] = true
		}
	}
	for _, site := range slices.Sorted(maps.Keys(votes)) {
		if !taken[site] {
			o.Former = append(o.Former, votes[site])
		}
	}
}

// compareOrders says of each agent whether it was told what it should be.
func (o *Observed) compareOrders(d Desired) {
	for server, a := range o.Agents {
		if slices.Contains(d.servers(), server) {
			a.UpToDate = a.Err == nil && a.Told != nil && upToDate(*a.Told, o.Orders, o.Now)
		} else {
			// A server that is no longer a replica is to have none.
			a.UpToDate = a.Err == nil && a.Told == nil
		}
		o.Agents[server] = a
	}
}

// ordersFor is what the agents are to be told. They get the way to the sites that are to vote first, and are told that
// these are to vote once all whose sites answer have it, and none is of a release that may not know of changes: whoever
// is primary next must be able to go on with one.
func ordersFor(d Desired, o Observed, access func(v1alpha1.SiteName) orders.Voter) orders.Group {
	told := d.orders()
	if t, known := timings(d, o); known {
		told.Timings = &t
	}
	c := o.Configuration
	for _, site := range siteNames(c.Sites()) {
		told.Voters = append(told.Voters, access(site))
	}
	if c.Term > 0 {
		told.Configuration = &c
	}
	wanted := otherVoters(d, o)
	if len(wanted) == 0 {
		return told
	}
	for _, joining := range o.Joining {
		if joining.Err == nil {
			told.Joining = append(told.Joining, access(joining.Site))
		}
	}
	if len(told.Joining) < len(o.Joining) || len(o.outdated(d)) > 0 ||
		slices.ContainsFunc(d.servers(), func(s v1alpha1.ServerName) bool {
			a := o.Agents[s]
			return a.Err == nil && (a.Told == nil || !reaches(*a.Told, wanted))
		}) {
		return told
	}
	told.Wanted = wanted
	return told
}

// outdated are the replicas' servers whose sidecars are of an earlier release.
func (o Observed) outdated(d Desired) []v1alpha1.ServerName {
	return slices.DeleteFunc(
		slices.Clone(o.Outdated),
		func(s v1alpha1.ServerName) bool { return !slices.Contains(d.servers(), s) },
	)
}

// reaches says whether orders have the way to all of these sites.
func reaches(told orders.Group, sites []string) bool {
	for _, site := range sites {
		if !slices.ContainsFunc(told.Reached(), func(v orders.Voter) bool { return v.Site == site && v.Token != "" }) {
			return false
		}
	}
	return true
}

// planJoining creates the Leases of sites that are to vote in a group that exists. They carry the newest configuration
// of voters that a majority tells of, and no vote: one that is created much later, where another Lease was lost
// meanwhile, is worth nothing to agents. The Lease of a site that votes no more stays until the group is deleted, so
// that a late Create is refused.
func planJoining(d Desired, o Observed, p *reconcile.Plan) {
	_, known := o.leading()
	if !known || len(otherVoters(d, o)) == 0 {
		return
	}
	for _, v := range o.Joining {
		if errors.Is(v.Err, votes.ErrAbsent) {
			// Nobody begins with it: it names no initial primary, which may be gone, and whose name may be another server's.
			p.Add(CreateLease{Site: v.Site, Group: d.name(), Configuration: o.Configuration})
		}
	}
}

// votersChanging is what is said while the voters change; empty when they do not.
func votersChanging(d Desired, o Observed) string {
	c, wanted := o.Configuration, otherVoters(d, o)
	text := ""
	switch {
	case !d.fenced() || d.Group.Status.GroupID == "":
		return ""
	case c.Changing():
		text = fmt.Sprintf("the voters are changing: %s is needed until the agent of the primary has finished", c)
	case len(wanted) > 0:
		text = fmt.Sprintf("%s are to vote, %s do", list(wanted), list(c.Voters))
	default:
		return ""
	}
	for _, v := range o.Joining {
		if v.Err != nil {
			text += fmt.Sprintf("; waiting for site %s, whose vote is not known: %v", v.Site, v.Err)
			continue
		}
		if leading, known := o.leading(); known && !c.Changing() {
			if err := v.Record.InTheWay(leading, c); err != nil {
				text += fmt.Sprintf("; %s is in the way at site %s (%v). The site does not vote: while that is so, "+
					"`kubectl delete lease %[1]s -n %[4]s` there takes away what a former group of the name has left",
					votes.LeaseName(d.name()), v.Site, err, d.Group.Namespace)
			}
		}
	}
	if outdated := o.outdated(d); len(outdated) > 0 && !c.Changing() {
		text += fmt.Sprintf(
			"; waiting for the sidecars of %s, which are of an earlier release (SidecarOutdated)",
			list(outdated),
		)
	}
	if leading, known := o.leading(); known && leading.Term > 0 && leading.Voters == "" {
		text += fmt.Sprintf(
			"; the sidecar of %s is of a release that does not change voters: switch over, or restart its pod",
			leading.Holder.Server,
		)
	} else if !known {
		text += "; too few votes are known"
	}
	return text
}

// votersOutcome says of a group that is as declared otherwise that its voters are not yet.
func votersOutcome(d Desired, o Observed) (conditions.Outcome, bool) {
	text := votersChanging(d, o)
	return conditions.InProgress(v1alpha1.ReasonVotersChanging, text), text != ""
}
