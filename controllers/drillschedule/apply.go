// SPDX-License-Identifier: Apache-2.0

package drillschedule

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/reconcile"
)

// apply carries out the steps. A drill that is there was made a moment ago.
func (r *Reconciler) apply(ctx context.Context, _ Desired, _ Observed, p reconcile.Plan) error {
	return reconcile.InOrder(ctx, p.Steps, func(ctx context.Context, step reconcile.Step) error {
		switch s := step.(type) {
		case Make:
			return client.IgnoreAlreadyExists(r.hub.Create(ctx, s.Drill))
		case Drop:
			return reconcile.Remove(ctx, r.hub, s.Drill)
		}
		return fmt.Errorf("step %T is not known", step)
	})
}
