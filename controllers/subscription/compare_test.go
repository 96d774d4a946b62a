// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// comparing is a subscription whose tables are there, which is to be compared, with what the comparison found.
func comparing(c *replication.Comparison) *world {
	d := declared()
	d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	d.Publication.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Article"}, {Table: "dbo.Attachment"}}
	w := newWorld(d)
	w.o.Here.Tables["dbo.article"] = mssql.Table{Schema: "dbo", Name: "Article"}
	w.o.Comparison = c
	return w
}

// registered is the registration that a plan has come to.
func registered(t *testing.T, w *world) string {
	t.Helper()
	for range 20 {
		p := plan(w.d, w.look())
		for _, s := range p.Steps {
			if e, ok := s.(replication.Execute); ok && e.Statement.Procedure == tsql.AddsSubscription {
				return e.Statement.Text
			}
			w.do(t, s)
		}
		if len(p.Steps) == 0 {
			return p.Outcome.Message
		}
	}
	return "no end"
}

// Equal copies are kept, others replaced; before it is known nothing is registered.
func TestRegistrationFollowsTheComparison(t *testing.T) {
	g := NewWithT(t)
	equal := &replication.Comparison{Equal: true, Steady: true, Rows: 12}
	g.Expect(registered(t, comparing(equal))).To(ContainSubstring("@sync_type = N'replication support only'"))
	g.Expect(registered(t, comparing(&replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"}))).
		To(ContainSubstring("@sync_type = N'automatic'"))
	g.Expect(registered(t, comparing(&replication.Comparison{Difference: "changed meanwhile"}))).
		To(ContainSubstring("@sync_type = N'automatic'"))
	g.Expect(registered(t, comparing(nil))).To(Equal("the tables are being compared"))
	few := comparing(equal)
	few.d.Publication.Spec.Articles = append(few.d.Publication.Spec.Articles, v1alpha1.Article{Table: "dbo.Late"})
	g.Expect(registered(t, few)).To(And(HavePrefix("2 of 3 articles are published"),
		ContainSubstring("says what is in the way")))
	rebuilt := comparing(equal)
	rebuilt.d.Subscription.Annotations, rebuilt.d.Publication.Annotations = nil, map[string]string{
		v1alpha1.RebuildAnnotation: v1alpha1.RebuildCompare,
	}
	g.Expect(registered(t, rebuilt)).To(ContainSubstring("replication support only"))
	field := comparing(equal)
	field.d.Subscription.Annotations = nil
	field.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	g.Expect(registered(t, field)).To(ContainSubstring("replication support only"), "as a field")
	field = comparing(&replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"})
	field.d.Subscription.Annotations = nil
	field.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
	g.Expect(registered(t, field)).To(ContainSubstring("automatic"), "as the Publication says")
	field.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{
		Method: v1alpha1.InitializeReplicationSupportOnly}
	g.Expect(registered(t, field)).To(ContainSubstring("replication support only"), "the Subscription's own word")
	plain := comparing(equal)
	plain.d.Subscription.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "true"}
	g.Expect(registered(t, plain)).To(ContainSubstring("automatic"), "nobody asked for a comparison")
}

func equal() *replication.Comparison {
	return &replication.Comparison{Equal: true, Steady: true, Rows: 12, Same: []string{"dbo.article", "dbo.attachment"}}
}

// kept is a subscription that was registered without a copy an instant ago.
func kept(t *testing.T) *world {
	t.Helper()
	w := comparing(equal())
	w.d.Publication.Spec.Articles = w.d.Publication.Spec.Articles[:1]
	w.settle(t, all)
	w.o.Mirror = Mirror{}
	at := metav1.NewTime(w.o.Now)
	w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{
		Method: v1alpha1.InitializeReplicationSupportOnly, Compared: true, Publisher: "tukpub-0", Time: &at}
	return w
}

// differing is a comparison that finds a difference, of rows by which it is told from others of the same words.
func differing(text, rows string) *replication.Comparison {
	return &replication.Comparison{Steady: true, Difference: text, Digest: rows}
}

// arrives has a tracer token that was posted a while ago be at the subscriber.
func (w *world) arrives(ago time.Duration) {
	one := int64(1)
	w.o.Tokens = append([]Token{{Posted: w.o.Now.Add(w.ahead - ago),
		Latency: mssql.TokenLatency{ToDistributor: &one, Overall: &one}}}, w.o.Tokens...)
}

// A copy that was kept and turns out to differ is replaced: when the difference stays, or the agent misses a row.
func TestKeptCopyThatDiffers(t *testing.T) {
	g := NewWithT(t)
	w := kept(t)
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).
		To(Equal(v1alpha1.ReasonValidating), "rows of between the comparison and the registration may be missing: %s",
			p.Outcome.Message)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
	differs := differing("dbo.Article has 3 rows", "3")
	look := func(c *replication.Comparison, after time.Duration) reconcile.Plan {
		w.o.Comparison, w.o.Now = c, w.o.Now.Add(after)
		w.arrives(time.Second / 2)
		p := plan(w.d, w.look())
		w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
		return p
	}
	status := func() *v1alpha1.SubscriptionInitialization { return w.d.Subscription.Status.Initialization }
	g.Expect(describeSteps(look(differs, time.Second))).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
	g.Expect(status().Differs).To(Equal(differs.Difference))
	g.Expect(describeSteps(look(differing(differs.Difference, "others"), differsFor))).
		NotTo(ContainElement(ContainSubstring("sp_dropsubscription")), "as many rows, and others of them are on their way")
	g.Expect(describeSteps(look(differing("dbo.Article has 2 rows", "2"), differsFor))).
		NotTo(
			ContainElement(ContainSubstring("sp_dropsubscription")), "it changes: something is on its way")
	g.Expect(describeSteps(look(&replication.Comparison{Difference: "changed meanwhile"}, differsFor))).
		NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
	look(differs, time.Second)
	g.Expect(describeSteps(look(differs, differsFor))).To(ContainElement(ContainSubstring("sp_dropsubscription")))

	w = kept(t)
	w.o.Comparison = nil
	w.fails(mssql.RunRetrying, time.Second)
	w.o.Now = w.o.Now.Add(time.Minute)
	w.o.Agent.ErrorCode, w.o.Agent.ErrorTime, w.o.Agent.ErrorAge = "20598", start, time.Second
	g.Expect(describeSteps(plan(w.d, w.look()))).To(ContainElement(ContainSubstring("sp_dropsubscription")))
	w.fails(0, 0)
	w.jobs[subscriber][jobOfAll].BetweenRetries = true
	g.Expect(describeSteps(plan(w.d, w.look()))).
		NotTo(ContainElement(ContainSubstring("sp_dropsubscription")), "why it does not go on now is not known")
	w.fails(mssql.RunRetrying, time.Second)
	w.o.Agent.ErrorAge = time.Hour
	g.Expect(describeSteps(plan(w.d, w.look()))).
		NotTo(ContainElement(ContainSubstring("sp_dropsubscription")), "an error of before")

	w = kept(t)
	look(equal(), time.Second)
	g.Expect(status().Validated).NotTo(BeNil())
	g.Expect(look(nil, time.Second).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	look(differs, time.Second)
	look(differs, differsFor)
	g.Expect(describeSteps(look(differs, differsFor))).
		NotTo(ContainElement(ContainSubstring("sp_dropsubscription")), "what differs later has other reasons")
}

// Who waits for a comparison is told what it waits for.
func TestWhatAComparisonWaitsFor(t *testing.T) {
	for says, pending := range map[string]*int64{
		"the distributor does not say now": nil, "; 7 commands are. If that never ends": ptr.To[int64](7),
	} {
		g := NewWithT(t)
		w := kept(t)
		w.o.Comparison, w.o.Pending = nil, pending
		p := plan(w.d, w.look())
		g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonValidating))
		g.Expect(p.Outcome.Message).To(ContainSubstring(says))
	}
}

// While nothing reads the publisher's log, rows are on their way that nobody counts as pending: a difference is none,
// and no copy is replaced for it.
func TestADifferenceWhileTheLogIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		stop     func(*world)
		replaces bool
	}{
		"it is read":                 {func(*world) {}, true},
		"the log reader stands":      {func(w *world) { w.o.LogReaderJob.Running = false }, false},
		"the log reader has no job":  {func(w *world) { w.o.LogReaderJob = nil }, false},
		"the log reader tries again": {func(w *world) { w.o.At.LogReader.Failure = mssql.RunRetrying }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := kept(t)
			since := metav1.NewTime(w.o.Now.Add(-differsFor - time.Second))
			s := w.d.Subscription.Status.Initialization
			s.Differs, s.DiffersDigest, s.DiffersSince, s.UnequalSince = "dbo.Article has 3 rows", "3", &since, &since
			w.o.Comparison = differing(s.Differs, "3")
			w.arrives(time.Second)
			c.stop(w)
			o := w.look()
			g.Expect(o.logIsRead(w.d)).To(Equal(c.replaces))
			drops := ContainElement(ContainSubstring("sp_dropsubscription"))
			if c.replaces {
				g.Expect(describeSteps(plan(w.d, o))).To(drops)
				return
			}
			g.Expect(describeSteps(plan(w.d, o))).NotTo(drops)
			before := w.d.Subscription.Status.Initialization.DeepCopy()
			g.Expect(initialization(w.d, o, reconcile.Plan{}).DiffersSince).To(Equal(before.DiffersSince))
		})
	}
}

