// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// plan decides what to do next and says what is so until then. It is pure. A stage that has steps ends the plan, and
// the next observation goes on from there; so any step can be the last.
func plan(d Desired, o Observed) reconcile.Plan {
	declared := d
	d = d.asRegistered(o)
	needed := func(d Desired, o Observed, p *replication.Plan) bool { return planNeeded(declared, d, o, p) }
	return serving(d, o, reconcile.Stages(d, o,
		planLifted, planReferences, planPublication, planServers, planBackup, planOnline, planFeeders, planDatabase,
		planFormer, planJobs, planKind, planMethod, planCompared,
		planReinitialization, planFresh, planRegistration, planMirror, planAgent, planRun, planGuards,
		planToken, needed, planHealth,
	).Plan)
}

// planReferences ends the plan while something that is named is not declared, or cannot be done.
func planReferences(d Desired, _ Observed, p *replication.Plan) bool {
	switch {
	case d.Unsupported != "":
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, d.Unsupported))
	case len(d.Missing) > 0:
		return p.Settle(
			conditions.InProgress(
				v1alpha1.ReasonReferenceMissing,
				"these objects are not declared yet: "+strings.Join(d.Missing, ", "),
			),
		)
	case d.MissingProfile != "":
		return p.Settle(
			conditions.InProgress(v1alpha1.ReasonReferenceMissing, "these objects are not declared yet: "+d.MissingProfile),
		)
	}
	if d.Moving != "" {
		return p.Settle(
			conditions.InProgress(
				v1alpha1.ReasonSwitching,
				fmt.Sprintf("PublisherMove %s moves the publication: nothing is done for its former publisher", d.Moving),
			),
		)
	}
	if d.SecretsErr != nil {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.SecretsErr.Error()))
	}
	return true
}

// planAsked waits until distributor, subscriber and the publisher's primary have answered.
func planAsked(d Desired, o Observed, p *replication.Plan) bool {
	for _, server := range []v1alpha1.ServerName{d.System.Server, d.Subscriber} {
		if outcome, ok := replication.Usable(server, o.Servers[server]); !ok {
			return p.Settle(outcome)
		}
	}
	if o.AtErr != nil {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, o.AtErr.Error()))
	}
	if o.primary(d) == "" {
		for _, server := range d.Publisher.Servers {
			if outcome, ok := replication.Usable(server, o.Servers[server]); !ok {
				return p.Settle(outcome)
			}
		}
		return p.Settle(conditions.InProgress(v1alpha1.ReasonNoPrimary, d.Publisher.Name+" has no primary now"))
	}
	if o.PublicationErr != nil {
		return p.Settle(replication.Unanswered(o.PublicationErr, d.Publisher.Instead()))
	}
	return true
}

// planPublication waits for the publication, with an article.
func planPublication(d Desired, o Observed, p *replication.Plan) bool {
	if !planAsked(d, o, p) {
		return false
	}
	switch {
	case !o.At.Known || o.Publication == nil ||
		o.Publication.Description != replication.Description(d.Publication.Namespace, d.publication()):
		return p.Settle(
			conditions.InProgress(
				v1alpha1.ReasonWaitingForPublication,
				fmt.Sprintf("publication %s is not there yet", d.publication()),
			),
		)
	case o.Publication.Scheduled != d.scheduled():
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"the publication %[1]s that is there is of another type than Publication %[1]s declares: Publication %[1]s says "+
				"what to do", d.publication())))
	case len(o.Publication.Articles) == 0:
		return p.Settle(
			conditions.InProgress(
				v1alpha1.ReasonWaitingForPublication,
				fmt.Sprintf("publication %s has no article yet", d.publication()),
			),
		)
	}
	return true
}

// serverExists is what sp_addlinkedserver refuses with when the server is known already.
const serverExists = 15028

// planServers makes the agents' login at the subscriber, and the subscriber known to every replica that may publish.
func planServers(d Desired, o Observed, p *replication.Plan) bool {
	if !p.Login(d.System, d.Subscriber, o.Servers[d.Subscriber].State) {
		return false
	}
	for _, server := range d.Publisher.Servers {
		s := o.Servers[server]
		if _, ok := replication.Usable(server, s); ok && d.Publisher.Group != "" && server != d.Subscriber &&
			!s.State.Linked[d.host()] {
			p.Execute(server, replication.Master, tsql.AddLinkedServer(d.host()), serverExists)
		}
	}
	return p.Proceed("servers are being made known to each other")
}

