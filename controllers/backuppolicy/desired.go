// SPDX-License-Identifier: Apache-2.0

// Package backuppolicy tells the servers of a target which backups they take, gives their agents the rights for that,
// and reports what they say of it. The agents do the rest, also while no manager runs.
package backuppolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/sites"
)

// Desired is what a BackupPolicy asks for.
type Desired struct {
	Policy *v1alpha1.BackupPolicy
	// Missing says what the policy refers to and is not there; empty when everything is.
	Missing string
	// First is another BackupPolicy of the target, which came first; empty when there is none.
	First string
	// Servers are those that are told: the server, or the replicas of the group with data.
	Servers []v1alpha1.ServerName
	// Former are servers that were told, and are none of the target any more.
	Former []v1alpha1.ServerName
	// Primary is the server, or the group's primary; empty while that is not known.
	Primary v1alpha1.ServerName
	// Databases of the target as they are declared, those of the policy alone where it names any.
	Databases []v1alpha1.DatabaseName
	// Editions are those that the servers declare; a server with a product key has none.
	Editions map[v1alpha1.ServerName]v1alpha1.Edition
	// Backups of the policy: what people ask for, and the records of what was taken; the oldest first.
	Backups []v1alpha1.Backup
	// Tests are the Restores of the policy's tests; TestRefused is why the server is none for them, empty when it is.
	Tests       []v1alpha1.Restore
	TestRefused string
	// Order is what the servers are told, but for what their engines say of themselves.
	Order orders.Backup
	// Gone are servers that nobody expects back; read for a deletion, and where there are Former.
	Gone sites.Gone
}

func (r *Reconciler) desire(ctx context.Context, p *v1alpha1.BackupPolicy) (Desired, error) {
	d := Desired{Policy: p}
	if err := r.target(ctx, &d); err != nil {
		return d, err
	}
	deleted := p.DeletionTimestamp != nil
	// A group that is not declared for a while has its replicas all the same.
	if d.Missing == "" || deleted {
		for _, name := range p.Status.Servers {
			if !slices.Contains(d.Servers, name) {
				d.Former = append(d.Former, name)
			}
		}
	}
	if deleted || len(d.Former) > 0 {
		var err error
		d.Gone, err = sites.ReadGone(ctx, r.hub, p.Namespace, r.now())
		if err != nil || deleted {
			return d, err
		}
	}
	if err := r.others(ctx, &d); err != nil || d.Missing != "" {
		return d, err
	}
	return d, r.order(ctx, &d)
}

func (r *Reconciler) target(ctx context.Context, d *Desired) error {
	if name := d.Policy.Spec.Target.Server; name != "" {
		return r.server(ctx, d, name)
	}
	name := d.Policy.Spec.Target.AvailabilityGroup
	var group v1alpha1.AvailabilityGroup
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Policy.Namespace, Name: string(name)}, &group)
	if apierrors.IsNotFound(err) {
		d.Missing = fmt.Sprintf("there is no AvailabilityGroup %s", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read AvailabilityGroup %s/%s: %w", d.Policy.Namespace, name, err)
	}
	d.ofGroup(&group)
	return r.editions(ctx, d)
}

// editions reads which editions the replicas declare.
func (r *Reconciler) editions(ctx context.Context, d *Desired) error {
	d.Editions = map[v1alpha1.ServerName]v1alpha1.Edition{}
	for _, name := range d.Servers {
		var server v1alpha1.SQLServer
		err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Policy.Namespace, Name: string(name)}, &server)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read SQLServer %s/%s: %w", d.Policy.Namespace, name, err)
		}
		d.Editions[name] = server.Spec.DeclaredEdition()
	}
	return nil
}

func (r *Reconciler) server(ctx context.Context, d *Desired, name v1alpha1.ServerName) error {
	var server v1alpha1.SQLServer
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Policy.Namespace, Name: string(name)}, &server)
	if apierrors.IsNotFound(err) {
		d.Missing = fmt.Sprintf("there is no SQLServer %s", name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read SQLServer %s/%s: %w", d.Policy.Namespace, name, err)
	}
	d.ofServer(&server)
	return nil
}

