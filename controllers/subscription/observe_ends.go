// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// observeEnds reads what each end that answers has of a subscription that is being deleted. The distributor may be
// gone, or know of no publisher any more; the subscriber's database then says under whose name it was subscribed.
func observeEnds(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, o *Observed) {
	if at := o.Servers[d.System.Server].State; at != nil && at.Database(d.System.Database) != nil {
		o.At, o.AtErr = engines.ReadAtDistributor(ctx, d.System, d.Publisher, d.publisherDatabase(), d.publication())
	}
	observePublisher(ctx, engines, d, o)
	observeSubscriber(ctx, engines, d, o)
	if o.At.Original == "" {
		o.At.Original = o.subscribedTo(d)
	}
	for _, server := range []v1alpha1.ServerName{d.Subscriber, d.System.Server} {
		if o.Servers[server].Err == nil {
			observeJobs(ctx, engines, d, o, server)
		}
	}
	observeOrders(ctx, sidecars, d, o)
	observeBegun(ctx, engines, sidecars, d, o)
}

// observeOrders reads what the sidecars of servers that are expected back were told, also of a type that is no longer
// declared.
func observeOrders(ctx context.Context, sidecars Sidecars, d Desired, o *Observed) {
	namespace := d.Subscription.Namespace
	if o.gone(d, d.Subscriber) == "" {
		o.Mirror.Told, _, o.Mirror.Err = sidecars.Orders(ctx, namespace, d.Subscriber, d.name())
	}
	if o.Mirror.Err == nil && o.gone(d, d.System.Server) == "" {
		_, o.Mirror.Reader, o.Mirror.Err = sidecars.Orders(ctx, namespace, d.System.Server, d.name())
	}
}

// observeFeeders finds out who feeds the database besides, before a first registration.
func observeFeeders(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, o *Observed) {
	if o.HereErr != nil || len(o.registrations(d)) > 0 || o.here(d) != nil {
		return
	}
	_, others := o.besides(d)
	for _, here := range others {
		f := Feeder{Former: readFormer(ctx, engines, d, o, here)}
		if primary := o.primary(d); primary != "" && strings.EqualFold(here.Publisher, o.At.Original) &&
			strings.EqualFold(here.PublisherDatabase, d.publisherDatabase()) {
			var found *mssql.Publication
			err := engines.Read(ctx, primary, d.publisherDatabase(), func(ctx context.Context, db *mssql.DB) (err error) {
				found, err = mssql.ReadPublication(ctx, db, here.Publication)
				return err
			})
			f.Publication = reconcile.Asked(found, err)
			f.Mirrored = reconcile.Asked(sidecars.Mirroring(ctx, d.Subscription.Namespace, d.Subscriber,
				folderOf(here.Publisher, here.PublisherDatabase, here.Publication)))
		}
		o.Feeders = append(o.Feeders, f)
	}
}
