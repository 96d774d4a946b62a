// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"context"
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/replication"
)

// carryOut carries out a step of the mirror. Each may be carried out again.
func (r *Reconciler) carryOut(ctx context.Context, d Desired, step replication.Step) error {
	switch s := step.(type) {
	case GiveMirror:
		return giveMirror(ctx, r.sidecars, d, s)
	case TakeMirror:
		for _, server := range []v1alpha1.ServerName{s.Subscriber, s.Distributor} {
			if server == "" {
				continue
			}
			if err := r.sidecars.Write(ctx, d.Subscription.Namespace, server, cmp.Or(s.Subscription, d.name()),
				nil); err != nil {
				return err
			}
		}
		return nil
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
	if err := sidecars.Write(ctx, namespace, s.Distributor, d.name(),
		map[string][]byte{orders.ReaderKey(d.name()): reader}); err != nil {
		return err
	}
	return sidecars.Write(ctx, namespace, s.Subscriber, d.name(), map[string][]byte{orders.MirrorKey(d.name()): mirror})
}
