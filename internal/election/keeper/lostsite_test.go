// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// wan is the round trip between the two sites that are left when the primary's is lost.
const wan = 150 * time.Millisecond

// landscape is three sites with a voter and a server each: the first is lost, the second has the other replica with
// data, the third a configuration-only one. Its time is that of the test's bubble, so nothing takes time but what is
// said here.
type landscape struct {
	mu    sync.Mutex
	votes [3]*leaseStore
	// lost is set when the first site is: what is sent there is not answered any more; gone when its server's pod alone
	// is.
	lost, gone bool
	// held is when a majority of the voters first said that the second server is primary.
	held time.Time
	// round trips from the second site.
	far [3]time.Duration
}

// site is a voter as the agent of a site reaches it, with the round trips from there.
type site struct {
	l   *landscape
	i   int
	far *[3]time.Duration
}

func (s site) Name() string { return s.l.votes[s.i].name }

// travel takes the time of a round trip; a lost site takes as long as anybody waits.
func (l *landscape) travel(ctx context.Context, i int, far *[3]time.Duration) error {
	l.mu.Lock()
	lost := l.lost && i == 0
	l.mu.Unlock()
	if lost {
		<-ctx.Done()
		return ctx.Err()
	}
	return electiontest.BubbleClock{}.Sleep(ctx, far[i])
}

