// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

const (
	// validateFor is how long a comparison that does not end in equality goes on before a person is asked, and the longest
	// time between two.
	validateFor = 10 * time.Minute
	// differsFor is how long a difference has to stay the same to be one: changes may be on their way.
	differsFor = 30 * time.Second
)

// outOfStep are errors of a distribution agent whose subscriber does not have the rows that the publisher has: 20598
// when one is missing, 2601 and 2627 when one is there already.
var outOfStep = []string{"20598", "2601", "2627"}

// observeComparison compares the tables before a registration that depends on it, and afterwards, once nothing is
// pending, those of which nobody knows yet that they are equal. Rows that were written between the first comparison and
// the registration show in the second: what was found equal after the registration stays so, since the distributor has
// every change from there.
func observeComparison(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if !o.comparable(d) {
		return
	}
	articles := o.Publication.Articles
	switch {
	case len(o.registrations(d)) > 0:
		if articles = o.unproved(d); o.Pending == nil || *o.Pending > 0 || !o.logIsRead(d) ||
			!due(d, *o) {
			return
		}
	case !d.comparesFirst() || !o.everyArticle(d) || !o.registersWithout(d) || len(foreignTables(d, *o)) > 0:
		return
	}
	if len(articles) == 0 {
		return
	}
	c, err := engines.Compare(ctx, articles, replication.Copy{Server: o.primary(d), Database: d.publisherDatabase()},
		replication.Copy{Server: d.Subscriber, Database: d.database()})
	o.Compared = time.Now()
	if o.ComparisonErr = err; err == nil {
		o.Comparison = &c
	}
}

// due tells that it is time for another comparison, which reads every row: the longer tables have not been equal, the
// longer it takes. One that can conclude nothing, before what was on its way has come, comes seldom: it may find them
// equal, and holds up all else meanwhile, such as the token that is waited for.
func due(d Desired, o Observed) bool {
	s := d.Subscription.Status.Initialization
	if s == nil || unreported(d, o) {
		return false
	}
	if s.LastCompared == nil || s.UnequalSince == nil {
		return true
	}
	rest := min(validateFor, s.LastCompared.Sub(s.UnequalSince.Time))
	if o.awaitsArrival(d) {
		rest = validateFor
	}
	return o.Now.Sub(s.LastCompared.Time) >= rest
}

// logIsRead tells that the log reader delivers: while it does not, rows are on their way that the distributor does not
// know of and counts for nobody.
func (o Observed) logIsRead(d Desired) bool {
	return o.LogReaderJob != nil && o.LogReaderJob.Running &&
		replication.FailureOf(o.At.LogReader, o.LogReaderJob, d.LogReaderProfile) == nil
}

// comparable tells that publisher and subscriber answer.
func (o Observed) comparable(d Desired) bool {
	if o.Publication == nil || o.primary(d) == "" || o.AtErr != nil || o.HereErr != nil || !o.At.Known {
		return false
	}
	s := o.Servers[d.Subscriber]
	return s.Err == nil && s.State != nil && s.State.Database(d.database()) != nil
}

func (o Observed) everyArticle(d Desired) bool { return len(o.lacking(d)) == 0 }

// lacking are the declared articles that are not published, each with what its Publication's status says of it.
func (o Observed) lacking(d Desired) (articles []string) {
	for _, a := range d.Publication.Spec.Articles {
		if _, published := o.Publication.Articles[strings.ToLower(a.Table)]; published {
			continue
		}
		text := a.Table
		for _, s := range d.Publication.Status.Articles {
			if s.Name == a.Table && s.State != "" {
				text += " (" + s.State + ")"
			}
		}
		articles = append(articles, text)
	}
	return articles
}

// askPublication says where a person reads why the publication is not as declared, after a sentence.
func (d Desired) askPublication() string {
	text := fmt.Sprintf(". Condition %s of Publication %s says what is in the way", v1alpha1.ConditionReady,
		d.publication())
	if c := meta.FindStatusCondition(d.Publication.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		text += " (" + c.Reason + ")"
	}
	return text
}

