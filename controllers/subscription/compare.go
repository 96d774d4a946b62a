// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

const (
	// validateFor is how long after its registration a copy that was kept is compared again until it is found equal.
	validateFor = 10 * time.Minute
	// differsFor is how long a difference has to stay the same to be one: changes may be on their way.
	differsFor = 30 * time.Second
)

// outOfStep are errors of a distribution agent whose subscriber does not have the rows that the publisher has: 20598 when
// one is missing, 2601 and 2627 when one is there already.
var outOfStep = []string{"20598", "2601", "2627"}

// observeComparison compares the tables before a registration that depends on it, and afterwards once nothing is pending.
func observeComparison(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if !d.compares() && !validating(d, *o) || !o.comparable(d) {
		return
	}
	if len(o.registrations(d)) > 0 && (!validating(d, *o) || o.Pending == nil || *o.Pending > 0) {
		return
	}
	c, err := engines.Compare(ctx, o.Publication.Articles, replication.Copy{Server: o.primary(d), Database: d.publisherDatabase()},
		replication.Copy{Server: d.Subscriber, Database: d.database()})
	if o.ComparisonErr = err; err == nil {
		o.Comparison = &c
	}
}

// comparable tells that publisher and subscriber answer, and that every article that is declared is published.
func (o Observed) comparable(d Desired) bool {
	if o.Publication == nil || o.primary(d) == "" || o.AtErr != nil || o.HereErr != nil || !o.At.Known || !o.everyArticle(d) {
		return false
	}
	s := o.Servers[d.Subscriber]
	return s.Err == nil && s.State != nil && s.State.Database(d.database()) != nil
}

func (o Observed) everyArticle(d Desired) bool {
	return len(o.Publication.Articles) >= len(d.Publication.Spec.Articles)
}

// validating tells that a copy was kept, and not yet found equal after changes went on.
func validating(d Desired, o Observed) bool {
	s := d.Subscription.Status.Initialization
	return s != nil && s.Compared && s.Validated == nil && s.Time != nil && o.Now.Sub(s.Time.Time) < validateFor && o.keeps(d)
}

// observeFormer finds what subscriptions to publishers have left from which the publication has moved.
func observeFormer(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if d.Publication.Spec.MovedBy == "" || o.HereErr != nil {
		return
	}
	for _, here := range o.Here.Subscriptions {
		if !strings.EqualFold(here.Publication, d.publication()) ||
			strings.EqualFold(here.Publisher, o.At.Original) && strings.EqualFold(here.PublisherDatabase, d.publisherDatabase()) {
			continue
		}
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

// readFormer reads the agents' jobs of another subscription of the database.
func readFormer(ctx context.Context, engines replication.Engines, d Desired, o *Observed, here mssql.SubscriptionHere) Former {
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
	s := tsql.PullSubscription{Publisher: f.Here.Publisher, PublisherDatabase: f.Here.PublisherDatabase, Publication: f.Here.Publication}
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
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: d.Publication.Namespace, Name: string(d.Publication.Spec.MovedBy)}, &move)
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
	return replication.DistributionAgent(f.Here.Publisher, f.Here.PublisherDatabase, f.Here.Publication, d.host(), d.database())
}

// planFormer ends subscriptions to publishers from which the publication has moved; tables stay. An agent that went on, or
// that comes back with its distributor, could deliver what that still has: its login goes first.
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
	return proceed(p, "the subscription to the former publisher is being ended")
}

