// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Observed is what is there: the objects of a Topology's namespace and who may own them.
type Observed struct {
	// Objects of the namespace of all kinds that a Topology expands into, its own and others'.
	Objects map[Key]client.Object
	// Topologies of the namespace by name, those that are being deleted too.
	Topologies map[string]bool
}

// observe reads the cache; a step that makes an object or takes one over looks at the API server itself.
func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	namespace := d.Topology.Namespace
	o := Observed{Objects: map[Key]client.Object{}, Topologies: map[string]bool{}}
	for _, k := range kinds {
		list := k.list()
		if err := r.list(ctx, list, namespace); err != nil {
			return o, err
		}
		items, err := itemsOf(list)
		if err != nil {
			return o, err
		}
		for _, item := range items {
			o.Objects[Key{k.name, item.GetName()}] = item
		}
	}
	var topologies v1alpha1.TopologyList
	if err := r.list(ctx, &topologies, namespace); err != nil {
		return o, err
	}
	for i := range topologies.Items {
		o.Topologies[topologies.Items[i].Name] = true
	}
	return o, nil
}

func (r *Reconciler) list(ctx context.Context, list client.ObjectList, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := r.hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf(
			"list the objects of kind %s of namespace %s in the hub: %w", v1alpha1.ListedKind(list), namespace, err,
		)
	}
	return nil
}

// Observe reads what a Topology is compared with, for `kubectl geosql plan`.
func Observe(ctx context.Context, hub client.Client, namespace string) (Observed, error) {
	r := &Reconciler{hub: hub}
	return r.observe(ctx, Desired{Topology: &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}})
}
