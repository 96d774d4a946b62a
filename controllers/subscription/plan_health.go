// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"fmt"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

type articleSubscription = mssql.ArticleSubscription

// Phases of a subscription, as status says them.
const (
	phasePending      = "Pending"
	phaseSnapshot     = "Snapshot"
	phaseMirroring    = "Mirroring"
	phaseInitializing = "Initializing"
	phaseActive       = "Active"
	phaseFailed       = "Failed"
	phaseUnknown      = "Unknown"
)

// tokenInterval is the time between two tracer tokens of a publication.
const tokenInterval = time.Minute

// planToken posts a tracer token when the newest one is a minute old. Subscriptions of one publication share them.
func planToken(d Desired, o Observed, p *replication.Plan) bool {
	if phase(d, o) != phaseActive || o.TokensErr != nil {
		return true
	}
	if len(o.Tokens) > 0 && o.Tokens[0].Age >= 0 && o.Tokens[0].Age < tokenInterval {
		return true
	}
	p.Execute(o.primary(d), d.publisherDatabase(), tsql.PostTracerToken(d.publication()))
	// A token is no change of what is so.
	return true
}

// phase says how far a subscription is.
func phase(d Desired, o Observed) string {
	if d.Publication == nil {
		return phasePending
	}
	s := o.Servers[d.Subscriber]
	switch {
	case o.AtErr != nil || o.HereErr != nil || o.PublicationErr != nil || o.JobsErr != nil || s.Err != nil:
		return phaseUnknown
	case o.Publication == nil || len(o.registrations(d)) == 0:
		return phasePending
	case o.failure(d) != nil && o.awaitsMirror(d):
		return phaseMirroring
	case o.failure(d) != nil && o.failure(d).Status == mssql.RunFailed:
		return phaseFailed
	case o.applied(d), o.keeps(d) && o.running(d):
		return phaseActive
	case d.snapshots() && o.At.LastSnapshot == "":
		return phaseSnapshot
	case o.mirrors(d) && !o.mirrored():
		return phaseMirroring
	}
	return phaseInitializing
}

func (o Observed) running(d Desired) bool {
	j := o.Jobs[d.agentServer()]
	return j != nil && j.Running
}

// failure is what keeps the agent from delivering, nil when nothing does.
func (o Observed) failure(d Desired) *replication.Failure {
	return replication.FailureOf(o.Agent, o.Jobs[d.agentServer()], d.Profile)
}

// planHealth says what is so when nothing is left to do.
func planHealth(d Desired, o Observed, p *replication.Plan) bool {
	agent, failure := "", o.failure(d)
	switch {
	case failure != nil:
		agent = failure.Message
	case o.Agent != nil:
		agent = o.Agent.Message
	}
	switch phase(d, o) {
	case phaseSnapshot:
		return p.Settle(conditions.InProgress(conditions.ReasonSnapshotRunning, "the publication's snapshot is not there yet"))
	case phaseMirroring:
		outcome := mirroring(o.Mirror)
		if failure != nil && o.applied(d) {
			outcome = failure.Bear(outcome, d.latency())
		}
		return p.Settle(outcome)
	case phaseInitializing:
		return p.Settle(conditions.InProgress(conditions.ReasonInitializing, "the snapshot is being applied: "+agent))
	case phaseFailed:
		return p.Settle(conditions.InProgress(conditions.ReasonAgentFailed, "the distribution agent failed and is started again: "+agent))
	}
	if !o.running(d) {
		return p.Settle(conditions.InProgress(conditions.ReasonAgentFailed, "the distribution agent does not run: "+agent))
	}
	if failure != nil {
		return p.Settle(failure.Retrying("distribution agent", d.latency()))
	}
	if !planLogRead(d, o, p) {
		return false
	}
	p.Outcome = conditions.Ready(conditions.ReasonDelivering, fmt.Sprintf("%s on %s receives %d articles", d.database(), d.host(), len(o.registrations(d))))
	return true
}

