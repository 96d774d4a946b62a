// SPDX-License-Identifier: Apache-2.0

// Package backup follows Backups: which databases they are of is decided once, the policy's servers are asked by the
// controller of BackupPolicies, and what they have taken is kept as the status.
package backup

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Desired is what a Backup asks for.
type Desired struct {
	Backup *v1alpha1.Backup
	// Policy by which it is taken; nil when there is none.
	Policy *v1alpha1.BackupPolicy
}

func (r *Reconciler) desire(ctx context.Context, b *v1alpha1.Backup) (Desired, error) {
	d := Desired{Backup: b}
	var p v1alpha1.BackupPolicy
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: string(b.Spec.Policy)}, &p)
	switch {
	case apierrors.IsNotFound(err):
		return d, nil
	case err != nil:
		return d, fmt.Errorf("read BackupPolicy %s/%s: %w", b.Namespace, b.Spec.Policy, err)
	}
	d.Policy = &p
	return d, nil
}
