// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// strange is a run of a machine whose monotonic clock shows that for each millisecond of the manager's.
func strange(r history.Run, shows func(ms int64) int64) history.Run {
	r.Boot = "theirs"
	for i := range r.Operations {
		for _, one := range []*history.Instant{&r.Operations[i].Invoked, &r.Operations[i].Completed} {
			one.Monotonic = shows(one.Monotonic / int64(time.Millisecond))
		}
	}
	return r
}

// looks are readings of such a clock every ten seconds, of 20 ms each.
func looks(until int64, shows func(ms int64) int64) (list []history.ClockReading) {
	for ms := int64(0); ms <= until; ms += 10_000 {
		list = append(list, history.ClockReading{Boot: "theirs", Monotonic: shows(ms + 10), Sent: at(ms).Wall,
			Received: at(ms + 20).Wall})
	}
	return list
}

// A clock that drifts is told of, and is known as well as the looks before and after a moment tell it: what came before
// a fault is told from what came after it by less than the clock went astray.
func TestAClockThatDrifts(t *testing.T) {
	drifting := func(ms int64) int64 { return ms*1_000_000 + ms*5_000 } // a second in 200
	for name, c := range map[string]struct {
		injected int64
		want     history.Result
	}{
		"an outage that was over before the fault": {156_300, history.Passed},
		"an outage at the fault":                   {151_000, history.Failed},
		"one that may have been over":              {156_010, history.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			runs := []history.Run{strange(run(1, "tukwila", steady(0, 200_000, [2]int64{150_200, 156_000})...), drifting)}
			f := fault("kill", c.injected, 0, c.injected+1000)
			f.Healed, f.RTO = history.Instant{}, 3*time.Second
			v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...),
				Faults: []history.Fault{f}, FaultsBoot: "the manager's", Clocks: looks(200_000, drifting)})
			g.Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
			g.Expect(v.Clocks).To(HaveLen(1))
			g.Expect(v.Clocks[0].Bound).To(BeNumerically("<", 50*time.Millisecond))
			g.Expect(v.Clocks[0].Strayed).To(BeNumerically("~", 980*time.Millisecond, 10*time.Millisecond))
			g.Expect(v.Clocks[0].String()).To(And(ContainSubstring("tukwila"), ContainSubstring("at least 980ms in 21 looks")))
		})
	}
}

// A clock that was set during the drill is told of, and whatever it leaves open is open.
func TestAClockThatIsSet(t *testing.T) {
	g := NewWithT(t)
	steadily := func(ms int64) int64 { return ms * 1_000_000 }
	runs := []history.Run{strange(run(1, "tukwila", steady(0, 60_000, [2]int64{20_000, 30_000})...), steadily)}
	f := fault("kill", 31_000, 0, 32_000)
	f.Healed, f.RTO = history.Instant{}, 5*time.Second
	e := history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...), Faults: []history.Fault{f},
		FaultsBoot: "the manager's", Clocks: looks(60_000, steadily)}
	for i := range e.Clocks[4:] { // the manager's was set back after the fourth look
		e.Clocks[4+i].Sent -= int64(8 * time.Second)
		e.Clocks[4+i].Received -= int64(8 * time.Second)
	}
	v := history.Check(e)
	g.Expect(v.Result).To(Equal(history.Inconclusive), "%v", v.Reasons)
	g.Expect(v.Clocks).To(ConsistOf(HaveField("Strayed", 7980*time.Millisecond)))

	e.Clocks = looks(60_000, steadily)
	v = history.Check(e)
	g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
	g.Expect(v.Clocks).To(ConsistOf(And(HaveField("Strayed", time.Duration(0)), HaveField("Readings", 7),
		HaveField("Bound", 10*time.Millisecond))))
	g.Expect(v.Clocks[0].String()).To(BeEmpty())
}

