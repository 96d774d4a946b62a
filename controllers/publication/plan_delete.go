// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// nowhere tells that what is declared does not say which server distributes.
func (d Desired) nowhere() bool { return d.System.Server == "" }

// gone says why a server does not answer and is not expected to any more, as a clause; empty when it may answer.
func (o Observed) gone(d Desired, server v1alpha1.ServerName) string {
	return replication.GoneWhy(d.Gone, o.Servers, server)
}

// publisherGone says so of the whole publisher.
func (o Observed) publisherGone(d Desired) string { return d.Publisher.GoneWhy(d.Gone, o.Servers) }

// forgotten says, as a clause, why the distributor is asked nothing of the publication: nobody expects it back, or it
// has no distribution database. Empty when it is.
func (o Observed) forgotten(d Desired) string {
	if why := o.gone(d, d.System.Server); why != "" {
		return why
	}
	why, _ := replication.NoDistribution(d.System, o.Servers, d.Publisher)
	return why
}

// ending are the Subscriptions that are being deleted with reclaimPolicy Delete.
func (d Desired) ending() []string {
	var names []string
	for _, s := range d.Subscriptions {
		if s.DeletionTimestamp != nil && v1alpha1.MayDestroy(&s, s.Spec.ReclaimPolicy) {
			names = append(names, s.Name)
		}
	}
	return names
}

// planDelete drops the publication when reclaimPolicy is Delete; tables stay, and everything else stays when it is
// Retain. Publisher and distributor are cleaned each by itself: one that nobody expects back keeps the other from
// nothing.
func planDelete(d Desired, o Observed) reconcile.Plan {
	var p replication.Plan
	if !planTakenBack(d, o, &p) {
		return p.Plan
	}
	if !v1alpha1.MayDestroy(d.Publication, d.Publication.Spec.ReclaimPolicy) {
		p.Done = awaitEnding(d, &p)
		return p.Plan
	}
	if d.nowhere() {
		p.Done = true
		p.Leave("whatever servers have of publication %s, which nobody can find: these are not declared: %s",
			d.name(), strings.Join(d.Missing, ", "))
		return p.Plan
	}
	if !planAnswers(d, o, &p) || !planUnsubscribed(d, o, &p) {
		return p.Plan
	}
	if len(p.Steps) > 0 {
		p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, "subscriptions of servers that are gone are being ended"))
		return p.Plan
	}
	planEnd(d, o, &p)
	if len(p.Steps) > 0 {
		p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, p.WithLeft("the publication is being dropped")))
		return p.Plan
	}
	if p.Done = awaitEnding(d, &p); !p.Done {
		return p.Plan
	}
	if why := o.publisherGone(d); why != "" {
		p.Leave("at %s publication %s of database %s, which keeps its log for it (%s)",
			d.Publisher.Name, d.name(), d.database(), why)
	}
	if why := o.forgotten(d); why != "" {
		p.Leave("on distributor %s whatever it knows of publication %s should it come back, and its agents (%s)",
			d.System.Host(), d.name(), why)
	}
	return p.Plan
}

// awaitEnding waits for the Subscriptions that are being deleted: they find what they have made by what the publication
// declares. It says whether there is none.
func awaitEnding(d Desired, p *replication.Plan) bool {
	ending := d.ending()
	return len(ending) == 0 || p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, "these Subscriptions end first, "+
		"which need to know what they are to: "+strings.Join(ending, ", ")),
		"where one cannot end, set its reclaimPolicy to Retain")
}

// planAnswers waits until publisher and distributor were read, unless nobody expects them back. A distributor that has
// no distribution database was read: it knows nothing.
func planAnswers(d Desired, o Observed, p *replication.Plan) bool {
	if server := d.System.Server; o.gone(d, server) == "" {
		if !p.AwaitServer(server, o.Servers[server]) {
			return false
		}
		if _, err := replication.NoDistribution(d.System, o.Servers, d.Publisher); !p.AwaitAnswer(cmp.Or(err, o.AtErr)) {
			return false
		}
	}
	if o.publisherGone(d) != "" {
		return true
	}
	if !p.AwaitPrimary(d.Publisher, o.Servers) {
		return false
	}
	primary := o.primary(d)
	_, err := replication.OnlineDatabase(primary, o.Servers[primary], d.database()).Get()
	return p.AwaitAnswer(cmp.Or(err, o.DatabaseErr))
}

