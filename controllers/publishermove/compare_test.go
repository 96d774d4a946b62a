// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

// living is a publisher that answers and is read-only, with nothing on its way from it.
func living() (Desired, Observed) {
	d, o := lostSite()
	d.Move.Spec.FencedServers, o.ReadOnly = nil, "tukpub"
	o.Old = Old{Asked: true, Pending: map[string]int64{"dublin": 0, "quincy": 0}}
	return d, o
}

var equal = &replication.Comparison{Equal: true, Steady: true, Rows: 200}

// All rows of two servers at work are read when nothing but that is missing, once a minute at most until a person has
// approved, and once more when the move begins.
func TestWhenTablesAreCompared(t *testing.T) {
	ago := func(age time.Duration, c *replication.Comparison) *Compared {
		return &Compared{At: noon.Add(-age), Comparison: c}
	}
	differs := &replication.Comparison{Difference: "dbo.Article has 201 rows"}
	for name, c := range map[string]struct {
		edit  func(*Desired, *Observed)
		asked bool
		have  *replication.Comparison
	}{
		"approved":     {func(*Desired, *Observed) {}, true, equal},
		"not approved": {func(d *Desired, _ *Observed) { d.Move.Spec.Approved = false }, true, equal},
		"refused for silence": {func(d *Desired, _ *Observed) { d.From.Servers = append(d.From.Servers, "quipub") },
			false, nil},
		"refused for its answer": {func(_ *Desired, o *Observed) { o.ReadOnly, o.Answering = "", []string{"tukpub-0"} },
			false, nil},
		"another move is first": {func(d *Desired, _ *Observed) { d.Other = "first" }, false, nil},
		"overtaken": {func(d *Desired, _ *Observed) { d.Publication.Spec.Publisher.Server = "dubsub" }, false,
			nil},
		"no Subscription":       {func(d *Desired, _ *Observed) { d.Subscriptions = d.Subscriptions[1:] }, false, nil},
		"a silent successor":    {func(_ *Desired, o *Observed) { o.To = replication.Server{Err: silent} }, false, nil},
		"the old way is ended":  {func(d *Desired, _ *Observed) { *d = begun(*d) }, false, nil},
		"on its way":            {func(_ *Desired, o *Observed) { o.Old.Pending["dublin"] = 7 }, false, nil},
		"on its way to another": {func(_ *Desired, o *Observed) { o.Old.Pending["quincy"] = 7 }, false, nil},
		"a silent distributor": {func(d *Desired, o *Observed) { o.Old, d.FromSystem = Old{Err: silent}, d.System },
			false, nil},
		"undelivered, and skipped": {func(d *Desired, o *Observed) {
			o.Old.Pending["dublin"], d.Move.Spec.SkipUndelivered = 7,
				true
		}, true, equal},
		"on its way to another, not approved": {func(d *Desired, o *Observed) {
			o.Old.Pending["quincy"], d.Move.Spec.Approved = 7, false
		}, true, equal},
		"compared before, not approved": {func(d *Desired, _ *Observed) {
			d.Move.Spec.Approved, d.Compared = false, ago(59*time.Second, differs)
		}, false, differs},
		"compared long before, not approved": {func(d *Desired, _ *Observed) {
			d.Move.Spec.Approved, d.Compared = false, ago(time.Minute, differs)
		}, true, equal},
		"compared before the approval": {func(d *Desired, _ *Observed) {
			d.Move.Generation, d.Compared = 2, ago(time.Second, differs)
		}, true, equal},
		"equal after the approval": {func(d *Desired, _ *Observed) { d.Compared = ago(time.Second, equal) }, true, equal},
		"refused after the approval": {func(d *Desired, _ *Observed) { d.Compared = ago(time.Second, differs) }, false,
			differs},
		"unknown after the approval": {func(d *Desired, _ *Observed) {
			d.Compared = &Compared{At: noon, Err: silent}
		}, true, equal},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := living()
			c.edit(&d, &o)
			asked := false
			o.compare(
				d,
				func() time.Time { return noon.Add(time.Second) },
				func(from v1alpha1.ServerName) (*replication.Comparison, error) {
					g.Expect(from).To(BeEquivalentTo("tukpub"))
					asked = true
					return equal, nil
				},
				func(o *Observed) { o.ReadOnly = "tukpub" },
			)
			g.Expect(asked).To(Equal(c.asked))
			g.Expect(o.Comparison).To(Equal(c.have))
			g.Expect(o.Compared != nil).To(Equal(c.have != nil), "what is remembered")
		})
	}
}

