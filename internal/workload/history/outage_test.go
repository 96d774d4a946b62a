// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// verdictOf is the verdict on runs whose acknowledged rows are all there, of faults that have the goal.
func verdictOf(goal time.Duration, faults []history.Fault, runs ...history.Run) history.Verdict {
	for i := range faults {
		faults[i].RTO = goal
	}
	return history.Check(
		history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...), Faults: faults})
}

func killed(injected, settled int64) history.Fault {
	f := fault("kill", injected, 0, settled)
	f.Healed = history.Instant{}
	return f
}

// A user who is served hides no other one at his site. Of each hundred users the worst one does not count.
func TestUsersAreMeasuredOneByOne(t *testing.T) {
	for name, c := range map[string]struct {
		users, stuck int
		want         time.Duration
	}{
		"one of two":             {2, 1, 40 * time.Second},
		"one of ninety-nine":     {99, 1, 40 * time.Second},
		"one of two hundred":     {200, 1, 100 * time.Millisecond},
		"three of two hundred":   {200, 3, 40 * time.Second},
		"all but one of hundred": {100, 99, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var runs []history.Run
			for i := range c.users {
				operations := steady(10_000, 70_000)
				if i < c.stuck {
					operations = steady(10_000, 70_000, [2]int64{20_000, 59_900})
				}
				runs = append(runs, run(int64(i+1), "tukwila", operations...))
			}
			f := verdictOf(0, []history.Fault{killed(19_990, 30_000)}, runs...).Faults[0]
			g.Expect(f.Clients).To(HaveLen(1))
			g.Expect(f.Clients[0]).To(And(HaveField("RTO", HaveValue(Equal(c.want))), HaveField("Users", c.users)))
		})
	}
}

// What users read while everything is refused that they write serves nobody. One purchase that was refused, among
// others that were not, is no outage.
func TestReadsBesideRefusedWrites(t *testing.T) {
	for name, c := range map[string]struct {
		refused [2]int64
		want    time.Duration
		unsure  time.Duration
	}{
		"all are refused": {[2]int64{20_000, 30_000}, 10_100 * time.Millisecond, 900 * time.Millisecond},
		"one is":          {[2]int64{20_000, 20_500}, 200 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			operations := steady(0, 60_000)
			for i := range operations {
				o := &operations[i]
				ms := o.Invoked.Monotonic / int64(time.Millisecond)
				switch {
				case ms%1000 != 0:
					o.Function = history.Query
				case ms >= c.refused[0] && ms < c.refused[1]:
					o.Outcome, o.Server, o.Configuration = history.Fail, "", 0
				}
			}
			v := history.Check(history.Evidence{Runs: []history.Run{run(1, "tukwila", operations...)},
				Faults: []history.Fault{killed(19_950, 31_000)}})
			NewWithT(t).Expect(v.Faults[0].Clients[0]).To(And(
				HaveField("RTO", HaveValue(Equal(c.want))), HaveField("Unsure", c.unsure)))
		})
	}
}

// While a client's container was away nobody asked: that is no outage of a server, and nothing is known of it.
func TestAClientThatWasAway(t *testing.T) {
	g := NewWithT(t)
	first, second := run(1, "tukwila", steady(0, 21_000)...), run(2, "tukwila", steady(51_000, 100_000)...)
	first.Ended = false
	other := run(3, "dublin", steady(50, 100_000)...)
	v := verdictOf(5*time.Second, []history.Fault{killed(20_000, 61_000)}, first, second, other)
	g.Expect(v.Result).To(Equal(history.Inconclusive), "%v", v.Reasons)
	g.Expect(v.Faults[0].Clients[1].Missing).To(ContainSubstring("breaks off"))
	v = verdictOf(5*time.Second, []history.Fault{killed(10_000, 15_000)}, first, second, other)
	g.Expect(v.Result).To(Equal(history.Passed), "it broke off when all was well again: %v", v.Reasons)
}

// A client that is never served again has missed every goal that is shorter than it tried for.
func TestServiceThatNeverComesBack(t *testing.T) {
	operations := steady(0, 20_000)
	for i := range int64(60) {
		operations = append(operations, insert(1000+i, 20_000+i*2000, 22_000+i*2000, history.Unknown, "", 0))
	}
	for goal, want := range map[time.Duration]history.Result{30 * time.Second: history.Failed,
		3 * time.Minute: history.Inconclusive, 0: history.Inconclusive} {
		f := killed(20_010, 0)
		f.Settled = history.Instant{}
		v := verdictOf(goal, []history.Fault{f}, run(1, "tukwila", operations...))
		NewWithT(t).Expect(v.Result).To(Equal(want), "%s: %v", goal, v.Reasons)
		NewWithT(t).Expect(v.Faults[0].Clients[0]).To(And(HaveField("AtLeast", true),
			HaveField("RTO", HaveValue(Equal(120_095*time.Millisecond)))))
	}
}

