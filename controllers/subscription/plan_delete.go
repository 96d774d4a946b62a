// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// nowhere tells that what is declared does not say which servers have something of the subscription.
func (d Desired) nowhere() bool { return d.Publication == nil || d.System.Server == "" }

// gone says why a server does not answer and is not expected to any more, as a clause; empty when it may answer.
func (o Observed) gone(d Desired, server v1alpha1.ServerName) string {
	return replication.GoneWhy(d.Gone, o.Servers, server)
}

// publisherGone says so of the whole publisher.
func (o Observed) publisherGone(d Desired) string { return d.Publisher.GoneWhy(d.Gone, o.Servers) }

// forgotten says, as a clause, why the distributor is asked nothing of the subscription: nobody expects it back, or it
// has no distribution database. Empty when it is.
func (o Observed) forgotten(d Desired) string {
	if why := o.gone(d, d.System.Server); why != "" {
		return why
	}
	why, _ := replication.NoDistribution(d.System, o.Servers, d.Publisher)
	return why
}

// subscribedTo is the publisher under whose name the subscriber's database knows the subscription, else that of a
// server alone; empty when nobody can tell.
func (o Observed) subscribedTo(d Desired) string {
	for _, here := range o.Here.Subscriptions {
		same := strings.EqualFold(here.Publication, d.publication()) &&
			strings.EqualFold(here.PublisherDatabase, d.publisherDatabase())
		if same && d.Publisher.Has(here.Publisher) {
			return here.Publisher
		}
	}
	if d.Publisher.Group == "" && len(d.Publisher.Servers) == 1 {
		return credentials.HostName(d.Publisher.Servers[0])
	}
	return ""
}

// planDelete ends the subscription when reclaimPolicy is Delete; tables stay, and everything else stays when it is
// Retain, but what was begun of a backup, which nobody would go on with. Each end is cleaned by itself: one that nobody
// expects back keeps the others from nothing.
func planDelete(d Desired, o Observed) reconcile.Plan {
	var p replication.Plan
	d = d.asRegistered(o)
	// What is not supported as it is declared now may have been made as it was declared before; where no server receives
	// nothing ever was.
	if !planUnguarded(d, o, &p) || !planBegun(d, o, &p) {
		return p.Plan
	}
	if !v1alpha1.MayDestroy(d.Subscription, d.Subscription.Spec.ReclaimPolicy) || d.Subscriber == "" {
		p.Done = true
		leaveBegun(d, o, &p)
		return p.Plan
	}
	if d.nowhere() {
		p.Done = true
		leaveBegun(d, o, &p)
		p.Leave("whatever servers have of subscription %s to %s, which nobody can find: these are not declared: %s",
			d.name(), d.Subscription.Spec.Publication, strings.Join(d.Missing, ", "))
		return p.Plan
	}
	if !planAnswers(d, o, &p) {
		return p.Plan
	}
	planEnds(d, o, &p)
	if p.Done = len(p.Steps) == 0; !p.Done {
		p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, p.WithLeft("the subscription is being ended")))
		return p.Plan
	}
	leaveGone(d, o, &p)
	leaveBegun(d, o, &p)
	return p.Plan
}

// planAnswers waits until every end that is expected back was read: without it nothing may be ended, and the finalizer
// stays. A distributor that has no distribution database was read: it knows nothing.
func planAnswers(d Desired, o Observed, p *replication.Plan) bool {
	for _, server := range []v1alpha1.ServerName{d.System.Server, d.Subscriber} {
		if o.gone(d, server) == "" && !p.AwaitServer(server, o.Servers[server]) {
			return false
		}
	}
	var errs []error
	if o.gone(d, d.System.Server) == "" {
		_, err := replication.NoDistribution(d.System, o.Servers, d.Publisher)
		errs = append(errs, err, o.AtErr)
	}
	if o.publisherGone(d) == "" {
		if !planPrimary(d, o, p) {
			return false
		}
		primary := o.primary(d)
		_, err := replication.OnlineDatabase(primary, o.Servers[primary], d.publisherDatabase()).Get()
		errs = append(errs, o.PublicationErr, err)
	}
	if o.gone(d, d.Subscriber) == "" {
		_, err := replication.OnlineDatabase(d.Subscriber, o.Servers[d.Subscriber], d.database()).Get()
		errs = append(errs, err, o.HereErr)
	}
	return p.AwaitAnswer(cmp.Or(append(errs, o.JobsErr, o.Mirror.Err)...))
}

