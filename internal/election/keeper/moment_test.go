// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// The next step comes after Renew from the beginning of this one, sooner where there is a hurry or a better moment.
func TestHowLongIsPaused(t *testing.T) {
	const renew = time.Second
	for name, c := range map[string]struct {
		out  Outcome
		took time.Duration
		want time.Duration
	}{
		"no hurry":                  {Outcome{}, 0, renew},
		"no hurry, after some time": {Outcome{}, 300 * time.Millisecond, 700 * time.Millisecond},
		"it took longer":            {Outcome{}, 2 * time.Second, time.Millisecond},
		"a hurry":                   {Outcome{Soon: 10 * time.Millisecond}, 300 * time.Millisecond, 10 * time.Millisecond},
		"a hurry that is none":      {Outcome{Soon: time.Minute}, 300 * time.Millisecond, 700 * time.Millisecond},
		"a look":                    {Outcome{Look: 970 * time.Millisecond}, 300 * time.Millisecond, 670 * time.Millisecond},
		"a look that has passed":    {Outcome{Look: 100 * time.Millisecond}, 300 * time.Millisecond, lookAgain},
		"a look beyond":             {Outcome{Look: 2 * time.Second}, 300 * time.Millisecond, 700 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.out.Pause(c.took, renew)).To(Equal(c.want))
		})
	}
}

// Who stands by moves its looks towards the holder's renewals, in large strides until it has met one of the term.
func TestWhenTheNextLookComes(t *testing.T) {
	const renew, stride = time.Second, 750 * time.Millisecond
	const ahead = 970 * time.Millisecond
	for name, c := range map[string]struct {
		age  time.Duration
		met  bool
		bars func(b *bench)
		want time.Duration
		// meets says that this look is one that came before a renewal.
		meets bool
	}{
		"at a renewal, of a new term":       {want: stride},
		"half a renewal later, almost":      {age: renew/2 - 1, want: stride},
		"half a renewal later":              {age: renew / 2, want: lookAgain, meets: true},
		"at a renewal":                      {met: true, want: ahead, meets: true},
		"half a renewal later, almost, met": {age: renew/2 - 1, met: true, want: ahead, meets: true},
		"just before a renewal":             {age: renew - 1, met: true, want: lookAgain, meets: true},
		"a renewal is late":                 {age: 3*renew/2 - 1, want: lookAgain, meets: true},
		"it has not come":                   {age: 3 * renew / 2, want: 0},
		"this server holds a term":          {bars: func(b *bench) { b.term = 2 }},
		"the votes are not known":           {bars: func(b *bench) { b.voters[0].Absent, b.voters[1].Absent = true, true }},
		"nobody holds them": {
			bars: func(b *bench) { b.vote(votes.Record{Term: 2, State: votes.StateClaimed, Holder: rival}) },
		},
		"a voter is silent": {bars: func(b *bench) { b.voters[2].Silent = true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: rival})...)
				if c.met {
					b.metAt = 1
				}
				if c.bars != nil {
					c.bars(b)
					b.ballot.Read(t.Context(), ballot.Patient)
				}
				b.clock.At += c.age
				g.Expect(b.nextLook()).To(Equal(c.want))
				g.Expect(b.metAt == 1).To(Equal(c.meets))
			})
		})
	}
}

// vote lets all votes be as told.
func (b *bench) vote(r votes.Record) {
	for _, v := range b.voters {
		v.Record, v.Version = r, v.Version+1
	}
}

// holding is a bench whose run holds, or claims, term 3.
func holding(t *testing.T, state votes.State) *bench {
	t.Helper()
	b := newBench(t, alike(votes.Record{Term: 3, State: state, Holder: own})...)
	b.term, b.state, b.voted, b.agreed = 3, state, state, true
	b.renewed, b.counted = b.clock.At, b.clock.At
	b.seen = ballot.Observation{Exists: true, Role: ballot.RolePrimary, Mode: ballot.ModeSynchronous}
	if state == votes.StateClaimed {
		b.claim = claim{at: b.clock.At, round: b.clock.At, former: "rival-0"}
		b.seen.Role = ballot.RoleResolving
	}
	return b
}