// named are those of the policy, where it names any.
func (d *Desired) named(all []v1alpha1.DatabaseName) []v1alpha1.DatabaseName {
	if len(d.Policy.Spec.Databases) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(name v1alpha1.DatabaseName) bool {
		return !slices.ContainsFunc(d.Policy.Spec.Databases, func(n v1alpha1.DatabaseName) bool {
			return strings.EqualFold(string(n), string(name))
		})
	})
}

// others finds a policy of the same target that came first: two would each remove what the other keeps.
func (r *Reconciler) others(ctx context.Context, d *Desired) error {
	var list v1alpha1.BackupPolicyList
	if err := r.hub.List(ctx, &list, client.InNamespace(d.Policy.Namespace)); err != nil {
		return fmt.Errorf("list the BackupPolicies of namespace %s: %w", d.Policy.Namespace, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != d.Policy.UID && other.Spec.Target == d.Policy.Spec.Target && v1alpha1.Older(other, d.Policy) {
			d.First = other.Name
		}
	}
	return nil
}

// order makes what the servers are told.
func (r *Reconciler) order(ctx context.Context, d *Desired) error {
	spec := d.Policy.Spec
	o := orders.Backup{Policy: d.Policy.Name, Namespace: d.Policy.Namespace, Target: "server/" +
		string(spec.Target.Server),
		Full:      orders.BackupTimes{Schedule: spec.Full.Schedule, TimeZone: spec.Full.TimeZone},
		AtPrimary: spec.Replica != v1alpha1.BackupPreferSecondary, Compression: ptr.Deref(spec.Compression, true),
		Checksum: ptr.Deref(spec.Checksum, true), Stripes: int(spec.Stripes), MaxTransferSize: int(spec.MaxTransferSize),
		BufferCount: int(spec.BufferCount), Verify: spec.Verification != v1alpha1.VerifyNone}
	var err error
	if o.Owner, err = r.hubUID(ctx); err != nil {
		return err
	}
	o.TakeOver = takenOver(d.Policy)
	if group := spec.Target.AvailabilityGroup; group != "" {
		o.Target, o.Group = "group/"+string(group), string(group)
	}
	for _, name := range spec.Databases {
		o.Databases = append(o.Databases, string(name))
	}
	if t := spec.Differential; t != nil {
		o.Differential = orders.BackupTimes{Schedule: t.Schedule, TimeZone: t.TimeZone}
	}
	if spec.Log != nil && spec.Log.Mode != v1alpha1.LogBackupNone && spec.Log.Every != nil {
		o.LogEvery = spec.Log.Every.Duration
	}
	if keep := spec.Retention; keep != nil {
		o.KeepFulls = int(keep.Fulls)
		if keep.Age != nil {
			o.KeepAge = keep.Age.Duration
		}
	}
	o.Verification = d.verification()
	if d.Backups, err = r.backups(ctx, d.Policy); err != nil {
		return err
	}
	o.Requests = asks(d.Backups)
	if err := r.restoreTests(ctx, d); err != nil {
		return err
	}
	for _, name := range spec.Stores {
		s, err := r.store(ctx, d, name)
		if err != nil || d.Missing != "" {
			return err
		}
		o.Stores = append(o.Stores, s)
	}
	d.Order = o
	return nil
}

// takenOver are the claims of other hubs that the policy may take over.
func takenOver(p *v1alpha1.BackupPolicy) []string {
	named := p.Annotations[v1alpha1.TakeOverBackupsAnnotation]
	return strings.FieldsFunc(named, func(c rune) bool { return c == ',' || c == ' ' })
}

func (r *Reconciler) store(ctx context.Context, d *Desired, name v1alpha1.ObjectName) (orders.BackupStore, error) {
	var s v1alpha1.BackupStore
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Policy.Namespace, Name: string(name)}, &s)
	if apierrors.IsNotFound(err) {
		d.Missing = fmt.Sprintf("there is no BackupStore %s", name)
		return orders.BackupStore{}, nil
	}
	if err != nil {
		return orders.BackupStore{}, fmt.Errorf("read BackupStore %s/%s: %w", d.Policy.Namespace, name, err)
	}
	b, missing, err := declared.Bucket(ctx, r.fresh, &s)
	if missing != "" {
		d.Missing = fmt.Sprintf("BackupStore %s: %s", name, missing)
	}
	return backups.StoreOf(s.Name, b), err
}
