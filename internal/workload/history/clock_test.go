// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// behind is a run of another machine, whose wall clock is so many milliseconds behind the manager's, and whose
// monotonic clock began an hour later.
func behind(r history.Run, boot string, ms int64) history.Run {
	r.Boot = boot
	for i := range r.Operations {
		for _, one := range []*history.Instant{&r.Operations[i].Invoked, &r.Operations[i].Completed} {
			one.Wall -= ms * int64(time.Millisecond)
			one.Monotonic -= int64(time.Hour)
		}
	}
	return r
}

// reading is a look at such a clock from the manager, who asked at one millisecond and had the answer at another.
func reading(boot string, sent, received int64) history.ClockReading {
	return history.ClockReading{Boot: boot, Monotonic: at((sent+received)/2).Monotonic - int64(time.Hour),
		Sent: at(sent).Wall, Received: at(received).Wall}
}

// An outage is found where it was, whatever the clients' wall clock shows; without a look at that clock nobody can
// tell.
func TestAnOutageOfClientsWhoseClockIsBehind(t *testing.T) {
	g := NewWithT(t)
	operations := steady(0, 200_000, [2]int64{60_100, 90_000})
	runs := []history.Run{behind(run(1, "tukwila", operations...), "theirs", 40_000)}
	e := history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...),
		Faults: []history.Fault{fault("kill", 60_050, 0, 95_000)}, FaultsBoot: "the manager's"}
	e.Faults[0].Healed, e.Faults[0].RTO = history.Instant{}, 20*time.Second
	v := history.Check(e)
	g.Expect(v.Result).To(Equal(history.Inconclusive), "%v", v.Reasons)
	g.Expect(v.Faults[0].Clients[0]).
		To(And(HaveField("RTO", BeNil()), HaveField("Missing", ContainSubstring("never compared"))))

	e.Clocks = []history.ClockReading{reading("theirs", 1000, 1040), reading("theirs", 190_000, 190_020)}
	v = history.Check(e)
	g.Expect(v.Result).To(Equal(history.Failed), "%v", v.Reasons)
	g.Expect(v.Faults[0].Clients[0]).To(And(HaveField("RTO", HaveValue(Equal(30*time.Second))),
		HaveField("Unsure", time.Duration(0)), HaveField("Usual", 100*time.Millisecond)))
}

// A manager on the clients' machine gathers what another one, elsewhere, has dated: what was seen of the clients' clock
// meanwhile speaks against this machine's, and decides. Nothing speaks against it where it dated the faults itself.
func TestFaultsThatAnotherManagerHasDated(t *testing.T) {
	operations := steady(0, 200_000, [2]int64{60_100, 90_000})
	for behindBy, want := range map[int64]time.Duration{40_000: 30 * time.Second, 0: 30 * time.Second} {
		g := NewWithT(t)
		runs := []history.Run{run(1, "tukwila", operations...)}
		runs[0].Boot = "here"
		f := fault("kill", 60_050-behindBy, 0, 95_000-behindBy)
		f.Healed = history.Instant{}
		seen := history.ClockReading{Boot: "here", Monotonic: at(1020).Monotonic,
			Sent: at(1000 - behindBy).Wall, Received: at(1040 - behindBy).Wall}
		v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...),
			Faults: []history.Fault{f}, FaultsBoot: "here", Clocks: []history.ClockReading{seen}})
		g.Expect(v.Faults[0].Clients[0].RTO).To(HaveValue(Equal(want)), "%d ms behind", behindBy)
	}
}