// A primary gets its lease while its engine's commits and clock are as they ought to be, and in time.
func TestWhichPrimaryGetsALease(t *testing.T) {
	for name, c := range map[string]struct {
		pending, skew, late time.Duration
		given               bool
		says                string
	}{
		"as ever":                 {given: true},
		"a commit waits":          {pending: time.Minute, given: true},
		"a commit waits too long": {pending: time.Minute + 1, says: "has been pending"},
		"the engine's is ahead":   {skew: 500 * time.Millisecond, given: true},
		"it is too far ahead":     {skew: 500*time.Millisecond + 1, says: "the clocks of engine and agent"},
		"the engine's is behind":  {skew: -500 * time.Millisecond, given: true},
		"it is too far behind":    {skew: -500*time.Millisecond - 1, says: "the clocks of engine and agent"},
		"the votes took long":     {late: 1400 * time.Millisecond, given: true},
		"the votes took too long": {late: 1500 * time.Millisecond, says: "the votes took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateHeld)
			start := b.clock.At
			b.clock.At += c.late
			b.seen.CommitPending, b.seen.Skew = c.pending, c.skew
			out := b.serve(t.Context(), start, b.seen)
			if c.given {
				g.Expect(b.statements).To(Equal([]string{"LEASE"}))
				g.Expect(out.Err).NotTo(HaveOccurred())
			} else {
				g.Expect(b.statements).To(BeEmpty())
				g.Expect(out.Err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}

// Clients may be served by a primary, by a replica whose role is not known, and by what is left of a group that was
// served.
func TestWhatMayServe(t *testing.T) {
	for _, c := range []struct {
		state votes.State
		seen  ballot.Observation
		may   bool
	}{
		{votes.StateHeld, ballot.Observation{Exists: true, Role: ballot.RolePrimary}, true},
		{votes.StateHeld, ballot.Observation{Exists: true}, true},
		{votes.StateHeld, ballot.Observation{Exists: true, Role: ballot.RoleSecondary}, false},
		{votes.StateHeld, ballot.Observation{Exists: true, Role: ballot.RoleResolving}, false},
		{votes.StateHeld, ballot.Observation{}, true},
		{votes.StateClaimed, ballot.Observation{}, false},
	} {
		NewWithT(t).Expect(holding(t, c.state).mayServe(c.seen)).To(Equal(c.may), "%s %+v", c.state, c.seen)
	}
}

// The votes say Held as soon as the replica is seen PRIMARY by the FAILOVER of this claim, and not before.
func TestWhenTheVotesSayHeld(t *testing.T) {
	primary := ballot.Observation{Exists: true, Role: ballot.RolePrimary, Mode: ballot.ModeSynchronous}
	resolving := primary
	resolving.Role = ballot.RoleResolving
	absent := primary
	absent.Exists = false
	for name, c := range map[string]struct {
		seen   ballot.Observation
		err    error
		issued bool
		want   votes.State
	}{
		"primary by FAILOVER":        {primary, nil, true, votes.StateHeld},
		"primary without":            {primary, nil, false, votes.StateClaimed},
		"not primary yet":            {resolving, nil, true, votes.StateClaimed},
		"the engine does not answer": {primary, errors.New("silent"), true, votes.StateClaimed},
		"the engine has no group":    {absent, nil, true, votes.StateClaimed},
	} {
		t.Run(name, func(t *testing.T) {
			b := holding(t, votes.StateClaimed)
			b.claim.fenced, b.claim.issued, b.claim.answered = true, c.issued, b.clock.At
			b.hold(t.Context(), c.seen, c.err)
			NewWithT(t).Expect(b.voters[0].Record.State).To(Equal(c.want))
		})
	}
}

// Fencing needs no round of votes right after the one in which a majority has granted the claim.
func TestWhichClaimIsFencedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench)
		now    bool
	}{
		"granted just now":      {func(*bench) {}, true},
		"granted a moment ago":  {func(b *bench) { b.clock.At += b.timings.APITimeout - 1 }, true},
		"granted some time ago": {func(b *bench) { b.clock.At += b.timings.APITimeout }, false},
		"not granted":           {func(b *bench) { b.agreed = false }, false},
		"fenced already":        {func(b *bench) { b.claim.fenced = true }, false},
		"renewed since":         {func(b *bench) { b.renewed++ }, false},
		"held":                  {func(b *bench) { b.state = votes.StateHeld }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := holding(t, votes.StateClaimed)
			c.change(b)
			NewWithT(t).Expect(b.justClaimed(b.clock.At)).To(Equal(c.now))
		})
	}
}

