// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// receiver is who has the publication.
type receiver struct {
	// server in lower case.
	server, database string
	pull             bool
}

// lacking is a subscriber that is not subscribed to all articles.
type lacking struct {
	receiver
	// articles that came after it, by name in lower case.
	articles []string
	// kept tells that it was registered without a copy, and is so to what comes later: no snapshot replaces its tables.
	kept bool
}

// lacking are the subscribers that lack articles, in order.
func (o Observed) lacking() []lacking {
	known := map[receiver]map[string]bool{}
	var all []receiver
	for _, s := range o.Database.Publication.Subscriptions {
		who := receiver{strings.ToLower(s.Subscriber), s.Database, s.Pull}
		if known[who] == nil {
			known[who], all = map[string]bool{}, append(all, who)
		}
		known[who][strings.ToLower(s.Article)] = true
	}
	slices.SortFunc(all, func(a, b receiver) int {
		return strings.Compare(a.server+"\x00"+a.database, b.server+"\x00"+b.database)
	})
	var some []lacking
	for _, who := range all {
		x := lacking{receiver: who, kept: o.kept(who)}
		for key := range o.Database.Publication.Articles {
			if !known[who][key] {
				x.articles = append(x.articles, key)
			}
		}
		if slices.Sort(x.articles); len(x.articles) > 0 {
			some = append(some, x)
		}
	}
	return some
}

// kept tells that a subscriber was registered without a copy of any article.
func (o Observed) kept(who receiver) bool {
	return !slices.ContainsFunc(o.Database.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool {
		return strings.EqualFold(s.Subscriber, who.server) && s.Database == who.database && !s.DataWasThere
	})
}

// declared is the Subscription of a subscriber, nil when none declares it.
func (d Desired) declared(s receiver) *v1alpha1.Subscription {
	return d.declares(mssql.ArticleSubscription{Subscriber: s.server, Database: s.database})
}

// copiesTo tells that a subscriber gets a copy of an article that comes after it: as its Subscription says, unless it
// was registered without one. One that nobody declares is what it was registered as: the Publication's word is for
// those that begin.
func (o Observed) copiesTo(d Desired, who receiver) bool {
	declared := d.declared(who)
	return !o.kept(who) && (declared == nil || d.copies(declared))
}

// replaces tells that a table which a subscriber has, and which was not registered without a copy, may be replaced by
// that of an article that came after it.
func (d Desired) replaces(s receiver, article string) bool {
	declared := d.declared(s)
	if declared == nil {
		return replication.Consents(d.Publication, nil)
	}
	if d.copies(declared) && d.rests(declared) {
		return false
	}
	if !d.copies(declared) && declared.Annotations[v1alpha1.InitializationAnnotation] == "" ||
		replication.Consents(d.Publication, declared) {
		return true
	}
	return declared.Annotations[v1alpha1.AdoptAnnotation] == "true" || d.begun(declared, article)
}

// standing are the articles that a subscriber lacks whose tables it has, which a snapshot would replace. An error says
// that it is not known.
func standing(d Desired, o Observed, who lacking) (articles []string, err error) {
	for _, article := range who.articles {
		if who.kept || d.replaces(who.receiver, article) || d.bySchedule(who.receiver, article) {
			continue
		}
		tables, err := o.Theirs[who.receiver].Get()
		if err != nil {
			return nil, err
		}
		a := o.Database.Publication.Articles[article]
		if _, there := tables[strings.ToLower(a.Schema+"."+a.Table)]; there {
			articles = append(articles, article)
		}
	}
	return articles, nil
}

// planSubscribers subscribes those who have the publication to articles that came after them. It comes before the
// snapshot, which they wait for
// (docs/relational-databases/replication/publish/add-articles-to-and-drop-articles-from-existing-publications.md).
// sp_refreshsubscriptions serves all subscribers by its newest page, pull subscribers by older ones; a push subscriber
// that it leaves out is subscribed to all articles again; where that is refused because it has some, to each of those
// that it lacked, which is refused when it lacks none by now. While a subscriber
// has a table of an article's name, or nobody knows whether it has, only the others that push are subscribed.
func planSubscribers(d Desired, o Observed, p *replication.Plan) bool {
	if !d.mayChange(o) {
		return true
	}
	all, held := subscribing(d, o)
	for _, who := range all {
		if !held && len(p.Steps) == 0 {
			p.Execute(o.primary(d), d.database(), tsql.RefreshSubscriptions(d.name()))
		}
		if !who.pull && !stands(d, o, who) && !lacksReader(d, o, who) {
			p.Add(subscribePush(d, o, who))
		}
	}
	return d.serving(o, p, p.Proceed("subscribers of %s are being subscribed to new articles", d.name()))
}

// subscribing are those who lack articles; held tells that one of them holds up those who do not push.
func subscribing(d Desired, o Observed) (all []lacking, held bool) {
	all = o.lacking()
	return all, slices.ContainsFunc(all, func(who lacking) bool { return stands(d, o, who) || lacksReader(d, o, who) })
}

// stands tells that a subscriber has a table of an article's name, or that nobody knows whether it has.
func stands(d Desired, o Observed, who lacking) bool {
	articles, err := standing(d, o, who)
	return err != nil || len(articles) > 0
}

// subscribePush subscribes a push subscriber to the articles that it lacks.
func subscribePush(d Desired, o Observed, who lacking) replication.Execute {
	s := tsql.Subscription{Publication: d.name(), Subscriber: who.server, Database: who.database,
		DataIsThere: o.dataIsThere(d, who)}
	step := replication.Execute{Server: o.primary(d), Database: d.database(), Statement: tsql.AddSubscription(s)}
	var each []replication.Execute
	for _, article := range who.articles {
		each = append(each, replication.Execute{Server: step.Server, Database: step.Database,
			Statement: tsql.AddSubscriptionToArticle(s, o.Database.Publication.Articles[article].Name)})
	}
	step.Instead = []mssql.Instead{{On: tsql.SubscriptionExists, Steps: each}}
	return step
}

// planUnread says whose tables could not be read.
func planUnread(d Desired, o Observed, p *replication.Plan) bool {
	for _, who := range o.lacking() {
		if _, err := standing(d, o, who); err != nil {
			return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, fmt.Sprintf(
				"%s on %s is not subscribed to %s yet: whether it has tables of these names, which a snapshot would replace, is "+
					"not known: %v",
				who.database, who.server, strings.Join(who.articles, ", "), err,
			)))
		}
	}
	return true
}
