// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"geosql.dev/operator/api/v1alpha1"
)

// hubTimeout bounds a call to the hub's API server.
const hubTimeout = 10 * time.Second

// WriteStatus applies an object's status if it differs from the one that was read.
func WriteStatus(ctx context.Context, hub client.Client, obj client.Object, kind string, before, after any) error {
	content := plain(after)
	if reflect.DeepEqual(plain(before), content) {
		return nil
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	err := hub.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("geosql-operator"), client.ForceOwnership)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the status of %s %s/%s: %w", kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// plain is a status as JSON values. It takes a pointer.
func plain(status any) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		// The types are of JSON's making.
		panic(fmt.Sprintf("convert a status: %v", err))
	}
	return content
}

// SetFinalizer adds or removes the operator's finalizer.
func SetFinalizer(ctx context.Context, hub client.Client, obj client.Object, kind string, on bool) error {
	if controllerutil.ContainsFinalizer(obj, v1alpha1.Finalizer) == on {
		return nil
	}
	before := client.MergeFromWithOptions(obj.DeepCopyObject().(client.Object), client.MergeFromWithOptimisticLock{})
	if on {
		controllerutil.AddFinalizer(obj, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(obj, v1alpha1.Finalizer)
	}
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	if err := hub.Patch(ctx, obj, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer of %s %s/%s: %w", kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
