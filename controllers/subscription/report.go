// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// initializationOwner owns how a subscription was registered. That is known when it is done, and never again: it is
// written on its own, and only when it changes, so that nobody who has read the status from before takes it back.
const initializationOwner = client.FieldOwner("geosql-operator-initialization")

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p reconcile.Plan, failed error) error {
	before := d.Subscription.Status.DeepCopy()
	own := r.reporter
	own.Owner, own.Fields = initializationOwner, []string{"initialization", "reinitialization"}
	own.Lock = !registers(p) && !calls(p, tsql.Reinitializes)
	registered := before.Initialization
	if !refusedBackup(failed) {
		registered = initialization(d, o, p)
	}
	err := own.Report(
		ctx,
		d.Subscription,
		&v1alpha1.SubscriptionStatus{Initialization: before.Initialization, Reinitialization: before.Reinitialization},
		&v1alpha1.SubscriptionStatus{
			Initialization:   registered,
			Reinitialization: reinitialization(d, o, p, failed),
		},
		nil,
	)
	if err != nil {
		return err
	}
	status := describe(d, o)
	status.Initialization, before.Initialization = nil, nil
	status.Reinitialization, before.Reinitialization = nil, nil
	changes := conditions.Set(&status.StatusBase, d.Subscription.Generation, outcome(d, o, p, failed))
	changes = append(changes, tellLog(d, o, &status)...)
	if err := r.reporter.Report(ctx, d.Subscription, before, &status, changes); err != nil {
		return err
	}
	if reason, note := phaseChange(before.Copy, status.Copy); reason != "" {
		r.reporter.Events.Eventf(d.Subscription, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", note)
	}
	return nil
}

// describe makes the status of what was observed.
func describe(d Desired, o Observed) v1alpha1.SubscriptionStatus {
	d = d.asRegistered(o)
	s := *d.Subscription.Status.DeepCopy()
	s.Phase = phase(d, o)
	s.PendingCommands, s.EstimatedSeconds = nil, nil
	if o.Counted.present(o.Now) {
		s.PendingCommands, s.EstimatedSeconds = o.Counted.Commands, o.Counted.Seconds
	}
	s.Forecast = d.Forecast
	if d.Publication == nil {
		return s
	}
	if o.AtErr != nil || o.JobsErr != nil {
		if s.Agent != nil {
			s.Agent.State = phaseUnknown
		}
	} else {
		s.Agent = replication.AgentStatus(s.Agent, o.Agent, o.Jobs[d.agentServer()])
	}
	s.NotEmptySince = notEmptySince(d, o)
	s.Copy = progress(d, o)
	s.Snapshot = appliedSnapshot(d, o)
	if o.mirrored() {
		s.MirroredSnapshot = o.At.LastSnapshot
	}
	if token := newestArrived(o.Tokens); token != nil {
		posted := metav1.NewTime(token.Posted).Rfc3339Copy()
		s.Latency = &v1alpha1.LatencyStatus{
			PublisherToDistributorSeconds:  token.Latency.ToDistributor,
			DistributorToSubscriberSeconds: token.Latency.DistributorToSubscriber,
			OverallSeconds:                 token.Latency.Overall, PostedAt: &posted,
		}
	}
	return s
}

// notEmptySince is since when tables of others stand in the way, for status: until none do, or it is registered. What
// was not read changes nothing.
func notEmptySince(d Desired, o Observed) *metav1.Time {
	have := d.Subscription.Status.NotEmptySince
	switch {
	case !o.comparable(d) || o.Servers[d.Subscriber].State.Database(d.database()).State != "ONLINE":
		return have
	case len(tablesOfOthers(d, o)) == 0:
		return nil
	case have == nil && (len(foreignTables(d, o)) > 0 || o.inTheWay(d)):
		now := metav1.NewTime(o.Now).Rfc3339Copy()
		return &now
	}
	return have
}

// newestArrived is the newest token that has arrived at the subscriber.
func newestArrived(tokens []Token) *Token {
	for i := range tokens {
		if tokens[i].Latency.Overall != nil {
			return &tokens[i]
		}
	}
	return nil
}
