// SPDX-License-Identifier: Apache-2.0

// Package topology expands a Topology into SQLServers, AvailabilityGroups, Distributors, AgentProfiles, Publications,
// Subscriptions, BackupStores and BackupPolicies, keeps them as the manifest says, takes away those that left it, and
// sums up their state. It works on objects of the hub alone; what becomes of data is decided by each object's own
// reclaim policy.
package topology

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/topology"
)

const (
	// reconcileTimeout bounds one reconciliation: at most 175 objects are written.
	reconcileTimeout = time.Minute
	// callTimeout bounds one call of the hub's API server.
	callTimeout = 10 * time.Second
	// lookAgain is when a topology is looked at again although nothing of it changed.
	lookAgain = 5 * time.Minute
	// lookStuck is when objects that the API server refused are tried again: what it checks them against (another
	// object, a Site) may have changed.
	lookStuck = 30 * time.Second
	// lookSoon is when a topology that is being worked on is looked at again.
	lookSoon = 2 * time.Second
)

// Reconciler of Topologies.
type Reconciler struct {
	hub client.Client
	// fresh reads from the API server: whether an object exists that is to be made is not asked of a cache.
	fresh  client.Reader
	events events.EventRecorder
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers;availabilitygroups;distributors;agentprofiles;publications;subscriptions;backupstores;backuppolicies,verbs=get;list;watch;create;patch;delete
func SetupWithManager(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{hub: local.GetClient(), fresh: local.GetAPIReader(), events: local.GetEventRecorder("topology")}
	frame := reconcile.New(r.hub, reconcile.Kind[*v1alpha1.Topology, Desired, Observed]{
		Name: "Topology", New: func() *v1alpha1.Topology { return &v1alpha1.Topology{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon, Progress: lookSoon, Stalled: lookStuck, Resync: lookAgain},
		Desire:       desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	})
	// One at a time: two Topologies that declare one object are decided one after the other.
	builder := reconcile.Controller(mgr, "topology", &v1alpha1.Topology{}, 1)
	for _, k := range kinds {
		builder = builder.Watches(k.object(), sites.EnqueueHub(r.declaring(k.name)), reconcile.HubOnly()...)
	}
	if err := builder.Complete(frame); err != nil {
		return fmt.Errorf("making the controller of Topologies: %w", err)
	}
	return nil
}

// declaring maps an object of a kind to the Topology that owns it and to those that declare its name: one of them may
// have waited for it to go.
func (r *Reconciler) declaring(
	kind string,
) func(context.Context, v1alpha1.SiteName, client.Object) []types.NamespacedName {
	return func(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
		return reconcile.Keys(ctx, r.hub, &v1alpha1.TopologyList{}, obj.GetNamespace(), func(t *v1alpha1.Topology) bool {
			return obj.GetLabels()[v1alpha1.LabelTopology] == t.Name || topology.Declares(t, kind, obj.GetName())
		})
	}
}
