// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

const (
	reconcileTimeout = 2 * time.Minute
	// lookAgain is when a login that is as declared is looked at again: engines tell nobody of what is changed by hand.
	lookAgain = 30 * time.Second
	// lookSoon is when one that is being worked on, or whose Secret is missing, is looked at again.
	lookSoon = 2 * time.Second
)

// statusOwner is the field manager of a Login's status.
const statusOwner = client.FieldOwner("geosql-operator-login")

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
}

// Reconciler of Logins.
type Reconciler struct {
	sites     *sites.Provider
	connector *mssql.Connector
	hub       client.Client
	// fresh reads from the hub's API server; Secrets are not cached.
	fresh    client.Reader
	reporter reconcile.Reporter
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=logins,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=logins/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers;availabilitygroups;sites,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch;delete
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{sites: o.Sites, connector: o.Connector, hub: local.GetClient(), fresh: local.GetAPIReader(),
		reporter: reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder("login"), Owner: statusOwner}}
	frame := reconcile.New(r.hub, reconcile.Kind[*v1alpha1.Login, Desired, Observed]{
		Name: "Login", New: func() *v1alpha1.Login { return &v1alpha1.Login{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon / 4, Progress: lookSoon, Stalled: lookAgain, Resync: lookAgain},
		Desire:       r.desireLogin, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	})
	err := reconcile.Controller(mgr, "login", &v1alpha1.Login{}, reconcile.AsConfigured, reconcile.SpecOrAnnotations()).
		Watches(&v1alpha1.AvailabilityGroup{}, sites.EnqueueHub(r.loginsOfGroup),
			reconcile.HubOnly(primaryMoved())...).
		WatchesRawSource(o.Sites.Watch(func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
			return reconcile.Keys[*v1alpha1.Login](ctx, r.hub, &v1alpha1.LoginList{}, "", nil)
		})).
		Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of Logins: %w", err)
	}
	return nil
}

func (r *Reconciler) loginsOfGroup(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return reconcile.Keys(ctx, r.hub, &v1alpha1.LoginList{}, obj.GetNamespace(), func(l *v1alpha1.Login) bool {
		// A server may be a replica of the group.
		return string(l.Spec.Target.AvailabilityGroup) == obj.GetName() || l.Spec.Target.Server != ""
	})
}

// primaryMoved lets changes of a group through that move its users' place, and those of its declaration.
func primaryMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.AvailabilityGroup)
		after, ok2 := e.ObjectNew.(*v1alpha1.AvailabilityGroup)
		return !ok || !ok2 || before.Generation != after.Generation || before.Status.Primary != after.Status.Primary
	}}
}
