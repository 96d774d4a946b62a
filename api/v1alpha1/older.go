// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Older says which of two objects of a kind and namespace came first: by age, then by name, since a creation's time has
// whole seconds.
func Older(a, b metav1.Object) bool {
	first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if first.Equal(&second) {
		return a.GetName() < b.GetName()
	}
	return first.Before(&second)
}

// FirstBackupPolicy is the one of a target that came first, of those of a namespace; nil where there is none. It alone
// is carried out, also while it is being deleted: until it is gone its servers may go by it, and a second retention
// would remove what it keeps.
func FirstBackupPolicy(all []BackupPolicy, target ServerOrGroup) (first *BackupPolicy) {
	for i := range all {
		if all[i].Spec.Target == target && (first == nil || Older(&all[i], first)) {
			first = &all[i]
		}
	}
	return first
}
