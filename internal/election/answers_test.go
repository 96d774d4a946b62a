// SPDX-License-Identifier: Apache-2.0

package election

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// What a server says to what is asked for, while it holds a term and while it stands by.
func TestWhoAnswersARequest(t *testing.T) {
	issued := func(ago time.Duration) func(*bench) time.Time {
		return func(b *bench) time.Time { return b.clock.Wall().Add(-ago) }
	}
	promoted := microTime(time.Unix(1_800_000_000, 0))
	for name, c := range map[string]struct {
		request Request
		// holds says that this server holds term 3; claims that it claims it; else rival-0 holds it.
		holds, claims bool
		// ago is when it was issued, seen for how long it has been seen.
		ago, seen time.Duration
		answer    *Answer
		role      Role
		line      *Timeline
		outcome   AnswerOutcome
		reason    string
	}{
		"a failover to another, held": {
			request: Request{Kind: RequestFailover, To: "third-0"}, holds: true,
			outcome: OutcomeRefused, reason: ReasonHolderAlive,
		},
		"a failover to any, held": {
			request: Request{Kind: RequestFailover}, holds: true, outcome: OutcomeRefused, reason: ReasonHolderAlive,
		},
		"a failover to this, held": {
			request: Request{Kind: RequestFailover, To: "OWN-0"}, holds: true,
			outcome: OutcomeRefused, reason: ReasonAlreadyPrimary,
		},
		"a failover, not primary": {
			request: Request{Kind: RequestFailover, To: "third-0"}, holds: true, role: RoleResolving,
		},
		"a failover, claimed": {
			request: Request{Kind: RequestFailover, To: "third-0"}, claims: true, role: RolePrimary,
		},
		"a failover to this, other term": {
			request: Request{Kind: RequestFailover, To: "own-0", ExpectedTerm: 2},
			outcome: OutcomeRefused, reason: ReasonSuperseded,
		},
		"a failover to another, of it":  {request: Request{Kind: RequestFailover, To: "third-0", ExpectedTerm: 2}},
		"a failover to this, this term": {request: Request{Kind: RequestFailover, To: "own-0", ExpectedTerm: 3}},
		"a switchover to this, of it":   {request: Request{Kind: RequestSwitchover, To: "own-0", ExpectedTerm: 2}},
		"a switchover to this, for long": {
			request: Request{Kind: RequestSwitchover, To: "own-0", ExpiresSeconds: 3600}, seen: 11 * time.Second,
			outcome: OutcomeRefused, reason: ReasonNoPrimary,
		},
		"a switchover to this, not so": {
			request: Request{Kind: RequestSwitchover, To: "own-0", ExpiresSeconds: 3600}, seen: 10 * time.Second,
		},
		"a switchover to another, so": {
			request: Request{Kind: RequestSwitchover, To: "third-0", ExpiresSeconds: 3600}, seen: time.Minute,
		},
		"a failover to this, for long": {
			request: Request{Kind: RequestFailover, To: "own-0", ExpiresSeconds: 3600}, seen: time.Minute,
		},

		"a pause, held": {
			request: Request{Kind: RequestPause}, holds: true, outcome: OutcomeDone, reason: "Paused",
		},
		"a resume, held": {
			request: Request{Kind: RequestResume}, holds: true, outcome: OutcomeDone, reason: "Resumed",
		},
		"a pause, standing by": {request: Request{Kind: RequestPause}, seen: 3 * time.Second},
		"a pause, standing by for long": {
			request: Request{Kind: RequestPause}, seen: 3*time.Second + 1, outcome: OutcomeDone, reason: "Paused",
		},

		"expired, held": {
			request: Request{Kind: RequestFailover, To: "third-0"}, ago: time.Hour, holds: true,
			outcome: OutcomeRefused, reason: ReasonExpired,
		},
		"expired, to this": {

			request: Request{Kind: RequestFailover, To: "own-0"}, ago: time.Hour, outcome: OutcomeRefused, reason: ReasonExpired,
		},
		"expired, to another": {
			request: Request{Kind: RequestFailover, To: "third-0"}, ago: time.Hour, seen: time.Second,
		},
		"expired, to another, for long": {
			request: Request{Kind: RequestFailover, To: "third-0"}, ago: time.Hour, seen: 4 * time.Second,
			outcome: OutcomeRefused, reason: ReasonExpired,
		},

		"accepted, standing by": {
			request: Request{Kind: RequestFailover, To: "own-0"}, ago: time.Hour, seen: time.Hour,
			answer: &Answer{By: "third-0"},
		},
		"accepted, held": {
			request: Request{Kind: RequestFailover, To: "own-0"},
			holds:   true, seen: abandoned, answer: &Answer{By: "third-0"},
		},
		"accepted, held for long": {
			request: Request{Kind: RequestFailover, To: "own-0"},
			holds:   true, seen: abandoned + 1, answer: &Answer{By: "third-0"},
			outcome: OutcomeUnknown,
		},
		"accepted by the former primary": {
			request: Request{Kind: RequestSwitchover, To: "own-0"}, holds: true, answer: &Answer{By: "third-0"},
			outcome: OutcomeDone, reason: ReasonPromoted,
		},
		"a failover that another accepted": {
			request: Request{Kind: RequestFailover, To: "own-0"}, holds: true, answer: &Answer{By: "third-0"},
		},
		"a switchover it accepted itself": {
			request: Request{Kind: RequestSwitchover, To: "own-0"}, holds: true, answer: &Answer{By: "OWN-0"},
		},
		"it led to this term": {
			request: Request{Kind: RequestFailover, To: "own-0"},
			holds:   true, line: &Timeline{Term: 3, RequestID: "d", Promoted: promoted},
			outcome: OutcomeDone, reason: ReasonPromoted,
		},
		"another led to this term": {
			request: Request{Kind: RequestFailover, To: "own-0"},
			holds:   true, line: &Timeline{Term: 3, RequestID: "x", Promoted: promoted},
			outcome: OutcomeRefused, reason: ReasonAlreadyPrimary,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(Record{Term: 3, State: StateHeld, Holder: rival})...)
			if c.holds || c.claims {
				b = holding(t, StateHeld)
			}
			if c.claims {
				b.state = StateClaimed
			}
			if c.role != "" {
				b.seen.Role = c.role
			}
			b.chronicle.line = c.line
			r := c.request
			r.ID, r.Issued = "d", issued(c.ago)(b)
			n := Notes{Request: encodeJSON(r)}
			if c.answer != nil {
				n.Answer = encodeJSON(Answer{ID: "d", Outcome: OutcomeAccepted, By: c.answer.By})
			}
			for _, v := range b.voters {
				v.record.Notes, v.version = n, v.version+1
			}
			b.ballot.Read(t.Context(), Patient)
			b.requests.age(b.Keeper, &r)
			b.clock.now += c.seen
			out := b.answerRequests(t.Context(), b.seen, Outcome{})
			answer := b.requests.answer
			if !c.holds && !c.claims {
				g.Expect(answer).To(BeNil(), "who stands by writes it at once")
				if a := b.answered(t); a.Outcome != OutcomeAccepted && a.ID != "" {
					answer = &a
				}
				g.Expect(out.Soon).To(BeZero())
			} else if answer != nil {
				g.Expect(out.Soon).To(Equal(soon), "a holder's next round has it")
			}
			if c.outcome == "" {
				g.Expect(answer).To(BeNil())
				return
			}
			g.Expect(answer).To(HaveValue(And(HaveField("Outcome", c.outcome), HaveField("Reason", c.reason),
				HaveField("By", "own-0"))))
		})
	}
}

