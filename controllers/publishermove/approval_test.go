// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// estimatedSite is a lost publisher whose move has an estimate that nobody has approved.
func estimatedSite() (Desired, Observed) {
	d, o := lostSite()
	d.Move.Spec.Approved, d.Move.Status.Estimate = false, nil
	d.Move.Status = describe(d, o, plan(d, o))
	return d, o
}

// An approval is about the estimate that was seen: once it is worse a person is asked again, and nothing is done until
// then.
func TestAnApprovalIsAboutTheEstimateThatWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Desired, *Observed)
		says string
	}{
		"nothing changes": {func(*Desired, *Observed) {}, ""},
		"more was delivered": {func(_ *Desired, o *Observed) {
			here := *o.Copies["dublin"].Here
			here.Last = []byte{9}
			o.Copies["dublin"] = Copy{Here: &here}
		}, ""},
		"the copy was restored": {func(_ *Desired, o *Observed) {
			here := *o.Copies["dublin"].Here
			here.Last = []byte{1}
			o.Copies["dublin"] = Copy{Here: &here}
		}, "gone back from transaction 0x02"},
		"more is known to be lost": {func(d *Desired, _ *Observed) {
			d.Publication.Status.Newest = &v1alpha1.ReplicatedTransaction{Transaction: "0x05"}
		}, "0x05"},
		"another copy may be replaced": {func(d *Desired, _ *Observed) {
			d.Subscriptions = append(d.Subscriptions, intoArchive())
		}, "Subscription dublin-archive has come"},
		"part of a table is not published": {func(d *Desired, _ *Observed) {
			d.Publication.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Part", Filter: "Id > 7"}}
			d.Move.Spec.AcceptLacking = []v1alpha1.MoveLackKind{v1alpha1.LackRows}
		}, "dbo.Part lacks Rows"},
		"its agent skips errors now": {func(d *Desired, _ *Observed) {
			d.SkippedErrors = map[string][]int32{"dublin": {20598}}
		}, "agent of Subscription dublin skips errors"},
	} {
		for _, named := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				g := NewWithT(t)
				d, o := estimatedSite()
				seen := d.Move.Status.Estimate.Digest
				g.Expect(seen).NotTo(BeEmpty())
				d.Move.Spec.Approved = true
				if named {
					d.Move.Spec.ApprovedEstimate = seen
				}
				c.edit(&d, &o)
				p := plan(d, o)
				if c.says == "" {
					g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveSwitching), p.Outcome.Message)
					return
				}
				for range 3 {
					g.Expect(p.Steps).To(BeEmpty())
					g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonAwaitingApproval))
					g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
					d.Move.Status = describe(d, o, p)
					o.Now = o.Now.Add(2 * time.Minute)
					p = plan(d, o)
				}
				g.Expect(p.Outcome.Message).To(ContainSubstring("set spec.approvedEstimate to its digest, " +
					d.Move.Status.Estimate.Digest))
				d.Move.Spec.ApprovedEstimate = d.Move.Status.Estimate.Digest
				g.Expect(phaseOf(plan(d, o))).To(Equal(v1alpha1.MoveSwitching))
			})
		}
	}
}

// An approval that lay in a repository before anybody could see an estimate is about none.
func TestAnApprovalBeforeTheEstimate(t *testing.T) {
	g := NewWithT(t)
	d, o := estimatedSite()
	d.Move.Spec.Approved, d.Move.Spec.ApprovedEstimate = true, "an estimate of last year"
	d.Move.Status = v1alpha1.PublisherMoveStatus{}
	for range 3 {
		p := plan(d, o)
		g.Expect(p.Steps).To(BeEmpty())
		g.Expect(phaseOf(p)).To(Equal(v1alpha1.MoveEstimated))
		d.Move.Status = describe(d, o, p)
	}
	g.Expect(plan(d, o).Outcome.Message).To(ContainSubstring("names another estimate"))
	d.Move.Spec.ApprovedEstimate = ""
	g.Expect(plan(d, o).Outcome.Message).To(ContainSubstring("before there was an estimate"))
	g.Expect(goes(d.Move)).To(BeFalse(), "and it keeps no other move waiting")
	d.Move.Spec.ApprovedEstimate = d.Move.Status.Estimate.Digest
	g.Expect(phaseOf(plan(d, o))).To(Equal(v1alpha1.MoveSwitching))
}

