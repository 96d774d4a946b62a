// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// plan decides what to do next and says what is so until then.
func plan(d Desired, o Observed) reconcile.Plan {
	return reconcile.Stages(d, o,
		planStopped, planReferences, planServers, planPrimary, planFirst, planEndpoints, planPartners, planVotes,
		planElection, planNone,
		planDatabases, planKeys, planCreate,
		planReturn, planJoin, planReplicas, planTraceFlag, planMembership, planCommitRule, planListener, planFormer,
		planSeeding, planProperties, planConnections, planHealth,
	)
}

func creating(format string, args ...any) conditions.Outcome {
	return conditions.InProgress(v1alpha1.ReasonCreating, fmt.Sprintf(format, args...))
}

func list[T ~string](names []T) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = string(n)
	}
	return strings.Join(parts, ", ")
}

// planReferences ends the plan while servers are not declared.
func planReferences(_ Desired, o Observed, p *reconcile.Plan) bool {
	if len(o.Missing) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonReferenceMissing,
			"these servers are not declared yet: "+list(o.Missing)))
	}
	return true
}

// planServers waits for the servers before there is a group: their pods are restarted until everything that is read at
// start is in place. Afterwards a group does not depend on what the hub thinks of a server.
func planServers(d Desired, o Observed, p *reconcile.Plan) bool {
	if o.exists(d) || d.Group.Status.GroupID != "" || len(o.NotReady) == 0 {
		return true
	}
	var waiting []string
	for _, s := range d.servers() {
		if reason, ok := o.NotReady[s]; ok {
			waiting = append(waiting, fmt.Sprintf("%s (%s)", s, reason))
		}
	}
	return p.Settle(
		conditions.InProgress(
			v1alpha1.ReasonServersNotReady,
			"these servers are not ready yet: "+strings.Join(waiting, ", "),
		),
	)
}

// planPrimary ends the plan while the primary is a server that is no longer declared: nobody else can be made primary
// by changing a list.
func planPrimary(d Desired, o Observed, p *reconcile.Plan) bool {
	if primary := o.primary(d); primary != "" && !slices.Contains(d.servers(), primary) {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPrimaryNotDeclared, fmt.Sprintf(
			"%s is the primary and no longer a declared replica: declare it again and switch over to another replica first",
			host(primary),
		)))
	}
	return true
}

// planVotes creates the Leases and gives the agents their orders. A missing Lease is not a free one: those of the sites
// that the group begins with are created only before it exists, which takes the word of every replica, and never again:
// the Lease would be made by what was seen some time before, and could be of a term that is over by then. In a group
// that exists planJoining creates those of sites that are to vote.
func planVotes(d Desired, o Observed, p *reconcile.Plan) bool {
	if !d.fenced() {
		return true
	}
	begun := o.exists(d) || d.Group.Status.GroupID != ""
	for _, v := range o.Voters {
		switch {
		case v.Err == nil:
		case errors.Is(v.Err, votes.ErrAbsent) && !begun:
			if silent := o.silent(d); len(silent) > 0 {
				return p.Settle(conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
					"the votes can be created only when every replica says that it has no such group; no answer from %s",
					o.why(silent),
				)))
			}
			p.Add(CreateLease{Site: v.Site, Group: d.name(), InitialPrimary: host(d.Group.Spec.InitialPrimary)})
		case errors.Is(v.Err, votes.ErrAbsent) && !lost(o):
			// A minority of lost votes stops nothing; the condition VotesComplete tells of it.
		case errors.Is(v.Err, votes.ErrAbsent):
			return p.Settle(votesLost(d, o))
		case !begun:
			return p.Settle(conditions.Unknown(v1alpha1.ReasonVoterNotAnswering, fmt.Sprintf("voter %s: %v", v.Site, v.Err)))
		}
	}
	if begun {
		planJoining(d, o, p)
	}
	if o.VoterAddress != nil {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonVoterAddressMissing, o.VoterAddress.Error()))
	}
	if outcome, ok := sameTimings(d, o, begun); !ok {
		return p.Settle(outcome)
	}
	primary := o.primary(d)
	// An agent whose engine is away may be back with it in a moment, and goes by what it was told: its site is what
	// counts.
	for _, s := range d.servers() {
		if orders := o.Agents[s]; orders.Err == nil && !orders.UpToDate {
			p.Add(
				GiveOrders{
					Server: s,
					Reason: "they are missing or not as declared, or their credentials end soon",
					New:    primary != "" && o.row(primary, s) == nil,
				},
			)
		}
	}
	if len(p.Steps) > 0 {
		if outcome, changing := votersOutcome(d, o); changing {
			return p.Settle(outcome)
		}
		return p.Settle(creating("the votes of the group are being prepared"))
	}
	return true
}

