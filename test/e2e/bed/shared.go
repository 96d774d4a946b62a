// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"sync"
	"testing"
)

// Shared is something of the bed that takes long to make, and that tests use one after another. The first of them makes
// it, the last removes it. Each leaves it well: one that does not fails, and so does the next find it made anew.
type Shared[T any] struct {
	// Make makes it. What is there already when it fails is in the thing by then, and is removed.
	Make func(t *testing.T, thing *T)
	// Well waits until it is as the next test needs it, or says why it is not.
	Well func(t *testing.T, thing *T) error
	// Remove takes it away, whatever has become of it.
	Remove func(t *testing.T, thing *T)

	// turns are those of all tests unless given.
	turns *schedule
	lane  lane
	mu    sync.Mutex
	// users are the tests that will use it or do so.
	users int
	thing *T
}

// Beside lets the test use it beside tests that do not. Place is that among those that use it, seconds are about how
// long it takes.
func (s *Shared[T]) Beside(t *testing.T, place, seconds int) {
	t.Helper()
	s.begin(&Turn{t: t, place: place, seconds: seconds})
}

// Disturbs lets the test use it, after those that do not disturb: see the function Disturbs.
func (s *Shared[T]) Disturbs(t *testing.T, place, seconds int) *Turn {
	t.Helper()
	return s.begin(&Turn{t: t, place: place, seconds: seconds, disturbs: true})
}

func (s *Shared[T]) begin(turn *Turn) *Turn {
	turn.t.Helper()
	s.mu.Lock()
	s.users++
	if s.turns == nil {
		s.turns = turns
	}
	s.mu.Unlock()
	turn.lane = &s.lane
	s.turns.begin(turn)
	turn.t.Cleanup(func() { s.leave(turn.t) })
	return turn
}

// Get is the thing, which is made where there is none: Make's other way for this once, where one is given.
func (s *Shared[T]) Get(t *testing.T, otherwise ...func(t *testing.T, thing *T)) *T {
	t.Helper()
	if s.thing != nil {
		return s.thing
	}
	s.thing = new(T)
	for _, another := range otherwise {
		another(t, s.thing)
		return s.thing
	}
	s.Make(t, s.thing)
	return s.thing
}

// leave is done when a test that uses it has taken away everything else.
func (s *Shared[T]) leave(t *testing.T) {
	thing, err := s.parting(t.Failed(), func(thing *T) error { return s.Well(t, thing) })
	if err != nil {
		t.Errorf("it does not leave well what others use: %v", err)
	}
	if thing != nil {
		s.Remove(t, thing)
	}
}

// parting returns the thing if it has to go: nobody will use it any more, or it is not well.
func (s *Shared[T]) parting(failed bool, well func(*T) error) (thing *T, err error) {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	thing = s.thing
	if thing != nil && !last && !failed {
		if err = well(thing); err == nil {
			return nil, nil
		}
	}
	s.thing = nil
	return thing, err
}
