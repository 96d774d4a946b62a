// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// pauseLeast and pauseMost bound the pause after something failed; it doubles with each failure.
	pauseLeast, pauseMost = 5 * time.Second, 5 * time.Minute
)

// errBusy says that a step has to wait for another one: it neither failed nor was done.
var errBusy = errors.New("it waits for what goes on")

// steps are what lanes do again and again. One that failed pauses, and is shown until it succeeds or is no longer to be
// done.
type steps struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	failing map[string]failure
}

// failure is what failed the last time, in which lane, how often in a row, and when it is tried again.
type failure struct {
	Lane  string
	Err   error
	Times int
	Next  time.Time
	// Errand says that it is one of many of its lane.
	Errand bool
}

func newSteps(log *slog.Logger, now func() time.Time) *steps {
	return &steps{log: log, now: now, failing: map[string]failure{}}
}

// try does something unless it failed a short time ago. What fails is logged when it begins to.
func (s *steps) try(lane, what string, do func() error) {
	s.mu.Lock()
	before := s.failing[what]
	s.mu.Unlock()
	if s.now().Before(before.Next) {
		return
	}
	err := do()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, errBusy):
		return
	case err == nil, errors.Is(err, context.Canceled):
		delete(s.failing, what)
		return
	}
	if before.Times == 0 {
		s.log.Warn("a step of the backups failed, and is tried again", "step", what, "error", err)
	}
	pause := min(pauseLeast<<min(before.Times, 10), pauseMost)
	s.failing[what] = failure{Lane: lane, Err: err, Times: before.Times + 1, Next: s.now().Add(pause)}
}

// only says which steps of a lane are to be done now. Of the others those that failed are over once their pause is:
// what does not have to be done any more, as after a change of roles, does not fail.
func (s *steps) only(lane string, asked ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, f := range s.failing {
		if f.Lane == lane && !slices.Contains(asked, what) && !s.now().Before(f.Next) {
			delete(s.failing, what)
		}
	}
}

// failures are the steps that failed the last time, with why. Of errands of one lane the first says how many more there
// are: a backlog has thousands.
func (s *steps) failures() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, errands := map[string]error{}, map[string][]string{}
	for what, f := range s.failing {
		if f.Errand {
			errands[f.Lane] = append(errands[f.Lane], what)
			continue
		}
		all[what] = f.Err
	}
	for _, of := range errands {
		first := slices.Min(of)
		all[first] = s.failing[first].Err
		if more := len(of) - 1; more > 0 {
			all[first] = fmt.Errorf("%w; and so it is with %d more", all[first], more)
		}
	}
	return all
}

// each does something, and again after a pause, until ctx ends.
func each(ctx context.Context, pause time.Duration, do func(context.Context)) {
	timer := time.NewTicker(pause)
	defer timer.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}
