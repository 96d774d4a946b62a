// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// steady are acknowledged inserts every 100 ms from one millisecond to another, without those in between.
func steady(from, to int64, gaps ...[2]int64) []history.Operation {
	var list []history.Operation
	number := int64(0)
next:
	for ms := from; ms < to; ms += 100 {
		for _, gap := range gaps {
			if ms >= gap[0] && ms < gap[1] {
				continue next
			}
		}
		number++
		list = append(list, insert(number, ms, ms+5, history.OK, "a-0", 1))
	}
	return list
}

func present(runs []history.Run, without func(history.Operation) bool) []history.RowID {
	var ids []history.RowID
	for _, r := range runs {
		for _, o := range r.Operations {
			if o.Outcome == history.OK && !without(o) {
				ids = append(ids, history.RowID{Run: r.Header.Run, Number: o.Number})
			}
		}
	}
	return ids
}

func fault(name string, injected, healed, settled int64) history.Fault {
	return history.Fault{
		Name:     name,
		Target:   "a-0",
		Injected: at(injected),
		Healed:   at(healed),
		Settled:  at(settled),
		Proof:    "seen",
	}
}

func TestFigures(t *testing.T) {
	g := NewWithT(t)
	near := run(1, "tukwila", steady(0, 60_000, [2]int64{20_100, 25_000}, [2]int64{40_000, 41_000})...)
	far := run(2, "dublin", steady(50, 60_000, [2]int64{20_000, 28_000})...)
	runs := []history.Run{near, far}
	e := history.Evidence{
		Runs:     runs,
		Replicas: replicas(present(runs, func(history.Operation) bool { return false })...),
		Faults: []history.Fault{
			fault("second", 40_050, 0, 43_000), fault("first", 20_050, 26_000, 30_000),
		},
	}
	e.Faults[0].Healed = history.Instant{}
	v := history.Check(e)
	g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
	first, second := v.Faults[0], v.Faults[1]
	g.Expect(first.Name).To(Equal("first"), "they are in the order of time")
	g.Expect(*first.CatchUp).To(Equal(4 * time.Second))
	g.Expect(*second.CatchUp).To(Equal(2950*time.Millisecond), "from its beginning, since there was nothing to heal")
	g.Expect(first.Clients).To(HaveLen(2))
	g.Expect(first.Clients[0]).
		To(And(HaveField("Client", "dublin"), HaveField("RTO", HaveValue(Equal(8100*time.Millisecond))),
			HaveField("Usual", 100*time.Millisecond)))
	g.Expect(first.Clients[1]).To(And(HaveField("Client", "tukwila"), HaveField("RTO", HaveValue(Equal(5*time.Second)))))
	g.Expect(*second.Clients[1].RTO).To(Equal(1100*time.Millisecond), "the first fault's time is not counted again")

	e.Faults[1].RTO = 6 * time.Second
	v = history.Check(e)
	g.Expect(v.Result).To(Equal(history.Failed))
	g.Expect(v.Reasons).
		To(ConsistOf("client dublin went 8.1s without an acknowledgement at fault first on a-0, 6s allowed"))
	e.Faults[1].Isolated = []string{"dublin"}
	g.Expect(history.Check(e).Result).To(Equal(history.Passed))

	var text strings.Builder
	g.Expect(history.Check(e).WriteTable(&text)).To(Succeed())
	g.Expect(text.String()).
		To(MatchRegexp(`first +1 +0 +0\.00 s +1 +5\.00 s +5\.00 s +5\.00 s`), "without the client that was isolated")
}