// The digest stays while nothing is worse, so what a person has read a minute ago can be approved.
func TestTheDigestStays(t *testing.T) {
	g := NewWithT(t)
	d, o := estimatedSite()
	seen := d.Move.Status.Estimate
	o.Now = o.Now.Add(time.Hour)
	d.Subscriptions[0].Status.Latency = &v1alpha1.LatencyStatus{PostedAt: ptr.To(metav1.NewTime(noon))}
	d.Move.Status = describe(d, o, plan(d, o))
	g.Expect(d.Move.Status.Estimate.Time).NotTo(Equal(seen.Time))
	g.Expect(d.Move.Status.Estimate.Digest).To(Equal(seen.Digest))
	d.Subscriptions = append(d.Subscriptions, intoArchive())
	o.Now = o.Now.Add(time.Hour)
	g.Expect(describe(d, o, plan(d, o)).Estimate.Digest).NotTo(Equal(seen.Digest))
}

// What was delivered to a copy does not say what its rows are: only a comparison does.
func TestTheEstimateSaysWhatIsKnownOfTheContent(t *testing.T) {
	at := metav1.NewTime(noon.Add(-time.Hour))
	registered := func(edit func(*v1alpha1.SubscriptionInitialization)) func(*Desired) {
		return func(d *Desired) {
			i := &v1alpha1.SubscriptionInitialization{Publisher: "tukpub-0"}
			edit(i)
			d.Subscriptions[0].Status.Initialization = i
			d.Subscriptions[0].Status.Latency = &v1alpha1.LatencyStatus{PostedAt: &at}
		}
	}
	for name, c := range map[string]struct {
		edit    func(*Desired)
		content v1alpha1.MoveContent
		says    string
	}{
		"never compared": {registered(func(*v1alpha1.SubscriptionInitialization) {}), v1alpha1.ContentNotCompared,
			"were not compared with the former publisher's"},
		"compared an hour ago": {registered(func(i *v1alpha1.SubscriptionInitialization) { i.Validated = &at }),
			v1alpha1.ContentEqual, "at 2026-03-01T11:00:00Z; since then they were not compared"},
		"compared with an earlier publisher": {registered(func(i *v1alpha1.SubscriptionInitialization) {
			i.Publisher, i.Validated = "blupub-0", &at
		}), v1alpha1.ContentNotCompared, "were not compared"},
		"it differs": {registered(func(i *v1alpha1.SubscriptionInitialization) {
			i.Differs, i.DiffersSince, i.Validated = "dbo.Article", &at, &at
		}), v1alpha1.ContentDiffers, "shown a difference since 2026-03-01T11:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := lostSite()
			c.edit(&d)
			e := estimate(d, o)
			g.Expect(e.Subscribers[0].Content).To(Equal(c.content))
			g.Expect(e.Summary).To(And(ContainSubstring(c.says), Not(ContainSubstring("has everything"))))
		})
	}
	g := NewWithT(t)
	d, o := living()
	o.Comparison = equal
	g.Expect(estimate(d, o).Subscribers[0].Content).To(Equal(v1alpha1.ContentEqual))
}

// An agent that skips errors has gone on with changes left out: its copy is not complete until anything, and is the
// best one only when something speaks against every other.
func TestACopyWhoseAgentSkipsErrors(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	seen := metav1.NewTime(noon)
	d.Subscriptions[0].Status.Latency = &v1alpha1.LatencyStatus{PostedAt: &seen}
	d.SkippedErrors = map[string][]int32{"dublin": {20598, 2627}}
	o.Copies["dublin"] = Copy{Here: o.Copies["dublin"].Here, Rows: ptr.To[int64](80)}
	o.Copies["quincy"] = Copy{Here: o.Copies["quincy"].Here, Rows: ptr.To[int64](100)}
	e := estimate(d, o)
	g.Expect(e.Best).To(BeEquivalentTo("quisub"))
	g.Expect(e.Subscribers[0].Skips).To(Equal("20598, 2627"))
	g.Expect(e.Subscribers[0].CompleteUntil).To(BeNil())
	g.Expect(e.Summary).To(And(
		ContainSubstring("skips errors 20598, 2627, or has: changes that met one of them are missing"),
		ContainSubstring("Nothing speaks against the copy of quisub-0"), ContainSubstring("dubsub-0 80, quisub-0 100")))
	d.SkippedErrors["quincy"] = []int32{20598}
	g.Expect(estimate(d, o).Best).To(BeEquivalentTo("dubsub"))

	// The profile was taken away: what was skipped is still missing.
	d.SkippedErrors = nil
	i := d.Subscriptions[0].Status.Initialization
	if i == nil {
		i = &v1alpha1.SubscriptionInitialization{}
		d.Subscriptions[0].Status.Initialization = i
	}
	i.Skipped, i.SkippedAt = "20598", &seen
	e = estimate(d, o)
	g.Expect(e.Best).To(BeEquivalentTo("quisub"))
	g.Expect(e.Subscribers[0].CompleteUntil).To(BeNil())
	g.Expect(e.Summary).To(ContainSubstring("skips errors 20598, or has"))
}

