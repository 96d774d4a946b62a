// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"time"

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
	if len(o.Tokens) > 0 && o.Now.Sub(o.Tokens[0].Posted) < tokenInterval {
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
	p.Outcome = conditions.Ready(conditions.ReasonDelivering, fmt.Sprintf("%s on %s receives %d articles", d.database(), d.host(), len(o.registrations(d))))
	return true
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