// A log reader that runs may have brought nothing yet, and then nothing is pending: a difference is one once a tracer
// token that was posted after it was seen has come to the subscriber, by both queues. One is posted for that.
func TestADifferenceBeforeATokenHasArrived(t *testing.T) {
	const ago = differsFor + 10*time.Second
	one := int64(1)
	for name, c := range map[string]struct {
		change          func(*world)
		replaces, posts bool
	}{
		"posted after it":              {func(w *world) { w.arrives(ago - time.Second) }, true, false},
		"posted before it":             {func(w *world) { w.arrives(ago + time.Second) }, false, true},
		"none":                         {func(w *world) {}, false, true},
		"the tokens could not be read": {func(w *world) { w.o.TokensErr = errors.New("i/o timeout") }, false, false},
		"on its way": {func(w *world) {
			w.arrives(time.Second)
			w.o.Tokens[0].Latency.Overall = nil
		}, false, false},
		"on its way, and one that has arrived": {func(w *world) {
			w.arrives(20 * time.Second)
			w.arrives(time.Second)
			w.o.Tokens[0].Latency = mssql.TokenLatency{ToDistributor: &one}
		}, true, false},
		"posted before it by a clock that is ahead": {func(w *world) {
			w.ahead = 2 * time.Hour
			w.arrives(ago + time.Second)
		}, false, true},
		"posted after it by a clock that is behind": {func(w *world) {
			w.ahead = -2 * time.Hour
			w.arrives(ago - time.Second)
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := kept(t)
			since := metav1.NewTime(w.o.Now)
			w.o.Now, w.o.Tokens = w.o.Now.Add(ago), nil
			s := w.d.Subscription.Status.Initialization
			s.Differs, s.DiffersDigest, s.DiffersSince, s.UnequalSince = "dbo.Article has 3 rows", "3", &since, &since
			w.o.Comparison = differing(s.Differs, "3")
			c.change(w)
			p := plan(w.d, w.look())
			steps := describeSteps(p)
			if !c.replaces {
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonValidating))
				g.Expect(p.Outcome.Message).To(ContainSubstring("once a tracer token that was posted since then has come"))
			}
			g.Expect(slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "sp_dropsubscription") })).
				To(Equal(c.replaces), "%v", steps)
			g.Expect(slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "tracer token") })).
				To(Equal(c.posts), "%v", steps)
		})
	}
}