// A client that is answered once more after the fault and then never again went without service until its history ends.
func TestSilenceUntilTheEnd(t *testing.T) {
	for name, outcome := range map[string]history.Outcome{"no answers": history.Unknown, "refusals": history.Fail} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			operations := steady(0, 20_100)
			for n := range int64(15) {
				operations = append(operations, insert(int64(len(operations))+1, 20_200+2000*n, 22_200+2000*n, outcome, "", 0))
			}
			// One that was sent and whose end is not in the history.
			open := insert(int64(len(operations))+1, 50_300, 0, history.Unknown, "", 0)
			open.Completed = history.Instant{}
			runs := []history.Run{run(1, "tukwila", append(operations, open)...)}
			f := fault("kill", 20_000, 0, 30_000)
			f.Healed, f.RTO = history.Instant{}, 5*time.Second
			v := history.Check(
				history.Evidence{
					Runs:     runs,
					Replicas: replicas(present(runs, func(history.Operation) bool { return false })...),
					Faults:   []history.Fault{f},
				},
			)
			g.Expect(v.Faults[0].Clients[0].RTO).To(HaveValue(Equal(30_295 * time.Millisecond)))
			g.Expect(v.Result).To(Equal(history.Failed))
		})
	}
}

// What was not seen is no pass.
func TestFaultsWithoutEvidence(t *testing.T) {
	runs := []history.Run{run(1, "tukwila", steady(0, 10_000)...)}
	for _, c := range []struct {
		name   string
		change func(*history.Fault)
		reason string
	}{
		{"took no effect", func(f *history.Fault) { f.Proof = "" }, "fault kill on a-0 was not seen to have taken effect"},
		{"never settled", func(f *history.Fault) { f.Settled = history.Instant{} },
			"after fault kill on a-0 the replicas were not seen synchronized"},
		{"nothing came after it", func(f *history.Fault) {
			f.Injected, f.Healed, f.Settled = at(10_000), at(10_001),
				at(10_002)
		}, "client tukwila: no acknowledgement after it around fault kill on a-0; " +
			"nothing was acknowledged while fault kill on a-0 lasted: no row was at risk"},
		{"nothing came before it", func(f *history.Fault) { f.Injected = at(-1) },
			"client tukwila: no acknowledgement before it around fault kill on a-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			f := fault("kill", 5000, 6000, 7000)
			c.change(&f)
			v := history.Check(
				history.Evidence{
					Runs:     runs,
					Replicas: replicas(present(runs, func(history.Operation) bool { return false })...),
					Faults:   []history.Fault{f},
				},
			)
			g.Expect(v.Result).To(Equal(history.Inconclusive))
			g.Expect(v.Reasons).To(ConsistOf(strings.Split(c.reason, "; ")))
		})
	}
}

func TestLossesAreDatedAndPutDownToTheirFault(t *testing.T) {
	g := NewWithT(t)
	runs := []history.Run{run(1, "tukwila", steady(0, 60_000)...)}
	// The last 300 ms before the first fault, and 200 ms of what was acknowledged in the second one's disturbance.
	lost := func(o history.Operation) bool {
		ms := o.Completed.Monotonic / int64(time.Millisecond)
		return ms >= 19_700 && ms < 20_000 || ms >= 41_000 && ms < 41_200
	}
	v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, lost)...), Faults: []history.Fault{
		fault(
			"first",
			20_000,
			21_000,
			30_000,
		), fault("second", 40_000, 42_000, 50_000), fault("third", 55_000, 56_000, 57_000),
	}})
	g.Expect(v.Counts.Lost).To(Equal(5))
	g.Expect(v.Faults[0]).To(And(HaveField("Lost", 3), HaveField("RPO", 395*time.Millisecond)))
	g.Expect(v.Faults[1]).
		To(And(HaveField("Lost", 2), HaveField("RPO", 200*time.Millisecond)),
			"what was lost was acknowledged after the fault")
	g.Expect(v.Faults[2]).To(And(HaveField("Lost", 0), HaveField("RPO", time.Duration(0))))

	v = history.Check(
		history.Evidence{Runs: runs, Replicas: replicas(), Faults: []history.Fault{fault("all", 20_000, 21_000, 30_000)}},
	)
	g.Expect(v.Faults[0]).
		To(And(HaveField("Lost", 600), HaveField("RPO", 59_900*time.Millisecond)),
			"nothing is left from which it could be counted")
}

