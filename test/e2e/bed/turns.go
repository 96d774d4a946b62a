// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"cmp"
	"flag"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// manyTests is the limit of the testing package where turns are taken: a test that waits for its turn must not keep
// another from getting its own.
const manyTests = 64

// turns are those of the tests of a process.
var turns = newSchedule(4)

// Main runs the tests. The flag -parallel says how many of those that run Beside others do so at once.
func Main(m *testing.M) int {
	flag.Parse()
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
	// limit of tests that run beside others at once, and how many there are now.
	limit, running int
	// waiting are the lengths of those that have not begun.
	waiting map[*testing.T]int
	// queued are the tests that disturb and have not begun; servers are those of the ones that have begun and not ended.
	queued  []*Turn
	servers int
	// batch counts the batches that are over. begun are the tests of the present one that are not over, calm those of them that have
	// yet to prepare themselves, undisturbed.
	batch, begun, calm int
	// alone: one of them is.
	alone bool
}

// roomForServers is how many servers the tests of a batch have together. With twice as many, two processors are full before
// anything is done to them, and what is measured is the machine.
const roomForServers = 6

func newSchedule(limit int) *schedule {
	s := &schedule{limit: limit, waiting: map[*testing.T]int{}}
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

// Beside lets the test run beside others: it has objects of its own, and leaves the WAN, the operator and the nodes as they
// are. It goes on when the tests that disturb are through with that, and a place is free; those that take longest go first,
// so that none of them is left alone at the end. Seconds are about how long it takes.
func Beside(t *testing.T, seconds int) {
	t.Helper()
	turns.beside(t, seconds)
}

func (s *schedule) beside(t *testing.T, seconds int) {
	t.Helper()
	s.when(always, func() { s.waiting[t] = seconds })
	t.Parallel()
	since := time.Now()
	s.when(func() bool { return len(s.queued)+s.begun == 0 && s.mayBegin(t) }, func() {
		delete(s.waiting, t)
		s.running++
	})
	t.Logf("its turn has come after %.1f s", time.Since(since).Seconds())
	t.Cleanup(func() { s.when(always, func() { s.running-- }) })
}

// mayBegin tells whether there is a place for the test after those that take longer.
func (s *schedule) mayBegin(t *testing.T) bool {
	before := 0
	for other, seconds := range s.waiting {
		if seconds > s.waiting[t] || seconds == s.waiting[t] && other.Name() < t.Name() {
			before++
		}
	}
	return s.running+before < s.limit
}

// Turn is that of a test which changes what others rely on.
type Turn struct {
	t *testing.T
	s *schedule
	// servers that it will have.
	servers, batch int
	// What it has of the schedule's counts.
	begun, calm, alone, over bool
}

// Disturbs lets the test prepare itself beside others of its kind, as many as there is room for with the servers that each of them
// will have; those with the fewest go first. What it changes for all (the WAN, the operator, a node) it changes after Alone, and
// says Over when all is as it was.
func Disturbs(t *testing.T, servers int) *Turn {
	t.Helper()
	return turns.disturbs(t, servers)
}

func (s *schedule) disturbs(t *testing.T, servers int) *Turn {
	t.Helper()
	turn := &Turn{t: t, s: s, servers: servers}
	s.when(always, func() { s.queued = append(s.queued, turn) })
	t.Parallel()
	s.when(always, s.admit)
	s.when(func() bool { return turn.begun }, func() {})
	// The first clean-up to be registered is the last to be done: what a test that fails takes away it takes away in its turn.
	t.Cleanup(func() {
		s.when(always, func() {
			turn.leave()
			s.servers -= servers
			s.admit()
		})
	})
	return turn
}

// admit lets those begin that there is room for, while nobody of the batch is through with preparing itself.
func (s *schedule) admit() {
	slices.SortFunc(s.queued, func(a, b *Turn) int {
		return cmp.Or(cmp.Compare(a.servers, b.servers), cmp.Compare(a.t.Name(), b.t.Name()))
	})
	for len(s.queued) > 0 && s.begun == s.calm {
		next := s.queued[0]
		if s.servers > 0 && s.servers+next.servers > roomForServers {
			return
		}
		s.queued = s.queued[1:]
		next.batch, next.begun, next.calm = s.batch, true, true
		s.begun++
		s.calm++
		s.servers += next.servers
	}
}

// Alone waits until all other tests of the batch are prepared, or have ended, and nobody else is alone. They may have disturbed
// what this one has prepared: it makes sure that all is well again.
func (turn *Turn) Alone() {
	s, since := turn.s, time.Now()
	s.when(always, turn.endCalm)
	s.when(func() bool { return !s.alone && s.calm == 0 }, func() { turn.alone, s.alone = true, true })
	turn.t.Logf("its turn has come after %.1f s", time.Since(since).Seconds())
}

// Over waits until every other test of the batch has said so, too, or has ended. Until the next batch nobody disturbs any more.
func (turn *Turn) Over() {
	s := turn.s
	s.when(always, turn.leave)
	s.when(func() bool { return s.batch != turn.batch }, func() {})
}

// leave gives back what the turn has.
func (turn *Turn) leave() {
	turn.endCalm()
	if turn.alone {
		turn.alone, turn.s.alone = false, false
	}
	if !turn.over {
		turn.over = true
		if turn.s.begun--; turn.s.begun == 0 {
			turn.s.batch++
		}
	}
}

func (turn *Turn) endCalm() {
	if turn.calm {
		turn.calm = false
		turn.s.calm--
	}
}
