// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// script is a Source that plays back given values and then stays at the last.
type script []float64

func (s *script) Float64() float64 {
	value := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	return value
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

const millisecond = int64(time.Millisecond)

func TestArrive(t *testing.T) {
	for _, c := range []struct {
		name     string
		rule     Rule
		random   script
		underway int
		want     Verdict
	}{
		{"nothing", Rule{}, script{0}, 0, Verdict{Due: 5, Copies: 1}},
		{"delay", Rule{Delay: 75 * time.Millisecond}, script{0}, 0, Verdict{Due: 5 + 75*millisecond, Copies: 1}},
		{"least jitter", Rule{Delay: 75 * time.Millisecond, Jitter: 5 * time.Millisecond}, script{0}, 0,
			Verdict{Due: 5 + 70*millisecond, Copies: 1}},
		{"middle of the jitter", Rule{Delay: 75 * time.Millisecond, Jitter: 5 * time.Millisecond}, script{0.5}, 0,
			Verdict{Due: 5 + 75*millisecond, Copies: 1}},
		{"lost", Rule{Loss: 0.01}, script{0.009}, 0, Verdict{Drop: true}},
		{"not lost", Rule{Loss: 0.01}, script{0.01}, 0, Verdict{Due: 5, Copies: 1}},
		{"all lost", Rule{Loss: 1}, script{0.999999}, 0, Verdict{Drop: true}},
		{"duplicated", Rule{Duplicate: 0.5}, script{0.4}, 0, Verdict{Due: 5, Copies: 2}},
		{"corrupted", Rule{Corrupt: 0.5}, script{0.4}, 0, Verdict{Due: 5, Copies: 1, Corrupt: true}},
		{"ahead of the others", Rule{Delay: time.Millisecond, Reorder: 0.25}, script{0.2}, 0, Verdict{Due: 5, Copies: 1}},
		{"in its order", Rule{Delay: time.Millisecond, Reorder: 0.25}, script{0.3}, 0,
			Verdict{Due: 5 + millisecond, Copies: 1}},
		{"at a rate", Rule{Rate: 8e6}, script{0}, 0, Verdict{Due: 5 + millisecond, Copies: 1}},
		{"at a rate, delayed", Rule{Rate: 8e6, Delay: time.Millisecond}, script{0}, 0,
			Verdict{Due: 5 + 2*millisecond, Copies: 1}},
		{"within the limit", Rule{Limit: 10}, script{0}, 9, Verdict{Due: 5, Copies: 1}},
		{"beyond the limit", Rule{Limit: 10}, script{0}, 10, Verdict{Drop: true}},
		{"cut", Rule{Cut: true, Delay: time.Millisecond}, script{0}, 0, Verdict{Drop: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.rule.Validate()).To(Succeed())
			g.Expect(NewStage(c.rule).Arrive(5, 1000, c.underway, &c.random)).To(Equal(c.want))
		})
	}
}

func TestShares(t *testing.T) {
	g := NewWithT(t)
	const frames = 100_000
	stage := NewStage(Rule{Loss: 0.01, Duplicate: 0.1, Corrupt: 0.02})
	random := seeded()
	var dropped, twice, damaged int
	for range frames {
		verdict := stage.Arrive(0, 100, 0, random)
		switch {
		case verdict.Drop:
			dropped++
		default:
			twice += verdict.Copies - 1
			if verdict.Corrupt {
				damaged++
			}
		}
	}
	// Five standard deviations each.
	g.Expect(dropped).To(BeNumerically("~", 1000, 160))
	g.Expect(twice).To(BeNumerically("~", 9900, 480))
	g.Expect(damaged).To(BeNumerically("~", 1980, 220))
}

func TestCorrelatedLossComesInRuns(t *testing.T) {
	g := NewWithT(t)
	pairs := func(correlation float64) (after float64) {
		stage := NewStage(Rule{Loss: 0.3, LossCorrelation: correlation})
		random := seeded()
		var lost, both int
		before := false
		for range 100_000 {
			now := stage.Arrive(0, 100, 0, random).Drop
			if before {
				lost++
				if now {
					both++
				}
			}
			before = now
		}
		return float64(both) / float64(lost)
	}
	g.Expect(pairs(0)).To(BeNumerically("~", 0.3, 0.02))
	g.Expect(pairs(0.5)).To(BeNumerically(">", 0.34))
}

func TestGapSparesFramesFromReordering(t *testing.T) {
	stage := NewStage(Rule{Delay: time.Second, Reorder: 1, Gap: 4})
	for i := 1; i <= 40; i++ {
		early := stage.Arrive(0, 100, 0, seeded()).Due == 0
		NewWithT(t).Expect(early).To(Equal(i%4 == 0), "frame %d", i)
	}
}