// Clients of several machines are compared by their wall clocks. How long one went without an acknowledgement is told
// by its own machine's monotonic clock: a wall clock that is set meanwhile makes no outage shorter or longer.
func TestWallClocksThatAreSet(t *testing.T) {
	for name, set := range map[string]int64{"back": -4000, "forward": 7000} {
		t.Run(name, func(t *testing.T) {
			near := run(1, "tukwila", steady(0, 60_000, [2]int64{20_100, 25_000})...)
			for i, o := range near.Operations {
				if o.Invoked.Monotonic > int64(22*time.Second) {
					near.Operations[i].Invoked.Wall += set * int64(time.Millisecond)
					near.Operations[i].Completed.Wall += set * int64(time.Millisecond)
				}
			}
			NewWithT(
				t,
			).Expect(clientOf(t, "tukwila", near)).
				To(And(HaveField("RTO", HaveValue(Equal(5*time.Second))), HaveField("Stall", 5*time.Millisecond)))
		})
	}
}

// clientOf is what was measured of one client, beside one of another machine that was never without an answer.
func clientOf(t *testing.T, client string, runs ...history.Run) history.ClientFigures {
	t.Helper()
	other := run(9, "dublin", steady(50, 60_000)...)
	other.Boot = "another"
	runs = append(runs, other)
	v := history.Check(history.Evidence{Runs: runs, FaultsBoot: "a third", ClockError: 100 * time.Millisecond,
		Replicas: replicas(
			present(
				runs,
				func(history.Operation) bool { return false },
			)...), Faults: []history.Fault{fault("kill", 20_050, 26_000, 30_000)}})
	for _, c := range v.Faults[0].Clients {
		if c.Client == client {
			return c
		}
	}
	t.Fatalf("nothing was measured of %s", client)
	return history.ClientFigures{}
}

// A wall clock that is set back to before the fault hides no outage that follows.
func TestAWallClockThatIsSetBackBeforeTheFault(t *testing.T) {
	near := run(1, "tukwila", steady(0, 60_000, [2]int64{20_100, 21_000}, [2]int64{28_000, 30_000})...)
	for i, o := range near.Operations {
		if o.Invoked.Monotonic >= int64(27*time.Second) {
			near.Operations[i].Invoked.Wall -= int64(10 * time.Second)
			near.Operations[i].Completed.Wall -= int64(10 * time.Second)
		}
	}
	NewWithT(t).Expect(clientOf(t, "tukwila", near).RTO).To(HaveValue(Equal(2100 * time.Millisecond)))
}

// Of a client whose machine was started anew at the fault nobody knows whether it would have been served meanwhile.
func TestAMachineThatIsStartedAnew(t *testing.T) {
	before, after := run(1, "tukwila", steady(0, 20_100)...), run(2, "tukwila", steady(25_000, 60_000)...)
	after.Boot = "later"
	for i := range after.Operations {
		after.Operations[i].Invoked.Monotonic -= int64(25 * time.Second)
		after.Operations[i].Completed.Monotonic -= int64(25 * time.Second)
	}
	NewWithT(t).Expect(clientOf(t, "tukwila", before, after)).
		To(And(HaveField("RTO", BeNil()), HaveField("Missing", "nobody was at work when it began")))
}

func TestSummary(t *testing.T) {
	g := NewWithT(t)
	var figures []history.FaultFigures
	for i := range 20 {
		rto, catchUp := time.Duration(i+1)*time.Second, time.Duration(i+1)*time.Millisecond
		figures = append(figures, history.FaultFigures{Fault: history.Fault{Name: "kill"}, Lost: 1, CatchUp: &catchUp,
			Clients: []history.ClientFigures{{RTO: &rto}, {Isolated: true, RTO: &rto}}})
	}
	s := history.Summarize(figures)
	g.Expect(s).To(HaveLen(1))
	g.Expect(s[0]).
		To(Equal(history.Summary{Name: "kill", Count: 20, Lost: 20, Samples: 20, RTOp50: 10 * time.Second,
			RTOp95: 19 * time.Second, RTOMax: 20 * time.Second,
			CatchUpP50: 10 * time.Millisecond, CatchUpMax: 20 * time.Millisecond}))
}
