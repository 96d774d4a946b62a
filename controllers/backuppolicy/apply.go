// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// apply carries out what each server's steps are; a server that fails holds up no other.
func (r *Reconciler) apply(ctx context.Context, d Desired, _ Observed, p reconcile.Plan) error {
	return reconcile.EachInOrder(ctx, p.Steps, place, func(ctx context.Context, s reconcile.Step) error {
		switch s := s.(type) {
		case Tell:
			var data map[string][]byte
			if s.Order != nil {
				data = map[string][]byte{orders.BackupKey(d.Policy.Name): s.Order}
			}
			return r.sidecars.Write(ctx, d.Policy.Namespace, s.Server, client.FieldOwner("geosql-backuppolicy-"+d.Policy.Name),
				data)
		case Record:
			return r.record(ctx, s.Backup)
		case Forget:
			return reconcile.Remove(ctx, r.hub, s.Backup)
		case Test:
			return r.makeTest(ctx, s.Restore)
		case ForgetTest:
			return reconcile.Remove(ctx, r.hub, s.Restore)
		case mssql.Execute:
			db, err := r.connector.Open(ctx, mssql.Target{Namespace: d.Policy.Namespace, Server: s.Server,
				Database: s.Database, Role: credentials.RoleSA})
			if err != nil {
				return err
			}
			return s.Settled(db.Exec(ctx, s.Statement))
		default:
			return fmt.Errorf("no way to carry out %T", s)
		}
	})
}

// place is the server of a step; the hub has none.
func place(s reconcile.Step) v1alpha1.ServerName {
	switch s := s.(type) {
	case Tell:
		return s.Server
	case mssql.Execute:
		return s.Server
	}
	return ""
}