// Which timings are safe: each bound holds up to the very moment.
func TestWhichTimingsAreSafe(t *testing.T) {
	g := NewWithT(t)
	sound := Timings{Expiry: 10 * time.Second, Renew: time.Second, APITimeout: time.Second, AgentRestart: 2 * time.Second,
		Acknowledge: 1500 * time.Millisecond, WriteLease: 6 * time.Second, Overrun: time.Second,
		Kill: 500 * time.Millisecond}
	g.Expect(sound.Check()).To(Succeed())
	for name, c := range map[string]struct {
		change func(*Timings)
		says   string
	}{
		"as long as the votes":  {func(t *Timings) { t.Expiry = 9 * time.Second }, ""},
		"longer than the votes": {func(t *Timings) { t.Expiry = 9*time.Second - 1 }, "vote expiry"},
		"longer by the overrun": {func(t *Timings) { t.Overrun = 2*time.Second + 1 }, "vote expiry"},
		"longer by the kill":    {func(t *Timings) { t.Kill = 1500*time.Millisecond + 1 }, "vote expiry"},
		"longer by drift":       {func(t *Timings) { t.Expiry, t.Drift = 9*time.Second, 0.01 }, "vote expiry"},
		"no lease":              {func(t *Timings) { t.WriteLease = 0 }, "whole seconds"},
		"a lease below 0":       {func(t *Timings) { t.WriteLease = -time.Second }, "whole seconds"},
		"a part of a second":    {func(t *Timings) { t.WriteLease += time.Millisecond }, "whole seconds"},
		"a restart as long as the lease": {
			func(t *Timings) { t.AgentRestart = 3500 * time.Millisecond }, "less than the write lease",
		},
		"a restart just below it":         {func(t *Timings) { t.AgentRestart = 3500*time.Millisecond - 1 }, ""},
		"a time-out as long as the bound": {func(t *Timings) { t.APITimeout = 1500 * time.Millisecond }, "API time-out"},
		"a time-out just below it":        {func(t *Timings) { t.APITimeout = 1500*time.Millisecond - 1 }, ""},
	} {
		timings := sound
		c.change(&timings)
		if c.says == "" {
			g.Expect(timings.Check()).To(Succeed(), name)
		} else {
			g.Expect(timings.Check()).To(MatchError(ContainSubstring(c.says)), name)
		}
	}
}

