// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"maps"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql/credentials"
)

func nowMicro() metav1.MicroTime { return metav1.NowMicro() }

// elected is the server that a majority of the group's voters say holds their votes in one term and has been seen as
// PRIMARY in it, and claimant the one that holds them and has not been seen so yet; empty when the voters that answer
// do not add up to that.
func (k *keeper) elected(ctx context.Context, namespace string, group orders.NamedGroup) (elected, claimant string) {
	records, c := map[string]votes.Record{}, votes.Configuration{Voters: group.Voters}
	asked := map[string]bool{}
	for range ballot.MaxConfigurations {
		for _, voter := range c.Sites() {
			if asked[voter] {
				continue
			}
			asked[voter] = true
			member, err := k.reach(v1alpha1.SiteName(voter), namespace)
			if err != nil {
				continue
			}
			var lease coordinationv1.Lease
			if member.Client.Get(
				ctx,
				client.ObjectKey{Namespace: namespace, Name: votes.LeaseName(group.Name)},
				&lease,
			) != nil {
				continue
			}
			if record, err := votes.DecodeLease(&lease); err == nil {
				records[voter] = record
			}
		}
		// Whoever may write one Lease must not say who votes, or who is primary.
		records = c.Believed(records)
		newest := votes.Configured(c, slices.Collect(maps.Values(records))...)
		if newest.Same(c) {
			break
		}
		c = newest
	}
	return givenTo(votes.StateHeld, records, c), givenTo(votes.StateClaimed, records, c)
}

// givenTo counts the votes in a state, by site.
func givenTo(state votes.State, records map[string]votes.Record, c votes.Configuration) string {
	type vote struct {
		term   int64
		server string
	}
	for _, r := range records {
		v := vote{r.Term, r.Holder.Server}
		if r.State == state && c.Quorum(func(site string) bool {
			o, known := records[site]
			return known && o.State == state && v == vote{o.Term, o.Holder.Server}
		}) {
			return string(credentials.ServerOf(v.server))
		}
	}
	return ""
}

// holderChanged lets through what changes who holds a vote; renewals come every second or so.
func holderChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*coordinationv1.Lease)
		if !ok {
			return false
		}
		after, ok := e.ObjectNew.(*coordinationv1.Lease)
		if !ok {
			return false
		}
		old, oldErr := votes.DecodeLease(before)
		now, nowErr := votes.DecodeLease(after)
		return (oldErr == nil) != (nowErr == nil) || old.Voters != now.Voters || old.Term != now.Term ||
			old.State != now.State ||
			old.Holder.Server != now.Holder.Server
	}}
}
