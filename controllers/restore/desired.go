// SPDX-License-Identifier: Apache-2.0

// Package restore tells the agent of a server to restore a database there, gives it the right to for that time, and
// reports what it says of it. The agent does the rest, also while no manager runs.
package restore

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/declared"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// Desired is what a Restore asks for.
type Desired struct {
	Restore *v1alpha1.Restore
	// Missing says what the Restore refers to and is not there; empty when everything is.
	Missing string
	// Lost says that it is the server that is missing which was written down for a Restore to a group.
	Lost bool
	// Refused says why it can never be begun with as it is declared.
	Refused string
	// Pin is the server that a Restore to a group is to be carried out at, while none is written down; Moved is the
	// group's primary where that is another one than what is.
	Pin, Moved v1alpha1.ServerName
	// Order is what the server is told.
	Order orders.Restore
	// Kept says that the target is a server that declares the database for itself; read for what comes to its end, and
	// for what replaces, alone.
	Kept bool
	// Seal opens the keys that stores keep; Sealed says why there is none, empty where there is.
	Seal   []byte
	Sealed string
	// Others are other Restores to the server that are not over: they need the agent's right too.
	Others []string
	// Held is what has the database that is to make way, and would go on with what takes its place; empty for nothing.
	// HeldKnown says that this was looked for: what the target is may be missing.
	Held      string
	HeldKnown bool
	// Copies are the servers of the target's group that may have a copy, beside the one at which it is restored.
	Copies []v1alpha1.ServerName
	// Owners are those of what is to make way that are on record as the operator's doing.
	Owners []string
	// Now is when it was read.
	Now time.Time
	// Gone are servers that nobody expects back; read for what comes to its end alone.
	Gone sites.Gone
}

// server is the one at which it is restored; empty while none of a group is chosen.
func (d *Desired) server() v1alpha1.ServerName { return serverOf(d.Restore) }

// database that is made: as the agent said, or as far as it is declared.
func (d *Desired) database() string {
	return cmp.Or(d.Restore.Status.Database, string(d.Restore.Spec.DatabaseName()))
}

func serverOf(r *v1alpha1.Restore) v1alpha1.ServerName {
	return cmp.Or(r.Spec.Target.Server, r.Status.Server)
}

// over says that nothing is to be done any more: it is a record.
func (d *Desired) over() bool { return d.Restore.Status.Phase == v1alpha1.RestoreCompleted }

func (r *Reconciler) desire(ctx context.Context, x *v1alpha1.Restore) (Desired, error) {
	d := Desired{Restore: x, Now: r.now()}
	deleted := x.DeletionTimestamp != nil
	if d.over() && !deleted {
		return d, nil
	}
	if err := r.others(ctx, &d); err != nil {
		return d, err
	}
	if deleted || x.Status.Outcome != "" {
		var err error
		if d.Gone, err = sites.ReadGone(ctx, r.hub, x.Namespace, r.now()); err != nil {
			return d, err
		}
		d.Kept, err = r.kept(ctx, &d)
		return d, err
	}
	if d.replaces() {
		var err error
		if d.Kept, err = r.kept(ctx, &d); err != nil {
			return d, err
		}
	}
	spec := x.Spec
	d.Order = orders.Restore{Name: x.Name, UID: string(x.UID), Database: x.RestoredName(),
		DryRun: spec.DryRun, Check: spec.Check}
	if to := spec.To; to != nil {
		d.Order.LSN, d.Order.Backup = to.LSN, strings.ToLower(to.Backup)
		if to.Time != nil {
			d.Order.Time = to.Time.UTC()
		}
	}
	for _, find := range []func(context.Context, *Desired) error{r.target, r.held, r.source, r.groups} {
		if err := find(ctx, &d); err != nil || d.Missing != "" || d.Refused != "" {
			return d, err
		}
	}
	return d, nil
}

// read reads an object that a Restore names, or says that it is missing.
func (r *Reconciler) read(ctx context.Context, d *Desired, kind, name string, into client.Object) (bool, error) {
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Restore.Namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		d.Missing = fmt.Sprintf("there is no %s %s", kind, name)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s %s/%s: %w", kind, d.Restore.Namespace, name, err)
	}
	return true, nil
}

func (r *Reconciler) target(ctx context.Context, d *Desired) error {
	if d.Restore.Spec.Target.AvailabilityGroup != "" {
		if err := r.targetGroup(ctx, d); err != nil || d.Missing != "" || d.Refused != "" {
			return err
		}
	}
	var server v1alpha1.SQLServer
	there, err := r.read(ctx, d, "SQLServer", string(cmp.Or(d.server(), d.Pin)), &server)
	for _, database := range server.Status.Databases {
		if d.replaces() && strings.EqualFold(string(database.Name), string(d.Restore.Spec.Replace)) {
			d.Owners = database.Owners
		}
	}
	d.Lost = err == nil && !there && d.Restore.Status.Server != "" && d.Restore.Spec.Target.AvailabilityGroup != ""
	return err
}

// kept says whether the target is a server that declares the database.
func (r *Reconciler) kept(ctx context.Context, d *Desired) (bool, error) {
	name := string(d.Restore.Spec.Target.Server)
	if name == "" {
		return false, nil
	}
	var server v1alpha1.SQLServer
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Restore.Namespace, Name: name}, &server)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read SQLServer %s/%s: %w", d.Restore.Namespace, name, err)
	}
	return err == nil && server.Spec.Database(d.database()) != nil, nil
}