// planUnsubscribed waits for the end of subscriptions. Those of a server that nobody expects back end here: nobody can
// delete their Subscription any more.
func planUnsubscribed(d Desired, o Observed, p *replication.Plan) bool {
	have := o.Database.Publication
	if have == nil || have.Description != d.description() {
		return true
	}
	done := map[tsql.Subscription]bool{}
	for _, s := range have.Subscriptions {
		one := tsql.Subscription{Publication: d.name(), Subscriber: s.Subscriber, Database: s.Database, Pull: s.Pull}
		if done[one] {
			continue
		}
		done[one] = true
		server, ours := replication.ServerOf(s.Subscriber)
		own := declaredFor(d, server, s.Database)
		if own != "" || !ours || o.gone(d, server) == "" {
			text := fmt.Sprintf("database %s on %s is still subscribed", s.Database, s.Subscriber)
			return p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, text), unsubscribe(server, own, ours))
		}
		drop := tsql.DropSubscription(one)
		if o.forgotten(d) != "" || !o.At.Known {
			drop = tsql.DropLostSubscription(one)
		}
		p.Execute(o.primary(d), d.database(), drop)
	}
	return true
}

// declaredFor is the Subscription of a server's database, empty when none is declared.
func declaredFor(d Desired, server v1alpha1.ServerName, database string) string {
	for _, s := range d.Subscriptions {
		if s.Spec.Subscriber.Server == server && strings.EqualFold(string(s.Spec.Database), database) {
			return s.Name
		}
	}
	return ""
}

// unsubscribe says how somebody ends a subscription that is in the way.
func unsubscribe(server v1alpha1.ServerName, own string, ours bool) string {
	switch {
	case own != "":
		return fmt.Sprintf("delete its Subscription %s, with reclaimPolicy Delete; ", own) + replication.Retain
	case !ours:
		return "end that by hand (sp_dropsubscription); " + replication.Retain
	}
	return "its Subscription was retained. Declare it again and delete it with reclaimPolicy Delete; " +
		sites.WayOut(server)
}

// planEnd drops jobs and publication, and ends the publishing of the database when it was the last one. What somebody
// else made stays: a publication of this name with its jobs, and jobs that nobody gave away, which are disabled.
func planEnd(d Desired, o Observed, p *replication.Plan) {
	distributor, publisher := o.gone(d, d.System.Server) == "", o.publisherGone(d) == ""
	have := o.Database.Publication
	foreign := have != nil && have.Description != d.description()
	if distributor && !foreign {
		p.RemoveJob(d.System.Server, snapshotJob(d, o).Name, o.SnapshotJob)
	}
	// Other publications of the database share its log reader; a distributor that was made anew knows none of them.
	// Somebody else's of this name is one.
	others := slices.ContainsFunc(o.Database.Publications, func(name string) bool {
		return !strings.EqualFold(name, d.name())
	})
	// Where neither end says what the database has, nobody knows of others.
	last := !o.At.Others && !others && !foreign && (publisher || o.forgotten(d) == "")
	if last && distributor {
		p.RemoveJob(d.System.Server, logReaderJob(d, o).Name, o.LogReaderJob)
	}
	if !publisher {
		return
	}
	if have != nil && !foreign {
		drop := tsql.DropPublication(d.name())
		if o.forgotten(d) != "" || !o.At.Known {
			drop = tsql.DropLostPublication(d.name())
		}
		p.Execute(o.primary(d), d.database(), drop)
	}
	if last {
		unpublish(d, o, p)
	}
}

// unpublish takes back what publishing made of the database when its last publication is gone.
func unpublish(d Desired, o Observed, p *replication.Plan) {
	primary := o.primary(d)
	if database := o.Servers[primary].State.Database(d.database()); database != nil && database.Published {
		if o.forgotten(d) != "" {
			p.Execute(primary, replication.Master, tsql.UnpublishDatabaseAlone(d.database()))
		} else {
			p.Execute(primary, replication.Master, tsql.PublishDatabase(d.database(), false))
		}
	}
	// Subscriptions of the database share the agents' user; the last of them drops it.
	if o.Database.Owner.User == d.System.Login && len(o.Database.Received) == 0 && !d.Receives {
		p.Execute(primary, d.database(), tsql.DropUser(d.System.Login))
	}
}
