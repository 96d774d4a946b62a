// SPDX-License-Identifier: Apache-2.0

// Package drillschedule makes Drills by the clock, one at a time, and keeps as many of those that are over as were
// asked for.
package drillschedule

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
)

const (
	reconcileTimeout = 30 * time.Second
	lookAgain        = 20 * time.Second
	workers          = 2
)

// statusOwner is the field manager of a schedule's status.
const statusOwner = client.FieldOwner("geosql-operator-drillschedule")

// Reconciler of DrillSchedules.
type Reconciler struct {
	hub client.Client
	// fresh reads from the hub's API server: a drill that was made a moment ago must be seen.
	fresh    client.Reader
	reporter reconcile.Reporter
	now      func() time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=drillschedules,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=drillschedules/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=drills,verbs=get;list;watch;create;delete
func SetupWithManager(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	r := New(local.GetClient(), local.GetAPIReader(), local.GetEventRecorder("drillschedule"), time.Now)
	err := reconcile.Controller(mgr, "drillschedule", &v1alpha1.DrillSchedule{}, workers, reconcile.SpecOrAnnotations()).
		Watches(&v1alpha1.Drill{}, sites.EnqueueHub(scheduleOf), reconcile.HubOnly()...).
		Complete(r.Frame())
	if err != nil {
		return fmt.Errorf("making the controller of DrillSchedules: %w", err)
	}
	return nil
}

// New makes a reconciler that goes by that clock.
func New(hub client.Client, fresh client.Reader, recorder events.EventRecorder, now func() time.Time) *Reconciler {
	return &Reconciler{
		hub:      hub,
		fresh:    fresh,
		now:      now,
		reporter: reconcile.Reporter{Hub: hub, Events: recorder, Owner: statusOwner},
	}
}

// Frame is the reconciler in the frame of all kinds.
func (r *Reconciler) Frame() *reconcile.Reconciler[*v1alpha1.DrillSchedule, Desired, Observed] {
	return reconcile.New(r.hub, reconcile.Kind[*v1alpha1.DrillSchedule, Desired, Observed]{
		Name: "DrillSchedule", New: func() *v1alpha1.DrillSchedule { return &v1alpha1.DrillSchedule{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout, Repeats: true,
		RequeueAfter: reconcile.RequeueAfter{
			Steps: time.Second, Progress: 5 * time.Second, Stalled: lookAgain, Resync: lookAgain,
		},
		Desire: desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	})
}

func scheduleOf(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	name := obj.GetLabels()[v1alpha1.LabelDrillSchedule]
	if name == "" {
		return nil
	}
	return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: name}}
}
