// SPDX-License-Identifier: Apache-2.0

package history

import (
	"math"
	"slices"
	"time"
)

// ClockReading is what the clock of a client's machine showed between two moments of the manager's. Every answer of a
// client's pod brings one along.
type ClockReading struct {
	// Boot identifies the boot of the client's machine.
	Boot string `json:"boot"`
	// Monotonic is that machine's CLOCK_BOOTTIME in nanoseconds.
	Monotonic int64 `json:"monotonic"`
	// Sent and Received bound when it was read: nanoseconds since 1970 UTC by the manager's clock.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

// clock is how a machine's monotonic clock lies to the manager's.
type clock struct {
	// earliest and latest bound what has to be added to it, in nanoseconds.
	earliest, latest int64
}

func (c clock) shift() int64 { return c.earliest + (c.latest-c.earliest)/2 }

// err is half a round trip at most, where all readings agree.
func (c clock) err() time.Duration { return time.Duration((c.latest - c.earliest + 1) / 2) }

// compareClocks makes one of all readings of each machine, by its boot. Where they agree each narrows the others. Where
// they do not, a clock was set or went astray meanwhile, and what they leave open is all that they span.
func compareClocks(readings []ClockReading) map[string]clock {
	narrow, wide := map[string]clock{}, map[string]clock{}
	for _, r := range readings {
		m := r.Boot
		one := clock{r.Sent - r.Monotonic, r.Received - r.Monotonic}
		if _, known := narrow[m]; !known {
			narrow[m], wide[m] = one, one
		}
		narrow[m] = clock{max(narrow[m].earliest, one.earliest), min(narrow[m].latest, one.latest)}
		wide[m] = clock{min(wide[m].earliest, one.earliest), max(wide[m].latest, one.latest)}
	}
	for m, c := range narrow {
		if c.earliest > c.latest {
			narrow[m] = wide[m]
		}
	}
	return narrow
}

// axis puts instants of all runs and of the faults on one scale.
type axis struct {
	// wall: the scale is the manager's wall clock. Else all are of one machine, and it is that one's monotonic clock.
	wall bool
	// clocks by the boot of their machines.
	clocks map[string]clock
	// stated bounds the difference of wall clocks that were not compared; 0 when nobody vouches for any.
	stated time.Duration
}

// onOneAxis are the runs with instants of one scale. Where that is the manager's clock the runs are copies, whose wall
// clocks show the manager's as far as they could be compared.
func onOneAxis(e Evidence) ([]Run, axis) {
	stamped := e.stamped()
	if stamped && !slices.ContainsFunc(e.Runs, func(r Run) bool {
		return r.Boot == "" || r.Boot != e.Runs[0].Boot || e.FaultsBoot != "" && r.Boot != e.FaultsBoot
	}) {
		return e.Runs, axis{}
	}
	a := axis{wall: true, clocks: compareClocks(e.Clocks), stated: e.ClockError}
	runs := make([]Run, len(e.Runs))
	for i, run := range e.Runs {
		if run.Boot != "" && run.Boot == e.FaultsBoot && len(e.Faults) > 0 && stamped {
			between := e.faultsShift()
			a.clocks[run.Boot] = clock{between, between}
		}
		runs[i] = run
		c, compared := a.clocks[run.Boot]
		if !compared {
			continue
		}
		runs[i].Operations = slices.Clone(run.Operations)
		for j := range runs[i].Operations {
			o := &runs[i].Operations[j]
			o.Invoked.Wall = o.Invoked.Monotonic + c.shift()
			if o.Completed != (Instant{}) {
				o.Completed.Wall = o.Completed.Monotonic + c.shift()
			}
		}
	}
	return runs, a
}

// faultsShift is what lies between the wall clock and the monotonic clock of the machine with which FaultsBoot dates
// the faults.
func (e Evidence) faultsShift() int64 {
	return e.Faults[0].Injected.Wall - e.Faults[0].Injected.Monotonic
}

// stamped says that nothing speaks against that machine's having dated the faults: another manager may have done so
// before, on another machine, or the wall clock was set since. Then the readings of its clock do not agree.
func (e Evidence) stamped() bool {
	if len(e.Faults) == 0 {
		return true
	}
	shift := e.faultsShift()
	return !slices.ContainsFunc(e.Clocks, func(r ClockReading) bool {
		return r.Boot == e.FaultsBoot && (shift < r.Sent-r.Monotonic || shift > r.Received-r.Monotonic)
	})
}

func (a axis) of(i Instant) int64 {
	if a.wall {
		return i.Wall
	}
	return i.Monotonic
}

func (a axis) since(later, earlier Instant) time.Duration {
	return time.Duration(a.of(later) - a.of(earlier))
}

// unsure bounds by how much what a machine did may lie beside what the manager did. False: nobody can tell.
func (a axis) unsure(boot string) (time.Duration, bool) {
	if !a.wall {
		return 0, true
	}
	if c, compared := a.clocks[boot]; compared {
		return c.err(), true
	}
	return a.stated, a.stated > 0
}

// apart bounds by how much what two machines did may lie beside each other. False: nobody can tell.
func (a axis) apart(x, y string) (time.Duration, bool) {
	if !a.wall || x == y && x != "" {
		return 0, true
	}
	one, known := a.unsure(x)
	other, alsoKnown := a.unsure(y)
	_, compared := a.clocks[x]
	if _, alsoCompared := a.clocks[y]; !compared && !alsoCompared {
		return a.stated, known
	}
	return one + other, known && alsoKnown
}

// span is a time on an axis, without its end.
type span struct{ from, until int64 }

// less is the span without so much at each end.
func (s span) less(by time.Duration) span { return span{add(s.from, by), add(s.until, -by)} }

// add does not go beyond the ends of time.
func add(at int64, d time.Duration) int64 {
	if at == math.MaxInt64 || at == math.MinInt64 {
		return at
	}
	return at + int64(d)
}

// within is how much of a span lies within others, which may overlap.
func (s span) within(others []span) time.Duration {
	sorted := slices.SortedFunc(slices.Values(others), func(x, y span) int {
		switch {
		case x.from < y.from:
			return -1
		case x.from > y.from:
			return 1
		}
		return 0
	})
	var sum int64
	from := s.from
	for _, o := range sorted {
		begin, end := max(from, o.from), min(s.until, o.until)
		if end > begin {
			sum, from = sum+end-begin, end
		}
	}
	return time.Duration(sum)
}
