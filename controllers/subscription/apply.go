// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"context"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// apply carries out the steps one after the other: statements, and those of the mirror. Each may be carried out again.
func (r *Reconciler) apply(ctx context.Context, d Desired, _ Observed, p reconcile.Plan) error {
	carryOut := func(ctx context.Context, step replication.Step) error {
		switch s := step.(type) {
		case GiveMirror:
			return giveMirror(ctx, r.sidecars, d, s)
		case TakeMirror:
			return takeMirror(ctx, r.sidecars, d, s)
		case TellBackup:
			return tellBackup(ctx, r.sidecars, d, s)
		}
		return r.engines(d).CarryOut(ctx, step)
	}
	return replication.CarryOut(ctx, r.reporter, d.Subscription, p, carryOut)
}

// takeMirror tells both sidecars that there is none any more.
func takeMirror(ctx context.Context, sidecars Sidecars, d Desired, s TakeMirror) error {
	name := cmp.Or(s.Subscription, d.name())
	for _, server := range []v1alpha1.ServerName{s.Subscriber, s.Distributor} {
		if server == "" {
			continue
		}
		if err := sidecars.Write(ctx, d.Subscription.Namespace, server, name, nil); err != nil {
			return err
		}
	}
	return nil
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

// tellBackup writes the order of a sidecar, or takes it away.
func tellBackup(ctx context.Context, sidecars Sidecars, d Desired, s TellBackup) error {
	data := map[string][]byte{}
	if s.Reader != nil {
		text, err := s.Reader.Encode()
		if err != nil {
			return err
		}
		data[orders.ReaderKey(d.backupName())] = text
	}
	if s.Mirror != nil {
		text, err := s.Mirror.Encode()
		if err != nil {
			return err
		}
		data[orders.MirrorKey(d.backupName())] = text
	}
	return sidecars.Write(ctx, d.Subscription.Namespace, s.Server, d.backupName(), data)
}
