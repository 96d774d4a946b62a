// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

const (
	failed = mssql.RunFailed
	// snapshotPause is how long a snapshot agent that failed is left alone, and wholePause one that succeeded: a snapshot
	// after which the publisher still lacks one must not be followed by another and another, each of which reads every table.
	snapshotPause = 30 * time.Second
	wholePause    = 10 * time.Second
	// alreadyRunning is what a job that runs is refused to be started with.
	alreadyRunning = 22022
)

// snapshotThere tells that the publisher and the distributor agree that the newest snapshot is whole. A distributor that
// dies after the publisher was told and before its own history was written knows of none.
func (o Observed) snapshotThere() bool {
	return o.Database.Publication.SnapshotReady && o.At.LastSnapshot != ""
}

// snapshotRests tells that a snapshot agent ended so short a time ago that it is not started again yet. The time is the
// distributor's: one in the future says that clocks differ, and nothing else.
func (o Observed) snapshotRests() bool {
	pause := map[mssql.RunStatus]time.Duration{failed: snapshotPause, mssql.RunSucceeded: wholePause}[o.At.Snapshot.Status]
	since := o.Now.Sub(o.At.Snapshot.Time)
	return since >= 0 && since < pause
}

// planHealth says what is so when nothing is left to do.
func planHealth(d Desired, o Observed, p *replication.Plan) bool {
	states := map[string][]string{}
	for _, a := range d.Publication.Spec.Articles {
		state := articleState(a, o.Database)
		states[state] = append(states[state], a.Table)
	}
	ready, at := !d.snapshots() || o.snapshotThere(), o.At.Snapshot
	ended := at != nil && o.SnapshotJob != nil && !o.SnapshotJob.Running
	switch {
	case len(states[stateNoPrimaryKey]) > 0:
		return p.Settle(conditions.Stalled(conditions.ReasonNoPrimaryKey, fmt.Sprintf(
			"no primary key: %s; transactional replication takes one: ALTER TABLE ... ADD PRIMARY KEY, or leave the table out. %d of %d articles are published",
			strings.Join(states[stateNoPrimaryKey], ", "), len(states[statePublished]), len(d.Publication.Spec.Articles))))
	case len(states[stateColumns]) > 0:
		return p.Settle(conditions.Stalled(conditions.ReasonColumnsNotPublishable, fmt.Sprintf(
			"the columns of %s lack some of the primary key: add them to the article's columns", strings.Join(states[stateColumns], ", "))))
	case len(states[stateWaitingForTable]) > 0:
		return p.Settle(conditions.InProgress(conditions.ReasonWaitingForTable, fmt.Sprintf(
			"not in database %s yet: %s; %d of %d articles are published", d.database(), strings.Join(states[stateWaitingForTable], ", "),
			len(states[statePublished]), len(d.Publication.Spec.Articles))))
	case !ready && ended && at.Status == failed:
		return p.Settle(conditions.InProgress(conditions.ReasonSnapshotFailed, "the snapshot agent failed and is started again: "+at.Message))
	case !ready && ended && at.Status == mssql.RunSucceeded:
		return p.Settle(conditions.InProgress(conditions.ReasonSnapshotRunning, "the newest snapshot does not have every article: another is made soon"))
	case !ready:
		return p.Settle(conditions.InProgress(conditions.ReasonSnapshotRunning, "the snapshot is being made"))
	}
	switch failure := replication.FailureOf(o.At.LogReader, o.LogReaderJob, d.LogReaderProfile); {
	case failure == nil:
	case failure.Status == mssql.RunFailed:
		return p.Settle(conditions.InProgress(conditions.ReasonLogReaderNotRunning, "the log reader does not deliver: "+failure.Message))
	default:
		return p.Settle(failure.Retrying("log reader", 0))
	}
	if !planNeeded(d, o, p) || !planUnread(d, o, p) || !planCompression(d, o, p) {
		return false
	}
	p.Outcome = conditions.Ready(conditions.ReasonPublished, fmt.Sprintf(
		"%d articles of %s are published through %s", len(o.Database.Publication.Articles), d.database(), d.System.Host()))
	return true
}