// Of a publisher that is lost the other copies tell what it may have had, and the copy itself what it has none of.
func TestWhatACopyLacksOfALostPublisher(t *testing.T) {
	g := NewWithT(t)
	d, o := lostSite()
	d.Move.Spec.Approved = false
	d.Publication.Spec.Articles = []v1alpha1.Article{{Table: "dbo.Article"}}
	o.CopyRules = map[string]reconcile.Reading[[]mssql.TableRule]{
		"dublin": reconcile.Read([]mssql.TableRule{{Table: "dbo.Article", Kind: "Identity", Name: "Id", Last: "1"},
			{Table: "dbo.Elsewhere", Kind: "Check", Name: "CK_E"}}),
		"quincy": reconcile.Read([]mssql.TableRule{{Table: "dbo.Article", Kind: "Identity", Name: "Id", Last: "9"},
			{Table: "dbo.Article", Kind: "Check", Name: "CK_A"}, {Table: "dbo.Elsewhere", Kind: "Check", Name: "CK_F"}}),
	}
	e := estimate(d, o)
	g.Expect(e.Lacks).To(ConsistOf(v1alpha1.MoveLack{Table: "dbo.Article", Kind: v1alpha1.LackCheck, Names: "CK_A",
		SeenAt: "quisub"}))
	g.Expect(e.Summary).To(And(ContainSubstring("named with seenAt"),
		ContainSubstring("tables of dubsub-0 have, by its own catalogue: Identity 1, Default 0, Check 0, ForeignKey 0, "+
			"Trigger 0, RowVersion 0."),
		ContainSubstring("snapshots bring no identity columns, defaults or CHECK constraints (spec.schemaOptions)"),
		ContainSubstring("could not be compared: look there")))
	d.Move.Status.Estimate = e
	g.Expect(unaccepted(d.Move)).To(BeEmpty(), "whether the publisher had it is not known")

	o.CopyRules["dublin"] = reconcile.NotRead[[]mssql.TableRule](silent)
	e = estimate(d, o)
	g.Expect(e.Lacks).To(BeEmpty())
	g.Expect(e.Summary).To(And(Not(ContainSubstring("catalogue")), ContainSubstring("is not known either"),
		ContainSubstring("could not be compared")))
	d.Publication.Spec.SchemaOptions = v1alpha1.SchemaPublishable
	g.Expect(estimate(d, o).Summary).NotTo(ContainSubstring("snapshots bring no"))
}

// What an estimate said would be delivered first is lost with the distributor that had it.
func TestADistributorThatEndsMakesAnEstimateWorse(t *testing.T) {
	g := NewWithT(t)
	d, _ := estimatedSite()
	last := &v1alpha1.ReplicatedTransaction{Transaction: "0x02"}
	newest := &v1alpha1.ReplicatedTransaction{Transaction: "0x05"}
	with := func(deliverable *int64, has *v1alpha1.ReplicatedTransaction) *v1alpha1.MoveEstimate {
		return &v1alpha1.MoveEstimate{Deliverable: deliverable, Newest: newest, Subscribers: []v1alpha1.MoveEvidence{
			{Subscription: "dublin", Answers: true, Last: has},
		}}
	}
	g.Expect(worsened(d, with(ptr.To[int64](5000), last), with(nil, last))).To(ContainSubstring("5000 commands"))
	g.Expect(worsened(d, with(ptr.To[int64](0), last), with(nil, last))).To(BeEmpty(), "it had nothing")
	g.Expect(worsened(d, with(ptr.To[int64](5000), last), with(nil, newest))).To(BeEmpty(), "all has come")
	g.Expect(worsened(d, with(ptr.To[int64](5000), last), with(ptr.To[int64](4000), last))).To(BeEmpty())
}