// planCompared waits for a comparison that the registration depends on, and begins a subscription anew, with a snapshot,
// whose copy was kept and turned out to differ.
func planCompared(d Desired, o Observed, p *replication.Plan) bool {
	if len(o.registrations(d)) == 0 {
		switch {
		case !d.compares():
			return true
		case !o.everyArticle(d):
			return p.Settle(conditions.InProgress(conditions.ReasonWaitingForPublication, fmt.Sprintf(
				"%d of %d articles are published; tables are compared when all are", len(o.Publication.Articles), len(d.Publication.Spec.Articles))))
		case o.ComparisonErr != nil:
			return p.Settle(conditions.Unknown(conditions.ReasonEngineNotAnswering, "the tables could not be compared: "+o.ComparisonErr.Error()))
		case o.Comparison == nil:
			return p.Settle(conditions.InProgress(conditions.ReasonConfiguring, "the tables are being compared"))
		}
		return true
	}
	if !validating(d, o) {
		return true
	}
	s := d.Subscription.Status.Initialization
	// What the last attempt died of is not known when it did not come as far as the history: then nothing is replaced for it.
	failing := o.failure(d) != nil && o.Agent.Failure != 0 && slices.Contains(outOfStep, o.Agent.ErrorCode) && o.Agent.ErrorTime.After(s.Time.Time)
	differs := o.Comparison != nil && o.Comparison.Steady && !o.Comparison.Equal && s.Differs == limit(o.Comparison.Difference) &&
		s.DiffersSince != nil && o.Now.Sub(s.DiffersSince.Time) >= differsFor
	if failing || differs {
		if o.JobsErr != nil {
			return jobsUnknown(o, p)
		}
		leave(d, o, p, d.pull())
	}
	return proceed(p, "the copy that was kept differs from the publisher's: the subscription begins anew, with a snapshot")
}

// registration is the subscription as it is registered: without a copy when the tables are equal.
func registration(d Desired, o Observed) tsql.Subscription {
	s := d.subscription()
	s.DataIsThere = s.DataIsThere || d.compares() && o.Comparison != nil && o.Comparison.Equal
	return s
}

// initialization is how the subscription was registered, for status. A plan that registers it counts although a step of it
// failed: that one, or the answer to it, may have come after the registration, and every new attempt is recorded anew.
func initialization(d Desired, o Observed, p replication.Plan) *v1alpha1.SubscriptionInitialization {
	have := d.Subscription.Status.Initialization.DeepCopy()
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	switch {
	case registers(p):
		return begun(d, o, now)
	case unreported(d, o):
		return found(d, o, now)
	case have == nil || o.Comparison == nil || !validating(d, o):
		return have
	case o.Comparison.Equal:
		have.Validated, have.Differs, have.DiffersSince = &now, "", nil
	case limit(o.Comparison.Difference) != have.Differs || have.DiffersSince == nil:
		have.Differs, have.DiffersSince = limit(o.Comparison.Difference), &now
	}
	return have
}

func registers(p replication.Plan) bool { return calls(p, tsql.AddsSubscription) }

// unreported tells that there is a registration that the status, as far as it was read, does not tell of. A distributor
// that was lost, or does not answer, does not say with which publisher: then nothing is concluded.
func unreported(d Desired, o Observed) bool {
	have := d.Subscription.Status.Initialization
	return len(o.registrations(d)) > 0 && o.At.Original != "" && (have == nil || !strings.EqualFold(have.Publisher, o.At.Original))
}

// found is how a subscription was registered whose registration was carried out and not reported.
func found(d Desired, o Observed, now metav1.Time) *v1alpha1.SubscriptionInitialization {
	s := &v1alpha1.SubscriptionInitialization{Method: v1alpha1.InitializeSnapshot, Publisher: o.At.Original, Time: &now, Reason: "it was found registered so"}
	if !d.snapshots() || o.keeps(d) {
		s.Method, s.Compared = v1alpha1.InitializeReplicationSupportOnly, o.keeps(d)
	}
	return s
}

func begun(d Desired, o Observed, now metav1.Time) *v1alpha1.SubscriptionInitialization {
	s := &v1alpha1.SubscriptionInitialization{Method: v1alpha1.InitializeSnapshot, Publisher: o.At.Original, Time: &now}
	switch {
	case !d.snapshots():
		s.Method, s.Reason = v1alpha1.InitializeReplicationSupportOnly, "the Publication is declared so; nothing was compared"
	case o.Comparison == nil:
		s.Reason = "the subscriber gets a first copy"
	case o.Comparison.Equal:
		s.Method, s.Compared = v1alpha1.InitializeReplicationSupportOnly, true
		s.Reason = fmt.Sprintf("%d rows of %d articles are equal at publisher and subscriber", o.Comparison.Rows, len(o.Publication.Articles))
	default:
		s.Reason = limit("the subscriber gets a new copy: " + o.Comparison.Difference)
	}
	return s
}

// limit cuts a text to what status takes.
func limit(text string) string { return conditions.Shorten(text, 1024) }
