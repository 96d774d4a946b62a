// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// apply carries out the steps one after the other: statements, and those of the mirror. Each may be carried out again.
func (r *Reconciler) apply(ctx context.Context, d Desired, o Observed, p reconcile.Plan) error {
	carryOut := func(ctx context.Context, step replication.Step) error {
		switch s := step.(type) {
		case GiveMirror:
			return giveMirror(ctx, r.sidecars, d, s)
		case TakeMirror:
			return takeMirror(ctx, r.sidecars, d, s)
		case TellBackup:
			return tellBackup(ctx, r.sidecars, d, s)
		}
		return giveUpRefused(ctx, r.sidecars, d, o, r.engines(d).CarryOut(ctx, step))
	}
	return replication.CarryOut(ctx, r.reporter, d.Subscription, p, carryOut)
}

// giveUpRefused ends the attempt whose backup the publisher's engine refuses to register with, since the distributor
// lacks something that came after it: it refuses the same one for ever.
func giveUpRefused(ctx context.Context, sidecars Sidecars, d Desired, o Observed, failed error) error {
	r := o.order(d)
	if !refusedBackup(failed) || r == nil {
		return failed
	}
	given := o.givenUp(d, r, fmt.Sprintf("the engine of %s refuses it, since distributor %s lacks something that came "+
		"after it (error %d)", credentials.HostName(o.primary(d)), d.System.Host(), tsql.BackupTooOld))
	return errors.Join(failed, tellBackup(ctx, sidecars, d, TellBackup{Server: o.primary(d), Reader: given}))
}

// refusedBackup tells that a registration failed for its backup, and that there is none.
func refusedBackup(failed error) bool { return mssql.HasNumber(failed, tsql.BackupTooOld) }

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
	return sidecars.Write(ctx, namespace, s.Subscriber, d.name(), map[string][]byte{s.Mirror.Key(): mirror})
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
