// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// why says it in words, with what else could be done about it.
func (c change) why() string {
	var all []string
	if len(c.drop) > 0 {
		all = append(
			all, fmt.Sprintf("%s published and not among the article's columns: add it there to keep it", is(c.drop)),
		)
	}
	if len(c.add) > 0 {
		all = append(all, is(c.add)+" declared and not published")
	}
	switch {
	case c.whole:
		all = append(all, "it is published with a filter, and declared without one")
	case c.filter:
		all = append(all, "its filter is another one")
	case c.view && len(all) == 0:
		all = append(all, "the view that its snapshot is read from is missing")
	}
	if c.compression {
		all = append(all, "its compression does not reach subscribers")
	}
	if c.rules {
		all = append(all, "its identity columns, defaults and CHECK constraints do not reach subscribers")
	}
	return strings.Join(all, "; ")
}

func is(columns []string) string {
	if len(columns) == 1 {
		return "column " + columns[0] + " is"
	}
	return "columns " + strings.Join(columns, ", ") + " are"
}

// subscribers of an article, as registered.
func (o Observed) subscribers(article string) []mssql.ArticleSubscription {
	var all []mssql.ArticleSubscription
	for _, s := range o.Database.Publication.Subscriptions {
		if strings.EqualFold(s.Article, article) {
			all = append(all, s)
		}
	}
	return all
}

// declares finds the Subscription that declares a registered one, nil when none does.
func (d Desired) declares(s mssql.ArticleSubscription) *v1alpha1.Subscription {
	for i := range d.Subscriptions {
		x := &d.Subscriptions[i]
		if subscribes(x, s) {
			return x
		}
	}
	return nil
}

// subscribes tells that a Subscription is of the subscriber that the published database knows.
func subscribes(declared *v1alpha1.Subscription, s mssql.ArticleSubscription) bool {
	return strings.EqualFold(credentials.HostName(declared.Spec.Subscriber.Server), s.Subscriber) &&
		strings.EqualFold(string(declared.Spec.Database), s.Database)
}

