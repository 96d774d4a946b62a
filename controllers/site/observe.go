// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

// Observed is what is known of a Site.
type Observed struct {
	Desired
	now          time.Time
	unknownAfter time.Duration
	// health is what the heartbeat knows; known is false before the provider has seen the Site.
	health sites.Health
	known  bool
	// hub is the Site that the hub itself is, where the manager runs; empty when it is none, or this one.
	hub v1alpha1.SiteName
	// sites are all Sites, and servers all SQLServers; answers are what the agents of those at the site say of links.
	sites   []v1alpha1.Site
	servers []v1alpha1.SQLServer
	answers []answer
	// storage is what the site has, nil when it could not be read; storageErr says why.
	storage    *storage
	storageErr error
	// member is the engaged site, nil when it can't be used; token is that of its kubeconfig, empty when it has none that
	// ends.
	member *sites.Member
	token  sites.Token
	// former is what revokes the token before that one; empty when that is done.
	former sites.BoundSecret
	// renewed is when this manager last tried to renew the token, and what came of it.
	renewed attempt
	// users are the SQLServers that run at the site, as namespace/name.
	users []string
	// voting are the groups of which a vote is at the site, as namespace/name.
	voting []string
	// told are the sites that were told of this one, and can be reached; read when it is being deleted.
	told []toldSite
}

// toldSite is what a site was told in a namespace.
type toldSite struct {
	member    *sites.Member
	namespace string
	names     told.Names
}

// storage is what decides where volumes can live.
type storage struct {
	classes    []storagev1.StorageClass
	capacities []storagev1.CSIStorageCapacity
	nodes      []corev1.Node
	csiNodes   []storagev1.CSINode
}

// observe reads everything and decides nothing.
func (r *reconciler) observe(ctx context.Context, d Desired) (*Observed, error) {
	site, o := d.site, &Observed{Desired: d, now: time.Now(), unknownAfter: r.sites.UnknownAfter()}
	name := v1alpha1.SiteName(site.Name)
	o.health, o.known = r.sites.Health(name)
	var all v1alpha1.SiteList
	if err := r.hub.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing Sites: %w", err)
	}
	o.sites, o.hub = all.Items, hubSite(site, all.Items)
	if member, err := r.sites.Member(name); err == nil {
		o.storage, o.storageErr = readStorage(ctx, member.Client)
		if site.Spec.KubeconfigSecretRef != nil && member.RESTConfig != nil {
			o.member = member
			o.token, _ = sites.ReadToken(member.RESTConfig.BearerToken)
			o.renewed = r.renewed[name]
			if err := r.observeFormer(ctx, o); err != nil {
				return nil, err
			}
		}
	}
	var servers v1alpha1.SQLServerList
	if err := r.hub.List(ctx, &servers); err != nil {
		return nil, fmt.Errorf("listing SQLServers: %w", err)
	}
	o.servers, o.answers = servers.Items, answers(name, servers.Items, r.heard)
	for i := range servers.Items {
		if servers.Items[i].Spec.Site == name {
			o.users = append(o.users, servers.Items[i].Namespace+"/"+servers.Items[i].Name)
		}
	}
	sort.Strings(o.users)
	var groups v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &groups); err != nil {
		return nil, fmt.Errorf("listing AvailabilityGroups: %w", err)
	}
	for i := range groups.Items {
		g := &groups.Items[i]
		if slices.ContainsFunc(g.Status.Voters, func(v v1alpha1.VoterStatus) bool { return v.Site == site.Name }) {
			o.voting = append(o.voting, g.Namespace+"/"+g.Name)
		}
	}
	sort.Strings(o.voting)
	if site.DeletionTimestamp != nil {
		return o, o.readTold(ctx, r.sites.Members())
	}
	return o, nil
}

// hubSite is the Site that the hub itself is, unless it is the given one.
func hubSite(site *v1alpha1.Site, all []v1alpha1.Site) v1alpha1.SiteName {
	for i := range all {
		if s := &all[i]; s.Spec.KubeconfigSecretRef == nil && s.Name != site.Name {
			return v1alpha1.SiteName(s.Name)
		}
	}
	return ""
}

// readTold looks where the site is among those that others were told of, from their caches. One that does not answer is
// not waited for: what it keeps is a site that it cannot reach.
func (o *Observed) readTold(ctx context.Context, members []*sites.Member) error {
	for _, m := range members {
		for _, ns := range m.Namespaces {
			names, err := told.Read(ctx, m.Client, ns)
			if err != nil {
				return fmt.Errorf("at site %s: %w", m.Name(), err)
			}
			if m.Name() != v1alpha1.SiteName(o.site.Name) && names.Has(orders.SiteKey(o.site.Name)) {
				o.told = append(o.told, toldSite{m, ns, names})
			}
		}
	}
	return nil
}

// observeFormer looks whether a token before the one in use is to be revoked, until there is none: once for each.
func (r *reconciler) observeFormer(ctx context.Context, o *Observed) (err error) {
	name, uid := o.member.Name(), o.token.Secret.UID
	if uid == "" || r.revoked[name] == uid {
		return nil
	}
	if o.former, err = sites.FormerToken(ctx, r.hub, r.sites.Namespace(), o.site); err == nil && o.former.UID == "" {
		r.revoked[name] = uid
	}
	return err
}

func readStorage(ctx context.Context, reader client.Reader) (*storage, error) {
	var (
		classes    storagev1.StorageClassList
		capacities storagev1.CSIStorageCapacityList
		nodes      corev1.NodeList
		csiNodes   storagev1.CSINodeList
	)
	for _, list := range []client.ObjectList{&classes, &capacities, &nodes, &csiNodes} {
		if err := reader.List(ctx, list); err != nil {
			return nil, fmt.Errorf("reading the storage of the site: %w", err)
		}
	}
	return &storage{classes.Items, capacities.Items, nodes.Items, csiNodes.Items}, nil
}
