// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/workload/history"
)

// answer of a server to what is sent at a millisecond.
type answer struct {
	took    int64
	outcome history.Outcome
}

// session is what a user does against a server, one operation after another: with a schedule one is due every so many
// milliseconds, without any he goes on that long after an answer.
func session(number int64, loop history.Loop, every, until int64, server func(sent int64) answer) history.Run {
	r := run(number, "tukwila")
	r.Loop = loop
	if loop == history.Open {
		r.Every = time.Duration(every) * time.Millisecond
	}
	free := int64(0)
	for due := number; due < until; due += every {
		if loop != history.Open {
			due = max(due, free)
		}
		sent := max(due, free)
		if sent >= until {
			r.Next, r.Asked = due*int64(time.Millisecond), until*int64(time.Millisecond)
			break
		}
		a := server(sent)
		o := insert(int64(len(r.Operations)+1), sent, sent+a.took, a.outcome, "a-0", 1)
		o.Late = time.Duration(sent-due) * time.Millisecond
		r.Operations = append(r.Operations, o)
		free = sent + a.took
	}
	return r
}

var (
	good    = answer{5, history.OK}
	refused = answer{5, history.Fail}
	silent  = answer{2000, history.Unknown}
)

// within is a server that answers otherwise in a time.
func within(from, to int64, other answer, then func(int64) answer) func(int64) answer {
	return func(sent int64) answer {
		if sent >= from && sent < to {
			return other
		}
		return then(sent)
	}
}

func always(a answer) func(int64) answer { return func(int64) answer { return a } }

// once answers otherwise a single time.
func once(from int64, other answer, then func(int64) answer) func(int64) answer {
	done := false
	return func(sent int64) answer {
		if sent >= from && !done {
			done = true
			return other
		}
		return then(sent)
	}
}

// flapping refuses every other operation.
func flapping(from, to int64, then func(int64) answer) func(int64) answer {
	n := 0
	return func(sent int64) answer {
		if n++; sent >= from && sent < to && n%2 == 0 {
			return refused
		}
		return then(sent)
	}
}

// heldIn is what clients saw of the last fault.
func heldIn(goal time.Duration, faults []history.Fault, runs ...history.Run) (history.Verdict, history.ClientFigures) {
	for i := range faults {
		faults[i].RTO = goal
	}
	v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...), Faults: faults,
		Served: history.DefaultServed})
	return v, v.Faults[len(faults)-1].Clients[0]
}

// Users are served again when operations succeed for a while, not when one does. What came before anything went wrong
// was service.
func TestServiceHasToHold(t *testing.T) {
	kill := func() []history.Fault { return []history.Fault{killed(20_000, 32_000)} }
	second := int64(time.Second)
	for name, c := range map[string]struct {
		loop   history.Loop
		server func(int64) answer
		until  int64
		rto    time.Duration
		first  time.Duration
		want   history.Result
	}{
		"refused, and back": {history.Open, within(20_000, 30_000, refused, always(good)), 60_000,
			10 * time.Second, 10 * time.Second, history.Passed},
		"silent, and back": {history.Open, within(20_000, 30_000, silent, always(good)), 60_000,
			10 * time.Second, 10 * time.Second, history.Passed},
		"a closed loop": {history.Closed, within(20_000, 30_000, silent, always(good)), 60_000,
			10 * time.Second, 10 * time.Second, history.Passed},
		"every other one fails for 10 s more": {history.Open,
			within(20_000, 30_000, refused, flapping(30_000, 40_000, always(good))), 60_000,
			20 * time.Second, 10 * time.Second, history.Failed},
		"it bites later": {history.Open, within(28_000, 38_000, refused, always(good)), 60_000,
			10 * time.Second, 10 * time.Second, history.Passed},
		"one fails": {history.Open, within(25_000, 25_100, refused, always(good)), 60_000,
			200 * time.Millisecond, 200 * time.Millisecond, history.Passed},
		"every other one fails of what was held up": {history.Open,
			within(20_000, 30_000, silent, flapping(30_000, 38_000, always(answer{90, history.OK}))), 60_000,
			18 * time.Second, 10 * time.Second, history.Failed},
		"twice, one soon after the other": {history.Open,
			within(20_000, 21_000, refused, within(26_500, 27_000, refused, always(good))), 60_000,
			time.Second, time.Second, history.Passed},
		"one fails 2 s before the end": {history.Open, once(58_000, refused, always(good)), 60_000,
			200 * time.Millisecond, 200 * time.Millisecond, history.Passed},
		"the clients end 3 s later": {history.Open, within(20_000, 30_000, refused, always(good)), 33_000,
			13 * time.Second, 10 * time.Second, history.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v, f := heldIn(15*time.Second, kill(), session(1, c.loop, 100, c.until, c.server),
				session(2, c.loop, 100, c.until, c.server))
			g.Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
			g.Expect(f.Held).To(BeTrue())
			g.Expect(f.RTO).To(HaveValue(BeNumerically("~", c.rto, second/2)))
			g.Expect(f.First).To(HaveValue(BeNumerically("~", c.first, second/2)))
			g.Expect(f.AtLeast).To(Equal(c.until < 35_000))
		})
	}
}

