// SPDX-License-Identifier: Apache-2.0

package publication

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
	// reconcileTimeout bounds one reconciliation; the rebuild of a table may be among its steps.
	reconcileTimeout = 35 * time.Minute
	// lookAgain is when a publication that is as it should be is looked at again: engines tell nobody of their changes.
	lookAgain = 15 * time.Second
	// lookSoon is when one that is being worked on is looked at again.
	lookSoon = 2 * time.Second
	workers  = 4
)

// Options of the controller.
type Options struct {
	// Connector connects to servers.
	Connector *mssql.Connector
}

// Reconciler of Publications.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	hub       client.Client
	events    events.EventRecorder
	now       func() time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=publications,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=geosql.dev,resources=publications/status,verbs=get;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors;agentprofiles;sqlservers;availabilitygroups,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		connector: o.Connector, access: mssql.SecretAccess{Reader: local.GetAPIReader()},
		hub: local.GetClient(), events: local.GetEventRecorder("publication"), now: time.Now,
	}
	hubOnly := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	builder := mcbuilder.ControllerManagedBy(mgr).Named("publication").
		For(&v1alpha1.Publication{}, hubOnly[0], hubOnly[1], mcbuilder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: workers,
			SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation})
	for _, obj := range []client.Object{&v1alpha1.Distributor{}, &v1alpha1.AgentProfile{}, &v1alpha1.AvailabilityGroup{}, &v1alpha1.SQLServer{}} {
		builder = builder.Watches(obj, sites.EnqueueHub(r.publicationsOf), hubOnly[0], hubOnly[1],
			mcbuilder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return builder.Complete(r)
}

// publicationsOf are the Publications of an object's namespace.
func (r *Reconciler) publicationsOf(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	var list v1alpha1.PublicationList
	if err := r.hub.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
		log.FromContext(ctx).Error(err, "list the Publications of the hub")
		return nil
	}
	var names []types.NamespacedName
	for i := range list.Items {
		names = append(names, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return names
}

// Reconcile brings one publication a step nearer to what is declared.
func (r *Reconciler) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	var object v1alpha1.Publication
	if err := r.hub.Get(ctx, request.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read Publication %s: %w", request.NamespacedName, err)
	}
	deleting := object.DeletionTimestamp != nil
	if deleting && !controllerutil.ContainsFinalizer(&object, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if !deleting {
		if err := replication.SetFinalizer(ctx, r.hub, &object, "Publication", true); err != nil {
			return ctrl.Result{}, err
		}
	}
	d, err := r.desire(ctx, &object)
	if err != nil && deleting && object.Spec.ReclaimPolicy != v1alpha1.ReclaimDelete {
		return ctrl.Result{}, replication.SetFinalizer(ctx, r.hub, &object, "Publication", false)
	}
	if err != nil {
		p := replication.Plan{Outcome: conditions.InProgress(conditions.ReasonReferenceMissing, err.Error())}
		return ctrl.Result{RequeueAfter: lookSoon}, r.report(ctx, d, Observed{}, p, nil)
	}
	engines := replication.Engines{Connector: r.connector, Namespace: object.Namespace}
	o := observe(ctx, engines, d, r.now())
	p := plan(d, o)
	if deleting {
		p = planDelete(d, o)
	}
	if p.Done {
		return ctrl.Result{}, replication.SetFinalizer(ctx, r.hub, &object, "Publication", false)
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
