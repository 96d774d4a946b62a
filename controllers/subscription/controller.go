// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
)

const (
	// reconcileTimeout bounds one reconciliation.
	reconcileTimeout = 3 * time.Minute
	// lookAgain is when a subscription that is as it should be is looked at again: engines tell nobody of their changes.
	lookAgain = 15 * time.Second
	// lookSoon is when one that is being worked on is looked at again.
	lookSoon = 2 * time.Second
	workers  = 4
)

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Sidecar is the address of a server's sidecar; its Service's unless given.
	Sidecar func(namespace string, server v1alpha1.ServerName) string
}

// Reconciler of Subscriptions.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	sidecars  Sidecars
	address   func(namespace string, server v1alpha1.ServerName) string
	hub       client.Client
	events    events.EventRecorder
	now       func() time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=subscriptions,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=geosql.dev,resources=subscriptions/status,verbs=get;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publications;distributors;agentprofiles;sqlservers;availabilitygroups,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.Sidecar == nil {
		o.Sidecar = replication.SidecarAddress
	}
	local := mgr.GetLocalManager()
	access := mssql.SecretAccess{Reader: local.GetAPIReader()}
	r := &Reconciler{
		connector: o.Connector, access: access, address: o.Sidecar,
		sidecars: siteSidecars{sites: o.Sites, hub: local.GetClient(), access: access, address: o.Sidecar},
		hub:      local.GetClient(), events: local.GetEventRecorder("subscription"), now: time.Now,
	}
	hubOnly := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	builder := mcbuilder.ControllerManagedBy(mgr).Named("subscription").
		For(&v1alpha1.Subscription{}, hubOnly[0], hubOnly[1], mcbuilder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: workers,
			SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation})
	for _, obj := range []client.Object{&v1alpha1.Publication{}, &v1alpha1.Distributor{}, &v1alpha1.AgentProfile{}, &v1alpha1.AvailabilityGroup{}, &v1alpha1.SQLServer{}} {
		builder = builder.Watches(obj, sites.EnqueueHub(r.subscriptionsOf), hubOnly[0], hubOnly[1],
			mcbuilder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return builder.Complete(r)
}

// subscriptionsOf are the Subscriptions of an object's namespace.
func (r *Reconciler) subscriptionsOf(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	var list v1alpha1.SubscriptionList
	if err := r.hub.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
		log.FromContext(ctx).Error(err, "list the Subscriptions of the hub")
		return nil
	}
	var names []types.NamespacedName
	for i := range list.Items {
		names = append(names, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return names
}

// Reconcile brings one subscription a step nearer to what is declared.
func (r *Reconciler) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	var object v1alpha1.Subscription
	if err := r.hub.Get(ctx, request.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read Subscription %s: %w", request.NamespacedName, err)
	}
	deleting := object.DeletionTimestamp != nil
	if deleting && !controllerutil.ContainsFinalizer(&object, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if !deleting {
		if err := replication.SetFinalizer(ctx, r.hub, &object, "Subscription", true); err != nil {
			return ctrl.Result{}, err
		}
	}
	d, err := r.desire(ctx, &object)
	if err != nil && deleting && object.Spec.ReclaimPolicy != v1alpha1.ReclaimDelete {
		return ctrl.Result{}, replication.SetFinalizer(ctx, r.hub, &object, "Subscription", false)
	}
	if err != nil {
		p := replication.Plan{Outcome: conditions.InProgress(conditions.ReasonReferenceMissing, err.Error())}
		return ctrl.Result{RequeueAfter: lookSoon}, r.report(ctx, d, Observed{}, p, nil)
	}
	engines := replication.Engines{Connector: r.connector, Namespace: object.Namespace}
	o := observe(ctx, engines, r.sidecars, d, r.now())
	p := plan(d, o)
	if deleting {
		p = planDelete(d, o)
	}
	if p.Done {
		return ctrl.Result{}, replication.SetFinalizer(ctx, r.hub, &object, "Subscription", false)
	}
	failed := apply(ctx, engines, r.sidecars, d, p.Steps)
	if err := r.report(ctx, d, o, p, failed); err != nil {
		return ctrl.Result{}, errors.Join(failed, err)
	}
	return ctrl.Result{RequeueAfter: next(d, o, p, failed)}, nil
}

// next is when to look again when nothing else asks for it.
func next(d Desired, o Observed, p replication.Plan, failed error) time.Duration {
	switch {
	case failed != nil:
		return lookSoon
	case len(p.Steps) > 0:
		return lookSoon / 4
	case p.Outcome.Progress == conditions.Working, d.Publication != nil && d.mirrors() && !o.mirrored() && o.At.LastSnapshot != d.Subscription.Status.MirroredSnapshot:
		return lookSoon
	}
	return lookAgain + time.Duration(rand.Int64N(int64(lookAgain/4)))
}
