// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"regexp"

	"geosql.dev/operator/api/v1alpha1"
)

// Families of the manager that speak of Publications and Subscriptions.
var (
	ReplicationAgentState = gauge(
		"geosql_replication_agent_state",
		"1 for the state of a replication agent (LogReader, Snapshot or Distribution) by the distributor's history: "+
			"Started, Stopped, InProgress, Idle, Retrying, Failed or Unknown.",
		"kind",
		"namespace",
		"name",
		"agent",
		"state",
	)
	ReplicationAgentHistory = gauge("geosql_replication_agent_history_timestamp_seconds",
		"Time of the newest row of a replication agent's history.", "kind", "namespace", "name", "agent")
	ReplicationAgentError = gauge(
		"geosql_replication_agent_last_error_timestamp_seconds",
		"When a replication agent's last error was, with its number, or other where it has none.",
		"kind",
		"namespace",
		"name",
		"agent",
		"code",
	)
	DistributionUsed = gauge("geosql_distributor_database_used_bytes",
		"What the files of a distribution database take of their volume, to a fiftieth of it.", "namespace", "distributor")
	DistributionFree = gauge("geosql_distributor_database_free_bytes",
		"What that volume has free, as exact.", "namespace", "distributor")
	PublicationArticles = gauge(
		"geosql_publication_articles",
		"Articles of a publication by their state: Published, Pending, WaitingForTable, NoPrimaryKey, "+
			"ColumnsNotPublishable or Unknown.",
		"namespace",
		"publication",
		"state",
	)
	SubscriptionPhase = gauge(
		"geosql_subscription_phase",
		"1 for the phase of a subscription: Pending, Snapshot, Mirroring, Initializing, Active, Failed or Unknown.",
		"namespace",
		"subscription",
		"phase",
	)
	SubscriptionPending = gauge(
		"geosql_subscription_pending_commands",
		"Commands in the distribution database that the subscriber does not have (sp_replmonitorsubscriptionpendingcmds).",
		"namespace",
		"subscription",
	)
	SubscriptionPendingSeconds = gauge("geosql_subscription_pending_seconds",
		"How long delivering them takes, as the same procedure estimates it.", "namespace", "subscription")
	SubscriptionObjective = gauge("geosql_subscription_objective_latency_seconds",
		"Declared objective: how long a row may need from publisher to subscriber.", "namespace", "subscription")
	SubscriptionLatency = gauge(
		"geosql_subscription_latency_seconds",
		"What the newest tracer token that arrived measured, in whole seconds: PublisherToDistributor, "+
			"DistributorToSubscriber or Overall.",
		"namespace",
		"subscription",
		"stage",
	)
	SubscriptionToken = gauge(
		"geosql_subscription_latency_token_timestamp_seconds",
		"When that token was posted. One is posted every minute while the subscription is Active: an old one means that "+
			"newer ones have not arrived.",
		"namespace",
		"subscription",
	)
)

var replicationFamilies = []*Family{
	ReplicationAgentState,
	ReplicationAgentHistory,
	DistributionUsed,
	DistributionFree,
	ReplicationAgentError,
	PublicationArticles,
	SubscriptionPhase,
	SubscriptionObjective,
	SubscriptionPending,
	SubscriptionPendingSeconds,
	SubscriptionLatency,
	SubscriptionToken,
}

func (o *Objects) replication(ctx context.Context, s Sink) error {
	var publications v1alpha1.PublicationList
	if err := o.hub.List(ctx, &publications); err != nil {
		return err
	}
	for i := range publications.Items {
		p := &publications.Items[i]
		s.conditions("Publication", p, p.Status.Conditions)
		s.agent(p.Status.LogReader, "Publication", p.Namespace, p.Name, "LogReader")
		s.agent(p.Status.Snapshot, "Publication", p.Namespace, p.Name, "Snapshot")
		articles := map[string]int{}
		for _, a := range p.Status.Articles {
			articles[a.State]++
		}
		for state, count := range articles {
			s.Set(PublicationArticles, float64(count), p.Namespace, p.Name, state)
		}
	}
	var subscriptions v1alpha1.SubscriptionList
	if err := o.hub.List(ctx, &subscriptions); err != nil {
		return err
	}
	for i := range subscriptions.Items {
		s.subscription(&subscriptions.Items[i])
	}
	return nil
}

// errorNumber is an error code that is a number.
var errorNumber = regexp.MustCompile(`^-?[0-9]{1,10}$`)

func (s Sink) agent(a *v1alpha1.AgentStatus, labels ...string) {
	if a == nil {
		return
	}
	s.Set(ReplicationAgentState, 1, append(labels[:4:4], a.State)...)
	s.time(ReplicationAgentHistory, a.Time, labels...)
	code := a.LastErrorCode
	if !errorNumber.MatchString(code) {
		code = "other"
	}
	s.time(ReplicationAgentError, a.LastErrorTime, append(labels[:4:4], code)...)
}

func (s Sink) subscription(x *v1alpha1.Subscription) {
	s.conditions("Subscription", x, x.Status.Conditions)
	s.agent(x.Status.Agent, "Subscription", x.Namespace, x.Name, "Distribution")
	if x.Status.Phase != "" {
		s.Set(SubscriptionPhase, 1, x.Namespace, x.Name, x.Status.Phase)
	}
	if objectives := x.Spec.Objectives; objectives != nil {
		s.seconds(SubscriptionObjective, objectives.Latency, x.Namespace, x.Name)
	}
	s.whole(SubscriptionPending, x.Status.PendingCommands, x.Namespace, x.Name)
	s.whole(SubscriptionPendingSeconds, x.Status.EstimatedSeconds, x.Namespace, x.Name)
	if l := x.Status.Latency; l != nil {
		s.whole(SubscriptionLatency, l.PublisherToDistributorSeconds, x.Namespace, x.Name, "PublisherToDistributor")
		s.whole(SubscriptionLatency, l.DistributorToSubscriberSeconds, x.Namespace, x.Name, "DistributorToSubscriber")
		s.whole(SubscriptionLatency, l.OverallSeconds, x.Namespace, x.Name, "Overall")
		s.time(SubscriptionToken, l.PostedAt, x.Namespace, x.Name)
	}
}

// whole tells a whole number, if there is one.
func (s Sink) whole(f *Family, value *int64, labels ...string) {
	if value != nil {
		s.Set(f, float64(*value), labels...)
	}
}
