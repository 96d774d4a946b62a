// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
)

// Articles of what is copied by a schedule change when copies are replaced anyway, or when those have asked whom a
// change waits for. The schedule agrees to replace what it has brought, and nothing else that a subscriber has.

// mayChange tells that articles may be changed now, and subscribers subscribed to them.
func (d Desired) mayChange(o Observed) bool { return d.mayReplace(o) || d.requested(o) }

// requested tells that somebody has asked for a new copy that a change waits for, or that such a change is begun with.
// Any other request is its Subscription's to carry out.
func (d Desired) requested(o Observed) bool {
	if d.Publication.Status.NeededReinitialization != nil &&
		slices.ContainsFunc(o.Database.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool {
			return d.request(o, receiverOf(s)) != ""
		}) {
		return true
	}
	begun := consented(d, o)
	return begun != nil &&
		slices.ContainsFunc(begun.Copies, func(c v1alpha1.RequestedCopy) bool { return c.Request != "" })
}

// receiverOf is who has a subscription.
func receiverOf(s mssql.ArticleSubscription) receiver {
	return receiver{strings.ToLower(s.Subscriber), s.Database, s.Pull}
}

// name of a receiver, as status has it.
func (r receiver) name() string { return replication.ReceiverName(r.server, r.database) }

// refusingScheduled are those that a change of an article has to wait for although the schedule agrees: who is
// suspended; and, where the article is dropped for it, who keeps the others from being subscribed to it again, or
// would be subscribed to nothing any more and cannot come back: its Subscription has it registered to all articles, and
// there is none, or it has not agreed to the others.
func refusingScheduled(d Desired, o Observed, article string, c change) []string {
	var all []string
	for _, s := range o.subscribers(article) {
		declared := d.declares(s)
		ends := c.whole && !slices.ContainsFunc(o.Database.Publication.Subscriptions, func(x mssql.ArticleSubscription) bool {
			return receiverOf(x) == receiverOf(s) && !strings.EqualFold(x.Article, article)
		})
		if d.rests(declared) || ends && (declared == nil || len(o.Database.Publication.Articles) > 1) {
			all = append(all, d.nameOf(s.Subscriber, s.Database))
		}
	}
	for _, who := range o.lacking() {
		if c.whole && stands(d, o, who) {
			all = append(all, d.nameOf(who.server, who.database))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// agreedBySchedule is what is to be recorded before an article is dropped to be added again: whose tables of it are
// copies, which the next snapshot replaces. Afterwards nothing tells them from tables that were a subscriber's own.
func (d Desired) agreedBySchedule(o Observed, article string, c change) []v1alpha1.RequestedCopy {
	if !c.whole {
		return nil
	}
	var names []string
	for _, s := range o.subscribers(article) {
		if who := receiverOf(s); !d.bySchedule(who, article) {
			names = append(names, who.name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return []v1alpha1.RequestedCopy{{Table: article, Subscribers: names[:min(len(names), 256)]}}
}

// bySchedule tells that a subscriber's table is a copy of an article that was dropped to be added again, and may be
// replaced.
func (d Desired) bySchedule(who receiver, article string) bool {
	done := d.Publication.Status.Reinitialized
	return done != nil && !d.rests(d.declared(who)) &&
		replication.AgreedBySchedule(done.Copies, who.server, who.database, article)
}

// unreturned tells that one of a copy's subscribers was registered to nothing any more when its only article was
// dropped, and its Subscription has not had it registered again.
func (d Desired) unreturned(o Observed, c v1alpha1.RequestedCopy) bool {
	return slices.ContainsFunc(d.Subscriptions, func(s v1alpha1.Subscription) bool {
		name := replication.ReceiverName(credentials.HostName(s.Spec.Subscriber.Server), string(s.Spec.Database))
		return s.DeletionTimestamp == nil && slices.Contains(c.Subscribers, name) && !o.registered(&s)
	})
}

// waiting are the tables whose articles are to be changed once subscribers' tables may be replaced.
func waiting(d Desired, o Observed) []string {
	if d.mayChange(o) {
		return nil
	}
	var all []string
	for _, a := range d.Publication.Spec.Articles {
		have, published := o.Database.Publication.Articles[strings.ToLower(a.Table)]
		state := articleState(d, a, o.Database)
		if state == statePending || published && state == statePublished && !d.changed(a, have).none() {
			all = append(all, a.Table)
		}
	}
	for key, have := range o.Database.Publication.Articles {
		if !slices.ContainsFunc(d.Publication.Spec.Articles, func(a v1alpha1.Article) bool {
			return strings.ToLower(a.Table) == key
		}) {
			all = append(all, have.Name)
		}
	}
	slices.Sort(all)
	return all
}