// Whatever arrives when: nothing leaves before delay - jitter, and at no time
// has more left the serialiser than the rate allows.
func TestDelayAndRateAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := time.Duration(rapid.Int64Range(0, int64(200*time.Millisecond)).Draw(t, "delay"))
		jitter := time.Duration(rapid.Int64Range(0, int64(delay)).Draw(t, "jitter"))
		rate := rapid.SampledFrom([]float64{0, MinRate, 1e6, 1e9, MaxRate}).Draw(t, "rate")
		stage := NewStage(Rule{Delay: delay, Jitter: jitter, Rate: rate})
		random := seeded()
		var now, bits int64
		for range rapid.IntRange(1, 50).Draw(t, "frames") {
			now += rapid.Int64Range(0, int64(10*time.Millisecond)).Draw(t, "pause")
			wire := rapid.IntRange(60, 65536).Draw(t, "wire")
			verdict := stage.Arrive(now, wire, 0, random)
			if verdict.Drop {
				if rate == 0 {
					t.Fatal("dropped without a reason")
				}
				continue
			}
			bits += int64(wire) * 8
			earliest := now
			if rate > 0 {
				// A nanosecond may be lost to rounding per frame.
				earliest = max(earliest, int64(float64(bits)/rate*1e9)-50)
			}
			if verdict.Due < earliest+int64(delay-jitter) {
				t.Fatalf("due at %d, earliest is %d", verdict.Due, earliest+int64(delay-jitter))
			}
			if rate == 0 && verdict.Due > now+int64(delay+jitter) {
				t.Fatalf("due at %d, arrived at %d", verdict.Due, now)
			}
		}
	})
}

func TestRatePaces(t *testing.T) {
	g := NewWithT(t)
	stage := NewStage(Rule{Rate: 1e9, Delay: 75 * time.Millisecond})
	// 66,000 bytes are a super-frame of 44 packets.
	for i := int64(1); i <= 100; i++ {
		g.Expect(stage.Arrive(0, 66_000, 0, seeded()).Due).To(BeNumerically("~", 75*millisecond+i*528_000, 100))
	}
	// Once idle it owes nothing.
	g.Expect(stage.Arrive(1000*millisecond, 66_000, 0, seeded()).Due).To(Equal(1075*millisecond + 528_000))
}

func TestAFullBufferDropsAndDrains(t *testing.T) {
	g := NewWithT(t)
	stage := NewStage(Rule{Rate: 8e6, Buffer: 10_000})
	accepted := 0
	for range 100 {
		if !stage.Arrive(0, 1000, 0, seeded()).Drop {
			accepted++
		}
	}
	g.Expect(accepted).To(Equal(10))
	g.Expect(stage.Arrive(millisecond, 1000, 0, seeded()).Drop).To(BeFalse(), "one frame has left by then")
	g.Expect(stage.Arrive(millisecond, 1000, 0, seeded()).Drop).To(BeTrue())
}

func TestAFrameLargerThanTheBufferPassesAnIdleLink(t *testing.T) {
	stage := NewStage(Rule{Rate: 1e6, Buffer: 1000})
	NewWithT(t).Expect(stage.Arrive(0, 65_000, 0, seeded()).Drop).To(BeFalse())
}

func TestDefaultBuffer(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Rule{Rate: 1e9, Delay: 75 * time.Millisecond}.DefaultBuffer()).To(BeEquivalentTo(18_750_000))
	g.Expect(Rule{Rate: 1e9}.DefaultBuffer()).To(BeEquivalentTo(6_250_000))
	g.Expect(Rule{Rate: 1e6}.DefaultBuffer()).To(BeEquivalentTo(256 << 10))
}

func TestChange(t *testing.T) {
	g := NewWithT(t)
	stage := NewStage(Rule{Rate: 8e6})
	stage.Arrive(0, 1000, 0, seeded())
	stage.Change(Rule{Rate: 4e6})
	g.Expect(stage.Arrive(0, 1000, 0, seeded()).Due).To(Equal(3*millisecond), "behind what the link has accepted")
	stage.Change(Rule{Delay: time.Millisecond})
	g.Expect(stage.Arrive(0, 1000, 0, seeded()).Due).To(Equal(millisecond))
	stage.Change(Rule{Rate: 8e6})
	g.Expect(stage.Arrive(0, 1000, 0, seeded()).Due).To(Equal(millisecond), "an old backlog is forgotten")
}
