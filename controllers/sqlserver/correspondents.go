// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
)

// correspondents are the servers of all publications in which a server has a part.
func correspondents(name v1alpha1.ServerName, around Surroundings) []v1alpha1.ServerName {
	var all []v1alpha1.ServerName
	for _, circle := range replicating(around) {
		if slices.Contains(circle, name) {
			all = append(all, circle...)
		}
	}
	return all
}

// circles are servers that connect to each other: those that replicate, and the replicas of each group.
func circles(around Surroundings) [][]v1alpha1.ServerName {
	all := replicating(around)
	for _, g := range around.Groups {
		all = append(all, around.serversOf(v1alpha1.ServerOrGroup{AvailabilityGroup: v1alpha1.ObjectName(g.Name)}))
	}
	return all
}

// replicating are the servers of each publication. Pull agents connect to distributor and publisher, push agents and
// log readers run at the distributor, and a subscriber's sidecar fetches snapshots from that of the distributor. A
// distributor and its publishers are set up before there is a publication, and the server that becomes a publisher is
// connected to after its subscription has ended.
func replicating(around Surroundings) (all [][]v1alpha1.ServerName) {
	for _, p := range around.Publications {
		servers := around.replicating(p)
		all = append(all, servers)
		for _, m := range around.Moves {
			if string(m.Spec.Publication) != p.Name || m.Status.Phase == v1alpha1.MoveCompleted {
				continue
			}
			moving := append(slices.Clone(servers), m.Spec.To)
			moving = append(moving, around.distributing(m.Spec.Distributor)...)
			moving = append(moving, around.distributing(m.Status.FromDistributor)...)
			if m.Status.From != nil {
				moving = append(moving, around.serversOf(*m.Status.From)...)
			}
			all = append(all, moving)
		}
	}
	for _, x := range around.Distributors {
		for _, p := range x.Spec.Publishers {
			all = append(all, append(around.serversOf(p), x.Spec.Server))
		}
	}
	return all
}

// senders are those whose sidecars may send backups to that of a server which keeps a store, or be told to restore from
// it: all of the namespace.
func senders(name v1alpha1.ServerName, around Surroundings) (all []v1alpha1.ServerName) {
	if !slices.ContainsFunc(around.Stores, func(s v1alpha1.BackupStore) bool {
		return s.Spec.Volume != nil && s.Spec.Volume.Server == name
	}) {
		return nil
	}
	for _, s := range around.Servers {
		if s.Name != string(name) {
			all = append(all, v1alpha1.ServerName(s.Name))
		}
	}
	return all
}

// replicating are the servers of a publication: publisher, distributor and subscribers.
func (s Surroundings) replicating(p v1alpha1.Publication) []v1alpha1.ServerName {
	servers := append(s.serversOf(p.Spec.Publisher), s.distributing(p.Spec.Distributor)...)
	for _, x := range s.Subscriptions {
		if string(x.Spec.Publication) == p.Name {
			servers = append(servers, s.serversOf(x.Spec.Subscriber)...)
		}
	}
	return servers
}

// distributing is the server of a Distributor; none where there is no such one.
func (s Surroundings) distributing(name v1alpha1.ObjectName) (servers []v1alpha1.ServerName) {
	for _, x := range s.Distributors {
		if x.Name == string(name) {
			servers = append(servers, x.Spec.Server)
		}
	}
	return servers
}

// serversOf is the server, or the replicas of the group.
func (s Surroundings) serversOf(who v1alpha1.ServerOrGroup) (servers []v1alpha1.ServerName) {
	if who.Server != "" {
		return []v1alpha1.ServerName{who.Server}
	}
	for _, g := range s.Groups {
		if g.Name != string(who.AvailabilityGroup) {
			continue
		}
		for _, r := range g.Spec.Replicas {
			servers = append(servers, r.Server)
		}
	}
	return servers
}
