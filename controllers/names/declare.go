// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

// declarer tells the sites that keep their names themselves which names there are, and how to reach each other. There
// is a request per namespace.
type declarer struct{ *reconciler }

// setupDeclarations adds the controller to the manager.
func setupDeclarations(mgr mcmanager.Manager, r *reconciler, provider *sites.Provider) error {
	named := func(names ...string) mcbuilder.WatchesOption {
		return mcbuilder.WithPredicates(
			predicate.NewPredicateFuncs(func(obj client.Object) bool { return slices.Contains(names, obj.GetName()) }),
		)
	}
	// A presence is renewed all the time; that there is one is news once.
	begun := mcbuilder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false }})
	everywhere := func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName { return r.namespaces(ctx) }
	err := mcbuilder.ControllerManagedBy(mgr).Named("names-declared").
		Watches(&v1alpha1.SQLServer{}, sites.EnqueueHub(itsNamespace), reconcile.HubOnly()...).
		Watches(&v1alpha1.AvailabilityGroup{}, sites.EnqueueHub(itsNamespace), reconcile.HubOnly()...).
		Watches(&v1alpha1.Site{}, sites.EnqueueHub(itsNamespaces),
			reconcile.HubOnly(predicate.GenerationChangedPredicate{})...).
		Watches(&coordinationv1.Lease{}, sites.EnqueueHub(itsNamespace), named(orders.PresenceLease), begun).
		Watches(&corev1.ConfigMap{}, sites.EnqueueHub(itsNamespace), named(orders.NamesObject)).
		Watches(&corev1.Secret{}, sites.EnqueueHub(itsNamespace), named(orders.PeersObject)).
		WatchesRawSource(provider.Watch(everywhere)).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: 4,
			SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation}).
		Complete(declarer{r})
	if err != nil {
		return fmt.Errorf("making the controller of what sites are told of names: %w", err)
	}
	return nil
}

// itsNamespace is the request that concerns an object.
func itsNamespace(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return []types.NamespacedName{{Name: obj.GetNamespace()}}
}

// itsNamespaces are the requests that concern a Site.
func itsNamespaces(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	var keys []types.NamespacedName
	if site, ok := obj.(*v1alpha1.Site); ok {
		for _, ns := range site.Spec.AllowedNamespaces {
			keys = append(keys, types.NamespacedName{Name: ns})
		}
	}
	return keys
}

