// SPDX-License-Identifier: Apache-2.0

package election

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// alike are three votes of one kind.
func alike(r Record) []Record { return []Record{r, r, r} }

// The step in which the votes expire comes when they do, and the one before it halfway; until then steps come as usual.
func TestWhenTheVotesExpireIsAwaited(t *testing.T) {
	renew := DefaultTimings().Renew
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
			b := newBench(t, alike(Record{Term: 1, State: StateHeld, Holder: rival})...)
			s := standing{self: own, unchanged: b.timings.SuspectAfter() - c.left}
			NewWithT(t).Expect(b.awaitExpiry(t.Context(), s, verdict{wait: c.says})).To(Equal(c.want))
			NewWithT(t).Expect(b.requests.expected > 0).To(Equal(c.want == renew-1), "that step needs no reading")
		})
	}
}

// Rivals are let go first, for a part of a renewal; longer where this replica is not known to be synchronized. There
// are none where a person asks this server, where it comes back, or where the only other replica is the holder's.
func TestHowLongRivalsAreLetGoFirst(t *testing.T) {
	renew := DefaultTimings().Renew
	for name, c := range map[string]struct {
		change  func(b *bench)
		holder  Holder
		request *Request
		want    time.Duration
	}{
		"synchronized":            {holder: rival, want: renew / 8},
		"not called synchronized": {func(b *bench) { b.shown.Databases[0].Ready = false }, rival, nil, renew/8 + 2*renew},
		"not known":               {func(b *bench) { b.unread = errUnused }, rival, nil, renew/8 + 2*renew},
		"asked":                   {func(b *bench) { b.shown.Databases[0].Ready = false }, rival, &Request{}, 0},
		"the holder itself":       {holder: own},
		"no rival":                {func(b *bench) { b.shown.Replicas = b.shown.Replicas[:2] }, rival, nil, 0},
		"a rival without data": {func(b *bench) { b.shown.Replicas[2].Mode = ModeConfigurationOnly }, rival, nil,
			0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(Record{Term: 1, State: StateHeld, Holder: rival})...)
			if c.change != nil {
				c.change(b)
			}
			leading := Record{Term: 1, State: StateHeld, Holder: c.holder}
			NewWithT(t).Expect(b.headStart(t.Context(), leading, c.request)).To(Equal(c.want))
		})
	}
}

// A server that may claim waits its time first, also where nobody had to wait for the votes to expire, and not where a
// person asks meanwhile.
func TestAClaimComesAfterItsHeadStart(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(Record{Term: 1, State: StateReleased, Holder: rival})...)
	wait := b.timings.Renew / 8
	g.Expect(b.Step(t.Context())).To(And(HaveField("Soon", wait), HaveField("Term", BeZero())))
	b.clock.now += wait - 1
	g.Expect(b.Step(t.Context())).To(And(HaveField("Soon", time.Duration(1)), HaveField("Term", BeZero())))
	b.clock.now++
	g.Expect(b.Step(t.Context())).To(HaveField("Term", int64(2)))

	b = newBench(t, alike(Record{Term: 1, State: StateReleased, Holder: rival})...)
	b.requests.delay, b.requests.delayOf = b.timings.Renew/2, 1
	g.Expect(b.Step(t.Context())).To(HaveField("Soon", b.timings.Renew/2), "what was found before the votes expired")

	b = newBench(t, alike(Record{Term: 1, State: StateReleased, Holder: rival})...)
	b.requests.delay, b.requests.delayOf = b.timings.Renew/2, 1
	annotations := map[string]string{}
	Request{ID: "f", Kind: RequestFailover, To: "own-0", Issued: b.clock.Wall()}.Annotate(annotations)
	b.voters[0].record.Notes.Request = annotations[AnnotationRequest]
	g.Expect(b.Step(t.Context())).To(HaveField("Term", int64(2)), "a person has asked")
}

// Votes are read at the pace of an election shortly before and after they expire, and while rivals are let go.
func TestWhenVotesAreReadQuickly(t *testing.T) {
	for name, c := range map[string]struct {
		left     time.Duration
		eligible time.Duration
		want     Pace
	}{
		"long before":       {2 * time.Second, 0, Patient},
		"a time-out before": {time.Second, 0, Patient},
		"shortly before":    {time.Second - 1, 0, Quick},
		"shortly after":     {1 - time.Second, 0, Quick},
		"a time-out after":  {-time.Second, 0, Patient},
		"rivals are let go": {-2 * time.Second, 1, Quick},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(Record{Term: 1, State: StateHeld, Holder: rival})...)
			b.requests.eligible = c.eligible
			b.clock.now += b.timings.SuspectAfter() - c.left
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
		"too early": {-1, true}, "at its time": {0, false}, "a little late": {quickGrace - 1, false},
		"late": {quickGrace, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(Record{Term: 1, State: StateHeld, Holder: rival})...)
			for _, v := range b.voters {
				v.record.Term = 2
			}
			b.requests.expected = b.clock.now - c.late
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
	at := microTime(time.Unix(1_800_000_000, 0))
	for name, c := range map[string]struct {
		line    Timeline
		state   State
		served  string
		returns bool
	}{
		"it was promoted":                 {Timeline{Term: 3, From: "own-0", Promoted: at}, StateReleased, "rival-0", false},
		"it was not":                      {Timeline{Term: 3, From: "own-0"}, StateReleased, "own-0", true},
		"it was not, and came of another": {Timeline{Term: 3, From: "third-0"}, StateClaimed, "third-0", false},
		"the votes say that it was":       {Timeline{Term: 3, From: "own-0"}, StateHeld, "rival-0", false},
		"another term was not":            {Timeline{Term: 2, From: "own-0"}, StateReleased, "rival-0", false},
		"another term was not, and this one's votes say nothing": {
			Timeline{Term: 2, From: "own-0"}, StateClaimed, "rival-0", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			leading := Record{Term: 3, State: c.state, Holder: rival}
			lines := []Timeline{{Term: 1, From: "first-0"}, c.line}
			g.Expect(served(lines, leading)).To(Equal(c.served))
			g.Expect(returns(lines, leading, "own-0")).To(Equal(c.returns))
		})
	}
}

