// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// around finds what else is declared of the publication and its database.
func (r *Reconciler) around(ctx context.Context, d *Desired) error {
	var subscriptions v1alpha1.SubscriptionList
	var publications v1alpha1.PublicationList
	for _, list := range []client.ObjectList{&subscriptions, &publications} {
		if err := r.hub.List(ctx, list, client.InNamespace(d.Publication.Namespace)); err != nil {
			return fmt.Errorf("list %T of namespace %s: %w", list, d.Publication.Namespace, err)
		}
	}
	d.Resting = map[string]string{}
	for _, s := range subscriptions.Items {
		if string(s.Spec.Publication) == d.name() {
			d.Subscriptions = append(d.Subscriptions, s)
			why, err := reconcile.Suspension(ctx, r.hub, &s)
			if err != nil {
				return err
			}
			if why != "" {
				d.Resting[s.Name] = why
			} else if awaitsLogReader(&s) {
				d.Awaiting = append(d.Awaiting, s.Name)
			}
		}
		d.Receives = d.Receives || s.DeletionTimestamp == nil && strings.EqualFold(string(s.Spec.Database), d.database()) &&
			slices.Contains(d.Publisher.Servers, s.Spec.Subscriber.Server)
	}
	for _, p := range publications.Items {
		if p.Spec.Publisher == d.Publication.Spec.Publisher && strings.EqualFold(string(p.Spec.Database), d.database()) {
			d.Beside = append(d.Beside, p.Name)
			if p.Name != d.name() && p.Spec.Distributor == d.Publication.Spec.Distributor && claims(&p, time.Now()) {
				why, err := reconcile.Suspension(ctx, r.hub, &p)
				if err != nil {
					return err
				}
				if why == "" {
					d.Claims = append(d.Claims, p.Name)
				}
			}
		}
	}
	return nil
}

// engines are the servers of the object's namespace.
func (r *Reconciler) engines(d Desired) replication.Engines {
	return replication.Engines{Connector: r.connector, Namespace: d.Publication.Namespace, Owner: d.Publication.UID}
}

func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	return observe(ctx, r.engines(d), d, time.Now()), nil
}

// observe asks the engines. What does not answer is part of the observation, not an error.
func observe(ctx context.Context, engines replication.Engines, d Desired, now time.Time) Observed {
	o := Observed{Now: now, Servers: map[v1alpha1.ServerName]replication.Server{}}
	if d.nowhere() || d.lacks() && !d.looksForRight() {
		return o
	}
	var publisher replication.Party
	if !d.lacks() {
		publisher = d.Publisher
	}
	o.Servers = engines.ReadParty(ctx, d.System, publisher, d.System.Server)
	at := o.Servers[d.System.Server].State
	if at == nil || at.Database(d.System.Database) == nil {
		if d.Publication.DeletionTimestamp != nil && o.forgotten(d) != "" {
			observeForgotten(ctx, engines, d, &o)
		}
		return o
	}
	if o.At, o.AtErr = observeAt(ctx, engines, d); o.AtErr != nil {
		return o
	}
	// Also without a primary: the right that a log reader has for a time is taken back at the distributor alone.
	observeJobs(ctx, engines, d, &o)
	if !d.lacks() && (o.primary(d) != "" || o.publisherGone(d) != "") {
		observeDatabase(ctx, engines, d, &o)
	}
	if o.AtErr == nil {
		observePending(ctx, engines, d, &o)
	}
	if !d.lacks() && d.Publication.DeletionTimestamp == nil && o.primary(d) != "" {
		observeExpiry(ctx, engines, d, &o)
		observeSubscribers(ctx, engines, d, &o)
		observeSizes(ctx, engines, d, &o)
	}
	return o
}

// observePending reads what is left to set up, where somebody has the right for that, had it or lacks it. It comes
// after the published database: sp_addsubscription leaves it at the distributor before the subscriber is registered.
// Read first, it would be taken for done where a subscriber was registered between the two, and the right be taken from
// a log reader that has not come to it.
func observePending(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	asks := d.Publication.Status.LogReaderRight != nil || d.System.SetsUp(o.LogReaderJob) || failing(*o)
	if o.At.Original == "" || !asks {
		return
	}
	o.AtErr = engines.Read(ctx, d.System.Server, d.System.Database, func(ctx context.Context, db *mssql.DB) (err error) {
		o.Pending, err = mssql.ReadPendingSetUps(ctx, db, o.At.Original, d.database())
		return err
	})
}

// observeAt reads what the distributor knows of the publication. While the right is to be taken back, that of a
// publisher whose servers no object names any more is found by the publication's own name.
func observeAt(ctx context.Context, engines replication.Engines, d Desired) (replication.AtDistributor, error) {
	publisher := d.Publisher
	if len(publisher.Servers) == 0 && d.Publication.Status.LogReaderRight != nil {
		var err error
		if publisher.Servers, err = engines.ReadPublishers(ctx, d.System, d.database(), d.name()); err != nil {
			return replication.AtDistributor{}, err
		}
	}
	return engines.ReadAtDistributor(ctx, d.System, publisher, d.database(), d.name())
}

// observeForgotten reads what there is of a publication of which the distributor tells nothing: the published database,
// and the agents' jobs, which are in another database than what it has lost.
func observeForgotten(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	observeDatabase(ctx, engines, d, o)
	if o.Servers[d.System.Server].State != nil {
		observeJobs(ctx, engines, d, o)
	}
}

