// SPDX-License-Identifier: Apache-2.0

package site

import (
	"slices"

	"geosql.dev/operator/api/v1alpha1"
)

// stepKind is what is done to the Site object; sites themselves are not changed.
type stepKind string

const (
	addFinalizer    stepKind = "AddFinalizer"
	removeFinalizer stepKind = "RemoveFinalizer"
)

// step is one change with its reason.
type step struct {
	kind   stepKind
	reason string
}

// plan returns what to do.
func plan(o *observation) []step {
	has := slices.Contains(o.site.Finalizers, v1alpha1.Finalizer)
	deleted := o.site.DeletionTimestamp != nil
	switch {
	case !deleted && !has:
		return []step{{addFinalizer, "servers at a site need its credentials until they are gone"}}
	case deleted && has && len(o.users) == 0:
		return []step{{removeFinalizer, "no server runs at the site"}}
	case deleted && has && o.site.Spec.Lifecycle == v1alpha1.SiteLost:
		return []step{{removeFinalizer, "the site is declared lost"}}
	}
	return nil
}
