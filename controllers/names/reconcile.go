// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
)

// serverReconciler keeps the names of one server.
type serverReconciler struct{ *reconciler }

// Reconcile makes a server's name right at every site that answers.
func (r serverReconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	return lostRace(ctx, result, err)
}

func (r serverReconciler) reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	server := &v1alpha1.SQLServer{}
	if err := r.hub.Get(ctx, req.NamespacedName, server); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	self := v1alpha1.ServerName(server.Name)
	labels := ownLabels(server.Namespace, v1alpha1.LabelServer, server.Name)
	views, err := r.observeSites(ctx, server.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	if server.DeletionTimestamp != nil {
		return r.remove(ctx, server, labels, views, allServerNames(self))
	}
	if err := r.finalize(ctx, server, true); err != nil {
		return ctrl.Result{}, err
	}
	view, err := r.observeServer(ctx, server.Namespace, self, server.Spec.Site)
	if err != nil {
		return ctrl.Result{}, err
	}
	res := r.carryOut(ctx, server.Namespace, labels, views, allServerNames(self), func(at v1alpha1.SiteName) []name {
		return serverNames(server.Namespace, view, at)
	})
	switch {
	case !view.known:
		res.unknown = append(res.unknown, fmt.Sprintf("the address is not known: site %s, where the server runs, cannot be used", view.home))
	case view.address == "":
		res.addressless = fmt.Sprintf("pod %s at site %s has no address yet", podName(self), view.home)
	}
	if err := r.report(ctx, server, server.Status.Conditions, res.condition(server.Generation)); err != nil {
		return ctrl.Result{}, err
	}
	return res.next()
}

// groupReconciler keeps the names of one group's listener.
type groupReconciler struct{ *reconciler }

// Reconcile makes a listener's names follow the roles at every site that answers.
func (r groupReconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	return lostRace(ctx, result, err)
}

func (r groupReconciler) reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	group := &v1alpha1.AvailabilityGroup{}
	if err := r.hub.Get(ctx, req.NamespacedName, group); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	labels := ownLabels(group.Namespace, v1alpha1.LabelGroup, group.Name)
	views, err := r.observeSites(ctx, group.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	services := []string{listenerName(group), listenerName(group) + readOnlySuffix}
	if group.DeletionTimestamp != nil {
		return r.remove(ctx, group, labels, views, services)
	}
	if err := r.finalize(ctx, group, true); err != nil {
		return ctrl.Result{}, err
	}
	view, err := r.observeGroup(ctx, group)
	if err != nil {
		return ctrl.Result{}, err
	}
	res := r.carryOut(ctx, group.Namespace, labels, views, services, func(at v1alpha1.SiteName) []name {
		return groupNames(view, at)
	})
	switch {
	case view.primary == nil:
		res.addressless = "no replica is known to be primary: the listener keeps its last address, if it had one"
	case !view.primary.known:
		res.unknown = append(res.unknown, fmt.Sprintf("the primary's address is not known: site %s cannot be used", view.primary.home))
	case view.primary.address == "":
		res.addressless = fmt.Sprintf("pod %s of the primary has no address yet", podName(view.primary.name))
	}
	if err := r.report(ctx, group, group.Status.Conditions, res.condition(group.Generation)); err != nil {
		return ctrl.Result{}, err
	}
	return res.next()
}

// observeGroup finds out where the primary and the readable secondaries are.
func (r *reconciler) observeGroup(ctx context.Context, group *v1alpha1.AvailabilityGroup) (*groupView, error) {
	view := &groupView{namespace: group.Namespace, name: group.Name,
		listener: v1alpha1.Listener{Name: listenerName(group), Port: listenerPort(group)}}
	find := func(server v1alpha1.ServerName) (*serverView, error) {
		object := &v1alpha1.SQLServer{}
		if err := r.hub.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: string(server)}, object); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return r.observeServer(ctx, group.Namespace, server, object.Spec.Site)
	}
	primary, readable := groupServers(group)
	var err error
	if primary != "" {
		if view.primary, err = find(primary); err != nil {
			return nil, err
		}
	}
	for _, server := range readable {
		s, err := find(server)
		if err != nil {
			return nil, err
		}
		if s != nil {
			view.readable = append(view.readable, s)
		}
	}
	return view, nil
}

// remove takes an object's names away everywhere, and the finalizer when that is done. It waits for sites that do not
// answer; a person who says that a site is lost releases it.
func (r *reconciler) remove(ctx context.Context, obj client.Object, labels map[string]string, views []*siteView, services []string) (ctrl.Result, error) {
	res := r.carryOut(ctx, obj.GetNamespace(), labels, views, services, func(v1alpha1.SiteName) []name { return nil })
	if len(res.failed) > 0 || len(res.unknown) > 0 {
		next, err := res.next()
		return next, err
	}
	return ctrl.Result{}, r.finalize(ctx, obj, false)
}
