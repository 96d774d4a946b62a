// SPDX-License-Identifier: Apache-2.0

// Package backupstore tries declared stores: an object is written, read back and removed before a store is Ready, and
// again from time to time. One on a server's volume is tried by that server's sidecar, which is told to keep it.
package backupstore

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/sites"
)

// Desired is what a BackupStore asks for.
type Desired struct {
	Store *v1alpha1.BackupStore
	// Missing says which Secret, key or server is not there; empty when everything is.
	Missing string
	// Bucket is how it is reached, unless something is missing, or it is on a server's volume.
	Bucket store.Bucket
	// Recipient is the public key to which its backups are encrypted; empty for none.
	Recipient string
	// Order is what the server is told on whose volume it is.
	Order []byte
	// Policies name it.
	Policies []string
	// Gone says whether anybody expects the server back; read for a deletion alone.
	Gone sites.Gone
}

// keeper is the server on whose volume it is; empty for a bucket.
func (d *Desired) keeper() v1alpha1.ServerName {
	if d.Store.Spec.Volume == nil {
		return ""
	}
	return d.Store.Spec.Volume.Server
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
	if d.keeper() == "" {
		d.Bucket, d.Missing, err = declared.Bucket(ctx, r.fresh, s)
	} else {
		err = r.volume(ctx, &d)
	}
	if err != nil || d.Missing != "" {
		return d, err
	}
	keys, missing, err := declared.Keys(ctx, r.fresh, s)
	d.Recipient, d.Missing = keys.Recipient, missing
	return d, err
}

// volume finds what the server is told.
func (r *Reconciler) volume(ctx context.Context, d *Desired) (err error) {
	name, namespace := d.keeper(), d.Store.Namespace
	if d.Store.DeletionTimestamp != nil {
		d.Gone, err = sites.ReadGone(ctx, r.hub, namespace, r.now())
		return err
	}
	err = r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &v1alpha1.SQLServer{})
	switch {
	case apierrors.IsNotFound(err):
		d.Missing = fmt.Sprintf("SQLServer %s is not there", name)
		return nil
	case err != nil:
		return fmt.Errorf("read SQLServer %s/%s: %w", namespace, name, err)
	}
	order := orders.Store{Name: d.Store.Name}
	if q := d.Store.Spec.Volume.Quota; q != nil {
		order.Quota = q.Value()
	}
	d.Order, err = order.Encode()
	return err
}