func (s site) Read(ctx context.Context) (votes.Record, string, error) {
	if err := s.l.travel(ctx, s.i, s.far); err != nil {
		return votes.Record{}, "", err
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	v := s.l.votes[s.i]
	return v.record, fmt.Sprint(v.version), nil
}

func (s site) Swap(ctx context.Context, version string, r votes.Record) (string, error) {
	if err := s.l.travel(ctx, s.i, s.far); err != nil {
		return "", err
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	v := s.l.votes[s.i]
	if version != fmt.Sprint(v.version) {
		return "", votes.ErrConflict
	}
	v.record, v.version = r, v.version+1
	held := 0
	for _, v := range s.l.votes {
		if v.record.State == votes.StateHeld && v.record.Holder.Server == names[1] {
			held++
		}
	}
	if held >= 2 && s.l.held.IsZero() {
		s.l.held = time.Now()
	}
	return fmt.Sprint(v.version), nil
}

// renew is what the primary does each R.
func (l *landscape) renew() { l.vote(votes.StateHeld) }

// vote lets all votes say something of the primary.
func (l *landscape) vote(state votes.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.votes {
		v.record = votes.Record{Term: 1, State: state, InitialPrimary: names[0],
			Holder: votes.Holder{Server: names[0], PodUID: "pod", Engine: "run", Nonce: fmt.Sprint(v.version)}}
		v.version++
	}
}

// Fence, Report and Wake are the agents of the other two servers.
func (l *landscape) Fence(ctx context.Context, server string, _ ballot.FenceRequest) (ballot.Report, error) {
	i := map[string]int{names[0]: 0, names[2]: 2}[server]
	l.mu.Lock()
	gone := l.gone && i == 0
	l.mu.Unlock()
	if gone {
		<-ctx.Done()
		return ballot.Report{}, ctx.Err()
	}
	if err := l.travel(ctx, i, &l.far); err != nil {
		return ballot.Report{}, err
	}
	return ballot.Report{Server: server, Role: ballot.RoleResolving, Inspection: threeReplicas(server)}, nil
}

func (l *landscape) Report(ctx context.Context, server, _ string) (ballot.Report, error) {
	return l.Fence(ctx, server, ballot.FenceRequest{})
}

func (*landscape) Reconnect(context.Context, string, string) error { return nil }

func (l *landscape) Wake(ctx context.Context, server, _ string) error {
	_, err := l.Fence(ctx, server, ballot.FenceRequest{})
	return err
}

func threeReplicas(self string) ballot.Inspection {
	return ballot.Inspection{Sequence: 1 << 32, Names: []string{"Content"},
		Replicas: []ballot.Replica{
			{Server: names[0], Mode: ballot.ModeSynchronous},
			{Server: names[1], Mode: ballot.ModeSynchronous},
			{Server: names[2], Mode: ballot.ModeConfigurationOnly},
		},
		Databases: []ballot.DatabaseState{
			{Server: self, Name: "Content", Local: true, State: "SYNCHRONIZED", HardenedLSN: "1", Ready: true},
		}}
}

// instant is an engine whose statements take no time but one round trip, in which the configuration of a new primary is
// committed.
type instant struct {
	role ballot.Role
	at   time.Time
}

func (e *instant) Observe(context.Context, string) (ballot.Observation, error) {
	if e.role == ballot.RoleResolving && time.Since(e.at) >= wan {
		e.role = ballot.RolePrimary
	}
	return ballot.Observation{
		Exists:    true,
		Role:      e.role,
		Mode:      ballot.ModeSynchronous,
		Connected: true,
		Primary:   names[0],
	}, nil
}

func (e *instant) Inspect(context.Context, string) (ballot.Inspection, error) {
	return threeReplicas(names[1]), nil
}

func (e *instant) RenewLease(context.Context, string, time.Duration, time.Time) error { return nil }

func (e *instant) Failover(context.Context, string, time.Duration, time.Time) error {
	e.role, e.at = ballot.RoleResolving, time.Now()
	return nil
}

func (e *instant) Force(context.Context, string, time.Duration, time.Time) error { return nil }
func (e *instant) Offline(context.Context, string) error                         { return nil }
func (e *instant) BecomeSecondary(context.Context, string, time.Time) error      { return nil }
func (e *instant) RestartEndpoint(context.Context, string) error                 { return nil }
func (e *instant) Resume(context.Context, string, []string) error                { return nil }
func (e *instant) Copies(context.Context, string, []string) ([]keeper.Copy, error) {
	return []keeper.Copy{{Name: "Content"}}, nil
}
func (e *instant) Reseed(context.Context, string, []string) error           { return nil }
func (e *instant) EndSessions(context.Context, string, time.Duration) error { return nil }

func (e *instant) EndWriters(context.Context, string) (int, error) { return 0, nil }
func (e *instant) Kill() error                                     { return nil }

// newLandscape has the second server's keeper.
func newLandscape(timings ballot.Timings) (*landscape, *ballot.Ballot, *keeper.Keeper) {
	return newLandscapeWith(timings, &instant{role: ballot.RoleSecondary})
}

// newLandscapeWith has another engine.
func newLandscapeWith(
	timings ballot.Timings,
	engine keeper.Engine,
) (*landscape, *ballot.Ballot, *keeper.Keeper) {
	l := &landscape{far: [3]time.Duration{4 * time.Millisecond, time.Millisecond, wan}}
	var voters []votes.Voter
	for i := range l.votes {
		l.votes[i] = &leaseStore{name: fmt.Sprint("site", i)}
		voters = append(voters, site{l, i, &l.far})
	}
	nonces := 0
	ballot := ballotOf(voters, electiontest.BubbleClock{}, timings.APITimeout)
	return l, ballot, keeper.New(keeper.Options{
		Group: "content", Self: votes.Holder{Server: names[1], PodUID: "pod", Engine: "run"},
		Ballot: ballot, Engine: engine, Peers: l, Memory: &onDisk{}, Clock: electiontest.BubbleClock{},
		Timings: timings, Nonce: func() string { nonces++; return fmt.Sprint(nonces) },
		Random: rand.New(rand.NewPCG(1, 2)).Float64,
	})
}

// replaced loses the primary's site at a moment after so many renewals, and returns how long after that the votes of
// the others say that the second server is primary; the second agent's steps begin at another moment between renewals.
func replaced(t *testing.T, renewals int, lostAt, stepsAt time.Duration) time.Duration {
	t.Helper()
	timings := ballot.DefaultTimings()
	l, _, k := newLandscape(timings)
	var lost time.Time
	go func() {
		for range renewals {
			l.renew()
			time.Sleep(timings.Renew)
		}
		l.renew()
		time.Sleep(lostAt)
		l.mu.Lock()
		l.lost, lost = true, time.Now()
		l.mu.Unlock()
	}()
	time.Sleep(stepsAt)
	for {
		began := time.Now()
		out := k.Step(t.Context())
		l.mu.Lock()
		held := l.held
		l.mu.Unlock()
		if !held.IsZero() {
			return held.Sub(lost)
		}
		if time.Since(electiontest.BubbleStart) > 2*time.Minute {
			t.Fatalf("nobody became primary: %+v", out)
		}
		time.Sleep(out.Pause(time.Since(began), timings.Renew))
	}
}

// onDisk is a memory.
type onDisk struct{ keeper.Remembered }

func (d *onDisk) Load() (keeper.Remembered, error) { return d.Remembered, nil }
func (d *onDisk) Save(r keeper.Remembered) error   { d.Remembered = r; return nil }

// With a lost site the others have a primary D(1+e) and five round trips between them after the last renewal - it is
// seen, the votes are claimed, the other replica is fenced, the engine commits, the votes say Held - beside the time
// until a renewal is looked at. Neither the lost voter nor the lost replica is waited for, and nothing is asked twice.
// The same holds for a term that began some seconds ago: another site may be lost soon after the first one.
func TestALostSiteCostsRoundTripsAndNoWaiting(t *testing.T) {
	timings := ballot.DefaultTimings()
	const bound = 5*wan + 250*time.Millisecond
	for _, renewals := range []int{60, 8} {
		for _, lostAt := range []time.Duration{10 * time.Millisecond, 500 * time.Millisecond, 990 * time.Millisecond} {
			for _, stepsAt := range []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond,
				950 * time.Millisecond} {
				t.Run(
					fmt.Sprintf("lost %s after renewal %d, steps begin %s after one", lostAt, renewals, stepsAt),
					func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							took := replaced(t, renewals, lostAt, stepsAt) + lostAt - timings.SuspectAfter()
							t.Logf(
								"Held %s after D(1+e) from the last renewal, %.1f round trips",
								took.Round(time.Millisecond),
								float64(took)/float64(wan),
							)
							if took > bound {
								t.Errorf("more than %s", bound)
							}
						})
					},
				)
			}
		}
	}
}

