// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// located is an agent at a site of a landscape, with an engine whose statements take no time; FAILOVER takes a round
// trip, in which a majority of the replicas has its configuration.
type located struct {
	l *landscape
	i int
	// all are those of the group, nil for an agent that only answers.
	all    *[3]*located
	far    [3]time.Duration
	keeper *keeper.Keeper
	ballot *ballot.Ballot
	// turn has a token while nobody uses the keeper.
	turn chan struct{}
	wake chan struct{}

	mu   sync.Mutex
	role ballot.Role
	// hold delays what is asked of another server, nil for nothing; follows is the server that it takes for the primary.
	hold    func(server string)
	follows string
	// primaryAt is when FAILOVER has its effect, offlineAt when OFFLINE was first said, seenAt when the role was first
	// seen.
	primaryAt, offlineAt, seenAt time.Time
	offlines                     int
}

func (a *located) start(timings ballot.Timings) {
	var voters []votes.Voter
	for i := range a.l.votes {
		voters = append(voters, site{a.l, i, &a.far})
	}
	nonces := 0
	a.ballot = ballotOf(voters, electiontest.BubbleClock{}, timings.APITimeout)
	a.keeper = keeper.New(keeper.Options{
		Group: "content", Self: votes.Holder{Server: names[a.i], PodUID: "pod", Engine: "run"},
		Ballot: a.ballot, Engine: a, Peers: a, Memory: &onDisk{}, Clock: electiontest.BubbleClock{},
		Timings: timings, Nonce: func() string { nonces++; return fmt.Sprint(a.i, nonces) },
		Random: func() float64 { return 0.5 },
	})
}

// run steps until ctx ends, as the sidecar does.
func (a *located) run(ctx context.Context, renew time.Duration) {
	for woken := false; ctx.Err() == nil; {
		began, done := time.Now(), func() {}
		if woken {
			done = a.ballot.Hurry()
		}
		<-a.turn
		out := a.keeper.Step(context.WithoutCancel(ctx))
		a.turn <- struct{}{}
		done()
		select {
		case <-ctx.Done():
		case <-a.wake:
			woken = true
		case <-time.After(out.Pause(time.Since(began), renew)):
			woken = false
		}
	}
}

func (a *located) to(server string) *located {
	for i, name := range names {
		if name == server {
			return a.all[i]
		}
	}
	return nil
}

// ask lets another agent's keeper do something, half a round trip away.
func (a *located) ask(
	ctx context.Context,
	server string,
	f func(context.Context, *keeper.Keeper) (ballot.Report, error),
) (ballot.Report, error) {
	to := a.to(server)
	if err := (electiontest.BubbleClock{}).Sleep(ctx, a.far[to.i]/2); err != nil {
		return ballot.Report{}, err
	}
	done := to.ballot.Hurry()
	<-to.turn
	report, err := f(context.WithoutCancel(ctx), to.keeper)
	to.turn <- struct{}{}
	done()
	if err := (electiontest.BubbleClock{}).Sleep(ctx, a.far[to.i]/2); err != nil {
		return ballot.Report{}, err
	}
	return report, err
}

// Fence is asked to the end also when ctx ends before that, as the sidecar's is.
func (a *located) Fence(ctx context.Context, server string, r ballot.FenceRequest) (ballot.Report, error) {
	if a.hold != nil {
		type answer struct {
			report ballot.Report
			err    error
		}
		answered := make(chan answer, 1)
		go func() {
			a.hold(server)
			report, err := a.fence(context.WithoutCancel(ctx), server, r)
			answered <- answer{report, err}
		}()
		select {
		case got := <-answered:
			return got.report, got.err
		case <-ctx.Done():
			return ballot.Report{}, ctx.Err()
		}
	}
	return a.fence(ctx, server, r)
}

func (a *located) fence(ctx context.Context, server string, r ballot.FenceRequest) (ballot.Report, error) {
	return a.ask(
		ctx,
		server,
		func(ctx context.Context, k *keeper.Keeper) (ballot.Report, error) { return k.Fence(ctx, r) },
	)
}

