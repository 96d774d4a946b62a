// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/internal/topology"
)

const (
	// reconcileTimeout bounds one reconciliation; some steps wait for other replicas.
	reconcileTimeout = 5 * time.Minute
	// lookAgain is when a group that is as it should be is looked at again: engines tell nobody of their roles, and the
	// listener follows what is seen here.
	lookAgain = 5 * time.Second
	// lookSoon is when a group that is being worked on is looked at again, lookStep after steps.
	lookSoon = time.Second
	lookStep = lookSoon / 4
)

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Timings of the votes of new groups that declare none; ballot.NewGroup unless given.
	Timings ballot.Timings
	// Sidecar is the address of a server's sidecar; its Service's unless given.
	Sidecar func(namespace string, server v1alpha1.ServerName) string
	// Confirmed is told of statuses that are so still.
	Confirmed *confirmed.Keeper
}

// reach is how the sites are reached: a sites.Provider.
type reach interface {
	Member(site v1alpha1.SiteName) (*sites.Member, error)
	Wait(ctx context.Context, site v1alpha1.SiteName, patience sites.Patience) (context.Context, context.CancelFunc)
}

// statuses that are confirmed: a confirmed.Keeper.
type statuses interface {
	Recall(ctx context.Context, namespace string)
	Confirm(group client.Object, at time.Time, silent ...string)
	Answered(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup
}

// Reconciler of AvailabilityGroups.
type Reconciler struct {
	sites     reach
	connector *mssql.Connector
	timings   ballot.Timings
	sidecar   func(namespace string, server v1alpha1.ServerName) string

	hub client.Client
	// secrets reads the hub's Secrets from the API server.
	secrets  client.Reader
	reporter reconcile.Reporter
	// confirmed are the statuses that are so still.
	confirmed statuses
	now       func() time.Time
	settling  sites.Settling
	silences  silences
	absences  lasting
	unseeded  lasting
	// unheard and restarted are of replicas without a connection.
	unheard   lasting
	restarted attempts
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers;backuppolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=restores,verbs=get;list;watch;create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.Timings == (ballot.Timings{}) {
		o.Timings = ballot.NewGroup()
	}
	if err := o.Timings.Check(); err != nil {
		return fmt.Errorf("timings of the votes: %w", err)
	}
	if o.Sidecar == nil {
		o.Sidecar = sidecars.Address
	}
	local := mgr.GetLocalManager()
	r := &Reconciler{
		confirmed: o.Confirmed,
		sites:     o.Sites, connector: o.Connector, timings: o.Timings, sidecar: o.Sidecar,
		hub: local.GetClient(), secrets: local.GetAPIReader(), now: time.Now,
		reporter: reconcile.Reporter{
			Hub:    local.GetClient(),
			Events: local.GetEventRecorder("availabilitygroup"),
			Owner:  statusOwner,
			Own:    ownConditions,
		},
	}
	frame := reconcile.New(r.hub, reconcile.Kind[*v1alpha1.AvailabilityGroup, Desired, Observed]{
		Name: "AvailabilityGroup", New: func() *v1alpha1.AvailabilityGroup { return &v1alpha1.AvailabilityGroup{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookStep, Progress: lookSoon, Resync: lookAgain},
		Desire:       r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
		Gone:  o.Confirmed.Forget,
		Stays: reconcile.WhileDeclared[*v1alpha1.AvailabilityGroup](local.GetAPIReader(), topology.Declares),
	})
	builder := reconcile.Controller(
		mgr,
		"availabilitygroup",
		&v1alpha1.AvailabilityGroup{},
		reconcile.AsConfigured,
		reconcile.SpecOrAnnotations(),
	)
	return reconcile.WatchHub(builder, sites.EnqueueHub(r.groupsOfServer), &v1alpha1.SQLServer{}).
		// Readiness is looked at every second while it is waited for. A pod that comes or goes changes who is primary, sooner
		// or later.
		Watches(&corev1.Pod{}, sites.EnqueueHub(r.groupsOfPod)).
		Watches(&corev1.Service{}, sites.EnqueueOwner(v1alpha1.LabelGroup)).
		// The votes tell of a new primary first; the listener follows what is seen here.
		Watches(&coordinationv1.Lease{}, sites.EnqueueOwner(v1alpha1.LabelGroup), mcbuilder.WithPredicates(requests.Moved())).
		WatchesRawSource(o.Sites.Watch(func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
			return reconcile.Keys[*v1alpha1.AvailabilityGroup](ctx, r.hub, &v1alpha1.AvailabilityGroupList{}, "", nil)
		})).
		Complete(frame)
}

func (r *Reconciler) groupsOfServer(
	ctx context.Context,
	_ v1alpha1.SiteName,
	obj client.Object,
) []types.NamespacedName {
	return r.groupsWith(ctx, obj.GetNamespace(), obj.GetName())
}

func (r *Reconciler) groupsOfPod(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	labels := obj.GetLabels()
	if labels[v1alpha1.LabelNamespace] == "" || labels[v1alpha1.LabelServer] == "" {
		return nil
	}
	return r.groupsWith(ctx, labels[v1alpha1.LabelNamespace], labels[v1alpha1.LabelServer])
}

func (r *Reconciler) groupsWith(ctx context.Context, namespace, server string) []types.NamespacedName {
	return reconcile.Keys(
		ctx,
		r.hub,
		&v1alpha1.AvailabilityGroupList{},
		namespace,
		func(g *v1alpha1.AvailabilityGroup) bool {
			return slices.ContainsFunc(g.Spec.Replicas, func(p v1alpha1.Replica) bool { return string(p.Server) == server })
		},
	)
}
