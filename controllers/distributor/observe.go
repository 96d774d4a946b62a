// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"
	"maps"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// engines are the servers of the object's namespace.
func (r *Reconciler) engines(d Desired) replication.Engines {
	return replication.Engines{Connector: r.connector, Namespace: d.Distributor.Namespace, Owner: d.Distributor.UID}
}

func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	return observe(ctx, r.engines(d), d), nil
}

// observe asks the engines. What does not answer is part of the observation, not an error.
func observe(ctx context.Context, engines replication.Engines, d Desired) Observed {
	servers := append([]v1alpha1.ServerName{d.System.Server}, d.others()...)
	o := Observed{Servers: engines.ReadServers(ctx, d.System, "", servers...)}
	at := o.distributor(d)
	if d.Distributor.DeletionTimestamp != nil {
		var former []v1alpha1.ServerName
		for _, name := range o.linked(d) {
			if _, known := o.Servers[name]; !known {
				former = append(former, name)
			}
		}
		maps.Copy(o.Servers, engines.ReadServers(ctx, d.System, "", former...))
	}
	if at != nil {
		o.SetUp = reconcile.Asked(observeSetUp(ctx, engines, d))
	}
	if at == nil || at.Database(d.System.Database) == nil {
		return o
	}
	owner := func(ctx context.Context, db *mssql.DB) (err error) {
		o.Owner.User, o.Owner.IsOwner, err = mssql.ReadOwner(ctx, db, d.System.Login)
		return err
	}
	o.OwnerErr = engines.Read(ctx, d.System.Server, d.System.Database, owner)
	o.Cleanup = observeJob(ctx, engines, d, tsql.DistributionCleanup(d.System.Database))
	o.Size = reconcile.Asked(observeSize(ctx, engines, d))
	o.History = observeJob(ctx, engines, d, tsql.HistoryCleanup(d.System.Database))
	return o
}

// observeJob reads a job that the engine has made with the distribution database, and that somebody may have deleted.
func observeJob(
	ctx context.Context,
	engines replication.Engines,
	d Desired,
	job tsql.MaintenanceJob,
) reconcile.Reading[*mssql.MaintenanceJob] {
	var have *mssql.MaintenanceJob
	err := engines.Read(ctx, d.System.Server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		have, err = mssql.ReadMaintenanceJob(ctx, db, job)
		return err
	})
	return reconcile.Asked(have, err)
}

func observeSize(ctx context.Context, engines replication.Engines, d Desired) (size int64, err error) {
	err = engines.Read(ctx, d.System.Server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		size, err = mssql.ReadDatabaseSize(ctx, db, d.System.Database)
		return err
	})
	return size, err
}
