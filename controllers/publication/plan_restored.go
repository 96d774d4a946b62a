// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// planRestored notices that the published database was restored from a backup, in its place. The log reader would wait,
// and read on once the log has grown past what the distributor has: what was written until then would never come, and
// what the backup lacked would stay at subscribers. It is stopped as soon as the status says why, and a person lets the
// publication be made anew.
func planRestored(d Desired, o Observed, p *replication.Plan) bool {
	if !restored(d, o) {
		return true
	}
	primary, since := o.primary(d), d.Publication.Status.Behind
	if since == nil {
		return p.Settle(behind(d, o))
	}
	have := o.LogReaderJob
	if !d.scheduled() && have != nil && !foreignLogReader(d, o) && (have.Enabled || have.Running) &&
		(o.behind() || d.rebuilds() || o.Now.Sub(since.Time) < stopFor) {
		p.Job(d.System.Server, logReaderJob(d, o), false, have)
		return p.Settle(behind(d, o))
	}
	if !d.rebuilds() {
		return p.Settle(behind(d, o))
	}
	// First, and again after an interruption: the log reader may find the end of what the distributor has within a record
	// of the log that was written since (9004).
	if !d.scheduled() {
		p.Execute(primary, d.database(), tsql.RestartReplication())
	}
	if len(o.Database.Publication.Subscriptions) > 0 {
		p.Execute(primary, d.database(), tsql.DropSubscriptions(d.name()))
	}
	p.Execute(primary, d.database(), tsql.DropPublication(d.name()))
	return p.Proceed("publication %s is being made anew", d.name())
}

// stopFor is how long a log reader that is started is stopped again although the log may be readable. Later a person
// has done that, after sp_replrestart, or another publication of the database was made anew.
const stopFor = 5 * time.Minute

func behind(d Desired, o Observed) conditions.Outcome {
	primary := credentials.HostName(o.primary(d))
	if d.scheduled() {
		return conditions.Stalled(v1alpha1.ReasonPublisherBehind, fmt.Sprintf(
			"database %[1]s on %[2]s was restored from a backup: subscribers may have rows that it does not have, and the next "+
				"snapshot would replace them. None is made. Bring over what is missing, then annotate the Publication with "+
				"%[3]s=true to copy what is there, and take the annotation away afterwards",
			d.database(), primary, v1alpha1.RebuildAnnotation))
	}
	if forgetful(d, o) {
		return conditions.Stalled(v1alpha1.ReasonDistributorBehind, fmt.Sprintf(
			"distribution database %[1]s on %[2]s was restored from a backup: what had been brought there since, and not to "+
				"every subscriber, is in no log any more, and nobody can tell which rows subscribers lack. The log of %[3]s on "+
				"%[4]s is not read meanwhile. Annotate the Publication with %[5]s: %[6]s lets subscribers whose tables are equal "+
				"to the publisher's go on with them and gives the others a new copy, true gives all of them one",
			d.System.Database, d.System.Host(), d.database(), primary, v1alpha1.RebuildAnnotation, v1alpha1.RebuildCompare,
		))
	}
	return conditions.Stalled(v1alpha1.ReasonPublisherBehind, fmt.Sprintf(
		"database %[1]s on %[2]s was restored from a backup: distributor %[3]s may have transactions of it that it does "+
			"not have, and subscribers their rows. Its log is not read, so that nothing is left out. Bring over what is "+
			"missing, then annotate the Publication with %[4]s to publish what is there: %[5]s lets subscribers whose tables "+
			"are equal to the publisher's go on with them and gives the others a new copy, true gives all of them one",
		d.database(), primary, d.System.Host(), v1alpha1.RebuildAnnotation, v1alpha1.RebuildCompare,
	))
}
