// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// Backup is the backup with which the subscriber begins, as it was seen. Nothing of it is read once it is all there.
type Backup struct {
	// Looked tells that the orders were read; Err is why they are not known, of the primary or the subscriber.
	Looked bool
	Err    error
	// Readers are the orders of the publisher's sidecars, Told the one of the subscriber's; nil while it has none.
	Readers map[v1alpha1.ServerName]*orders.Reader
	Told    *orders.Mirror
	// Sent is what the publisher's sidecars say of the folder, Mirror what the subscriber's says; nil when nothing.
	Sent   map[v1alpha1.ServerName]*files.Status
	Mirror *files.Status
	// From is what the publication is for subscribers that begin so.
	From reconcile.Reading[mssql.FromBackup]
	// Header is that of the backup at the primary, nil while there is none that is whole.
	Header reconcile.Reading[*mssql.BackupHeader]
	// Places are those of the subscriber's database, nil while there is none.
	Places reconcile.Reading[*mssql.DatabasePlaces]
	// Files are the database's in the backup at the subscriber.
	Files reconcile.Reading[[]mssql.BackupFileEntry]
}

// ordered tells that a sidecar has orders of a backup.
func (b Backup) ordered() bool { return len(b.Readers) > 0 || b.Told != nil }

// looksForBackup tells that there may be something of a backup.
func (d Desired) looksForBackup(o *Observed) bool {
	c := d.Subscription.Status.Copy
	return d.fromBackup() && (len(o.registrations(d)) == 0 || d.Subscription.Status.Initialization == nil) ||
		c != nil && c.Backup != ""
}

// observeBackup reads the orders and what became of them, and, while the subscription is not registered, the backup and
// what is restored of it.
func observeBackup(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, o *Observed) {
	if !d.looksForBackup(o) {
		return
	}
	observeBackupOrders(ctx, sidecars, d, o)
	primary := o.primary(d)
	if !d.fromBackup() || len(o.registrations(d)) > 0 || o.Publication == nil || primary == "" || o.Backup.Err != nil {
		return
	}
	b := &o.Backup
	var from mssql.FromBackup
	err := engines.Read(ctx, primary, d.publisherDatabase(), func(ctx context.Context, db *mssql.DB) (err error) {
		from, err = mssql.ReadFromBackup(ctx, db, d.publication())
		return err
	})
	b.From = reconcile.Asked(from, err)
	var places *mssql.DatabasePlaces
	err = engines.Read(ctx, d.Subscriber, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		places, err = mssql.ReadDatabasePlaces(ctx, db, d.database())
		return err
	})
	b.Places = reconcile.Asked(places, err)
	stamp := b.asked(primary)
	if stamp == "" {
		return
	}
	observeTaken(ctx, engines, d, o, primary, stamp)
	if !b.arrived(stamp) || places != nil && places.State == "ONLINE" {
		return
	}
	var entries []mssql.BackupFileEntry
	err = engines.Read(ctx, d.Subscriber, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		entries, err = mssql.ReadBackupFileList(ctx, db, d.arrived(primary, stamp), 1)
		return err
	})
	b.Files = reconcile.Asked(entries, err)
}

// observeTaken reads the backup's header. A file that is not there, or not whole, is none.
func observeTaken(
	ctx context.Context,
	engines replication.Engines,
	d Desired,
	o *Observed,
	primary v1alpha1.ServerName,
	stamp string,
) {
	var all []mssql.BackupHeader
	err := engines.Read(ctx, primary, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		all, err = mssql.ReadBackupHeaders(ctx, db, d.taken(stamp))
		return err
	})
	if mssql.Is(err, mssql.Refused) {
		all, err = nil, nil
	}
	var header *mssql.BackupHeader
	if len(all) == 1 && all[0].Type == 1 && all[0].Checksum && !all[0].Damaged &&
		strings.EqualFold(all[0].Database, d.publisherDatabase()) {
		header = &all[0]
	}
	o.Backup.Header = reconcile.Asked(header, err)
}

func observeBackupOrders(ctx context.Context, sidecars Sidecars, d Desired, o *Observed) {
	b, namespace := &o.Backup, d.Subscription.Namespace
	b.Looked, b.Readers, b.Sent = true, map[v1alpha1.ServerName]*orders.Reader{}, map[v1alpha1.ServerName]*files.Status{}
	for _, server := range d.Publisher.Servers {
		if o.gone(d, server) != "" {
			continue
		}
		_, reader, err := sidecars.Orders(ctx, namespace, server, d.backupName())
		switch {
		case err != nil && server == o.primary(d):
			b.Err = err
			return
		case err != nil:
			// A former primary that is away keeps its order until it answers.
			b.Looked = false
		case reader != nil:
			b.Readers[server] = reader
			// What it does not say is waited for.
			b.Sent[server], _ = sidecars.Mirror(ctx, namespace, server, d.backupName())
		}
	}
	if o.gone(d, d.Subscriber) != "" {
		return
	}
	if b.Told, _, b.Err = sidecars.Orders(ctx, namespace, d.Subscriber, d.backupName()); b.Told != nil {
		b.Mirror, o.Mirror.StatusErr = sidecars.Mirror(ctx, namespace, d.Subscriber, d.backupName())
	}
}

// asked is the backup that a server's sidecar is told to make room for, empty when it is told of none.
func (b Backup) asked(server v1alpha1.ServerName) string {
	if r := b.Readers[server]; r != nil && !r.Ended {
		return r.Backup
	}
	return ""
}

// arrived tells that the subscriber's sidecar has a backup whole.
func (b Backup) arrived(stamp string) bool {
	return b.Mirror != nil && b.Mirror.State == files.Verified && b.Mirror.Generation == generation(stamp)
}

// made tells that a server has the folder for a backup.
func (b Backup) made(server v1alpha1.ServerName, stamp string) bool {
	s := b.Sent[server]
	return s != nil && s.State == files.Made && s.Snapshot == stamp
}

// attempt is the backup that is under way at the primary; empty while none is, or it is too old to begin with: the
// distributor may have removed what came after it, or an article came after it.
func (o Observed) attempt(d Desired) string {
	stamp := o.Backup.asked(o.primary(d))
	at, err := time.Parse(stampForm, stamp)
	if err != nil || o.Now.Sub(at) > o.retained(d)*3/4 {
		return ""
	}
	from, unknown := o.Backup.From.Get()
	if header, err := o.Backup.Header.Get(); err == nil && unknown == nil && header != nil {
		if last := mssql.PositionOf(header.LastLSN); last != nil && bytes.Compare(last, from.Oldest) < 0 {
			return ""
		}
	}
	return stamp
}

// restoredOf tells that the subscriber's database is what was restored of a backup for this Subscription, of whichever
// one if that is empty.
func (o Observed) restoredOf(d Desired, stamp string) bool {
	places, err := o.Backup.Places.Get()
	return err == nil && places != nil && len(places.Files) > 0 &&
		!slices.ContainsFunc(places.Files, func(f string) bool { return !strings.Contains(f, d.mark(stamp)) })
}
