// SPDX-License-Identifier: Apache-2.0

package publication

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
	// reconcileTimeout bounds one reconciliation; statements at the publisher go on to the distributor.
	reconcileTimeout = 10 * time.Minute
	lookAgain        = 15 * time.Second
)

// Options of the controller.
type Options struct {
	// Connector connects to servers.
	Connector *mssql.Connector
}

// Reconciler of Publications.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	hub       client.Client
	reporter  reconcile.Reporter
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=publications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publications/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors;subscriptions;agentprofiles;sqlservers;availabilitygroups;publishermoves,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		connector: o.Connector, access: o.Connector, hub: local.GetClient(),
		reporter: replication.NewReporter(local, "publication"),
	}
	return replication.Controller[*v1alpha1.Publication, Desired, Observed]{
		Name: "publication",
		Kind: reconcile.Kind[*v1alpha1.Publication, Desired, Observed]{
			Name: "Publication", New: func() *v1alpha1.Publication { return &v1alpha1.Publication{} },
			Timeout: reconcileTimeout, RequeueAfter: reconcile.RequeueAfter{Resync: lookAgain},
			Desire: r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete,
			Apply: r.apply, Report: r.report, Yields: planYield,
		},
		List: func() client.ObjectList { return &v1alpha1.PublicationList{} },
		Near: []client.Object{
			&v1alpha1.Distributor{}, &v1alpha1.AgentProfile{}, &v1alpha1.AvailabilityGroup{}, &v1alpha1.SQLServer{},
		},
		Asked:   []client.Object{&v1alpha1.Subscription{}},
		Reclaim: func(p *v1alpha1.Publication) v1alpha1.ReclaimPolicy { return p.Spec.ReclaimPolicy },
		Holds:   holdsRight,
	}.SetupWithManager(mgr)
}
