// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion is geosql.dev/v1alpha1.
	GroupVersion = schema.GroupVersion{Group: "geosql.dev", Version: "v1alpha1"}
	// SchemeBuilder collects the kinds.
	//nolint:staticcheck // deprecated for packages that want fewer imports; this one has controller-runtime anyway
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}
	// AddToScheme adds the kinds to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