// A fault takes a moment to bite: who was served once more after it was begun, and never again, has met no goal. One
// failure at the very end of a history is no outage.
func TestServiceThatEndsAMomentAfterTheFaultBegan(t *testing.T) {
	served := run(2, "tukwila", steady(50, 40_000, [2]int64{20_300, 31_900})...)
	for name, c := range map[string]struct {
		failures int64
		want     history.Result
	}{
		"never again":            {20, history.Inconclusive},
		"one failure at the end": {1, history.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			operations := steady(0, 20_300)
			if c.failures == 1 {
				operations = steady(0, 39_000, [2]int64{20_300, 31_900})
			}
			from := operations[len(operations)-1].Completed.Monotonic / int64(time.Millisecond)
			for i := range c.failures {
				operations = append(operations, insert(1000+i, from+i*900, from+(i+1)*900, history.Fail, "", 0))
			}
			v := verdictOf(30*time.Second, []history.Fault{killed(20_000, 35_000)}, run(1, "tukwila", operations...), served)
			NewWithT(t).Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
			NewWithT(t).Expect(v.Faults[0].Clients[0].AtLeast).To(Equal(c.want != history.Passed))
		})
	}
}

// An outage that goes on beyond the next fault is the first one's, too.
func TestAnOutageBeyondTheNextFault(t *testing.T) {
	v := verdictOf(0, []history.Fault{killed(20_000, 21_000), killed(25_000, 31_000)},
		run(1, "tukwila", steady(0, 60_000, [2]int64{20_000, 30_000})...))
	for _, f := range v.Faults {
		NewWithT(t).Expect(f.Clients[0].RTO).To(HaveValue(Equal(10_100 * time.Millisecond)))
	}
}

// The time in which any fault kept clients from reaching anything is nobody's outage; what comes after it is.
func TestClientsThatAreCutOff(t *testing.T) {
	lose := fault("lose-tukwila", 10_000, 30_000, 40_000)
	lose.Isolated = []string{"tukwila"}
	here := func(gap [2]int64) history.Run { return run(1, "quincy", steady(0, 300_000, gap)...) }
	away := func(gap [2]int64) history.Run { return run(2, "tukwila", steady(0, 300_000, gap)...) }
	for name, c := range map[string]struct {
		faults []history.Fault
		runs   []history.Run
		want   history.Result
	}{
		"back when it is healed": {[]history.Fault{lose},
			[]history.Run{here([2]int64{10_000, 15_000}), away([2]int64{10_000, 32_000})}, history.Passed},
		"not for three minutes more": {[]history.Fault{lose},
			[]history.Run{here([2]int64{10_000, 15_000}), away([2]int64{10_000, 210_000})}, history.Failed},
		"at another fault meanwhile": {[]history.Fault{lose, killed(12_000, 40_000)},
			[]history.Run{here([2]int64{12_000, 17_000}), away([2]int64{10_000, 32_000})}, history.Passed},
		"others are judged all the time": {[]history.Fault{lose},
			[]history.Run{here([2]int64{10_000, 25_000}), away([2]int64{10_000, 32_000})}, history.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdictOf(10*time.Second, c.faults, c.runs...)
			NewWithT(t).Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
		})
	}
}

// A goal within the usual time between acknowledgements cannot be told; one that was missed by more than that can.
func TestAGoalBeneathTheUsualTime(t *testing.T) {
	slow := func(gap int64) history.Run {
		var at []int64
		for ms := int64(0); ms < 600_000; ms += 5000 {
			if ms <= 300_000 || ms > 300_000+gap {
				at = append(at, ms)
			}
		}
		return run(1, "quincy", acks(5, at...)...)
	}
	for gap, want := range map[int64]history.Result{0: history.Inconclusive, 60_000: history.Failed} {
		v := verdictOf(3*time.Second, []history.Fault{killed(302_500, 303_000)}, slow(gap))
		NewWithT(t).Expect(v.Result).To(Equal(want), "%d: %v", gap, v.Reasons)
	}
}

// What fails counts, whatever it was, but for what was under way while a fault cut its client off.
func TestOperationsThatFailed(t *testing.T) {
	g := NewWithT(t)
	here, away := steady(0, 30_000), steady(0, 30_000)
	for i := range here {
		if i%10 < 8 {
			here[i].Function, here[i].Outcome = history.Query, history.Fail
		}
		if i >= 100 && i < 200 {
			away[i].Outcome = history.Unknown
		}
	}
	lose := fault("lose-tukwila", 9_990, 19_999, 21_000)
	lose.Isolated = []string{"tukwila"}
	v := verdictOf(0, []history.Fault{lose}, run(1, "quincy", here...), run(2, "tukwila", away...))
	g.Expect(v.Operations).To(Equal(history.Operations{Attempted: 500, Failed: 240, CutOff: 100}))
}

// Only what is acknowledged while a fault, or what it has disturbed, lasts is at risk; what comes long after it is not.
func TestRowsAtRisk(t *testing.T) {
	for name, c := range map[string]struct {
		gap  [2]int64
		want int
	}{
		"some were":                {[2]int64{20_000, 29_000}, 60},
		"one, a moment after it":   {[2]int64{20_000, 34_900}, 1},
		"none until later than it": {[2]int64{20_000, 40_000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := verdictOf(0, []history.Fault{killed(19_990, 30_000)}, run(1, "quincy", steady(0, 60_000, c.gap)...))
			g.Expect(v.Faults[0].Acknowledged).To(Equal(c.want))
			g.Expect(v.Result == history.Passed).To(Equal(c.want > 0), "%v", v.Reasons)
		})
	}
}
