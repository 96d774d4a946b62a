// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// checkOwner refuses a site that is another hub's, or that another copy of this hub took over, unless it is to be taken
// over. Then it notes the epoch, which is above that of every hub before.
func (r *Request) checkOwner(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	hub, err := sites.HubUID(ctx, r.Hub.Client)
	if err != nil {
		return err
	}
	r.self = sites.Owner{Hub: hub, Epoch: max(r.Spec.HubEpoch, 1)}
	leases, err := r.ownerLeases(ctx)
	if err != nil {
		return err
	}
	highest := r.self.Epoch
	for _, lease := range leases {
		owner := sites.ReadOwner(lease)
		highest = max(highest, owner.Epoch)
		another := owner.Hub != "" && owner.Hub != r.self.Hub
		if (another || owner != r.self && owner.Epoch >= r.self.Epoch) && !r.TakeOver {
			return &sites.OtherHubError{Site: v1alpha1.SiteName(r.Name), Namespace: lease.Namespace, Owner: owner, Self: r.self}
		}
	}
	if r.TakeOver {
		r.self.Epoch = highest + 1
		r.Spec.HubEpoch = r.self.Epoch
	}
	return nil
}

// ownerLeases reads whose the member is: in all its namespaces, since another hub may use others than this one, and the
// account and the cluster's rights are one for all. In an allowed namespace the Lease counts without its label too.
func (r *Request) ownerLeases(ctx context.Context) ([]*coordinationv1.Lease, error) {
	var all coordinationv1.LeaseList
	if err := r.member().Client.List(ctx, &all, client.MatchingLabels(sites.OwnLabels())); err != nil {
		return nil, fmt.Errorf("listing Leases at %s: %w", r.Name, err)
	}
	var leases []*coordinationv1.Lease
	seen := map[string]bool{}
	for i := range all.Items {
		if lease := &all.Items[i]; lease.Name == sites.OwnerLease {
			leases, seen[lease.Namespace] = append(leases, lease), true
		}
	}
	for _, ns := range r.Spec.AllowedNamespaces {
		if seen[ns] {
			continue
		}
		lease, err := r.ownerLease(ctx, ns)
		if err != nil {
			return nil, err
		}
		if lease != nil {
			leases = append(leases, lease)
		}
	}
	return leases, nil
}

// ownerLease reads whose a namespace of the member is; nil when it is nobody's.
func (r *Request) ownerLease(ctx context.Context, namespace string) (*coordinationv1.Lease, error) {
	w := &writer{r: r, cluster: r.member(), where: r.Name}
	at, err := w.current(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sites.OwnerLease},
	})
	if err != nil || at == nil {
		return nil, err
	}
	return at.(*coordinationv1.Lease), nil
}

// takeOver makes the site this hub's before anything else is changed there: from then on the former hub writes nothing.
// The version that was read decides between two that take over at once.
func (r *Request) takeOver(parent context.Context, w *writer) error {
	if !r.TakeOver {
		return nil
	}
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	leases, err := r.ownerLeases(ctx)
	cancel()
	if err != nil {
		return err
	}
	namespaces := slices.Clone(r.Spec.AllowedNamespaces)
	for _, lease := range leases {
		namespaces = append(namespaces, lease.Namespace)
	}
	slices.Sort(namespaces)
	for _, ns := range slices.Compact(namespaces) {
		ctx, cancel := context.WithTimeout(parent, callTimeout)
		err := r.takeNamespace(ctx, w, ns)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) takeNamespace(ctx context.Context, w *writer, namespace string) error {
	lease, err := r.ownerLease(ctx, namespace)
	if err != nil {
		return err
	}
	write := w.cluster.Client.Update
	former := "nobody"
	if lease == nil {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		write = func(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
			return w.cluster.Client.Create(ctx, obj, Owner)
		}
	} else {
		former = sites.ReadOwner(lease).String()
	}
	if sites.ReadOwner(lease).Epoch >= r.self.Epoch {
		return fmt.Errorf("another hub takes site %s over at the same time: Lease %s/%s names %s now; run this again",
			r.Name, namespace, sites.OwnerLease, former)
	}
	r.self.Write(lease)
	if w.r.DryRun {
		w.say(fmt.Sprintf("would be taken over from hub %s by %s", former, r.self), lease)
		return nil
	}
	if err := write(ctx, lease, Owner); err != nil {
		return fmt.Errorf("taking namespace %s of site %s over (Lease %s): %w", namespace, r.Name, sites.OwnerLease, err)
	}
	w.say(fmt.Sprintf("taken over from hub %s by %s", former, r.self), lease)
	return nil
}

// giveUp takes this hub's claims away from a site that leaves, so that another hub may join it. Those of another hub
// stay, and of a copy of this one, which have a higher epoch.
func (r *Request) giveUp(parent context.Context, w *writer) error {
	ctx, cancel := context.WithTimeout(parent, callTimeout)
	defer cancel()
	leases, err := r.ownerLeases(ctx)
	if err != nil {
		return err
	}
	for _, lease := range leases {
		if owner := sites.ReadOwner(lease); owner.Hub != r.self.Hub || owner.Epoch > r.self.Epoch {
			continue
		}
		if err := w.remove(parent, lease); err != nil {
			return err
		}
	}
	return nil
}
