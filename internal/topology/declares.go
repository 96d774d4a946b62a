// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
)

// Declares tells whether a Topology's manifest has the object.
func Declares(t *v1alpha1.Topology, kind, object string) bool {
	switch kind {
	case "AgentProfile":
		return has(t.Spec.AgentProfiles, object, func(x v1alpha1.TopologyAgentProfile) string { return string(x.Name) })
	case "SQLServer":
		return has(t.Spec.Servers, object, func(x v1alpha1.TopologyServer) string { return string(x.Name) })
	case "AvailabilityGroup":
		return has(
			t.Spec.AvailabilityGroups,
			object,
			func(x v1alpha1.TopologyAvailabilityGroup) string { return string(x.Name) },
		)
	case "Distributor":
		return has(t.Spec.Distributors, object, func(x v1alpha1.TopologyDistributor) string { return string(x.Name) })
	case "Publication":
		return has(t.Spec.Publications, object, func(x v1alpha1.TopologyPublication) string { return string(x.Name) })
	case "Subscription":
		return has(t.Spec.Subscriptions, object, func(x v1alpha1.TopologySubscription) string { return string(x.Name) })
	case "BackupStore":
		return has(t.Spec.BackupStores, object, func(x v1alpha1.TopologyBackupStore) string { return string(x.Name) })
	case "BackupPolicy":
		for i := range t.Spec.BackupPolicies {
			if names, _ := policiesOf(&t.Spec, &t.Spec.BackupPolicies[i]); slices.Contains(names, object) {
				return true
			}
		}
	}
	return false
}

func has[T any](list []T, name string, nameOf func(T) string) bool {
	for _, x := range list {
		if nameOf(x) == name {
			return true
		}
	}
	return false
}