func (a *located) Report(ctx context.Context, server, _ string) (ballot.Report, error) {
	return a.ask(
		ctx,
		server,
		func(ctx context.Context, k *keeper.Keeper) (ballot.Report, error) { return k.Report(ctx) },
	)
}

func (*located) Reconnect(context.Context, string, string) error { return nil }

func (a *located) Wake(ctx context.Context, server, _ string) error {
	to := a.to(server)
	_ = electiontest.BubbleClock{}.Sleep(ctx, a.far[to.i]/2)
	to.ballot.Hurry()()
	select {
	case to.wake <- struct{}{}:
	default:
	}
	return electiontest.BubbleClock{}.Sleep(ctx, a.far[to.i]/2)
}

func (a *located) Observe(context.Context, string) (ballot.Observation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.primaryAt.IsZero() && !time.Now().Before(a.primaryAt) {
		if a.role = ballot.RolePrimary; a.seenAt.IsZero() {
			a.seenAt = time.Now()
		}
	}
	return ballot.Observation{
		Exists:    true,
		Role:      a.role,
		Mode:      threeReplicas(names[a.i]).Mode(names[a.i]),
		Connected: true,
		Primary:   a.follows,
	}, nil
}

func (a *located) Inspect(context.Context, string) (ballot.Inspection, error) {
	i := threeReplicas(names[a.i])
	if a.i == 2 {
		i.Databases = nil
		return i, nil
	}
	other := i.Databases[0]
	other.Server, other.Local = names[1-a.i], false
	i.Databases = append(i.Databases, other)
	return i, nil
}

func (a *located) Failover(context.Context, string, time.Duration, time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.role, a.primaryAt = ballot.RoleResolving, time.Now().Add(wan)
	return nil
}

func (a *located) Offline(context.Context, string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offlineAt.IsZero() {
		a.offlineAt = time.Now()
	}
	a.offlines++
	a.role, a.primaryAt = ballot.RoleResolving, time.Time{}
	return nil
}

func (a *located) BecomeSecondary(context.Context, string, time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.role, a.follows = ballot.RoleSecondary, names[1]
	return nil
}

func (a *located) RestartEndpoint(context.Context, string) error { return nil }

func (a *located) is(role ballot.Role, follows string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.role == role && a.follows == follows
}

// taken is how often it was taken OFFLINE.
func (a *located) taken() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.offlines
}

func (a *located) RenewLease(context.Context, string, time.Duration, time.Time) error { return nil }
func (a *located) Force(context.Context, string, time.Duration, time.Time) error      { return nil }
func (a *located) Resume(context.Context, string, []string) error                     { return nil }
func (a *located) Copies(context.Context, string, []string) ([]keeper.Copy, error) {
	return []keeper.Copy{{Name: "Content"}}, nil
}
func (a *located) Reseed(context.Context, string, []string) error           { return nil }
func (a *located) EndSessions(context.Context, string, time.Duration) error { return nil }

func (a *located) EndWriters(context.Context, string) (int, error) { return 0, nil }
func (a *located) Kill() error                                     { return nil }

