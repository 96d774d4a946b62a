// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// An hour with tables that clients write to all the time: a copy is never thrown away for what is on its way, a person
// is told, and rows are not read back to back.
func TestAKeptCopyOfTablesThatClientsWriteTo(t *testing.T) {
	moved := &replication.Comparison{Difference: "the publisher's table of dbo.Article changed while it was compared"}
	for name, found := range map[string]func(i int) *replication.Comparison{
		"rows are inserted": func(i int) *replication.Comparison {
			return differing(fmt.Sprintf("dbo.Article has %d rows at the publisher, %d at the subscriber", i+1, i),
				fmt.Sprint(i))
		},
		"rows are updated": func(i int) *replication.Comparison {
			return differing("dbo.Article has 3 rows at both, and not the same", fmt.Sprint(i))
		},
		"they go back to what they were, and were seen to change": func(i int) *replication.Comparison {
			if i%2 == 1 {
				return moved
			}
			return differing("dbo.Article has 3 rows at both, and not the same", "3")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := kept(t)
			compared, told := 0, 0
			for i := range 240 {
				w.o.Now, w.o.Comparison = w.o.Now.Add(15*time.Second), nil
				w.arrives(time.Second)
				if due(w.d, w.look()) {
					w.o.Comparison, w.o.Compared = found(compared), w.o.Now.Add(time.Second)
					compared++
				}
				p := plan(w.d, w.look())
				g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonValidating))
				w.d.Subscription.Status.Initialization = initialization(w.d, w.look(), p)
				if p.Outcome.Progress == conditions.Stuck {
					told++
					g.Expect(p.Outcome.Message).To(And(Or(ContainSubstring("because they changed each time"),
						ContainSubstring("which was another difference each time")), ContainSubstring("geosql reinitialize")))
				} else {
					g.Expect(i).To(BeNumerically("<", 20*4), "a quarter of an hour, and the comparison after it: %s",
						p.Outcome.Message)
				}
			}
			g.Expect(told).To(BeNumerically(">", 0))
			g.Expect(compared).To(BeNumerically("<", 20), "in an hour")
		})
	}
}

// differsSince is a copy of which a difference stands since a while.
func differsSince(t *testing.T, ago time.Duration) *world {
	t.Helper()
	w := kept(t)
	since := metav1.NewTime(w.o.Now)
	s := w.d.Subscription.Status.Initialization
	s.Differs, s.DiffersDigest = "dbo.Article has 3 rows", "3"
	s.DiffersSince, s.UnequalSince, s.LastCompared = &since, &since, &since
	w.o.Now, w.o.Tokens, w.o.Comparison = w.o.Now.Add(ago), nil, nil
	return w
}

// Before what was on its way has come a comparison concludes nothing, reads every row, and holds up the token that is
// waited for.
func TestNoComparisonBeforeATokenHasArrived(t *testing.T) {
	for name, c := range map[string]struct {
		ago    time.Duration
		change func(*world)
		due    bool
	}{
		"none is posted":        {time.Second, func(*world) {}, false},
		"one is on its way":     {time.Minute, (*world).posts, false},
		"for a long time":       {validateFor, (*world).posts, true},
		"it has come":           {time.Minute, func(w *world) { w.arrives(time.Second) }, true},
		"one from before has":   {time.Minute, func(w *world) { w.arrives(2 * time.Minute) }, false},
		"the tables are others": {time.Minute, func(w *world) { w.status().DiffersDigest = "" }, true},
		"nothing is replaced": {time.Minute, func(w *world) {
			w.d.Subscription.Annotations, w.status().Compared = nil, false
		}, true},
		"they were equal before": {time.Minute, func(w *world) { w.status().UnequalSince = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := differsSince(t, c.ago)
			c.change(w)
			NewWithT(t).Expect(due(w.d, w.look())).To(Equal(c.due))
		})
	}
}

// posts has a token be on its way since a second.
func (w *world) posts() {
	w.arrives(time.Second)
	w.o.Tokens[0].Latency.Overall = nil
}