// The primary's pod is gone, its term was released before that. The others have a primary after two round trips between
// them - the other replica is fenced, the engine commits - and a few shorter ones: neither an agent that is no more is
// waited for, nor a far voter that nobody needs.
func TestAPodThatIsGoneIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timings := ballot.DefaultTimings()
		l, ballot, k := newLandscape(timings)
		l.renew()
		k.Step(t.Context())
		l.vote(votes.StateReleased)
		l.gone = true
		began := time.Now()
		// The former holder's agent woke this one.
		defer ballot.Hurry()()
		for l.held.IsZero() {
			time.Sleep(k.Step(t.Context()).Soon)
			if time.Since(began) > 10*time.Second {
				t.Fatal("nobody became primary")
			}
		}
		took := l.held.Sub(began)
		t.Logf("Held after %s, %.1f round trips", took, float64(took)/float64(wan))
		if bound := 2*wan + 100*time.Millisecond; took > bound {
			t.Errorf("more than %s", bound)
		}
	})
}

// busy is an engine that, once it is primary, has no answer about its databases in any time; the statement after that
// needs a new connection.
type busy struct {
	instant
	renewed []time.Time
}

func (e *busy) Inspect(ctx context.Context, group string) (ballot.Inspection, error) {
	if e.role != ballot.RolePrimary {
		return e.instant.Inspect(ctx, group)
	}
	<-ctx.Done()
	return ballot.Inspection{}, ctx.Err()
}

func (e *busy) RenewLease(ctx context.Context, _ string, _ time.Duration, _ time.Time) error {
	if err := (electiontest.BubbleClock{}).Sleep(ctx, wan); err != nil {
		return err
	}
	e.renewed = append(e.renewed, time.Now())
	return nil
}

// What a new primary's databases are is for the record alone: its lease is renewed whether or not the engine tells,
// also with the short timings that docs/failover.md recommends.
func TestTheLeaseIsRenewedBeforeTheRecordIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timings := ballot.Timings{
			Expiry:       4300 * time.Millisecond,
			Renew:        500 * time.Millisecond,
			APITimeout:   600 * time.Millisecond,
			Acknowledge:  700 * time.Millisecond,
			AgentRestart: 700 * time.Millisecond,
			WriteLease:   2 * time.Second,
			Overrun:      time.Second,
			Kill:         500 * time.Millisecond,
			Drift:        0.01,
		}
		if err := timings.Check(); err != nil {
			t.Fatal(err)
		}
		engine := &busy{instant: instant{role: ballot.RoleSecondary}}
		l, _, k := newLandscapeWith(timings, engine)
		l.renew()
		k.Step(t.Context())
		l.vote(votes.StateReleased)
		l.gone = true
		for time.Since(electiontest.BubbleStart) < 10*time.Second {
			began := time.Now()
			out := k.Step(t.Context())
			time.Sleep(out.Pause(time.Since(began), timings.Renew))
		}
		if len(engine.renewed) == 0 {
			t.Fatal("the lease was never renewed")
		}
		last := engine.at
		for _, at := range append(engine.renewed, time.Now()) {
			if gap := at.Sub(last); gap > timings.WriteLease {
				t.Errorf("the lease was not renewed for %s", gap)
			}
			last = at
		}
	})
}
