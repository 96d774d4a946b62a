// SPDX-License-Identifier: Apache-2.0

// Package drill carries out Drills: it starts clients, injects faults when their time comes, sees to it that they are
// seen and taken back, and judges the evidence. What it has begun is in the status before it is done, so that a manager
// that ends in the middle carries on; what it does not come to ends by itself.
package drill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

const (
	// reconcileTimeout bounds one reconciliation; the longest gathers and judges.
	reconcileTimeout = 5 * time.Minute
	lookSoon         = time.Second
	lookAgain        = time.Minute
	workers          = 4
)

// statusOwner is the field manager of a drill's status.
const statusOwner = client.FieldOwner("geosql-operator-drill")

// Options of the controller.
type Options struct {
	Sites     *sites.Provider
	Connector *mssql.Connector
	// Image of the operator, which clients run.
	Image string
	// Pods in which commands are run; those of the sites, through their API servers, unless given.
	Pods Pods
}

// Reconciler of Drills.
type Reconciler struct {
	sites     *sites.Provider
	connector *mssql.Connector
	image     string
	// hub reads from the cache; direct speaks with the hub's API server.
	hub, direct client.Client
	reporter    reconcile.Reporter
	now         func() time.Time
	pods        Pods
	turns       turns
	// judging is held by whoever judges a run: its evidence takes hundreds of megabytes.
	judging sync.Mutex

	mu      sync.Mutex
	samples map[types.UID]*runSamples
	// clean are runs that are over and have left nothing behind.
	clean map[types.UID]string
}

// runSamples are what was seen of one run. They are in memory alone: what was seen before a manager ended is missing,
// and the gap shows.
type runSamples struct {
	runID string
	archive.Samples
	// clocksAsked is when clients were last asked for their clocks.
	clocksAsked time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=drills,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=drills/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sites;sqlservers;availabilitygroups;distributors;publications;subscriptions,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=failovers,verbs=get;create;delete
// +kubebuilder:rbac:groups=geosql.dev,resources=logins,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;create;delete
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	local := mgr.GetLocalManager()
	direct, err := client.New(local.GetConfig(), client.Options{Scheme: local.GetScheme(), Mapper: local.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making the client of Drills: %w", err)
	}
	r := &Reconciler{
		sites:     o.Sites,
		connector: o.Connector,
		image:     o.Image,
		hub:       local.GetClient(),
		direct:    direct,
		now:       time.Now,
		pods:      o.Pods,
		samples:   map[types.UID]*runSamples{},
		clean:     map[types.UID]string{},
		// A run's status remembers what was done and seen when, which nothing tells again.
		reporter: reconcile.Reporter{
			Hub:    local.GetClient(),
			Events: local.GetEventRecorder("drill"),
			Owner:  statusOwner,
			Lock:   true,
		},
	}
	if r.pods == nil {
		r.pods = podExec{}
	}
	frame := reconcile.New(r.hub, r.kind())
	err = reconcile.Controller(mgr, "drill", &v1alpha1.Drill{}, workers, reconcile.SpecOrAnnotations()).
		Watches(&v1alpha1.AvailabilityGroup{}, sites.EnqueueHub(r.waiting), reconcile.HubOnly()...).
		WatchesRawSource(o.Sites.Watch(func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
			return reconcile.Keys[*v1alpha1.Drill](ctx, r.hub, &v1alpha1.DrillList{}, "", nil)
		})).
		Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of Drills: %w", err)
	}
	return nil
}

// kind is what the frame of all controllers needs to know of Drills.
func (r *Reconciler) kind() reconcile.Kind[*v1alpha1.Drill, Desired, *Observed] {
	return reconcile.Kind[*v1alpha1.Drill, Desired, *Observed]{
		Name: "Drill", New: func() *v1alpha1.Drill { return &v1alpha1.Drill{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout, Repeats: true,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon / 4, Progress: lookSoon, Stalled: lookAgain, Resync: lookAgain},
		Desire:       r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	}
}

// waiting are the drills of a group's namespace that have not begun.
func (r *Reconciler) waiting(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return reconcile.Keys(ctx, r.hub, &v1alpha1.DrillList{}, obj.GetNamespace(), func(d *v1alpha1.Drill) bool {
		return d.Status.Phase == v1alpha1.DrillPending || d.Status.Phase == ""
	})
}

// forget drops what was seen of a drill's run, which is over, and of the drill itself when it is being deleted.
func (r *Reconciler) forget(d *v1alpha1.Drill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.samples, d.UID)
	if d.DeletionTimestamp != nil {
		delete(r.clean, d.UID)
	}
}

// seen returns what was seen of a run so far.
func (r *Reconciler) seen(d *v1alpha1.Drill) *runSamples {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.samples[d.UID]
	if s == nil || s.runID != d.Status.RunID {
		s = &runSamples{runID: d.Status.RunID}
		r.samples[d.UID] = s
	}
	return s
}