func (w *world) status() *v1alpha1.SubscriptionInitialization {
	return w.d.Subscription.Status.Initialization
}

// Who waits for a new copy is told what for, and asked once that takes long: since a token is on its way, and not since
// the difference was found, from when on a comparison or a manager that was gone may have kept it from being posted.
func TestWhatAStandingDifferenceWaitsFor(t *testing.T) {
	onItsWay := func(ago ...time.Duration) func(*world) {
		return func(w *world) {
			for _, a := range ago {
				w.arrives(a)
				w.o.Tokens[0].Latency.Overall = nil
			}
		}
	}
	for name, c := range map[string]struct {
		ago    time.Duration
		change func(*world)
		stuck  bool
		says   string
	}{
		"a token is posted":       {15 * time.Minute, func(*world) {}, false, "once a tracer token"},
		"none is ever known":      {2 * validateFor, func(*world) {}, true, "None that was posted since is known"},
		"one was posted just now": {time.Hour, onItsWay(time.Second), false, "once a tracer token"},
		"for a while, and others behind it": {time.Hour, onItsWay(11*time.Minute, time.Minute, time.Second), true,
			"None has for 11m0s: see to what keeps it"},
		"behind one from before": {11 * time.Minute, onItsWay(2*time.Hour, time.Minute), true, "None has for 11m0s"},
		"and that a while ago":   {9 * time.Minute, onItsWay(2*time.Hour, time.Minute), false, "once a tracer token"},
		"they cannot be read": {time.Minute, func(w *world) { w.o.TokensErr = errors.New("i/o timeout") }, false,
			"the tokens cannot be read: i/o timeout"},
		"for long": {validateFor, func(w *world) { w.o.TokensErr = errors.New("i/o timeout") }, true, "i/o timeout. See to"},
		"it has come": {validateFor, func(w *world) {
			w.arrives(time.Second)
			pending := int64(7)
			w.o.Pending = &pending
		}, false, "compared once more, when nothing is pending; 7 commands are"},
		"and that never ends": {2 * validateFor, func(w *world) {
			w.arrives(time.Second)
			pending := int64(7)
			w.o.Pending = &pending
		}, true, "7 commands are. If that never ends"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := differsSince(t, c.ago)
			c.change(w)
			p := plan(w.d, w.look())
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonValidating))
			g.Expect(p.Outcome.Message).To(And(ContainSubstring(c.says), ContainSubstring(w.status().Differs),
				Not(ContainSubstring("changed each time"))))
			g.Expect(p.Outcome.Progress == conditions.Stuck).To(Equal(c.stuck), p.Outcome.Message)
			g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
		})
	}
}

// A comparison of a release that kept no digest tells no rows from others: the next one begins anew, and what was not
// equal then is so since.
func TestADifferenceOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	w := differsSince(t, time.Hour)
	since := w.status().DiffersSince
	w.status().DiffersDigest, w.status().UnequalSince = "", nil
	w.arrives(time.Second)
	g.Expect(due(w.d, w.look())).To(BeTrue())
	w.o.Comparison = differing(w.status().Differs, "3")
	p := plan(w.d, w.look())
	g.Expect(describeSteps(p)).NotTo(ContainElement(ContainSubstring("sp_dropsubscription")))
	s := initialization(w.d, w.look(), p)
	g.Expect(s.DiffersSince.Time).To(Equal(w.o.Now))
	g.Expect(s.UnequalSince).To(Equal(since))
}

// A comparison that failed says nothing of what was found before, and rests from its end.
func TestAComparisonThatFails(t *testing.T) {
	g := NewWithT(t)
	w := differsSince(t, time.Minute)
	before := w.status().DeepCopy()
	w.o.ComparisonErr, w.o.Compared = errors.New("i/o timeout"), w.o.Now.Add(30*time.Minute)
	s := initialization(w.d, w.look(), reconcile.Plan{})
	g.Expect(s.LastCompared.Time).To(BeTemporally(">", w.o.Compared))
	before.LastCompared = s.LastCompared
	g.Expect(s).To(Equal(before))
}