// planLogRead says that nothing new comes to the distributor: then what the agent delivers is not what was committed.
func planLogRead(d Desired, o Observed, p *replication.Plan) bool {
	failure := replication.FailureOf(o.At.LogReader, o.LogReaderJob, d.LogReaderProfile)
	switch {
	case o.LogReaderJob == nil || !o.LogReaderJob.Running:
		return p.Settle(conditions.InProgress(conditions.ReasonLogReaderNotRunning, fmt.Sprintf(
			"the log reader of %s does not run: what is committed there now does not come; Publication %s says why", d.publisherDatabase(), d.publication())))
	case failure == nil:
		return true
	case failure.Status == mssql.RunFailed:
		return p.Settle(conditions.InProgress(conditions.ReasonLogReaderNotRunning, "the log reader does not deliver: "+failure.Message))
	}
	return p.Settle(failure.Retrying("log reader", d.latency()))
}

func mirroring(m Mirror) conditions.Outcome {
	switch {
	case m.StatusErr != nil:
		return conditions.Unknown(conditions.ReasonMirroring, "how far the mirror of the snapshot is, is not known: "+m.StatusErr.Error())
	case m.Status == nil || m.Status.State == files.Waiting:
		return conditions.InProgress(conditions.ReasonMirroring, "the subscriber's sidecar begins to mirror the snapshot")
	case m.Status.State == files.Failing:
		return conditions.InProgress(conditions.ReasonMirroring, "the snapshot could not be mirrored and is tried again: "+m.Status.Message)
	}
	return conditions.InProgress(conditions.ReasonMirroring, fmt.Sprintf("snapshot %s: %d of %d bytes are at the subscriber's site",
		m.Status.Snapshot, m.Status.Bytes, m.Status.Total))
}

// planDelete ends the subscription when reclaimPolicy is Delete; tables stay, and everything else stays when it is Retain.
func planDelete(d Desired, o Observed) replication.Plan {
	var p replication.Plan
	if d.Subscription.Spec.ReclaimPolicy != v1alpha1.ReclaimDelete || len(d.Missing) > 0 || d.Unsupported != "" {
		p.Done = true
		return p
	}
	// What has no registration needs nothing of the publication to end.
	if !planAsked(d, o, &p) || len(o.registrations(d)) > 0 && !planPublication(d, o, &p) {
		p.Outcome.Message = "deletion waits: " + p.Outcome.Message
		return p
	}
	if err := unread(d, o); err != nil {
		p.Settle(conditions.Unknown(conditions.ReasonEngineNotAnswering, fmt.Sprintf("deletion waits: %v", err)))
		return p
	}
	leave(d, o, &p, d.pull())
	if d.mirrors() && (o.Mirror.Told != nil || o.Mirror.Reader != nil) {
		p.Add(TakeMirror{Subscriber: d.Subscriber, Distributor: d.System.Server})
	}
	if len(p.Steps) == 0 && o.Here.Owner.User == d.System.Login && len(o.Here.Subscriptions) == 0 {
		// The tables are the user's now.
		p.Execute(d.Subscriber, d.database(), tsql.DropUser(d.System.Login))
	}
	if p.Done = len(p.Steps) == 0; !p.Done {
		p.Settle(conditions.InProgress(conditions.ReasonDeleting, "the subscription is being ended"))
	}
	return p
}

// unread is why it is not known what distributor, publisher, subscriber and sidecars have, nil when it is. Without it nothing may be
// ended, and the finalizer stays.
func unread(d Desired, o Observed) error {
	if err := replication.DistributionDatabase(d.System, o.Servers); err != nil {
		return err
	}
	primary := o.primary(d)
	if _, err := replication.OnlineDatabase(primary, o.Servers[primary], d.publisherDatabase()).Get(); err != nil {
		return err
	}
	if _, err := replication.OnlineDatabase(d.Subscriber, o.Servers[d.Subscriber], d.database()).Get(); err != nil {
		return err
	}
	return cmp.Or(o.HereErr, o.JobsErr, o.Mirror.Err)
}