func (r *Reconciler) source(ctx context.Context, d *Desired) error {
	source, keys := d.Restore.Spec.Source, d.Restore.Spec.Keys
	stores := []v1alpha1.ObjectName{source.Store}
	d.Order.Folder = source.Path
	if source.Imports() {
		if _, err := time.LoadLocation(source.TimeZone); err != nil {
			d.Refused = fmt.Sprintf("spec.source.timeZone: %v", err)
			return nil
		}
		d.Order.Folder = orders.ImportFolder
		d.Order.Import = &orders.Import{Folder: string(source.Folder), Database: string(source.Database),
			TimeZone: source.TimeZone}
		for _, key := range source.Files {
			d.Order.Import.Files = append(d.Order.Import.Files, string(key))
		}
	}
	if source.Policy != "" {
		var policy v1alpha1.BackupPolicy
		if there, err := r.read(ctx, d, "BackupPolicy", string(source.Policy), &policy); err != nil || !there {
			return err
		}
		target := "server/" + string(policy.Spec.Target.Server)
		if group := policy.Spec.Target.AvailabilityGroup; group != "" {
			target = "group/" + string(group)
		}
		if keys == nil {
			keys = policy.Spec.Keys
		}
		d.Order.Folder = backup.DatabaseFolder(policy.Namespace, target, string(source.Database))
		if stores = policy.Spec.Stores; len(stores) == 0 {
			d.Refused = fmt.Sprintf("BackupPolicy %s has no stores: its backups are on the backup volumes of its servers "+
				"alone, and are restored there by hand (docs/backups.md)", policy.Name)
			return nil
		}
	}
	for _, name := range stores {
		if err := r.store(ctx, d, string(name)); err != nil || d.Missing != "" {
			return err
		}
	}
	return r.seal(ctx, d, keys)
}

func (r *Reconciler) store(ctx context.Context, d *Desired, name string) error {
	var s v1alpha1.BackupStore
	if there, err := r.read(ctx, d, "BackupStore", name, &s); err != nil || !there {
		return err
	}
	o, missing, err := declared.Order(ctx, r.fresh, r.keepers, &s)
	if err != nil {
		return err
	}
	keys, lacking, err := declared.Keys(ctx, r.fresh, &s)
	if err != nil {
		return err
	}
	if missing = cmp.Or(missing, lacking); missing != "" {
		d.Missing = fmt.Sprintf("BackupStore %s: %s", name, missing)
	}
	if s.Spec.Encryption != nil {
		o = o.Encrypted(keys.Recipient, keys.Identities)
	}
	d.Order.Stores = append(d.Order.Stores, o)
	return nil
}

// groups refuses a database that a group of the server's declares: what is restored there stands in its way. A group
// that is the target takes it up.
func (r *Reconciler) groups(ctx context.Context, d *Desired) error {
	server := cmp.Or(d.server(), d.Pin)
	var list v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &list, client.InNamespace(d.Restore.Namespace)); err != nil {
		return fmt.Errorf("list the AvailabilityGroups of namespace %s: %w", d.Restore.Namespace, err)
	}
	for i := range list.Items {
		group := &list.Items[i]
		if string(d.Restore.Spec.Target.AvailabilityGroup) != group.Name &&
			group.Spec.Holds(server, d.Restore.Spec.DatabaseName()) {
			d.Refused = fmt.Sprintf("AvailabilityGroup %s, of which server %s is a replica, declares database %s: restore to "+
				"another server, or under another name (spec.target.database of another Restore)", group.Name, server,
				d.Restore.Spec.DatabaseName())
		}
	}
	return nil
}

// others finds the Restores that are not over and go to the same server.
func (r *Reconciler) others(ctx context.Context, d *Desired) error {
	var list v1alpha1.RestoreList
	if err := r.hub.List(ctx, &list, client.InNamespace(d.Restore.Namespace)); err != nil {
		return fmt.Errorf("list the Restores of namespace %s: %w", d.Restore.Namespace, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != d.Restore.UID && serverOf(other) == d.server() && other.DeletionTimestamp == nil &&
			other.Status.Outcome == "" && other.Spec.AsksEngine() {
			d.Others = append(d.Others, other.Name)
		}
	}
	return nil
}

// rests says why nothing is done with a Restore: its group or server is suspended. One that is over is a record.
func (r *Reconciler) rests(ctx context.Context, x *v1alpha1.Restore) (string, error) {
	if x.Status.Phase == v1alpha1.RestoreCompleted || x.DeletionTimestamp != nil {
		return "", nil
	}
	group := string(x.Spec.Target.AvailabilityGroup)
	why, err := r.suspended(ctx, x.Namespace, group, &v1alpha1.AvailabilityGroup{})
	if err != nil || why != "" {
		return why, err
	}
	return r.suspended(ctx, x.Namespace, string(serverOf(x)), &v1alpha1.SQLServer{})
}

// suspended says that the object of this name is suspended; empty where it is not, or there is none.
func (r *Reconciler) suspended(ctx context.Context, namespace, name string, obj client.Object) (string, error) {
	if name == "" {
		return "", nil
	}
	kind := reflect.TypeOf(obj).Elem().Name()
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
	}
	if err != nil {
		return "", nil
	}
	why, err := reconcile.Suspension(ctx, r.hub, obj)
	if err != nil || why == "" {
		return "", err
	}
	return fmt.Sprintf("%s %s is suspended (%s)", kind, name, why), nil
}
