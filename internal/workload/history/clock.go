// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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

// ClockFigures are what the readings of one machine's clock say.
type ClockFigures struct {
	// Boot of the machine, and Clients that ran there; none of the manager's own.
	Boot    string   `json:"boot"`
	Clients []string `json:"clients,omitempty"`
	// Readings of it.
	Readings int `json:"readings"`
	// Bound is by how much an instant of that machine may lie beside what it is taken for on the manager's clock.
	Bound time.Duration `json:"bound"`
	// Strayed is by how much the clocks at least moved against each other, beyond what any constant difference explains:
	// one of them drifted, or was set. 0 where a constant does.
	Strayed time.Duration `json:"strayed,omitempty"`
}

// String for people; empty where there is nothing to tell.
func (c ClockFigures) String() string {
	if c.Strayed == 0 {
		return ""
	}
	of := "the manager's clock was set, or drifted: by"
	if len(c.Clients) > 0 {
		of = "the clocks of the manager and of " + strings.Join(c.Clients, ", ") + " moved against each other: by"
	}
	return fmt.Sprintf("%s at least %s in %d looks", of, c.Strayed.Round(time.Microsecond), c.Readings)
}

// clock is how a machine's monotonic clock lies to the manager's.
type clock struct {
	// looks at it, by its own time. One alone counts for all of it; of several each counts between the two beside it.
	looks []look
	// err is half of what the widest of them leaves open.
	err      time.Duration
	strayed  time.Duration
	readings int
}

// look bounds what has to be added to the clock to have the manager's, in nanoseconds, about a time of its own.
type look struct{ at, earliest, latest int64 }

func (l look) width() int64 { return l.latest - l.earliest }

// with spans both.
func (l look) with(other look) look {
	return look{l.at, min(l.earliest, other.earliest), max(l.latest, other.latest)}
}

// shift is what has to be added to an instant.
func (c clock) shift(monotonic int64) int64 {
	l := c.around(monotonic)
	return l.earliest + l.width()/2
}

// around is what bounds an instant: the looks before it and after it, or the two that are nearest to it.
func (c clock) around(monotonic int64) look {
	if len(c.looks) == 1 {
		return c.looks[0]
	}
	after, _ := slices.BinarySearchFunc(c.looks, monotonic, func(l look, at int64) int { return cmp.Compare(l.at, at) })
	after = min(max(after, 1), len(c.looks)-1)
	return c.looks[after-1].with(c.looks[after])
}

// fixed is a clock of which the difference is known.
func fixed(shift int64) clock { return clock{looks: []look{{0, shift, shift}}} }

// compareClocks makes one of all readings of each machine, by its boot. Where a constant difference explains them all,
// each narrows the others. Where none does, a clock was set or drifts meanwhile: then what an instant is taken for goes
// by the looks before it and after it, and what they leave open is all that these span.
func compareClocks(readings []ClockReading) map[string]clock {
	byBoot := map[string][]look{}
	for _, r := range readings {
		byBoot[r.Boot] = append(byBoot[r.Boot], look{r.Monotonic, r.Sent - r.Monotonic, r.Received - r.Monotonic})
	}
	clocks := map[string]clock{}
	for boot, looks := range byBoot {
		clocks[boot] = compareLooks(looks)
	}
	return clocks
}

func compareLooks(looks []look) clock {
	narrow := looks[0]
	for _, l := range looks {
		narrow = look{0, max(narrow.earliest, l.earliest), min(narrow.latest, l.latest)}
	}
	c := clock{looks: []look{narrow}, readings: len(looks)}
	if narrow.width() < 0 {
		c.strayed = time.Duration(-narrow.width())
		c.looks = sharpest(looks)
	}
	for _, l := range c.looks {
		c.err = max(c.err, time.Duration((c.around(l.at).width()+1)/2), time.Duration((c.around(l.at+1).width()+1)/2))
	}
	return c
}

// sharpest are the looks in their order without those that took much longer than is usual: they leave open what others
// tell.
func sharpest(looks []look) []look {
	usual := slices.SortedFunc(slices.Values(looks), func(x, y look) int { return cmp.Compare(x.width(), y.width()) })
	most := 2 * usual[(len(usual)-1)/2].width()
	sharp := slices.DeleteFunc(slices.Clone(looks), func(l look) bool { return l.width() > most })
	if len(sharp) < 2 || contradicts(sharp) < contradicts(looks) {
		sharp = slices.Clone(looks)
	}
	slices.SortStableFunc(sharp, func(x, y look) int { return cmp.Compare(x.at, y.at) })
	return sharp
}

