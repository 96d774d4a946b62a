// SPDX-License-Identifier: Apache-2.0

// Package backupstore tries declared stores: an object is written, read back and removed before a store is Ready, and
// again from time to time.
package backupstore

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/backup/store"
)

// Desired is what a BackupStore asks for.
type Desired struct {
	Store *v1alpha1.BackupStore
	// Missing says which Secret or key is not there; empty when everything is.
	Missing string
	// Bucket is how it is reached, unless something is missing.
	Bucket store.Bucket
	// Recipient is the public key to which its backups are encrypted; empty for none.
	Recipient string
	// Policies name it.
	Policies []string
}

func (r *Reconciler) desire(ctx context.Context, s *v1alpha1.BackupStore) (Desired, error) {
	d := Desired{Store: s}
	var policies v1alpha1.BackupPolicyList
	if err := r.hub.List(ctx, &policies, client.InNamespace(s.Namespace)); err != nil {
		return d, fmt.Errorf("list the BackupPolicies that name BackupStore %s: %w", s.Name, err)
	}
	for _, p := range policies.Items {
		if slices.Contains(p.Spec.Stores, v1alpha1.ObjectName(s.Name)) {
			d.Policies = append(d.Policies, p.Name)
		}
	}
	slices.Sort(d.Policies)
	var err error
	if d.Bucket, d.Missing, err = declared.Bucket(ctx, r.fresh, s); err != nil || d.Missing != "" {
		return d, err
	}
	keys, missing, err := declared.Keys(ctx, r.fresh, s)
	d.Recipient, d.Missing = keys.Recipient, missing
	return d, err
}
