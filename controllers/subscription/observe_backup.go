// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// Backup is the backup with which the subscriber begins, as it was seen. Nothing of it is read once it is all there.
type Backup struct {
	// Looked tells that all orders were read; Err is why they are not known, of the primary or the subscriber, and Unread
	// why they are not of others.
	Looked bool
	Err    error
	Unread map[v1alpha1.ServerName]error
	// Lost says of servers that do not answer why nobody expects them back.
	Lost map[v1alpha1.ServerName]string
	// Readers are the orders of the publisher's sidecars, Told the one of the subscriber's; nil while it has none.
	Readers map[v1alpha1.ServerName]*orders.Reader
	Told    *orders.Mirror
	// Sent is what the publisher's sidecars say of the folder, Mirror what the subscriber's says; nil when nothing.
	// SentErr and MirrorErr are why that is not known: silence is no word of theirs.
	Sent      map[v1alpha1.ServerName]*files.Status
	SentErr   map[v1alpha1.ServerName]error
	Mirror    *files.Status
	MirrorErr error
	// From is what the publication is for subscribers that begin so.
	From reconcile.Reading[mssql.FromBackup]
	// Taking tells that the primary was taking a backup of any database just before Taken was read, which is what lies
	// there where the backup is written.
	Taking bool
	Taken  reconcile.Reading[FoundBackup]
	// At is what the subscriber's instance is for the restore, Places those of its database, nil while there is none.
	At     reconcile.Reading[mssql.RestoreTarget]
	Places reconcile.Reading[*mssql.DatabasePlaces]
	// Restoring tells that a restore of the operator's goes on at the subscriber; read unless the database is ONLINE.
	Restoring reconcile.Reading[bool]
	// LogEnd is where the log of what was restored ends, while nobody may write it.
	LogEnd reconcile.Reading[string]
	// Objects are what people have made in the subscriber's database, while that is in the way.
	Objects reconcile.Reading[[]mssql.UserObject]
	// Brought is what the subscriber has of the backup, Files the database's in it.
	Brought reconcile.Reading[FoundBackup]
	Files   reconcile.Reading[[]mssql.BackupFileEntry]
}

// ordered tells that a sidecar has orders of a backup.
func (b Backup) ordered() bool { return len(b.Readers) > 0 || b.Told != nil }

// looksForBackup tells that there may be something of a backup.
func (d Desired) looksForBackup(o *Observed) bool {
	first := !d.registeredBefore()
	return d.noted() || d.fromBackup() && (first || o.Publication != nil && len(o.registrations(d)) == 0) ||
		d.Publication == nil && first && d.ownMethod() == v1alpha1.InitializeBackup
}

// asksOfBackup tells what is read once the orders of a backup are: where the subscriber's database is, and, for the
// restore, whole. A database that is to be written, or to go, is looked at whatever the sidecars say.
func (o Observed) asksOfBackup(d Desired) (places, whole bool) {
	registered := len(o.registrations(d)) > 0
	switch {
	case d.deleting():
		return (!d.served() || d.noted()) && o.Servers[d.Subscriber].State != nil, false
	case o.Publication == nil, o.primary(d) == "", registered && !o.sealed(d):
		return false, false
	case registered, !d.fromBackup():
		return true, false
	}
	return o.Backup.Err == nil, o.Backup.Err == nil
}

// observeBackup reads the orders and what became of them, and, while the subscription is not registered, the backup and
// what is restored of it.
func observeBackup(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, o *Observed) {
	if !d.looksForBackup(o) {
		return
	}
	observeBackupOrders(ctx, sidecars, d, o)
	places, whole := o.asksOfBackup(d)
	if !whole {
		if places {
			observePlaces(ctx, engines, d, o)
		}
		return
	}
	primary := o.primary(d)
	b := &o.Backup
	var from mssql.FromBackup
	err := engines.Read(ctx, primary, d.publisherDatabase(), func(ctx context.Context, db *mssql.DB) (err error) {
		from, err = mssql.ReadFromBackup(ctx, db, d.publication(), d.publisherDatabase())
		return err
	})
	b.From = reconcile.Asked(from, err)
	var at mssql.RestoreTarget
	err = engines.Read(ctx, d.Subscriber, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		at, err = mssql.ReadRestoreTarget(ctx, db, d.database())
		return err
	})
	b.At, b.Places = reconcile.Asked(at, err), reconcile.Asked(at.Places, err)
	observeRestoring(ctx, engines, d, o)
	if r := o.order(d); r != nil {
		observeAttempt(ctx, engines, d, o, r)
	}
	observeLogEnd(ctx, engines, d, o)
	observeWay(ctx, engines, d, o)
}

