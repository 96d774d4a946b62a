// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"

	"geosql.dev/operator/internal/mssql"
)

// observeSnapshot reads which snapshot the subscriber is to have.
func observeSnapshot(ctx context.Context, q mssql.Querier, d Desired, o *Observed) (err error) {
	if d.scheduled() && o.Agent != nil {
		o.Snapshot, err = mssql.ReadSubscriptionSnapshot(ctx, q, o.Agent.ID)
	}
	return err
}
