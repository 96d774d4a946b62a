// SPDX-License-Identifier: Apache-2.0

package distributor

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
	reconcileTimeout = 3 * time.Minute
	lookAgain        = 30 * time.Second
)

// Options of the controller.
type Options struct {
	// Connector connects to servers.
	Connector *mssql.Connector
}

// Reconciler of Distributors.
type Reconciler struct {
	connector *mssql.Connector
	access    mssql.AccessSource
	hub       client.Client
	reporter  reconcile.Reporter
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=publications;subscriptions;sqlservers;availabilitygroups;sites,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		connector: o.Connector, access: o.Connector, hub: local.GetClient(),
		reporter: replication.NewReporter(local, "distributor"),
	}
	return replication.Controller[*v1alpha1.Distributor, Desired, Observed]{
		Name: "distributor",
		Kind: reconcile.Kind[*v1alpha1.Distributor, Desired, Observed]{
			Name: "Distributor", New: func() *v1alpha1.Distributor { return &v1alpha1.Distributor{} },
			Timeout: reconcileTimeout, RequeueAfter: reconcile.RequeueAfter{Resync: lookAgain},
			Desire: r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete,
			Apply: r.apply, Report: r.report, Yields: planYield,
		},
		List:    func() client.ObjectList { return &v1alpha1.DistributorList{} },
		Near:    []client.Object{&v1alpha1.Publication{}, &v1alpha1.AvailabilityGroup{}, &v1alpha1.SQLServer{}},
		Reclaim: func(d *v1alpha1.Distributor) v1alpha1.ReclaimPolicy { return d.Spec.ReclaimPolicy },
	}.SetupWithManager(mgr)
}
