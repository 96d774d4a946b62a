// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// around is an object at which a move takes steps.
type around struct {
	kind   string
	object client.Object
}

// rests says why nothing is done with a move: something at which it takes steps is suspended, by itself or by its
// Topology. One that is over is a record, and one that is being deleted does nothing any more.
func (r *Reconciler) rests(ctx context.Context, m *v1alpha1.PublisherMove) (string, error) {
	if m.Status.Phase == v1alpha1.MoveCompleted || m.DeletionTimestamp != nil {
		return "", nil
	}
	all, err := r.around(ctx, m)
	if err != nil {
		return "", err
	}
	var reasons []string
	held := map[string][]string{}
	for _, one := range all {
		why, err := reconcile.Suspension(ctx, r.hub, one.object)
		if err != nil {
			return "", err
		}
		if why == "" {
			continue
		}
		if held[why] == nil {
			reasons = append(reasons, why)
		}
		held[why] = append(held[why], one.kind+" "+one.object.GetName())
	}
	for i, why := range reasons {
		are := "is"
		if len(held[why]) > 1 {
			are = "are"
		}
		reasons[i] = fmt.Sprintf("%s %s suspended (%s)", strings.Join(held[why], ", "), are, why)
	}
	return strings.Join(reasons, "; "), nil
}

// around are the objects at which a move takes steps, as far as they are declared: its Publication and the
// Subscriptions to that, the server that publishes next, the Distributor that distributes next and its server; and,
// until the Publication names the new publisher, the former Distributor and its server, unless that is lost or fenced.
func (r *Reconciler) around(ctx context.Context, m *v1alpha1.PublisherMove) ([]around, error) {
	var p v1alpha1.Publication
	if found, err := r.declared(ctx, m, string(m.Spec.Publication), &p, "Publication"); err != nil || !found {
		return nil, err
	}
	d := Desired{Move: m, Publication: &p}
	all := []around{{"Publication", &p}}
	var subscriptions v1alpha1.SubscriptionList
	if err := r.hub.List(ctx, &subscriptions, client.InNamespace(m.Namespace)); err != nil {
		return nil, fmt.Errorf("list the Subscriptions of namespace %s: %w", m.Namespace, err)
	}
	for i := range subscriptions.Items {
		if s := &subscriptions.Items[i]; s.Spec.Publication == m.Spec.Publication {
			all = append(all, around{"Subscription", s})
		}
	}
	servers := []v1alpha1.ServerName{m.Spec.To}
	distributors := []v1alpha1.ObjectName{d.distributor()}
	if former := d.formerDistributor(); !d.switched() && former != d.distributor() {
		distributors = append(distributors, former)
	}
	for i, name := range distributors {
		var x v1alpha1.Distributor
		found, err := r.declared(ctx, m, string(name), &x, "Distributor")
		if err != nil {
			return nil, err
		}
		lost := false
		if found && i > 0 {
			if lost, err = r.lost(ctx, m.Namespace, x.Spec.Server); err != nil {
				return nil, err
			}
			lost = lost || slices.Contains(m.Spec.FencedServers, x.Spec.Server)
		}
		if found && !lost {
			all, servers = append(all, around{"Distributor", &x}), append(servers, x.Spec.Server)
		}
	}
	for i, name := range servers {
		var s v1alpha1.SQLServer
		found, err := r.declared(ctx, m, string(name), &s, "SQLServer")
		if err != nil {
			return nil, err
		}
		if found && slices.Index(servers, name) == i {
			all = append(all, around{"SQLServer", &s})
		}
	}
	return all, nil
}

// declared reads an object of the move's namespace, which need not be there.
func (r *Reconciler) declared(ctx context.Context, m *v1alpha1.PublisherMove, name string, into client.Object,
	kind string,
) (bool, error) {
	if name == "" {
		return false, nil
	}
	return r.find(ctx, m, name, into, &Desired{}, kind)
}
