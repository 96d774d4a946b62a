// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"

	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// apply carries out the steps, all of them statements, one after the other. Each may be carried out again.
func apply(ctx context.Context, engines replication.Engines, _ Desired, p replication.Plan) error {
	return reconcile.InOrder(ctx, p.Steps, engines.CarryOut)
}
