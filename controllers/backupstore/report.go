// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	before, status := d.Store.Status, reported(d, o)
	changes := conditions.Set(&status.StatusBase, d.Store.Generation, reconcile.Outcome(p.Outcome, failed))
	return r.reporter.Report(ctx, d.Store, &before, &status, changes)
}

func reported(d Desired, o Observed) v1alpha1.BackupStoreStatus {
	status := *d.Store.Status.DeepCopy()
	status.Policies = int32(min(len(d.Policies), 1<<20))
	if d.Missing == "" {
		status.Recipient = d.Recipient
	}
	if says, err := o.Says.Get(); d.keeper() != "" && err == nil && says != nil && !says.Tried.IsZero() {
		status.Volume = &v1alpha1.ServerVolumeStatus{Bytes: says.Bytes, RoomBytes: says.RoomBytes}
		if says.Error == "" {
			at := metav1.NewTime(says.Tried)
			status.Tested = &at
		}
	}
	if o.Tried != nil && o.Tried.Err == nil {
		at := metav1.NewTime(o.Tried.At)
		status.Tested = &at
	}
	return status
}