// A token that was posted while the tables were read shows nothing of what was written before they had been.
func TestADifferenceIsOneOfTheEndOfAComparison(t *testing.T) {
	g := NewWithT(t)
	w := kept(t)
	w.o.Comparison = differing("dbo.Article has 3 rows", "3")
	w.o.Compared = w.o.Now.Add(20*time.Minute + time.Millisecond)
	s := initialization(w.d, w.look(), reconcile.Plan{})
	g.Expect(s.DiffersSince.Time).To(Equal(w.o.Now.Add(20*time.Minute + time.Second)))
	g.Expect(s.LastCompared).To(Equal(s.DiffersSince), "or the next one would begin at once")
	w.d.Subscription.Status.Initialization = s
	w.o.Now = s.DiffersSince.Add(differsFor)
	w.arrives(differsFor + time.Minute)
	g.Expect(describeSteps(plan(w.d, w.look()))).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
}

// What a former publisher and a former distributor could still bring ends first, the login before all.
func TestSubscriptionOfAMovedPublication(t *testing.T) {
	g := NewWithT(t)
	w := comparing(&replication.Comparison{Equal: true, Steady: true})
	w.d.FormerLogin, w.o.FormerLogin = "geosql_replication_old", true
	w.o.Former = []Former{
		{
			Here: mssql.SubscriptionHere{
				Publisher:         "oldpub-0",
				PublisherDatabase: "Content",
				Publication:       "articles",
				Pull:              true,
			},
			Jobs: map[v1alpha1.ServerName]*mssql.Job{subscriber: {
				Running: true, Description: "geosql.dev web/dublin"}},
		},
	}
	var lines []string
	for range 10 {
		p := plan(w.d, w.look())
		if lines = describeSteps(p); len(lines) > 0 &&
			p.Outcome.Message == "the subscription to the former publisher is being ended" {
			break
		}
		for _, s := range p.Steps {
			w.do(t, s)
		}
	}
	g.Expect(lines).
		To(HaveExactElements(ContainSubstring("DROP LOGIN [geosql_replication_old]"), ContainSubstring("sp_stop_job"),
			ContainSubstring("sp_delete_job"),
			And(ContainSubstring("sp_droppullsubscription"), ContainSubstring("oldpub-0"))))
	g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
}

