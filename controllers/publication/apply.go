// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/internal/replication"
)

// apply carries out the steps in order and stops at the first that fails. Each step may be carried out again.
func apply(ctx context.Context, engines replication.Engines, steps []replication.Step) error {
	for _, step := range steps {
		log.FromContext(ctx).Info("step", "step", step.Describe())
		if err := applyStep(ctx, engines, step); err != nil {
			return fmt.Errorf("%s: %w", step.Describe(), err)
		}
	}
	return nil
}

func applyStep(ctx context.Context, engines replication.Engines, step replication.Step) error {
	execute, ok := step.(replication.Execute)
	if !ok {
		return errors.New("this kind of step is not known")
	}
	return engines.Execute(ctx, execute)
}
