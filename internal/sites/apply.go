// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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
// One that was not there is made. Keys of its data that obj lacks go, whoever has written them: apply leaves those of
// another field manager, a restore's, say.
func ApplyUnchanged(ctx context.Context, c client.Client, obj client.Object) error {
	applied, err := apply(ctx, c, obj, FieldOwner, "creationTimestamp", "managedFields", "uid", "generation")
	if err != nil {
		return err
	}
	wanted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("applying %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	want, _, _ := unstructured.NestedMap(wanted, "data")
	have, _, _ := unstructured.NestedMap(applied.Object, "data")
	gone := map[string]any{}
	for key := range have {
		if _, stays := want[key]; !stays {
			gone[key] = nil
		}
	}
	if len(gone) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": applied.GetResourceVersion()}, "data": gone,
	})
	if err != nil {
		return fmt.Errorf("encoding a patch of %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	if err := c.Patch(ctx, applied, client.RawPatch(types.MergePatchType, patch), FieldOwner); err != nil {
		return fmt.Errorf("taking keys out of %s %s/%s: %w", applied.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// ApplyAs is Apply under another field manager.
func ApplyAs(ctx context.Context, c client.Client, obj client.Object, owner client.FieldOwner) error {
	_, err := apply(ctx, c, obj, owner, serverSet...)
	return err
}

// apply leaves the fields of the metadata out that are named, and returns what the API server has then.
func apply(
	ctx context.Context,
	c client.Client,
	obj client.Object,
	owner client.FieldOwner,
	without ...string,
) (*unstructured.Unstructured, error) {
	u, err := sent(c.Scheme(), obj, without...)
	if err != nil {
		return nil, err
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("applying %s %s/%s: %w", u.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
	return u, nil
}

// Manifest is obj as ApplyAs sends it. The error is that obj is of no kind of the scheme, or cannot be encoded.
func Manifest(scheme *runtime.Scheme, obj client.Object) (*unstructured.Unstructured, error) {
	return sent(scheme, obj, serverSet...)
}

// serverSet are the fields of the metadata that API servers set.
var serverSet = []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation"}

// sent is obj without its status and the fields of the metadata that are named.
func sent(scheme *runtime.Scheme, obj client.Object, without ...string) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("applying %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("applying %s %s/%s: %w", gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	for _, field := range without {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u, nil
}
