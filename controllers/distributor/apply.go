// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// apply carries out the steps, all of them statements, one after the other. Each may be carried out again.
func (r *Reconciler) apply(ctx context.Context, d Desired, _ Observed, p reconcile.Plan) error {
	return replication.CarryOut(ctx, r.reporter, d.Distributor, p, r.engines(d).CarryOut)
}
