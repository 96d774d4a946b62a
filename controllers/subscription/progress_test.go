// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// copied looks at a world some time later, and keeps what status says of the copy.
func (w *world) copied(after time.Duration) *v1alpha1.SubscriptionCopy {
	w.o.Now = w.o.Now.Add(after)
	w.d.Subscription.Status = describe(w.d, w.look())
	return w.d.Subscription.Status.Copy
}

// unapplied is a subscription that is registered and waits for the snapshot of its first copy.
func unapplied(t *testing.T) *world {
	t.Helper()
	w := newWorld(declared())
	w.d.Publication.Status.Size = &v1alpha1.CopySize{Rows: 12, Bytes: 125_000_000}
	w.d.Route = replication.Route{Site: "dublin", Links: []replication.Link{{From: "tukwila", To: "dublin",
		Bandwidth: "1Gbit"}}}
	w.settle(t, all)
	w.o.Here.Subscriptions[0].Applied, w.o.Mirror.Status = false, nil
	w.d.Subscription.Status.MirroredSnapshot = ""
	w.o.Publication.Subscriptions[0].Status = mssql.SubscriptionWaiting
	return w
}

func (w *world) mirrors(s files.Status) {
	s.Subscription, s.Generation, s.Snapshot = "dublin", w.o.At.LastSnapshot, "20261120"
	w.o.Mirror.Status = &s
}

// Status follows a copy through its phases, with what each took by the operator's clock or the sidecar's.
func TestProgressOfAFirstCopy(t *testing.T) {
	g := NewWithT(t)
	w := unapplied(t)
	w.d.Subscription.Status = v1alpha1.SubscriptionStatus{}
	g.Expect(w.copied(0)).To(And(HaveField("Phase", v1alpha1.CopySnapshot), HaveField("Again", false),
		HaveField("ExpectedSeconds", HaveValue(BeEquivalentTo(1)))))
	for i := range w.o.Publication.Subscriptions {
		w.o.Publication.Subscriptions[i].Status = 2
	}
	g.Expect(w.copied(7 * time.Second)).To(And(HaveField("Phase", v1alpha1.CopyTransfer),
		HaveField("SnapshotSeconds", HaveValue(BeEquivalentTo(7))), HaveField("Bytes", BeZero())))

	w.mirrors(files.Status{State: files.Copying, Bytes: 300, Total: 1000, MovedBytes: 200, ReusedBytes: 100, Rate: 20})
	g.Expect(w.copied(time.Second)).To(And(HaveField("Bytes", int64(1000)), HaveField("PresentBytes", int64(300)),
		HaveField("MovedBytes", int64(200)), HaveField("ReusedBytes", int64(100)), HaveField("BytesPerSecond", int64(20)),
		HaveField("RemainingSeconds", HaveValue(BeEquivalentTo(35)))))
	said := mirroring(w.d, w.look())
	g.Expect(said.Reason).To(Equal(v1alpha1.ReasonMirroring))
	g.Expect(said.Message).To(Equal("snapshot 20261120: 300 of 1000 bytes are at the subscriber's site, 20 bytes a " +
		"second, about 35s to go"))

	// The figures move all the time, and are written now and then.
	before := w.d.Subscription.Status.Copy
	w.mirrors(files.Status{State: files.Copying, Bytes: 400, Total: 1000, MovedBytes: 300, ReusedBytes: 100, Rate: 50,
		RemainingSeconds: 11.5})
	g.Expect(w.copied(figuresFor - time.Second)).To(Equal(before))
	g.Expect(mirroring(w.d, w.look()).Message).To(Equal(said.Message), "the condition is written as seldom")
	g.Expect(w.copied(time.Second)).To(And(HaveField("PresentBytes", int64(400)),
		HaveField("RemainingSeconds", HaveValue(BeEquivalentTo(12)))), "the sidecar's own estimate")

	w.mirrors(files.Status{State: files.Verified, Bytes: 1000, Total: 1000, MovedBytes: 900, ReusedBytes: 100, Rate: 45,
		Seconds: 19.2})
	done := w.copied(time.Second)
	g.Expect(done).To(And(HaveField("Phase", v1alpha1.CopyApply), HaveField("PresentBytes", int64(1000)),
		HaveField("TransferSeconds", HaveValue(BeEquivalentTo(20))), HaveField("RemainingSeconds", BeNil())))
	g.Expect(w.copied(5*time.Second)).To(Equal(done), "nothing has changed")

	w.o.Here.Subscriptions[0].Applied = true
	done = w.copied(4 * time.Second)
	g.Expect(done).To(And(HaveField("Phase", v1alpha1.CopyDone),
		HaveField("ApplySeconds", HaveValue(BeEquivalentTo(9)))))
	w.fails(mssql.RunRetrying, time.Second)
	w.o.At.LastSnapshot = "another"
	g.Expect(w.copied(time.Hour)).To(Equal(done), "a snapshot for somebody else is no copy of this one")
}

