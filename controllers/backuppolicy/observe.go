// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"context"
	"sync"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// serverTimeout bounds the questions to one server.
const serverTimeout = 12 * time.Second

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
	if d.Primary != "" && d.Policy.DeletionTimestamp == nil {
		for _, database := range o.covered(d) {
			o.Users[database] = r.user(ctx, d, d.Primary, string(database))
		}
	}
	return o, nil
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
	s.History = r.user(ctx, d, name, "msdb")
	if d.Order.Group != "" && !d.Order.AtPrimary {
		s.EngineEdition = r.edition(ctx, d, name)
	}
	return s
}

// told is the policy's order at a server's site.
func (r *Reconciler) told(ctx context.Context, d Desired, name v1alpha1.ServerName) reconcile.Reading[[]byte] {
	data, err := r.sidecars.Orders(ctx, d.Policy.Namespace, name)
	return reconcile.Asked(data[orders.BackupKey(d.Policy.Name)], err)
}

// edition asks the engine of a server which one it is.
func (r *Reconciler) edition(ctx context.Context, d Desired, server v1alpha1.ServerName) reconcile.Reading[int] {
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Policy.Namespace, Server: server, Role: credentials.RoleSA})
	if err != nil {
		return reconcile.Asked(0, err)
	}
	return reconcile.Asked(mssql.ReadEngineEdition(ctx, db))
}

// user reads the agent's user in a database.
func (r *Reconciler) user(
	ctx context.Context,
	d Desired,
	server v1alpha1.ServerName,
	database string,
) reconcile.Reading[*mssql.UserState] {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Policy.Namespace, Server: server, Database: database,
		Role: credentials.RoleSA})
	if err != nil {
		return reconcile.Asked[*mssql.UserState](nil, err)
	}
	user, err := mssql.ReadUser(ctx, db, credentials.RoleAgent.Login())
	if mssql.Is(err, mssql.Unknown) {
		r.connector.Forget(d.Policy.Namespace, server)
	}
	return reconcile.Asked(user, err)
}
