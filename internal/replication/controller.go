// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/topology"
)

const (
	// lookStep is when an object is looked at again after steps.
	lookStep = 500 * time.Millisecond
	// lookSoon is when one that is being worked on is looked at again.
	lookSoon = 2 * time.Second
)

// Controller is the controller of a kind of replication: its verbs, with what all of these kinds have alike.
type Controller[O client.Object, D, V any] struct {
	// Name of the controller: the kind's, in lower case.
	Name string
	// Kind has the verbs, the time-out, and after which time an object that is as it should be is requeued. The rest of
	// the frame is set here.
	Kind reconcile.Kind[O, D, V]
	// List makes an empty list of the kind.
	List func() client.ObjectList
	// Near are kinds whose changes concern the objects of their namespace.
	Near []client.Object
	// Asked are kinds whose annotations, in which people ask for something, concern them too.
	Asked []client.Object
	// Heard are kinds whose status concerns the object that they name.
	Heard []Heard
	// Reclaim is what becomes of the object's things when it is deleted.
	Reclaim func(O) v1alpha1.ReclaimPolicy
	// Holds says how the deletion of an object goes on that has to take something away whatever Reclaim says, as a clause;
	// empty when there is nothing of the kind. Nil where there never is.
	Holds func(O) string
}

// Heard is a kind whose objects each concern one object of the controller.
type Heard struct {
	Kind client.Object
	// Says is what counts of such an object, empty for nothing: a change of it has the controller look.
	Says func(client.Object) string
	// Of is the name of the object that it concerns, in the same namespace.
	Of func(client.Object) v1alpha1.ObjectName
}

// watch has the controller look at the object that is concerned.
func (h Heard) watch(b *mcbuilder.Builder) *mcbuilder.Builder {
	enqueue := sites.EnqueueHub(func(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
		return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: string(h.Of(obj))}}
	})
	return b.Watches(h.Kind, enqueue, reconcile.HubOnly(reconcile.Changes(h.Says))...)
}

// NewReporter makes the reporter of a controller.
func NewReporter(local manager.Manager, controller string) reconcile.Reporter {
	return reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder(controller), Owner: "geosql-operator"}
}

// SetupWithManager adds the controller to the manager.
func (c Controller[O, D, V]) SetupWithManager(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	near := sites.EnqueueHub(func(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
		return reconcile.Keys[O](ctx, local.GetClient(), c.List(), obj.GetNamespace(), nil)
	})
	builder := reconcile.Controller(mgr, c.Name, c.Kind.New(), reconcile.AsConfigured, reconcile.SpecOrAnnotations())
	builder = reconcile.WatchHub(builder, near, c.Near...)
	for _, h := range c.Heard {
		builder = h.watch(builder)
	}
	return reconcile.WatchHubAsked(builder, near, c.Asked...).
		Complete(reconcile.New(local.GetClient(), c.frame(local.GetAPIReader())))
}

// frame completes the verbs; server reads from the hub's API server itself.
func (c Controller[O, D, V]) frame(server client.Reader) reconcile.Kind[O, D, V] {
	k := c.Kind
	k.Stays, k.Finalizer = reconcile.WhileDeclared[O](server, topology.Declares), v1alpha1.Finalizer
	k.RequeueAfter.Steps, k.RequeueAfter.Progress = lookStep, lookSoon
	k.Unresolved = c.unresolved
	return k
}

// unresolved waits for what the object refers to. An object that is being deleted and keeps its things goes although it
// is not known what it asked for, unless something holds it.
func (c Controller[O, D, V]) unresolved(object O, unknown error) reconcile.Plan {
	outcome := conditions.InProgress(v1alpha1.ReasonReferenceMissing, unknown.Error())
	if object.GetDeletionTimestamp() == nil {
		return reconcile.Plan{Outcome: outcome}
	}
	p, out := Plan{reconcile.Plan{Done: !v1alpha1.MayDestroy(object, c.Reclaim(object))}}, Retain
	if c.Holds != nil {
		if way := c.Holds(object); way != "" {
			p.Done, out = false, way
		}
	}
	p.Await(outcome, out)
	return p.Plan
}
