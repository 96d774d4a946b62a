// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
)

// NewManager makes a manager for the provider's sites. What a controller watches at a site ends with the engagement: in
// multicluster-runtime v0.24.1 a goroutine of each watch waits for the end of the controller instead
// (pkg/controller/controller.go, startWithinContext), about 25 at each engagement, for ever at a site that flaps.
func NewManager(cfg *rest.Config, provider *Provider, options manager.Options) (mcmanager.Manager, error) {
	mgr, err := mcmanager.New(cfg, provider, options)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return endingManager{mgr, &provider.watching}, nil
}

// endingManager gives every controller that is added watches that end.
type endingManager struct {
	mcmanager.Manager
	watching *watching
}

// Add adds a controller, or anything else that is told of sites.
func (m endingManager) Add(r mcmanager.Runnable) error {
	if err := m.endWatches(r); err != nil {
		return err
	}
	return m.Manager.Add(r)
}

// endWatches replaces the controller within multicluster-runtime's: its type is not exported, the embedded one is.
func (m endingManager) endWatches(r mcmanager.Runnable) error {
	c, ok := r.(controller.TypedController[mcreconcile.Request])
	if !ok {
		return nil
	}
	if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		field := v.Elem().FieldByName("TypedController")
		if inner, ok := valueOf(field).(controller.TypedController[mcreconcile.Request]); ok && field.CanSet() {
			field.Set(reflect.ValueOf(&endingController{TypedController: inner, watching: m.watching}))
			return nil
		}
	}
	return fmt.Errorf("a controller of multicluster-runtime is %T, whose watches at sites cannot be ended here: look "+
		"whether they end by themselves in this release", r)
}

func valueOf(v reflect.Value) any {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	return v.Interface()
}

// endingController is a controller whose watches at a site end with the site's engagement. multicluster-runtime's
// controller calls Engage before it starts the watches of that engagement, and holds a lock meanwhile; watches in the
// hub are started before any site is engaged.
type endingController struct {
	controller.TypedController[mcreconcile.Request]
	watching *watching

	mu         sync.Mutex
	engagement context.Context
	site       v1alpha1.SiteName
}

var _ multicluster.Aware = (*endingController)(nil)

// Engage is told of the engagement whose watches are started next.
func (c *endingController) Engage(ctx context.Context, name multicluster.ClusterName, _ cluster.Cluster) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engagement, c.site = ctx, v1alpha1.SiteName(name)
	return nil
}

// Watch starts a watch that ends with the engagement it belongs to.
func (c *endingController) Watch(src source.TypedSource[mcreconcile.Request]) error {
	c.mu.Lock()
	engagement, site := c.engagement, c.site
	c.mu.Unlock()
	if engagement == nil {
		return c.TypedController.Watch(src)
	}
	start := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
		ctx, cancel := context.WithCancel(ctx)
		c.watching.add(site, 1)
		context.AfterFunc(engagement, func() {
			cancel()
			c.watching.add(site, -1)
		})
		return src.Start(ctx, queue)
	}
	return c.TypedController.Watch(source.TypedFunc[mcreconcile.Request](start))
}

// watching counts the watches of controllers that run at each site.
type watching struct {
	mu  sync.Mutex
	run map[v1alpha1.SiteName]int
}

func (w *watching) add(site v1alpha1.SiteName, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.run == nil {
		w.run = map[v1alpha1.SiteName]int{}
	}
	w.run[site] += n
}

// Watching is how many watches of controllers run at each site that was ever engaged. Of an engaged site it is always
// the same; one that grows is a leak.
func (p *Provider) Watching() map[v1alpha1.SiteName]int {
	p.watching.mu.Lock()
	defer p.watching.mu.Unlock()
	return maps.Clone(p.watching.run)
}
