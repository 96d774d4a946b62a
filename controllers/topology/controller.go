// SPDX-License-Identifier: Apache-2.0

// Package topology expands a Topology into SQLServers, AvailabilityGroups, Distributors, AgentProfiles, Publications and
// Subscriptions, keeps them as the manifest says, takes away those that left it, and sums up their state. It works on
// objects of the hub alone; what becomes of data is decided by each object's own reclaim policy.
package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
)

const (
	// reconcileTimeout bounds one reconciliation: at most 112 objects are written.
	reconcileTimeout = time.Minute
	// callTimeout bounds one call of the hub's API server.
	callTimeout = 10 * time.Second
	// lookAgain is when a topology is looked at again although nothing of it changed.
	lookAgain = 5 * time.Minute
	// lookStuck is when objects that the API server refused are tried again: what it checks them against (another
	// object, a Site) may have changed.
	lookStuck = 30 * time.Second
	// lookSoon is when a topology that is being worked on is looked at again.
	lookSoon = 2 * time.Second
)

// Reconciler of Topologies.
type Reconciler struct {
	hub client.Client
	// fresh reads from the API server: whether an object exists that is to be made is not asked of a cache.
	fresh  client.Reader
	events events.EventRecorder
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies/status,verbs=get;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies/finalizers,verbs=update
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers;availabilitygroups;distributors;agentprofiles;publications;subscriptions,verbs=get;list;watch;create;patch;delete
func SetupWithManager(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{hub: local.GetClient(), fresh: local.GetAPIReader(), events: local.GetEventRecorder("topology")}
	builder := ctrl.NewControllerManagedBy(local).Named("topology").
		For(&v1alpha1.Topology{}).
		// One at a time: two Topologies that declare one object are decided one after the other.
		WithOptions(controller.Options{MaxConcurrentReconciles: 1})
	for _, k := range kinds {
		builder = builder.Watches(k.object(), handler.EnqueueRequestsFromMapFunc(r.declaring(k.name)))
	}
	if err := builder.Complete(r); err != nil {
		return fmt.Errorf("making the controller of Topologies: %w", err)
	}
	return nil
}

// declaring maps an object of a kind to the Topology that owns it and to those that declare its name: one of them may
// have waited for it to go.
func (r *Reconciler) declaring(kind string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list v1alpha1.TopologyList
		if err := r.hub.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "list the Topologies of the hub")
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			t := &list.Items[i]
			if obj.GetLabels()[v1alpha1.LabelTopology] == t.Name || declares(t, Key{kind, obj.GetName()}) {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: t.Namespace, Name: t.Name}})
			}
		}
		return requests
	}
}

// Reconcile brings the objects of one Topology to what it declares.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	var t v1alpha1.Topology
	if err := r.hub.Get(ctx, request.NamespacedName, &t); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read Topology %s: %w", request.NamespacedName, err)
	}
	deleting := t.DeletionTimestamp != nil
	if deleting && !controllerutil.ContainsFinalizer(&t, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if !deleting && !controllerutil.ContainsFinalizer(&t, v1alpha1.Finalizer) {
		if err := r.setFinalizer(ctx, &t, true); err != nil {
			return ctrl.Result{}, err
		}
	}
	observed, err := r.observe(ctx, &t)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := plan(Desire(&t), observed)
	if deleting {
		p = planDelete(&t, observed)
	}
	if p.Done {
		return ctrl.Result{}, r.setFinalizer(ctx, &t, false)
	}
	failed := r.apply(ctx, p.Steps)
	if err := r.report(ctx, &t, p, failed); err != nil {
		return ctrl.Result{}, errors.Join(failed.transient(), err)
	}
	if err := failed.transient(); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: next(p, failed)}, nil
}

// next is when to look again when no object asks for it.
func next(p Plan, failed failures) time.Duration {
	switch {
	case len(failed) > 0:
		return lookStuck
	case len(p.Steps) > 0:
		return lookSoon
	case p.Outcome.Progress == conditions.Stuck:
		return lookStuck
	}
	return lookAgain
}

func (r *Reconciler) setFinalizer(ctx context.Context, t *v1alpha1.Topology, on bool) error {
	before := client.MergeFromWithOptions(t.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if on {
		controllerutil.AddFinalizer(t, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(t, v1alpha1.Finalizer)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := r.hub.Patch(ctx, t, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer of Topology %s/%s: %w", t.Namespace, t.Name, err)
	}
	return nil
}
