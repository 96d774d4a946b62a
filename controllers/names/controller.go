// SPDX-License-Identifier: Apache-2.0

// Package names gives every server and every listener one name that means the same at every site: a Service with a
// selector where the pod runs, a Service with an EndpointSlice to its address elsewhere. It needs of the hub only the
// objects' specs and the primary in a group's status, so that it can move into a process at each site.
package names

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/topology"
)

// Finalizer is on SQLServers and AvailabilityGroups that have names at sites.
const Finalizer = "geosql.dev/names"

// goes tells of an object that is being deleted and has nothing left but its names. Until then they stay right: a
// server that a group still names serves on, however long its deletion waits, and a group is dropped on its replicas by
// their names.
func goes(object client.Object) bool {
	return object.GetDeletionTimestamp() != nil && !controllerutil.ContainsFinalizer(object, v1alpha1.Finalizer)
}

const (
	// reconcileTimeout bounds one reconciliation; sites have deadlines of their own within it.
	reconcileTimeout = 30 * time.Second
	// lookStep is when names are looked at again after they were changed, lookSoon after a site refused a change.
	lookStep = time.Second
	lookSoon = 500 * time.Millisecond
	// lookAgain is when names are looked at without an event.
	lookAgain = time.Minute
)

type reconciler struct {
	hub client.Client
	// fresh reads the hub's API server itself.
	fresh  client.Reader
	sites  *sites.Provider
	events events.EventRecorder
	wrongs wrongs
	// settling is the while in which what was reported of sites stays.
	settling sites.Settling
	// lookups ask the DNS for hostnames of load balancers.
	lookups lookups
	// delays let load balancers begin to forward before sites are led there that do not try them.
	delays delays
}

// reach finds a site; the manager reaches all its namespaces in one way.
func (r *reconciler) reach(site v1alpha1.SiteName, _ string) (*sites.Member, error) {
	return r.sites.Member(site)
}

// SetupWithManager adds the two controllers of names, for SQLServers and for AvailabilityGroups.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers;availabilitygroups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers/status;availabilitygroups/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sites,verbs=get;list;watch
func SetupWithManager(mgr mcmanager.Manager, provider *sites.Provider) error {
	local := mgr.GetLocalManager()
	r := &reconciler{
		hub:    local.GetClient(),
		fresh:  local.GetAPIReader(),
		sites:  provider,
		events: local.GetEventRecorder("geosql-names"),
	}
	everyServer := func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
		return reconcile.Keys[*v1alpha1.SQLServer](ctx, r.hub, &v1alpha1.SQLServerList{}, "", nil)
	}
	err := reconcile.Controller(mgr, "names-server", &v1alpha1.SQLServer{}, reconcile.AsConfigured).
		Watches(&corev1.Pod{}, sites.EnqueueOwner(v1alpha1.LabelServer)).
		Watches(&corev1.Service{}, sites.EnqueueHub(serversOf)).
		Watches(&discoveryv1.EndpointSlice{}, sites.EnqueueOwner(v1alpha1.LabelServer)).
		WatchesRawSource(provider.Watch(everyServer)).
		WatchesRawSource(r.lookups.source()).
		Complete(reconcile.New(r.hub, r.servers()))
	if err != nil {
		return fmt.Errorf("making the controller of servers' names: %w", err)
	}
	everyGroup := func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
		return reconcile.Keys[*v1alpha1.AvailabilityGroup](ctx, r.hub, &v1alpha1.AvailabilityGroupList{}, "", nil)
	}
	groups := sites.EnqueueHub(r.groupsNear)
	err = reconcile.Controller(mgr, "names-group", &v1alpha1.AvailabilityGroup{}, reconcile.AsConfigured).
		Watches(&corev1.Pod{}, groups).
		Watches(&corev1.Service{}, groups).
		Watches(&discoveryv1.EndpointSlice{}, sites.EnqueueOwner(v1alpha1.LabelGroup)).
		WatchesRawSource(provider.Watch(everyGroup)).
		Complete(reconcile.New(r.hub, r.groups()))
	if err != nil {
		return fmt.Errorf("making the controller of listeners' names: %w", err)
	}
	return setupDeclarations(mgr, r, provider)
}

// kindOf fits one of the two kinds of names into the frame of all controllers.
func kindOf[O client.Object](
	r *reconciler,
	name string,
	empty func() O,
	desire func(context.Context, O) (Desired, error),
	observe func(context.Context, Desired, O) (Observed, error),
) reconcile.Kind[O, Desired, Observed] {
	return reconcile.Kind[O, Desired, Observed]{
		Name: name, New: empty, Finalizer: Finalizer, Timeout: reconcileTimeout, Repeats: true,
		// Whoever is elected has to be found, and a pod that comes back with another address.
		KeepsOn:      true,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookStep, Progress: lookSoon, Resync: lookAgain},
		Soon:         func(_ Desired, o Observed) bool { return o.settling() },
		Desire:       desire,
		Observe: func(ctx context.Context, d Desired) (Observed, error) {
			object, ok := d.object.(O)
			if !ok {
				return Observed{}, fmt.Errorf("names of %T are not known", d.object)
			}
			return observe(ctx, d, object)
		},
		Plan: planNames, PlanDelete: planDelete, Apply: apply, Report: r.reportNames,
		Stays: reconcile.WhileDeclared[O](r.fresh, topology.Declares),
	}
}

func (r *reconciler) servers() reconcile.Kind[*v1alpha1.SQLServer, Desired, Observed] {
	return kindOf(r, "SQLServer", func() *v1alpha1.SQLServer { return &v1alpha1.SQLServer{} },
		desireServerNames, r.observeServerNames)
}

func (r *reconciler) groups() reconcile.Kind[*v1alpha1.AvailabilityGroup, Desired, Observed] {
	return kindOf(r, "AvailabilityGroup", func() *v1alpha1.AvailabilityGroup { return &v1alpha1.AvailabilityGroup{} },
		desireGroupNames, r.observeGroupNames)
}

// serversOf maps a Service to its server: by label, or by name, since a foreign Service may stand in a server's way.
func serversOf(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	server, ok := strings.CutSuffix(obj.GetName(), "-0")
	if label := obj.GetLabels()[v1alpha1.LabelServer]; label != "" {
		server, ok = label, true
	}
	if !ok {
		return nil
	}
	return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: server}}
}

// groupsNear maps a pod or Service to the groups of its namespace that it can concern.
func (r *reconciler) groupsNear(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return reconcile.Keys(
		ctx,
		r.hub,
		&v1alpha1.AvailabilityGroupList{},
		obj.GetNamespace(),
		func(g *v1alpha1.AvailabilityGroup) bool {
			server := obj.GetLabels()[v1alpha1.LabelServer]
			member := slices.ContainsFunc(g.Spec.Replicas, func(x v1alpha1.Replica) bool { return string(x.Server) == server })
			listener := listenerName(g)
			return member || obj.GetName() == listener || obj.GetName() == listener+readOnlySuffix ||
				obj.GetLabels()[v1alpha1.LabelGroup] == g.Name
		},
	)
}
