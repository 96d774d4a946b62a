// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// alike are three votes of one kind.
func alike(r votes.Record) []votes.Record { return []votes.Record{r, r, r} }

// The step in which the votes expire comes when they do, and the one before it halfway; until then steps come as usual.
func TestWhenTheVotesExpireIsAwaited(t *testing.T) {
	renew := ballot.DefaultTimings().Renew
	for name, c := range map[string]struct {
		left time.Duration
		says string
		want time.Duration
	}{
		"long before":         {2 * renew, "silent", 0},
		"just too early":      {5 * renew / 4, "silent", 0},
		"before the last one": {5*renew/4 - 2, "silent", (5*renew/4 - 2) / 2},
		"a step before":       {renew, "silent", renew / 2},
		"the next step":       {renew - 1, "silent", renew - 1},
		"expired":             {0, "silent", 0},
		"renewed":             {renew / 2, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: rival})...)
			s := ballot.Standing{Self: own, Unchanged: b.timings.SuspectAfter() - c.left}
			NewWithT(t).Expect(b.awaitExpiry(t.Context(), s, ballot.Verdict{Wait: c.says})).To(Equal(c.want))
			NewWithT(t).Expect(b.requests.expected > 0).To(Equal(c.want == renew-1), "that step needs no reading")
		})
	}
}

// Rivals are let go first, for a part of a renewal; longer where this replica is not known to be synchronized. There
// are none where a person asks this server, where it comes back, or where the only other replica is the holder's.
func TestHowLongRivalsAreLetGoFirst(t *testing.T) {
	renew := ballot.DefaultTimings().Renew
	for name, c := range map[string]struct {
		change  func(b *bench)
		holder  votes.Holder
		request *votes.Request
		want    time.Duration
	}{
		"synchronized":            {holder: rival, want: renew / 8},
		"not called synchronized": {func(b *bench) { b.shown.Databases[0].Ready = false }, rival, nil, renew/8 + 2*renew},
		"not known":               {func(b *bench) { b.unread = errAway }, rival, nil, renew/8 + 2*renew},
		"asked":                   {func(b *bench) { b.shown.Databases[0].Ready = false }, rival, &votes.Request{}, 0},
		"the holder itself":       {holder: own},
		"no rival":                {func(b *bench) { b.shown.Replicas = b.shown.Replicas[:2] }, rival, nil, 0},
		"a rival without data": {func(b *bench) { b.shown.Replicas[2].Mode = ballot.ModeConfigurationOnly }, rival, nil,
			0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: rival})...)
			if c.change != nil {
				c.change(b)
			}
			leading := votes.Record{Term: 1, State: votes.StateHeld, Holder: c.holder}
			NewWithT(t).Expect(b.headStart(t.Context(), leading, c.request)).To(Equal(c.want))
		})
	}
}

// A server that may claim waits its time first, also where nobody had to wait for the votes to expire, and not where a
// person asks meanwhile.
func TestAClaimComesAfterItsHeadStart(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateReleased, Holder: rival})...)
	wait := b.timings.Renew / 8
	g.Expect(b.Step(t.Context())).To(And(HaveField("Soon", wait), HaveField("Term", BeZero())))
	b.clock.At += wait - 1
	g.Expect(b.Step(t.Context())).To(And(HaveField("Soon", time.Duration(1)), HaveField("Term", BeZero())))
	b.clock.At++
	g.Expect(b.Step(t.Context())).To(HaveField("Term", int64(2)))

	b = newBench(t, alike(votes.Record{Term: 1, State: votes.StateReleased, Holder: rival})...)
	b.requests.delay, b.requests.delayOf = b.timings.Renew/2, 1
	g.Expect(b.Step(t.Context())).To(HaveField("Soon", b.timings.Renew/2), "what was found before the votes expired")

	b = newBench(t, alike(votes.Record{Term: 1, State: votes.StateReleased, Holder: rival})...)
	b.requests.delay, b.requests.delayOf = b.timings.Renew/2, 1
	annotations := map[string]string{}
	votes.Request{ID: "f", Kind: votes.RequestFailover, To: "own-0", Issued: b.clock.Wall()}.Annotate(annotations)
	b.voters[0].Record.Notes.Request = annotations[votes.AnnotationRequest]
	g.Expect(b.Step(t.Context())).To(HaveField("Term", int64(2)), "a person has asked")
}

