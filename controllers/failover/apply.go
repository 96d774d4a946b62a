// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/reconcile"
)

// apply carries out one step. Each may be carried out again.
func (r *Reconciler) apply(ctx context.Context, o Observed, step reconcile.Step) error {
	switch s := step.(type) {
	case SetStatus:
		return r.reporter.Report(ctx, s.Failover, &s.Failover.Status, &s.Status, s.Changes)
	case Ask:
		return r.ask(ctx, o, s)
	case Remember:
		return r.remember(ctx, o, s)
	case Record:
		// One that is there was made by this controller a moment ago.
		return client.IgnoreAlreadyExists(r.hub.Create(ctx, s.Failover))
	case DropRecord:
		return reconcile.Remove(ctx, r.hub, s.Failover)
	}
	return fmt.Errorf("step %T is not known", step)
}

// ask writes a request at a voter. A newer one that waits there is somebody's at the site: the agents answer ours as
// they find it, or it ends by its time.
func (r *Reconciler) ask(ctx context.Context, o Observed, s Ask) error {
	member, err := r.voters.Voter(s.Voter, o.Group.Namespace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*voterTimeout)
	defer cancel()
	err = requests.Write(ctx, member.Reader, member.Writer, o.Group.Namespace, o.Group.Name, s.Request)
	if errors.Is(err, requests.ErrNewer) {
		log.FromContext(ctx).Info("a newer request waits at the voter", "voter", s.Voter, "cause", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("at voter %s: %w", s.Voter, err)
	}
	return nil
}

// remember notes at a voter what was carried out.
func (r *Reconciler) remember(ctx context.Context, o Observed, s Remember) error {
	member, err := r.voters.Voter(s.Voter, o.Group.Namespace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*voterTimeout)
	defer cancel()
	if err := requests.Remember(ctx, member.Reader, member.Writer, o.Group.Namespace, o.Group.Name,
		s.CarriedOut); err != nil {
		return fmt.Errorf("at voter %s: %w", s.Voter, err)
	}
	return nil
}
