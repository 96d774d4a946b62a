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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// Finalizer is on SQLServers and AvailabilityGroups that have names at sites.
const Finalizer = "geosql.dev/names"

// raceAgain is when an object is read again that somebody else changed meanwhile.
const raceAgain = 200 * time.Millisecond

// resync is how often names are looked at without an event.
const resync = time.Minute

type reconciler struct {
	hub    client.Client
	sites  *sites.Provider
	events events.EventRecorder
}

// SetupWithManager adds the two controllers of names, for SQLServers and for AvailabilityGroups.
func SetupWithManager(mgr mcmanager.Manager, provider *sites.Provider) error {
	local := mgr.GetLocalManager()
	r := &reconciler{hub: local.GetClient(), sites: provider, events: local.GetEventRecorder("geosql-names")}
	hub := []mcbuilder.ForOption{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	options := controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: 8}
	servers := sites.EnqueueHub(serversOf)
	err := mcbuilder.ControllerManagedBy(mgr).Named("names-server").
		For(&v1alpha1.SQLServer{}, hub...).
		Watches(&corev1.Pod{}, sites.EnqueueOwner(v1alpha1.LabelServer)).
		Watches(&corev1.Service{}, servers).
		Watches(&discoveryv1.EndpointSlice{}, sites.EnqueueOwner(v1alpha1.LabelServer)).
		WatchesRawSource(provider.Watch(r.everyServer)).
		WithOptions(options).
		Complete(serverReconciler{r})
	if err != nil {
		return fmt.Errorf("making the controller of servers' names: %w", err)
	}
	groups := sites.EnqueueHub(r.groupsNear)
	err = mcbuilder.ControllerManagedBy(mgr).Named("names-group").
		For(&v1alpha1.AvailabilityGroup{}, hub...).
		Watches(&corev1.Pod{}, groups).
		Watches(&corev1.Service{}, groups).
		Watches(&discoveryv1.EndpointSlice{}, sites.EnqueueOwner(v1alpha1.LabelGroup)).
		WatchesRawSource(provider.Watch(r.everyGroup)).
		WithOptions(options).
		Complete(groupReconciler{r})
	if err != nil {
		return fmt.Errorf("making the controller of listeners' names: %w", err)
	}
	return nil
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
	var list v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		g := &list.Items[i]
		server := obj.GetLabels()[v1alpha1.LabelServer]
		member := slices.ContainsFunc(g.Spec.Replicas, func(x v1alpha1.Replica) bool { return string(x.Server) == server })
		listener := listenerName(g)
		if member || obj.GetName() == listener || obj.GetName() == listener+readOnlySuffix || obj.GetLabels()[v1alpha1.LabelGroup] == g.Name {
			keys = append(keys, client.ObjectKeyFromObject(g))
		}
	}
	return keys
}

func (r *reconciler) everyServer(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
	var list v1alpha1.SQLServerList
	if err := r.hub.List(ctx, &list); err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys
}

func (r *reconciler) everyGroup(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
	var list v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &list); err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return keys
}

// finalize adds or removes the finalizer with a lock against others' changes.
func (r *reconciler) finalize(ctx context.Context, obj client.Object, add bool) error {
	before := client.MergeFromWithOptions(obj.DeepCopyObject().(client.Object), client.MergeFromWithOptimisticLock{})
	changed := false
	if add {
		changed = controllerutil.AddFinalizer(obj, Finalizer)
	} else {
		changed = controllerutil.RemoveFinalizer(obj, Finalizer)
	}
	if !changed {
		return nil
	}
	if err := client.IgnoreNotFound(r.hub.Patch(ctx, obj, before)); err != nil {
		return fmt.Errorf("changing the finalizer %s of %s/%s: %w", Finalizer, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// lostRace makes it quiet that somebody else changed the object meanwhile: it is read again.
func lostRace(ctx context.Context, result ctrl.Result, err error) (ctrl.Result, error) {
	if !apierrors.IsConflict(err) {
		return result, err
	}
	log.FromContext(ctx).V(1).Info("somebody else changed the object meanwhile", "cause", err.Error())
	return ctrl.Result{RequeueAfter: raceAgain}, nil
}

// carryOut plans and applies the names of all sites and says what came of it. desired returns a site's names; others
// with the owner's labels are taken away.
func (r *reconciler) carryOut(ctx context.Context, namespace string, labels map[string]string, views []*siteView, services []string,
	desired func(v1alpha1.SiteName) []name) *result {
	res := &result{failed: map[string]error{}}
	var all []siteSteps
	for _, v := range views {
		if v.member == nil {
			res.unknown = append(res.unknown, v.err.Error())
			continue
		}
		if err := v.readNames(ctx, namespace, services, labels); err != nil {
			res.failed[string(v.name)] = err
			continue
		}
		steps, conflicts := plan(v.name, desired(v.name), labels, v.has)
		res.conflicts = append(res.conflicts, conflicts...)
		all = append(all, siteSteps{v, steps})
	}
	for site, err := range apply(ctx, all) {
		res.failed[site] = err
	}
	for _, v := range views {
		if v.member != nil && res.failed[string(v.name)] == nil {
			res.published = append(res.published, string(v.name))
		}
	}
	return res
}

func (res *result) next() (ctrl.Result, error) {
	for _, err := range res.failed {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: resync}, nil
}
