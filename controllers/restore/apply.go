// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// apply carries out the steps one after the other; each may be carried out again.
func (r *Reconciler) apply(ctx context.Context, d Desired, _ Observed, p reconcile.Plan) error {
	return reconcile.InOrder(ctx, p.Steps, func(ctx context.Context, s reconcile.Step) error {
		switch s := s.(type) {
		case Tell:
			var data map[string][]byte
			if s.Order != nil {
				data = map[string][]byte{orders.RestoreKey(d.Restore.Name): s.Order}
			}
			return r.sidecars.Write(ctx, d.Restore.Namespace, s.Server,
				client.FieldOwner("geosql-restore-"+d.Restore.Name), data)
		case Discard:
			// Connections that were used within the database keep it from being dropped.
			r.connector.ForgetDatabase(d.Restore.Namespace, s.Server, d.database())
			return r.execute(ctx, d, s.Execute)
		case mssql.Execute:
			return r.execute(ctx, d, s)
		default:
			return fmt.Errorf("no way to carry out %T", s)
		}
	})
}

// execute carries out a statement.
func (r *Reconciler) execute(ctx context.Context, d Desired, s mssql.Execute) error {
	db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Restore.Namespace, Server: s.Server,
		Database: s.Database, Role: s.Role})
	if err != nil {
		return err
	}
	return s.Settled(db.Exec(ctx, s.Statement))
}