// namespaces are those that any Site allows.
func (r *reconciler) namespaces(ctx context.Context) []types.NamespacedName {
	var list v1alpha1.SiteList
	if err := r.hub.List(ctx, &list); err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, s := range list.Items {
		for _, ns := range s.Spec.AllowedNamespaces {
			if key := (types.NamespacedName{Name: ns}); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Reconcile tells each site that keeps the namespace's names itself.
func (d declarer) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	namespace := request.Name
	views, err := d.observeSites(ctx, namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := time.Now()
	before := map[v1alpha1.SiteName]told.Names{}
	var errs []error
	for _, v := range views {
		if v.member == nil || !present(ctx, v.member, namespace, now) {
			continue
		}
		// Before the hub is asked: a key that an object's finalizer takes away meanwhile does not come back.
		at, err := told.Read(ctx, v.member.Client, namespace)
		if err != nil {
			errs = append(errs, fmt.Errorf("site %s: %w", v.name, err))
			continue
		}
		before[v.name] = at
	}
	names, err := d.declared(ctx, namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, v := range views {
		if at, tell := before[v.name]; tell {
			errs = append(errs, tellNames(ctx, v.member, at, names), d.tellPeers(ctx, v.member, namespace, views, names, now))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: lookAgain / 2}, nil
}

// declared reads which names there are.
func (d declarer) declared(ctx context.Context, namespace string) (declaration, error) {
	var (
		names    declaration
		siteList v1alpha1.SiteList
		servers  v1alpha1.SQLServerList
		groups   v1alpha1.AvailabilityGroupList
	)
	if err := d.hub.List(ctx, &siteList); err != nil {
		return names, fmt.Errorf("listing Sites: %w", err)
	}
	for _, list := range []client.ObjectList{&servers, &groups} {
		if err := d.hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return names, fmt.Errorf("listing %T of namespace %s: %w", list, namespace, err)
		}
	}
	var all []client.Object
	for i := range servers.Items {
		if s := &servers.Items[i]; !goes(s) {
			all = append(all, s)
			names.Servers = append(names.Servers, orders.NamedServer{Name: s.Name, Site: string(s.Spec.Site)})
		}
	}
	for i := range groups.Items {
		if g := &groups.Items[i]; !goes(g) {
			all = append(all, g)
			names.Groups = append(names.Groups, namedGroup(g))
		}
	}
	if err := d.rests(ctx, all, &names); err != nil {
		return names, err
	}
	for i := range siteList.Items {
		s := &siteList.Items[i]
		if !slices.Contains(s.Spec.AllowedNamespaces, namespace) || siteGoes(s, servers.Items, groups.Items) {
			names.withdrawn = append(names.withdrawn, s.Name)
			continue
		}
		names.Sites = append(names.Sites, namedSite(*s))
	}
	return names, nil
}

// rests notes which objects are suspended: of those whose names were not begun with, which lack the names' finalizer,
// sites are told nothing new.
func (d declarer) rests(ctx context.Context, all []client.Object, names *declaration) error {
	suspended := map[string]bool{}
	for _, object := range all {
		why, err := reconcile.Suspension(ctx, d.hub, object)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		suspended[keyOf(object)] = true
		if !controllerutil.ContainsFinalizer(object, Finalizer) {
			names.resting = append(names.resting, keyOf(object))
		}
	}
	for i := range names.Groups {
		names.Groups[i].Suspended = suspended[orders.GroupKey(names.Groups[i].Name)]
	}
	for i := range names.Servers {
		names.Servers[i].Suspended = suspended[orders.ServerKey(names.Servers[i].Name)]
	}
	return nil
}

// siteGoes tells of a Site that is being deleted, and of which nothing in the namespace is left.
func siteGoes(s *v1alpha1.Site, servers []v1alpha1.SQLServer, groups []v1alpha1.AvailabilityGroup) bool {
	switch {
	case s.DeletionTimestamp == nil:
		return false
	case s.Spec.Lifecycle == v1alpha1.SiteLost:
		return true
	}
	return !slices.ContainsFunc(servers, func(x v1alpha1.SQLServer) bool { return string(x.Spec.Site) == s.Name }) &&
		!slices.ContainsFunc(groups, func(g v1alpha1.AvailabilityGroup) bool {
			return slices.ContainsFunc(g.Status.Voters, func(v v1alpha1.VoterStatus) bool { return v.Site == s.Name })
		})
}

func namedSite(s v1alpha1.Site) orders.NamedSite {
	n := orders.NamedSite{
		Name:     s.Name,
		Exposure: string(s.Spec.Exposure.Type),
		Lost:     s.Spec.Lifecycle == v1alpha1.SiteLost,

		LoadBalancer: s.Spec.Exposure.LoadBalancer,
	}
	for _, l := range s.Spec.Links {
		if l.RoundTrip == nil {
			continue
		}
		if n.Links == nil {
			n.Links = map[string]time.Duration{}
		}
		n.Links[string(l.To)] = l.RoundTrip.Duration
	}
	return n
}

func namedGroup(g *v1alpha1.AvailabilityGroup) orders.NamedGroup {
	n := orders.NamedGroup{Name: g.Name, Listener: listenerName(g), Port: listenerPort(g)}
	for _, voter := range g.Status.Voters {
		n.Voters = append(n.Voters, voter.Site)
	}
	for _, r := range g.Spec.Replicas {
		if r.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		n.Servers = append(n.Servers, string(r.Server))
		if r.Readable {
			n.Readable = append(n.Readable, string(r.Server))
		}
	}
	primary, readers := groupServers(g)
	n.Primary = string(primary)
	for _, r := range readers {
		n.Readers = append(n.Readers, string(r))
	}
	for _, s := range outside(g) {
		n.Outside = append(n.Outside, string(s))
	}
	return n
}

// tellNames writes the names into the site's ConfigMap, unless it has changed since it was read.
func tellNames(ctx context.Context, member *sites.Member, at told.Names, names declaration) error {
	keys, err := names.tell(at.Keys)
	if err != nil {
		return err
	}
	object, err := at.With(keys)
	if err != nil || object == nil {
		return err
	}
	if err := member.ApplyUnchanged(ctx, object); err != nil {
		return fmt.Errorf("at site %s: %w", member.Name(), err)
	}
	return nil
}

// tellPeers writes into the site's Secret how to reach each other site. A site that does not answer keeps its key, and
// so does one that the hub does not know.
func (d declarer) tellPeers(
	ctx context.Context,
	member *sites.Member,
	namespace string,
	views []*siteView,
	names declaration,
	now time.Time,
) error {
	var have corev1.Secret
	// From the API server: tokens must not be made again because a cache is behind.
	err := member.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PeersObject}, &have)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Secret %s/%s at site %s: %w", namespace, orders.PeersObject, member.Name(), err)
	}
	known, _ := orders.Peers(have.Data)
	data := map[string][]byte{}
	for key, value := range have.Data {
		if site, peer := strings.CutPrefix(key, orders.PeerKey("")); peer && names.unknown(site) {
			data[key] = value
		}
	}
	changed := false
	var errs []error
	for _, v := range views {
		if v.name == member.Name() {
			continue
		}
		before := known[string(v.name)]
		peer, err := before, error(nil)
		if v.member != nil {
			peer, err = d.peer(ctx, v.member, namespace, before, now)
		}
		if err != nil {
			errs = append(errs, err)
			peer = before
		}
		if peer.Token == "" {
			continue
		}
		changed = changed || peer.Token != before.Token || peer.Server != before.Server ||
			string(peer.CA) != string(before.CA) ||
			peer.TLSServerName != before.TLSServerName
		value, err := peer.Encode()
		if err != nil {
			return err
		}
		data[orders.PeerKey(string(v.name))] = value
	}
	if changed || len(data) != len(have.Data) {
		object := &corev1.Secret{
			ObjectMeta: told.Meta(namespace, orders.PeersObject),
			Type:       corev1.SecretTypeOpaque,
			Data:       data,
		}
		if err := member.Apply(ctx, object); err != nil {
			errs = append(errs, fmt.Errorf("at site %s: %w", member.Name(), err))
		}
	}
	return errors.Join(errs...)
}
