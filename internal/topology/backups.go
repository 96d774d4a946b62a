// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
)

// BackupTargets are what a Topology has to back up: its groups, and its servers that declare databases or publish one
// for themselves. What a subscription receives is a copy, and is at its publisher.
func BackupTargets(spec *v1alpha1.TopologySpec) []v1alpha1.ServerOrGroup {
	var targets []v1alpha1.ServerOrGroup
	for _, g := range spec.AvailabilityGroups {
		targets = append(targets, v1alpha1.ServerOrGroup{AvailabilityGroup: g.Name})
	}
	all := spec.ServerDefaults != nil && len(spec.ServerDefaults.Databases) > 0
	for _, s := range spec.Servers {
		publishes := slices.ContainsFunc(spec.Publications, func(p v1alpha1.TopologyPublication) bool {
			return p.Publisher.Server == s.Name
		})
		if all || publishes || len(s.Databases) > 0 {
			targets = append(targets, v1alpha1.ServerOrGroup{Server: s.Name})
		}
	}
	return targets
}

// policiesOf are the targets of an entry of spec.backupPolicies by the names of the BackupPolicies that it makes, in
// their order.
func policiesOf(spec *v1alpha1.TopologySpec, entry *v1alpha1.TopologyBackupPolicy) (
	names []string, targets []v1alpha1.ServerOrGroup) {
	if entry.Target != (v1alpha1.ServerOrGroup{}) {
		return []string{string(entry.Name)}, []v1alpha1.ServerOrGroup{entry.Target}
	}
	for _, target := range BackupTargets(spec) {
		if slices.ContainsFunc(spec.BackupPolicies, func(p v1alpha1.TopologyBackupPolicy) bool {
			return p.Target == target
		}) {
			continue // an entry of its own says how
		}
		names = append(names, string(entry.Name)+"-"+string(target.AvailabilityGroup)+string(target.Server))
		targets = append(targets, target)
	}
	return names, targets
}

// backups adds the stores and the policies.
func (o *Objects) backups(t *v1alpha1.Topology, spec *v1alpha1.TopologySpec) {
	for _, s := range spec.BackupStores {
		o.Stores = append(o.Stores, &v1alpha1.BackupStore{TypeMeta: kind("BackupStore"),
			ObjectMeta: meta(t, string(s.Name)), Spec: s.BackupStoreSpec})
	}
	for i := range spec.BackupPolicies {
		entry := &spec.BackupPolicies[i]
		names, targets := policiesOf(spec, entry)
		for j, name := range names {
			p := &v1alpha1.BackupPolicy{TypeMeta: kind("BackupPolicy"), ObjectMeta: meta(t, name),
				Spec: *entry.BackupPolicySpec.DeepCopy()}
			p.Spec.Target = targets[j]
			o.Policies = append(o.Policies, p)
			o.PolicyEntries = append(o.PolicyEntries, i)
		}
	}
}
