// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// suspendable is an object that a person can suspend.
type suspendable interface{ IsSuspended() bool }

// Suspension says why nothing is done with an object of the hub: a person has suspended it, or the Topology that it is
// of. Empty when nobody has. The Topology does not write its objects' field.
func Suspension(ctx context.Context, hub client.Reader, object client.Object) (string, error) {
	own, can := object.(suspendable)
	switch {
	case !can:
		return "", nil
	case own.IsSuspended():
		return "spec.suspend is true", nil
	}
	name := object.GetLabels()[v1alpha1.LabelTopology]
	if name == "" {
		return "", nil
	}
	var t v1alpha1.Topology
	err := hub.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, &t)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read Topology %s/%s in the hub: %w", object.GetNamespace(), name, err)
	case t.IsSuspended():
		return "spec.suspend of Topology " + name + " is true", nil
	}
	return "", nil
}

// Suspended is why the steps of a plan are not carried out.
type Suspended struct {
	// Why says who has suspended what.
	Why string
	// Steps that wait, and the first of them in words.
	Steps int
	First string
	// Yields is what is done all the same, in words: the object gives back what was lent to it for a time. Empty where
	// nothing is.
	Yields string
	// Deleting says that the object is being deleted, which waits too.
	Deleting bool
}

// IsSuspended tells that nothing of a plan was carried out, and nothing will be until a person says so: a status must
// not say otherwise.
func IsSuspended(failed error) bool {
	var held Suspended
	return errors.As(failed, &held)
}

// suspended is what keeps a plan from being carried out.
func suspended(why string, object client.Object, p Plan) Suspended {
	s := Suspended{Why: why, Deleting: object.GetDeletionTimestamp() != nil}
	if does := p.does(); len(does) > 0 {
		s.Steps, s.First = len(does), does[0]
	}
	return s
}

// Error says what waits, and for whom. It does not change while nothing else does.
func (s Suspended) Error() string {
	text := "nothing is done while " + s.Why
	if s.Yields != "" {
		text += "; but what was lent to it for a time is taken back: " + s.Yields
	}
	if s.Deleting {
		text += "; the deletion waits, too"
	}
	switch {
	case s.Steps > 1:
		text += fmt.Sprintf("; %d steps wait, the first: %s", s.Steps, s.First)
	case s.Steps == 1:
		text += "; one step waits: " + s.First
	}
	return text
}

// outcome is what is seen, as it stays: nobody works on it, and nobody need do anything that was not said already.
func (s Suspended) outcome(planned conditions.Outcome) conditions.Outcome {
	o := conditions.Outcome{Ready: planned.Ready, Reason: v1alpha1.ReasonSuspended, Message: s.Error(),
		Progress: conditions.Settled, Seen: planned.Reason}
	if o.Ready == "" {
		o.Ready = conditions.Stalled("", "").Ready // it would be gone
	}
	if planned.Reason != "" {
		o.Message += ". As it is seen: " + planned.Reason + ": " + planned.Message
	}
	return o
}

// watchTopologies lets a change of a Topology enqueue the objects of a kind that are of it: it may have been suspended,
// or be no more.
func watchTopologies(b *mcbuilder.Builder, mgr mcmanager.Manager, object client.Object) *mcbuilder.Builder {
	_, can := object.(suspendable)
	if _, own := object.(*v1alpha1.Topology); !can || own {
		return b
	}
	local := mgr.GetLocalManager()
	var enqueue mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request] = func(
		multicluster.ClusterName, cluster.Cluster,
	) handler.TypedEventHandler[client.Object, mcreconcile.Request] {
		return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, t client.Object) []mcreconcile.Request {
			var requests []mcreconcile.Request
			for _, name := range membersOf(ctx, local.GetClient(), object, t) {
				requests = append(requests, mcreconcile.Request{Request: crreconcile.Request{NamespacedName: name}})
			}
			return requests
		})
	}
	return b.Watches(&v1alpha1.Topology{}, enqueue, HubOnly(predicate.GenerationChangedPredicate{})...)
}

// membersOf are the objects of a kind that are of a Topology.
func membersOf(ctx context.Context, hub client.Client, kind, topology client.Object) []types.NamespacedName {
	gvk, err := hub.GroupVersionKindFor(kind)
	if err != nil {
		return nil // no manager has a kind that its scheme lacks
	}
	gvk.Kind += "List"
	list, err := hub.Scheme().New(gvk)
	if err != nil {
		return nil
	}
	return Keys(ctx, hub, list.(client.ObjectList), topology.GetNamespace(), func(o client.Object) bool {
		return o.GetLabels()[v1alpha1.LabelTopology] == topology.GetName()
	})
}