// contradicts is by how much looks are at least apart that no constant explains; 0 or less where one does.
func contradicts(looks []look) int64 {
	earliest, latest := int64(math.MinInt64), int64(math.MaxInt64)
	for _, l := range looks {
		earliest, latest = max(earliest, l.earliest), min(latest, l.latest)
	}
	return earliest - latest
}

// clockFigures are those of the machines of the runs, and of the manager where his own clock has strayed noticeably.
func clockFigures(e Evidence, a axis) []ClockFigures {
	var list []ClockFigures
	for _, boot := range slices.Sorted(maps.Keys(a.clocks)) {
		c := a.clocks[boot]
		f := ClockFigures{Boot: boot, Readings: c.readings, Bound: c.err, Strayed: c.strayed}
		for _, run := range e.Runs {
			if run.Boot == boot && !slices.Contains(f.Clients, run.Client) {
				f.Clients = append(f.Clients, run.Client)
			}
		}
		if c.readings > 0 && len(f.Clients) > 0 {
			list = append(list, f)
		}
	}
	if a.own > noticedStray {
		list = append(list, ClockFigures{Boot: e.FaultsBoot, Readings: len(e.OwnClock), Bound: a.own, Strayed: a.own})
	}
	return list
}

// noticedStray is from when on it is told that the manager's wall clock does not go as his monotonic one: less is what
// NTP does to a clock all the time, and is in the bounds.
const noticedStray = 50 * time.Millisecond

// ownStray is by how much the manager's wall clock went beside his monotonic one while he looked, on each machine that
// he was on.
func ownStray(readings []ClockReading) time.Duration {
	var most int64
	for _, c := range compareClocks(readings) {
		earliest, latest := int64(math.MaxInt64), int64(math.MinInt64)
		for _, l := range c.looks {
			earliest, latest = min(earliest, l.earliest), max(latest, l.latest)
		}
		if c.strayed > 0 {
			most = max(most, latest-earliest)
		}
	}
	return time.Duration(most)
}

// axis puts instants of all runs and of the faults on one scale.
type axis struct {
	// wall: the scale is the manager's wall clock. Else all are of one machine, and it is that one's monotonic clock.
	wall bool
	// clocks by the boot of their machines.
	clocks map[string]clock
	// stated bounds the difference of wall clocks that were not compared; 0 when nobody vouches for any.
	stated time.Duration
	// own is by how much the manager's wall clock strayed, between any two instants of his.
	own time.Duration
}

// onOneAxis are the runs with instants of one scale. Where that is the manager's clock the runs are copies, whose wall
// clocks show the manager's as far as they could be compared.
func onOneAxis(e Evidence) ([]Run, axis) {
	stamped := e.stamped()
	if stamped && !slices.ContainsFunc(e.Runs, func(r Run) bool {
		return r.Boot == "" || r.Boot != e.Runs[0].Boot || e.FaultsBoot != "" && r.Boot != e.FaultsBoot
	}) {
		return e.Runs, axis{own: ownStray(e.OwnClock)}
	}
	a := axis{wall: true, clocks: compareClocks(e.Clocks), stated: e.ClockError, own: ownStray(e.OwnClock)}
	runs := make([]Run, len(e.Runs))
	for i, run := range e.Runs {
		if run.Boot != "" && run.Boot == e.FaultsBoot && len(e.Faults) > 0 && stamped {
			between := e.faultsShift()
			a.clocks[run.Boot] = fixed(between)
		}
		runs[i] = run
		c, compared := a.clocks[run.Boot]
		if !compared {
			continue
		}
		runs[i].Operations = slices.Clone(run.Operations)
		for j := range runs[i].Operations {
			o := &runs[i].Operations[j]
			o.Invoked.Wall = o.Invoked.Monotonic + c.shift(o.Invoked.Monotonic)
			if o.Completed != (Instant{}) {
				o.Completed.Wall = o.Completed.Monotonic + c.shift(o.Completed.Monotonic)
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
		return c.err, true
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