// planOnline creates the database with the published one's collation, unless its server declares it, and waits until
// what it has was read.
func planOnline(d Desired, o Observed, p *replication.Plan) bool {
	database := o.Servers[d.Subscriber].State.Database(d.database())
	switch {
	case database == nil && d.DatabaseDeclared:
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"SQLServer %s declares database %s, and it is not there yet", d.Subscriber, d.database())))
	case database == nil:
		p.Execute(d.Subscriber, replication.Master, tsql.CreateDatabaseWith(d.database(), o.collation(d)),
			replication.DatabaseExists)
		return p.Proceed("database %s is being created on %s", d.database(), d.host())
	case database.State != "ONLINE":
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is %s", d.database(), d.host(), strings.ToLower(database.State))))
	case o.HereErr != nil:
		return p.Settle(replication.Unanswered(o.HereErr, replication.NoSubscriber))
	case database.Secondary:
		return p.Settle(replication.Secondary(replication.NoSubscriber,
			fmt.Sprintf("%s on %s is a secondary's copy", d.database(), d.host())))
	}
	return true
}

// collation of the published database, empty while it is not known: the server's is taken then.
func (o Observed) collation(d Desired) string {
	if server := o.Servers[o.primary(d)].State; server != nil {
		if database := server.Database(d.publisherDatabase()); database != nil {
			return database.Collation
		}
	}
	return ""
}

// planDatabase leaves a database alone that holds other data, for the snapshot replaces tables, and lets agents in.
func planDatabase(d Desired, o Observed, p *replication.Plan) bool {
	if again := replaces(d, o); len(again) > 0 {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, fmt.Sprintf(
			"the subscription was registered once and is not any more; database %s on %s still has %s. To go on takes a new "+
				"copy, %s, which replaces them; %s",
			d.database(),
			d.host(),
			strings.Join(again, ", "),
			d.cost(),
			d.ask(),
		)))
	}
	if foreign := foreignTables(d, o); len(foreign) > 0 {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
			"database %s on %s holds tables that are not of this subscription: %s. They are left alone: name another "+
				"database, or annotate the Subscription with %s=true to let the snapshot replace those of the articles, or set "+
				"its own spec.initialization.method to %s, which keeps them where all are equal",
			d.database(),
			d.host(),
			strings.Join(foreign, ", "),
			v1alpha1.AdoptAnnotation,
			v1alpha1.InitializeCompare,
		)))
	}
	if !o.registersSealed(d) {
		p.Owner(d.System, d.Subscriber, d.database(), o.Here.Owner)
	}
	return p.Proceed("database %s on %s is being prepared", d.database(), d.host())
}

// foreignTables are the tables that stand in the way of a first registration: those of others, where nobody agrees that
// they be replaced. Compare agrees to that, whoever declares it; where they stood in the way already the Subscription
// itself says it.
func foreignTables(d Desired, o Observed) []string {
	agrees := d.compares()
	if d.Subscription.Status.NotEmptySince != nil {
		agrees = replication.AgreesItself(d.Publication, d.Subscription)
	}
	if !d.snapshots() || d.adopts() || agrees {
		return nil
	}
	return tablesOfOthers(d, o)
}

// tablesOfOthers are the tables that a subscriber had before its first registration: in a database that others feed, or
// that publishes, those of the articles' names, else all of them. What proves that tables are the subscription's own is
// its registration at either end, or that it was registered before. The agents' user proves nothing: everything that
// goes through their Distributor shares it.
func tablesOfOthers(d Desired, o Observed) []string {
	if len(o.registrations(d)) > 0 || o.here(d) != nil || d.registeredBefore() {
		return nil
	}
	used := len(o.Here.Subscriptions) > 0 || o.Servers[d.Subscriber].State.Database(d.database()).Published
	return o.tables(func(key string) bool { return !used || o.publishes(key) })
}

func (o Observed) publishes(table string) bool {
	for _, a := range o.Publication.Articles {
		if strings.EqualFold(a.Schema+"."+a.Table, table) {
			return true
		}
	}
	return false
}

// planJobs waits until it is known which servers run an agent of the subscription: what ends one must not miss another.
func planJobs(_ Desired, o Observed, p *replication.Plan) bool {
	if o.JobsErr != nil {
		return jobsUnknown(o, p)
	}
	return true
}

// jobsUnknown ends the plan while it is not known which agents run: nobody would look for them again once what they
// serve has ended.
func jobsUnknown(o Observed, p *replication.Plan) bool {
	return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, o.JobsErr.Error()))
}

