// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// ClientFigures are what one client's users saw of one fault. A user is one run: what a user did before and after his
// pod was started again are two, and the time between them is nobody's outage.
type ClientFigures struct {
	Client string `json:"client"`
	// Isolated says that the fault itself kept the client from reaching anything. Such a time is left out of RTO,
	// whichever fault it was.
	Isolated bool `json:"isolated,omitempty"`
	// Users that were at work in the fault's time.
	Users int `json:"users"`
	// RTO is how long users went without service: the longest time between two that follow each other, the
	// first of them not before the last one ahead of the fault, the second not after the next fault, or the first one
	// that comes at all. After the last fault it is at least the time from the last acknowledgement to the last thing
	// that the user did. Of every hundred users the worst one is left out, and none of less than a hundred. Nil when
	// nothing was measured; Missing says why, and of which users nothing is known where there are others.
	// Where Held, only an acknowledgement from which on service held ends such a time.
	RTO     *time.Duration `json:"rto,omitempty"`
	Missing string         `json:"missing,omitempty"`
	// Held says that RTO goes by that. Histories that do not tell when operations were to begin have the first
	// acknowledgement alone.
	Held bool `json:"held,omitempty"`
	// First is what RTO would be if the first acknowledgement ended such a time, and FirstUnsure by how much it may be
	// less; only where Held.
	First       *time.Duration `json:"first,omitempty"`
	FirstUnsure time.Duration  `json:"firstUnsure,omitempty"`
	// Unsure is by how much RTO may be less: the clocks leave it open which acknowledgements came before the fault, nobody
	// looked all the time at what cut a client off, and between a refused change and the next one nobody knows from when
	// on it would have been taken.
	Unsure time.Duration `json:"unsure,omitempty"`
	// AtLeast says that there was no acknowledgement any more: RTO is how long that was tried.
	AtLeast bool `json:"atLeast,omitempty"`
	// Usual is the median time between two acknowledgements of a user in the 10 seconds before the fault, beneath which
	// no RTO means anything.
	Usual time.Duration `json:"usual"`
	// Stall is how long the slowest acknowledged operation took in that time.
	Stall time.Duration `json:"stall"`
}

// Meets says whether users were served again within a time, with why they were not, or why that cannot be told. With 0
// there is no goal, and it says only whether it was measured.
func (c ClientFigures) Meets(goal time.Duration) (Result, string) {
	rto, without := time.Duration(0), "without an acknowledgement"
	if c.RTO != nil {
		rto = *c.RTO
	}
	if c.Held {
		without = "without service" // some may have been acknowledged meanwhile
	}
	least := rto - c.Unsure
	switch over := goal > 0 && rto > goal; {
	case over && least > goal && (c.Usual < goal || least-c.Usual > goal):
		return Failed, fmt.Sprintf("went %s %s", rto.Round(time.Millisecond), without)
	case c.Missing != "" || c.RTO == nil:
		return Inconclusive, cmp.Or(c.Missing, "nothing was measured")
	case c.AtLeast && c.First != nil && *c.First < rto:
		return Inconclusive, fmt.Sprintf("acknowledged again, and not seen to be served for long enough, %s after the last "+
			"acknowledgement before it", rto.Round(time.Millisecond))
	case c.AtLeast:
		return Inconclusive, fmt.Sprintf("no acknowledgement after it, in %s of trying", rto.Round(time.Millisecond))
	case over && least <= goal:
		return Inconclusive, fmt.Sprintf("between %s and %s %s: what was seen leaves it open",
			least.Round(time.Millisecond), rto.Round(time.Millisecond), without)
	case over:
		return Inconclusive, fmt.Sprintf("%s %s, where %s is usual: less cannot be told",
			rto.Round(time.Millisecond), without, c.Usual.Round(time.Millisecond))
	}
	return Passed, ""
}

const (
	// usualWithin is the time before a fault from which the usual time between acknowledgements is taken.
	usualWithin = 10 * time.Second
	// servedShare is the part of a client's users that RTO is of.
	servedShare = 0.99
)

// window is the time of a fault.
type window struct {
	span
	// settled is when all replicas were synchronized again, the end of time when that was not seen.
	settled int64
	// cut are times in which the client was certainly kept from reaching anything, perhapsCut those in which it may have
	// been.
	cut, perhapsCut []span
}

// atMost is the window as it is when all that a machine did was so much later, and was cut off no longer than is
// certain; atLeast the other way round.
func (w window) atMost(by time.Duration) window { return w.moved(by, w.cut) }

