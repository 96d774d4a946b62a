// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
)

// Each snapshot of a schedule is a copy of its own, which the subscriber has once it is applied: nothing is delivered
// afterwards by which anybody could tell.
func TestProgressOfCopiesByASchedule(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, declared())
	at := start.Add(17 * time.Hour)
	w.marked(at)
	g.Expect(w.copied(0)).To(And(HaveField("Phase", v1alpha1.CopySnapshot), HaveField("Again", true)))
	w.made()
	g.Expect(w.copied(7 * time.Second)).To(And(HaveField("Phase", v1alpha1.CopyTransfer),
		HaveField("SnapshotSeconds", HaveValue(BeEquivalentTo(7)))))
	w.mirrors(files.Status{State: files.Verified, Bytes: 10, Total: 10, Seconds: 3})
	g.Expect(w.copied(4 * time.Second)).To(And(HaveField("Phase", v1alpha1.CopyApply),
		HaveField("TransferSeconds", HaveValue(BeEquivalentTo(3)))))
	w.o.here(w.d).Transaction = w.o.Snapshot.Number
	done := w.copied(5 * time.Second)
	g.Expect(done).To(And(HaveField("Phase", v1alpha1.CopyDone), HaveField("ApplySeconds", HaveValue(BeEquivalentTo(5)))))
	g.Expect(w.copied(time.Hour)).To(Equal(done))

	// One that comes while another is applied, or without that anybody saw the mark, is another copy.
	w.marked(at.Add(24 * time.Hour))
	w.made()
	w.o.At.LastSnapshot, w.o.Snapshot.Number = "2026-11-22T03:00:05", []byte{0, 3}
	another := w.copied(0)
	g.Expect(another).To(And(HaveField("Phase", v1alpha1.CopyTransfer), HaveField("SnapshotSeconds", BeNil()),
		HaveField("ApplySeconds", BeNil()), HaveField("Started.Time", w.o.Now)))
	w.mirrors(files.Status{State: files.Verified, Bytes: 10, Total: 10})
	g.Expect(w.copied(time.Second).Phase).To(Equal(v1alpha1.CopyApply))
	w.marked(at.Add(48 * time.Hour))
	g.Expect(w.copied(0)).To(And(HaveField("Phase", v1alpha1.CopySnapshot), HaveField("TransferSeconds", BeNil()),
		HaveField("Started.Time", w.o.Now)))
}

// A copy that is on its way is looked at soon until it is there, though the Subscription is Ready for the one before.
func TestACopyOnItsWayIsLookedAtSoon(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, declared())
	g.Expect(copyAwaited(w.d, w.o)).To(BeFalse())
	w.marked(start.Add(17 * time.Hour))
	g.Expect(copyAwaited(w.d, w.o)).To(BeTrue(), "it is being made")
	w.made()
	g.Expect(copyAwaited(w.d, w.o)).To(BeTrue(), "it is being brought")
	w.mirrors(files.Status{State: files.Verified, Bytes: 10, Total: 10, Seconds: 3})
	g.Expect(copyAwaited(w.d, w.o)).To(BeTrue(), "it is being applied")
	w.o.here(w.d).Transaction = w.o.Snapshot.Number
	g.Expect(copyAwaited(w.d, w.o)).To(BeFalse())
}

// Where no files are brought there is no transfer.
func TestProgressWithoutAMirror(t *testing.T) {
	g := NewWithT(t)
	w := copiedWorld(t, push(""))
	w.marked(start.Add(17 * time.Hour))
	g.Expect(w.copied(0).Phase).To(Equal(v1alpha1.CopySnapshot))
	w.made()
	g.Expect(w.copied(time.Second).Phase).To(Equal(v1alpha1.CopyApply))
	w.run()
	g.Expect(w.copied(time.Second)).To(And(HaveField("Phase", v1alpha1.CopyDone),
		HaveField("TransferSeconds", BeNil())))
}