// planCompared waits for a comparison that the registration depends on, and begins a subscription anew, with a
// snapshot, whose copy was kept and turned out to differ.
func planCompared(d Desired, o Observed, p *replication.Plan) bool {
	if len(o.registrations(d)) == 0 {
		switch {
		case !d.comparesFirst():
			return true
		case !o.everyArticle(d):
			return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
				"%d of %d articles are published, without %s; tables are compared when all are%s",
				len(d.Publication.Spec.Articles)-len(o.lacking(d)), len(d.Publication.Spec.Articles),
				listed(o.lacking(d)), d.askPublication())))
		case !o.registersWithout(d) && o.awaitsNewest(d):
			return true
		case !o.registersWithout(d):
			// Before every row is read, so that what was found equal is registered at once.
			return awaitReader(d, p)
		case o.ComparisonErr != nil:
			return p.Settle(
				conditions.Unknown(
					v1alpha1.ReasonEngineNotAnswering,
					"the tables could not be compared: "+o.ComparisonErr.Error(),
				),
			)
		case o.Comparison == nil:
			return p.Settle(conditions.InProgress(v1alpha1.ReasonConfiguring, "the tables are being compared"))
		}
		return true
	}
	h := d.Subscription.Status.Initialization
	if h == nil || len(o.unproved(d)) == 0 {
		return true
	}
	// What the last attempt died of is not known when it did not come as far as the history: then nothing is replaced for
	// it.
	failing := o.failure(d) != nil && o.Agent.Failure != 0 && o.Agent.Met(outOfStep...) != "" &&
		h.Time != nil && o.Now.Add(-o.Agent.ErrorAge).After(h.Time.Time)
	if replacesKept(d) && (failing || differs(d, o)) {
		if o.JobsErr != nil {
			return jobsUnknown(o, p)
		}
		leave(d, o, p, d.pull())
	}
	return p.Proceed("the copy that was kept differs from the publisher's: the subscription begins anew, with a snapshot")
}

// mostNamed articles or tables are named in a message.
const mostNamed = 5

// registration is the subscription as it is registered: without a copy when the tables are equal.
func registration(d Desired, o Observed) tsql.Subscription {
	s := d.subscription()
	if d.fromBackup() {
		s.Backup = d.taken(o.attempt(d))
	}
	s.DataIsThere = s.DataIsThere || d.comparesFirst() && o.Comparison != nil && o.Comparison.Equal
	return s
}

// initialization is how the subscription was registered, for status. A plan that registers it counts although a step of
// it failed: that one, or the answer to it, may have come after the registration, and every new attempt is recorded
// anew.
func initialization(d Desired, o Observed, p reconcile.Plan) *v1alpha1.SubscriptionInitialization {
	return withRestored(d, o, withSkipped(d, o, recorded(d, o, p)))
}

func recorded(d Desired, o Observed, p reconcile.Plan) *v1alpha1.SubscriptionInitialization {
	have := d.Subscription.Status.Initialization.DeepCopy()
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	switch {
	case registers(p):
		return begun(d, o, now)
	case unreported(d, o) && unsaid(d, o):
		return have
	case unreported(d, o):
		return found(d, o, now)
	case have == nil || len(o.registrations(d)) == 0 || o.Comparison == nil && o.ComparisonErr == nil:
		return have
	}
	have.ValidatedArticles = slices.DeleteFunc(have.ValidatedArticles, func(one string) bool { return !o.published(one) })
	if c := o.Comparison; c != nil && c.Equal && len(o.unproved(d)) == len(o.registrations(d)) {
		have.RestoredAt = nil // every table was compared
	}
	return compared(have, o, now)
}

// compared adds what a comparison after the registration found. One that failed says nothing, and makes the next one
// later; so does one whose tables changed meanwhile, but for that they are not those of which a difference was found.
func compared(
	have *v1alpha1.SubscriptionInitialization,
	o Observed,
	now metav1.Time,
) *v1alpha1.SubscriptionInitialization {
	c := o.Comparison
	if c == nil {
		c = &replication.Comparison{}
	}
	for _, key := range c.Same {
		if one := numbered(o.Publication.Articles[key]); !slices.Contains(have.ValidatedArticles, one) &&
			len(have.ValidatedArticles) < mostValidated {
			have.ValidatedArticles = append(have.ValidatedArticles, one)
		}
	}
	slices.Sort(have.ValidatedArticles)
	since := now
	if o.Compared.After(now.Time) {
		// The tables were read until then. Status has whole seconds, and a token of before shows nothing.
		since = metav1.NewTime(o.Compared.Add(time.Second)).Rfc3339Copy()
	}
	have.LastCompared = &since
	if c.Equal {
		have.Validated, have.Differs, have.DiffersDigest, have.DiffersSince, have.UnequalSince = &now, "", "", nil, nil
		return have
	}
	if have.UnequalSince == nil {
		// A release of before kept one moment.
		have.UnequalSince = cmp.Or(have.DiffersSince, &since)
	}
	switch {
	case !c.Steady && o.ComparisonErr == nil:
		have.DiffersDigest = ""
	case !c.Steady:
	case limit(c.Difference) != have.Differs || c.Digest != have.DiffersDigest || have.DiffersSince == nil:
		have.Differs, have.DiffersDigest, have.DiffersSince = limit(c.Difference), c.Digest, &since
	}
	return have
}

