// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

// keeper keeps the names of one site by itself: what there is, the hub has told it; where it is, it reads at the other
// sites. There is a request per namespace. It makes names and puts them right. It takes none away: that a name is no
// longer declared is for the manager to say, and a hub that was rebuilt and knows nothing yet must not empty a site.
type keeper struct {
	self     v1alpha1.SiteName
	provider *sites.Provider
	// lookups ask the DNS for hostnames of load balancers of the site's servers.
	lookups lookups
	// tries find out whether load balancers of other sites forward.
	tries tries
}

// SetupSite adds to the manager what keeps the names of the site itself. The provider's Source is a SiteSource.
func SetupSite(mgr mcmanager.Manager, provider *sites.Provider, self v1alpha1.SiteName) error {
	k := &keeper{self: self, provider: provider}
	here := mcbuilder.WithClusterFilter(
		func(name multicluster.ClusterName, _ crcluster.Cluster) bool { return string(name) == string(self) },
	)
	told := mcbuilder.WithPredicates(
		predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == orders.NamesObject }),
	)
	votes := mcbuilder.WithPredicates(predicate.And(
		predicate.NewPredicateFuncs(
			func(obj client.Object) bool { return obj.GetLabels()[v1alpha1.LabelGroup] != "" },
		),
		holderChanged(),
	))
	err := mcbuilder.ControllerManagedBy(mgr).Named("names-site").
		Watches(&corev1.Pod{}, sites.EnqueueHub(itsNamespace)).
		Watches(&corev1.Service{}, sites.EnqueueHub(itsNamespace)).
		Watches(&coordinationv1.Lease{}, sites.EnqueueHub(itsNamespace), votes).
		Watches(&discoveryv1.EndpointSlice{}, sites.EnqueueHub(itsNamespace), here).
		Watches(&corev1.ConfigMap{}, sites.EnqueueHub(itsNamespace), here, told).
		WatchesRawSource(provider.Watch(k.everyNamespace)).
		WatchesRawSource(k.lookups.source()).
		WatchesRawSource(k.tries.source()).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: 4,
			SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation}).
		Complete(k)
	if err != nil {
		return fmt.Errorf("making the controller of the site's names: %w", err)
	}
	return mgr.GetLocalManager().Add(presence{k})
}

func (k *keeper) everyNamespace(context.Context, v1alpha1.SiteName) []types.NamespacedName {
	own, err := k.provider.Member(k.self)
	if err != nil {
		return nil
	}
	var keys []types.NamespacedName
	for _, ns := range own.Namespaces {
		keys = append(keys, types.NamespacedName{Name: ns})
	}
	return keys
}

// peerName is the name under which a site is engaged for one namespace: the credentials are for that alone.
func peerName(site v1alpha1.SiteName, namespace string) v1alpha1.SiteName {
	return site + "." + v1alpha1.SiteName(namespace)
}

func (k *keeper) reach(site v1alpha1.SiteName, namespace string) (*sites.Member, error) {
	if site == k.self {
		return k.provider.Member(site)
	}
	return k.provider.Member(peerName(site, namespace))
}

// silent says whether a site has left the last heartbeat unanswered.
func (k *keeper) silent(site v1alpha1.SiteName, namespace string) bool {
	if site != k.self {
		site = peerName(site, namespace)
	}
	health, known := k.provider.Health(site)
	return known && health.Cause != nil
}

// Reconcile makes the names of one namespace right at the site.
func (k *keeper) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	namespace := request.Name
	own, err := k.provider.Member(k.self)
	if err == nil {
		err = own.CheckNamespace(namespace)
	}
	if err != nil {
		log.FromContext(ctx).V(1).Info("the site itself does not answer", "cause", err.Error())
		return ctrl.Result{RequeueAfter: lookSoon}, nil
	}
	told, err := readDeclared(ctx, own, namespace)
	if errors.Is(err, errNotTold) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	var errs []error
	if err != nil {
		// What can be read counts.
		errs = append(errs, err)
	}
	// Listeners first: for them clients wait.
	for _, group := range told.Groups {
		errs = append(errs, k.keepGroup(ctx, own, namespace, group, told))
	}
	for _, server := range told.Servers {
		errs = append(errs, k.keepServer(ctx, own, namespace, server))
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: lookAgain / 2}, nil
}

func (k *keeper) keepServer(ctx context.Context, own *sites.Member, namespace string, server orders.NamedServer) error {
	self := v1alpha1.ServerName(server.Name)
	view, err := observeServer(ctx, k.reach, namespace, self, v1alpha1.SiteName(server.Site))
	if err != nil {
		return err
	}
	view.opened = k.tries.opened(namespace)
	if view.home == k.self {
		view.lookUp(&k.lookups, types.NamespacedName{Name: namespace}, view.now, false)
	}
	return k.keep(
		ctx,
		own,
		namespace,
		ownLabels(namespace, v1alpha1.LabelServer, server.Name),
		allServerNames(self),
		serverNames(namespace, view, k.self),
		server.Suspended,
	)
}

