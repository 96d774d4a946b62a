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
		Heard:   heard(),
		Reclaim: func(p *v1alpha1.Publication) v1alpha1.ReclaimPolicy { return p.Spec.ReclaimPolicy },
		Holds:   holdsRight,
	}.SetupWithManager(mgr)
}

// heard are the Subscriptions, at which a Publication looks at once when they begin to wait for it.
func heard() []replication.Heard {
	return []replication.Heard{{Kind: &v1alpha1.Subscription{}, Says: awaits, Of: publicationOf}}
}

// awaits is what a Subscription waits for that its Publication brings, as its status says: the log reader's right to
// set it up, or a snapshot. Empty when it waits for nothing.
func awaits(object client.Object) string {
	s, ok := object.(*v1alpha1.Subscription)
	switch {
	case !ok:
		return ""
	case awaitsLogReader(s):
		return v1alpha1.ReasonWaitingForLogReader
	case s.DeletionTimestamp == nil && s.Status.Copy != nil && s.Status.Copy.Phase == v1alpha1.CopySnapshot:
		return v1alpha1.ReasonSnapshotRunning
	}
	return ""
}

// publicationOf is the Publication that a Subscription names.
func publicationOf(object client.Object) v1alpha1.ObjectName {
	if s, ok := object.(*v1alpha1.Subscription); ok {
		return s.Spec.Publication
	}
	return ""
}
