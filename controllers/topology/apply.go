// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// fieldOwner of the objects that a Topology expands into.
const fieldOwner = client.FieldOwner("geosql-operator-topology")

// failure is a step that was not carried out.
type failure struct {
	key Key
	err error
	// refused is set when trying again changes nothing: the API server does not admit the object as it is declared.
	refused bool
}

// failures are the steps that were not carried out, as one error.
type failures []failure

// Error says them all.
func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, x := range f {
		texts[i] = x.err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives the error of each.
func (f failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, x := range f {
		errs[i] = x.err
	}
	return errs
}

// apply carries the steps out. They are independent of each other: one object that is refused keeps no other back.
func (r *Reconciler) apply(ctx context.Context, _ Desired, _ Observed, p reconcile.Plan) error {
	var failed failures
	for _, step := range p.Steps {
		s, ok := step.(Step)
		if !ok {
			return fmt.Errorf("step %T is not known", step)
		}
		if err := r.carryOut(ctx, s); err != nil {
			refused := apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
			failed = append(
				failed,
				failure{s.Key, fmt.Errorf("%s %s in namespace %s: %w", s.Verb, s.Key, s.Object.GetNamespace(), err), refused},
			)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return failed
}

func (r *Reconciler) carryOut(ctx context.Context, s Step) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if s.Verb == Remove {
		if err := r.disown(ctx, s.Existing); err != nil {
			return client.IgnoreNotFound(err)
		}
		return reconcile.Remove(ctx, r.hub, s.Existing)
	}
	return r.write(ctx, s)
}

// write applies the object, and then takes fields and list entries away that somebody else added: server-side apply
// leaves those, and the manifest does not have them.
func (r *Reconciler) write(ctx context.Context, s Step) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.Object)
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(s.Key.Kind))
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if err := r.pin(ctx, s, u); err != nil {
		return err
	}
	if err := r.hub.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner,
		client.ForceOwnership); err != nil {
		return err
	}
	now := s.Object.DeepCopyObject().(client.Object)
	if err := r.fresh.Get(ctx, client.ObjectKeyFromObject(s.Object), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := r.disown(ctx, now); err != nil || sameSpec(s.Object, now) {
		return client.IgnoreNotFound(err)
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": now.GetResourceVersion()},
		{"op": "replace", "path": "/spec", "value": specOf(s.Object)},
	})
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	return r.hub.Patch(ctx, now, client.RawPatch(types.JSONPatchType, patch), fieldOwner)
}

// disown takes all owner references away: those of earlier releases, and those of a manifest that was kept. An object
// with one keeps its data when it is deleted, whatever its reclaim policy.
func (r *Reconciler) disown(ctx context.Context, obj client.Object) error {
	if len(obj.GetOwnerReferences()) == 0 {
		return nil
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": obj.GetUID()},
		{"op": "remove", "path": "/metadata/ownerReferences"},
	})
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	return r.hub.Patch(ctx, obj, client.RawPatch(types.JSONPatchType, patch), fieldOwner)
}

// pin makes sure that what is written is what was looked at: that an object to be made does not exist, that another one
// did not take its name since, and that nobody else adopted it meanwhile.
func (r *Reconciler) pin(ctx context.Context, s Step, u *unstructured.Unstructured) error {
	if s.Existing != nil {
		u.SetUID(s.Existing.GetUID())
		if s.Verb == Adopt {
			u.SetResourceVersion(s.Existing.GetResourceVersion())
		}
		return nil
	}
	err := r.fresh.Get(ctx, client.ObjectKeyFromObject(s.Object), s.Object.DeepCopyObject().(client.Object))
	if err == nil {
		return errAppeared
	}
	return client.IgnoreNotFound(err)
}

// errAppeared is met when the cache lags behind.
var errAppeared = errors.New("an object of that name has appeared")