// A registration that was carried out and not reported is found again.
func TestRegistrationThatWasNotReported(t *testing.T) {
	g := NewWithT(t)
	w := kept(t)
	w.o.Comparison = nil
	for _, before := range []*v1alpha1.SubscriptionInitialization{nil,
		{Method: v1alpha1.InitializeSnapshot, Publisher: "oldpub-0"}} {
		w.d.Subscription.Status.Initialization = before
		now := initialization(w.d, w.look(), reconcile.Plan{})
		g.Expect(now.Method).To(Equal(v1alpha1.InitializeReplicationSupportOnly))
		g.Expect(now.Publisher).To(Equal("tukpub-0"))
	}
	add := replication.Plan{}
	add.Execute(publisher, "Content", tsql.AddSubscription(tsql.Subscription{}))
	w.o.Comparison = &replication.Comparison{Steady: true, Difference: "dbo.Article has 3 rows"}
	now := initialization(w.d, w.look(), add.Plan)
	g.Expect(now.Method).To(Equal(v1alpha1.InitializeSnapshot))
	g.Expect(now.Reason).To(ContainSubstring("dbo.Article has 3 rows"))
}

// A registration without a copy tells that the copy was kept, and not that a person lets it be replaced: with a status
// that was lost a copy that differs is replaced only where a comparison of this subscription is declared.
func TestAKeptCopyWhoseStatusWasLost(t *testing.T) {
	differs := differing("dbo.Article has 3 rows", "3")
	const ofAll = "one is declared of all Subscriptions"
	for name, declared := range map[string]bool{
		"a comparison is declared": true, "none is declared": false, ofAll: false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := kept(t)
			w.d.Subscription.Status = v1alpha1.SubscriptionStatus{}
			if !declared {
				w.d.Subscription.Annotations = nil
			}
			if name == ofAll {
				w.d.Publication.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeCompare}
			}
			var p reconcile.Plan
			for _, after := range []time.Duration{0, time.Second, differsFor, differsFor} {
				w.o.Now = w.o.Now.Add(after)
				w.arrives(time.Second / 2)
				p = plan(w.d, w.look())
				w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
				w.o.Comparison = differs
			}
			g.Expect(w.d.Subscription.Status.Initialization.Compared).To(Equal(declared))
			if declared {
				g.Expect(describeSteps(p)).To(ContainElement(ContainSubstring("sp_dropsubscription")))
				return
			}
			g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCopyDiffers), p.Outcome.Message)
			g.Expect(p.Outcome.Message).To(ContainSubstring("spec.initialization.method of the Subscription to Compare"))
		})
	}
}

// How a subscription was registered stays known while the distributor does not know of its publisher, or does not
// answer.
func TestRegistrationAtALostDistributor(t *testing.T) {
	for name, lose := range map[string]func(*Observed){
		"lost":          func(o *Observed) { o.At = replication.AtDistributor{} },
		"not answering": func(o *Observed) { o.At, o.AtErr = replication.AtDistributor{}, errors.New("i/o timeout") },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := kept(t)
			w.o.Comparison = nil
			before := w.d.Subscription.Status.Initialization.DeepCopy()
			o := w.look()
			lose(&o)
			g.Expect(o.registrations(w.d)).NotTo(BeEmpty())
			g.Expect(initialization(w.d, o, reconcile.Plan{})).To(Equal(before))
			w.d.Subscription.Status.Initialization = nil
			g.Expect(initialization(w.d, o, reconcile.Plan{})).To(BeNil(), "with which publisher is not known")
		})
	}
}

