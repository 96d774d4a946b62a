// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"errors"
	"fmt"
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
		if strings.EqualFold(credentials.HostName(x.Spec.Subscriber.Server), s.Subscriber) &&
			strings.EqualFold(string(x.Spec.Database), s.Database) {
			return x
		}
	}
	return nil
}

// refusing are the subscribers of an article whose tables must not be replaced now, as messages name them.
func refusing(d Desired, o Observed, article string) []string {
	var all []string
	for _, s := range o.subscribers(article) {
		if !replication.Consents(d.Publication, d.declares(s)) {
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
		if !published || articleState(a, o.Database) != statePublished {
			continue
		}
		c, waiting, why := d.changed(a, have), refusing(d, o, have.Name), []string{}
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
	if s := d.declared(receiver{server: server, database: database}); s != nil {
		return s.Name
	}
	return replication.NameUndeclared(server, database)
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

// underWay keeps what was said to need a copy until the copy that was asked for is begun with: by it the request is
// known as carried out, and no Subscription asks for all tables in its place.
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
	declared := d.declared(who)
	if declared == nil || d.snapshots() && o.kept(who) {
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
	message := fmt.Sprintf(
		"a new copy at each subscriber is needed of %s. Nothing is copied, and everything goes on as it was, until it is "+
			"asked for, by kubectl geosql reinitialize for each of: %s",
		strings.Join(tables, ", "), strings.Join(n.WaitingFor, ", "),
	)
	if ways := replication.WaysOut(d.Publication, d.strangers(o), n.WaitingFor); ways != "" {
		message += ". " + ways
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, message))
}

// reinitialized is the newest change of articles that gave subscribers a new copy, with the requests that it carried
// out.
func reinitialized(d Desired, o Observed, p reconcile.Plan, failed error) *v1alpha1.PublicationReinitialization {
	have := d.Publication.Status.Reinitialized
	var aside *reconcile.AsideFailed
	if failed != nil && !errors.As(failed, &aside) || o.Database.Publication == nil {
		return have
	}
	have = consented(d, o, have)
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	r := v1alpha1.PublicationReinitialization{Time: &now}
	carried := func(table string, s receiver) {
		if request := d.request(o, s); request != "" {
			r.Tables, r.Requests = append(r.Tables, table), append(r.Requests, request)
		}
	}
	for _, a := range d.Publication.Spec.Articles {
		was, published := o.Database.Publication.Articles[strings.ToLower(a.Table)]
		if !calls(p, tsql.ChangesArticle...) || !published || d.changed(a, was).none() || len(refusing(d, o, was.Name)) > 0 {
			continue
		}
		for _, s := range o.subscribers(was.Name) {
			carried(a.Table, receiver{server: s.Subscriber, database: s.Database})
		}
	}
	if calls(p, tsql.RefreshesSubscriptions, tsql.AddsSubscription) {
		for _, who := range o.lacking() {
			for _, article := range who.articles {
				// Otherwise the request is for something else.
				if said(d, o.Database.Publication.Articles[article].Name) != nil {
					carried(article, who.receiver)
				}
			}
		}
	}
	if len(r.Requests) == 0 {
		return have
	}
	for i := range d.Subscriptions {
		// Those whose Subscriptions have not been looked at since are still to be known as carried out. The others must go:
		// together with the tables of this change they would consent to its copies.
		s := &d.Subscriptions[i]
		former := s.Annotations[v1alpha1.ReinitializeAnnotation]
		recorded := s.Status.Reinitialization != nil && s.Status.Reinitialization.Request == former
		if have != nil && slices.Contains(have.Requests, former) && !recorded {
			r.Requests = append(r.Requests, former)
		}
	}
	for _, list := range []*[]string{&r.Tables, &r.Requests} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		*list = (*list)[:min(len(*list), 256)]
	}
	return &r
}

// consented leaves out the tables whose copies are under way at everyone: a table of that name that comes later is
// another one, and nobody has said that it may replace what a subscriber has.
func consented(
	d Desired,
	o Observed,
	have *v1alpha1.PublicationReinitialization,
) *v1alpha1.PublicationReinitialization {
	if have == nil {
		return nil
	}
	behind := o.lacking()
	declared := func(table string) bool {
		return slices.ContainsFunc(d.Publication.Spec.Articles, func(a v1alpha1.Article) bool {
			return strings.EqualFold(a.Table, table)
		})
	}
	done := func(table string) bool {
		key := strings.ToLower(table)
		_, published := o.Database.Publication.Articles[key]
		return !declared(table) || published && !slices.ContainsFunc(behind, func(who lacking) bool {
			return slices.Contains(who.articles, key)
		})
	}
	have = have.DeepCopy()
	have.Tables = slices.DeleteFunc(have.Tables, done)
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
