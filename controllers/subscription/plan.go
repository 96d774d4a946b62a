// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// stage plans one part. It returns false when what comes after has to wait for it; then it has set the outcome.
type stage func(d Desired, o Observed, p *replication.Plan) bool

// plan decides what to do next and says what is so until then. It is pure. A stage that has steps ends the plan, and the
// next observation goes on from there; so any step can be the last.
func plan(d Desired, o Observed) replication.Plan {
	var p replication.Plan
	for _, s := range []stage{
		planReferences, planPublication, planServers, planDatabase, planFormer, planKind, planCompared, planRegistration, planMirror, planAgent,
		planRun, planToken, planHealth,
	} {
		if !s(d, o, &p) {
			return p
		}
	}
	return p
}

// proceed ends the plan when it has steps.
func proceed(p *replication.Plan, format string, args ...any) bool {
	if len(p.Steps) > 0 {
		return p.Settle(conditions.InProgress(conditions.ReasonConfiguring, fmt.Sprintf(format, args...)))
	}
	return true
}

// planReferences ends the plan while something that is named is not declared, or cannot be done.
func planReferences(d Desired, _ Observed, p *replication.Plan) bool {
	switch {
	case d.Unsupported != "":
		return p.Settle(conditions.Stalled(conditions.ReasonNotSupported, d.Unsupported))
	case len(d.Missing) > 0:
		return p.Settle(conditions.InProgress(conditions.ReasonReferenceMissing, "these objects are not declared yet: "+strings.Join(d.Missing, ", ")))
	case d.MissingProfile != "":
		return p.Settle(conditions.InProgress(conditions.ReasonReferenceMissing, "these objects are not declared yet: "+d.MissingProfile))
	}
	if d.Moving != "" {
		return p.Settle(conditions.InProgress(conditions.ReasonSwitching, fmt.Sprintf("PublisherMove %s moves the publication: nothing is done for its former publisher", d.Moving)))
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
		return p.Settle(conditions.Unknown(conditions.ReasonEngineNotAnswering, o.AtErr.Error()))
	}
	if o.primary(d) == "" {
		for _, server := range d.Publisher.Servers {
			if outcome, ok := replication.Usable(server, o.Servers[server]); !ok {
				return p.Settle(outcome)
			}
		}
		return p.Settle(conditions.InProgress(conditions.ReasonNoPrimary, d.Publisher.Name+" has no primary now"))
	}
	if o.PublicationErr != nil {
		return p.Settle(replication.Unanswered(o.PublicationErr))
	}
	return true
}

// planPublication waits for the publication, with an article.
func planPublication(d Desired, o Observed, p *replication.Plan) bool {
	if !planAsked(d, o, p) {
		return false
	}
	switch {
	case !o.At.Known || o.Publication == nil || o.Publication.Description != replication.Description(d.Publication.Namespace, d.publication()):
		return p.Settle(conditions.InProgress(conditions.ReasonWaitingForPublication, fmt.Sprintf("publication %s is not there yet", d.publication())))
	case len(o.Publication.Articles) == 0:
		return p.Settle(conditions.InProgress(conditions.ReasonWaitingForPublication, fmt.Sprintf("publication %s has no article yet", d.publication())))
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
		if _, ok := replication.Usable(server, s); ok && d.Publisher.Group != "" && server != d.Subscriber && !s.State.Linked[d.host()] {
			p.Execute(server, replication.Master, tsql.AddLinkedServer(d.host()), serverExists)
		}
	}
	return proceed(p, "servers are being made known to each other")
}

