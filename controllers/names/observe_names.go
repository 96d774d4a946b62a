// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// Observed is what is there of an object's names.
type Observed struct {
	Desired
	views []*siteView
	// names are the object's names at a site; nil when it is to have none any more.
	names func(v1alpha1.SiteName) []name
	// suspended tells that the object is: it keeps the names that it declared before.
	suspended bool
	// now is the time of the observation, wrong since when the names have been wrong at sites that keep them themselves.
	now   time.Time
	wrong map[v1alpha1.SiteName]time.Time
	// unknown says why it is not known where the names lead, addressless why they lead nowhere; empty otherwise.
	unknown, addressless string
	// awaited says which Service of type LoadBalancer has no address, empty when none is awaited.
	awaited string
	// nodeAddress is that of the server's node.
	nodeAddress string
}

// settling tells that a site may only be unknown because this process has just begun: names are made right where they
// can be, and what was reported before stays.
func (w Observed) settling() bool {
	return slices.ContainsFunc(w.views, func(v *siteView) bool { return v.settling })
}

// observeServerNames looks where a server is and what names it has.
func (r *reconciler) observeServerNames(ctx context.Context, d Desired, server *v1alpha1.SQLServer) (Observed, error) {
	self := v1alpha1.ServerName(server.Name)
	w, err := r.observeNames(ctx, d)
	if err != nil || goes(server) {
		return w, err
	}
	view, err := observeServer(ctx, r.reach, server.Namespace, self, server.Spec.Site)
	if err != nil {
		return w, err
	}
	left := slices.ContainsFunc(w.views, func(v *siteView) bool { return v.name == view.home && v.keeps && v.declares })
	view.lookUp(&r.lookups, client.ObjectKeyFromObject(server), w.now, left)
	view.opened = r.delays.opened(server.Namespace, w.views)
	w.names = func(at v1alpha1.SiteName) []name { return serverNames(server.Namespace, view, at) }
	w.nodeAddress, w.awaited = view.nodeAddress, view.awaited(server.Namespace, w.said(), w.now)
	switch {
	case !view.known:
		w.unknown = fmt.Sprintf("the address is not known: site %s, where the server runs, cannot be used", view.home)
	case view.address == "":
		w.addressless = fmt.Sprintf("pod %s at site %s has no address yet", podName(self), view.home)
	}
	return w, nil
}

// observeGroupNames looks where a group's primary and readable secondaries are and what names its listener has.
func (r *reconciler) observeGroupNames(
	ctx context.Context,
	d Desired,
	group *v1alpha1.AvailabilityGroup,
) (Observed, error) {
	w, err := r.observeNames(ctx, d)
	if err != nil || goes(group) {
		return w, err
	}
	view, err := r.observeGroup(ctx, group, w.views)
	if err != nil {
		return w, err
	}
	w.names = func(at v1alpha1.SiteName) []name { return groupNames(view, at) }
	if view.primary != nil {
		w.awaited = view.primary.awaited(group.Namespace, w.said(), w.now)
	}
	switch {
	case view.primary == nil:
		w.addressless = "no replica is known to be primary: the listener keeps its last address, if it had one"
	case !view.primary.known:
		w.unknown = fmt.Sprintf("the primary's address is not known: site %s cannot be used", view.primary.home)
	case view.primary.address == "":
		w.addressless = fmt.Sprintf("pod %s of the primary has no address yet", podName(view.primary.name))
	}
	return w, nil
}

// observeNames looks at all sites for Services of the object's names.
func (r *reconciler) observeNames(ctx context.Context, d Desired) (Observed, error) {
	w := Observed{Desired: d, now: time.Now(), wrong: r.wrongs.of(d.object)}
	why, err := reconcile.Suspension(ctx, r.hub, d.object)
	if err != nil {
		return w, err
	}
	w.suspended = why != ""
	if w.views, err = r.observeSites(ctx, w.object.GetNamespace()); err != nil {
		return w, err
	}
	for _, v := range w.views {
		if v.member != nil {
			if v.readErr = v.readNames(ctx, w.object.GetNamespace(), d.services, w.labels); v.readErr == nil {
				v.readErr = v.observeKeeping(ctx, w.object, w.now)
			}
		}
	}
	readLeads(ctx, w.views, w.object.GetNamespace(), w.labels)
	return w, nil
}

// said is what was said of the names last; nil when nothing was.
func (w Observed) said() *metav1.Condition {
	return meta.FindStatusCondition(w.conditions, v1alpha1.ConditionNamesReady)
}

// observeGroup finds out where the primary and the readable secondaries are.
func (r *reconciler) observeGroup(
	ctx context.Context,
	group *v1alpha1.AvailabilityGroup,
	views []*siteView,
) (*groupView, error) {
	view := &groupView{namespace: group.Namespace, name: group.Name,
		listener: v1alpha1.Listener{Name: listenerName(group), Port: listenerPort(group)}}
	find := func(server v1alpha1.ServerName) (*serverView, error) {
		object := &v1alpha1.SQLServer{}
		if err := r.hub.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: string(server)}, object); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		s, err := observeServer(ctx, r.reach, group.Namespace, server, object.Spec.Site)
		if err == nil {
			s.opened = r.delays.opened(group.Namespace, views)
		}
		return s, err
	}
	var list v1alpha1.SiteList
	if err := r.hub.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing Sites: %w", err)
	}
	view.links = linksOf(list.Items)
	primary, readable := groupServers(group)
	if err := findPrimary(view, primary, dataServers(group), find); err != nil {
		return nil, err
	}
	var err error
	if view.readable, err = findAll(readable, find); err != nil {
		return nil, err
	}
	findOthers(view, dataServers(group), find)
	barred, err := findAll(outside(group), find)
	view.bar(barred)
	return view, err
}