// planFresh has a new snapshot made before a subscriber begins with one that is too old: what came after it may be gone
// from the distributor, and the subscriber would have holes. One that is registered and has no copy yet is registered
// anew, after the new snapshot.
func planFresh(d Desired, o Observed, p *replication.Plan) bool {
	registered := len(o.registrations(d)) > 0
	begins := d.snapshots() &&
		(!registered && !registration(d, o).DataIsThere || registered && !o.keeps(d) && !o.applied(d))
	if !begins || !o.stale(d) {
		return true
	}
	if d.scheduled() && !registered && o.otherCopies(d) && !d.asked() {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForSchedule, fmt.Sprintf(
			"the newest snapshot is %s old, and distributor %s may have removed it; another one would replace the copies of "+
				"others: it is made %s", o.At.SnapshotAge.Truncate(time.Minute), d.System.Host(), d.nextDue())))
	}
	const made = "the newest snapshot is %s old, and distributor %s keeps what came after it for %d hours: a new one " +
		"is made before %s begins"
	message := fmt.Sprintf(made, o.At.SnapshotAge.Truncate(time.Minute), d.System.Host(), d.System.Retention, d.database())
	if registered {
		leave(d, o, p, d.pull())
	} else if a := o.At.Snapshot; a == nil || a.Status != mssql.RunStarted && a.Status != mssql.RunInProgress &&
		a.Age >= snapshotPause {
		p.StartSnapshot(d.System, o.At, o.primary(d), d.publisherDatabase(), d.publication())
	}
	return p.Settle(conditions.InProgress(v1alpha1.ReasonSnapshotRunning, message))
}

// snapshotPause is how long a snapshot agent that has just ended is left alone.
const snapshotPause = 30 * time.Second

// planKind ends a subscription that is of the other type; it is made anew, with a new copy.
func planKind(d Desired, o Observed, p *replication.Plan) bool {
	wrong := o.wrongType(d)
	if wrong && unreported(d, o) {
		return p.Settle(unrecorded)
	}
	if wrong {
		leave(d, o, p, !d.pull())
	} else if here := o.here(d); here != nil && here.Pull != d.pull() {
		// From before; the agent that was may have written it once more at its end.
		end(d, o, p, here)
	}
	return p.Proceed("the subscription is being changed to %s", strings.ToLower(string(d.Subscription.Spec.Type)))
}

// leave ends a subscription at both ends: the agent first, the publisher's registration last, since it proves whose the
// subscriber's tables are.
func leave(d Desired, o Observed, p *replication.Plan, pull bool) {
	for _, server := range []v1alpha1.ServerName{d.Subscriber, d.System.Server} {
		p.RemoveJob(server, job(d, o).Name, o.Jobs[server])
	}
	if here := o.here(d); here != nil {
		end(d, o, p, here)
	}
	if len(o.registrations(d)) > 0 {
		s := d.subscription()
		s.Pull = pull
		p.Execute(o.primary(d), d.publisherDatabase(), tsql.DropSubscription(s))
	}
}

// end takes away what the subscriber's database knows of a subscription; tables stay.
func end(d Desired, o Observed, p *replication.Plan, here *mssql.SubscriptionHere) {
	if here.Pull {
		p.Execute(d.Subscriber, d.database(), tsql.DropPullSubscription(pullSubscription(d, o)))
		return
	}
	p.Execute(d.Subscriber, d.database(), tsql.CleanSubscription(pullSubscription(d, o)))
}

// planRegistration registers the subscription at the publisher, then, a pull subscription, at the subscriber. Articles
// that come later are the publication's affair.
func planRegistration(d Desired, o Observed, p *replication.Plan) bool {
	if len(o.registrations(d)) == 0 {
		if registration(d, o).DataIsThere && !o.registersWithout(d) {
			return awaitReader(d, p)
		}
		p.Add(register(d, o))
	}
	if d.pull() && o.here(d) == nil && !o.registersSealed(d) {
		p.Execute(d.Subscriber, d.database(), tsql.AddPullSubscription(pullSubscription(d, o)))
	}
	return p.Proceed("the subscription is being registered")
}