// A round of a term replaces what is this run's own; of others what is lower, once a majority has this term, and what
// was claimed in this very term while a majority has it Held.
func TestWhichVotesARoundReplaces(t *testing.T) {
	vote := func(term int64, state votes.State, holder votes.Holder) votes.Record {
		return votes.Record{Term: term, State: state, Holder: holder}
	}
	mine := vote(3, votes.StateHeld, own)
	for name, c := range map[string]struct {
		present votes.Record
		// others are the two votes beside it, of which agreed says that a majority had this run's vote in the term.
		others   votes.Record
		agreed   bool
		of       int64
		cast     votes.State
		replaced bool
	}{
		"its own":                 {mine, mine, true, 3, votes.StateHeld, true},
		"its own claim":           {vote(3, votes.StateClaimed, own), mine, true, 3, votes.StateHeld, true},
		"its own, released":       {vote(3, votes.StateReleased, own), mine, false, 3, votes.StateHeld, false},
		"its own, released again": {vote(3, votes.StateReleased, own), mine, false, 3, votes.StateReleased, true},
		"its own of before": {vote(2, votes.StateHeld, own), vote(2, votes.StateHeld, rival), false, 3,
			votes.StateHeld, true},
		"its own of before, for a claim": {vote(2, votes.StateHeld, own), vote(2, votes.StateHeld, rival), false, 3,
			votes.StateClaimed, false},
		"its own of before, released": {
			vote(2, votes.StateReleased, own), vote(2, votes.StateHeld, rival), false, 3, votes.StateHeld, false,
		},
		"its own of a higher term": {vote(4, votes.StateHeld, own), vote(2, votes.StateHeld, rival), false, 3,
			votes.StateHeld, false},
		"another's of before": {vote(2, votes.StateHeld, rival), vote(2, votes.StateHeld, rival), false, 3,
			votes.StateHeld, false},
		"another's, a majority seen": {vote(2, votes.StateHeld, rival), mine, false, 3, votes.StateHeld, true},
		"another's, a majority had": {vote(2, votes.StateHeld, rival), vote(2, votes.StateHeld, rival), true, 3,
			votes.StateHeld, true},
		"another's, had in another term": {vote(2, votes.StateHeld, rival), vote(2, votes.StateHeld, rival), true, 2,
			votes.StateHeld, false},
		"a rival's claim of the term":    {vote(3, votes.StateClaimed, rival), mine, true, 3, votes.StateHeld, true},
		"a rival's claim, when released": {vote(3, votes.StateClaimed, rival), mine, true, 3, votes.StateReleased, false},
		"a rival's claim, not held here": {
			vote(3, votes.StateClaimed, rival), vote(3, votes.StateClaimed, rival), true, 3, votes.StateHeld, false,
		},
		"a rival's of the term, held": {vote(3, votes.StateHeld, rival), mine, true, 3, votes.StateHeld, false},
		"a rival's of a higher one":   {vote(4, votes.StateClaimed, rival), mine, true, 3, votes.StateHeld, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.present, c.others, c.others)
			b.term, b.state, b.agreed = c.of, votes.StateHeld, c.agreed
			before := b.voters[0].Version
			b.cast(t.Context(), ballot.Patient, 3, c.cast)
			NewWithT(t).Expect(b.voters[0].Version > before).To(Equal(c.replaced))
		})
	}
}

// What a keeper leaves is from when its votes count that it holds, or those that it has found.
func TestWhatAKeeperLeaves(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: own})...)
	b.inherited, b.renewed, b.outstanding, b.unanswered = 5, 7, 11, 13
	g.Expect(b.Handover()).To(Equal(Handover{Held: 5, Outstanding: 11, Unanswered: 13}))
	b.term = 1
	g.Expect(b.Handover()).To(Equal(Handover{Held: 7, Outstanding: 11, Unanswered: 13}))
	var none *Keeper
	g.Expect(none.Handover()).To(BeZero())
}

// A holder that has given its engine no lease for as long as votes count takes it OFFLINE, and then tells the voters.
// One without a term has nothing to tell, and where the engine had to be ended nobody saw it serve no more.
func TestWhoEndsWithoutALease(t *testing.T) {
	g := NewWithT(t)
	refused := errors.New("refused")
	b := holding(t, votes.StateHeld)
	since := b.clock.At
	by := b.timings.HolderBound() - b.timings.Kill
	resolving := ballot.Observation{Exists: true, Role: ballot.RoleResolving}
	b.clock.At += by - 1
	g.Expect(b.unleased(t.Context(), since, "waits", refused).Action).To(Equal("waits"))
	g.Expect(b.statements).To(BeEmpty())
	b.clock.At++
	b.follows = func(string) { b.seen = resolving }
	g.Expect(b.unleased(t.Context(), since, "waits", refused).Action).To(Equal(takenOffline))
	g.Expect(b.voters[0].Record.State).To(Equal(votes.StateReleased))
	g.Expect(b.term).To(BeZero())
	g.Expect(b.retryAt).To(Equal(b.clock.At+b.timings.Expiry), "others come first")

	b = holding(t, votes.StateHeld)
	b.follows = func(string) { b.seen = resolving }
	b.term = 0
	b.clock.At += by
	b.unanswered = since
	g.Expect(b.unleased(t.Context(), since, "", refused).Action).To(Equal(takenOffline))
	g.Expect(b.voters[0].Record).To(And(HaveField("Term", int64(3)), HaveField("State", votes.StateHeld)))
	g.Expect(b.retryAt).To(BeZero())

	b = holding(t, votes.StateHeld)
	b.follows = func(string) { b.seen = resolving }
	b.clock.At += by
	b.refused, b.unanswered = refused, since
	b.unleased(t.Context(), since, "", refused)
	g.Expect(b.statements).To(Equal([]string{"OFFLINE", "KILL"}))
	g.Expect(b.voters[0].Record.State).To(Equal(votes.StateHeld))
	g.Expect(b.retryAt).To(BeZero())
}

