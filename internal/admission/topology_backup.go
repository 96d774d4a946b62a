// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/topology"
)

// maxPolicyName is how long the name of a BackupPolicy may be that a Backup or a Restore is to name.
const maxPolicyName = 63

// topologyBackups checks the stores and policies that a Topology declares.
func (w *World) topologyBackups(at *field.Path, t *v1alpha1.Topology, objects *topology.Objects) field.ErrorList {
	errs := backupTargets(at, &t.Spec)
	at = at.Child("backupPolicies")
	for i := range t.Spec.BackupPolicies {
		errs = append(errs, backupPolicy(at.Index(i), &v1alpha1.BackupPolicy{
			Spec: t.Spec.BackupPolicies[i].BackupPolicySpec})...)
	}
	made := map[string]int{}
	for i, p := range objects.Policies {
		entry := objects.PolicyEntries[i]
		path := at.Index(entry).Child("name")
		refuse := func(why string, values ...any) {
			errs = append(errs, field.Invalid(path, t.Spec.BackupPolicies[entry].Name, fmt.Sprintf(why, values...)))
		}
		if other, twice := made[p.Name]; twice {
			refuse("it makes BackupPolicy %s, as %s does: use another name", p.Name, at.Index(other))
		}
		made[p.Name] = entry
		if len(p.Name) > maxPolicyName {
			refuse("it makes BackupPolicy %s, whose name may have at most %d characters: use a shorter one", p.Name,
				maxPolicyName)
		}
		errs = append(errs, testedBeside(at.Index(entry), p, objects)...)
		if was := w.Policies[p.Name]; was != nil && was.Spec.Target != p.Spec.Target {
			refuse("BackupPolicy %s exists with another target, which is immutable: use another name", p.Name)
		}
	}
	return errs
}

// testedBeside refuses a server for restore tests that the Topology backs up by the same entry, or makes a replica.
func testedBeside(at *field.Path, p *v1alpha1.BackupPolicy, objects *topology.Objects) (errs field.ErrorList) {
	if t := p.Spec.RestoreTest; t != nil && t.Server == p.Spec.Target.Server {
		errs = append(errs, field.Invalid(at.Child("restoreTest", "server"), t.Server,
			"it is among what the entry backs up: name another server, or give the entry a target"))
	}
	for _, g := range objects.Groups {
		errs = append(errs, testAtReplica(at, p, g)...)
	}
	return errs
}

// backupTargets refuses two entries about one target, and one about nothing.
func backupTargets(at *field.Path, spec *v1alpha1.TopologySpec) field.ErrorList {
	var errs field.ErrorList
	at = at.Child("backupPolicies")
	for i, p := range spec.BackupPolicies {
		path := at.Index(i).Child("target")
		first := slices.IndexFunc(spec.BackupPolicies, func(x v1alpha1.TopologyBackupPolicy) bool {
			return x.Target == p.Target
		})
		whole := p.Target == v1alpha1.ServerOrGroup{}
		switch {
		case first < i && whole:
			errs = append(errs, field.Required(path, fmt.Sprintf("%s has none either, and is for all that no entry names",
				at.Index(first))))
		case first < i:
			errs = append(errs, field.Invalid(path, string(p.Target.AvailabilityGroup)+string(p.Target.Server),
				fmt.Sprintf("%s is about it: each would remove what the other keeps", at.Index(first))))
		case whole && len(topology.BackupTargets(spec)) == 0:
			errs = append(errs, field.Required(path, "there is no group, and no server that declares databases or publishes "+
				"one: nothing would be backed up"))
		}
	}
	return errs
}

// topologyBackupRisks says what the policies of a Topology do not protect from.
func (w *World) topologyBackupRisks(at *field.Path, objects *topology.Objects) admission.Warnings {
	var all admission.Warnings
	for i, p := range objects.Policies {
		for _, risk := range w.backupRisks(at.Child("backupPolicies").Index(objects.PolicyEntries[i]), p) {
			if !slices.Contains(all, risk) {
				all = append(all, risk)
			}
		}
	}
	return all
}
