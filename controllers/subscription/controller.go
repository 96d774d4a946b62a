// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
)

const (
	// reconcileTimeout bounds one reconciliation; a comparison of all rows may be among what it reads.
	reconcileTimeout = 35 * time.Minute
	lookAgain        = 15 * time.Second
)

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Sidecar is the address of a server's sidecar; its Service's unless given.
	Sidecar func(namespace string, server v1alpha1.ServerName) string
}

// Reconciler of Subscriptions.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	sidecars  Sidecars
	address   func(namespace string, server v1alpha1.ServerName) string
	hub       client.Client
	// server reads from the hub's API server itself.
	server   client.Reader
	reporter reconcile.Reporter
	counted  counts
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=subscriptions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=subscriptions/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publications;distributors;agentprofiles;sqlservers;availabilitygroups;publishermoves;sites;backuppolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.Sidecar == nil {
		o.Sidecar = sidecars.Address
	}
	local := mgr.GetLocalManager()
	access := o.Connector
	r := &Reconciler{
		connector: o.Connector, access: access, address: o.Sidecar, hub: local.GetClient(), server: local.GetAPIReader(),
		sidecars: siteSidecars{sidecars.Sidecars{Sites: o.Sites, Hub: local.GetClient(), Access: access, Address: o.Sidecar}},
		reporter: replication.NewReporter(local, "subscription"),
	}
	return replication.Controller[*v1alpha1.Subscription, Desired, Observed]{
		Name: "subscription",
		Kind: reconcile.Kind[*v1alpha1.Subscription, Desired, Observed]{
			Name: "Subscription", New: func() *v1alpha1.Subscription { return &v1alpha1.Subscription{} },
			Timeout: reconcileTimeout, RequeueAfter: reconcile.RequeueAfter{Resync: lookAgain},
			Desire: r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete,
			Apply: r.apply, Report: r.report,
			Soon: copyAwaited,
		},
		List: func() client.ObjectList { return &v1alpha1.SubscriptionList{} },
		Near: []client.Object{
			&v1alpha1.Publication{}, &v1alpha1.Distributor{}, &v1alpha1.AgentProfile{}, &v1alpha1.AvailabilityGroup{},
			&v1alpha1.SQLServer{},
		},
		Reclaim: func(s *v1alpha1.Subscription) v1alpha1.ReclaimPolicy { return s.Spec.ReclaimPolicy },
		Holds:   holds,
	}.SetupWithManager(mgr)
}

// copyAwaited tells that a copy is on its way: the subscriber's mirror does not have the newest snapshot yet, or, where
// copies are made by a schedule, the subscriber itself does not. It may be Ready for the one before meanwhile. One that
// nobody brings is not.
func copyAwaited(d Desired, o Observed) bool {
	if d.Publication == nil {
		return false
	}
	d = d.asRegistered(o)
	if d.scheduled() {
		return len(o.registrations(d)) > 0 && !o.newest(d)
	}
	return o.awaitsMirror(d) && d.needsMirror()
}