// planPrimary waits for the publisher's primary, and for a publication that is the operator's to end a registration of.
func planPrimary(d Desired, o Observed, p *replication.Plan) bool {
	if !p.AwaitPrimary(d.Publisher, o.Servers) {
		return false
	}
	// What has no registration needs nothing of the publication to end.
	own := replication.Description(d.Publication.Namespace, d.publication())
	if len(o.registrations(d)) > 0 && o.Publication.Description != own {
		return p.Await(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"publication %s is not the one that is declared", d.publication())), fmt.Sprintf(
			"end the subscription of database %s on %s there by hand (sp_dropsubscription), or let Publication %s take the "+
				"publication over with %s=true; ", d.database(), d.host(), d.publication(), v1alpha1.AdoptAnnotation)+
			replication.Retain)
	}
	return true
}

// planEnds ends the subscription at every end that answers: the agent first, and the publisher's registration when
// nothing else is left. It proves whose the subscriber's tables are, and it is what the end of the publication waits
// for, without which nobody finds the rest any more.
func planEnds(d Desired, o Observed, p *replication.Plan) {
	subscriber, distributor := o.gone(d, d.Subscriber) == "", o.gone(d, d.System.Server) == ""
	for _, server := range []v1alpha1.ServerName{d.Subscriber, d.System.Server} {
		if o.gone(d, server) == "" {
			p.RemoveJob(server, job(d, o).Name, o.Jobs[server])
		}
	}
	if here := o.here(d); here != nil && subscriber {
		end(d, o, p, here)
	}
	if o.Mirror.ordered() {
		take := TakeMirror{Subscriber: d.Subscriber, Distributor: d.System.Server}
		if !subscriber {
			take.Subscriber = ""
		}
		if !distributor {
			take.Distributor = ""
		}
		p.Add(take)
	}
	if len(p.Steps) == 0 && subscriber && o.Here.Owner.User == d.System.Login && lastOwner(d, o) {
		// The tables are the user's now.
		p.Execute(d.Subscriber, d.database(), tsql.DropUser(d.System.Login))
	}
	if own := o.registrations(d); len(p.Steps) == 0 && len(own) > 0 && o.publisherGone(d) == "" {
		s := d.subscription()
		s.Pull = own[0].Pull
		drop := tsql.DropSubscription(s)
		if o.forgotten(d) != "" || !o.At.Known {
			drop = tsql.DropLostSubscription(s)
		}
		p.Execute(o.primary(d), d.publisherDatabase(), drop)
	}
}

// lastOwner tells that nothing else in the database has a part in the agents' user: no other subscription, and no
// publication, whose last one drops it (package publication does the same).
func lastOwner(d Desired, o Observed) bool {
	database := o.Servers[d.Subscriber].State.Database(d.database())
	return len(o.Here.Subscriptions) == 0 && len(d.Beside) == 0 && (database == nil || !database.Published)
}

// leaveGone says what stays at the ends that nobody expects back.
func leaveGone(d Desired, o Observed, p *replication.Plan) {
	if why := o.gone(d, d.Subscriber); why != "" {
		p.Leave("on %s the subscription of database %s with its agent's job (%s)", d.host(), d.database(), why)
	}
	if why := o.publisherGone(d); why != "" {
		p.Leave("at %s the registration of %s on %s (%s)", d.Publisher.Name, d.database(), d.host(), why)
	}
	if why := o.forgotten(d); why != "" {
		p.Leave("on distributor %s the agent and what waits for it, should it come back (%s)", d.System.Host(), why)
	}
}
