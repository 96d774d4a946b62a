// SPDX-License-Identifier: Apache-2.0

// Package site reconciles Site objects: it reports what the heartbeat of internal/sites knows and keeps a Site whose
// servers still exist from being removed. It changes nothing at a site but the token that the manager itself has there,
// which it renews.
package site

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
)

const (
	// reconcileTimeout bounds one reconciliation.
	reconcileTimeout = 30 * time.Second
	// lookSoon is when a Site is read again that somebody else changed meanwhile.
	lookSoon = time.Second
)

type reconciler struct {
	hub    client.Client
	sites  *sites.Provider
	events events.EventRecorder
	// confirmed are the statuses that are so still.
	confirmed *confirmed.Keeper
	// heard is what agents measure of the links between sites.
	heard *link.Heard
	// renewed is when the token for a site was last renewed, or tried to be, and what came of it. One worker uses it.
	renewed map[v1alpha1.SiteName]attempt
	// revoked is the UID of the Secret of the token that is used, for a site where none before it is left to revoke.
	revoked map[v1alpha1.SiteName]types.UID
}

// attempt to renew a token.
type attempt struct {
	at  time.Time
	err error
}

// SetupWithManager adds the controller of Sites, which tells statuses what is so still, and reports what was heard of
// their links; nil where nobody hears agents.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=sites,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sites/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers;availabilitygroups,verbs=get;list;watch
func SetupWithManager(
	mgr mcmanager.Manager,
	provider *sites.Provider,
	statuses *confirmed.Keeper,
	heard *link.Heard,
) error {
	local := mgr.GetLocalManager()
	r := &reconciler{hub: local.GetClient(), sites: provider, events: local.GetEventRecorder("geosql-site"),
		confirmed: statuses, heard: heard,
		renewed: map[v1alpha1.SiteName]attempt{}, revoked: map[v1alpha1.SiteName]types.UID{}}
	ofSite := sites.EnqueueHub(func(_ context.Context, site v1alpha1.SiteName, _ client.Object) []types.NamespacedName {
		return []types.NamespacedName{{Name: string(site)}}
	})
	frame := reconcile.New(r.hub, reconcile.Kind[*v1alpha1.Site, Desired, *Observed]{
		Name: "Site", New: func() *v1alpha1.Site { return &v1alpha1.Site{} },
		// Servers at a site need its credentials until they are gone.
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout, Repeats: true,
		// A heartbeat that stays out makes no event.
		RequeueAfter: reconcile.RequeueAfter{Progress: lookSoon, Resync: provider.UnknownAfter() / 3},
		Desire:       desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
		Gone: statuses.Forget,
	})
	err := reconcile.Controller(mgr, "site", &v1alpha1.Site{}, 1, reconcile.SpecOrAnnotations()).
		Watches(&storagev1.StorageClass{}, ofSite).
		Watches(&storagev1.CSIStorageCapacity{}, ofSite).
		Watches(&corev1.Node{}, ofSite, mcbuilder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(provider.Watch(func(_ context.Context, site v1alpha1.SiteName) []types.NamespacedName {
			return []types.NamespacedName{{Name: string(site)}}
		})).
		Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of Sites: %w", err)
	}
	return nil
}
