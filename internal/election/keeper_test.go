// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/election"
)

const server = "tukpub-0"

// world is three voters, a few runs of one server's engine and a clock that only the test moves.
type world struct {
	now    time.Duration
	voters []*leaseStore
	runs   []*run
	nonces int
	// ignoreGuard makes engines run statements that were queued while they were frozen, whatever their deadline.
	ignoreGuard bool
}

type leaseStore struct {
	name    string
	record  election.Record
	version int
}

// run is one engine with its agent; its agent's clock runs at its own rate.
type run struct {
	w       *world
	self    election.Holder
	rate    float64
	keeper  *election.Keeper
	timings election.Timings
	// cut[i] drops requests to voter i; lost[i] drops answers after the swap took place.
	cut, lost [3]bool

	dead, frozen bool
	asleep       bool // the agent does not run
	freezeNext   bool // the engine freezes right after the next observation
	role         election.Role
	exists       bool
	lease        time.Duration // on the world's clock
	queued       []func(now time.Duration)
	refuse       bool // FAILOVER answers 41142
}

func newWorld() *world {
	w := &world{now: time.Hour}
	for i := range 3 {
		w.voters = append(w.voters, &leaseStore{name: fmt.Sprintf("site%d", i),
			record: election.Record{State: election.StateReleased, InitialPrimary: server}})
	}
	return w
}

func (w *world) start(pod, engine string, rate float64, timings election.Timings) *run {
	r := &run{w: w, self: election.Holder{Server: server, PodUID: pod, Engine: engine}, rate: rate, timings: timings}
	r.startAgent()
	w.runs = append(w.runs, r)
	return r
}

// startAgent replaces the run's agent with a new one that remembers nothing.
func (r *run) startAgent() {
	var voters []election.Voter
	for i := range r.w.voters {
		voters = append(voters, link{r, i})
	}
	clock := runClock{r}
	ballot := election.NewBallot(voters, clock, r.timings.APITimeout)
	r.keeper = election.NewKeeper("content", r.self, ballot, r, clock, r.timings, func() string {
		r.w.nonces++
		return fmt.Sprint(r.w.nonces)
	})
}

type runClock struct{ r *run }

func (c runClock) Now() time.Duration { return time.Duration(float64(c.r.w.now) * c.r.rate) }

// writable says whether the engine would still acknowledge writes: it may act on an expired lease late by Overrun.
func (r *run) writable() bool {
	return !r.dead && r.exists && r.role == election.RolePrimary && r.w.now < r.lease+r.timings.Overrun
}

func (w *world) writers() (names []string) {
	for _, r := range w.runs {
		if r.writable() {
			names = append(names, r.self.PodUID+"/"+r.self.Engine)
		}
	}
	return names
}

// advance moves the clock; leases that ran out make their engine RESOLVING.
func (w *world) advance(d time.Duration) {
	w.now += d
	for _, r := range w.runs {
		if r.role == election.RolePrimary && w.now >= r.lease+r.timings.Overrun && !r.frozen {
			r.role = election.RoleResolving
		}
	}
}

type link struct {
	r *run
	i int
}

var errNoAnswer = errors.New("no answer")

func (l link) Name() string { return l.r.w.voters[l.i].name }

func (l link) Read(context.Context) (election.Record, string, error) {
	if l.r.cut[l.i] {
		return election.Record{}, "", errNoAnswer
	}
	v := l.r.w.voters[l.i]
	return v.record, fmt.Sprint(v.version), nil
}

func (l link) Swap(_ context.Context, version string, r election.Record) (string, error) {
	if l.r.cut[l.i] {
		return "", errNoAnswer
	}
	v := l.r.w.voters[l.i]
	if version != fmt.Sprint(v.version) {
		return "", election.ErrConflict
	}
	v.record = r
	v.version++
	if l.r.lost[l.i] {
		return "", errNoAnswer
	}
	return fmt.Sprint(v.version), nil
}

func (r *run) call(notAfter time.Duration, do func(now time.Duration)) error {
	if r.dead {
		return errors.New("connection refused")
	}
	deadline := r.w.now + notAfter
	guarded := func(now time.Duration) {
		if now < deadline || r.w.ignoreGuard {
			do(now)
		}
	}
	if r.frozen {
		r.queued = append(r.queued, guarded)
		return fmt.Errorf("waiting: %w", context.DeadlineExceeded)
	}
	guarded(r.w.now)
	return nil
}

func (r *run) thaw() {
	r.frozen = false
	for _, do := range r.queued {
		do(r.w.now)
	}
	r.queued = nil
}

