// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"maps"

	"geosql.dev/operator/api/v1alpha1"
)

// roles of the moment. Where nobody is known to be primary nobody is a secondary either: it might be the primary.
func (w *Observed) roles() {
	t, roles := w.target, map[v1alpha1.FaultRole]v1alpha1.ServerName{}
	if t.group == nil {
		roles[v1alpha1.RolePublisher] = t.publisher
	} else if primary := w.primary(); primary != "" {
		roles[v1alpha1.RolePrimary], roles[v1alpha1.RolePublisher] = primary, primary
		if secondary := w.secondary(primary); secondary != "" {
			roles[v1alpha1.RoleSecondary] = secondary
		}
	}
	if t.subscription == nil {
		delete(roles, v1alpha1.RolePublisher)
	} else {
		roles[v1alpha1.RoleDistributor] = t.distributor
		if t.subscriber != "" {
			roles[v1alpha1.RoleSubscriber] = t.subscriber
		}
	}
	clear(w.resolved.Roles)
	maps.Copy(w.resolved.Roles, roles)
}

// primary is the one server that says that it is, whatever the group's status says: another writes that later. The
// status counts for a server that was not asked or does not answer, as long as no other says that it is primary. Empty
// while they disagree.
func (w *Observed) primary() v1alpha1.ServerName {
	var primary v1alpha1.ServerName
	for _, replica := range w.target.group.Spec.Replicas {
		s := w.replicas[replica.Server]
		if s.group == nil || s.group.Role != "PRIMARY" {
			continue
		}
		if primary != "" {
			return ""
		}
		primary = replica.Server
	}
	if primary != "" {
		return primary
	}
	for _, replica := range w.target.group.Spec.Replicas {
		if sameServer(replica.Server, w.target.group.Status.Primary) && w.replicas[replica.Server].group == nil {
			return replica.Server
		}
	}
	return ""
}

// secondary is the first synchronous one beside a primary that does not say that it is something else.
func (w *Observed) secondary(primary v1alpha1.ServerName) v1alpha1.ServerName {
	for _, replica := range w.target.group.Spec.Replicas {
		s := w.replicas[replica.Server]
		if replica.Server != primary && replica.AvailabilityMode == v1alpha1.SynchronousCommit &&
			(s.group == nil || s.group.Role == "SECONDARY") {
			return replica.Server
		}
	}
	return ""
}