func (w window) atLeast(by time.Duration) window { return w.moved(-by, w.perhapsCut) }

func (w window) moved(by time.Duration, cuts []span) window {
	moved := window{span: span{add(w.from, -by), add(w.until, by)}, settled: w.settled}
	for _, cut := range cuts {
		if cut = cut.less(by); cut.from < cut.until {
			moved.cut = append(moved.cut, cut)
		}
	}
	return moved
}

// outage is what one user saw of a fault.
type outage struct {
	// longest time without an acknowledgement; open when there was none any more.
	longest time.Duration
	open    bool
	usual   []time.Duration
	stall   time.Duration
	// before and after say whether there was an acknowledgement before the fault and after it.
	before, after bool
}

// measureClient looks at what each of a client's users saw. Without a load the first acknowledgement counts.
func measureClient(runs []Run, a axis, w window, l *load) ClientFigures {
	c := measureUsers(runs, a, w, nil)
	if l == nil || c.RTO == nil {
		return c
	}
	if l.missing != "" {
		c.RTO, c.AtLeast, c.Unsure = nil, false, 0
		c.Missing = l.missing
		return c
	}
	held := measureUsers(runs, a, w, l)
	held.Held, held.First, held.FirstUnsure = true, c.RTO, c.Unsure
	return held
}

// measureUsers looks at what each of a client's users saw; with a load, when service held.
func measureUsers(runs []Run, a axis, w window, l *load) ClientFigures {
	var c ClientFigures
	var most, least []outage
	var usual []time.Duration
	before, after, atIt := false, false, false
	for _, run := range runs {
		begin, end := working(run, a)
		unsure, known := a.unsure(run.Boot)
		if !known {
			c.Missing = "its clock was never compared with the manager's, nothing can be told"
			return c
		}
		wide := see(run, a, w.atMost(unsure), l, false)
		before, after = before || wide.before, after || wide.after
		if begin >= w.until || end < w.from {
			continue
		}
		c.Users++
		atIt = atIt || begin <= w.from
		most, least = append(most, wide), append(least, see(run, a, w.atLeast(unsure), l, true))
		usual, c.Stall = append(usual, wide.usual...), max(c.Stall, wide.stall)
		if !run.Ended && end < min(w.settled, w.until) {
			c.Missing = "a history breaks off, and nobody knows what came after it,"
		}
	}
	c.Usual = Percentile(usual, 0.5)
	switch {
	case !after && !slices.ContainsFunc(most, func(o outage) bool { return o.open }):
		c.Missing = "no acknowledgement after it"
	case !before:
		c.Missing = "no acknowledgement before it"
	case !atIt:
		c.Missing = "nobody was at work when it began"
	default:
		rto, open := share(most)
		shorter, _ := share(least)
		c.RTO, c.AtLeast, c.Unsure = &rto, open, max(rto-shorter, 0)
	}
	return c
}

