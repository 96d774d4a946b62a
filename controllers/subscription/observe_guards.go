// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// observeGuards reads the guards by the subscriber's server, its database and the beginning of their names alone: they
// are there whatever became of publication, publisher and distributor.
func observeGuards(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	have, err := replication.OnlineDatabase(d.Subscriber, o.Servers[d.Subscriber], d.database()).Get()
	var guards []mssql.Guard
	if err == nil && have != nil {
		err = engines.Read(ctx, d.Subscriber, d.database(), func(ctx context.Context, db *mssql.DB) (err error) {
			guards, err = mssql.ReadGuards(ctx, db, d.guards())
			return err
		})
	}
	o.Guards = reconcile.Asked(guards, err)
}
