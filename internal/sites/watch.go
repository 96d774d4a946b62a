// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
)

// notify tells the watchers that a site's health has changed in kind: engaged, silent, denied, removed. A watcher that
// is behind loses nothing: its channel holds one entry per name that matters to it soon enough, and the next heartbeat
// that changes anything comes again.
func (p *Provider) notify(site v1alpha1.SiteName) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, w := range p.watchers {
		select {
		case w <- site:
		default:
		}
	}
}

// Watch is a source for a controller that must look again when a site is engaged, falls silent, is denied or removed.
// mapSite returns the hub objects that depend on the site. Use it with WatchesRawSource.
func (p *Provider) Watch(
	mapSite func(context.Context, v1alpha1.SiteName) []types.NamespacedName,
) source.TypedSource[mcreconcile.Request] {
	return source.TypedFunc[mcreconcile.Request](
		func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
			changes := make(chan v1alpha1.SiteName, 1024)
			p.mu.Lock()
			id := p.nextID
			p.nextID++
			p.watchers[id] = changes
			p.mu.Unlock()
			go func() {
				defer func() {
					p.mu.Lock()
					delete(p.watchers, id)
					p.mu.Unlock()
				}()
				for {
					select {
					case <-ctx.Done():
						return
					case site := <-changes:
						for _, name := range mapSite(ctx, site) {
							queue.Add(mcreconcile.Request{Request: reconcile.Request{NamespacedName: name}})
						}
					}
				}
			}()
			return nil
		},
	)
}

// EnqueueOwner maps an object at a site to the hub object that its labels name: namespace from
// geosql.dev/hub-namespace, name from the given label (v1alpha1.LabelServer, LabelGroup). Objects without them are
// ignored. The request carries no cluster: hub objects are read from the hub. Use it with Watches.
func EnqueueOwner(label string) mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request] {
	return EnqueueHub(func(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
		name, namespace := obj.GetLabels()[label], obj.GetLabels()[v1alpha1.LabelNamespace]
		if name == "" || namespace == "" {
			return nil
		}
		return []types.NamespacedName{{Namespace: namespace, Name: name}}
	})
}

// EnqueueHub maps an object at a site to hub objects.
func EnqueueHub(
	mapObject func(context.Context, v1alpha1.SiteName, client.Object) []types.NamespacedName,
) mchandler.TypedEventHandlerFunc[client.Object, mcreconcile.Request] {
	return func(name multicluster.ClusterName, _ cluster.Cluster) handler.TypedEventHandler[client.Object,
		mcreconcile.Request] {
		return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []mcreconcile.Request {
			var requests []mcreconcile.Request
			for _, key := range mapObject(ctx, v1alpha1.SiteName(name), obj) {
				requests = append(requests, mcreconcile.Request{Request: reconcile.Request{NamespacedName: key}})
			}
			return requests
		})
	}
}
