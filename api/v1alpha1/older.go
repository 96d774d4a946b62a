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
