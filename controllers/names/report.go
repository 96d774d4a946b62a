// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"geosql.dev/operator/internal/reconcile/conditions"
)

// fieldOwner of the condition NamesReady: the rest of the status belongs to the kind's own controller.
const fieldOwner = client.FieldOwner("geosql-names")

// report writes the condition by server-side apply when it says something new, and makes an event of a change.
func (r *reconciler) report(ctx context.Context, obj client.Object, old []metav1.Condition, c metav1.Condition) error {
	before := meta.FindStatusCondition(old, c.Type)
	if before != nil && before.Status == c.Status && before.Reason == c.Reason && before.Message == c.Message &&
		before.ObservedGeneration == c.ObservedGeneration {
		return nil
	}
	c.LastTransitionTime = metav1.NewTime(time.Now().Truncate(time.Second))
	if before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	gvk, err := apiutil.GVKForObject(obj, r.hub.Scheme())
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
	if err != nil {
		return err
	}
	patch := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{content}}}}
	patch.SetGroupVersionKind(gvk)
	patch.SetNamespace(obj.GetNamespace())
	patch.SetName(obj.GetName())
	err = r.hub.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(patch), fieldOwner, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf(
			"writing the condition %s of %s %s/%s: %w",
			c.Type,
			gvk.Kind,
			obj.GetNamespace(),
			obj.GetName(),
			err,
		)
	}
	if before != nil && (before.Status != c.Status || before.Reason != c.Reason) {
		conditions.Emit(r.events, obj, []conditions.Change{{Old: before, New: c}})
	}
	return nil
}
