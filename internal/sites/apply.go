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

// ApplyUnchanged is Apply of an object that has not changed since it was read: it fails with a conflict where it has.
// One that was not there is made.
func ApplyUnchanged(ctx context.Context, c client.Client, obj client.Object) error {
	return apply(ctx, c, obj, FieldOwner, "creationTimestamp", "managedFields", "uid", "generation")
}

// ApplyAs is Apply under another field manager.
func ApplyAs(ctx context.Context, c client.Client, obj client.Object, owner client.FieldOwner) error {
	return apply(ctx, c, obj, owner, "creationTimestamp", "managedFields", "resourceVersion", "uid", "generation")
}

// apply leaves the fields of the metadata out that are named.
func apply(ctx context.Context, c client.Client, obj client.Object, owner client.FieldOwner, without ...string) error {
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
	for _, field := range without {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s/%s: %w", gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
