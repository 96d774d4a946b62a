// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
)

// What took long to count is not counted again at every look. Until then status keeps the figure, and nothing takes it
// for what is so now.
func TestWhatIsDearToCountIsCountedSeldom(t *testing.T) {
	g := NewWithT(t)
	var none *Counted
	g.Expect(none.stands(start)).To(BeFalse())
	quick := &Counted{At: start, Took: 20 * time.Millisecond}
	g.Expect(quick.stands(start.Add(lookAgain))).To(BeFalse(), "a quick one costs nothing")
	slow := &Counted{At: start, Took: 45 * time.Second}
	g.Expect(slow.stands(start.Add(lookAgain))).To(BeTrue())
	g.Expect(slow.stands(start.Add(14 * time.Minute))).To(BeTrue())
	g.Expect(slow.stands(start.Add(15 * time.Minute))).To(BeFalse())

	w := newWorld(declared())
	w.settle(t, all)
	w.o.Counted, w.o.Pending = &Counted{At: start, Commands: ptr.To(int64(0)), Seconds: ptr.To(int64(0))}, nil
	s := describe(w.d, w.look())
	g.Expect(s.PendingCommands).To(HaveValue(BeEquivalentTo(0)))
	w.o.Counted = &Counted{At: start, Took: time.Minute}
	g.Expect(describe(w.d, w.look()).PendingCommands).To(BeNil(), "it was not counted in time")
}
