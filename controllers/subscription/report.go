// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// report writes the status from the observation and what was done, and records events of what changed.
func (r *Reconciler) report(ctx context.Context, d Desired, o Observed, p replication.Plan, failed error) error {
	status := describe(d, o)
	status.Initialization = initialization(d, o, p)
	changes := conditions.Set(&status.StatusBase, d.Subscription.Generation, reconcile.Outcome(p.Outcome, failed))
	// How the subscription was registered is known now or never; all else is found again.
	reporter := r.reporter
	reporter.Lock = !registers(p)
	return reporter.Report(ctx, d.Subscription, &d.Subscription.Status, &status, changes)
}

// describe makes the status of what was observed.
func describe(d Desired, o Observed) v1alpha1.SubscriptionStatus {
	s := *d.Subscription.Status.DeepCopy()
	s.Phase = phase(d, o)
	s.PendingCommands, s.EstimatedSeconds = o.Pending, o.PendingSeconds
	if d.Publication == nil {
		return s
	}
	if o.AtErr != nil || o.JobsErr != nil {
		if s.Agent != nil {
			s.Agent.State = phaseUnknown
		}
	} else {
		s.Agent = replication.AgentStatus(o.Agent, o.Jobs[d.agentServer()])
	}
	if o.mirrored() {
		s.MirroredSnapshot = o.At.LastSnapshot
	}
	if token := newestArrived(o.Tokens); token != nil {
		posted := metav1.NewTime(token.Posted).Rfc3339Copy()
		s.Latency = &v1alpha1.LatencyStatus{
			PublisherToDistributorSeconds: token.Latency.ToDistributor, DistributorToSubscriberSeconds: token.Latency.DistributorToSubscriber,
			OverallSeconds: token.Latency.Overall, PostedAt: &posted,
		}
	}
	return s
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