// The worst group counts: users of one place who are served hide no others.
func TestServiceHasToHoldForEachPlace(t *testing.T) {
	g := NewWithT(t)
	back := within(20_000, 30_000, refused, always(good))
	here := session(1, history.Open, 100, 60_000, back)
	there := session(2, history.Open, 100, 60_000, flapping(30_000, 40_000, back))
	there.Client = "dublin"
	v, _ := heldIn(15*time.Second, []history.Fault{killed(20_000, 32_000)}, here, there)
	g.Expect(v.Result).To(Equal(history.Failed))
	g.Expect(v.Reasons).To(ContainElement(And(HavePrefix("client dublin went "), ContainSubstring(" without service"))),
		"every other operation was acknowledged")
	g.Expect(v.Faults[0].Clients).To(HaveExactElements(
		And(HaveField("Client", "dublin"), HaveField("RTO", HaveValue(BeNumerically(">", 19*time.Second)))),
		And(HaveField("Client", "tukwila"), HaveField("RTO", HaveValue(BeNumerically("<", 11*time.Second))))))
}

// Histories that do not tell when operations were to begin are judged as ever, by the first acknowledgement, and so is
// evidence that does not say what counts.
func TestHistoriesWithoutIntendedStarts(t *testing.T) {
	g := NewWithT(t)
	server := within(20_000, 30_000, refused, flapping(30_000, 40_000, always(good)))
	old := session(1, "", 100, 60_000, server)
	v, f := heldIn(15*time.Second, []history.Fault{killed(20_000, 32_000)}, old)
	g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
	g.Expect(f).To(And(HaveField("Held", false), HaveField("First", BeNil())))
	g.Expect(v.Loops).To(Equal(map[string]history.Loop{"tukwila": ""}))
	v = verdictOf(15*time.Second, []history.Fault{killed(20_000, 32_000)}, session(1, history.Open, 100, 60_000, server))
	g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
}

// Where operations failed before any fault, that they fail after it tells nothing.
func TestServiceThatNeverHeld(t *testing.T) {
	v, f := heldIn(time.Minute, []history.Fault{killed(20_000, 32_000)},
		session(1, history.Open, 100, 60_000, flapping(0, 60_000, always(good))))
	NewWithT(t).Expect(v.Result).To(Equal(history.Inconclusive), "%v", v.Reasons)
	NewWithT(t).Expect(f.Missing).To(ContainSubstring("of its operations succeeded before any fault"))
}

// A client that is far away comes behind its schedule. What it was to begin before the fault and began after it failed
// for the fault, and so did what was under way.
func TestAClientBehindItsSchedule(t *testing.T) {
	g := NewWithT(t)
	far := answer{160, history.OK}
	_, f := heldIn(time.Minute, []history.Fault{killed(20_000, 32_000)},
		session(1, history.Open, 100, 60_000, within(20_000, 30_000, refused, always(far))))
	g.Expect(f).To(And(HaveField("Held", true), HaveField("Missing", BeEmpty())))
	g.Expect(f.RTO).To(HaveValue(BeNumerically("~", 10*time.Second, time.Second)))
	_, f = heldIn(time.Minute, []history.Fault{killed(20_000, 32_000)},
		session(1, history.Open, 100, 60_000, within(19_000, 30_000, silent, always(good))),
		session(2, history.Open, 100, 60_000, within(19_000, 30_000, silent, always(good))))
	g.Expect(f).To(And(HaveField("Held", true), HaveField("Missing", BeEmpty())))
}

