// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/internal/orders"
	"geosql.dev/operator/internal/replication"
)

// apply carries out the steps in order and stops at the first that fails. Each step may be carried out again.
func apply(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, steps []replication.Step) error {
	for _, step := range steps {
		log.FromContext(ctx).Info("step", "step", step.Describe())
		if err := applyStep(ctx, engines, sidecars, d, step); err != nil {
			return fmt.Errorf("%s: %w", step.Describe(), err)
		}
	}
	return nil
}

func applyStep(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, step replication.Step) error {
	switch s := step.(type) {
	case replication.Execute:
		return engines.Execute(ctx, s)
	case GiveMirror:
		return giveMirror(ctx, sidecars, d, s)
	case TakeMirror:
		if err := sidecars.Write(ctx, d.Subscription.Namespace, s.Subscriber, d.name(), nil); err != nil {
			return err
		}
		return sidecars.Write(ctx, d.Subscription.Namespace, s.Distributor, d.name(), nil)
	}
	return fmt.Errorf("step %T is not known", step)
}

// giveMirror tells the distributor's sidecar first, so that the subscriber's finds it willing.
func giveMirror(ctx context.Context, sidecars Sidecars, d Desired, s GiveMirror) error {
	reader, err := s.Reader.Encode()
	if err != nil {
		return err
	}
	mirror, err := s.Mirror.Encode()
	if err != nil {
		return err
	}
	namespace := d.Subscription.Namespace
	if err := sidecars.Write(ctx, namespace, s.Distributor, d.name(), map[string][]byte{orders.ReaderKey(d.name()): reader}); err != nil {
		return err
	}
	return sidecars.Write(ctx, namespace, s.Subscriber, d.name(), map[string][]byte{orders.MirrorKey(d.name()): mirror})
}
