// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// plan decides what to do next and says what is so until then. It is pure. A stage that has steps ends the plan, and
// the next observation goes on from there; so any step can be the last.
//
// Before a change of articles that carries out requests comes its record, as the plan's note. Once the change is made
// nothing else tells a request that was carried out from one for a copy of all tables.
func plan(d Desired, o Observed) reconcile.Plan {
	p := reconcile.Stages(d, o,
		planLowered, planReferences, planSchedule, planFilters, planDistributor, planPublisherLost, planDatabase,
		planOwnership, planPublish, planDistributorLost, planRestored, planLogReader, planPublication, planRedirection,
		planSnapshotAgent, planTables, planArticles, planSubscribers, planRun, planSnapshot, planAttempt,
		planSetUpFailed, planHealth,
	).Plan
	if r := begins(d, o, p); r != nil {
		noted := replication.Plan{Plan: reconcile.Plan{Aside: p.Aside, Note: r}}
		d.serving(o, &noted, noted.Settle(conditions.InProgress(v1alpha1.ReasonConfiguring,
			"which new copies are begun with is being recorded")))
		return noted.Plan
	}
	return p
}

// planReferences ends the plan while something that is named is not declared.
func planReferences(d Desired, o Observed, p *replication.Plan) bool {
	if missing := slices.Concat(d.Missing, d.MissingProfiles); len(missing) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonReferenceMissing,
			"these objects are not declared yet: "+strings.Join(missing, ", ")+raised(d, o)+unseen(d, o)))
	}
	if outcome, ok := replication.MaySend(d.Publisher.SubscribeOnly); !ok {
		return p.Settle(outcome)
	}
	if d.Moving != "" {
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonSwitching,
			fmt.Sprintf("PublisherMove %s moves the publication: nothing is done for its former publisher", d.Moving),
		))
	}
	return true
}

// planFilters ends the plan when a filter is more than a condition. Admission refuses it; an object may be older, or
// may have come while no webhook was asked.
func planFilters(d Desired, _ Observed, p *replication.Plan) bool {
	for _, a := range d.Publication.Spec.Articles {
		if err := tsql.CheckFilter(a.Filter); err != nil {
			return p.Settle(conditions.Stalled(v1alpha1.ReasonFilterRefused, fmt.Sprintf(
				"the filter of article %s must be the condition of a WHERE clause, without the word, and nothing else: %v",
				a.Table, err)))
		}
	}
	return true
}

// planDistributor waits for the distributor to admit every server of the publisher.
func planDistributor(d Desired, o Observed, p *replication.Plan) bool {
	if outcome, ok := replication.Usable(d.System.Server, o.Servers[d.System.Server]); !ok {
		return p.Settle(outcome)
	}
	at := o.Servers[d.System.Server].State
	for _, server := range d.Publisher.Servers {
		if at.Publisher(credentials.HostName(server)) == nil {
			return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDistributor, fmt.Sprintf(
				"distributor %s does not admit %s yet", d.System.Host(), credentials.HostName(server))))
		}
	}
	primary := o.primary(d)
	if primary == "" {
		for _, server := range d.Publisher.Servers {
			if outcome, ok := replication.Usable(server, o.Servers[server]); !ok {
				return p.Settle(outcome)
			}
		}
		return p.Settle(
			conditions.InProgress(v1alpha1.ReasonNoPrimary, d.Publisher.Name+" has no primary: nothing can be published now"),
		)
	}
	if outcome, ok := replication.Usable(primary, o.Servers[primary]); !ok {
		return p.Settle(outcome)
	}
	if have := o.Servers[primary].State; !strings.EqualFold(have.Distributor, d.System.Host()) ||
		!have.HasLogin(d.System.SID) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDistributor, fmt.Sprintf(
			"publisher %s is not linked to distributor %s yet", credentials.HostName(primary), d.System.Host())))
	}
	if o.AtErr != nil {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, o.AtErr.Error()))
	}
	return true
}

// planPublisherLost notices that the published database was lost, or made anew, under a publication. The subscribers'
// copies may be the last ones, and a snapshot of what is there now would replace them: a person says so.
func planPublisherLost(d Desired, o Observed, p *replication.Plan) bool {
	if !o.publisherLost(d) || d.rebuilds() {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonPublisherLost, fmt.Sprintf(
		"distributor %[1]s knows publication %[2]s, and database %[3]s on %[4]s has nothing of it: the database was lost, "+
			"or made anew. Subscribers keep what they have, which may be the last copy. Restore the database on %[4]s, from "+
			"a backup or from a subscriber's copy; then annotate the Publication with %[5]s to publish what is there: %[6]s "+
			"lets subscribers whose tables are equal to the publisher's go on with them and gives the others a new copy, "+
			"true gives all of them one, which is empty if nothing was restored",
		d.System.Host(), d.name(), d.database(), credentials.HostName(o.primary(d)), v1alpha1.RebuildAnnotation,
		v1alpha1.RebuildCompare,
	)))
}