// planDatabase creates the database, and leaves one alone that holds other data: the snapshot replaces tables.
func planDatabase(d Desired, o Observed, p *replication.Plan) bool {
	database := o.Servers[d.Subscriber].State.Database(d.database())
	switch {
	case database == nil:
		p.Execute(d.Subscriber, replication.Master, tsql.CreateDatabase(d.database()))
		return proceed(p, "database %s is being created on %s", d.database(), d.host())
	case database.State != "ONLINE":
		return p.Settle(conditions.InProgress(conditions.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is %s", d.database(), d.host(), strings.ToLower(database.State))))
	case o.HereErr != nil:
		return p.Settle(replication.Unanswered(o.HereErr))
	}
	if foreign := foreignTables(d, o); len(foreign) > 0 {
		return p.Settle(conditions.Stalled(conditions.ReasonSubscriberNotEmpty, fmt.Sprintf(
			"database %s on %s holds tables that are not of this subscription: %s. They are left alone: name another database, or annotate the Subscription with %s=true to let the snapshot replace those of the articles",
			d.database(), d.host(), strings.Join(foreign, ", "), v1alpha1.AdoptAnnotation)))
	}
	p.Owner(d.System, d.Subscriber, d.database(), o.Here.Owner)
	return proceed(p, "database %s on %s is being prepared", d.database(), d.host())
}

// foreignTables are the tables that stand in the way: in a database that other subscriptions feed those of the articles'
// names, else all of them. Once the subscription is registered at either end its tables are its own, and so they are
// while the agents' user is there, which comes after this check and goes with the subscription.
func foreignTables(d Desired, o Observed) []string {
	fed := len(o.Here.Subscriptions) > 0
	if !d.snapshots() || d.adopts() || d.compares() || len(o.registrations(d)) > 0 || o.here(d) != nil || !fed && o.Here.Owner.User != "" {
		return nil
	}
	var foreign []string
	for key, table := range o.Here.Tables {
		if !fed || o.publishes(key) {
			foreign = append(foreign, table.Schema+"."+table.Name)
		}
	}
	slices.Sort(foreign)
	if len(foreign) > 10 {
		foreign = append(foreign[:10], "...")
	}
	return foreign
}

func (o Observed) publishes(table string) bool {
	for _, a := range o.Publication.Articles {
		if strings.EqualFold(a.Schema+"."+a.Table, table) {
			return true
		}
	}
	return false
}

// planKind ends a subscription that is of the other type; it is made anew, with a new copy.
func planKind(d Desired, o Observed, p *replication.Plan) bool {
	wrong := slices.ContainsFunc(o.registrations(d), func(s articleSubscription) bool { return s.Pull != d.pull() })
	if wrong && o.JobsErr != nil {
		return jobsUnknown(o, p)
	}
	if wrong {
		leave(d, o, p, !d.pull())
	} else if here := o.here(d); here != nil && here.Pull != d.pull() {
		// From before; the agent that was may have written it once more at its end.
		end(d, o, p, here)
	}
	return proceed(p, "the subscription is being changed to %s", strings.ToLower(string(d.Subscription.Spec.Type)))
}

// jobsUnknown ends the plan while it is not known which agents run: nobody would look for them again once what they
// serve has ended.
func jobsUnknown(o Observed, p *replication.Plan) bool {
	return p.Settle(conditions.Unknown(conditions.ReasonEngineNotAnswering, o.JobsErr.Error()))
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
		p.Execute(o.primary(d), d.publisherDatabase(), tsql.AddSubscription(registration(d, o)))
	}
	if d.pull() && o.here(d) == nil {
		p.Execute(d.Subscriber, d.database(), tsql.AddPullSubscription(pullSubscription(d, o)))
	}
	return proceed(p, "the subscription is being registered")
}

// planMirror tells the sidecars to bring the newest snapshot to the agent.
func planMirror(d Desired, o Observed, p *replication.Plan) bool {
	if !o.mirrors(d) {
		return true
	}
	if o.Mirror.Err != nil {
		if o.applied(d) {
			// The mirror is for a first copy; what is delivered goes on without it.
			return true
		}
		return p.Settle(conditions.Unknown(conditions.ReasonSiteUnreachable, o.Mirror.Err.Error()))
	}
	want, reader := mirrorOrder(d, o), readerOrder(d, o)
	if o.Mirror.Reader == nil || *o.Mirror.Reader != reader || o.Mirror.Told == nil || !reflect.DeepEqual(*o.Mirror.Told, want) {
		p.Add(GiveMirror{Subscriber: d.Subscriber, Distributor: d.System.Server, Mirror: want, Reader: reader})
	}
	return proceed(p, "the sidecars are being told to mirror the snapshot")
}

// planAgent makes the agent's job, disabled until what it needs is there, and attaches it. The procedures would make jobs
// that connect with Windows authentication, which Linux without a domain lacks (error 18452).
func planAgent(d Desired, o Observed, p *replication.Plan) bool {
	if o.JobsErr != nil {
		return jobsUnknown(o, p)
	}
	j, at := job(d, o), d.agentServer()
	enabled := !o.mirrors(d) || o.mirrored() || o.applied(d)
	p.Job(at, j, enabled, o.Jobs[at])
	if d.pull() {
		if !strings.EqualFold(o.Here.Distributor, d.System.Host()) {
			p.Execute(d.Subscriber, d.database(), tsql.AddPullSubscriptionAgent(pullSubscription(d, o), d.System.Host(), d.System.Database,
				d.System.Login, d.System.AgentPassword, j.Name))
		}
		return proceed(p, "the distribution agent is being set up on %s", credentials.HostName(at))
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
	if o.Agent == nil || o.Agent.Job == "" {
		p.Execute(o.primary(d), d.publisherDatabase(), tsql.AddPushSubscriptionAgent(d.subscription(), d.System.Login, d.System.AgentPassword, j.Name))
	}
	return proceed(p, "the distribution agent is being set up on %s", credentials.HostName(at))
}

// planRun starts the agent. One that failed because a new snapshot was not mirrored yet need not wait for its next
// attempt when it is.
func planRun(d Desired, o Observed, p *replication.Plan) bool {
	at := d.agentServer()
	if newlyMirrored(d, o) && o.running(d) && o.Agent != nil && o.Agent.Failure != 0 {
		p.Execute(at, replication.Master, tsql.StopJob(job(d, o).Name), jobRefused)
	}
	p.Run(at, job(d, o).Name, o.Jobs[at])
	if o.running(d) {
		// That it is hurried is no news: whether it delivers is planHealth's to say.
		return true
	}
	return proceed(p, "the distribution agent is being started on %s", credentials.HostName(at))
}

// jobRefused is what sp_stop_job refuses with when the job does not run.
const jobRefused = 22022

// newlyMirrored tells that the newest snapshot is whole, and status does not say so yet.
func newlyMirrored(d Desired, o Observed) bool {
	return o.mirrors(d) && o.mirrored() && d.Subscription.Status.MirroredSnapshot != o.At.LastSnapshot
}
