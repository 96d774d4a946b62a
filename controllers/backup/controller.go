// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

const (
	reconcileTimeout = time.Minute
	lookAgain        = 10 * time.Minute
	lookSoon         = 10 * time.Second
	workers          = 1
)

// statusOwner is the field manager of a Backup's status.
const statusOwner = client.FieldOwner("geosql-operator-backup")

// Reconciler of Backups.
type Reconciler struct {
	hub      client.Client
	reporter reconcile.Reporter
	now      func() time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=backups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backups/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backuppolicies,verbs=get;list;watch
func SetupWithManager(mgr mcmanager.Manager) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{hub: local.GetClient(), now: time.Now,
		// The status remembers what its policy does not tell any more.
		reporter: reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder("backup"), Owner: statusOwner,
			Lock: true}}
	frame := r.frame()
	err := reconcile.Controller(mgr, "backup", &v1alpha1.Backup{}, workers, reconcile.SpecOrAnnotations()).
		Watches(&v1alpha1.BackupPolicy{}, sites.EnqueueHub(r.backupsOf), reconcile.HubOnly()...).
		Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of Backups: %w", err)
	}
	return nil
}

func (r *Reconciler) frame() *reconcile.Reconciler[*v1alpha1.Backup, Desired, Observed] {
	return reconcile.New(r.hub, reconcile.Kind[*v1alpha1.Backup, Desired, Observed]{
		Name: "Backup", New: func() *v1alpha1.Backup { return &v1alpha1.Backup{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon, Progress: lookSoon, Stalled: lookAgain, Resync: lookAgain},
		Desire:       r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	})
}

// backupsOf are the Backups of a policy that have no outcome yet.
func (r *Reconciler) backupsOf(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return reconcile.Keys(ctx, r.hub, &v1alpha1.BackupList{}, obj.GetNamespace(), func(b *v1alpha1.Backup) bool {
		return string(b.Spec.Policy) == obj.GetName() && b.Status.Outcome == ""
	})
}
