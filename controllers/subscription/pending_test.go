// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
)

// What took long to count is not counted again at every look. Status has the figure as long as it tells what is so now.
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
	w.o.Now = w.o.Now.Add(2 * time.Minute)
	s = describe(w.d, w.look())
	g.Expect(s.PendingCommands).To(BeNil(), "that was so two minutes ago")
	g.Expect(s.EstimatedSeconds).To(BeNil())
	w.o.Counted = &Counted{At: w.o.Now, Took: time.Minute}
	g.Expect(describe(w.d, w.look()).PendingCommands).To(BeNil(), "it was not counted in time")
	w.o.Counted = nil
	g.Expect(describe(w.d, w.look()).PendingCommands).To(BeNil(), "nobody counted")
}

// A count that was dear rests also while nobody can count, and longer than a look that came to nothing.
func TestACountRestsWhileNobodyCanCount(t *testing.T) {
	g := NewWithT(t)
	var all counts
	slow, quick := &Counted{At: start, Took: 45 * time.Second}, &Counted{At: start, Took: 20 * time.Millisecond}
	all.keep("u1", slow, start)
	all.keep("u2", quick, start)
	all.keep("u1", nil, start.Add(time.Minute))
	g.Expect(all.of("u1")).To(Equal(slow), "the distributor did not answer for a moment")
	g.Expect(all.of("u2")).To(BeNil(), "nothing rests")
	all.keep("u1", nil, start.Add(15*time.Minute))
	g.Expect(all.last).To(BeEmpty(), "what is there no more takes no memory")

	w := kept(t)
	w.o.Comparison, w.o.Pending, w.o.Counted = nil, nil, &Counted{At: w.o.Now, Took: 45 * time.Second}
	g.Expect(plan(w.d, w.look()).Outcome.Message).To(ContainSubstring("counted again at " +
		w.o.Now.Add(15*time.Minute).UTC().Format(time.RFC3339)))
}
