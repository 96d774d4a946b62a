// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// holders are the servers whose sidecars may have an order of a backup: the publisher's, and, once what was begun is to
// end, all that are declared. A replica may have left its group since, and a publication may have moved.
func (d Desired) holders(o *Observed) []v1alpha1.ServerName {
	all := slices.Clone(d.Publisher.Servers)
	if d.Publication == nil || d.noted() && (d.deleting() || !d.fromBackup() || len(o.registrations(d)) > 0) {
		all = append(all, d.Holders.Servers()...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s v1alpha1.ServerName) bool { return s == d.Subscriber })
}

// observeBackupOrders reads what the sidecars were told of the backup, and what they say of it. A server that does not
// answer and is expected back keeps its order until it does.
func observeBackupOrders(ctx context.Context, sidecars Sidecars, d Desired, o *Observed) {
	b, namespace := &o.Backup, d.Subscription.Namespace
	b.Looked, b.Unread, b.Lost = true, map[v1alpha1.ServerName]error{}, map[v1alpha1.ServerName]string{}
	b.Readers, b.Sent = map[v1alpha1.ServerName]*orders.Reader{}, map[v1alpha1.ServerName]*files.Status{}
	b.SentErr = map[v1alpha1.ServerName]error{}
	for _, server := range d.holders(o) {
		_, reader, err := sidecars.Orders(ctx, namespace, server, d.backupName())
		switch {
		case err != nil && d.Holders.Why(server) != "":
			b.Lost[server] = d.Holders.Why(server)
		case err != nil && server == o.primary(d):
			b.Looked, b.Err = false, err
			return
		case err != nil:
			b.Looked, b.Unread[server] = false, err
		case reader != nil:
			b.Readers[server] = reader
			b.Sent[server], b.SentErr[server] = sidecars.Mirror(ctx, namespace, server, d.backupName())
		}
	}
	told, _, err := sidecars.Orders(ctx, namespace, d.Subscriber, d.backupName())
	switch {
	case err != nil && d.Holders.Why(d.Subscriber) != "":
		b.Lost[d.Subscriber] = d.Holders.Why(d.Subscriber)
	case err != nil:
		b.Looked, b.Err = false, err
	case told != nil:
		b.Told = told
		b.Mirror, b.MirrorErr = sidecars.Mirror(ctx, namespace, d.Subscriber, d.backupName())
		o.Mirror.StatusErr = b.MirrorErr
	}
}

// observePlaces reads where the subscriber's database is, and whether it is being restored.
func observePlaces(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	var places *mssql.DatabasePlaces
	err := engines.Read(ctx, d.Subscriber, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		places, err = mssql.ReadDatabasePlaces(ctx, db, d.database())
		return err
	})
	o.Backup.Places = reconcile.Asked(places, err)
	observeRestoring(ctx, engines, d, o)
}

// observeRestoring asks for the restores that go on, unless the database is there already.
func observeRestoring(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	places, err := o.Backup.Places.Get()
	if err != nil || places == nil || o.online() {
		return
	}
	goesOn := false
	err = engines.Read(ctx, d.Subscriber, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		goesOn, err = mssql.Executes(ctx, db, "RESTORE DATABASE")
		return err
	})
	o.Backup.Restoring = reconcile.Asked(goesOn, err)
}

// observeLogEnd reads where the log of what was restored ends, by which it is known whether anybody has written it.
func observeLogEnd(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if !o.sealed(d) || !o.restoredOf(d, "") {
		return
	}
	var end string
	err := engines.Read(ctx, d.Subscriber, d.database(), func(ctx context.Context, db *mssql.DB) (err error) {
		end, err = mssql.ReadLogMark(ctx, db)
		return err
	})
	o.Backup.LogEnd = reconcile.Asked(end, err)
}

// observeWay reads what is in a database that stands where the backup is to be restored, unless nobody could write it.
func observeWay(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if !o.online() || o.mayRegister(d) || o.unwritten(d) {
		return
	}
	var all []mssql.UserObject
	err := engines.Read(ctx, d.Subscriber, d.database(), func(ctx context.Context, db *mssql.DB) (err error) {
		all, err = mssql.ReadUserObjects(ctx, db, d.System.Login)
		return err
	})
	o.Backup.Objects = reconcile.Asked(all, err)
}

// observeBegun reads what was begun of a backup, of a subscription that is being deleted.
func observeBegun(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, o *Observed) {
	if !d.looksForBackup(o) {
		return
	}
	observeBackupOrders(ctx, sidecars, d, o)
	if places, _ := o.asksOfBackup(d); places {
		observePlaces(ctx, engines, d, o)
	}
}