// switchedOver asks for a switchover to the second server at a time after a renewal, and returns once the votes say
// that it has happened, or after half a minute. stop ends the agents.
func switchedOver(
	t *testing.T,
	askedAt time.Duration,
	change func(*located),
) (l *landscape, all [3]*located, stop func()) {
	t.Helper()
	timings := ballot.DefaultTimings()
	l = &landscape{}
	for i := range l.votes {
		l.votes[i] = &leaseStore{name: fmt.Sprint("site", i)}
	}
	l.vote(votes.StateHeld)
	there := &[3]*located{}
	for i := range there {
		there[i] = &located{
			l:       l,
			i:       i,
			all:     there,
			far:     [3]time.Duration{wan, wan, wan},
			wake:    make(chan struct{}, 1),
			turn:    make(chan struct{}, 1),
			role:    ballot.RoleSecondary,
			follows: names[0],
		}
		there[i].far[i] = time.Millisecond
		there[i].turn <- struct{}{}
		change(there[i])
		there[i].start(timings)
	}
	there[0].role = ballot.RolePrimary
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, a := range there {
		running.Go(func() { a.run(ctx, timings.Renew) })
	}
	time.Sleep(30*time.Second + askedAt)
	annotations := map[string]string{}
	votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1], Issued: time.Now()}.Annotate(annotations)
	l.mu.Lock()
	l.votes[0].record.Notes.Request = annotations[votes.AnnotationRequest]
	l.votes[0].version++
	l.held = time.Time{}
	l.mu.Unlock()
	for held := false; !held && time.Since(electiontest.BubbleStart) < time.Minute; {
		time.Sleep(time.Millisecond)
		l.mu.Lock()
		held = !l.held.IsZero()
		l.mu.Unlock()
	}
	return l, *there, func() {
		cancel()
		running.Wait()
	}
}

// A planned switchover between sites takes, after OFFLINE, five and a half round trips until the votes lead clients to
// the new primary: the claim, the word of it, its reading, the fence beside the votes' renewal, the engine's
// configuration, Held.
func TestASwitchoverCostsRoundTripsAndNoWaiting(t *testing.T) {
	for _, askedAt := range []time.Duration{0, 300 * time.Millisecond, 700 * time.Millisecond} {
		t.Run(fmt.Sprintf("asked for %s after a renewal", askedAt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				l, all, stop := switchedOver(t, askedAt, func(*located) {})
				stop()
				g.Expect(l.held).NotTo(BeZero(), "nobody became primary")
				g.Expect(all[0].offlines).To(Equal(1), "it is RESOLVING when it is fenced")
				primary, took := all[1].seenAt.Sub(all[0].offlineAt), l.held.Sub(all[0].offlineAt)
				t.Logf(
					"PRIMARY %.1f and Held %.1f round trips after OFFLINE",
					float64(primary)/float64(wan),
					float64(took)/float64(wan),
				)
				g.Expect(primary).To(BeNumerically("<=", 9*wan/2+100*time.Millisecond))
				g.Expect(took).To(BeNumerically("<=", 11*wan/2+100*time.Millisecond))
			})
		})
	}
}

// A fence that nobody waited for may arrive when its candidate is primary long since and the replica follows it: that
// is left alone.
func TestAFenceThatComesLateTakesNoFollowerOffline(t *testing.T) {
	for _, late := range []string{names[0], names[2]} {
		t.Run(late, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				arrived := make(chan struct{})
				l, all, stop := switchedOver(t, 0, func(a *located) {
					a.hold = func(server string) {
						if server == late {
							<-arrived
						}
					}
				})
				g.Expect(l.held).NotTo(BeZero(), "nobody became primary")
				replica := all[0].to(late)
				until := time.Now().Add(20 * time.Second)
				for !replica.is(ballot.RoleSecondary, names[1]) && time.Now().Before(until) {
					time.Sleep(time.Millisecond)
				}
				g.Expect(replica.is(ballot.RoleSecondary, names[1])).To(BeTrue(), "it follows the new primary")
				before := replica.taken()
				close(arrived)
				time.Sleep(time.Second)
				stop()
				g.Expect(replica.taken()).To(Equal(before), "it is taken OFFLINE no more")
			})
		})
	}
}

// A primary that neither goes OFFLINE nor can be killed serves until its lease ends: its term is not released before.
func TestAPrimaryThatCannotBeStoppedIsNotReleased(t *testing.T) {
	w, g := held(t)
	w.servers[0].run.unstoppable = true
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.servers[0].step()
	w.servers[0].run.keeper.Step(t.Context())
	w.servers[0].isolate(true)
	w.live(6)
	g.Expect(w.fault).NotTo(HaveOccurred())
	for _, v := range w.voters {
		g.Expect(v.record.State).To(Equal(votes.StateHeld))
	}
	w.live(25)
	g.Expect(w.primary()).To(BeElementOf(w.servers[1], w.servers[2]))
}
