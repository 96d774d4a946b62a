// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"fmt"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/plugin/cli"
)

// sayLoss shows what each database would lose, as far as the hub knows.
func (a *asking) sayLoss(group *v1alpha1.AvailabilityGroup) {
	if group == nil {
		a.say("What would be lost is not known here: the hub has the group's status. The agents estimate it and write it " +
			"into the timeline.")
		return
	}
	to := string(a.wish.spec.To)
	if to == "" {
		if to = requests.Best(group); to == "" {
			a.say("What would be lost is not known: no replica that answers has databases of the group.")
			return
		}
		a.say("The agents choose the replica that has the most; by the group's status that is %s.", to)
	}
	losses := requests.EstimateLoss(group, to)
	if len(losses) == 0 {
		a.say("What would be lost is not known: the group's status has no databases of %s.", to)
		return
	}
	out := tabwriter.NewWriter(a.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "DATABASE\tSTATE ON %s\tLAST COMMIT THERE\tNEWEST COMMIT SEEN\tWOULD LOSE\n", to)
	for _, l := range losses {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", l.Database, l.State, cli.Moment(l.LastCommit),
			cli.Moment(l.PrimaryLastCommit), lossText(group, l))
	}
	_ = out.Flush()
	if primary := group.Status.Primary; primary == "" {
		a.say("No primary answers: what it acknowledged after it was last seen is not in these figures.%s", lastSeen(group))
	}
}

func lossText(group *v1alpha1.AvailabilityGroup, l requests.Loss) string {
	switch {
	case l.Estimate == nil:
		return "not known"
	case group.Status.Primary == "":
		return fmt.Sprintf("at least %s", l.Estimate.Duration.Round(time.Millisecond))
	}
	return l.Estimate.Duration.Round(time.Millisecond).String()
}

// lastSeen says when the server that the votes name last answered.
func lastSeen(group *v1alpha1.AvailabilityGroup) string {
	for _, v := range group.Status.Voters {
		if r := requests.Replica(group, v.Holder); r != nil && r.ObservedAt != nil {
			return fmt.Sprintf(" %s was last seen at %s.", r.Server, cli.Moment(r.ObservedAt))
		}
	}
	return ""
}

// sayTimeline shows the moments of an election, each after the first.
func (a *asking) sayTimeline(from, to string, term int64, t *v1alpha1.FailoverTimeline) {
	if t == nil {
		return
	}
	a.say("term %d: %s -> %s", term, cmp.Or(from, "-"), cmp.Or(to, "-"))
	var first *metav1.MicroTime
	for _, m := range []struct {
		name string
		at   *metav1.MicroTime
	}{
		{"suspected", t.Suspected}, {"claimed", t.Claimed}, {"fenced", t.Fenced}, {"promoted", t.Promoted},
		{"first write", t.FirstWrite}, {"all synchronized", t.AllSynchronized},
	} {
		if m.at == nil {
			continue
		}
		if first == nil {
			first = m.at
		}
		a.say("  %-16s %s  +%s", m.name, m.at.UTC().Format("15:04:05.000"), m.at.Sub(first.Time).Round(time.Millisecond))
	}
}