// planMirror tells the sidecars to bring the newest snapshot to the agent. Where no agent reads a mirror any more, as
// after a change of type, they are told no more: they would copy each snapshot over the WAN for nobody.
func planMirror(d Desired, o Observed, p *replication.Plan) bool {
	if !o.mirrors(d) {
		if o.Mirror.Err == nil && o.Mirror.ordered() {
			p.Add(TakeMirror{Subscriber: d.Subscriber, Distributor: d.System.Server})
		}
		return p.Proceed("the sidecars are being told to mirror no snapshot")
	}
	if o.Mirror.Err != nil {
		if o.applied(d) {
			// The mirror is for a first copy; what is delivered goes on without it.
			return true
		}
		return p.Settle(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, o.Mirror.Err.Error()))
	}
	want, reader := mirrorOrder(d, o), readerOrder(d, o)
	if o.Mirror.Reader == nil || *o.Mirror.Reader != reader || o.Mirror.Told == nil ||
		!reflect.DeepEqual(*o.Mirror.Told, want) {
		p.Add(GiveMirror{Subscriber: d.Subscriber, Distributor: d.System.Server, Mirror: want, Reader: reader})
	}
	return p.Proceed("the sidecars are being told to mirror the snapshot")
}

// planAgent makes the agent's job, disabled until what it needs is there, and attaches it. The procedures would make
// jobs that connect with Windows authentication, which Linux without a domain lacks (error 18452).
func planAgent(d Desired, o Observed, p *replication.Plan) bool {
	j, at := job(d, o), d.agentServer()
	if !d.pull() && p.TakeOver(d.System.Server, o.Agent, distributionAgent(d, o), j.Description, o.Jobs[d.System.Server]) {
		return p.Proceed("the job that the engine made for the agent is being taken over")
	}
	p.Job(at, j, o.enabled(d), o.Jobs[at])
	if d.pull() {
		if !strings.EqualFold(o.Here.Distributor, d.System.Host()) {
			p.Keeping(d.System, d.Subscriber, d.database(),
				tsql.AddPullSubscriptionAgent(pullSubscription(d, o), d.System.Host(), d.System.Database,
					d.System.Login, d.System.AgentPassword, j.Name),
				replication.Execute{Server: d.Subscriber, Database: d.database()})
		}
		return p.Proceed("the distribution agent is being set up on %s", credentials.HostName(at))
	}
	if at != d.System.Server {
		// The procedure attaches a job of the distributor, which stays disabled: the agent runs at the subscriber.
		idle := j
		idle.Database = d.System.Database
		p.Job(d.System.Server, idle, false, o.Jobs[d.System.Server])
	} else if d.Subscriber != d.System.Server {
		// From a time when the agent ran at the subscriber.
		p.RemoveJob(d.Subscriber, j.Name, o.Jobs[d.Subscriber])
	}
	if o.Agent == nil || !o.Agent.Attached {
		p.Keeping(d.System, o.primary(d), d.publisherDatabase(),
			tsql.AddPushSubscriptionAgent(d.subscription(), d.System.Login, d.System.AgentPassword, j.Name),
			replication.Execute{Server: d.System.Server, Database: d.System.Database})
	}
	return p.Proceed("the distribution agent is being set up on %s", credentials.HostName(at))
}

// register registers the subscription at the publisher. An engine may refuse a subscriber that is the distributor
// itself for want of Windows authentication: then it is made known with the agents' login first.
func register(d Desired, o Observed) replication.Execute {
	step := replication.Execute{Server: o.primary(d), Database: d.publisherDatabase(),
		Statement: tsql.AddSubscription(registration(d, o))}
	if d.Subscriber == d.System.Server {
		known, again := step, step
		known.Statement = tsql.AddSubscriber(d.host(), d.System.Login, d.System.AgentPassword)
		step.Instead = []mssql.Instead{{On: tsql.NeedsSQLLogin, Steps: []replication.Execute{known, again}}}
	}
	return step
}

// planRun starts the agent. One that failed because a new snapshot was not mirrored yet need not wait for its next
// attempt when it is.
func planRun(d Desired, o Observed, p *replication.Plan) bool {
	at := d.agentServer()
	if newlyMirrored(d, o) && o.running(d) && o.Agent != nil && o.Agent.Failure != 0 {
		p.StopJob(at, job(d, o).Name)
	}
	p.Run(at, job(d, o).Name, o.Jobs[at])
	if o.running(d) {
		// That it is hurried is no news: whether it delivers is planHealth's to say.
		return true
	}
	return p.Starting(at, o.Servers[at], "the distribution agent is being started on %s", credentials.HostName(at))
}

// newlyMirrored tells that the newest snapshot is whole, and status does not say so yet.
func newlyMirrored(d Desired, o Observed) bool {
	return o.mirrors(d) && o.mirrored() && d.Subscription.Status.MirroredSnapshot != o.At.LastSnapshot
}
