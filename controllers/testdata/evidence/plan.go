// SPDX-License-Identifier: Apache-2.0

// Package evidence is a wrong example: what TestNothingIsTakenAwayWithoutEvidence and TestNoObjectIsDeletedUnread must
// find.
package evidence

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

func planWrong(p *reconcile.Plan) {
	p.Add(mssql.Execute{Server: "a", Statement: tsql.DropGroup("content")})
	drop := tsql.DropLogin("app")
	p.Add(mssql.Execute{Server: "a", Statement: drop})
	p.Destroy(reconcile.Evidence{}, mssql.Execute{Server: "a", Statement: tsql.DropUser("app")})
	p.Add(mssql.EndLoginSession("a", "app", 57))
}

func planRight(p *reconcile.Plan, err error) {
	p.Destroy(reconcile.Seen("it is seen", err), mssql.Execute{Server: "a", Statement: tsql.DropGroup("content")})
	destroy(p, reconcile.Seen("it is seen", err), tsql.DropUser("app"))
}

func destroy(p *reconcile.Plan, seen reconcile.Evidence, s tsql.Statement) {
	p.Destroy(seen, mssql.Execute{Server: "a", Statement: s})
}

func deleteWrong(ctx context.Context, c client.Client, pod client.Object) error {
	if err := c.Delete(ctx, pod); err != nil {
		return err
	}
	later := client.Client.Delete
	if err := later(c, ctx, pod); err != nil {
		return err
	}
	return c.DeleteAllOf(ctx, pod)
}

func deleteRight(ctx context.Context, c client.Client, pod client.Object) error {
	return reconcile.Remove(ctx, c, pod)
}