// refusing are the subscribers that a change of an article has to wait for, as messages name them: their tables must
// not be replaced now.
func refusing(d Desired, o Observed, article string, c change) []string {
	if d.scheduled() {
		return refusingScheduled(d, o, article, c)
	}
	var all []string
	for _, s := range o.subscribers(article) {
		declared := d.declares(s)
		if d.rests(declared) || !replication.Consents(d.Publication, declared) && !d.begun(declared, article) {
			all = append(all, d.nameOf(s.Subscriber, s.Database))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// needed is what waits until subscribers' copies may be replaced, nil when nothing does.
func needed(d Desired, o Observed) *v1alpha1.NeededReinitialization {
	if o.Database.Publication == nil {
		return nil
	}
	var n v1alpha1.NeededReinitialization
	for _, a := range d.Publication.Spec.Articles {
		key := strings.ToLower(a.Table)
		have, published := o.Database.Publication.Articles[key]
		if !published || articleState(d, a, o.Database) != statePublished {
			continue
		}
		c, why := d.changed(a, have), []string{}
		waiting := refusing(d, o, have.Name, c)
		if !c.none() && len(waiting) > 0 {
			why = append(why, c.why())
		} else {
			waiting = nil
		}
		if there := having(d, o, key); len(there) > 0 {
			why = append(why, "it came after "+strings.Join(there, ", ")+", where a table of this name is already")
			waiting = append(waiting, there...)
		}
		if len(why) == 0 {
			continue
		}
		need := v1alpha1.NeededCopy{Table: a.Table, Reason: conditions.Shorten(strings.Join(why, "; "), 1024)}
		if size, measured := o.Database.Sizes[key]; measured {
			need.Rows, need.Bytes = size.Rows, size.Bytes
		} else if before := said(d, a.Table); before != nil {
			need.Rows, need.Bytes = before.Rows, before.Bytes
		}
		n.Tables = append(n.Tables, need)
		n.WaitingFor = append(n.WaitingFor, waiting...)
	}
	if len(n.Tables) == 0 {
		return nil
	}
	slices.Sort(n.WaitingFor)
	n.WaitingFor = slices.Compact(n.WaitingFor)
	n.WaitingFor = n.WaitingFor[:min(len(n.WaitingFor), 256)]
	return &n
}

// having are the subscribers, as messages name them, that lack an article and have a table of its name.
func having(d Desired, o Observed, article string) []string {
	var all []string
	for _, who := range o.lacking() {
		if articles, err := standing(d, o, who); err == nil && slices.Contains(articles, article) {
			all = append(all, d.nameOf(who.server, who.database))
		}
	}
	return all
}

// nameOf is how messages name a subscriber.
func (d Desired) nameOf(server, database string) string {
	switch s := d.declared(receiver{server: server, database: database}); {
	case d.rests(s):
		return fmt.Sprintf("%s, to which nothing is copied while it is suspended (%s)", s.Name, d.Resting[s.Name])
	case s != nil:
		return s.Name
	}
	return replication.NameUndeclared(server, database)
}

// rests tells of a Subscription that is suspended: its tables are replaced by nothing.
func (d Desired) rests(declared *v1alpha1.Subscription) bool {
	return declared != nil && d.Resting[declared.Name] != ""
}

// strangers are the subscribers that no Subscription declares.
func (d Desired) strangers(o Observed) []v1alpha1.Undeclared {
	var all []v1alpha1.Undeclared
	for _, s := range o.Database.Publication.Subscriptions {
		one := v1alpha1.Undeclared{Publication: d.name(), Subscriber: s.Subscriber, Database: s.Database}
		if d.declares(s) == nil && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// said is what status says of a table that needs a new copy, nil when nothing.
func said(d Desired, table string) *v1alpha1.NeededCopy {
	if n := d.Publication.Status.NeededReinitialization; n != nil {
		for i := range n.Tables {
			if n.Tables[i].Table == table {
				return &n.Tables[i]
			}
		}
	}
	return nil
}

// underWay keeps what was said to need a copy until the copy that was asked for is recorded as begun with: then the
// request is known as carried out, and no Subscription asks for all tables in its place.
func underWay(d Desired, o Observed, n *v1alpha1.NeededReinitialization) *v1alpha1.NeededReinitialization {
	before := d.Publication.Status.NeededReinitialization
	if before == nil || o.Database.Publication == nil {
		return n
	}
	if n == nil {
		n = &v1alpha1.NeededReinitialization{}
	}
	for _, a := range d.Publication.Spec.Articles {
		there := slices.ContainsFunc(n.Tables, func(x v1alpha1.NeededCopy) bool { return x.Table == a.Table })
		if t := said(d, a.Table); t != nil && !there && opened(d, o, a) {
			n.Tables = append(n.Tables, *t)
		}
	}
	if len(n.Tables) == 0 {
		return nil
	}
	return n
}

// request is the open request of a subscriber that a change of its articles carries out, empty when there is none. Who
// was registered without a copy gets none with the article: its Subscription gives it one.
func (d Desired) request(o Observed, who receiver) string {
	if d.rests(d.declared(who)) {
		return ""
	}
	return d.agreed(o, who)
}

// agreed is the same of a change that is made, whoever is suspended by now: what has its copy asks for none.
func (d Desired) agreed(o Observed, who receiver) string {
	declared := d.declared(who)
	if declared == nil || d.copies(declared) && o.kept(who) {
		return ""
	}
	return replication.Request(d.Publication, declared)
}

// opened tells that somebody's open request is for a copy of the article that is not begun with.
func opened(d Desired, o Observed, a v1alpha1.Article) bool {
	key := strings.ToLower(a.Table)
	if slices.ContainsFunc(o.lacking(), func(who lacking) bool {
		return slices.Contains(who.articles, key) && d.request(o, who.receiver) != ""
	}) {
		return true
	}
	have, published := o.Database.Publication.Articles[key]
	return published && !d.changed(a, have).none() &&
		slices.ContainsFunc(o.subscribers(have.Name), func(s mssql.ArticleSubscription) bool {
			return d.request(o, receiver{server: s.Subscriber, database: s.Database}) != ""
		})
}

// goesOn says, as a clause, what subscribers get until a copy that is needed is asked for: nothing of an article that
// came after them, also because it was dropped for a change.
func (d Desired) goesOn(o Observed, n *v1alpha1.NeededReinitialization) string {
	for _, t := range n.Tables {
		if len(having(d, o, strings.ToLower(t.Table))) > 0 {
			return "nothing is delivered of tables that came after a subscriber, or came anew, while everything else goes on " +
				"as it was"
		}
	}
	return "everything goes on as it was"
}

// planNeeded says what waits. Everything else goes on as it is.
func planNeeded(d Desired, o Observed, p *replication.Plan) bool {
	n := needed(d, o)
	if n == nil {
		return true
	}
	var tables []string
	for _, t := range n.Tables {
		tables = append(tables, fmt.Sprintf("%s (%s: %s)", t.Table, replication.Cost(t.Rows, t.Bytes), t.Reason))
	}
	meanwhile := "Nothing is copied, and " + d.goesOn(o, n)
	if d.scheduled() {
		meanwhile = "Everything else is copied by the schedule, and that is not"
	}
	message := fmt.Sprintf(
		"a new copy at each subscriber is needed of %s. %s, until it is asked for, by kubectl geosql reinitialize for each "+
			"of: %s",
		strings.Join(tables, ", "), meanwhile, strings.Join(n.WaitingFor, ", "),
	)
	if ways := replication.WaysOut(d.Publication, d.strangers(o), n.WaitingFor); ways != "" {
		message += ". " + ways
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, message))
}

// begun tells that a change which the request of a Subscription asked for is recorded, and still to be made: it may
// replace the Subscription's copy of an article.
func (d Desired) begun(declared *v1alpha1.Subscription, article string) bool {
	done := d.Publication.Status.Reinitialized
	return declared != nil && done != nil && slices.ContainsFunc(done.Copies, func(c v1alpha1.RequestedCopy) bool {
		return strings.EqualFold(c.Table, article) && c.Request == declared.Annotations[v1alpha1.ReinitializeAnnotation] &&
			d.stillDeclared(c)
	})
}

// stillDeclared tells that a copy which was begun with is of the article as it is declared now. A record of an earlier
// release does not say of what it was, and holds: its change is under way.
func (d Desired) stillDeclared(c v1alpha1.RequestedCopy) bool {
	return c.Declared == "" || c.Declared == d.articleDeclared(c.Table)
}

// articleDeclared is a digest of what is declared of an article, empty when nothing is: whoever has agreed to a copy
// has agreed to what was declared then.
func (d Desired) articleDeclared(table string) string {
	for _, a := range d.Publication.Spec.Articles {
		if strings.EqualFold(a.Table, table) {
			return replication.ArticleDeclared(d.Publication, a)
		}
	}
	return ""
}

// reinitialized is the newest change of articles that gives subscribers a new copy, with the requests that it carries
// out.
func reinitialized(d Desired, o Observed, p reconcile.Plan) *v1alpha1.PublicationReinitialization {
	if r := reconcile.Noted[*v1alpha1.PublicationReinitialization](p); r != nil {
		return r
	}
	return consented(d, o)
}

// begins is what is to be recorded before a plan is carried out: the open requests that its change of articles carries
// out, nil when there are none.
func begins(d Desired, o Observed, p reconcile.Plan) *v1alpha1.PublicationReinitialization {
	copies := carried(d, o, p)
	if len(copies) == 0 {
		return nil
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	r := &v1alpha1.PublicationReinitialization{Time: &now, Copies: copies}
	have := consented(d, o)
	if have != nil {
		r.Copies = append(r.Copies, have.Copies...)
	}
	for _, c := range r.Copies {
		if c.Request != "" {
			r.Requests = append(r.Requests, c.Request)
		}
	}
	for i := range d.Subscriptions {
		// Those whose Subscriptions have not been looked at since are still to be known as carried out.
		s := &d.Subscriptions[i]
		former := s.Annotations[v1alpha1.ReinitializeAnnotation]
		recorded := s.Status.Reinitialization != nil && s.Status.Reinitialization.Request == former
		if have != nil && slices.Contains(have.Requests, former) && !recorded {
			r.Requests = append(r.Requests, former)
		}
	}
	slices.SortFunc(r.Copies, func(a, b v1alpha1.RequestedCopy) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Request, b.Request),
			strings.Compare(a.Declared, b.Declared))
	})
	slices.Sort(r.Requests)
	same := func(a, b v1alpha1.RequestedCopy) bool { return reflect.DeepEqual(a, b) }
	r.Copies, r.Requests = slices.CompactFunc(r.Copies, same), slices.Compact(r.Requests)
	r.Copies = r.Copies[:min(len(r.Copies), 256)]
	r.Requests = r.Requests[:min(len(r.Requests), 256)]
	return r
}

// carried are the copies of open requests that the steps of a plan begin.
func carried(d Desired, o Observed, p reconcile.Plan) []v1alpha1.RequestedCopy {
	if o.Database.Publication == nil {
		return nil
	}
	var copies []v1alpha1.RequestedCopy
	add := func(table string, s receiver) {
		if request := d.agreed(o, s); request != "" {
			copies = append(copies, v1alpha1.RequestedCopy{Table: table, Request: request,
				Declared: d.articleDeclared(table)})
		}
	}
	for _, a := range d.Publication.Spec.Articles {
		was, published := o.Database.Publication.Articles[strings.ToLower(a.Table)]
		c := d.changed(a, was)
		if !calls(p, tsql.ChangesArticle...) || !published || c.none() || len(refusing(d, o, was.Name, c)) > 0 {
			continue
		}
		if d.scheduled() {
			copies = append(copies, d.agreedBySchedule(o, was.Name, c)...)
		}
		if d.scheduled() && said(d, a.Table) == nil {
			continue // a request is for something else: nobody was told to ask
		}
		for _, s := range o.subscribers(was.Name) {
			add(a.Table, receiver{server: s.Subscriber, database: s.Database})
		}
	}
	// Subscribers come after articles, and a request that is recorded for one of both is closed for the other.
	if calls(p, tsql.RefreshesSubscriptions, tsql.AddsSubscription) || d.scheduled() && calls(p, tsql.ChangesArticle...) {
		for _, who := range o.lacking() {
			for _, article := range who.articles {
				// Otherwise the request is for something else.
				if said(d, o.Database.Publication.Articles[article].Name) != nil {
					add(article, who.receiver)
				}
			}
		}
	}
	return copies
}

// consented leaves out the copies that are made or under way: a table of that name that comes later is another one,
// and nobody has said that it may replace what a subscriber has. So is one of which something else is declared by now.
func consented(d Desired, o Observed) *v1alpha1.PublicationReinitialization {
	have := d.Publication.Status.Reinitialized
	if have == nil || o.Database.Publication == nil {
		return have
	}
	behind := o.lacking()
	done := func(c v1alpha1.RequestedCopy) bool {
		key := strings.ToLower(c.Table)
		at := slices.IndexFunc(d.Publication.Spec.Articles, func(a v1alpha1.Article) bool {
			return strings.EqualFold(a.Table, c.Table)
		})
		if at < 0 || !d.stillDeclared(c) {
			return true
		}
		x, published := o.Database.Publication.Articles[key]
		return published && d.changed(d.Publication.Spec.Articles[at], x).none() && !d.unreturned(o, c) &&
			!slices.ContainsFunc(behind, func(who lacking) bool { return slices.Contains(who.articles, key) })
	}
	have = have.DeepCopy()
	have.Copies = slices.DeleteFunc(have.Copies, done)
	return have
}

// calls tells that a plan calls one of some procedures.
func calls(p reconcile.Plan, procedures ...string) bool {
	return slices.ContainsFunc(p.Steps, func(s replication.Step) bool {
		execute, ok := s.(replication.Execute)
		return ok && slices.Contains(procedures, execute.Statement.Procedure)
	})
}

// sizeFor is how long a measured size is good enough for status: it changes with every row.
const sizeFor = 10 * time.Minute

// emptyFor is that of a copy without rows: one that is being filled would be said to cost nothing.
const emptyFor = time.Minute

// measures tells that the tables are to be measured: one needs a new copy of which status says nothing yet, or the size
// there is old.
func measures(d Desired, o Observed) bool {
	have := d.Publication.Status.Size
	if n := needed(d, o); n != nil &&
		slices.ContainsFunc(n.Tables, func(t v1alpha1.NeededCopy) bool { return said(d, t.Table) == nil }) {
		return true
	}
	return len(o.Database.Publication.Articles) > 0 && outdated(have, o.Now)
}

// outdated tells that a measured size is too old to be told.
func outdated(have *v1alpha1.CopySize, now time.Time) bool {
	patience := sizeFor
	if have != nil && have.Rows == 0 {
		patience = emptyFor
	}
	return have == nil || have.Measured == nil || now.Sub(have.Measured.Time) >= patience
}

// size of a copy, for status.
func size(d Desired, o Observed) *v1alpha1.CopySize {
	have := d.Publication.Status.Size
	if o.Database.Sizes == nil || o.Database.Publication == nil || len(o.Database.Publication.Articles) == 0 ||
		!outdated(have, o.Now) {
		return have
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	s := v1alpha1.CopySize{Measured: &now}
	for _, a := range o.Database.Publication.Articles {
		one := o.Database.Sizes[strings.ToLower(a.Schema+"."+a.Table)]
		s.Rows, s.Bytes = s.Rows+one.Rows, s.Bytes+one.Bytes
	}
	return &s
}
