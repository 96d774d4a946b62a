// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Apply makes obj so by server-side apply under FieldOwner, taking over fields that others set. obj may be typed or
// unstructured; status, managed fields and server-set metadata are left out, and obj is not changed. Fields whose zero
// value is omitted by their JSON tag are not owned. Whoever may meet a foreign object of that name must look first:
// apply takes it over.
func Apply(ctx context.Context, c client.Client, obj client.Object) error {
	return ApplyAs(ctx, c, obj, FieldOwner)
}

// ApplyAs is Apply under another field manager.
func ApplyAs(ctx context.Context, c client.Client, obj client.Object, owner client.FieldOwner) error {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return fmt.Errorf("applying %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("applying %s %s/%s: %w", gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s/%s: %w", gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
