// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// StillDeclared says why an object of a Topology that is being deleted must not take its things with it: the Topology of
// its label is there and declares it, so it is made anew. Kubernetes takes no deletion back, and one that waits (for what
// names the object, for a site) would strike later although nobody wants it any more. It is empty for everything else.
// The reader must be the API server, not a cache.
func StillDeclared(ctx context.Context, reader client.Reader, obj client.Object) (string, error) {
	name := obj.GetLabels()[v1alpha1.LabelTopology]
	if name == "" {
		return "", nil
	}
	var t v1alpha1.Topology
	err := reader.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &t)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Topology %s/%s in the hub: %w", obj.GetNamespace(), name, err)
	}
	kind := reflect.TypeOf(obj).Elem().Name()
	if t.DeletionTimestamp != nil || !Declares(&t, kind, obj.GetName()) {
		return "", nil
	}
	return fmt.Sprintf("Topology %s declares %s %s: to delete it, take it out of that manifest", name, kind, obj.GetName()), nil
}

// Stays is StillDeclared as the frame of controllers asks it.
func Stays[O client.Object](reader client.Reader) func(context.Context, O) (string, error) {
	return func(ctx context.Context, obj O) (string, error) { return StillDeclared(ctx, reader, obj) }
}

// Declares tells whether a Topology's manifest has the object.
func Declares(t *v1alpha1.Topology, kind, object string) bool {
	switch kind {
	case "AgentProfile":
		return has(t.Spec.AgentProfiles, object, func(x v1alpha1.TopologyAgentProfile) string { return string(x.Name) })
	case "SQLServer":
		return has(t.Spec.Servers, object, func(x v1alpha1.TopologyServer) string { return string(x.Name) })
	case "AvailabilityGroup":
		return has(t.Spec.AvailabilityGroups, object, func(x v1alpha1.TopologyAvailabilityGroup) string { return string(x.Name) })
	case "Distributor":
		return has(t.Spec.Distributors, object, func(x v1alpha1.TopologyDistributor) string { return string(x.Name) })
	case "Publication":
		return has(t.Spec.Publications, object, func(x v1alpha1.TopologyPublication) string { return string(x.Name) })
	case "Subscription":
		return has(t.Spec.Subscriptions, object, func(x v1alpha1.TopologySubscription) string { return string(x.Name) })
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