// What half a round trip leaves open - whether the fault was before an outage or after it - is no pass and no failure.
func TestAnOutageWithinTheClocksBound(t *testing.T) {
	runs := []history.Run{behind(run(1, "tukwila", steady(0, 60_000, [2]int64{20_000, 30_000})...), "theirs", 0)}
	slow := reading("theirs", 0, 200)
	for name, c := range map[string]struct {
		injected int64
		clocks   []history.ClockReading
		want     history.Result
	}{
		"within it, certainly": {25_000, []history.ClockReading{slow}, history.Failed},
		"after it, certainly":  {30_500, []history.ClockReading{slow}, history.Passed},
		"after it, perhaps":    {30_050, []history.ClockReading{slow}, history.Inconclusive},
		"told by a quicker reading": {30_050, []history.ClockReading{slow, reading("theirs", 5, 9)},
			history.Passed},
		"readings that contradict": {30_500, []history.ClockReading{slow,
			{Boot: "theirs", Monotonic: slow.Monotonic, Sent: at(2000).Wall, Received: at(2001).Wall}},
			history.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault("kill", c.injected, 0, 31_000)
			f.Healed, f.RTO = history.Instant{}, 5*time.Second
			v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...),
				Faults: []history.Fault{f}, FaultsBoot: "the manager's", Clocks: c.clocks})
			NewWithT(t).Expect(v.Result).To(Equal(c.want), "%v", v.Reasons)
		})
	}
}

// Two sites whose clocks are 3 s apart, and a switchover of a second between them, are no overlap. That there is none
// is said only where the clocks were compared well enough, and an overlap is found then, too.
func TestOverlapsOfSitesWhoseClocksDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		pause            int64
		clocks           []history.ClockReading
		overlaps, untold int
	}{
		"compared": {1000, []history.ClockReading{reading("near", 0, 20), reading("far", 0, 200)}, 0, 0},
		"compared, and both served": {-1000, []history.ClockReading{reading("near", 0, 20), reading("far", 0, 200)},
			1, 0},
		"not well enough": {50, []history.ClockReading{reading("near", 0, 20), reading("far", 0, 200)}, 0, 1},
		"not at all":      {1000, nil, 0, 1},
		"one of them":     {-1000, []history.ClockReading{reading("near", 0, 20)}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var old, young []history.Operation
			for i := range int64(100) {
				old = append(old, insert(i+1, i*100, i*100+5, history.OK, "a-0", 1))
				young = append(young, insert(i+1, 9_900+c.pause+i*100, 9_905+c.pause+i*100, history.OK, "b-0", 2))
			}
			runs := []history.Run{behind(run(1, "tukwila", old...), "near", 0),
				behind(run(2, "dublin", young...), "far", 3000)}
			there := replicas(present(runs, everything)...)
			v := history.Check(history.Evidence{Runs: runs, Replicas: there, Clocks: c.clocks})
			g.Expect(v.Overlaps).To(HaveLen(c.overlaps))
			g.Expect(v.Untold).To(HaveLen(c.untold))
			g.Expect(v.Result == history.Passed).To(Equal(c.overlaps+c.untold == 0), "%v", v.Reasons)
		})
	}
}

// What a folder's clients say of their newest acknowledgement is put on the clock of who asks: it was so long before he
// asked as they say by their own, whatever their wall clock shows.
func TestTheNewestAcknowledgementByTheAskersClock(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	r, err := history.Create(folder, history.Header{Run: 1, Client: "tukwila"})
	g.Expect(err).NotTo(HaveOccurred())
	o, err := r.Invoke(history.Insert, 0, 0)
	g.Expect(err).NotTo(HaveOccurred())
	o.Outcome = history.OK
	g.Expect(r.Complete(o)).To(Succeed())
	asked, err := r.Invoke(history.Query, 0, 0)
	g.Expect(err).NotTo(HaveOccurred())
	asked.Outcome = history.OK
	g.Expect(r.Complete(asked)).To(Succeed())
	newest, err := history.Latest(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newest.LastAnswered()).To(Equal(asked.Invoked), "what was answered to a reader was answered")
	age := newest.Now.Monotonic - o.Invoked.Monotonic
	g.Expect(age).To(BeNumerically(">", 0))
	sent := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	known, clock := newest.AnsweredBetween(sent, sent.Add(time.Second))
	g.Expect(known.Acknowledged.Time()).To(Equal(sent.Add(-time.Duration(age))))
	g.Expect(known.LastAnswered().Time()).To(BeTemporally(">", known.Acknowledged.Time()))
	boot, err := history.BootID()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(clock).To(Equal(history.ClockReading{Boot: boot, Monotonic: newest.Now.Monotonic,
		Sent: sent.UnixNano(), Received: sent.Add(time.Second).UnixNano()}))
	none, err := history.Latest(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	none, _ = none.AnsweredBetween(sent, sent)
	g.Expect(none.Acknowledged).To(BeZero())
}
