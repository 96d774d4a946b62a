// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"flag"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// manyTests is the limit of the testing package where turns are taken: a test that waits for its turn must not keep
// another from getting its own.
const manyTests = 64

// turns are those of the tests of a process.
var turns = newSchedule(4)

// Main runs the tests. The flag -parallel says how many of those that take turns are at work at once.
func Main(m *testing.M) int {
	flag.Parse()
	// Whoever uses a connection says that it broke; the client's library says so of each that is closed, too.
	klog.SetLogger(logr.Discard())
	// A warning of the API server to a client without a logger is a stack in the output.
	log.SetLogger(logr.Discard())
	parallel := flag.Lookup("test.parallel")
	if limit, err := strconv.Atoi(parallel.Value.String()); err == nil && limit > 0 {
		turns.limit = limit
	}
	if err := parallel.Value.Set(strconv.Itoa(manyTests)); err != nil {
		panic(err)
	}
	return m.Run()
}

// schedule decides when a test that runs in parallel to others goes on. All register before the first of them goes on:
// the testing package begins with parallel tests when those that are not parallel have ended.
type schedule struct {
	mu sync.Mutex
	// changed is told of whatever may let a test go on.
	changed *sync.Cond
	// limit of tests that are at work at once.
	limit int
	// turns of tests that have not ended, in the order in which they registered.
	turns []*Turn
}

func newSchedule(limit int) *schedule {
	s := &schedule{limit: limit}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// when waits until the condition holds, and does what follows from it.
func (s *schedule) when(condition func() bool, then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !condition() {
		s.changed.Wait()
	}
	then()
	s.changed.Broadcast()
}

func always() bool { return true }

// state of a turn.
type state int

const (
	waiting state = iota // it has not begun
	working              // it is at work beside others
	pausing              // it is prepared, and waits until it may disturb all others
	alone                // it disturbs, and nobody else is at work
	ended
)

// lane is what the tests that share something have in common: one of them is at work at a time. It has a size, and so
// an address of its own.
type lane struct{ _ byte }

// Turn is that of a test among those that run in parallel.
type Turn struct {
	t *testing.T
	s *schedule
	// lane is nil for a test that shares nothing; place is its place in it. Seconds are about how long it takes.
	lane           *lane
	place, seconds int
	// disturbs says that it will be alone.
	disturbs bool
	state    state
}

// Beside lets the test run beside others: it has objects of its own, and leaves the WAN, the operator and the nodes as
// they are. It goes on when a place is free; those that take longest, with all that waits for them, go first, so that
// none of them is left alone at the end. Seconds are about how long it takes.
func Beside(t *testing.T, seconds int) {
	t.Helper()
	turns.begin(&Turn{t: t, seconds: seconds})
}

// begin registers a turn and returns when the test may go on.
func (s *schedule) begin(turn *Turn) *Turn {
	turn.s = s
	turn.t.Helper()
	s.when(always, func() { s.turns = append(s.turns, turn) })
	turn.t.Parallel()
	since := time.Now()
	s.when(func() bool { return s.mayBegin(turn) }, func() { turn.state = working })
	turn.t.Logf("its turn has come after %.1f s", time.Since(since).Seconds())
	// The first clean-up to be registered is the last to be done: what the test takes away it takes away in its turn.
	turn.t.Cleanup(func() {
		s.when(always, func() {
			turn.state = ended
			s.turns = slices.DeleteFunc(s.turns, func(other *Turn) bool { return other == turn })
		})
	})
	return turn
}

// count is how many turns are as they are asked to be.
func (s *schedule) count(is func(*Turn) bool) int {
	n := 0
	for _, turn := range s.turns {
		if is(turn) {
			n++
		}
	}
	return n
}

// ready tells whether only a place is missing for a test to begin: nobody disturbs, nobody has what it shares, and
// nobody who waits for that comes before it. Those that disturb come after all others; one that is prepared goes on
// before another begins.
func (s *schedule) ready(turn *Turn) bool {
	return turn.state == waiting && !(turn.disturbs && s.awaited()) && s.count(func(other *Turn) bool {
		return other.state == alone ||
			turn.lane != nil && other.lane == turn.lane && (other.state != waiting || other.before(turn))
	}) == 0
}

// awaited tells whether somebody is prepared to disturb and waits for no test that does not.
func (s *schedule) awaited() bool {
	return s.count(func(other *Turn) bool { return other.state == pausing }) > 0 &&
		s.count(func(other *Turn) bool { return !other.disturbs }) == 0
}

func (turn *Turn) before(other *Turn) bool {
	if turn.disturbs != other.disturbs {
		return other.disturbs
	}
	return turn.place < other.place
}

// mayBegin tells whether there is a place for the test after those that take longer.
func (s *schedule) mayBegin(turn *Turn) bool {
	return s.ready(turn) && s.count(func(other *Turn) bool {
		return other.state == working || s.ready(other) && s.longer(other, turn)
	}) < s.limit
}

func (s *schedule) longer(one, other *Turn) bool {
	a, b := s.seconds(one), s.seconds(other)
	return a > b || a == b && one.t.Name() < other.t.Name()
}

// seconds are those that a test takes with all that waits for what it shares.
func (s *schedule) seconds(turn *Turn) int {
	sum := turn.seconds
	for _, other := range s.turns {
		if turn.lane != nil && other.lane == turn.lane && other.state == waiting && turn.before(other) {
			sum += other.seconds
		}
	}
	return sum
}

// Disturbs lets the test prepare itself beside others. What it changes for all (the WAN, the operator, a node) it
// changes after Alone.
func Disturbs(t *testing.T, seconds int) *Turn {
	t.Helper()
	return turns.begin(&Turn{t: t, seconds: seconds, disturbs: true})
}

// Alone waits until all tests that do not disturb have ended, all that do are prepared, and nobody else is alone. From
// then on until its end the test may disturb. Others may have disturbed what it has prepared: it makes sure that all is
// well again.
func (turn *Turn) Alone() {
	turn.t.Helper()
	s, since := turn.s, time.Now()
	s.when(always, func() { turn.state = pausing })
	s.when(func() bool {
		return s.count(func(other *Turn) bool {
			return other.state == working || other.state == alone ||
				other.state == waiting && (!other.disturbs || s.ready(other))
		}) == 0
	}, func() { turn.state = alone })
	turn.t.Logf("it is alone after %.1f s", time.Since(since).Seconds())
}