// The manager's own wall clock dates the end of a fault and the replicas' return: one that strays leaves the time
// between them open.
func TestTheManagersOwnClock(t *testing.T) {
	own := func(set int64) (list []history.ClockReading) {
		for ms := int64(0); ms < 60_000; ms += 1000 {
			wall := at(ms).Wall
			if ms > 25_000 {
				wall += set * int64(time.Millisecond)
			}
			list = append(list, history.ClockReading{Boot: "own", Monotonic: at(ms).Monotonic, Sent: wall, Received: wall})
		}
		return list
	}
	for set, want := range map[int64]time.Duration{0: 0, 10: 10 * time.Millisecond, -5000: 5 * time.Second} {
		g := NewWithT(t)
		v := history.Check(history.Evidence{Runs: []history.Run{run(1, "tukwila", steady(0, 60_000)...)},
			Faults: []history.Fault{fault("cut", 10_000, 20_000, 30_000)}, FaultsBoot: "own", OwnClock: own(set)})
		g.Expect(v.Faults[0]).To(And(HaveField("CatchUp", HaveValue(Equal(10*time.Second))),
			HaveField("CatchUpLess", want), HaveField("CatchUpMore", want)))
		if want > time.Second {
			g.Expect(v.Clocks).To(ConsistOf(HaveField("Strayed", want)))
		} else {
			g.Expect(v.Clocks).To(BeEmpty())
		}
	}
}

// Clients that a fault cut off are cut off until the way is open again, not until the fault is taken back. Nobody looks
// all the time: between two looks it is open when that was.
func TestClientsAreCutOffUntilTheWayIsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		bounds history.FaultBounds
		want   history.Result
		rto    time.Duration
	}{
		"taken back at once": {history.FaultBounds{}, history.Failed, 11 * time.Second},
		"open just before": {history.FaultBounds{StillCut: at(38_000), OpenBy: at(39_000)}, history.Passed,
			3 * time.Second},
		"open between looks": {history.FaultBounds{StillCut: at(32_000), OpenBy: at(39_000)}, history.Inconclusive,
			9 * time.Second},
		"never seen open": {history.FaultBounds{StillCut: at(32_000)}, history.Inconclusive, 9 * time.Second},
		"open long before": {history.FaultBounds{StillThere: at(29_000), GoneBy: at(31_000), OpenBy: at(31_000)},
			history.Failed, 12 * time.Second},
		"taken back some time within 8 s": {history.FaultBounds{StillThere: at(29_000), GoneBy: at(37_000)},
			history.Inconclusive, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := fault("cut", 10_000, 30_000, 45_000)
			f.Isolated, f.RTO, f.Bounds = []string{"tukwila"}, 5*time.Second, c.bounds
			runs := []history.Run{run(1, "tukwila", steady(0, 60_000, [2]int64{10_000, 41_000})...),
				run(2, "quincy", steady(50, 60_000)...)}
			v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...),
				Faults: []history.Fault{f}})
			g.Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
			g.Expect(*v.Faults[0].Clients[1].RTO).To(BeNumerically("~", c.rto, 200*time.Millisecond))
		})
	}
}

// How long replicas took lies between the looks at the end of the fault and those at the replicas.
func TestCatchingUpIsAsExactAsTheLooks(t *testing.T) {
	for name, c := range map[string]struct {
		healed            int64
		bounds            history.FaultBounds
		took, least, most time.Duration
	}{
		"of an older archive": {30_000, history.FaultBounds{}, 12 * time.Second, 12 * time.Second, 12 * time.Second},
		"looked at often": {30_000, history.FaultBounds{StillThere: at(28_000), GoneBy: at(31_000), Behind: at(40_000)},
			12 * time.Second, 9 * time.Second, 14 * time.Second},
		"not looked at before they were back": {30_000, history.FaultBounds{StillThere: at(12_000), GoneBy: at(31_000)},
			12 * time.Second, 0, 30 * time.Second},
		"of what is done at once": {0, history.FaultBounds{BegunBy: at(10_500), Behind: at(40_000)},
			32 * time.Second, 29_500 * time.Millisecond, 32 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := fault("cut", 10_000, c.healed, 42_000)
			if c.healed == 0 {
				f.Healed = history.Instant{}
			}
			f.Bounds = c.bounds
			v := history.Check(history.Evidence{Runs: []history.Run{run(1, "tukwila", steady(0, 60_000)...)},
				Faults: []history.Fault{f}})
			is := v.Faults[0]
			g.Expect(*is.CatchUp).To(Equal(c.took))
			g.Expect(*is.CatchUp - is.CatchUpLess).To(Equal(c.least))
			g.Expect(*is.CatchUp + is.CatchUpMore).To(Equal(c.most))
		})
	}
}