// Nobody else can have had a majority while the votes of the last round of this run's count.
func TestForHowLongAHolderIsAlone(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, StateHeld)
	g.Expect(b.alone()).To(BeTrue())
	b.clock.now += b.timings.holderBound() - 1
	g.Expect(b.alone()).To(BeTrue())
	b.clock.now++
	g.Expect(b.alone()).To(BeFalse())
	b.clock.now, b.counted = time.Second, 0
	g.Expect(b.alone()).To(BeFalse(), "there was no round")
}

// What a run made of the voters is forgotten with a group that is gone, unless it leads still.
func TestWhenVotersAreForgotten(t *testing.T) {
	made := Remembered{Voters: &Configuration{Term: 3, Number: 1, Voters: []string{"a"}}, VotersBy: own.String()}
	led, other := Record{Term: 3, Holder: own}, Record{Term: 3, Holder: rival}
	for name, c := range map[string]struct {
		remembered Remembered
		exists     bool
		leading    Record
		forgotten  bool
	}{
		"the group is gone":                   {made, false, other, true},
		"the group is there":                  {made, true, other, false},
		"the group is gone, and it leads":     {made, false, led, false},
		"the group is there, and it leads":    {made, true, led, false},
		"nothing was made, the group is gone": {Remembered{VotersBy: "nobody"}, false, other, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(other)...)
			got, err := b.forgetVoters(c.remembered, c.leading, Observation{Exists: c.exists})
			g.Expect(err).NotTo(HaveOccurred())
			if c.forgotten {
				g.Expect(got).To(BeZero())
			} else {
				g.Expect(got).To(Equal(c.remembered))
			}
		})
	}
}

// Sites that did not all answer are looked at again after some renewals; what was missing is said until then.
func TestHowOftenNewVotersAreLookedAt(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, StateHeld)
	b.ordered = []string{"a", "new"}
	c := b.ballot.Configuration()
	missing := b.awaitVoters(t.Context(), c, "")
	g.Expect(missing).To(ContainSubstring("new (no way there)"))
	first := b.clock.now
	for _, c := range []struct {
		after  time.Duration
		waited string
		looks  bool
	}{{0, "it waits", false}, {5*time.Second - 1, "it waits", false}, {0, "", true}, {5 * time.Second, "it waits", true}} {
		b.visited, b.clock.now = first, first+c.after
		got := b.awaitVoters(t.Context(), b.ballot.Configuration(), c.waited)
		g.Expect(b.visited > first || c.after == 0).To(Equal(c.looks || c.after == 0))
		if c.looks {
			g.Expect(got).To(Equal(missing))
		} else {
			g.Expect(got).To(Equal("it waits"))
		}
	}
}

// Sites answer when a majority of them has a vote that is known, wherever they are among all.
func TestWhichSitesAnswer(t *testing.T) {
	g := NewWithT(t)
	vote := Record{Term: 1, State: StateHeld, Holder: rival}
	b, all := ballotWith(t, &moved{}, vote, vote, vote)
	all[1].absent = true
	b.Read(t.Context(), Patient)
	g.Expect(b.answering([]string{"a"})).To(BeTrue())
	g.Expect(b.answering([]string{"b"})).To(BeFalse())
	g.Expect(b.answering([]string{"nowhere"})).To(BeFalse())
	g.Expect(b.answering([]string{"a", "b", "c"})).To(BeTrue())
	g.Expect(b.answering([]string{"b", "nowhere", "c"})).To(BeFalse())
}

