// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// fieldOwner of the condition NamesReady: the rest of the status belongs to the kind's own controller.
const fieldOwner = client.FieldOwner("geosql-names")

// reportNames says what was observed and done. What was reported before stays while this process has just begun.
func (r *reconciler) reportNames(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	n := reconcile.Noted[noted](p)
	r.wrongs.remember(d.object, n.wrong)
	c := n.condition(o)
	if held := (reconcile.Suspended{}); errors.As(failed, &held) && held.Steps > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonSuspended, held.Error()
	}
	if c.Status == metav1.ConditionUnknown && o.settling() {
		return nil
	}
	return r.report(ctx, d.object, d.conditions, c)
}

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

// condition says it, the worst first.
func (p noted) condition(w Observed) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionNamesReady, ObservedGeneration: w.object.GetGeneration()}
	var texts []string
	for _, x := range p.conflicts {
		texts = append(texts, x.text)
	}
	switch {
	case len(p.conflicts) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonNamesConflict, strings.Join(texts, "; ")
	case len(p.failed) > 0:
		for _, site := range slices.Sorted(maps.Keys(p.failed)) {
			texts = append(texts, p.failed[site].Error())
		}
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonApplyFailed, strings.Join(texts, "; ")
	case len(p.unknown) > 0:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNamesPartial
		c.Message = fmt.Sprintf("%s. The name is right at: %s", strings.Join(p.unknown, "; "), p.right(w))
	case len(p.waits) > 0 && goes(w.object):
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonLoadBalancerPending
		c.Message = strings.Join(p.waits, "; ")
	case w.addressless != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonNoAddress, w.addressless
	case w.awaited != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonLoadBalancerPending, w.awaited
	case len(p.untried) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonLoadBalancerPending
		c.Message = fmt.Sprintf("names at %s lead where they did: it has not been found there yet that the load balancer "+
			"forwards", strings.Join(p.untried, ", "))
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonNamesPublished, "at "+p.right(w)
	}
	return c
}

// right are the sites at which the names are as they should be.
func (p noted) right(w Observed) string {
	var right []string
	for _, v := range w.views {
		if v.member != nil && p.failed[string(v.name)] == nil {
			right = append(right, string(v.name))
		}
	}
	if len(right) == 0 {
		return "none"
	}
	return strings.Join(right, ", ")
}
