// SPDX-License-Identifier: Apache-2.0

package distributor

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
	// lookAgain is when a distributor that is as it should be is looked at again: engines tell nobody of their changes.
	lookAgain = 30 * time.Second
	// lookSoon is when one that is being worked on is looked at again.
	lookSoon = 2 * time.Second
	workers  = 4
)

// Options of the controller.
type Options struct {
	// Connector connects to servers.
	Connector *mssql.Connector
}

// Reconciler of Distributors.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	hub       client.Client
	events    events.EventRecorder
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors/status,verbs=get;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publications;sqlservers;availabilitygroups,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		connector: o.Connector, access: mssql.SecretAccess{Reader: local.GetAPIReader()},
		hub: local.GetClient(), events: local.GetEventRecorder("distributor"),
	}
	hubOnly := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	builder := mcbuilder.ControllerManagedBy(mgr).Named("distributor").
		For(&v1alpha1.Distributor{}, hubOnly[0], hubOnly[1], mcbuilder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: workers,
			SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation})
	for _, obj := range []client.Object{&v1alpha1.Publication{}, &v1alpha1.AvailabilityGroup{}, &v1alpha1.SQLServer{}} {
		builder = builder.Watches(obj, sites.EnqueueHub(r.distributorsOf), hubOnly[0], hubOnly[1],
			mcbuilder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return builder.Complete(r)
}

// distributorsOf are the Distributors of an object's namespace.
func (r *Reconciler) distributorsOf(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	var list v1alpha1.DistributorList
	if err := r.hub.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
		log.FromContext(ctx).Error(err, "list the Distributors of the hub")
		return nil
	}
	var names []types.NamespacedName
	for i := range list.Items {
		names = append(names, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return names
}

// Reconcile brings one distributor a step nearer to what is declared.
func (r *Reconciler) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	var object v1alpha1.Distributor
	if err := r.hub.Get(ctx, request.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read Distributor %s: %w", request.NamespacedName, err)
	}
	deleting := object.DeletionTimestamp != nil
	if deleting && !controllerutil.ContainsFinalizer(&object, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if !deleting {
		if err := replication.SetFinalizer(ctx, r.hub, &object, "Distributor", true); err != nil {
			return ctrl.Result{}, err
		}
	}
	d, err := r.desire(ctx, &object)
	if err != nil && deleting && object.Spec.ReclaimPolicy != v1alpha1.ReclaimDelete {
		return ctrl.Result{}, replication.SetFinalizer(ctx, r.hub, &object, "Distributor", false)
	}
	if err != nil {
		p := replication.Plan{Outcome: conditions.InProgress(conditions.ReasonReferenceMissing, err.Error())}
		return ctrl.Result{RequeueAfter: lookSoon}, r.report(ctx, d, Observed{}, p, nil)
	}
	engines := replication.Engines{Connector: r.connector, Namespace: object.Namespace}
	o := observe(ctx, engines, d)
	p := plan(d, o)
	if deleting {
		p = planDelete(d, o)
	}
	if p.Done {
		return ctrl.Result{}, replication.SetFinalizer(ctx, r.hub, &object, "Distributor", false)
	}
	failed := apply(ctx, engines, p.Steps)
	if err := r.report(ctx, d, o, p, failed); err != nil {
		return ctrl.Result{}, errors.Join(failed, err)
	}
	return ctrl.Result{RequeueAfter: next(p, failed)}, nil
}

// next is when to look again when nothing else asks for it.
func next(p replication.Plan, failed error) time.Duration {
	switch {
	case failed != nil:
		return lookSoon
	case len(p.Steps) > 0:
		return lookSoon / 4
	case p.Outcome.Progress == conditions.Working:
		return lookSoon
	}
	return lookAgain + time.Duration(rand.Int64N(int64(lookAgain/4)))
}