// Votes are read at the pace of an election shortly before and after they expire, and while rivals are let go.
func TestWhenVotesAreReadQuickly(t *testing.T) {
	for name, c := range map[string]struct {
		left     time.Duration
		eligible time.Duration
		want     ballot.Pace
	}{
		"long before":       {2 * time.Second, 0, ballot.Patient},
		"a time-out before": {time.Second, 0, ballot.Patient},
		"shortly before":    {time.Second - 1, 0, ballot.Quick},
		"shortly after":     {1 - time.Second, 0, ballot.Quick},
		"a time-out after":  {-time.Second, 0, ballot.Patient},
		"rivals are let go": {-2 * time.Second, 1, ballot.Quick},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: rival})...)
			b.requests.eligible = c.eligible
			b.clock.At += b.timings.SuspectAfter() - c.left
			NewWithT(t).Expect(b.readingPace()).To(Equal(c.want))
		})
	}
}

// The votes are not read again in the step that was expected, unless it comes too late.
func TestVotesAreNotReadAgainWhereTheStepWasExpected(t *testing.T) {
	for name, c := range map[string]struct {
		late time.Duration
		read bool
	}{
		"too early": {-1, true}, "at its time": {0, false}, "a little late": {ballot.QuickGrace - 1, false},
		"late": {ballot.QuickGrace, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: rival})...)
			for _, v := range b.voters {
				v.Record.Term = 2
			}
			b.requests.expected = b.clock.At - c.late
			term := int64(1)
			if c.read {
				term = 2
			}
			leading, ok := b.readVotes(t.Context())
			g.Expect(ok).To(BeTrue())
			g.Expect(leading.Term).To(Equal(term))
			leading, _ = b.readVotes(t.Context())
			g.Expect(leading.Term).To(Equal(int64(2)), "one step alone was expected")
		})
	}
}

// A term has not served where its timeline tells so and its votes do not say Held: the server of before was the last.
func TestWhoServedLast(t *testing.T) {
	at := votes.MicroTime(time.Unix(1_800_000_000, 0))
	for name, c := range map[string]struct {
		line    votes.Timeline
		state   votes.State
		served  string
		returns bool
	}{
		"it was promoted": {votes.Timeline{Term: 3, From: "own-0", Promoted: at}, votes.StateReleased,
			"rival-0", false},
		"it was not":                      {votes.Timeline{Term: 3, From: "own-0"}, votes.StateReleased, "own-0", true},
		"it was not, and came of another": {votes.Timeline{Term: 3, From: "third-0"}, votes.StateClaimed, "third-0", false},
		"the votes say that it was":       {votes.Timeline{Term: 3, From: "own-0"}, votes.StateHeld, "rival-0", false},
		"another term was not":            {votes.Timeline{Term: 2, From: "own-0"}, votes.StateReleased, "rival-0", false},
		"another term was not, and this one's votes say nothing": {
			votes.Timeline{Term: 2, From: "own-0"}, votes.StateClaimed, "rival-0", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			leading := votes.Record{Term: 3, State: c.state, Holder: rival}
			lines := []votes.Timeline{{Term: 1, From: "first-0"}, c.line}
			g.Expect(served(lines, leading)).To(Equal(c.served))
			g.Expect(returns(lines, leading, "own-0")).To(Equal(c.returns))
		})
	}
}

// A claim is made for a switchover to this server that the holder has accepted, and for which it has given up its term.
func TestWhichSwitchoverAClaimIsFor(t *testing.T) {
	accepted := votes.Answer{ID: "s", Outcome: votes.OutcomeAccepted}
	mine := votes.Record{Term: 2, State: votes.StateClaimed, Holder: own}
	his := votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}
	released := votes.Record{Term: 1, State: votes.StateReleased, Holder: rival}
	for name, c := range map[string]struct {
		kind    votes.RequestKind
		to      string
		answer  *votes.Answer
		leading votes.Record
		found   bool
	}{
		"given up":             {votes.RequestSwitchover, "OWN-0", &accepted, released, true},
		"claimed for this run": {votes.RequestSwitchover, "own-0", &accepted, mine, true},
		"claimed by another": {
			votes.RequestSwitchover, "own-0", &accepted, votes.Record{Term: 2, State: votes.StateClaimed, Holder: rival}, false,
		},
		"held by this run": {
			votes.RequestSwitchover, "own-0", &accepted, votes.Record{Term: 2, State: votes.StateHeld, Holder: own}, false,
		},
		"held still":            {votes.RequestSwitchover, "own-0", &accepted, his, false},
		"not accepted":          {votes.RequestSwitchover, "own-0", nil, released, false},
		"not accepted, claimed": {votes.RequestSwitchover, "own-0", nil, mine, false},
		"ended": {votes.RequestSwitchover, "own-0", &votes.Answer{ID: "s", Outcome: votes.OutcomeFailed},
			released, false},
		"to another": {votes.RequestSwitchover, "third-0", &accepted, released, false},
		"a failover": {votes.RequestFailover, "own-0", &accepted, released, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			notes := votes.Notes{
				Request: votes.EncodeNote(votes.Request{ID: "s", Kind: c.kind, To: c.to, Issued: time.Unix(1_800_000_000, 0)}),
			}
			if c.answer != nil {
				notes.Answer = votes.EncodeNote(*c.answer)
			}
			vote := c.leading
			vote.Notes = notes
			r := newBench(t, alike(vote)...).handedOver(c.leading)
			g.Expect(r != nil).To(Equal(c.found))
		})
	}
}