// While the voters change the new ones get what is known, and nothing that is not.
func TestWhichNotesNewVotersGet(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, StateHeld)
	b.ballot.Adopt(Configuration{Term: 3, Number: 1, Voters: []string{"a", "b", "c"}, Next: []string{"a"}})
	g.Expect(b.notesForNewVoters()).To(BeZero())
	told := Notes{
		Timelines: encodeJSON([]Timeline{{Term: 3}}), Apart: encodeJSON([]Apart{{Server: "third-0", Term: 2}}),
		Forced: encodeJSON(Fork{Term: 2, Server: "own-0"}), Paused: "true", PausedAt: "2027-01-15T08:00:00Z",
		Request: encodeJSON(Request{ID: "d", Kind: RequestPause, Issued: b.clock.Wall().UTC()}),
		Answer:  encodeJSON(Answer{ID: "d", Outcome: OutcomeDone}),
	}
	for _, v := range b.voters {
		v.record.Notes = told
	}
	b.ballot.Read(t.Context(), Patient)
	got := b.notesForNewVoters()
	g.Expect(got.Timelines).To(ContainSubstring(`"term":3`))
	g.Expect(got.Apart).To(ContainSubstring("third-0"))
	g.Expect(got.Forced).To(Equal(told.Forced))
	g.Expect(got.Paused).To(Equal("true"))
	g.Expect(got.Request).To(ContainSubstring(`"d"`))
	g.Expect(got.Answer).To(ContainSubstring(`"d"`))
	b.ballot.Adopt(Configuration{Term: 3, Number: 2, Voters: []string{"a"}})
	g.Expect(b.notesForNewVoters()).To(BeZero(), "they do not change any more")
}

// A holder goes on in a higher term while it serves by votes that say Held, where a vote has been above it for some
// time.
func TestWhenAHolderOutgrowsAClaim(t *testing.T) {
	mine := Record{Term: 3, State: StateHeld, Holder: own}
	above := Record{Term: 4, State: StateClaimed, Holder: rival}
	for name, c := range map[string]struct {
		change func(*bench)
		other  Record
		age    time.Duration
		grows  bool
	}{
		"a higher claim":            {nil, above, 2 * time.Second, true},
		"a higher claim, just seen": {nil, above, 2*time.Second - 1, false},
		"its own, for long":         {nil, mine, time.Hour, false},
		"another's of the term":     {nil, Record{Term: 3, State: StateClaimed, Holder: rival}, 2 * time.Second, true},
		"a lower one":               {nil, Record{Term: 2, State: StateHeld, Holder: rival}, time.Hour, false},
		"it claims":                 {func(b *bench) { b.state = StateClaimed }, above, time.Hour, false},
		"the votes do not say Held": {func(b *bench) { b.voted = StateClaimed }, above, time.Hour, false},
		"it is not primary":         {func(b *bench) { b.seen.Role = RoleResolving }, above, time.Hour, false},
		"it has no majority":        {func(b *bench) { b.voters[1].absent = true }, above, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, StateHeld)
			b.voters[2].record = c.other
			b.ballot.Read(t.Context(), Patient)
			if c.change != nil {
				c.change(b)
			}
			b.clock.now += c.age
			if b.voters[1].absent {
				b.ballot.Read(t.Context(), Patient)
			}
			g.Expect(b.outgrow(b.seen) != "").To(Equal(c.grows))
			g.Expect(b.term > 3).To(Equal(c.grows))
			g.Expect(b.agreed).To(Equal(!c.grows))
		})
	}
}

// A vote that was restored is outgrown where it was of a higher term before; one of this term is taken back in it.
func TestWhichRestoredVoteIsOutgrown(t *testing.T) {
	for before, grows := range map[int64]bool{3: false, 4: true} {
		g := NewWithT(t)
		b := holding(t, StateHeld)
		b.voters[2].record.Term = before
		b.ballot.Read(t.Context(), Patient)
		b.voters[2].record, b.voters[2].version = Record{Term: 1, State: StateHeld, Holder: rival}, 7
		b.ballot.Read(t.Context(), Patient)
		g.Expect(b.outgrow(b.seen) != "").To(Equal(grows), "term %d", before)
		if !grows {
			b.regain(t.Context())
			g.Expect(b.voters[2].record).To(And(HaveField("Term", int64(3)), HaveField("Holder.Server", "own-0")))
			leading, _ := b.ballot.Leading()
			g.Expect(leading.Term).To(Equal(int64(3)))
			g.Expect(b.ballot.restored(3)).To(BeEmpty(), "it counts again at once")
		}
	}
}

// A Pause and a Resume become the word on the votes, with the time at which they were asked for.
func TestAPauseBecomesTheWordOnTheVotes(t *testing.T) {
	for kind, word := range map[RequestKind]string{RequestPause: "true", RequestResume: "false"} {
		g := NewWithT(t)
		b := holding(t, StateHeld)
		b.vote(Record{Term: 3, State: StateHeld, Holder: own, Notes: Notes{
			Request: encodeJSON(Request{ID: "p", Kind: kind, Issued: b.clock.Wall().UTC()})}})
		at := b.clock.Wall().UTC().Format(time.RFC3339Nano)
		b.Step(t.Context())
		b.Step(t.Context())
		for _, v := range b.voters {
			g.Expect(v.record.Notes).To(And(HaveField("Paused", word), HaveField("PausedAt", at)))
		}
	}
}