func (r *run) Observe(context.Context, string) (election.Observation, error) {
	if err := r.call(time.Second, func(time.Duration) {}); err != nil {
		return election.Observation{}, err
	}
	r.frozen, r.freezeNext = r.freezeNext, false
	return election.Observation{Exists: r.exists, Role: r.role}, nil
}

func (r *run) RenewLease(_ context.Context, _ string, validity, notAfter time.Duration) error {
	return r.call(notAfter, func(now time.Duration) { r.lease = max(r.lease, now+validity) })
}

func (r *run) Failover(_ context.Context, _ string, validity, notAfter time.Duration) error {
	if r.refuse {
		return election.ErrNotSynchronized
	}
	return r.call(notAfter, func(now time.Duration) { r.lease, r.role = max(r.lease, now+validity), election.RolePrimary })
}

func (r *run) Offline(context.Context, string) error {
	return r.call(time.Hour, func(time.Duration) { r.role = election.RoleResolving })
}

func (r *run) Follow(context.Context, string, []string) error { return nil }

func (r *run) Kill() error {
	r.dead = true
	return nil
}

func (r *run) step() election.Outcome { return r.keeper.Step(context.Background()) }

// create is what the manager does once the initial primary holds the votes.
func (r *run) create() {
	r.exists, r.role, r.lease = true, election.RolePrimary, r.w.now+r.timings.WriteLease
}

// stepFor steps a run every second.
func (r *run) stepFor(seconds int) (last election.Outcome) {
	for range seconds {
		r.w.advance(time.Second)
		last = r.step()
	}
	return last
}

func held(t *testing.T) (*world, *run, *WithT) {
	t.Helper()
	g := NewWithT(t)
	w := newWorld()
	r := w.start("pod1", "engine1", 1, election.DefaultTimings())
	g.Expect(r.step().Action).To(Equal("claimed term 1"))
	r.create()
	out := r.stepFor(2)
	g.Expect(out.State).To(Equal(election.StateHeld))
	return w, r, g
}

func TestHolderRenewsItsLease(t *testing.T) {
	_, r, g := held(t)
	r.stepFor(60)
	g.Expect(r.writable()).To(BeTrue())
}

func TestAbsentOrForeignVotesGrantNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld()
	for _, v := range w.voters {
		v.record.InitialPrimary = "quisec-0"
	}
	r := w.start("pod1", "engine1", 1, election.DefaultTimings())
	r.stepFor(30)
	g.Expect(w.voters[0].record.Term).To(BeZero())
}

func TestAGroupWhoseVotesWereLostIsNotClaimed(t *testing.T) {
	w, r, g := held(t)
	for _, v := range w.voters {
		v.record, v.version = election.Record{State: election.StateReleased, InitialPrimary: server}, v.version+1
	}
	r.startAgent() // one that remembers no higher term
	out := r.stepFor(1)
	g.Expect(out.Action).To(Equal("taken offline"))
	g.Expect(out.Err).To(MatchError(ContainSubstring("votes were lost")))
	r.stepFor(30)
	g.Expect(r.writable()).To(BeFalse())
}

func TestAMinorityStopsBeforeItsVotesExpire(t *testing.T) {
	w, r, g := held(t)
	r.cut[0], r.cut[1] = true, true
	r.stepFor(8)
	g.Expect(r.writable()).To(BeFalse(), "a primary with one vote of three must not serve")
	r.cut = [3]bool{}
	r.stepFor(3)
	g.Expect(r.writable()).To(BeTrue(), "the last holder becomes primary again by itself")
	g.Expect(w.voters[2].record.Term).To(BeNumerically(">", 1), "in a new term")
}

func TestALostAnswerCountsByItsNonce(t *testing.T) {
	_, r, g := held(t)
	r.lost = [3]bool{true, true, true}
	r.stepFor(30)
	g.Expect(r.writable()).To(BeTrue())
}

func TestARestartedEngineFailsOverToItselfInANewTerm(t *testing.T) {
	w, r, g := held(t)
	r.dead = true
	again := w.start("pod1", "engine2", 1, election.DefaultTimings())
	again.exists, again.role = true, election.RoleResolving
	out := again.stepFor(3)
	g.Expect(out.Role).To(Equal(election.RolePrimary))
	g.Expect(w.voters[0].record).To(HaveField("Term", int64(2)))
}

func TestARestartedAgentResumesItsTerm(t *testing.T) {
	w, r, g := held(t)
	r.startAgent()
	r.stepFor(3)
	g.Expect(r.writable()).To(BeTrue())
	g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
}