// A claim is made for a switchover to this server that the holder has accepted, and for which it has given up its term.
func TestWhichSwitchoverAClaimIsFor(t *testing.T) {
	accepted := Answer{ID: "s", Outcome: OutcomeAccepted}
	mine, his := Record{Term: 2, State: StateClaimed, Holder: own}, Record{Term: 1, State: StateHeld, Holder: rival}
	released := Record{Term: 1, State: StateReleased, Holder: rival}
	for name, c := range map[string]struct {
		kind    RequestKind
		to      string
		answer  *Answer
		leading Record
		found   bool
	}{
		"given up":             {RequestSwitchover, "OWN-0", &accepted, released, true},
		"claimed for this run": {RequestSwitchover, "own-0", &accepted, mine, true},
		"claimed by another": {
			RequestSwitchover, "own-0", &accepted, Record{Term: 2, State: StateClaimed, Holder: rival}, false,
		},
		"held by this run": {
			RequestSwitchover, "own-0", &accepted, Record{Term: 2, State: StateHeld, Holder: own}, false,
		},
		"held still":            {RequestSwitchover, "own-0", &accepted, his, false},
		"not accepted":          {RequestSwitchover, "own-0", nil, released, false},
		"not accepted, claimed": {RequestSwitchover, "own-0", nil, mine, false},
		"ended":                 {RequestSwitchover, "own-0", &Answer{ID: "s", Outcome: OutcomeFailed}, released, false},
		"to another":            {RequestSwitchover, "third-0", &accepted, released, false},
		"a failover":            {RequestFailover, "own-0", &accepted, released, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			notes := Notes{Request: encodeJSON(Request{ID: "s", Kind: c.kind, To: c.to, Issued: time.Unix(1_800_000_000, 0)})}
			if c.answer != nil {
				notes.Answer = encodeJSON(*c.answer)
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
	leading := Record{Term: 3, State: StateHeld, Holder: rival}
	older := Holder{Server: "third-0", PodUID: "pod", Engine: "run"}
	word := &Request{FencedHolder: rival.String()}
	for name, c := range map[string]struct {
		// first and second stand beside the leading one; only what becomes of the first is asked.
		first, second Record
		request       *Request
		replaced      bool
	}{
		"lost, and made anew": {first: Record{State: StateReleased}},
		"released":            {first: Record{Term: 2, State: StateReleased, Holder: older}, replaced: true},
		"held":                {first: Record{Term: 2, State: StateHeld, Holder: older}},
		"this pod's former engine's": {
			first: Record{Term: 2, State: StateHeld, Holder: Holder{"own-0", "pod", "former", ""}}, replaced: true,
		},
		"this server's former pod's": {first: Record{Term: 2, State: StateHeld, Holder: Holder{"own-0", "gone", "run", ""}}},
		"another server's of the pod": {
			first: Record{Term: 2, State: StateHeld, Holder: Holder{"third-0", "pod", "run", ""}},
		},
		"the leading one's":        {first: leading},
		"the fenced one's":         {first: leading, request: word, replaced: true},
		"another's, one is fenced": {first: Record{Term: 2, State: StateHeld, Holder: older}, request: word},
		"released elsewhere, later": {first: Record{Term: 2, State: StateHeld, Holder: older},
			second: Record{Term: 3, State: StateReleased, Holder: older}, replaced: true},
		"released elsewhere, in that term": {first: Record{Term: 2, State: StateHeld, Holder: older},
			second: Record{Term: 2, State: StateReleased, Holder: older}, replaced: true},
		"released elsewhere, before": {first: Record{Term: 2, State: StateHeld, Holder: older},
			second: Record{Term: 1, State: StateReleased, Holder: older}},
		"another run has released": {first: Record{Term: 2, State: StateHeld, Holder: older},
			second: Record{Term: 2, State: StateReleased, Holder: rival}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			second := c.second
			if second.State == "" {
				second = Record{Term: 2, State: StateHeld, Holder: older}
			}
			b := newBench(t, c.first, second, leading)
			b.ask(t.Context(), 9, leading, c.request)
			g.Expect(b.voters[0].record.Term == 9).To(Equal(c.replaced))
		})
	}
}

// A claim that was made for this run is gone on with under a round of votes of its own: FAILOVER is not sent under the
// other's.
func TestAClaimThatIsTakenOverHasNoRoundYet(t *testing.T) {
	g := NewWithT(t)
	claimed := Record{Term: 2, State: StateClaimed, Holder: own}
	b := newBench(t, alike(claimed)...)
	b.takeOver(claimed, Remembered{})
	g.Expect(b.fresh()).To(BeFalse())
	g.Expect(b.failOver(t.Context()).Err).To(MatchError(ContainSubstring("nothing was sent to the engine")))
	g.Expect(b.statements).To(BeEmpty())
}
