// SPDX-License-Identifier: Apache-2.0

// Package site reconciles Site objects: it reports what the heartbeat of internal/sites knows and keeps a Site whose
// servers still exist from being removed. It changes nothing at a site.
package site

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

type reconciler struct {
	hub    client.Client
	sites  *sites.Provider
	events events.EventRecorder
}

// SetupWithManager adds the controller of Sites.
func SetupWithManager(mgr mcmanager.Manager, provider *sites.Provider) error {
	local := mgr.GetLocalManager()
	r := &reconciler{hub: local.GetClient(), sites: provider, events: local.GetEventRecorder("geosql-site")}
	ofSite := sites.EnqueueHub(func(_ context.Context, site v1alpha1.SiteName, _ client.Object) []types.NamespacedName {
		return []types.NamespacedName{{Name: string(site)}}
	})
	onlyHub := []mcbuilder.ForOption{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false),
		mcbuilder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))}
	err := mcbuilder.ControllerManagedBy(mgr).Named("site").
		For(&v1alpha1.Site{}, onlyHub...).
		Watches(&storagev1.StorageClass{}, ofSite).
		Watches(&storagev1.CSIStorageCapacity{}, ofSite).
		Watches(&corev1.Node{}, ofSite, mcbuilder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(provider.Watch(func(_ context.Context, site v1alpha1.SiteName) []types.NamespacedName {
			return []types.NamespacedName{{Name: string(site)}}
		})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("making the controller of Sites: %w", err)
	}
	return nil
}

// Reconcile looks at one Site, and again after a while: a heartbeat that stays out makes no event.
func (r *reconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	o, err := r.observe(ctx, req.NamespacedName)
	if err != nil || o == nil {
		return ctrl.Result{}, err
	}
	if err := r.apply(ctx, o.site, plan(o)); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.sites.UnknownAfter() / 3}, nil
}
