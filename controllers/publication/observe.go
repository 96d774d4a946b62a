// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// desire finds out what a Publication asks for.
func (r *Reconciler) desire(ctx context.Context, object *v1alpha1.Publication) (Desired, error) {
	d := Desired{Publication: object}
	var distributor v1alpha1.Distributor
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: string(object.Spec.Distributor)}, &distributor)
	switch {
	case apierrors.IsNotFound(err):
		d.Missing = append(d.Missing, "Distributor "+string(object.Spec.Distributor))
	case err != nil:
		return d, fmt.Errorf("read Distributor %s/%s: %w", object.Namespace, object.Spec.Distributor, err)
	default:
		d.System = replication.SystemOf(&distributor)
	}
	if d.Publisher, err = replication.Resolve(ctx, r.hub, object.Namespace, object.Spec.Publisher); err != nil {
		return d, err
	}
	if d.Publisher.Missing != "" {
		d.Missing = append(d.Missing, d.Publisher.Missing)
	}
	for _, one := range []struct {
		name v1alpha1.ObjectName
		into **v1alpha1.AgentProfileSpec
	}{{object.Spec.LogReaderProfile, &d.LogReaderProfile}, {object.Spec.SnapshotProfile, &d.SnapshotProfile}} {
		profile, missing, err := replication.Profile(ctx, r.hub, object.Namespace, one.name)
		if err != nil {
			return d, err
		}
		*one.into = profile
		if missing != "" {
			d.MissingProfiles = append(d.MissingProfiles, missing)
		}
	}
	if d.Moving, err = replication.Moving(ctx, r.hub, object); err != nil || len(d.Missing) > 0 {
		return d, err
	}
	if d.Arriving, err = replication.Arriving(ctx, r.hub, object); err != nil {
		return d, err
	}
	return d, d.System.ReadPasswords(ctx, r.access)
}

// observe asks the engines. What does not answer is part of the observation, not an error.
func observe(ctx context.Context, engines replication.Engines, d Desired, now time.Time) Observed {
	o := Observed{Now: now, Servers: map[v1alpha1.ServerName]replication.Server{}}
	if len(d.Missing) > 0 {
		return o
	}
	o.Servers = engines.ReadServers(ctx, d.System, d.Publisher.Group, d.Publisher.Servers...)
	if _, both := o.Servers[d.System.Server]; !both {
		o.Servers[d.System.Server] = engines.ReadServers(ctx, d.System, "", d.System.Server)[d.System.Server]
	}
	at := o.Servers[d.System.Server].State
	if at == nil || at.Database(d.System.Database) == nil {
		return o
	}
	o.At, o.AtErr = engines.ReadAtDistributor(ctx, d.System, d.Publisher, d.database(), d.name())
	primary := o.primary(d)
	if o.AtErr != nil || primary == "" {
		return o
	}
	o.AtErr = engines.Read(ctx, d.System.Server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		if o.LogReaderJob, err = mssql.ReadJob(ctx, db, logReaderJob(d, o).Name); err == nil {
			o.SnapshotJob, err = mssql.ReadJob(ctx, db, snapshotJob(d, o).Name)
		}
		return err
	})
	if database := o.Servers[primary].State.Database(d.database()); database == nil || database.State != "ONLINE" {
		return o
	}
	o.DatabaseErr = engines.Read(ctx, primary, d.database(), func(ctx context.Context, db *mssql.DB) error { return o.Database.read(ctx, db, d, o) })
	return o
}

func (b *Database) read(ctx context.Context, q mssql.Querier, d Desired, o Observed) (err error) {
	if b.Owner.User, b.Owner.IsOwner, err = mssql.ReadOwner(ctx, q, d.System.Login); err != nil {
		return err
	}
	if b.Tables, err = mssql.ReadTables(ctx, q); err != nil {
		return err
	}
	// The tables of publications are there once the database is published.
	if o.Servers[o.primary(d)].State.Database(d.database()).Published {
		if b.LogEnd, b.Fork, err = mssql.ReadLogEnd(ctx, q); err != nil {
			return err
		}
		if b.Publication, err = mssql.ReadPublication(ctx, q, d.name()); err == nil {
			b.Publications, err = mssql.ReadPublications(ctx, q)
		}
	}
	return err
}