// planDatabase creates the database on a server alone that does not declare it; else it is the group's, or the
// server's. A new one is in FULL recovery with a first full backup.
func planDatabase(d Desired, o Observed, p *replication.Plan) bool {
	primary := o.primary(d)
	have := o.Servers[primary].State.Database(d.database())
	switch {
	case have == nil && d.Publisher.Declares(d.database()):
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"%s does not have database %s yet", d.Publisher.Name, d.database())))
	case have == nil:
		p.Execute(primary, replication.Master, tsql.CreateDatabase(d.database()), replication.DatabaseExists)
		p.Execute(primary, replication.Master, tsql.SetRecoveryFull(d.database()))
	case have.State != "ONLINE":
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is %s", d.database(), credentials.HostName(primary), strings.ToLower(have.State))))
	case have.Secondary && d.Publisher.Group == "":
		return p.Settle(replication.Secondary(d.Publisher.Instead(),
			fmt.Sprintf("%s on %s is a secondary's copy", d.database(), credentials.HostName(primary))))
	case o.DatabaseErr != nil:
		// A secondary's log chain is its primary's, and no backup of it begins one.
		return p.Settle(replication.Unanswered(o.DatabaseErr, d.Publisher.Instead()))
	}
	if d.Publisher.Group == "" && (have == nil || have.RecoveryModel == "FULL" && !have.LogChain) {
		p.Execute(primary, replication.Master, tsql.BackupDatabaseFull(d.database(), fmt.Sprintf("%s/%s-first-%s.bak",
			conf.BackupDir, d.database(), o.Now.UTC().Format("20060102T150405Z"))))
	}
	if have != nil {
		return p.Proceed(
			"a first full backup of database %s on %s is being made", d.database(), credentials.HostName(primary),
		)
	}
	return p.Proceed("database %s is being created on %s", d.database(), credentials.HostName(primary))
}

// planOwnership comes before everything that changes what a publication has: one that somebody else made is left as it
// is, with its log reader, until a person says otherwise.
func planOwnership(d Desired, o Observed, p *replication.Plan) bool {
	if o.DatabaseErr != nil {
		return p.Settle(replication.Unanswered(o.DatabaseErr, d.Publisher.Instead()))
	}
	if have := o.Database.Publication; have != nil && have.Description != d.description() && !d.adopts() {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonPublicationConflict, fmt.Sprintf(
			"database %s has a publication %s that somebody else made: annotate the Publication with %s=true to take it "+
				"over, or choose another name",
			d.database(), d.name(), v1alpha1.AdoptAnnotation,
		)))
	}
	return planType(d, o, p)
}

func planPublish(d Desired, o Observed, p *replication.Plan) bool {
	primary := o.primary(d)
	p.Owner(d.System, primary, d.database(), o.Database.Owner)
	if !o.Servers[primary].State.Database(d.database()).Published {
		p.Execute(primary, replication.Master, tsql.PublishDatabase(d.database(), true))
	} else {
		p.Maintain(primary, tsql.ExpiredSubscriptions, o.Expiry)
	}
	return p.Proceed("database %s is being published", d.database())
}

// planDistributorLost notices that the distributor was made anew under a publication: adding one tells the distributor
// first, so the publisher alone knows only what the distributor has lost. What was not delivered is lost to
// subscribers, and a new copy replaces their tables: a person says so.
func planDistributorLost(d Desired, o Observed, p *replication.Plan) bool {
	have := o.Database.Publication
	if have == nil || have.Description != d.description() || o.At.Known {
		return true
	}
	if !d.rebuilds() {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonDistributorLost, fmt.Sprintf(
			"distributor %s does not know publication %s of %s: its databases were lost, and subscribers receive nothing. "+
				"Restore them, or annotate the Publication with %s to publish anew: %s lets subscribers whose tables are equal "+
				"to the publisher's go on with them and gives the others a new copy, true gives all of them one",
			d.System.Host(), d.name(), d.database(), v1alpha1.RebuildAnnotation, v1alpha1.RebuildCompare,
		)))
	}
	primary := o.primary(d)
	if o.At.LogReader == nil && !d.scheduled() {
		// What the lost distributor had still to be told may lie before the log of a database that was restored as well.
		// Once one publication of the database is made anew its log reader has the log, and what is in it is its.
		p.Execute(primary, d.database(), tsql.PassOverLog())
	}
	if len(have.Subscriptions) > 0 {
		p.Execute(primary, d.database(), tsql.DropLostSubscriptions(d.name()))
	}
	p.Execute(primary, d.database(), tsql.DropLostPublication(d.name()))
	return p.Proceed("publication %s is being made anew", d.name())
}