// observeJobs reads the agents' jobs at the distributor. They are named after the server where publishing began; of a
// publication that ends, and of which the distributor does not say that, whichever of the publisher's servers it was.
func observeJobs(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	began := []string{o.At.Original}
	if o.At.Original == "" && d.Publication.DeletionTimestamp != nil {
		began = nil
		for _, server := range d.Publisher.Servers {
			began = append(began, credentials.HostName(server))
		}
	}
	known := o.At.Original
	read := func(ctx context.Context, db *mssql.DB) (err error) {
		for _, o.At.Original = range began {
			if o.LogReaderJob, err = logReader(d, *o).ReadAttached(ctx, db, o.At.LogReader); err != nil {
				return err
			}
			if o.SnapshotJob, err = snapshotAgent(d, *o).ReadAttached(ctx, db, o.At.Snapshot); err != nil ||
				o.LogReaderJob != nil || o.SnapshotJob != nil {
				return err
			}
		}
		o.At.Original = known
		return nil
	}
	o.AtErr = engines.Read(ctx, d.System.Server, replication.Master, func(ctx context.Context, db *mssql.DB) error {
		err := read(ctx, db)
		if err == nil {
			o.LogReaderBeside, err = logReader(d, *o).ReadBeside(ctx, db, o.At.LogReader)
		}
		if err == nil {
			o.SnapshotBeside, err = snapshotAgent(d, *o).ReadBeside(ctx, db, o.At.Snapshot)
		}
		return err
	})
}

// observeExpiry reads the job that looks for expired subscriptions: the primary's engine may not have made it.
func observeExpiry(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	var job *mssql.MaintenanceJob
	err := engines.Read(ctx, o.primary(d), replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		job, err = mssql.ReadMaintenanceJob(ctx, db, tsql.ExpiredSubscriptions)
		return err
	})
	o.Expiry = reconcile.Asked(job, err)
}

// observeSubscribers reads the tables of those who lack articles, unless they may be replaced anyway.
func observeSubscribers(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if o.DatabaseErr != nil || o.Database.Publication == nil {
		return
	}
	for _, who := range o.lacking() {
		if who.kept ||
			!slices.ContainsFunc(who.articles, func(article string) bool { return !d.replaces(who.receiver, article) }) {
			continue
		}
		server := credentials.ServerOf(who.server)
		var tables map[string]mssql.Table
		err := engines.Read(ctx, server, who.database, func(ctx context.Context, db *mssql.DB) (err error) {
			tables, err = mssql.ReadTables(ctx, db)
			return err
		})
		if o.Theirs == nil {
			o.Theirs = map[receiver]reconcile.Reading[map[string]mssql.Table]{}
		}
		o.Theirs[who.receiver] = reconcile.Asked(tables, err)
	}
}

// observeSizes measures the tables once it is known which of them need a new copy: the subscribers' own tables say that
// too.
func observeSizes(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if o.DatabaseErr != nil || o.Database.Publication == nil || o.Database.Sizes != nil || !measures(d, *o) {
		return
	}
	o.DatabaseErr = engines.Read(ctx, o.primary(d), d.database(), func(ctx context.Context, db *mssql.DB) (err error) {
		o.Database.Sizes, err = mssql.ReadTableSizes(ctx, db)
		return err
	})
}

// observeDatabase reads what the published database has, on the primary.
func observeDatabase(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	primary := o.primary(d)
	if primary == "" {
		return
	}
	if database := o.Servers[primary].State.Database(d.database()); database == nil || database.State != "ONLINE" {
		return
	}
	o.DatabaseErr = engines.Read(
		ctx, primary, d.database(),
		func(ctx context.Context, db *mssql.DB) error { return o.Database.read(ctx, db, d, *o) },
	)
	if d.Publication.DeletionTimestamp == nil || o.DatabaseErr != nil || o.Database.Publication == nil {
		return
	}
	for _, s := range o.Database.Publication.Subscriptions {
		// Whom nobody expects back is asked all the same.
		server, ours := replication.ServerOf(s.Subscriber)
		if _, asked := o.Servers[server]; ours && !asked && d.Gone.Why(server) != "" {
			o.Servers[server] = engines.ReadServers(ctx, d.System, "", server)[server]
		}
	}
}

func (b *Database) read(ctx context.Context, q mssql.Querier, d Desired, o Observed) (err error) {
	published := o.Servers[o.primary(d)].State.Database(d.database()).Published
	have, err := mssql.ReadPublishedDatabase(ctx, q, d.System.Login, d.name(), published)
	if err != nil {
		return err
	}
	b.Owner = replication.Owner{User: have.User, IsOwner: have.IsOwner}
	b.Tables, b.Received = have.Tables, have.Received
	b.LogEnd, b.Fork = have.LogEnd, have.Fork
	b.Publication, b.Publications, b.Subscribers = have.Publication, have.Publications, have.Subscribers
	compresses := slices.ContainsFunc(d.Publication.Spec.Articles, func(a v1alpha1.Article) bool {
		_, _, differs := compression(a, *b)
		return differs
	})
	if err != nil || !compresses {
		return err
	}
	if b.Sizes, err = mssql.ReadTableSizes(ctx, q); err == nil {
		b.Online, err = mssql.ReadOnline(ctx, q)
	}
	return err
}
