// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// returning is what engines may do another way than the simulated ones by default, where nobody knows, or where it
// depends. A schedule must come out the same under each, and under all together.
type returning struct {
	// nameless has no secondary say who its primary is, stale names a former primary for ever, unless it is made a
	// secondary anew.
	nameless, stale bool
	// latches has a former primary that is made a secondary while the new primary is young answer 41104, until it was
	// taken OFFLINE and the endpoints of both were restarted.
	latches bool
	// hardenedUnknown shows no end of log while RESOLVING.
	hardenedUnknown bool
	// primaryFirst has a restarted engine say that it is PRIMARY for some looks, when it was before.
	primaryFirst bool
	// overrun is how late an engine acts on the end of its lease, where that is later than the timings have it.
	overrun time.Duration
}

// overrun is how late engines act on the end of a lease.
func (w *world) overrun() time.Duration { return max(w.timings.Overrun, w.returning.overrun) }

// young is for how long a new primary latches a former one.
const young = 20 * time.Second

// latch keeps a former primary from becoming a secondary. A restart of its engine does not end it.
type latch struct {
	on                     bool
	offline, here, primary bool
}

// comeback is what a server has that matters for that.
type comeback struct {
	latch latch
	// led says that it has been primary; stale is the primary that it names whoever is.
	led   bool
	stale string
}

// latched says whether SET (ROLE = SECONDARY) is refused now.
func (s *server) latched(w *world) bool {
	p := w.primary()
	if w.returning.latches && s.led && p != nil && p != s &&
		w.now-p.run.promoted < young && !s.latch.on {
		s.latch = latch{on: true}
	}
	if s.latch.on && p == nil {
		// It was for that primary.
		s.latch = latch{}
	}
	if s.latch.on && s.latch.offline && s.latch.here && s.latch.primary {
		s.latch = latch{}
		s.led = false
	}
	return s.latch.on
}

// RestartEndpoint implements keeper.Engine.
func (r *run) RestartEndpoint(context.Context, string) error {
	return r.call(time.Hour, func(time.Duration) {
		r.restarts++
		r.s.latch.here = r.s.latch.on
		if r.role != ballot.RolePrimary {
			return
		}
		for _, s := range r.s.w.servers {
			s.latch.primary = s.latch.primary || s.latch.on && s != r.s
		}
	})
}

// otherwise changes what is seen.
func (r *run) otherwise(o *ballot.Observation) {
	switch {
	case r.role != ballot.RoleSecondary:
	case r.s.w.returning.nameless:
		o.Primary = ""
	case r.s.w.returning.stale:
		if o.Primary = r.s.stale; o.Primary == "" {
			r.s.stale = r.follows
			o.Primary = r.follows
		}
	}
}

// restarted is what a new run of an engine says at first.
func (r *run) restarted() {
	if r.s.w.returning.primaryFirst && r.s.led {
		r.lingers, r.lingering = 3, ballot.RolePrimary
	}
}

// Whatever engines do where nobody knows, nothing acknowledged is lost, there are never two writers, and the group
// serves again in the end.
func TestSchedulesOfOtherEngines(t *testing.T) {
	all := returning{nameless: true, latches: true, hardenedUnknown: true, primaryFirst: true}
	stale := all
	stale.nameless, stale.stale = false, true
	for name, other := range map[string]returning{
		"secondaries name no primary":       {nameless: true},
		"secondaries name a former primary": {stale: true},
		"a former primary is latched":       {latches: true},
		"no end of log while resolving":     {hardenedUnknown: true},
		"PRIMARY after a restart":           {primaryFirst: true},
		"all together":                      all,
		"all together, and stale":           stale,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(24) {
				w := newWorld(ballot.DefaultTimings())
				w.returning = other
				b := breaks{}
				if other == all || other == stale {
					// And whatever they answer at a failover.
					b.ways = answering["all of them"]
				}
				if seed%2 == 1 {
					b.atFailover = ballot.RoleResolving
				}
				if err := w.suffer(rand.New(rand.NewPCG(seed, 4)), b, 300); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// An engine that acts on the end of its lease later than the timings have it can be a second writer. With the timings
// of a new group there is none.
func TestAnEngineThatEndsItsLeaseLate(t *testing.T) {
	g := NewWithT(t)
	run := func(timings ballot.Timings, seed uint64) error {
		w := newWorld(timings)
		w.returning.overrun = 5 * time.Second
		return w.suffer(rand.New(rand.NewPCG(seed, 5)), breaks{}, 300)
	}
	allowed := ballot.NewGroup()
	for seed := range uint64(24) {
		g.Expect(run(allowed, seed)).To(Succeed(), "seed %d", seed)
	}
	// Not long before one that notices.
	for seed := uint64(590); seed < 3590; seed++ {
		if err := run(ballot.DefaultTimings(), seed); err != nil && !errors.Is(err, errNoProgress) {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Fatal("no schedule noticed")
}

// A healthy group whose secondaries do not say who their primary is, or name an earlier one, is left in peace.
func TestAHealthyGroupIsLeftAlone(t *testing.T) {
	all := returning{nameless: true, latches: true, hardenedUnknown: true, primaryFirst: true}
	stale := all
	stale.nameless, stale.stale = false, true
	for name, other := range map[string]returning{
		"they name nobody": {nameless: true}, "they name a former primary": {stale: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.returning = other
			for _, s := range w.servers {
				s.stale = s.name
			}
			w.live(600)
			for _, s := range w.servers {
				g.Expect(s.run.offlines).To(BeZero(), s.name)
			}
		})
	}
}

// A former primary that goes on knowing no primary comes back once the endpoints of both sides were restarted, which
// happens neither before the new primary has settled, nor again and again.
func TestALatchedFormerPrimaryComesBack(t *testing.T) {
	w, g := held(t)
	w.returning.latches = true
	former := w.servers[0]
	former.crash()
	former.run.keeper.SetPolicy(true, false) // it stands by: paused
	w.live(5)
	p := w.primary()
	g.Expect(p).NotTo(BeNil())
	g.Expect(p).NotTo(Equal(former))
	g.Expect(former.latch.on).To(BeTrue())
	fenced := former.run.offlines
	w.live(20)
	g.Expect(former.run.role).To(Equal(ballot.RoleResolving))
	g.Expect(p.run.restarts).To(BeZero(), "the new primary is left alone")
	w.live(35)
	g.Expect(former.run.role).To(Equal(ballot.RoleSecondary))
	g.Expect(former.log).To(Equal(p.log))
	g.Expect([]int{former.run.offlines - fenced, former.run.restarts, p.run.restarts}).To(Equal([]int{1, 1, 1}))
	w.live(300)
	g.Expect(p.run.restarts).To(Equal(1))
}
