// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"geosql.dev/operator/api/v1alpha1"
)

// World is what objects are checked against: all Sites, and the objects of one namespace by name.
type World struct {
	Sites         map[string]*v1alpha1.Site
	Servers       map[string]*v1alpha1.SQLServer
	Groups        map[string]*v1alpha1.AvailabilityGroup
	Distributors  map[string]*v1alpha1.Distributor
	Profiles      map[string]*v1alpha1.AgentProfile
	Publications  map[string]*v1alpha1.Publication
	Subscriptions map[string]*v1alpha1.Subscription
	Logins        map[string]*v1alpha1.Login
	Stores        map[string]*v1alpha1.BackupStore
	Policies      map[string]*v1alpha1.BackupPolicy
	Topologies    map[string]*v1alpha1.Topology
	// strict is set for the world that a Topology makes: what is not there will not come later.
	strict bool
	// Placed has, for each site, the servers of all namespaces that run there, as namespace/name. It is filled for Sites
	// alone.
	Placed map[string][]string
	// Voting has, for each site, the groups of all namespaces that have a vote there, as Placed has servers.
	Voting map[string][]string
}

// NewWorld makes an empty world.
func NewWorld() *World {
	return &World{
		Sites: map[string]*v1alpha1.Site{}, Servers: map[string]*v1alpha1.SQLServer{},
		Groups:       map[string]*v1alpha1.AvailabilityGroup{},
		Distributors: map[string]*v1alpha1.Distributor{}, Profiles: map[string]*v1alpha1.AgentProfile{},
		Publications: map[string]*v1alpha1.Publication{}, Subscriptions: map[string]*v1alpha1.Subscription{},
		Logins: map[string]*v1alpha1.Login{},
		Stores: map[string]*v1alpha1.BackupStore{}, Policies: map[string]*v1alpha1.BackupPolicy{},
		Topologies: map[string]*v1alpha1.Topology{}, Placed: map[string][]string{},
		Voting: map[string][]string{},
	}
}

// load reads the Sites and the objects of a namespace; of all namespaces only where they run, when namespace is empty.
// Objects that are being deleted do not count.
func load(ctx context.Context, reader client.Reader, namespace string) (*World, error) {
	w := NewWorld()
	var siteList v1alpha1.SiteList
	if err := reader.List(ctx, &siteList); err != nil {
		return nil, fmt.Errorf("listing Sites: %w", err)
	}
	index(w.Sites, siteList.Items)
	if namespace == "" {
		return w, w.loadPlaced(ctx, reader)
	}
	var (
		servers       v1alpha1.SQLServerList
		groups        v1alpha1.AvailabilityGroupList
		distributors  v1alpha1.DistributorList
		profiles      v1alpha1.AgentProfileList
		publications  v1alpha1.PublicationList
		subscriptions v1alpha1.SubscriptionList
		logins        v1alpha1.LoginList
		stores        v1alpha1.BackupStoreList
		policies      v1alpha1.BackupPolicyList
		topologies    v1alpha1.TopologyList
	)
	for _, list := range []client.ObjectList{&servers, &groups, &distributors, &profiles, &publications, &subscriptions,
		&logins, &stores, &policies, &topologies} {
		if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing the objects of namespace %s: %w", namespace, err)
		}
	}
	index(w.Servers, servers.Items)
	index(w.Groups, groups.Items)
	index(w.Distributors, distributors.Items)
	index(w.Profiles, profiles.Items)
	index(w.Publications, publications.Items)
	index(w.Subscriptions, subscriptions.Items)
	index(w.Logins, logins.Items)
	index(w.Stores, stores.Items)
	index(w.Policies, policies.Items)
	index(w.Topologies, topologies.Items)
	return w, nil
}

func (w *World) loadPlaced(ctx context.Context, reader client.Reader) error {
	var servers v1alpha1.SQLServerList
	if err := reader.List(ctx, &servers); err != nil {
		return fmt.Errorf("listing SQLServers: %w", err)
	}
	for i := range servers.Items {
		s := &servers.Items[i]
		if ended(s) {
			continue
		}
		w.Placed[string(s.Spec.Site)] = append(w.Placed[string(s.Spec.Site)], s.Namespace+"/"+s.Name)
	}
	var groups v1alpha1.AvailabilityGroupList
	if err := reader.List(ctx, &groups); err != nil {
		return fmt.Errorf("listing AvailabilityGroups: %w", err)
	}
	for i := range groups.Items {
		g := &groups.Items[i]
		if ended(g) {
			continue
		}
		for _, v := range g.Status.Voters {
			w.Voting[v.Site] = append(w.Voting[v.Site], g.Namespace+"/"+g.Name)
		}
	}
	for _, lists := range []map[string][]string{w.Placed, w.Voting} {
		for _, list := range lists {
			slices.Sort(list)
		}
	}
	return nil
}

// ended tells of an object that is being deleted and has nothing left at any site but names, which the namespace of a
// site takes with it.
func ended(obj client.Object) bool {
	return obj.GetDeletionTimestamp() != nil && !controllerutil.ContainsFinalizer(obj, v1alpha1.Finalizer)
}

// index puts objects that are not being deleted under their names.
func index[T any, P interface {
	*T
	client.Object
}](into map[string]P, items []T) {
	for i := range items {
		if obj := P(&items[i]); obj.GetDeletionTimestamp() == nil {
			into[obj.GetName()] = obj
		}
	}
}

// sorted returns a map's values by key, so that messages are the same every time.
func sorted[V any](m map[string]V) []V {
	var values []V
	for _, k := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[k])
	}
	return values
}

// names lists a map's keys for a message.
func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
