// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestPipelineAddsUp(t *testing.T) {
	g := NewWithT(t)
	p := NewPipeline(
		Rule{Delay: 10 * time.Millisecond, Duplicate: 1},
		Rule{Rate: 8e6, Delay: time.Millisecond, Corrupt: 1},
	)
	// 1000 bytes take a millisecond at 8 Mbit/s.
	g.Expect(p.Arrive(0, 1000, 0, seeded())).To(Equal(Verdict{Due: 12 * millisecond, Copies: 2, Corrupt: true}))
	g.Expect(p.Arrive(0, 1000, 0, seeded()).Due).To(Equal(13 * millisecond))
	p.Change(Rule{Delay: 10 * time.Millisecond}, Rule{Rate: 8e6})
	g.Expect(p.Arrive(0, 1000, 0, seeded()).Due).To(Equal(13*millisecond), "the rate's memory stays")
	p.Change(Rule{}, Rule{Cut: true})
	g.Expect(p.Arrive(0, 1000, 0, seeded()).Drop).To(BeTrue())
	g.Expect(NewPipeline().Arrive(7, 1000, 0, seeded())).To(Equal(Verdict{Due: 7, Copies: 1}))
}

func TestABurstPassesAtOnceAfterAPause(t *testing.T) {
	g := NewWithT(t)
	stage := NewStage(Rule{Rate: 8e6, Burst: 3000})
	now := 1000 * millisecond
	for i, want := range []int64{0, 0, 0, 1, 2} {
		g.Expect(stage.Arrive(now, 1000, 0, seeded()).Due).To(Equal(now+want*millisecond), "frame %d", i)
	}
	now += 2 * millisecond
	g.Expect(stage.Arrive(now, 1000, 0, seeded()).Due).To(Equal(now+millisecond), "the bucket is empty when the queue is")
	now += 1000 * millisecond
	g.Expect(stage.Arrive(now, 1000, 0, seeded()).Due).To(Equal(now))
}
