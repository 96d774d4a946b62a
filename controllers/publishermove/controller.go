// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

const (
	// reconcileTimeout bounds one reconciliation; a comparison of all rows may be among what it reads.
	reconcileTimeout = 35 * time.Minute
	lookAgain        = 15 * time.Second
)

// Options of the controller.
type Options struct {
	// Connector connects to servers.
	Connector *mssql.Connector
}

// Reconciler of PublisherMoves.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	hub       client.Client
	reporter  reconcile.Reporter
	compared  comparisons
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=publishermoves,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publishermoves/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publications;topologies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=subscriptions,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors;sqlservers;availabilitygroups;sites,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=agentprofiles,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		connector: o.Connector, access: o.Connector, hub: local.GetClient(),
		reporter: replication.NewReporter(local, "publishermove"),
	}
	// The status is the record of the move: what was estimated, approved and left behind.
	r.reporter.Lock = true
	return replication.Controller[*v1alpha1.PublisherMove, Desired, Observed]{
		Name: "publishermove",
		Kind: reconcile.Kind[*v1alpha1.PublisherMove, Desired, Observed]{
			Name: "PublisherMove", New: func() *v1alpha1.PublisherMove { return &v1alpha1.PublisherMove{} },
			Timeout: reconcileTimeout, RequeueAfter: reconcile.RequeueAfter{Resync: lookAgain},
			Desire: r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete,
			Apply: r.apply, Report: r.report, Rests: r.rests,
		},
		List: func() client.ObjectList { return &v1alpha1.PublisherMoveList{} },
		Near: []client.Object{
			&v1alpha1.Publication{}, &v1alpha1.Subscription{}, &v1alpha1.Distributor{}, &v1alpha1.Site{},
		},
		// A record goes without a word: nothing is its own.
		Reclaim: func(*v1alpha1.PublisherMove) v1alpha1.ReclaimPolicy { return v1alpha1.ReclaimRetain },
	}.SetupWithManager(mgr)
}
