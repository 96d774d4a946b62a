// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// hubTimeout bounds a call of the hub's API server.
const hubTimeout = 10 * time.Second

// Outcome of a plan after its steps: what the plan says, or that a step failed, or that they had no effect. A person
// who is needed anyway is told what the plan says, and so is everybody while only steps beside the others fail.
func Outcome(planned conditions.Outcome, failed error) conditions.Outcome {
	var (
		idle  WithoutEffect
		aside *AsideFailed
		held  Suspended
	)
	if u, ok := goesOn(failed); ok {
		return whileUnderWay(planned, u)
	}
	switch {
	case failed == nil:
		return planned
	case errors.As(failed, &held):
		return held.outcome(planned)
	case errors.As(failed, &aside) && aside.Reason == "":
		return planned
	case errors.As(failed, &aside):
		if planned.Progress == conditions.Settled {
			planned = conditions.InProgress(aside.Reason, "everything else is as declared")
		}
		planned.Message = fmt.Sprintf("%v; it is tried again; %s", aside, planned.Message)
		return planned
	case errors.As(failed, &idle):
		if planned.Progress == conditions.Settled {
			return planned
		}
		if planned.Message += "; " + idle.Error(); planned.Progress == conditions.Working {
			planned.Reason = v1alpha1.ReasonStepWithoutEffect
		}
		return planned
	}
	return conditions.InProgress(v1alpha1.ReasonApplyFailed, failed.Error()+"; it is tried again")
}

// Reporter writes the status of objects in the hub.
type Reporter struct {
	Hub    client.Client
	Events events.EventRecorder
	// Owner is the field manager of the status.
	Owner client.FieldOwner
	// Own are the types of the conditions that belong to Owner where other controllers write conditions of the same
	// object too; all belong to it unless given.
	Own []string
	// Fields of the status that belong to Owner where the rest is written under another one; all do unless given.
	Fields []string
	// Lock refuses, with a conflict, to write over another spec or status than were read: for a status that remembers what
	// cannot be observed again, and that a read from before would take back.
	Lock bool
}

// longestNote is what an event takes, in bytes: the API refuses more than 1 kB.
const longestNote = 1000

// TellLeft records what a deletion that is done leaves behind, and where; nothing when it leaves nothing. The object
// goes with its conditions: what nobody cleans up any more has to be told by something that stays.
func (r Reporter) TellLeft(obj client.Object, left []string) {
	if len(left) > 0 {
		r.Events.Eventf(obj, nil, corev1.EventTypeWarning, v1alpha1.ReasonLeftBehind, "Delete", "%s",
			conditions.Shorten("left behind: "+strings.Join(left, "; "), longestNote))
	}
}

// Report applies the status if it differs from the one that was read, and records events of what changed. before and
// after are pointers to the kind's status; conditions of others are left as they are.
func (r Reporter) Report(ctx context.Context, obj client.Object, before, after any, changes []conditions.Change) error {
	if !r.Differs(before, after) {
		return nil
	}
	content := r.own(after)
	gvk, err := apiutil.GVKForObject(obj, r.Hub.Scheme())
	if err != nil {
		return fmt.Errorf("write the status of %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	read := r.own(before)
	err = writeOver(ctx, r.Hub, obj, func(newer client.Object) bool {
		whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(newer)
		have, _, _ := unstructured.NestedMap(whole, "status")
		have = r.ownOf(have)
		return err == nil && (len(have) == 0 && len(read) == 0 || reflect.DeepEqual(have, read))
	}, func(version client.Object) error {
		if r.Lock {
			u.SetResourceVersion(version.GetResourceVersion())
		}
		return r.Hub.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), r.Owner,
			client.ForceOwnership)
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s %s/%s: %w", gvk.Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	if err == nil {
		conditions.Emit(r.Events, obj, changes)
	}
	return nil
}

// Differs tells whether Report has something to write.
func (r Reporter) Differs(before, after any) bool {
	return !reflect.DeepEqual(r.own(before), r.own(after))
}

// own is a status as JSON values without the conditions of others.
func (r Reporter) own(status any) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		// The types are of JSON's making.
		panic(fmt.Sprintf("convert a status: %v", err))
	}
	return r.ownOf(content)
}

func (r Reporter) ownOf(content map[string]any) map[string]any {
	if r.Fields != nil {
		maps.DeleteFunc(content, func(field string, _ any) bool { return !slices.Contains(r.Fields, field) })
	}
	list, ok := content["conditions"].([]any)
	if !ok || r.Own == nil {
		return content
	}
	content["conditions"] = slices.DeleteFunc(list, func(c any) bool {
		kind, _, _ := unstructured.NestedString(c.(map[string]any), "type")
		return !slices.Contains(r.Own, kind)
	})
	return content
}

// SetFinalizer adds or removes a finalizer unless the object has it as it should be. The lock keeps what somebody else
// adds or removes meanwhile. Where the spec has changed since it was read, the error is a conflict.
func SetFinalizer(ctx context.Context, hub client.Client, obj client.Object, finalizer string, on bool) error {
	if controllerutil.ContainsFinalizer(obj, finalizer) == on {
		return nil
	}
	change := controllerutil.RemoveFinalizer
	if on {
		change = controllerutil.AddFinalizer
	}
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	err := writeOver(ctx, hub, obj, func(client.Object) bool { return true }, func(version client.Object) error {
		before := client.MergeFromWithOptions(
			version.DeepCopyObject().(client.Object), client.MergeFromWithOptimisticLock{})
		change(version, finalizer)
		return hub.Patch(ctx, version, before)
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer %s of %T %s/%s: %w", finalizer, obj, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
