// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/votes"
)

// onlyTheHub says what a site's view lacks.
const onlyTheHub = "This is what the site itself knows; the hub was not asked. Only the hub knows what is declared " +
	"now, which replica is promotable and " +
	"what a failover would lose, replication, Logins, Drills, Topologies, conditions and events. One vote decides " +
	"nothing: a majority of the sites that vote does."

// Write writes the view as text.
func (v *SiteView) Write(out io.Writer, now time.Time) {
	fmt.Fprintf(out, "Site %s, namespace %s: a site's view\n", cmp.Or(v.Site, unknown), v.Namespace)
	fmt.Fprint(out, wrap(onlyTheHub, "  "))
	switch {
	case v.Kept != nil:
		fmt.Fprintf(out, "  names are kept here by geosql site, which last said so %s\n", elapsed(v.Kept, now))
	default:
		fmt.Fprintln(
			out,
			"  nothing here says that geosql site keeps the names: without it and without the hub they stay as they are",
		)
	}
	for i := range v.Groups {
		v.writeGroup(out, &v.Groups[i], now)
	}
	v.writeServers(out)
	v.writeElsewhere(out)
	if len(v.Unknown) > 0 {
		title(out, "Could not be read")
		for _, text := range v.Unknown {
			fmt.Fprint(out, wrap(text, "  "))
		}
	}
}

// elapsed is how long ago something was by this machine's clock.
func elapsed(at *time.Time, now time.Time) string {
	if at == nil {
		return unknown
	}
	return fmt.Sprintf("%s ago", max(0, now.Sub(*at)).Round(100*time.Millisecond))
}

func (v *SiteView) writeServers(out io.Writer) {
	title(out, "Servers here")
	if len(v.Servers) == 0 {
		fmt.Fprintln(out, "  none whose pod is seen")
		return
	}
	t := newTable(out, "POD", "PHASE", "READY", "NODE", "ENGINE", "ROLES")
	for _, s := range v.Servers {
		engine, roles := unknown, unknown
		if s.Agent != nil {
			engine, roles = s.Agent.Engine, rolesOf(s.Agent.Roles)
		}
		ready := "no"
		if s.Ready {
			ready = "yes"
		}
		t.row(s.Pod, s.Phase, ready, cmp.Or(s.Node, "none"), engine, roles)
	}
	t.flush()
	for _, s := range v.Servers {
		switch {
		case s.AgentError != "":
			fmt.Fprint(out, wrap(s.Pod+": its agent was not heard: "+s.AgentError, "    "))
		case s.Agent != nil && s.Agent.Message != "":
			fmt.Fprint(out, wrap(s.Pod+": "+s.Agent.Message, "    "))
		}
	}
}

func rolesOf(roles map[string]string) string {
	var list []string
	for _, group := range slices.Sorted(maps.Keys(roles)) {
		list = append(list, group+" "+roles[group])
	}
	return strings.Join(list, ", ")
}

func (v *SiteView) writeElsewhere(out io.Writer) {
	if v.Declared == nil {
		return
	}
	var list []string
	for _, s := range v.Declared.Servers {
		if !slices.ContainsFunc(v.Servers, func(here ServerHere) bool { return here.Name == s.Name }) {
			list = append(list, fmt.Sprintf("%s (%s)", host(s.Name), s.Site))
		}
	}
	if len(list) > 0 {
		fmt.Fprint(
			out,
			wrap("declared when the hub last told this site, and no pod of them here: "+strings.Join(list, ", "), "  "),
		)
	}
}

func (v *SiteView) writeGroup(out io.Writer, g *GroupHere, now time.Time) {
	title(out, "Availability group "+g.Name)
	if d := g.Declared; d != nil {
		to := unknown
		if g.ListenerKnown {
			to = cmp.Or(strings.Join(g.ListenerTo, ", "), "nowhere")
		}
		fmt.Fprint(
			out,
			wrap(
				fmt.Sprintf(
					"listener %s, port %d, leads here to %s; voters %s; when the hub last told this site, the primary was %s",
					d.Listener,
					d.Port,
					to,
					cmp.Or(strings.Join(d.Voters, ", "), "none"),
					cmp.Or(host(d.Primary), "unknown"),
				),
				"  ",
			),
		)
	}
	v.writeVote(out, g, now)
	v.writeSeen(out, g, now)
}

