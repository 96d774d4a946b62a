// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

const (
	// serverTimeout bounds the questions to one server, or about one database of it.
	serverTimeout = 12 * time.Second
	// databasesTimeout bounds those about all databases: what is not known then is asked the next time, and the others are
	// reported on.
	databasesTimeout = 40 * time.Second
	// databasesAtOnce is how many are asked about at once.
	databasesAtOnce = 4
)

func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	o := Observed{Now: r.now(), Servers: map[v1alpha1.ServerName]Server{},
		Users: map[v1alpha1.DatabaseName]reconcile.Reading[*mssql.UserState]{}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, name := range d.Servers {
		wg.Go(func() {
			s := r.ask(ctx, d, name)
			mu.Lock()
			defer mu.Unlock()
			o.Servers[name] = s
		})
	}
	for _, name := range d.Former {
		wg.Go(func() {
			order := r.told(ctx, d, name)
			mu.Lock()
			defer mu.Unlock()
			o.Servers[name] = Server{Order: order}
		})
	}
	wg.Wait()
	// A primary that does not answer for msdb is not asked for each of its databases.
	if d.Policy.DeletionTimestamp == nil && o.Servers[d.Primary].History.Err() == nil {
		r.databases(ctx, d, &o)
		r.keys(ctx, d, &o)
	}
	return o, nil
}

// databases asks the primary about the target's.
func (r *Reconciler) databases(ctx context.Context, d Desired, o *Observed) {
	ctx, cancel := context.WithTimeout(ctx, databasesTimeout)
	defer cancel()
	namespace := d.Policy.Namespace
	var group errgroup.Group
	group.SetLimit(databasesAtOnce)
	group.Go(func() error {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		o.Models = reconcile.Asked(r.engines.Models(ctx, namespace, d.Primary))
		return nil
	})
	var mu sync.Mutex
	for _, database := range o.covered(d) {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, serverTimeout)
			defer cancel()
			user := reconcile.Asked(r.engines.User(ctx, namespace, d.Primary, string(database)))
			mu.Lock()
			defer mu.Unlock()
			o.Users[database] = user
			return nil
		})
	}
	_ = group.Wait() // each has its own error
}

func (r *Reconciler) ask(ctx context.Context, d Desired, name v1alpha1.ServerName) (s Server) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	s.Order = r.told(ctx, d, name)
	if d.Policy.DeletionTimestamp != nil {
		return s
	}
	var all []backups.Status
	err := r.sidecars.Part(ctx, d.Policy.Namespace, name, backups.PartName, &all)
	var says *backups.Status
	for i := range all {
		if all[i].Policy == d.Policy.Name {
			says = &all[i]
		}
	}
	s.Says = reconcile.Asked(says, err)
	s.History = reconcile.Asked(r.engines.User(ctx, d.Policy.Namespace, name, "msdb"))
	if d.Order.Group != "" && !d.Order.AtPrimary && s.History.Err() == nil {
		s.EngineEdition = reconcile.Asked(r.engines.Edition(ctx, d.Policy.Namespace, name))
	}
	return s
}

// told is the policy's order at a server's site.
func (r *Reconciler) told(ctx context.Context, d Desired, name v1alpha1.ServerName) reconcile.Reading[[]byte] {
	data, err := r.sidecars.Orders(ctx, d.Policy.Namespace, name)
	return reconcile.Asked(data[orders.BackupKey(d.Policy.Name)], err)
}

// engines asks the servers' engines, as sa.
type engines struct{ connector *mssql.Connector }

// User reads the agent's user in a database.
func (e engines) User(ctx context.Context, namespace string, server v1alpha1.ServerName,
	database string) (*mssql.UserState, error) {
	db, err := e.connector.Open(ctx, mssql.Target{Namespace: namespace, Server: server, Database: database,
		Role: credentials.RoleSA})
	if err != nil {
		return nil, err
	}
	user, err := mssql.ReadUser(ctx, db, credentials.RoleAgent.Login())
	if mssql.Is(err, mssql.Unknown) {
		e.connector.Forget(namespace, server)
	}
	return user, err
}

// Edition asks which edition an engine is.
func (e engines) Edition(ctx context.Context, namespace string, server v1alpha1.ServerName) (int, error) {
	db, err := e.connector.Open(ctx, mssql.Target{Namespace: namespace, Server: server, Role: credentials.RoleSA})
	if err != nil {
		return 0, err
	}
	return mssql.ReadEngineEdition(ctx, db)
}

// Models asks which backups an engine's databases can have.
func (e engines) Models(ctx context.Context, namespace string,
	server v1alpha1.ServerName) (map[string]mssql.BackupModel, error) {
	db, err := e.connector.Open(ctx, mssql.Target{Namespace: namespace, Server: server, Role: credentials.RoleSA})
	if err != nil {
		return nil, err
	}
	return mssql.ReadBackupModels(ctx, db)
}
