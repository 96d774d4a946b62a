// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

// promotable is whether a replica could become primary now without losing anything, in a word or two. What a replica
// can never be by its declaration needs no reason of the moment.
func promotable(g *v1alpha1.AvailabilityGroup, r v1alpha1.ReplicaStatus) string {
	p := r.Promotable
	witness := slices.ContainsFunc(g.Spec.Replicas, func(x v1alpha1.Replica) bool {
		return x.AvailabilityMode == v1alpha1.ConfigurationOnly && requests.SameServer(string(x.Server), r.Server)
	})
	switch {
	case witness, r.AvailabilityMode == "CONFIGURATION_ONLY":
		return "no: it votes, and holds no data"
	case p == nil:
		return unknown
	case p.Reason == votes.ReasonAlreadyPrimary:
		return "-"
	case p.Status == metav1.ConditionTrue:
		return "yes"
	case p.Status == metav1.ConditionFalse:
		return "no: " + cmp.Or(inWords[p.Reason], p.Reason)
	}
	return unknown + " " + p.Reason
}

// inWords are reasons that say to whoever declared the group what it is that he declared.
var inWords = map[string]string{
	votes.ReasonNotSynchronous: "asynchronous, it may lack writes",
	votes.ReasonNotAReplica:    "no replica of the group",
}

// byNature are reasons that the declaration gives: nothing is wrong.
var byNature = []string{votes.ReasonAlreadyPrimary, votes.ReasonNotAReplica, votes.ReasonNotSynchronous}

// writeUnfit says of each replica that could not be promoted why not.
func writeUnfit(out io.Writer, g *v1alpha1.AvailabilityGroup) {
	for _, r := range g.Status.Replicas {
		if p := r.Promotable; p != nil && p.Status != metav1.ConditionTrue && !slices.Contains(byNature, p.Reason) {
			fmt.Fprint(out, wrap(fmt.Sprintf("%s is not promotable: %s", host(r.Server), p.Message), "  "))
		}
	}
}

// shownFailovers is how many of a group's Failovers are shown: the newest.
const shownFailovers = 3

// writeFailovers writes a group's last elections and what was asked of it.
func (s *Snapshot) writeFailovers(out io.Writer, g *v1alpha1.AvailabilityGroup, now time.Time) {
	var own []*v1alpha1.Failover
	for i := range s.Failovers {
		if f := &s.Failovers[i]; f.Namespace == g.Namespace && string(f.Spec.Group) == g.Name {
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		return
	}
	slices.SortStableFunc(own, func(a, b *v1alpha1.Failover) int { return when(b).Compare(when(a)) })
	t := newTable(out, "FAILOVER", "CAUSE", "OUTCOME", "FROM", "TO", "TERM", "TOOK", "SYNCHRONIZED", "AGE")
	for _, f := range own[:min(len(own), shownFailovers)] {
		at := metav1.NewTime(when(f))
		t.row(
			f.Name,
			cmp.Or(f.Status.Cause, string(f.Spec.Kind)),
			cmp.Or(string(f.Status.Outcome), cmp.Or(string(f.Status.Phase), unknown)),
			cmp.Or(
				host(f.Status.From),
				"-",
			),
			cmp.Or(host(f.Status.To), "-"),
			term(f.Status.Term),
			took(f.Status.Timeline),
			synchronized(f.Status.Timeline),
			age(&at, now),
		)
	}
	t.flush()
}

// when a Failover began: a record is younger than what it records.
func when(f *v1alpha1.Failover) time.Time {
	if t := f.Status.Timeline; t != nil && t.Suspected != nil {
		return t.Suspected.Time
	}
	return f.CreationTimestamp.Time
}

func term(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// took is from the suspicion, or from the request, to the first write, or to the promotion.
func took(t *v1alpha1.FailoverTimeline) string {
	if t == nil || t.Suspected == nil {
		return "-"
	}
	end := t.FirstWrite
	if end == nil {
		end = t.Promoted
	}
	return since(t.Suspected, end)
}

// synchronized is how long after the promotion every synchronous replica was synchronized again.
func synchronized(t *v1alpha1.FailoverTimeline) string {
	if t == nil || t.Promoted == nil {
		return "-"
	}
	return since(t.Promoted, t.AllSynchronized)
}

func since(from, to *metav1.MicroTime) string {
	if to == nil {
		return "-"
	}
	return to.Sub(from.Time).Round(time.Millisecond).String()
}