// What was read before all rows were is old: a database that was opened meanwhile may have taken writes.
func TestAPublisherThatIsOpenedWhileItIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		former func(*Observed)
		reason string
	}{
		"opened":     {func(o *Observed) { o.Answering = []string{"tukpub-0"} }, v1alpha1.ReasonPublisherAnswers},
		"silent now": {func(*Observed) {}, v1alpha1.ReasonPublisherNotFenced},
		"as it was":  {func(o *Observed) { o.ReadOnly = "tukpub" }, v1alpha1.ReasonSwitching},
		"another lives": {func(o *Observed) { o.ReadOnly, o.Answering = "tukpub", []string{"quipub-0"} },
			v1alpha1.ReasonPublisherAnswers},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := living()
			later := noon.Add(25 * time.Minute)
			o.compare(
				d,
				func() time.Time { return later },
				func(v1alpha1.ServerName) (*replication.Comparison, error) { return equal, nil },
				c.former,
			)
			p := plan(d, o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			g.Expect(o.Now).To(Equal(later), "the record has when it was known")
		})
	}
}

// A publisher that was silent at first may have come back while copies and distributor were asked: what it takes since
// arrives nowhere once the move begins.
func TestAPublisherThatComesBackWhileOthersAreAsked(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*Desired, *Observed)
		former func(*Observed)
		reason string
		asked  int
	}{
		"silent still": {nil, func(*Observed) {}, v1alpha1.ReasonSwitching, 1},
		"back": {nil, func(o *Observed) { o.Answering = []string{"tukpub-0"} },
			v1alpha1.ReasonPublisherAnswers, 1},
		"back, and read-only": {nil, func(o *Observed) { o.ReadOnly = "tukpub" }, v1alpha1.ReasonDraining, 1},
		"there at first": {func(_ *Desired, o *Observed) { o.Answering = []string{"tukpub-0"} }, func(*Observed) {},
			v1alpha1.ReasonPublisherAnswers, 0},
		"the old way is ended": {func(d *Desired, _ *Observed) { *d = begun(*d) }, func(*Observed) {}, "", 0},
		"was equal, and is silent": {func(d *Desired, o *Observed) {
			d.Move.Spec.FencedServers, o.ReadOnly, d.Move.Spec.Approved = nil, "tukpub", false
			d.Compared = &Compared{At: noon, Comparison: equal}
		}, func(*Observed) {}, v1alpha1.ReasonPublisherNotFenced, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := lostSite()
			if c.edit != nil {
				c.edit(&d, &o)
			}
			later, asked := noon.Add(time.Minute), 0
			o.compare(d, func() time.Time { return later },
				func(v1alpha1.ServerName) (*replication.Comparison, error) { return equal, nil },
				func(o *Observed) {
					g.Expect(o.Answering).To(BeEmpty())
					g.Expect(o.ReadOnly).To(BeEmpty(), "what was read before does not stand")
					asked++
					c.former(o)
				})
			g.Expect(asked).To(Equal(c.asked))
			p := plan(d, o)
			if c.reason != "" {
				g.Expect(p.Steps).To(BeEmpty())
				g.Expect(p.Outcome.Reason).To(Equal(c.reason), p.Outcome.Message)
			}
			if c.asked > 0 {
				g.Expect(o.Now).To(Equal(later), "the record has when it was known")
			}
			g.Expect(o.Comparison == nil || o.ReadOnly != "").To(BeTrue(), "it says nothing of one that is silent")
		})
	}
}

