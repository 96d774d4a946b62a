// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"

	"geosql.dev/operator/internal/replication"
)

// desireForecast finds out what the link to the subscriber lets through, as it is declared.
func (r *Reconciler) desireForecast(ctx context.Context, d *Desired) error {
	around, err := replication.ReadLandscape(ctx, r.hub, d.Subscription.Namespace)
	if err != nil {
		return err
	}
	d.Forecast = around.Forecast(d.Publication, d.Subscription, d.Profile)
	return nil
}