// Which votes a claim replaces at once, of a holder that is rival-0 in term 3 and whose votes are fresh.
func TestWhichVotesAClaimReplaces(t *testing.T) {
	leading := votes.Record{Term: 3, State: votes.StateHeld, Holder: rival}
	older := votes.Holder{Server: "third-0", PodUID: "pod", Engine: "run"}
	word := &votes.Request{FencedHolder: rival.String()}
	for name, c := range map[string]struct {
		// first and second stand beside the leading one; only what becomes of the first is asked.
		first, second votes.Record
		request       *votes.Request
		replaced      bool
	}{
		"lost, and made anew": {first: votes.Record{State: votes.StateReleased}},
		"released":            {first: votes.Record{Term: 2, State: votes.StateReleased, Holder: older}, replaced: true},
		"held":                {first: votes.Record{Term: 2, State: votes.StateHeld, Holder: older}},
		"this pod's former engine's": {
			first: votes.Record{Term: 2, State: votes.StateHeld,
				Holder: votes.Holder{Server: "own-0", PodUID: "pod", Engine: "former"}}, replaced: true,
		},
		"this server's former pod's": {first: votes.Record{Term: 2, State: votes.StateHeld,
			Holder: votes.Holder{Server: "own-0", PodUID: "gone", Engine: "run"}}},
		"another server's of the pod": {
			first: votes.Record{Term: 2, State: votes.StateHeld,
				Holder: votes.Holder{Server: "third-0", PodUID: "pod", Engine: "run"}},
		},
		"the leading one's":        {first: leading},
		"the fenced one's":         {first: leading, request: word, replaced: true},
		"another's, one is fenced": {first: votes.Record{Term: 2, State: votes.StateHeld, Holder: older}, request: word},
		"released elsewhere, later": {first: votes.Record{Term: 2, State: votes.StateHeld, Holder: older},
			second: votes.Record{Term: 3, State: votes.StateReleased, Holder: older}, replaced: true},
		"released elsewhere, in that term": {first: votes.Record{Term: 2, State: votes.StateHeld, Holder: older},
			second: votes.Record{Term: 2, State: votes.StateReleased, Holder: older}, replaced: true},
		"released elsewhere, before": {first: votes.Record{Term: 2, State: votes.StateHeld, Holder: older},
			second: votes.Record{Term: 1, State: votes.StateReleased, Holder: older}},
		"another run has released": {first: votes.Record{Term: 2, State: votes.StateHeld, Holder: older},
			second: votes.Record{Term: 2, State: votes.StateReleased, Holder: rival}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			second := c.second
			if second.State == "" {
				second = votes.Record{Term: 2, State: votes.StateHeld, Holder: older}
			}
			b := newBench(t, c.first, second, leading)
			b.ask(t.Context(), 9, leading, c.request)
			g.Expect(b.voters[0].Record.Term == 9).To(Equal(c.replaced))
		})
	}
}

// A claim that was made for this run is gone on with under a round of votes of its own: FAILOVER is not sent under the
// other's.
func TestAClaimThatIsTakenOverHasNoRoundYet(t *testing.T) {
	g := NewWithT(t)
	claimed := votes.Record{Term: 2, State: votes.StateClaimed, Holder: own}
	b := newBench(t, alike(claimed)...)
	b.takeOver(claimed, Remembered{})
	g.Expect(b.fresh()).To(BeFalse())
	g.Expect(b.failOver(t.Context()).Err).To(MatchError(ContainSubstring("nothing was sent to the engine")))
	g.Expect(b.statements).To(BeEmpty())
}
