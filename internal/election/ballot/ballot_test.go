// SPDX-License-Identifier: Apache-2.0

package ballot_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/votes"
)

// lone is a voter of its own; one that is away answers nothing until nobody waits any more, and notes why nobody did.
type lone struct {
	name string
	away bool
	over []error
}

func (l *lone) Name() string { return l.name }

func (l *lone) Read(ctx context.Context) (votes.Record, string, error) {
	if l.away {
		<-ctx.Done()
		l.over = append(l.over, ctx.Err())
		return votes.Record{}, "", ctx.Err()
	}
	return votes.Record{Term: 1, State: votes.StateHeld}, "1", nil
}

func (l *lone) Swap(ctx context.Context, version string, _ votes.Record) (string, error) {
	if _, _, err := l.Read(ctx); err != nil {
		return "", err
	}
	return version, nil
}

// ballotOf is the ballot of a group that began with all of these voters.
func ballotOf(voters []votes.Voter, clock ballot.Clock, apiTimeout time.Duration) *ballot.Ballot {
	var began votes.Configuration
	for _, v := range voters {
		began.Voters = append(began.Voters, v.Name())
	}
	return ballot.New(began, voters, clock, apiTimeout)
}

// A voter that is cut off costs one whole time-out, and then one in every fourth round: agents that wait for it in
// every round answer nobody else meanwhile. Once it answers it is waited for again.
func TestASilentVoterIsWaitedForNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gone := &lone{name: "c", away: true}
		b := ballotOf([]votes.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, electiontest.BubbleClock{}, 2*time.Second)
		for range 4 {
			_, ok := b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(BeTrue())
		}
		late, given := context.DeadlineExceeded, context.Canceled
		g.Expect(gone.over).To(Equal([]error{late, given, given, late}))

		gone.away, gone.over = false, nil
		b.Read(t.Context(), ballot.Patient)
		gone.away = true
		b.Read(t.Context(), ballot.Patient)
		g.Expect(gone.over).To(Equal([]error{late}), "it had answered: it is waited for")
	})
}

// A quick round waits for a silent voter never as long, not even where a patient one would.
func TestAQuickRoundDoesNotWaitForASilentVoter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gone := &lone{name: "c", away: true}
		b := ballotOf([]votes.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, electiontest.BubbleClock{}, 2*time.Second)
		b.Read(t.Context(), ballot.Patient)
		for range 8 {
			_, ok := b.Read(t.Context(), ballot.Quick)
			g.Expect(ok).To(BeTrue())
		}
		g.Expect(gone.over[1:]).To(HaveEach(context.Canceled))
	})
}

// Without a silent voter there is no majority, so it is waited for.
func TestASilentVoterThatIsNeededIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		one, two := &lone{name: "b", away: true}, &lone{name: "c", away: true}
		b := ballotOf([]votes.Voter{&lone{name: "a"}, one, two}, electiontest.BubbleClock{}, time.Second)
		for range 3 {
			_, ok := b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(BeFalse())
		}
		g.Expect(one.over).To(HaveEach(context.DeadlineExceeded))
		g.Expect(two.over).To(HaveEach(context.DeadlineExceeded))
	})
}

// Somebody who waits for the agent waits no longer than a majority of the voters takes.
func TestARoundEndsForOneWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gone := &lone{name: "c", away: true}
		b := ballotOf([]votes.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, electiontest.BubbleClock{}, time.Second)
		read := func() time.Duration {
			began := time.Now()
			_, ok := b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(BeTrue())
			return time.Since(began)
		}
		waits := make(chan func(), 2)
		go func() {
			time.Sleep(300 * time.Millisecond)
			waits <- b.Hurry()
			waits <- b.Hurry()
		}()
		g.Expect(read()).To(Equal(300*time.Millisecond), "the round under way ends")
		(<-waits)()
		g.Expect(read()).To(BeZero(), "another one is waiting still")
		(<-waits)()
		g.Expect(read()).To(Equal(time.Second), "nobody waits, and the voter was not known to be silent")
		g.Expect(gone.over).To(Equal([]error{context.Canceled, context.Canceled, context.DeadlineExceeded}))
	})
}

// later is a voter that answers after a time.
type later struct {
	lone
	after time.Duration
}

func (l *later) Read(ctx context.Context) (votes.Record, string, error) {
	if err := (electiontest.BubbleClock{}).Sleep(ctx, l.after); err != nil {
		return votes.Record{}, "", err
	}
	return l.lone.Read(ctx)
}

// A quick round gives a voter as near as those of the majority the moment that it takes, and no farther one.
func TestAQuickRoundGivesTheOthersAMoment(t *testing.T) {
	for after, known := range map[time.Duration]bool{20 * time.Millisecond: true, 40 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			third := &later{lone{name: "c"}, after}
			b := ballotOf([]votes.Voter{&lone{name: "a"}, &lone{name: "b"}, third}, electiontest.BubbleClock{}, time.Second)
			b.Read(t.Context(), ballot.Quick)
			NewWithT(t).Expect(b.Snapshot()["c"] != nil).To(Equal(known), "after %s", after)
		})
	}
}

func TestCompareLogs(t *testing.T) {
	g := NewWithT(t)
	end := func(name, lsn string) ballot.DatabaseState {
		return ballot.DatabaseState{Name: name, HardenedLSN: lsn, Local: true}
	}
	foreign := end("A", "99")
	foreign.Local = false
	type logs = []ballot.DatabaseState
	for _, c := range []struct {
		a, b logs
		want int
	}{
		{nil, nil, 0},
		{logs{end("A", "5")}, logs{end("A", "5")}, 0},
		{logs{end("A", "10")}, logs{end("A", "9")}, 1},
		{logs{end("A", "010")}, logs{end("A", "9")}, 1},
		{logs{end("A", "5")}, nil, 1},
		{nil, logs{end("A", "5"), end("B", "1")}, -1},
		{logs{end("A", "5"), end("B", "9")}, logs{end("B", "1"), end("A", "6")}, -1},
		{logs{foreign, end("B", "2")}, logs{end("B", "2")}, 0},
	} {
		g.Expect(ballot.CompareLogs(c.a, c.b)).To(Equal(c.want), "%v and %v", c.a, c.b)
		g.Expect(ballot.CompareLogs(c.b, c.a)).To(Equal(-c.want), "%v and %v", c.b, c.a)
	}
}

func TestTimingsCheck(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ballot.DefaultTimings().Check()).To(Succeed())
	for name, change := range map[string]func(*ballot.Timings){
		"expiry too short":       func(t *ballot.Timings) { t.Expiry = 8 * time.Second },
		"lease shorter than gap": func(t *ballot.Timings) { t.WriteLease = 4 * time.Second },
		"API time-out too long":  func(t *ballot.Timings) { t.APITimeout = 2 * time.Second },
		"lease in fractions":     func(t *ballot.Timings) { t.WriteLease = 6500 * time.Millisecond },
	} {
		timings := ballot.DefaultTimings()
		change(&timings)
		g.Expect(timings.Check()).NotTo(Succeed(), name)
	}
}
