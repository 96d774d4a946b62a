// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

// A reconciliation that ended with an error is repeated between these times: an API server that was away for long is
// asked again soon after it came back.
const (
	retryFirst   = 50 * time.Millisecond
	retryLongest = 30 * time.Second
)

// SpecOrAnnotations lets changes through that a person makes, and not those of the status.
func SpecOrAnnotations() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// Changes lets changes of one thing through that an object says, empty when it says nothing of it.
func Changes(says func(client.Object) string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return says(e.Object) != "" },
		DeleteFunc:  func(e event.DeleteEvent) bool { return says(e.Object) != "" },
		UpdateFunc:  func(e event.UpdateEvent) bool { return says(e.ObjectOld) != says(e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// AsConfigured leaves it to the manager how many objects of a kind are reconciled at the same time; defaultWorkers
// where that does not say. Most of the time is spent waiting for what is far.
const (
	AsConfigured   = 0
	defaultWorkers = 8
)

// Controller begins a controller of objects in the hub, of as many at a time as there are workers. seen says which of
// their changes count; all do unless it is given. That of its Topology counts where an object can be suspended.
func Controller(
	mgr mcmanager.Manager,
	name string,
	object client.Object,
	workers int,
	seen ...predicate.Predicate,
) *mcbuilder.Builder {
	if workers == AsConfigured {
		workers = cmp.Or(mgr.GetControllerOptions().MaxConcurrentReconciles, defaultWorkers)
	}
	builder := mcbuilder.ControllerManagedBy(mgr).Named(name).
		For(object, mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false),
			mcbuilder.WithPredicates(seen...)).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{
			MaxConcurrentReconciles: workers,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[mcreconcile.Request](
				retryFirst,
				retryLongest,
			),
			// Tests run several managers in one process.
			SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation,
		})
	return watchTopologies(builder, mgr, object)
}

// WatchHub lets changes of other kinds' specs in the hub enqueue the objects of a controller.
func WatchHub(
	b *mcbuilder.Builder,
	enqueue mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request],
	objects ...client.Object,
) *mcbuilder.Builder {
	return watchHub(b, enqueue, predicate.GenerationChangedPredicate{}, objects...)
}

// WatchHubAsked is WatchHub for kinds whose annotations count, too.
func WatchHubAsked(
	b *mcbuilder.Builder,
	enqueue mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request],
	objects ...client.Object,
) *mcbuilder.Builder {
	return watchHub(b, enqueue, SpecOrAnnotations(), objects...)
}

func watchHub(
	b *mcbuilder.Builder,
	enqueue mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request],
	seen predicate.Predicate,
	objects ...client.Object,
) *mcbuilder.Builder {
	for _, object := range objects {
		b = b.Watches(object, enqueue, HubOnly(seen)...)
	}
	return b
}

// HubOnly lets changes of a kind in the hub count, and those at sites not; of them those that are seen, all unless some
// are given.
func HubOnly(seen ...predicate.Predicate) []mcbuilder.WatchesOption {
	options := []mcbuilder.WatchesOption{
		mcbuilder.WithEngageWithLocalCluster(true),
		mcbuilder.WithEngageWithProviderClusters(false),
	}
	if len(seen) > 0 {
		options = append(options, mcbuilder.WithPredicates(seen...))
	}
	return options
}

// Keys are the names of the objects in the hub's cache that are wanted, of a namespace or, without one, of all. list is
// an empty list of the kind. That they cannot be listed is logged: it does not happen to a cache that has started.
func Keys[O client.Object](
	ctx context.Context,
	hub client.Reader,
	list client.ObjectList,
	namespace string,
	want func(O) bool,
) []types.NamespacedName {
	if err := hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
		log.FromContext(ctx).Error(err, "list objects of the hub to look at", "kind", fmt.Sprintf("%T", list))
		return nil
	}
	var names []types.NamespacedName
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(O); ok && (want == nil || want(object)) {
			names = append(names, client.ObjectKeyFromObject(object))
		}
		return nil
	})
	return names
}
