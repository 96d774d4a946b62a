// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/internal/topology"
)

const (
	reconcileTimeout = 2 * time.Minute
	lookAgain        = 30 * time.Second
	lookSoon         = 2 * time.Second
	workers          = 2
	// serverTimeout bounds the questions to the server of a volume.
	serverTimeout = 12 * time.Second
)

// statusOwner is the field manager of a BackupStore's status.
const statusOwner = client.FieldOwner("geosql-operator-backupstore")

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector knows the servers' CAs.
	Connector *mssql.Connector
	// Sidecars are told and asked instead of those of the sites; tests speak for them.
	Sidecars Sidecars
}

// Sidecars are those of the servers of all sites.
type Sidecars interface {
	// Orders are the data of a server's Secret of orders.
	Orders(ctx context.Context, namespace string, server v1alpha1.ServerName) (map[string][]byte, error)
	// Write replaces what an owner has told a server's sidecar.
	Write(ctx context.Context, namespace string, server v1alpha1.ServerName, owner client.FieldOwner,
		data map[string][]byte) error
	// Part decodes what a part of a server's sidecar says of itself.
	Part(ctx context.Context, namespace string, server v1alpha1.ServerName, part string, into any) error
}

// Reconciler of BackupStores.
type Reconciler struct {
	hub client.Client
	// fresh reads from the hub's API server; Secrets are not cached.
	fresh    client.Reader
	reporter reconcile.Reporter
	now      func() time.Time
	try      func(context.Context, store.Bucket) error
	sidecars Sidecars

	mu    sync.Mutex
	tried map[types.UID]attempt
}

// attempt is the last of a store, with what was tried.
type attempt struct {
	Attempt
	of [sha256.Size]byte
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=backupstores,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backupstores/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backuppolicies;sqlservers;sites,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	if o.Sidecars == nil {
		o.Sidecars = sidecars.Sidecars{Sites: o.Sites, Hub: local.GetClient(), Access: o.Connector,
			Address: sidecars.Address}
	}
	r := &Reconciler{hub: local.GetClient(), fresh: local.GetAPIReader(), now: time.Now, try: try,
		sidecars: o.Sidecars,
		tried:    map[types.UID]attempt{},
		reporter: reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder("backupstore"),
			Owner: statusOwner}}
	frame := r.frame()
	err := reconcile.Controller(mgr, "backupstore", &v1alpha1.BackupStore{}, workers, reconcile.SpecOrAnnotations()).
		Watches(&v1alpha1.BackupPolicy{}, sites.EnqueueHub(storesOf), reconcile.HubOnly()...).
		Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of BackupStores: %w", err)
	}
	return nil
}

func (r *Reconciler) frame() *reconcile.Reconciler[*v1alpha1.BackupStore, Desired, Observed] {
	return reconcile.New(r.hub, reconcile.Kind[*v1alpha1.BackupStore, Desired, Observed]{
		Name: "BackupStore", New: func() *v1alpha1.BackupStore { return &v1alpha1.BackupStore{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout, Repeats: true,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon / 4, Progress: lookSoon, Stalled: lookAgain, Resync: lookAgain},
		Stays:        reconcile.WhileDeclared[*v1alpha1.BackupStore](r.fresh, topology.Declares),
		Desire:       r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	})
}

func storesOf(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	policy, ok := obj.(*v1alpha1.BackupPolicy)
	if !ok {
		return nil
	}
	var stores []types.NamespacedName
	for _, s := range policy.Spec.Stores {
		stores = append(stores, types.NamespacedName{Namespace: policy.Namespace, Name: string(s)})
	}
	return stores
}