// planElection leaves the configuration of a group that exists alone while it is not decided who is primary: a change
// ordered on a former primary would fail at best. The agents need no help from here.
func planElection(d Desired, o Observed, p *reconcile.Plan) bool {
	if !o.exists(d) || o.decided(d) {
		return true
	}
	if outcome, hopeless := withoutQuorum(d, o); hopeless {
		if written, alone := writtenOutside(d, o); alone {
			outcome.Message += ". Before that: " + written.Message
		}
		return p.Settle(outcome)
	}
	if leading, known := o.leading(); known && leading.State == votes.StateClaimed && o.primary(d) == "" {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonElection, fmt.Sprintf(
			"%s claims the votes in term %d; nothing is changed until it is primary", leading.Holder.Server, leading.Term)))
	}
	return planHealth(d, o, p) && false
}

// withoutQuorum tells of a group that comes up no more by itself: its first primary was restarted before others had
// joined, or replicas were made anew. What does not have the group cannot tell what was agreed on. Who has to agree is
// in the newest configuration, as for the agents: a replica that was only just declared is not among them. Nothing is
// said while a replica with data does not answer: it may be primary and serve, or have the newest log. JOIN on those
// without would not help: it takes the configuration from the primary and fails while there is none (error 47106).
func withoutQuorum(d Desired, o Observed) (conditions.Outcome, bool) {
	best, other := o.newest(d)
	if best == "" || o.primary(d) != "" {
		return conditions.Outcome{}, false
	}
	var without []v1alpha1.ServerName
	voting := 0
	for _, r := range o.Instances[best].Group.Replicas {
		i, seen := o.Instances[credentials.ServerOf(r.Server)]
		silent, mode := !seen || i.Err != nil, ballot.Mode(r.Mode)
		if silent && mode != ballot.ModeConfigurationOnly {
			return conditions.Outcome{}, false
		}
		if !mode.Votes() {
			continue
		}
		voting++
		if !silent && i.Group == nil {
			without = append(without, credentials.ServerOf(r.Server))
		}
	}
	if voting-len(without) >= ballot.ReportQuorum(voting) {
		return conditions.Outcome{}, false
	}
	slices.Sort(without)
	has := "what " + host(best) + " has"
	if len(other) > 0 {
		has += fmt.Sprintf(", the newest of what it and %s have", list(other))
	}
	return conditions.Stalled(v1alpha1.ReasonReplicasNotJoined, fmt.Sprintf(
		"no replica is primary, and %s, without the group, cannot tell what was agreed on: nobody is promoted without a "+
			"person. "+
			"kubectl geosql failover %s --to %s --allow-data-loss -n %s goes on with %s; %s then join by themselves",
		list(without),
		d.Group.Name,
		best,
		d.Group.Namespace,
		has,
		list(without),
	)), true
}

// lost says whether so many Leases are gone that no majority can be had of the others.
func lost(o Observed) bool {
	gone := map[string]bool{}
	for _, v := range o.Voters {
		gone[string(v.Site)] = errors.Is(v.Err, votes.ErrAbsent)
	}
	return !o.Configuration.Quorum(func(site string) bool { return !gone[site] })
}

