// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

const (
	failed = mssql.RunFailed
	// snapshotPause is how long a snapshot agent that failed is left alone, and wholePause one that succeeded: a snapshot
	// after which the publisher still lacks one must not be followed by another and another, each of which reads every
	// table.
	snapshotPause = 30 * time.Second
	wholePause    = 10 * time.Second
	// waitingPause is the same for one that a subscriber still waits for afterwards: it does not have to be so by its own
	// rules.
	waitingPause = 5 * time.Minute
)

// snapshotThere tells that the publisher and the distributor agree that the newest snapshot is whole. A distributor
// that dies after the publisher was told and before its own history was written knows of none.
func (o Observed) snapshotThere() bool {
	return o.Database.Publication.SnapshotReady && o.At.LastSnapshot != ""
}

// snapshotRests tells that a snapshot agent ended so short a time ago, by the distributor's clock, that it is not
// started again yet. What somebody, or the schedule, has asked for since the newest snapshot was begun is made soon:
// the one that is begun then is newer than the request, so that this happens once for each.
func (o Observed) snapshotRests(d Desired) bool {
	succeeded := wholePause
	if o.snapshotThere() && !d.asked(o) && !d.run(o) {
		succeeded = waitingPause
	}
	pause := map[mssql.RunStatus]time.Duration{failed: snapshotPause, mssql.RunSucceeded: succeeded}[o.At.Snapshot.Status]
	return o.At.Snapshot.Age < pause
}

// snapshotAwaited tells that a subscriber waits for a snapshot although there is one: it was reinitialized since.
func (o Observed) snapshotAwaited() bool {
	return slices.ContainsFunc(
		o.Database.Publication.Subscriptions,
		func(s mssql.ArticleSubscription) bool { return s.Status == mssql.SubscriptionWaiting },
	)
}

// planHealth says what is so when nothing is left to do.
func planHealth(d Desired, o Observed, p *replication.Plan) bool {
	states := map[string][]string{}
	for _, a := range d.Publication.Spec.Articles {
		state := articleState(d, a, o.Database)
		states[state] = append(states[state], a.Table)
	}
	ready, at := !d.snapshots(o) || o.snapshotThere(), o.At.Snapshot
	ended := at != nil && o.SnapshotJob != nil && !o.SnapshotJob.Running
	switch {
	case len(states[stateNoPrimaryKey]) > 0:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNoPrimaryKey, fmt.Sprintf(
			"no primary key: %s; transactional replication takes one: ALTER TABLE ... ADD PRIMARY KEY, or leave the table "+
				"out. %d of %d articles are published",
			strings.Join(states[stateNoPrimaryKey], ", "), len(states[statePublished]), len(d.Publication.Spec.Articles),
		)))
	case len(states[stateColumns]) > 0:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonColumnsNotPublishable, fmt.Sprintf(
			"the columns of %s lack some of the primary key: add them to the article's columns",
			strings.Join(states[stateColumns], ", "),
		)))
	case len(states[stateWaitingForTable]) > 0:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForTable, fmt.Sprintf(
			"not in database %s yet: %s; %d of %d articles are published",
			d.database(),
			strings.Join(states[stateWaitingForTable], ", "), len(states[statePublished]), len(d.Publication.Spec.Articles),
		)))
	case d.scheduled():
		return planScheduled(d, o, p)
	case !ready && ended && at.Status == failed && (&replication.Failure{For: at.FailingFor}).Lasts():
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSnapshotFailed, fmt.Sprintf(
			"the snapshot agent has been started again and again for %s: %s. Mend what it says; docs/runbooks/replication.md "+
				"has more",
			at.FailingFor.Truncate(time.Minute), at.Message,
		)))
	case !ready && ended && at.Status == failed:
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonSnapshotFailed, "the snapshot agent failed and is started again: "+at.Message,
		))
	case !ready && ended && at.Status == mssql.RunSucceeded:
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonSnapshotRunning, "the newest snapshot does not have every article: another is made soon",
		))
	case !ready:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonSnapshotRunning, "the snapshot is being made"))
	}
	switch failure := replication.FailureOf(o.At.LogReader, o.LogReaderJob, d.LogReaderProfile); {
	case foreignLogReader(d, o) && !o.LogReaderJob.Running:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonLogReaderNotRunning, fmt.Sprintf(
			"job %s at %s, the log reader of %s, does not run, and somebody else made it: enable and start it there, or "+
				"annotate the Publication with %s=true to take it over",
			logReaderJob(d, o).Name, d.System.Host(), d.database(), v1alpha1.AdoptAnnotation,
		)))
	case failure == nil:
	case failure.Status == mssql.RunFailed:
		if failure.Lasts() {
			return p.Settle(conditions.Stalled(v1alpha1.ReasonLogReaderNotRunning, fmt.Sprintf(
				"the log reader has been started again and again for %s, and delivers nothing: %s. Mend what it says; "+
					"docs/runbooks/replication.md has more",
				failure.For.Truncate(time.Minute), failure.Message,
			)))
		}
		return p.Settle(
			conditions.InProgress(v1alpha1.ReasonLogReaderNotRunning, "the log reader does not deliver: "+failure.Message),
		)
	default:
		return p.Settle(failure.Retrying("log reader", 0))
	}
	if !planNeeded(d, o, p) || !planUnread(d, o, p) || !planCompression(d, o, p) {
		return false
	}
	p.Outcome = conditions.Ready(v1alpha1.ReasonPublished, fmt.Sprintf(
		"%d articles of %s are published through %s%s", len(o.Database.Publication.Articles), d.database(), d.System.Host(),
		raised(d, o)))
	return true
}
