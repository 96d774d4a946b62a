// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/internal/replication"
)

// apply carries out the steps in order and stops at the first that fails. Each step may be carried out again.
func apply(ctx context.Context, engines replication.Engines, steps []replication.Step) error {
	for _, step := range steps {
		log.FromContext(ctx).Info("step", "step", step.Describe())
		execute, ok := step.(replication.Execute)
		if !ok {
			return fmt.Errorf("step %T is not known", step)
		}
		if err := engines.Execute(ctx, execute); err != nil {
			return fmt.Errorf("%s: %w", step.Describe(), err)
		}
	}
	return nil
}
