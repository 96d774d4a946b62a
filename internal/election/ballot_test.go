// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election"
)

// lone is a voter of its own; one that is away answers nothing until nobody waits any more, and notes why nobody did.
type lone struct {
	name string
	away bool
	over []error
}

func (l *lone) Name() string { return l.name }

func (l *lone) Read(ctx context.Context) (election.Record, string, error) {
	if l.away {
		<-ctx.Done()
		l.over = append(l.over, ctx.Err())
		return election.Record{}, "", ctx.Err()
	}
	return election.Record{Term: 1, State: election.StateHeld}, "1", nil
}

func (l *lone) Swap(ctx context.Context, version string, _ election.Record) (string, error) {
	if _, _, err := l.Read(ctx); err != nil {
		return "", err
	}
	return version, nil
}

// ballotOf is the ballot of a group that began with all of these voters.
func ballotOf(voters []election.Voter, clock election.Clock, apiTimeout time.Duration) *election.Ballot {
	var began election.Configuration
	for _, v := range voters {
		began.Voters = append(began.Voters, v.Name())
	}
	return election.NewBallot(began, voters, clock, apiTimeout)
}

// A voter that is cut off costs one whole time-out, and then one in every fourth round: agents that wait for it in
// every round answer nobody else meanwhile. Once it answers it is waited for again.
func TestASilentVoterIsWaitedForNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gone := &lone{name: "c", away: true}
		b := ballotOf([]election.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, bubbleClock{}, 2*time.Second)
		for range 4 {
			_, ok := b.Read(t.Context(), election.Patient)
			g.Expect(ok).To(BeTrue())
		}
		late, given := context.DeadlineExceeded, context.Canceled
		g.Expect(gone.over).To(Equal([]error{late, given, given, late}))

		gone.away, gone.over = false, nil
		b.Read(t.Context(), election.Patient)
		gone.away = true
		b.Read(t.Context(), election.Patient)
		g.Expect(gone.over).To(Equal([]error{late}), "it had answered: it is waited for")
	})
}

// A quick round waits for a silent voter never as long, not even where a patient one would.
func TestAQuickRoundDoesNotWaitForASilentVoter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gone := &lone{name: "c", away: true}
		b := ballotOf([]election.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, bubbleClock{}, 2*time.Second)
		b.Read(t.Context(), election.Patient)
		for range 8 {
			_, ok := b.Read(t.Context(), election.Quick)
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
		b := ballotOf([]election.Voter{&lone{name: "a"}, one, two}, bubbleClock{}, time.Second)
		for range 3 {
			_, ok := b.Read(t.Context(), election.Patient)
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
		b := ballotOf([]election.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, bubbleClock{}, time.Second)
		read := func() time.Duration {
			began := time.Now()
			_, ok := b.Read(t.Context(), election.Patient)
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

func (l *later) Read(ctx context.Context) (election.Record, string, error) {
	if err := (bubbleClock{}).Sleep(ctx, l.after); err != nil {
		return election.Record{}, "", err
	}
	return l.lone.Read(ctx)
}

// A quick round gives a voter as near as those of the majority the moment that it takes, and no farther one.
func TestAQuickRoundGivesTheOthersAMoment(t *testing.T) {
	for after, known := range map[time.Duration]bool{20 * time.Millisecond: true, 40 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			third := &later{lone{name: "c"}, after}
			b := ballotOf([]election.Voter{&lone{name: "a"}, &lone{name: "b"}, third}, bubbleClock{}, time.Second)
			b.Read(t.Context(), election.Quick)
			NewWithT(t).Expect(b.Snapshot()["c"] != nil).To(Equal(known), "after %s", after)
		})
	}
}
