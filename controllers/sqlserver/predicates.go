// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"geosql.dev/operator/api/v1alpha1"
)

// namesChanged lets updates through in which the condition of the server's names changed: it is written by another
// controller and part of what is observed.
func namesChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.SQLServer)
			if !ok {
				return false
			}
			after, ok := e.ObjectNew.(*v1alpha1.SQLServer)
			if !ok {
				return false
			}
			return hashOf(namesReady(before)) != hashOf(namesReady(after))
		},
	}
}
