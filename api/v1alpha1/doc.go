// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the kinds of the API group geosql.dev, version v1alpha1. They live in the hub cluster.
//
// +kubebuilder:object:generate=true
// +groupName=geosql.dev
package v1alpha1
