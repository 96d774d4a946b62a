// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
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
	// workers are objects of one kind at the same time.
	workers = 4
)

// Kind is the verbs of a kind of replication, over what its objects desire (D) and what is observed (V).
type Kind[O client.Object, D, V any] struct {
	// Name of the kind and, in lower case, of its controller.
	Name, Controller string
	New              func() O
	// List makes an empty list of the kind.
	List func() client.ObjectList
	// Near are kinds whose changes concern the objects of their namespace.
	Near []client.Object
	// Asked are kinds whose annotations, in which people ask for something, concern them too.
	Asked []client.Object
	// Timeout bounds one reconciliation; LookAgain is when an object that is as it should be is looked at again.
	Timeout, LookAgain time.Duration
	// Reclaim is what becomes of the object's things when it is deleted.
	Reclaim func(O) v1alpha1.ReclaimPolicy
	// Desire finds out what an object asks for.
	Desire func(context.Context, O) (D, error)
	// Observe asks engines and sidecars. What does not answer is part of the observation.
	Observe func(context.Context, Engines, D) V
	// Plan and PlanDelete decide.
	Plan, PlanDelete func(D, V) Plan
	// Apply carries out the steps. Each may be carried out again.
	Apply func(context.Context, Engines, D, Plan) error
	// Report writes the status.
	Report func(ctx context.Context, d D, v V, p Plan, failed error) error
	// Soon tells of an object that is as it should be and is looked at again soon all the same. Optional.
	Soon func(D, V) bool
}

// NewReporter makes the reporter of a controller.
func NewReporter(local manager.Manager, controller string) reconcile.Reporter {
	return reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder(controller), Owner: "geosql-operator"}
}

// asked is an object with what it desires.
type asked[O client.Object, D any] struct {
	object  O
	desired D
}

// SetupWithManager adds the kind's controller to the manager.
func (k Kind[O, D, V]) SetupWithManager(mgr mcmanager.Manager, connector *mssql.Connector) error {
	hub, events := mgr.GetLocalManager().GetClient(), mgr.GetLocalManager().GetEventRecorder(k.Controller)
	near := sites.EnqueueHub(func(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
		return reconcile.Keys[O](ctx, hub, k.List(), obj.GetNamespace(), nil)
	})
	builder := reconcile.Controller(mgr, k.Controller, k.New(), workers, reconcile.SpecOrAnnotations())
	builder = reconcile.WatchHub(builder, near, k.Near...)
	return reconcile.WatchHubAsked(builder, near, k.Asked...).
		Complete(reconcile.New(hub, k.frame(connector, events, mgr.GetLocalManager().GetAPIReader())))
}

// frame fits the verbs into the frame of all kinds; server reads from the hub's API server itself.
func (k Kind[O, D, V]) frame(
	connector *mssql.Connector,
	recorder events.EventRecorder,
	server client.Reader,
) reconcile.Kind[O, asked[O, D], V] {
	engines := func(o O) Engines { return Engines{Connector: connector, Namespace: o.GetNamespace()} }
	frame := reconcile.Kind[O, asked[O, D], V]{
		Stays: reconcile.WhileDeclared[O](server, topology.Declares),
		Name:  k.Name, New: k.New, Finalizer: v1alpha1.Finalizer, Timeout: k.Timeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookStep, Progress: lookSoon, Resync: k.LookAgain},
		Desire: func(ctx context.Context, object O) (asked[O, D], error) {
			d, err := k.Desire(ctx, object)
			return asked[O, D]{object, d}, err
		},
		Unresolved: k.unresolved,
		Observe: func(ctx context.Context, a asked[O, D]) (V, error) {
			return k.Observe(ctx, engines(a.object), a.desired), nil
		},
		Plan:       func(a asked[O, D], v V) reconcile.Plan { return k.Plan(a.desired, v).Plan },
		PlanDelete: func(a asked[O, D], v V) reconcile.Plan { return k.PlanDelete(a.desired, v).Plan },
		Apply: func(ctx context.Context, a asked[O, D], _ V, p reconcile.Plan) error {
			err := k.Apply(ctx, engines(a.object), a.desired, Plan{p})
			if err == nil && p.Done {
				reconcile.Reporter{Events: recorder}.TellLeft(a.object, p.Left)
			}
			if err != nil && a.object.GetDeletionTimestamp() != nil {
				err = fmt.Errorf("%w; %s", err, Retain)
			}
			return err
		},
		Report: func(ctx context.Context, a asked[O, D], v V, p reconcile.Plan, failed error) error {
			return k.Report(ctx, a.desired, v, Plan{p}, failed)
		},
	}
	if k.Soon != nil {
		frame.Soon = func(a asked[O, D], v V) bool { return k.Soon(a.desired, v) }
	}
	return frame
}

// unresolved waits for what the object refers to. An object that is being deleted and keeps its things goes although it
// is not known what it asked for.
func (k Kind[O, D, V]) unresolved(object O, unknown error) reconcile.Plan {
	outcome := conditions.InProgress(v1alpha1.ReasonReferenceMissing, unknown.Error())
	if object.GetDeletionTimestamp() == nil {
		return reconcile.Plan{Outcome: outcome}
	}
	p := Plan{reconcile.Plan{Done: !v1alpha1.MayDestroy(object, k.Reclaim(object))}}
	p.Await(outcome, Retain)
	return p.Plan
}