// An article that is added to a kept copy is registered without a copy, as the others were: its table is not there, and
// nothing brings it.
func TestArticleAddedToAKeptCopy(t *testing.T) {
	added := func(t *testing.T) *world {
		t.Helper()
		w := kept(t)
		w.d.Subscription.Annotations = nil
		w.o.Comparison = equal()
		w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), plan(w.d, w.look()))
		w.o.Comparison = nil
		NewWithT(t).Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
		w.o.Publication.Articles["dbo.more"] = mssql.PublishedArticle{ID: 3, Name: "dbo.More", Schema: "dbo", Table: "More"}
		w.o.Publication.Subscriptions = append(w.o.Publication.Subscriptions, mssql.ArticleSubscription{
			Article: "dbo.More", Subscriber: "dubsub-0", Database: "Content", Pull: true, Status: 2, DataWasThere: true})
		return w
	}
	g := NewWithT(t)
	w := added(t)
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonWaitingForTable))
	g.Expect(p.Outcome.Message).To(ContainSubstring("dbo.More"))

	w.o.Here.Tables["dbo.more"] = mssql.Table{Schema: "dbo", Name: "More"}
	g.Expect(plan(w.d, w.look()).Outcome.Reason).To(Equal(v1alpha1.ReasonValidating))
	look := func(c *replication.Comparison, after time.Duration) reconcile.Plan {
		w.o.Comparison, w.o.Now = c, w.o.Now.Add(after)
		w.arrives(time.Second / 2)
		p := plan(w.d, w.look())
		w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
		return p
	}
	other := differing("dbo.more has 50 rows at the publisher, 0 at the subscriber", "50 0")
	look(other, time.Second)
	g.Expect(due(w.d, w.look())).To(BeTrue())
	p = look(other, differsFor)
	g.Expect(describeSteps(p)).To(BeEmpty(), "nobody has said that all tables may be replaced")
	p = look(nil, time.Second)
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCopyDiffers))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("50 rows"),
		ContainSubstring("spec.initialization.method of the Subscription to Compare")))
	g.Expect(due(w.d, w.look())).To(BeFalse(), "it reads every row")

	w.d.Subscription.Annotations = map[string]string{v1alpha1.InitializationAnnotation: v1alpha1.InitializeCompare}
	g.Expect(describeSteps(look(other, differsFor))).To(ContainElement(ContainSubstring("sp_dropsubscription")))

	w = added(t)
	w.o.Here.Tables["dbo.more"] = mssql.Table{Schema: "dbo", Name: "More"}
	look(&replication.Comparison{Equal: true, Steady: true, Same: []string{"dbo.more"}}, time.Second)
	g.Expect(look(nil, time.Second).Outcome.Reason).To(Equal(v1alpha1.ReasonDelivering))
	g.Expect(w.d.Subscription.Status.Initialization.ValidatedArticles).
		To(ConsistOf("0 dbo.Article", "0 dbo.Attachment", "3 dbo.More"))
	again := w.o.Publication.Articles["dbo.more"]
	again.ID, w.o.Publication.Articles["dbo.more"] = 4, again
	again.ID = 4
	w.o.Publication.Articles["dbo.more"] = again
	g.Expect(look(nil, time.Second).Outcome.Reason).
		To(Equal(v1alpha1.ReasonValidating), "it was dropped and added again")

	w = added(t)
	last := &w.o.Publication.Subscriptions[len(w.o.Publication.Subscriptions)-1]
	last.DataWasThere, last.Status = false, mssql.SubscriptionWaiting
	g.Expect(w.look().mirrors(w.d)).To(BeTrue(), "an engine that gives it a snapshot: the agent needs that")
	p = plan(w.d, w.look())
	g.Expect(p.Outcome.Ready).NotTo(Equal(metav1.ConditionTrue))
}

// Tables that change each time they are compared are never taken for equal: a person is asked after a while, and each
// comparison comes later than the one before.
func TestCopyThatIsNeverValidated(t *testing.T) {
	g := NewWithT(t)
	w := kept(t)
	compared := 0
	for range 240 {
		w.o.Now, w.o.Comparison = w.o.Now.Add(15*time.Second), nil
		if due(w.d, w.look()) {
			compared++
			w.o.Comparison = &replication.Comparison{
				Difference: "the publisher's table of dbo.Article changed while it was compared",
				Same:       []string{"dbo.attachment"},
			}
		}
		p := plan(w.d, w.look())
		g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionFalse))
		g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
		w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
	}
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Progress).To(Equal(conditions.Stuck))
	g.Expect(p.Outcome.Message).To(And(HavePrefix("1 articles"), ContainSubstring("dbo.article"),
		ContainSubstring("kubectl geosql reinitialize dublin")))
	g.Expect(compared).To(BeNumerically("<", 20), "in an hour")
}

func describeSteps(p reconcile.Plan) []string {
	var lines []string
	for _, s := range p.Steps {
		lines = append(lines, s.Describe())
	}
	return lines
}