// Since when an engine has not answered counts until it does, and serves nobody.
func TestSinceWhenAnEngineHasNotAnswered(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, votes.StateClaimed)
	since := b.clock.At - 1
	b.unanswered = since
	b.hold(t.Context(), ballot.Observation{}, errors.New("silent"))
	g.Expect(b.unanswered).To(Equal(since))

	b = holding(t, votes.StateHeld)
	b.unanswered = since
	b.hold(t.Context(), ballot.Observation{Exists: true}, nil)
	g.Expect(b.unanswered).To(Equal(since), "it may serve")
	b.hold(t.Context(), ballot.Observation{Exists: true, Role: ballot.RoleResolving, Mode: ballot.ModeSynchronous}, nil)
	g.Expect(b.unanswered).To(BeZero())
}

// An agent that begins anew beside an engine that does not answer, or refuses it, ends what that may serve: it goes by
// the votes of its run. Of a group that never had a primary an engine that refuses serves nothing.
func TestWhatANewAgentDoesAboutASilentEngine(t *testing.T) {
	refuses := errors.New("login failed")
	for name, c := range map[string]struct {
		vote  votes.Record
		err   error
		ended bool
	}{
		"held, and it is silent": {votes.Record{Term: 3, State: votes.StateHeld, Holder: own}, context.DeadlineExceeded,
			true},
		"held, and it refuses": {votes.Record{Term: 3, State: votes.StateHeld, Holder: own}, refuses, true},
		"claimed, and it is silent": {votes.Record{Term: 3, State: votes.StateClaimed, Holder: own},
			context.DeadlineExceeded, true},
		"claimed, and it refuses": {votes.Record{Term: 3, State: votes.StateClaimed, Holder: own}, refuses, false},
		"released, and it is silent": {votes.Record{Term: 3, State: votes.StateReleased, Holder: own},
			context.DeadlineExceeded, false},
		"another's, and it is silent": {votes.Record{Term: 3, State: votes.StateHeld, Holder: rival},
			context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(c.vote)...)
			b.unseen = c.err
			b.Step(t.Context())
			b.clock.At += b.timings.HolderBound() - b.timings.Kill - 1
			b.Step(t.Context())
			g.Expect(b.statements).To(BeEmpty())
			b.clock.At++
			b.Step(t.Context())
			g.Expect(len(b.statements) > 0).To(Equal(c.ended), "%v", b.statements)
		})
	}
}

// An agent that is restarted goes on in its run's term also where the engine has no such group: one that was claimed
// for
// a group that is yet to be made, and one that was held.
func TestWhatIsGoneOnWithWithoutAGroup(t *testing.T) {
	for state, goesOn := range map[votes.State]bool{votes.StateClaimed: true, votes.StateHeld: true,
		votes.StateReleased: false} {
		b := newBench(t, alike(votes.Record{Term: 3, State: state, Holder: own})...)
		b.seen = ballot.Observation{}
		out := b.Step(t.Context())
		NewWithT(t).Expect(out.Action == "resumed").To(Equal(goesOn), "%s: %s", state, out.Action)
	}
}

// A majority that has a run's vote in its term is known from then on, and one in another term is not that.
func TestAMajorityIsKnownFromItsRoundOn(t *testing.T) {
	for term, agreed := range map[int64]bool{3: true, 4: false} {
		b := holding(t, votes.StateHeld)
		b.agreed = !agreed
		granted := b.cast(t.Context(), ballot.Patient, term, votes.StateHeld)
		NewWithT(t).Expect(granted.Carried).To(BeTrue())
		NewWithT(t).Expect(b.agreed).To(Equal(agreed), "term %d", term)
	}
}