func (k *keeper) keepGroup(
	ctx context.Context,
	own *sites.Member,
	namespace string,
	group orders.NamedGroup,
	told orders.Names,
) error {
	primary, claimant, readers := group.Primary, "", group.Readers
	if len(group.Voters) > 0 {
		primary, claimant = k.elected(ctx, namespace, group)
		readers = readersAfter(group, primary)
	}
	view := &groupView{namespace: namespace, name: group.Name, claimant: v1alpha1.ServerName(claimant),
		listener: v1alpha1.Listener{Name: group.Listener, Port: group.Port}, links: linksOf(toldSites(told))}
	find := func(server string) (*serverView, error) {
		at := slices.IndexFunc(told.Servers, func(s orders.NamedServer) bool { return s.Name == server })
		if at < 0 {
			return nil, nil
		}
		home := v1alpha1.SiteName(told.Servers[at].Site)
		s, err := observeServer(ctx, k.reach, namespace, v1alpha1.ServerName(server), home)
		if err != nil {
			return nil, err
		}
		s.silent, s.opened = k.silent(home, namespace), k.tries.opened(namespace)
		return s, nil
	}
	if err := findPrimary(view, primary, group.Servers, find); err != nil {
		return err
	}
	found, err := findAll(readers, find)
	if err != nil {
		return err
	}
	// One that the hub has not spoken of as a reader counts while its pod is ready.
	view.readable = slices.DeleteFunc(
		found,
		func(s *serverView) bool { return !slices.Contains(group.Readers, string(s.name)) && !s.ready },
	)
	findOthers(view, group.Servers, find)
	// Who holds the votes has the group: its engine takes leases for it. What the hub last saw is older.
	barred, err := findAll(
		slices.DeleteFunc(slices.Clone(group.Outside), func(s string) bool { return len(group.Voters) > 0 && s == primary }),
		find,
	)
	if err != nil {
		return err
	}
	view.bar(barred)
	services := []string{group.Listener, group.Listener + readOnlySuffix}
	return k.keep(
		ctx,
		own,
		namespace,
		ownLabels(namespace, v1alpha1.LabelGroup, group.Name),
		services,
		groupNames(view, k.self),
		group.Suspended,
	)
}

// toldSites are the sites with their links as the hub declares them.
func toldSites(told orders.Names) []v1alpha1.Site {
	var list []v1alpha1.Site
	for _, s := range told.Sites {
		site := v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
		for to, d := range s.Links {
			site.Spec.Links = append(
				site.Spec.Links,
				v1alpha1.SiteLink{To: v1alpha1.SiteName(to), RoundTrip: &metav1.Duration{Duration: d}},
			)
		}
		list = append(list, site)
	}
	return list
}

// readersAfter are the readable secondaries when the votes name another primary than the hub last knew: the former one
// may be read as far as the spec lets it.
func readersAfter(group orders.NamedGroup, primary string) []string {
	if primary == "" || primary == group.Primary {
		return group.Readers
	}
	readers := slices.DeleteFunc(slices.Clone(group.Readers), func(s string) bool { return s == primary })
	if slices.Contains(group.Readable, group.Primary) {
		readers = append(readers, group.Primary)
	}
	return readers
}

func (k *keeper) keep(
	ctx context.Context,
	own *sites.Member,
	namespace string,
	labels map[string]string,
	services []string,
	desired []name,
	suspended bool,
) error {
	view := &siteView{name: k.self, member: own, has: map[string]published{}}
	if err := view.readNames(ctx, namespace, services, labels); err != nil {
		return err
	}
	steps, conflicts := planOf(suspended, k.self, desired, labels, view.has)
	for _, c := range conflicts {
		log.FromContext(ctx).V(1).Info("a name is taken", "cause", c.text)
	}
	for _, s := range steps {
		log.FromContext(ctx).
			Info("step", "kind", s.kind, "object", s.object.GetName(), "namespace", namespace, "reason", s.reason)
	}
	return carryOut(ctx, []siteSteps{{view, steps}})[string(k.self)]
}

// presence tells the manager that the site keeps its names itself.
type presence struct{ *keeper }

// presenceEvery is how often a presence is renewed; presenceLife is a multiple of it.
const presenceEvery = 5 * time.Second

// Start renews the presence in every namespace until ctx ends.
func (p presence) Start(ctx context.Context) error {
	ticker := time.NewTicker(presenceEvery)
	defer ticker.Stop()
	for {
		if own, err := p.provider.Member(p.self); err == nil {
			for _, ns := range own.Namespaces {
				if err := p.renew(ctx, own, ns); err != nil && ctx.Err() == nil {
					log.FromContext(ctx).Info("the presence of the site could not be renewed", "namespace", ns, "cause", err.Error())
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (p presence) renew(ctx context.Context, own *sites.Member, namespace string) error {
	meta := told.Meta(namespace, orders.PresenceLease)
	meta.Labels[v1alpha1.LabelSite] = string(p.self)
	seconds, holder, now := int32(presenceLife/time.Second), string(p.self), nowMicro()
	return own.Apply(ctx, &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}})
}