// planLogReader makes the log reader's job at the distributor and attaches it. The procedure would make a job of its
// own that connects to the distributor with Windows authentication. It attaches none to a log reader that had one: a
// job that is made again after it was deleted reads the log all the same, by its command line, and is known by its
// name. A job that somebody else made is one for all publications of the database, and stays theirs. What is copied by
// a schedule needs none; other publications of the database may have it.
func planLogReader(d Desired, o Observed, p *replication.Plan) bool {
	if d.scheduled() || foreignLogReader(d, o) {
		return true
	}
	job, have := logReaderJob(d, o), o.LogReaderJob
	if p.TakeOver(d.System.Server, o.At.LogReader, logReader(d, o), job.Description, o.LogReaderBeside) {
		return p.Proceed("the job that reads the log of %s is being taken over", d.database())
	}
	if !planRaised(d, o, p) {
		return false
	}
	p.Job(d.System.Server, job, true, have)
	if o.At.LogReader == nil {
		p.Keeping(d.System, o.primary(d), d.database(),
			tsql.AddLogReaderAgent(job.Name, d.System.Login, d.System.AgentPassword), atDistributor(d))
	}
	if len(p.Steps) == 0 && !have.Running {
		p.Run(d.System.Server, job.Name, have)
		return p.Starting(d.System.Server, o.Servers[d.System.Server], "the log reader of %s is being started", d.database())
	}
	return p.Proceed("%s", beingSetUp(d, o))
}

// atDistributor is where the passwords of agents are kept.
func atDistributor(d Desired) replication.Execute {
	return replication.Execute{Server: d.System.Server, Database: d.System.Database}
}

// foreignLogReader tells that the database's log reader is run by a job that somebody else made and nobody gave away.
func foreignLogReader(d Desired, o Observed) bool {
	return o.LogReaderJob != nil && !replication.Described(o.LogReaderJob.Description) && !d.adopts()
}

// planAttempt does not let the log reader wait for its next attempt. That is no news: whether it delivers is
// planHealth's to say.
func planAttempt(d Desired, o Observed, p *replication.Plan) bool {
	if !d.scheduled() && !foreignLogReader(d, o) {
		p.Run(d.System.Server, logReaderJob(d, o).Name, o.LogReaderJob)
	}
	return true
}

func planPublication(d Desired, o Observed, p *replication.Plan) bool {
	primary, have := o.primary(d), o.Database.Publication
	switch {
	case have == nil && d.scheduled():
		p.Execute(primary, d.database(), tsql.AddSnapshotPublication(d.name(), d.description()))
	case have == nil:
		p.Execute(primary, d.database(), tsql.AddPublication(d.name(), d.description()))
	case have.Description != d.description():
		p.Execute(primary, d.database(), tsql.DescribePublication(d.name(), d.description()))
	}
	if have == nil || !replication.Contains(o.At.Access, d.System.Login) {
		p.Execute(primary, d.database(), tsql.GrantPublicationAccess(d.name(), d.System.Login))
	}
	return p.Proceed("publication %s is being added", d.name())
}

// planRedirection sends agents to the listener: a group's primary moves.
func planRedirection(d Desired, o Observed, p *replication.Plan) bool {
	if d.Publisher.Group != "" && !strings.EqualFold(o.At.RedirectedTo, d.Publisher.Address) {
		p.Execute(
			d.System.Server, d.System.Database, tsql.RedirectPublisher(o.original(d), d.database(), d.Publisher.Address),
		)
	}
	return p.Proceed("agents are being redirected to %s", d.Publisher.Address)
}

func planSnapshotAgent(d Desired, o Observed, p *replication.Plan) bool {
	if !d.snapshots(o) {
		return true
	}
	job := snapshotJob(d, o)
	if p.TakeOver(d.System.Server, o.At.Snapshot, snapshotAgent(d, o), job.Description, o.SnapshotBeside) {
		return p.Proceed("the snapshot agent's job of %s is being taken over", d.name())
	}
	p.Job(d.System.Server, job, true, o.SnapshotJob)
	if o.At.Snapshot == nil {
		p.Keeping(d.System, o.primary(d), d.database(),
			tsql.AddPublicationSnapshot(d.name(), job.Name, d.System.Login, d.System.AgentPassword), atDistributor(d))
	}
	return p.Proceed("the snapshot agent of %s is being set up", d.name())
}

// planSnapshot makes a snapshot when the newest one lacks an article, or a subscriber waits for another one. A snapshot
// agent that has just ended is started again after a while.
func planSnapshot(d Desired, o Observed, p *replication.Plan) bool {
	have := o.Database.Publication
	if !d.snapshots(o) || !d.mayReplace(o) || o.snapshotThere() && !o.snapshotAwaited() || len(have.Articles) == 0 ||
		o.SnapshotJob == nil {
		return true
	}
	if o.SnapshotJob.Running {
		return true
	}
	if o.snapshotRests(d) {
		return true
	}
	p.StartSnapshot(d.System, o.At, o.primary(d), d.database(), d.name())
	return d.serving(o, p,
		p.Starting(d.System.Server, o.Servers[d.System.Server], "a snapshot of %s is being made", d.name()))
}