// The estimate is made when all that it needs is known, once a minute until it is approved, and when it says what is
// not so any more.
func TestWhenTheLossIsEstimated(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Desired, *Observed)
		want bool
	}{
		"first":         {func(*Desired, *Observed) {}, true},
		"refused":       {func(_ *Desired, o *Observed) { o.ReadOnly, o.Answering = "", []string{"tukpub-0"} }, false},
		"differs":       {func(_ *Desired, o *Observed) { o.Comparison = &replication.Comparison{} }, false},
		"on its way":    {func(_ *Desired, o *Observed) { o.Comparison, o.Old.Pending["dublin"] = nil, 7 }, false},
		"fresh":         {func(d *Desired, _ *Observed) { d.Move.Status.Estimate = estimated(59*time.Second, true) }, false},
		"old":           {func(d *Desired, _ *Observed) { d.Move.Status.Estimate = estimated(time.Minute, true) }, true},
		"of a lost one": {func(d *Desired, _ *Observed) { d.Move.Status.Estimate = estimated(time.Second, false) }, true},
		"silent now": {func(d *Desired, o *Observed) {
			d.Move.Status.Estimate, d.Move.Spec.FencedServers = estimated(time.Second, true), []v1alpha1.ServerName{"tukpub"}
			o.ReadOnly, o.Comparison = "", nil
		}, true},
		"approved": {func(d *Desired, _ *Observed) {
			d.Move.Spec.Approved, d.Move.Status.Estimate = true, estimated(time.Hour, true)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := living()
			d.Move.Spec.Approved, d.Move.Status.Estimate, o.Comparison = false, nil, equal
			c.edit(&d, &o)
			g.Expect(d.estimates(o)).To(Equal(c.want))
			before := d.Move.Status.Estimate.DeepCopy()
			after := describe(d, o, plan(d, o)).Estimate
			if !c.want {
				g.Expect(after).To(Equal(before))
				return
			}
			g.Expect(after).To(And(HaveField("Time.Time", noon), HaveField("Lossless", o.lossless())))
		})
	}
}

func estimated(age time.Duration, lossless bool) *v1alpha1.MoveEstimate {
	return &v1alpha1.MoveEstimate{Time: metav1.NewTime(noon.Add(-age)), Lossless: lossless}
}

// To let the former publisher write again helps when rows are missing, and against nothing else.
func TestWhatHelpsAgainstADifference(t *testing.T) {
	for name, c := range map[string]struct {
		comparison replication.Comparison
		says, not  string
	}{
		"rows": {replication.Comparison{Steady: true, Difference: "dbo.Article has 201 rows"}, "READ_WRITE",
			"spec.fencedServers"},
		"filter": {replication.Comparison{Impossible: true, Difference: "article dbo.Article has a filter"},
			"stop tukpub-0, and name it in spec.fencedServers", "READ_WRITE"},
		"writes": {replication.Comparison{Difference: "the publisher's tables changed"}, "compared again", "READ_WRITE"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := living()
			o.Comparison = &c.comparison
			p := plan(d, o)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCopyDiffers))
			g.Expect(p.Outcome.Message).
				To(And(HavePrefix(c.comparison.Difference), ContainSubstring(c.says), Not(ContainSubstring(c.not))))
		})
	}
}

// One manager remembers comparisons of moves that wait.
func TestComparisonsAreForgotten(t *testing.T) {
	g := NewWithT(t)
	var c comparisons
	g.Expect(c.of("one")).To(BeNil())
	one := &Compared{At: noon}
	c.keep("one", one)
	g.Expect(c.of("one")).To(Equal(one))
	c.keep("one", nil)
	g.Expect(c.last).To(BeEmpty())
}
