// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// planToken posts a tracer token when the newest one is a minute old, or one is waited for that tells a difference from
// what is on its way. Subscriptions of one publication share them.
func planToken(d Desired, o Observed, p *replication.Plan) bool {
	if d.scheduled() || phase(d, o) != phaseActive || o.Agent == nil || o.TokensErr != nil {
		return true
	}
	if len(o.Tokens) > 0 && o.Tokens[0].Age >= 0 && o.Tokens[0].Age < tokenInterval && !o.awaitsToken(d) {
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
	case d.scheduled():
		return phaseScheduled(d, o)
	case o.failure(d) != nil && o.awaitsMirror(d) && d.needsMirror():
		return phaseMirroring
	case o.inactive(d) || o.failure(d) != nil && o.failure(d).Status == mssql.RunFailed:
		return phaseFailed
	case o.registered(d, mssql.SubscriptionWaiting):
		return phaseSnapshot
	case o.running(d) && o.applied(d) && len(o.absent(d, false)) > 0:
		return phaseInitializing
	case o.applied(d), o.keeps(d) && o.running(d):
		return phaseActive
	case d.snapshots() && o.At.LastSnapshot == "":
		return phaseSnapshot
	case o.mirrors(d) && !o.mirrored():
		return phaseMirroring
	}
	return phaseInitializing
}

// needsMirror tells that an agent that fails may do so for want of the newest snapshot. One that was made for others is
// brought by nobody, and explains nothing.
func (d Desired) needsMirror() bool { return d.manual() == "" || underWay(d.Subscription.Status.Copy) }

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
	if d.scheduled() {
		return planScheduled(d, o, p)
	}
	agent, failure := "", o.failure(d)
	switch {
	case failure != nil:
		agent = failure.Message
	case o.Agent != nil:
		agent = o.Agent.Message
	}
	if o.inactive(d) {
		return p.Settle(inactive(d))
	}
	if outcome, is := restored(d); is {
		return p.Settle(outcome)
	}
	switch phase(d, o) {
	case phaseSnapshot:
		if o.At.LastSnapshot != "" {
			return p.Settle(
				conditions.InProgress(
					v1alpha1.ReasonSnapshotRunning,
					"a new snapshot is waited for: the newest one is older than the registration of an article",
				),
			)
		}
		return p.Settle(
			conditions.InProgress(v1alpha1.ReasonSnapshotRunning, "the publication's snapshot is not there yet"),
		)
	case phaseMirroring:
		outcome := mirroring(d, o)
		if failure != nil && o.applied(d) {
			outcome = failure.Bear(outcome, d.latency())
		}
		return p.Settle(outcome)
	case phaseInitializing:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonInitializing, "the snapshot is being applied: "+agent))
	case phaseFailed:
		return p.Settle(failed(d, o, *failure))
	}
	if !o.running(d) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonAgentFailed, "the distribution agent does not run: "+agent))
	}
	if failure != nil {
		return p.Settle(failure.Retrying("distribution agent", d.latency()))
	}
	if absent := o.absent(d, true); len(absent) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForTable, fmt.Sprintf(
			"database %s on %s does not have %s, and no snapshot brings it: create it there, with the rows that the "+
				"publisher has",
			d.database(),
			d.host(),
			strings.Join(absent[:min(len(absent), mostNamed)], ", "),
		)))
	}
	if !planLogRead(d, o, p) || !planProved(d, o, p) {
		return false
	}
	p.Outcome = conditions.Ready(v1alpha1.ReasonDelivering, fmt.Sprintf("%s on %s receives %d articles%s%s",
		d.database(), d.host(), len(o.registrations(d)), skips(d, o), d.voided()))
	return true
}

// failed is the outcome of an agent that ended with an error. It is started again all the same: what a person mends
// goes on by itself.
func failed(d Desired, o Observed, f replication.Failure) conditions.Outcome {
	what := "the distribution agent failed and is started again: " + f.Message
	if !f.Lasts() {
		return conditions.InProgress(v1alpha1.ReasonAgentFailed, what)
	}
	cure := "Mend what it says; docs/runbooks/replication.md has more"
	if o.Agent.Met(streamFailed) != "" {
		cure = "It could not stream a large value by way of a file: give the Subscription an AgentProfile with " +
			"oledbStreamThreshold 1048576, below which it writes none"
	}
	if o.Agent.Met(outOfStep...) != "" {
		cure = fmt.Sprintf("The rows of %s on %s differ from the publisher's: repair the row that it names there",
			d.database(), d.host())
		if d.snapshots() {
			cure += ", or " + d.renew()
		}
	}
	return conditions.Stalled(
		v1alpha1.ReasonAgentFailed,
		fmt.Sprintf("%s. It has gone on so for %s. %s", what, f.For.Truncate(time.Minute), cure),
	)
}