// votesLost says at which voters the Leases are gone, which of the others do not tell, and what goes on.
func votesLost(d Desired, o Observed) conditions.Outcome {
	var gone, silent []v1alpha1.SiteName
	for _, v := range o.Voters {
		switch {
		case errors.Is(v.Err, votes.ErrAbsent):
			gone = append(gone, v.Site)
		case v.Err != nil:
			silent = append(silent, v.Site)
		}
	}
	unknown := ""
	if len(silent) > 0 {
		unknown = fmt.Sprintf(" (no answer from %s)", list(silent))
	}
	return conditions.Stalled(v1alpha1.ReasonVotesLost, fmt.Sprintf(
		"the Leases %s/%s are gone at %s%s: nobody can have %s, so nobody may be primary, and no failover can succeed. "+
			"Every replica keeps its data: delete nothing. %s says how the Leases are restored by hand, and when they must "+
			"not be",
		d.Group.Namespace, votes.LeaseName(d.name()), list(gone), unknown, o.Configuration, votesLostRunbook))
}

// votesLostRunbook is the page that goes on where the votes are lost.
const votesLostRunbook = "docs/runbooks/votes-lost.md"

// planNone ends the plan unless the group exists, or is known to have never been made: only then are databases and the
// group made. That nobody who answers has it does not say so, above all when a server comes back with new volumes:
// empty databases would be written to there, and nothing could be seeded over them.
func planNone(d Desired, o Observed, p *reconcile.Plan) bool {
	if o.exists(d) {
		return true
	}
	silent := o.silent(d)
	awaited := slices.ContainsFunc(
		silent,
		func(s v1alpha1.ServerName) bool { return !errors.Is(o.Instances[s].Err, sites.ErrSiteLost) },
	)
	switch {
	case d.Group.Status.GroupID != "" && !awaited:
		return p.Settle(groupLost(d, o))
	case d.Group.Status.GroupID != "":
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
			"group %s was created, and no replica that answers has it; no answer from %s. Nothing is created meanwhile: a "+
				"server that has lost "+
				"its volumes joins the group again when one that has it is primary (%s)",
			d.Group.Status.GroupID,
			o.why(silent),
			lostVolumesRunbook,
		)))
	case len(silent) > 0:
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf(
			"the group can be created only when every replica says that it has none; no answer from %s", o.why(silent))))
	}
	if d.fenced() {
		if left := leftVotes(o, host(d.Group.Spec.InitialPrimary)); left != "" {
			return p.Settle(inTheWay(d, left))
		}
	}
	return true
}

// lostVolumesRunbook is the page that goes on where servers have lost their volumes.
const lostVolumesRunbook = "docs/runbooks/lost-volumes.md"

// groupLost is of a group that was made and that no server has any more. What became of its databases a person has to
// say.
func groupLost(d Desired, o Observed) conditions.Outcome {
	var copies []string
	for _, name := range d.databases() {
		if have := o.copies(d, name); len(have) > 0 {
			copies = append(copies, fmt.Sprintf("%s is on %s", name, list(have)))
		}
	}
	known := "no server that answers has a database of it"
	if len(copies) > 0 {
		known = "of its databases " + strings.Join(copies, ", ")
	}
	return conditions.Stalled(v1alpha1.ReasonGroupLost, fmt.Sprintf(
		"group %s was created, and none of its servers has it any more; %s. Nothing is created in its place, for that "+
			"would be empty: %s says how the data "+
			"comes back and how the group is made anew",
		d.Group.Status.GroupID,
		known,
		lostVolumesRunbook,
	))
}

// copies are the servers that answer and have a database of the name: replicas, and former ones that have the group.
func (o Observed) copies(d Desired, name string) []v1alpha1.ServerName {
	var have []v1alpha1.ServerName
	former, _ := o.elsewhere(d)
	for _, s := range append(o.answering(d), former...) {
		if _, has := database(o.Instances[s].Mirroring, name); has {
			have = append(have, s)
		}
	}
	return have
}