// writeVote writes the vote that is here, and what people asked and agents did as far as it tells.
func (v *SiteView) writeVote(out io.Writer, g *GroupHere, now time.Time) {
	vote := g.Vote
	switch {
	case g.VoteError != "":
		fmt.Fprint(out, wrap("the vote here cannot be read, and counts for nobody: "+g.VoteError, "  "))
		return
	case vote == nil:
		fmt.Fprintf(out, "  no vote here: there is no Lease %s\n", votes.LeaseName(g.Name))
		return
	}
	text := fmt.Sprintf("vote here: %s in term %d", vote.State, vote.Term)
	if vote.Server != "" {
		text += " by " + vote.Server
	}
	if vote.Renewed != nil {
		text += ", written " + elapsed(vote.Renewed, now) + " by the clock of who wrote it"
	}
	if vote.Paused {
		text += "; automatic elections are paused"
	}
	if len(vote.Voters) > 0 {
		text += "; it says that " + strings.Join(vote.Voters, ", ") + " vote"
	}
	fmt.Fprint(out, wrap(text, "  "))
	if len(vote.Quarantined) > 0 {
		fmt.Fprint(out, wrap("kept apart until a person says rejoin or reseed: "+strings.Join(vote.Quarantined, ", "), "  "))
	}
	if r := vote.Asked; r != nil {
		text = fmt.Sprintf("asked here %s by %s: %s", elapsed(&r.Issued, now), cmp.Or(r.By, unknown), r.Kind)
		if r.To != "" {
			text += " to " + r.To
		}
		if a := vote.Answered; a != nil && a.ID == r.ID {
			text += fmt.Sprintf("; %s by %s: %s", a.Outcome, cmp.Or(a.By, unknown), cmp.Or(a.Message, a.Reason))
		} else {
			text += "; no answer here yet"
		}
		fmt.Fprint(out, wrap(text, "  "))
	}
	if n := len(vote.Timelines); n > 0 {
		t := vote.Timelines[n-1]
		fmt.Fprint(
			out,
			wrap(
				fmt.Sprintf(
					"newest election that this vote tells of: term %d, %s to %s, %s %s",
					t.Term,
					cmp.Or(t.From, "nobody"),
					cmp.Or(t.To, "nobody"),
					t.Cause,
					t.Outcome,
				),
				"  ",
			),
		)
	}
}

// writeSeen writes how the agents here see the votes of all sites, and what they do about it.
func (v *SiteView) writeSeen(out io.Writer, g *GroupHere, now time.Time) {
	seen := map[string]holder.GroupStatus{}
	voters := map[string]bool{}
	for _, s := range v.Servers {
		if s.Agent == nil {
			continue
		}
		if status, ok := s.Agent.Parts.Election[g.Name]; ok {
			seen[s.Pod] = status
			for voter := range status.Votes {
				voters[voter] = true
			}
		}
	}
	if len(seen) == 0 {
		fmt.Fprintln(out, "  no agent was heard here that takes part: of the other sites' votes nothing is known")
		return
	}
	pods := slices.Sorted(maps.Keys(seen))
	t := newTable(out, append([]string{"VOTE OF"}, prefixed("AS SEEN BY ", pods)...)...)
	for _, voter := range slices.Sorted(maps.Keys(voters)) {
		cells := []string{voter}
		for _, pod := range pods {
			cells = append(cells, cmp.Or(seen[pod].Votes[voter], unknown))
		}
		t.row(cells...)
	}
	t.flush()
	for _, pod := range pods {
		s := seen[pod]
		text := fmt.Sprintf("%s: %s", pod, cmp.Or(s.Role, "role unknown"))
		if s.Term > 0 {
			text += fmt.Sprintf(", its own claim: %s in term %d", s.State, s.Term)
		}
		for _, x := range []struct {
			so   bool
			text string
		}{
			{s.Quarantined, ", kept apart until a person decides"}, {s.Paused, ", may not claim by itself"},
			{s.Waiting != "", ", waits: " + s.Waiting},
			{s.Action != "", fmt.Sprintf(", last did %s %s", s.Action, elapsed(&s.At, now))},
			{s.Error != "", ", last error: " + s.Error},
		} {
			if x.so {
				text += x.text
			}
		}
		fmt.Fprint(out, wrap(text, "    "))
	}
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, prefix+strings.ToUpper(x))
	}
	return out
}