// streamFailed is the agent's error where it cannot write the file by way of which it streams a large value
// (docs/relational-databases/replication/agents/replication-distribution-agent.md, UseOledbStreaming).
const streamFailed = "21100"

// inactive is the outcome of a subscription that the distributor has given up.
func inactive(d Desired) conditions.Outcome {
	cure := fmt.Sprintf("nothing is delivered before the subscriber gets a new copy (%s; %s)", d.cost(), d.ask())
	if d.fromBackup() {
		cure = "nothing is delivered any more: " + d.anotherBackup()
	} else if !d.snapshots() {
		cure = fmt.Sprintf("nothing is delivered any more, and %s says that it gets no copies: delete the Subscription with "+
			"reclaimPolicy Delete, let nobody write at the publisher, make the tables there equal to its own, and let writers "+
			"in again when the Subscription is declared anew and Ready", replication.NoCopies(d.Publication, d.Subscription))
	}
	return conditions.Stalled(v1alpha1.ReasonSubscriptionInactive, fmt.Sprintf(
		"distributor %s had to keep what %s on %s lacks for longer than its retention of %d hours, and has removed it: %s",
		d.System.Host(),
		d.database(),
		d.host(),
		d.System.Retention,
		cure,
	))
}

// planLogRead says that nothing new comes to the distributor: then what the agent delivers is not what was committed.
func planLogRead(d Desired, o Observed, p *replication.Plan) bool {
	failure := replication.FailureOf(o.At.LogReader, o.LogReaderJob, d.LogReaderProfile)
	switch {
	case o.LogReaderJob == nil || !o.LogReaderJob.Running:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonLogReaderNotRunning, fmt.Sprintf(
			"the log reader of %s does not run: what is committed there now does not come; Publication %s says why",
			d.publisherDatabase(),
			d.publication(),
		)))
	case failure == nil:
		return true
	case failure.Status == mssql.RunFailed:
		return p.Settle(
			conditions.InProgress(v1alpha1.ReasonLogReaderNotRunning, "the log reader does not deliver: "+failure.Message),
		)
	}
	return p.Settle(failure.Retrying("log reader", d.latency()))
}

func mirroring(d Desired, o Observed) conditions.Outcome {
	m := o.Mirror
	switch {
	case m.StatusErr != nil:
		return conditions.Unknown(
			v1alpha1.ReasonMirroring,
			"how far the mirror of the snapshot is, is not known: "+m.StatusErr.Error(),
		)
	case d.manual() != "" && (m.Status == nil || m.Status.State == files.Waiting):
		return conditions.InProgress(v1alpha1.ReasonWaitingForFiles, "the subscriber's sidecar begins to look for the files "+
			"of the snapshot, which a person brings; one of an earlier release does not, and is renewed with its pod")
	case m.Status == nil:
		return conditions.InProgress(v1alpha1.ReasonMirroring, "the subscriber's sidecar has not heard of the snapshot yet")
	case m.Status.State == files.Waiting:
		return conditions.InProgress(v1alpha1.ReasonMirroring,
			"the subscriber's sidecar waits for the distributor's to say what the snapshot has")
	case m.Status.State == files.Failing:
		return conditions.InProgress(
			v1alpha1.ReasonMirroring,
			"the snapshot could not be mirrored and is tried again: "+m.Status.Message,
		)
	}
	s := progress(d, o)
	if s == nil || s.Snapshot != m.Status.Snapshot {
		// Of a snapshot that no copy waits for, as one that was made for another subscriber.
		s = figures(o, &v1alpha1.SubscriptionCopy{Snapshot: m.Status.Snapshot}, metav1.NewTime(o.Now))
		s.Brought = broughtCopy(d, o, nil)
	}
	if m.Status.State == files.Awaiting {
		return awaiting(d, s)
	}
	return conditions.InProgress(v1alpha1.ReasonMirroring, replication.CopyWords(s))
}

// awaiting is the outcome while a person brings the files of a snapshot.
func awaiting(d Desired, s *v1alpha1.SubscriptionCopy) conditions.Outcome {
	text := replication.CopyWords(s)
	if b := s.Brought; b != nil && b.LackingFiles > 0 {
		var names []string
		for _, l := range b.Lacking[:min(len(b.Lacking), mostNamed)] {
			names = append(names, fmt.Sprintf("%s (%s)", l.File, l.Why))
		}
		if more := int(b.LackingFiles) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		text += fmt.Sprintf(" of %s: %s. The list of all has the SHA-256 %s. Nothing is applied before all are there; the "+
			"snapshot is made anew once three quarters of the Distributor's retention of %d hours have gone by", d.host(),
			strings.Join(names, ", "), b.Manifest, d.System.Retention)
	}
	return conditions.InProgress(v1alpha1.ReasonWaitingForFiles, text)
}
