// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// fieldOwner of what a move writes into declarations.
const fieldOwner = client.FieldOwner("geosql-operator-publishermove")

// apply carries out the steps one after the other: statements, and changes of what is declared. Each may be carried out
// again. Objects are written as they were read: what somebody else changed meanwhile is looked at first.
func (r *Reconciler) apply(ctx context.Context, d Desired, _ Observed, p reconcile.Plan) error {
	return replication.CarryOut(ctx, r.reporter, d.Move, p, func(ctx context.Context, step replication.Step) error {
		switch s := step.(type) {
		case LetCompare:
			return r.annotate(ctx, d, s.Subscription, v1alpha1.InitializeCompare)
		case EndCompare:
			return r.annotate(ctx, d, s.Subscription, "")
		case KeepTables:
			return r.keepTables(ctx, d, s)
		case EndSubscription:
			return r.endSubscription(ctx, d, s)
		case Switch:
			return r.switchPublisher(ctx, d, s)
		}
		return r.engines(d).CarryOut(ctx, step)
	})
}

func (r *Reconciler) keepTables(ctx context.Context, d Desired, s KeepTables) error {
	if s.Topology == "" {
		return edit(ctx, r.hub, d.target(), func(x *v1alpha1.Subscription) { x.Spec.ReclaimPolicy = v1alpha1.ReclaimRetain })
	}
	return r.editTopology(ctx, d, func(spec *v1alpha1.TopologySpec) {
		for i := range spec.Subscriptions {
			if string(spec.Subscriptions[i].Name) == s.Subscription {
				spec.Subscriptions[i].ReclaimPolicy = v1alpha1.ReclaimRetain
			}
		}
	})
}

func (r *Reconciler) endSubscription(ctx context.Context, d Desired, s EndSubscription) error {
	if s.Topology == "" {
		return reconcile.Remove(ctx, r.hub, d.target())
	}
	return r.editTopology(ctx, d, func(spec *v1alpha1.TopologySpec) {
		spec.Subscriptions = slices.DeleteFunc(spec.Subscriptions,
			func(x v1alpha1.TopologySubscription) bool { return string(x.Name) == s.Subscription })
	})
}

func (r *Reconciler) switchPublisher(ctx context.Context, d Desired, s Switch) error {
	set := func(spec *v1alpha1.PublicationSpec) {
		spec.Publisher, spec.Database = v1alpha1.ServerOrGroup{Server: s.Publisher}, s.Database
		spec.Distributor, spec.MovedBy = s.Distributor, s.Move
	}
	if s.Topology == "" {
		return edit(ctx, r.hub, d.Publication, func(p *v1alpha1.Publication) { set(&p.Spec) })
	}
	return r.editTopology(ctx, d, func(spec *v1alpha1.TopologySpec) {
		for i := range spec.Publications {
			if string(spec.Publications[i].Name) == s.Publication {
				set(&spec.Publications[i].PublicationSpec)
			}
		}
	})
}

func (r *Reconciler) annotate(ctx context.Context, d Desired, name, value string) error {
	for i := range d.Subscriptions {
		if s := &d.Subscriptions[i]; s.Name == name {
			return edit(ctx, r.hub, s, func(x *v1alpha1.Subscription) {
				if value == "" {
					delete(x.Annotations, v1alpha1.InitializationAnnotation)
					return
				}
				if x.Annotations == nil {
					x.Annotations = map[string]string{}
				}
				x.Annotations[v1alpha1.InitializationAnnotation] = value
			})
		}
	}
	return nil
}

func (r *Reconciler) editTopology(ctx context.Context, d Desired, change func(*v1alpha1.TopologySpec)) error {
	return edit(ctx, r.hub, d.Topology, func(t *v1alpha1.Topology) { change(&t.Spec) })
}

// edit patches an object from what was read, and only if nobody else changed it since.
func edit[T client.Object](ctx context.Context, hub client.Client, object T, change func(T)) error {
	before := object.DeepCopyObject().(T)
	after := object.DeepCopyObject().(T)
	change(after)
	if err := hub.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		fieldOwner); err != nil {
		return fmt.Errorf("change %s/%s in the hub: %w", object.GetNamespace(), object.GetName(), err)
	}
	return nil
}
