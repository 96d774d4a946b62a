// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// repeatsAtOnce is how often the same steps are carried out in a row, without a pause of their own, while nothing
	// comes of them.
	repeatsAtOnce = 3
	// repeatsUntold is how often they are before that is said: what a step begins may take some seconds to be seen.
	repeatsUntold = 6
	// repeatAtMost is the longest pause before steps without an effect are carried out again.
	repeatAtMost = time.Minute
)

// WithoutEffect is the failure of steps that were carried out without an error, and that the next plans repeat: nothing
// that is observed shows an effect.
type WithoutEffect struct {
	// Steps of the plan, and the first of them in words.
	Steps int
	First string
}

// Error says what has no effect. It is the same each time, so that a status that repeats it does not change.
func (e WithoutEffect) Error() string {
	what := e.First
	if e.Steps > 1 {
		what = fmt.Sprintf("%s, and %d more", e.First, e.Steps-1)
	}
	return fmt.Sprintf(
		"carried out several times without an effect that is seen: %s; it is tried again from time to time, at "+
			"least every %s",
		what,
		repeatAtMost,
	)
}

// repeats remembers of each object which steps were carried out last, and how often in a row. A process that has just
// begun counts anew.
type repeats struct {
	mu   sync.Mutex
	last map[types.NamespacedName]repeated
}

type repeated struct {
	steps []string
	// times they were carried out in a row, and when they may be again.
	times int
	due   time.Time
}

// wait is how long steps are not to be carried out because that has changed nothing lately; 0 for now. A plan that
// differs in anything may be carried out at once.
func (r *repeats) wait(name types.NamespacedName, steps []string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.last[name]
	if !known || len(steps) == 0 || !slices.Equal(last.steps, steps) {
		delete(r.last, name)
		return 0
	}
	return max(0, last.due.Sub(now))
}

// note says that steps were carried out without an error. pause is what comes before the first repetition that is put
// off.
func (r *repeats) note(name types.NamespacedName, steps []string, pause time.Duration, now time.Time) {
	if len(steps) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.last[name]
	if !known || !slices.Equal(last.steps, steps) {
		last = repeated{steps: slices.Clone(steps)}
	}
	if last.times++; last.times >= repeatsAtOnce {
		last.due = now.Add(min(pause<<min(last.times-repeatsAtOnce, 16), repeatAtMost))
	}
	if r.last == nil {
		r.last = map[types.NamespacedName]repeated{}
	}
	r.last[name] = last
}

// told is the failure of steps that were carried out so often that it is to be said; nil for others.
func (r *repeats) told(name types.NamespacedName) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[name]
	if last.times < repeatsUntold {
		return nil
	}
	return WithoutEffect{Steps: len(last.steps), First: last.steps[0]}
}

func (r *repeats) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, name)
}