// In a baseline of thirty operations one that fails is more than one of a hundred, and says nothing of the load.
func TestOneFailureInAShortBaseline(t *testing.T) {
	_, f := heldIn(time.Minute, []history.Fault{killed(3_000, 15_000)},
		session(1, history.Open, 100, 60_000, once(1_000, refused, always(good))))
	NewWithT(t).Expect(f).To(And(HaveField("Held", true), HaveField("Missing", BeEmpty())))
}

// Whatever a server does: service that holds comes back no sooner than the first acknowledgement, and, from when all
// succeeds on, no later than that.
func TestServiceHoldsNoSoonerThanItIsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		back := rapid.Int64Range(20_500, 40_000).Draw(t, "back")
		share := rapid.IntRange(1, 9).Draw(t, "refused of ten")
		seed := rapid.Int64Range(0, 1000).Draw(t, "seed")
		server := func(sent int64) answer {
			if sent >= 20_000 && sent < back && (sent*7919+seed)%10 < int64(share) {
				return rapid.SampledFrom([]answer{refused, silent}).Draw(t, "answer")
			}
			return good
		}
		loop := rapid.SampledFrom([]history.Loop{history.Open, history.Closed}).Draw(t, "loop")
		_, f := heldIn(0, []history.Fault{killed(20_000, back)}, session(1, loop, 100, 60_000, server))
		most := time.Duration(back-20_000)*time.Millisecond + 2500*time.Millisecond
		if f.Missing != "" || f.AtLeast || *f.RTO < *f.First || *f.RTO > most {
			t.Fatalf("%+v: %v, first %v, at most %s", f, f.RTO, f.First, most)
		}
	})
}

// What was held up counts from when it was due: as many users wait for longer than some time as were due in a stall
// and then that long before its end, though one operation alone took long. What no answer came for is there at its age.
func TestAStallHidesNoOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.Int64Range(20, 200).Draw(t, "every")
		from := rapid.Int64Range(5_000, 40_000).Draw(t, "from")
		const stall, until = 10_000, 60_000
		server := func(sent int64) answer {
			if sent >= from && sent < from+stall {
				return answer{from + stall - sent, history.OK}
			}
			return answer{3, history.OK}
		}
		r := session(1, history.Open, every, until, server)
		var waits []history.Wait
		slow := 0
		for _, o := range r.Operations {
			if w, counts := r.Waited(o); counts {
				waits = append(waits, w)
			}
			if o.Completed.Monotonic-o.Invoked.Monotonic > int64(time.Second) {
				slow++
			}
		}
		for _, age := range r.Unsent() {
			waits = append(waits, history.Wait{Took: age, AtLeast: true})
		}
		if due := int((until-1-1)/every) + 1; len(waits) != due || slow != 1 {
			t.Fatalf("%d of %d that were due, %d slow", len(waits), due, slow)
		}
		for seconds := int64(1); seconds < 10; seconds++ {
			long := 0
			for _, w := range waits {
				if w.Took >= time.Duration(seconds)*time.Second {
					long++
				}
			}
			if least := int((stall-1000*seconds)/every) - 1; long < least {
				t.Fatalf("%d waited for %d s, at least %d were due so long before the end of the stall", long, seconds, least)
			}
		}
	})
}

// A percentile knows which of its samples is a bound. What was refused is in none.
func TestPercentilesOfWaits(t *testing.T) {
	g := NewWithT(t)
	r := session(1, history.Open, 1000, 100_000, within(50_000, 52_000, silent, within(70_000, 80_000, refused,
		always(good))))
	var waits []history.Wait
	for _, o := range r.Operations {
		if w, counts := r.Waited(o); counts {
			waits = append(waits, w)
		}
	}
	g.Expect(waits).To(HaveLen(90))
	for p, want := range map[float64]history.Wait{0.5: {Took: 5 * time.Millisecond}, 1: {Took: 2 * time.Second,
		AtLeast: true}} {
		w, ok := history.PercentileOfWaits(waits, p)
		g.Expect(ok).To(BeTrue())
		g.Expect(w).To(Equal(want), fmt.Sprint(p))
	}
	_, ok := history.PercentileOfWaits(nil, 0.5)
	g.Expect(ok).To(BeFalse())
}
