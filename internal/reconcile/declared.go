// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// WhileDeclared is Kind.Stays for kinds that a Topology may declare. An object that is being deleted keeps what it has
// at sites and servers while the Topology of its label declares it, since the Topology makes it anew. Kubernetes takes
// no deletion back: one that waits for a site would strike later, although nobody wants it any more. The reader must be
// the API server, not a cache; declares tells whether a Topology's manifest has an object of a kind.
func WhileDeclared[O client.Object](
	reader client.Reader,
	declares func(t *v1alpha1.Topology, kind, name string) bool,
) func(context.Context, O) (string, error) {
	return func(ctx context.Context, obj O) (string, error) {
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
		if t.DeletionTimestamp != nil || !declares(&t, kind, obj.GetName()) {
			return "", nil
		}
		return fmt.Sprintf(
			"Topology %s declares %s %s: to delete it, take it out of that manifest",
			name,
			kind,
			obj.GetName(),
		), nil
	}
}
