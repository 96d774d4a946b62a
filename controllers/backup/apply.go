// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"

	"geosql.dev/operator/internal/reconcile"
)

// apply has nothing to carry out.
func (r *Reconciler) apply(_ context.Context, _ Desired, _ Observed, p reconcile.Plan) error {
	for _, s := range p.Steps {
		return fmt.Errorf("no way to carry out %T", s)
	}
	return nil
}