// planCreate creates the group on its first primary, once that server's agent holds a majority of the votes: the agent
// has to renew the write lease from the first second on.
func planCreate(d Desired, o Observed, p *reconcile.Plan) bool {
	if o.exists(d) {
		return true
	}
	first := d.Group.Spec.InitialPrimary
	if d.fenced() {
		// A pod that the votes do not know yet would be taken OFFLINE with the group, before any other replica has joined.
		leading, known := o.leading()
		if !known || leading.Holder.Server != host(first) || leading.Holder.PodUID != o.FirstPod || !o.granted(leading) {
			if told := votesOfPrimary(o); told != "" {
				return p.Settle(inTheWay(d, told))
			}
			return p.Settle(creating("the agent of %s is to claim the votes first", host(first)))
		}
		// Once there is the group nobody gets a vote that was never anybody's.
		for _, v := range o.Voters {
			if v.Err == nil && v.Record.Term == 0 {
				return p.Settle(creating("the agent of %s is to claim the vote of %s, too", host(first), v.Site))
			}
		}
	}
	var replicas []tsql.Replica
	for _, r := range d.Group.Spec.Replicas {
		replicas = append(replicas, replica(r))
	}
	executeAsSA(p, first, tsql.CreateGroup(tsql.Group{
		Name: d.name(), ClusterType: d.clusterType(), Contained: d.Group.Spec.Contained, Basic: basic(d, o, first),
		WriteLease: told(d, o).WriteLease, RequiredSynchronizedSecondaries: d.required(),
		Databases: d.databases(), Replicas: replicas,
	}))
	return p.Settle(creating("the group is being created on %s", host(first)))
}

// basic tells of a server whose edition takes part in basic groups alone: what its engine says counts, the declaration
// where that has not been asked.
func basic(d Desired, o Observed, server v1alpha1.ServerName) bool {
	if says := o.Instances[server].Mirroring.EngineEdition; says != 0 {
		return says == mssql.EngineEditionStandard
	}
	return d.Editions[server].BasicOnly()
}

// inTheWay asks a person what is to become of the votes of a former group.
func inTheWay(d Desired, left string) conditions.Outcome {
	return creating("%s: what a group of that name has left that was there before. Agents that have read it believe it. "+
		"If no server has that group any more, delete this one with reclaimPolicy Delete, which takes the Leases %s away, "+
		"and apply it again. "+
		"If one has, those are its votes, and this group needs another name", left, votes.LeaseName(d.name()))
}

// voteOf names a vote.
func voteOf(v Voter) string {
	return fmt.Sprintf("the vote at %s (term %d of %s)", v.Site, v.Record.Term, v.Record.Holder.Server)
}

// votesOfPrimary names the votes that tell of a primary where they are a majority: the first primary's agent claims
// nothing then, since its engine does not have that group and another one may. Empty where they are none.
func votesOfPrimary(o Observed) string {
	told := map[string]string{}
	for _, v := range o.Voters {
		if v.Err == nil && v.Record.TellsOfPrimary() {
			told[string(v.Site)] = voteOf(v)
		}
	}
	if !o.Configuration.Quorum(func(site string) bool { return told[site] != "" }) {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Values(told)), ", ")
}

// leftVotes names the votes that a former group has left, at a site that was lost when that group was deleted, say.
// Before there is a group nobody but its first primary has a vote, nobody holds one, and nobody changes the voters:
// whoever went by what is left could have a majority beside the first primary's.
func leftVotes(o Observed, first string) string {
	var left, held []string
	beside := false
	all := slices.Concat(o.Voters, o.Joining, o.Former)
	for _, v := range all {
		r := v.Record
		text := voteOf(v)
		switch {
		case v.Err != nil:
		case r.Configuration().Term > 0:
			left = append(left, fmt.Sprintf("%s, which needs %s", text, r.Configuration()))
		case r.Term == 0:
			beside = true
		case r.Holder.Server != first:
			left = append(left, text)
		case r.State == votes.StateHeld:
			held = append(held, text)
		case r.State == votes.StateClaimed:
			beside = beside || slices.ContainsFunc(all, func(o Voter) bool { return o.Err == nil && o.Record.Term > r.Term })
		}
	}
	if beside {
		left = append(left, held...)
	}
	return strings.Join(left, ", ")
}