// A copy of tables that the subscriber had is there when what comes after it is.
func TestProgressOfANewCopy(t *testing.T) {
	for name, arrives := range map[string]func(*world){
		"nothing is pending": func(w *world) { w.o.Pending = ptr.To[int64](0) },
		"a later token has arrived": func(w *world) {
			w.o.Tokens = []Token{{Posted: w.o.Now.Add(time.Minute), Latency: mssql.TokenLatency{Overall: ptr.To[int64](1)}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := unapplied(t)
			w.o.Here.Subscriptions[0].Applied = true
			w.o.Pending, w.o.Tokens = ptr.To[int64](3), nil
			w.d.Subscription.Status = v1alpha1.SubscriptionStatus{}
			g.Expect(w.copied(0)).To(And(HaveField("Phase", v1alpha1.CopySnapshot), HaveField("Again", true)))
			for i := range w.o.Publication.Subscriptions {
				w.o.Publication.Subscriptions[i].Status = 2
			}
			g.Expect(w.copied(time.Second).Phase).To(Equal(v1alpha1.CopyTransfer))
			w.o.Pending = ptr.To[int64](0)
			w.mirrors(files.Status{State: files.Verified, Bytes: 10, Total: 10})
			g.Expect(w.copied(time.Second).Phase).To(Equal(v1alpha1.CopyApply), "what was counted before says nothing")
			w.o.Pending = ptr.To[int64](3)
			g.Expect(w.copied(time.Second).Phase).To(Equal(v1alpha1.CopyApply))
			arrives(w)
			g.Expect(w.copied(time.Second).Phase).To(Equal(v1alpha1.CopyDone))
		})
	}
}

// What is not known now, and what copies nothing, leave status as it was.
func TestProgressThatIsNotKnown(t *testing.T) {
	at := metav1.NewTime(start)
	have := &v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyApply, Started: &at, PhaseStarted: &at}
	for name, change := range map[string]func(*world){
		"the distributor does not answer": func(w *world) { w.o.AtErr = errors.New("no answer") },
		"no Publication":                  func(w *world) { w.d.Publication = nil },
		"no copies": func(w *world) {
			w.d.Subscription.Spec.Initialization = &v1alpha1.Initialization{
				Method: v1alpha1.InitializeReplicationSupportOnly}
		},
		"registered without a copy": func(w *world) {
			for i := range w.o.Publication.Subscriptions {
				w.o.Publication.Subscriptions[i].DataWasThere = true
			}
		},
		"not registered": func(w *world) { w.o.Publication.Subscriptions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := unapplied(t)
			w.d.Subscription.Status.Copy = have.DeepCopy()
			o := w.look()
			change(w)
			w.o.Jobs = o.Jobs
			NewWithT(t).Expect(progress(w.d, w.o)).To(Equal(have))
		})
	}
}

// Each change of phase is an event, with what the phases before took.
func TestEventsOfACopy(t *testing.T) {
	at := func(phase v1alpha1.CopyPhase) *v1alpha1.SubscriptionCopy {
		s := &v1alpha1.SubscriptionCopy{Phase: phase}
		if phase != v1alpha1.CopySnapshot {
			s.SnapshotSeconds = ptr.To[int64](4)
		}
		return s
	}
	for name, c := range map[string]struct {
		before, after *v1alpha1.SubscriptionCopy
		reason, note  string
	}{
		"none":       {nil, nil, "", ""},
		"it begins":  {nil, at(v1alpha1.CopySnapshot), v1alpha1.ReasonCopying, "the subscriber's copy is in phase Snapshot"},
		"it goes on": {at(v1alpha1.CopyTransfer), at(v1alpha1.CopyTransfer), "", ""},
		"the next phase": {at(v1alpha1.CopySnapshot), at(v1alpha1.CopyTransfer), v1alpha1.ReasonCopying,
			"the subscriber's copy is in phase Transfer: snapshot 4s"},
		"done": {at(v1alpha1.CopyApply), at(v1alpha1.CopyDone), v1alpha1.ReasonCopied,
			"the subscriber has its copy: snapshot 4s"},
		"another copy": {at(v1alpha1.CopyDone), at(v1alpha1.CopySnapshot), v1alpha1.ReasonCopying,
			"the subscriber's copy is in phase Snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			reason, note := phaseChange(c.before, c.after)
			g.Expect(reason).To(Equal(c.reason))
			g.Expect(note).To(Equal(c.note))
		})
	}
}
