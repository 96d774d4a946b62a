// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"geosql.dev/operator/api/v1alpha1"
)

// beside lets updates through that concern the server and that no generation tells: the condition of its names, which
// another controller writes and which is part of what is observed, and that a person asks for a restart or an update.
func beside() predicate.Predicate {
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
			return hashOf(namesReady(before)) != hashOf(namesReady(after)) ||
				before.Annotations[v1alpha1.RestartAnnotation] != after.Annotations[v1alpha1.RestartAnnotation] ||
				before.Annotations[v1alpha1.UpdateAnnotation] != after.Annotations[v1alpha1.UpdateAnnotation]
		},
	}
}
