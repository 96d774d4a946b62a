// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// observeFormer finds what subscriptions to publishers have left from which the publication has moved.
func observeFormer(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if d.Publication.Spec.MovedBy == "" || o.HereErr != nil {
		return
	}
	former, _ := o.besides(d)
	for _, here := range former {
		o.Former = append(o.Former, readFormer(ctx, engines, d, o, here))
	}
	if d.FormerLogin != "" {
		var err error
		if o.FormerLogin, err = engines.HasLogin(ctx, d.Subscriber, d.FormerLogin); err == nil && o.FormerLogin {
			o.FormerSessions, err = engines.LoginSessions(ctx, d.Subscriber, d.FormerLogin)
		}
		if err != nil {
			o.JobsErr = err
		}
	}
}

// besides are the subscriptions of the database apart from this one: those to publishers from which the publication is
// known to have moved, and the others. A publication's name alone says nothing of whose it is.
func (o Observed) besides(d Desired) (former, others []mssql.SubscriptionHere) {
	for _, here := range o.Here.Subscriptions {
		same := strings.EqualFold(here.Publication, d.publication())
		switch {
		case same && strings.EqualFold(here.Publisher, o.At.Original) &&
			strings.EqualFold(here.PublisherDatabase, d.publisherDatabase()):
		case same && d.former(here):
			former = append(former, here)
		default:
			others = append(others, here)
		}
	}
	return former, others
}

// former tells that the publication has moved away from a subscription's publisher: by the record of a move, or, where
// that was deleted, since this Subscription was registered with that one last.
func (d Desired) former(here mssql.SubscriptionHere) bool {
	if d.Publication.Spec.MovedBy == "" {
		return false
	}
	last := d.Subscription.Status.Initialization
	return slices.ContainsFunc(d.FormerPublishers, func(f replication.PublishedFrom) bool { return f.Feeds(here) }) ||
		last != nil && last.Publisher != "" && strings.EqualFold(here.Publisher, last.Publisher) &&
			strings.EqualFold(here.PublisherDatabase, last.PublisherDatabase)
}

// readFormer reads the agents' jobs of another subscription of the database.
func readFormer(
	ctx context.Context,
	engines replication.Engines,
	d Desired,
	o *Observed,
	here mssql.SubscriptionHere,
) Former {
	f := Former{Here: here, Jobs: map[v1alpha1.ServerName]*mssql.Job{}}
	for _, server := range []v1alpha1.ServerName{d.Subscriber, d.System.Server} {
		err := engines.Read(ctx, server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
			f.Jobs[server], err = f.agent(d).Read(ctx, db)
			return err
		})
		if err != nil {
			o.JobsErr = err
		}
	}
	return f
}

// end takes away what the subscriber's database knows of it; tables stay.
func (f Former) end(d Desired, p *replication.Plan) {
	s := tsql.PullSubscription{
		Publisher:         f.Here.Publisher,
		PublisherDatabase: f.Here.PublisherDatabase,
		Publication:       f.Here.Publication,
	}
	if f.Here.Pull {
		p.Execute(d.Subscriber, d.database(), tsql.DropPullSubscription(s))
	} else {
		p.Execute(d.Subscriber, d.database(), tsql.CleanSubscription(s))
	}
}

// formerLogin is the login of the agents from which the publication has moved, by the record of the move.
func (r *Reconciler) formerLogin(ctx context.Context, d Desired) (string, error) {
	if d.Publication.Spec.MovedBy == "" {
		return "", nil
	}
	var move v1alpha1.PublisherMove
	err := r.hub.Get(
		ctx,
		client.ObjectKey{Namespace: d.Publication.Namespace, Name: string(d.Publication.Spec.MovedBy)},
		&move,
	)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read PublisherMove %s/%s: %w", d.Publication.Namespace, d.Publication.Spec.MovedBy, err)
	}
	return replication.FormerLogin(ctx, r.hub, d.Publication, move.Status.FromDistributor, d.Subscriber)
}

func (f Former) job(d Desired) string { return f.agent(d).Now }

func (f Former) agent(d Desired) replication.AgentJob {
	return replication.DistributionAgent(
		f.Here.Publisher,
		f.Here.PublisherDatabase,
		f.Here.Publication,
		d.host(),
		d.database(),
	)
}

// planFormer ends subscriptions to publishers from which the publication has moved; tables stay. An agent that went on,
// or that comes back with its distributor, could deliver what that still has: its login goes first.
func planFormer(d Desired, o Observed, p *replication.Plan) bool {
	if o.FormerLogin {
		p.EndLogin(d.Subscriber, d.FormerLogin, o.FormerSessions)
	}
	if (len(o.Former) > 0 || d.FormerLogin != "") && o.JobsErr != nil {
		return jobsUnknown(o, p)
	}
	for _, f := range o.Former {
		for _, server := range slices.Compact([]v1alpha1.ServerName{d.Subscriber, d.System.Server}) {
			p.RemoveJob(server, f.job(d), f.Jobs[server])
		}
		f.end(d, p)
	}
	return p.Proceed("the subscription to the former publisher is being ended")
}
