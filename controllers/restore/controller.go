// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
)

const (
	reconcileTimeout = time.Minute
	// lookSoon is when a Restore that is carried out is looked at again: sidecars tell nobody what they do. lookAgain is
	// when one that is over is; it is a record then.
	lookSoon  = 3 * time.Second
	lookAgain = 10 * time.Minute
)

// statusOwner is the field manager of a Restore's status.
const statusOwner = client.FieldOwner("geosql-operator-restore")

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Sidecar is the address of a server's sidecar; its Service's unless given.
	Sidecar func(namespace string, server v1alpha1.ServerName) string
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

// Reconciler of Restores.
type Reconciler struct {
	hub client.Client
	// fresh reads from the hub's API server; Secrets are not cached.
	fresh client.Reader
	// keepers are the servers that keep stores.
	keepers   declared.Servers
	sidecars  Sidecars
	connector *mssql.Connector
	reporter  reconcile.Reporter
	now       func() time.Time
	untold    untold
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=restores,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=restores/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backuppolicies;backupstores;sqlservers;availabilitygroups;sites;publications;subscriptions,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	if o.Sidecar == nil {
		o.Sidecar = sidecars.Address
	}
	if o.Sidecars == nil {
		o.Sidecars = sidecars.Sidecars{Sites: o.Sites, Hub: local.GetClient(), Access: o.Connector, Address: o.Sidecar}
	}
	r := &Reconciler{hub: local.GetClient(), fresh: local.GetAPIReader(), connector: o.Connector, now: time.Now,
		keepers:  declared.Servers{Hub: local.GetClient(), Access: o.Connector, Address: o.Sidecar},
		sidecars: o.Sidecars, reporter: reconcile.Reporter{Hub: local.GetClient(),
			Events: local.GetEventRecorder("restore"), Owner: statusOwner}}
	// The status is the record of what was restored.
	r.reporter.Lock = true
	frame := reconcile.New(r.hub, reconcile.Kind[*v1alpha1.Restore, Desired, Observed]{
		Name: "Restore", New: func() *v1alpha1.Restore { return &v1alpha1.Restore{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon / 4, Progress: lookSoon, Stalled: lookAgain, Resync: lookAgain},
		Desire:       r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
		Rests: r.rests,
	})
	err := reconcile.Controller(mgr, "restore", &v1alpha1.Restore{}, reconcile.AsConfigured,
		reconcile.SpecOrAnnotations()).Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of Restores: %w", err)
	}
	return nil
}