// share is the longest time of all users but the worst one of every hundred, and whether it was not over.
func share(users []outage) (time.Duration, bool) {
	sorted := slices.SortedFunc(slices.Values(users), func(x, y outage) int {
		if x.open != y.open {
			return cmp.Compare(btoi(x.open), btoi(y.open))
		}
		return cmp.Compare(x.longest, y.longest)
	})
	n := int(math.Ceil(servedShare * float64(len(sorted))))
	longest := time.Duration(0)
	for _, o := range sorted[:n] {
		longest = max(longest, o.longest)
	}
	return longest, n > 0 && sorted[n-1].open
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// working is from when to when a user was at work, as far as his history tells.
func working(run Run, a axis) (begin, end int64) {
	if len(run.Operations) == 0 {
		return math.MaxInt64, math.MinInt64
	}
	last := run.Operations[len(run.Operations)-1]
	return a.of(run.Operations[0].Invoked), max(a.of(last.Invoked), a.of(last.Completed))
}

// see looks at a user's acknowledgements from the last one ahead of the window to its end, and on to the first one
// where there is none within. What was answered counts, but not between two changes that were refused in a row and the
// next one: a server that lets people read and refuses what they write serves nobody. Once that next one is taken, it
// may have been served from the first read after the last refusal on, which counts only at the earliest. With a load an
// acknowledgement counts from which on service held. How long something took is by the machine's own monotonic clock.
func see(run Run, a axis, w window, l *load, earliest bool) outage {
	s := sight{run: run, a: a, w: w, last: -1, load: l, early: earliest}
	refusedAfter, refused, read := -1, 0, -1
	for i, o := range run.Operations {
		switch changes := o.Function.Changes(); {
		case o.Outcome != OK && changes:
			s.failed, read = s.failed+1, -1
			if refused++; refused == 1 {
				refusedAfter = s.last
			} else if refused == 2 {
				s.last = refusedAfter
			}
			continue
		case o.Outcome != OK:
			s.failed++
			continue
		case !changes && refused > 1:
			if earliest && read < 0 {
				read = i
			}
			continue
		case changes:
			if read >= 0 && s.acknowledged(read) {
				return s.outage
			}
			refused, read = 0, -1
		}
		if s.acknowledged(i) {
			return s.outage
		}
	}
	s.ended()
	return s.outage
}

// sight is what see has seen so far of a user.
type sight struct {
	outage
	run Run
	a   axis
	w   window
	// last is the place of the last acknowledgement, -1 before the first one; failed are how many operations have failed
	// since.
	last, failed int
	// load of all users of the client, where service has to hold; early takes it to hold where that was not seen to its
	// end.
	load  *load
	early bool
}

// acknowledged takes the acknowledgement of an operation, by its place. True says that the rest is of no interest.
func (s *sight) acknowledged(i int) (done bool) {
	o := s.run.Operations[i]
	at := s.a.of(o.Completed)
	if at >= s.w.until && s.after {
		return true
	}
	if s.passing(at) {
		return false
	}
	defer func() { s.last, s.failed = i, 0 }()
	if at < s.w.from && !s.after {
		if s.last >= 0 && at >= add(s.w.from, -usualWithin) {
			s.usual = append(s.usual, s.run.between(s.last, o.Completed, s.a))
		}
		s.before = true
		return false
	}
	s.after = true
	if o.Function.Changes() {
		s.stall = max(s.stall, s.run.took(o.Invoked, o.Completed, s.a))
	}
	s.longest = max(s.longest, s.run.unserved(s.last, o.Completed, s.a, s.w))
	return false
}

// passing says that an acknowledgement does not end a time without service, since service did not hold from then on.
// What comes before anything went wrong is service all the same.
func (s *sight) passing(at int64) bool {
	if s.load == nil || at < s.w.from && !s.after || s.load.holds(at, s.w.until, s.early) {
		return false
	}
	since := s.w.from
	if s.last >= 0 {
		since = s.a.of(s.run.Operations[s.last].Completed)
	}
	return s.load.troubled(since, at)
}

// ended takes the end of the history. Of the last fault it tells whether the user is still waiting: a fault takes a
// moment to bite, so that an acknowledgement after its beginning does not say that it is over.
func (s *sight) ended() {
	n := len(s.run.Operations)
	if n == 0 || s.w.until != math.MaxInt64 && s.after {
		return
	}
	final, unanswered := s.run.Operations[n-1].Completed, false
	if final == (Instant{}) {
		final, unanswered = s.run.Operations[n-1].Invoked, true
	}
	tail := s.run.unserved(s.last, final, s.a, s.w)
	// One failure at the very end is no outage: the next attempt might have been the acknowledgement.
	waits := tail > s.longest && (s.failed > 1 || unanswered)
	s.open = s.a.of(final) >= s.w.from && (!s.after || waits)
	s.longest = max(s.longest, tail)
}

// took is how long something of one run took.
func (r Run) took(from, until Instant, a axis) time.Duration {
	if r.Boot == "" {
		return a.since(until, from)
	}
	return time.Duration(until.Monotonic - from.Monotonic)
}

// between is the time from the completion of an operation, by its place, to a later instant.
func (r Run) between(i int, until Instant, a axis) time.Duration {
	return r.took(r.Operations[i].Completed, until, a)
}

// unserved is the time from the last acknowledgement, by its place, to the next one, without what the client was cut
// off. Before the first one, -1, it counts from the fault, or from when the user came.
func (r Run) unserved(last int, until Instant, a axis, w window) time.Duration {
	var took time.Duration
	from := a.of(r.Operations[0].Invoked)
	switch {
	case last >= 0:
		from = a.of(r.Operations[last].Completed)
		took = r.between(last, until, a)
	case from >= w.from:
		took = r.took(r.Operations[0].Invoked, until, a)
	default:
		from = w.from
		took = time.Duration(a.of(until) - w.from)
	}
	return max(took-span{from, a.of(until)}.within(w.cut), 0)
}
