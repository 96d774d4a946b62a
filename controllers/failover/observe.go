// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
)

const (
	// voterTimeout bounds the questions to one voter.
	voterTimeout = 5 * time.Second
	// othersGrace is what the other voters get once a majority has answered: a person who asks for a failover must not
	// wait for the site that is lost. Three round trips to a site 150 ms away take less; one that is missed is read with
	// the next look.
	othersGrace = 500 * time.Millisecond
)

// Observed is a group with its Failovers and its votes as they were read.
type Observed struct {
	Now time.Time
	// Group is nil when there is none of the name.
	Group *v1alpha1.AvailabilityGroup
	// Failovers of the group, oldest first. Those that are being deleted are left out.
	Failovers []v1alpha1.Failover
	// Votes in the order of the group's voters; empty before the group was created.
	Votes requests.Votes
}

// observe reads a group, its Failovers and its votes. The Failovers are read from the API server: what was said of one
// a moment ago must be seen.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (Observed, error) {
	o := Observed{Now: r.now()}
	var group v1alpha1.AvailabilityGroup
	err := r.hub.Get(ctx, name, &group)
	switch {
	case err == nil:
		o.Group = r.confirmed.Of(&group)
	case !apierrors.IsNotFound(err):
		return o, fmt.Errorf("read AvailabilityGroup %s: %w", name, err)
	}
	var list v1alpha1.FailoverList
	if err := r.fresh.List(ctx, &list, client.InNamespace(name.Namespace)); err != nil {
		return o, fmt.Errorf("list the Failovers of namespace %s: %w", name.Namespace, err)
	}
	for _, f := range list.Items {
		if string(f.Spec.Group) == name.Name && f.DeletionTimestamp == nil {
			o.Failovers = append(o.Failovers, f)
		}
	}
	slices.SortFunc(o.Failovers, func(a, b v1alpha1.Failover) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	if o.Group != nil {
		o.Votes = r.votes(ctx, o.Group)
	}
	return o, nil
}

// votes reads the group's Lease at all its voters at once. Of those that have not answered soon after a majority has
// nothing is known.
func (r *Reconciler) votes(ctx context.Context, group *v1alpha1.AvailabilityGroup) requests.Votes {
	votes := make(requests.Votes, len(group.Status.Voters))
	ctx, cancel := context.WithTimeout(ctx, voterTimeout)
	defer cancel()
	var answered atomic.Int32
	var wg sync.WaitGroup
	for i, v := range group.Status.Voters {
		wg.Go(func() {
			member, err := r.voters.Voter(v.Site, group.Namespace)
			if err != nil {
				votes[i] = requests.Vote{Site: v.Site, Err: err}
				return
			}
			votes[i] = requests.Read(ctx, member.Reader, group.Namespace, group.Name)
			votes[i].Site = v.Site
			if votes[i].Err == nil && int(answered.Add(1)) == len(votes)/2+1 {
				time.AfterFunc(othersGrace, cancel)
			}
		})
	}
	wg.Wait()
	return votes
}