// published tells that an article that status names is still one.
func (o Observed) published(numberedName string) bool {
	for _, a := range o.Publication.Articles {
		if numbered(a) == numberedName {
			return true
		}
	}
	return false
}

// mostValidated is the most that status takes: as many as a Publication may have articles.
const mostValidated = 256

func registers(p reconcile.Plan) bool { return calls(p, tsql.AddsSubscription) }

// unreported tells that there is a registration that the status, as far as it was read, does not tell of. A distributor
// that was lost, or does not answer, does not say with which publisher: then nothing is concluded.
func unreported(d Desired, o Observed) bool {
	have := d.Subscription.Status.Initialization
	return len(o.registrations(d)) > 0 && o.At.Original != "" &&
		(have == nil || !strings.EqualFold(have.Publisher, o.At.Original))
}

// unsaid tells that the order of a backup, which says that the registration is one with it, was not read.
func unsaid(d Desired, o Observed) bool {
	return d.looksForBackup(&o) && !o.Backup.Looked && o.order(d) == nil
}

// found is how a subscription was registered whose registration was carried out and not reported.
func found(d Desired, o Observed, now metav1.Time) *v1alpha1.SubscriptionInitialization {
	s := &v1alpha1.SubscriptionInitialization{
		Method:            v1alpha1.InitializeSnapshot,
		Publisher:         o.At.Original,
		PublisherDatabase: d.publisherDatabase(),
		Time:              &now,
		Reason:            "it was found registered so",
	}
	if !o.copies(d) {
		// That the copy was kept does not say why: whoever registered it so may not let it be replaced.
		s.Method = v1alpha1.InitializeReplicationSupportOnly
		if r := o.order(d); d.fromBackup() && r != nil && r.Attempt.Set != "" {
			s.Method = v1alpha1.InitializeBackup
		}
		s.Compared = o.keeps(d) && replication.AgreesItself(d.Publication, d.Subscription)
		carry(d, s)
	}
	return s
}

// proven are the articles that a backup has brought as they are at the publisher: none where somebody was able to write
// what was restored.
func proven(d Desired, o Observed) (all []string) {
	for _, a := range o.Publication.Articles {
		if r := o.order(d); r != nil && o.sealed(d) && covered(r.Attempt.Articles, o.Publication, a) {
			all = append(all, numbered(a))
		}
	}
	slices.Sort(all)
	return all
}

func begun(d Desired, o Observed, now metav1.Time) *v1alpha1.SubscriptionInitialization {
	s := &v1alpha1.SubscriptionInitialization{
		Method:            v1alpha1.InitializeSnapshot,
		Publisher:         o.At.Original,
		PublisherDatabase: d.publisherDatabase(),
		Time:              &now,
	}
	switch {
	case d.fromBackup():
		s.Method, s.Reason = v1alpha1.InitializeBackup, "the subscriber begins with backup "+o.attempt(d)
		s.ValidatedArticles = proven(d, o)
		if !o.sealed(d) {
			s.Reason += ", which somebody was able to write before: it is compared"
		}
	case !d.snapshots():
		s.Method = v1alpha1.InitializeReplicationSupportOnly
		s.Reason = replication.NoCopies(d.Publication, d.Subscription) + " is declared so; nothing was compared"
		carry(d, s)
	case d.asked():
		s.Reason = "a new copy was asked for"
	case o.Comparison == nil:
		s.Reason = "the subscriber gets a first copy"
	case o.Comparison.Equal:
		s.Method, s.Compared = v1alpha1.InitializeReplicationSupportOnly, true
		s.Reason = limit(fmt.Sprintf("%d rows of %d articles are equal at publisher and subscriber, %s",
			o.Comparison.Rows, len(o.Publication.Articles), o.Comparison.Words()))
	default:
		s.Reason = limit("the subscriber gets a new copy: " + o.Comparison.Difference)
	}
	return s
}

// limit cuts a text to what status takes.
func limit(text string) string { return conditions.Shorten(text, 1024) }