// observeAttempt reads the backup's header at both ends, and what is restored of it.
func observeAttempt(ctx context.Context, engines replication.Engines, d Desired, o *Observed, r *orders.Reader) {
	b, primary := &o.Backup, o.primary(d)
	err := engines.Read(ctx, primary, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		b.Taking, err = mssql.Executes(ctx, db, takesBackups)
		return err
	})
	if b.Taken = reconcile.NotRead[FoundBackup](err); err == nil {
		b.Taken = findBackup(ctx, engines, primary, d.taken(r.Backup))
	}
	if !o.toRestore(d, r) {
		return
	}
	there := d.arrived(primary, r.Backup)
	if b.Brought = findBackup(ctx, engines, d.Subscriber, there); b.Brought.Err() != nil || o.online() {
		return
	}
	var entries []mssql.BackupFileEntry
	err = engines.Read(ctx, d.Subscriber, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		entries, err = mssql.ReadBackupFileList(ctx, db, there, 1)
		return err
	})
	b.Files = reconcile.Asked(entries, err)
}

// toRestore tells that a backup is there, and not restored, or in part.
func (o Observed) toRestore(d Desired, r *orders.Reader) bool {
	return o.Backup.arrived(r.Backup) && (!o.restoredSet(d, r) || !o.online())
}

// takesBackups is the command that an engine shows of itself while it takes a backup.
const takesBackups = "BACKUP DATABASE"

// findBackup reads the header of a file's first backup set. That the engine does not open the file, or finds no set in
// it, is an answer; whatever else it refuses is none.
func findBackup(
	ctx context.Context,
	engines replication.Engines,
	server v1alpha1.ServerName,
	file string,
) reconcile.Reading[FoundBackup] {
	var all []mssql.BackupHeader
	err := engines.Read(ctx, server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		all, err = mssql.ReadBackupHeaders(ctx, db, file)
		return err
	})
	switch {
	case mssql.HasNumber(err, tsql.NoBackupDevice):
		return reconcile.Read(FoundBackup{Missing: err})
	case err != nil && !mssql.HasNumber(err, tsql.NoBackupFile...):
		return reconcile.NotRead[FoundBackup](err)
	case len(all) == 0:
		return reconcile.Read(FoundBackup{})
	}
	// What comes after the first set, and whether it can be read, does not matter.
	return reconcile.Read(FoundBackup{Header: &all[0]})
}

// arrived tells that the subscriber's sidecar has a backup whole, and no other in its place.
func (b Backup) arrived(stamp string) bool {
	return b.Mirror != nil && b.Mirror.State == files.Verified && b.Mirror.Generation == generation(stamp) &&
		b.Mirror.Snapshot == stamp
}

// made tells that a server has the folder for a backup.
func (b Backup) made(server v1alpha1.ServerName, stamp string) bool {
	s := b.Sent[server]
	return s != nil && s.State == files.Made && s.Snapshot == stamp
}

// restoredOf tells that the subscriber's database is what was restored of a backup for this Subscription, of whichever
// one if that is empty.
func (o Observed) restoredOf(d Desired, stamp string) bool {
	places, err := o.Backup.Places.Get()
	return err == nil && places != nil && len(places.Files) > 0 &&
		!slices.ContainsFunc(places.Files, func(f string) bool { return !strings.Contains(f, d.mark(stamp)) })
}