func TestAnotherPodWaitsForTheVotesToExpire(t *testing.T) {
	w, r, g := held(t)
	other := w.start("pod2", "engine1", 1, election.DefaultTimings())
	other.exists, other.role = true, election.RoleResolving
	for range 9 {
		w.advance(time.Second)
		other.step()
		g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
	}
	other.stepFor(5)
	g.Expect(other.writable()).To(BeTrue())
	g.Expect(r.writable()).To(BeFalse())
	r.stepFor(2)
	g.Expect(w.writers()).To(HaveLen(1))
}

func TestARefusedFailoverReleasesTheClaim(t *testing.T) {
	w, r, g := held(t)
	r.role, r.refuse = election.RoleResolving, true
	r.stepFor(3)
	g.Expect(w.voters[0].record.State).To(Equal(election.StateReleased))
	r.refuse = false
	r.stepFor(14)
	g.Expect(r.writable()).To(BeTrue(), "and it is tried again later")
}

func TestASilentEngineIsKilledBeforeTheVotesExpire(t *testing.T) {
	_, r, g := held(t)
	r.frozen = true
	r.stepFor(12)
	g.Expect(r.dead).To(BeTrue())
}

// schedule runs random faults on one server that may have two pods at once, and returns the instant at which two
// engines were writable, if any.
func schedule(rng *rand.Rand, timings election.Timings, ignoreGuard bool, steps int) error {
	w := newWorld()
	w.ignoreGuard = ignoreGuard
	rate := func() float64 { return 1 + (rng.Float64()*2-1)*0.004 }
	first := w.start("pod1", "engine1", rate(), timings)
	first.step()
	first.create()
	for range steps {
		w.advance(time.Duration(50+rng.IntN(700)) * time.Millisecond)
		r := w.runs[rng.IntN(len(w.runs))]
		switch rng.IntN(24) {
		case 0:
			r.cut[rng.IntN(3)] = rng.IntN(2) == 0
		case 1:
			r.lost[rng.IntN(3)] = rng.IntN(2) == 0
		case 2:
			r.freezeNext = true
		case 8:
			r.frozen = true
		case 3:
			r.thaw()
		case 4:
			r.startAgent()
			r.asleep = false
		case 7:
			r.asleep = true
		case 5: // the engine is restarted in its pod
			if !r.dead {
				r.dead = true
				again := w.start(r.self.PodUID, fmt.Sprint("engine", len(w.runs)+1), r.rate, timings)
				again.exists, again.role, again.cut = r.exists, election.RoleResolving, r.cut
			}
		case 6: // a second pod while the first one may live on
			if len(w.runs) < 6 {
				again := w.start(fmt.Sprint("pod", len(w.runs)+1), "engine1", rate(), timings)
				again.exists, again.role = true, election.RoleResolving
			}
		default:
			for _, r := range w.runs {
				if !r.dead && !r.asleep && rng.IntN(4) > 0 {
					r.step()
				}
			}
		}
		if writers := w.writers(); len(writers) > 1 {
			return fmt.Errorf("at %s two engines are writable: %v", w.now, writers)
		}
	}
	return nil
}

func TestNeverTwoWriters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		if err := schedule(rand.New(rand.NewPCG(seed, 1)), election.DefaultTimings(), false, 400); err != nil {
			rt.Fatal(err)
		}
	})
}

// What the protocol rests on is taken away, and the schedules must notice.
func TestBrokenOnPurpose(t *testing.T) {
	short := election.DefaultTimings()
	short.Expiry = 3 * time.Second
	for name, broken := range map[string]struct {
		timings     election.Timings
		ignoreGuard bool
	}{
		"votes that expire before the lease":   {timings: short},
		"a renewal without its deadline guard": {timings: election.DefaultTimings(), ignoreGuard: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				if schedule(rand.New(rand.NewPCG(seed, 2)), broken.timings, broken.ignoreGuard, 400) != nil {
					return
				}
			}
			t.Fatal("no schedule noticed")
		})
	}
}

func TestTimingsCheck(t *testing.T) {
	g := NewWithT(t)
	g.Expect(election.DefaultTimings().Check()).To(Succeed())
	for name, change := range map[string]func(*election.Timings){
		"expiry too short":       func(t *election.Timings) { t.Expiry = 8 * time.Second },
		"lease shorter than gap": func(t *election.Timings) { t.WriteLease = 4 * time.Second },
		"API time-out too long":  func(t *election.Timings) { t.APITimeout = 2 * time.Second },
		"lease in fractions":     func(t *election.Timings) { t.WriteLease = 6500 * time.Millisecond },
	} {
		timings := election.DefaultTimings()
		change(&timings)
		g.Expect(timings.Check()).NotTo(Succeed(), name)
	}
}
