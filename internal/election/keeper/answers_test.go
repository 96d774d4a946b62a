// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// What a server says to what is asked for, while it holds a term and while it stands by.
func TestWhoAnswersARequest(t *testing.T) {
	issued := func(ago time.Duration) func(*bench) time.Time {
		return func(b *bench) time.Time { return b.clock.Wall().Add(-ago) }
	}
	promoted := votes.MicroTime(time.Unix(1_800_000_000, 0))
	for name, c := range map[string]struct {
		request votes.Request
		// holds says that this server holds term 3; claims that it claims it; else rival-0 holds it.
		holds, claims bool
		// ago is when it was issued, seen for how long it has been seen.
		ago, seen time.Duration
		answer    *votes.Answer
		role      ballot.Role
		line      *votes.Timeline
		outcome   votes.AnswerOutcome
		reason    string
	}{
		"a failover to another, held": {
			request: votes.Request{Kind: votes.RequestFailover, To: "third-0"}, holds: true,
			outcome: votes.OutcomeRefused, reason: votes.ReasonHolderAlive,
		},
		"a failover to any, held": {
			request: votes.Request{Kind: votes.RequestFailover}, holds: true, outcome: votes.OutcomeRefused,
			reason: votes.ReasonHolderAlive,
		},
		"a failover to this, held": {
			request: votes.Request{Kind: votes.RequestFailover, To: "OWN-0"}, holds: true,
			outcome: votes.OutcomeRefused, reason: votes.ReasonAlreadyPrimary,
		},
		"a failover, not primary": {
			request: votes.Request{Kind: votes.RequestFailover, To: "third-0"}, holds: true, role: ballot.RoleResolving,
		},
		"a failover, claimed": {
			request: votes.Request{Kind: votes.RequestFailover, To: "third-0"}, claims: true, role: ballot.RolePrimary,
		},
		"a failover to this, other term": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0", ExpectedTerm: 2},
			outcome: votes.OutcomeRefused, reason: votes.ReasonSuperseded,
		},
		"a failover to another, of it": {request: votes.Request{Kind: votes.RequestFailover, To: "third-0",
			ExpectedTerm: 2}},
		"a failover to this, this term": {request: votes.Request{Kind: votes.RequestFailover, To: "own-0", ExpectedTerm: 3}},
		"a switchover to this, of it": {request: votes.Request{Kind: votes.RequestSwitchover, To: "own-0",
			ExpectedTerm: 2}},
		"a switchover to this, for long": {
			request: votes.Request{Kind: votes.RequestSwitchover, To: "own-0", ExpiresSeconds: 3600}, seen: 11 * time.Second,
			outcome: votes.OutcomeRefused, reason: votes.ReasonNoPrimary,
		},
		"a switchover to this, not so": {
			request: votes.Request{Kind: votes.RequestSwitchover, To: "own-0", ExpiresSeconds: 3600}, seen: 10 * time.Second,
		},
		"a switchover to another, so": {
			request: votes.Request{Kind: votes.RequestSwitchover, To: "third-0", ExpiresSeconds: 3600}, seen: time.Minute,
		},
		"a failover to this, for long": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0", ExpiresSeconds: 3600}, seen: time.Minute,
		},

		"a pause, held": {
			request: votes.Request{Kind: votes.RequestPause}, holds: true, outcome: votes.OutcomeDone, reason: "Paused",
		},
		"a resume, held": {
			request: votes.Request{Kind: votes.RequestResume}, holds: true, outcome: votes.OutcomeDone, reason: "Resumed",
		},
		"a pause, standing by": {request: votes.Request{Kind: votes.RequestPause}, seen: 3 * time.Second},
		"a pause, standing by for long": {
			request: votes.Request{Kind: votes.RequestPause}, seen: 3*time.Second + 1, outcome: votes.OutcomeDone,
			reason: "Paused",
		},

		"expired, held": {
			request: votes.Request{Kind: votes.RequestFailover, To: "third-0"}, ago: time.Hour, holds: true,
			outcome: votes.OutcomeRefused, reason: votes.ReasonExpired,
		},
		"expired, to this": {

			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"}, ago: time.Hour, outcome: votes.OutcomeRefused,
			reason: votes.ReasonExpired,
		},
		"expired, to another": {
			request: votes.Request{Kind: votes.RequestFailover, To: "third-0"}, ago: time.Hour, seen: time.Second,
		},
		"expired, to another, for long": {
			request: votes.Request{Kind: votes.RequestFailover, To: "third-0"}, ago: time.Hour, seen: 4 * time.Second,
			outcome: votes.OutcomeRefused, reason: votes.ReasonExpired,
		},

		"accepted, standing by": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"}, ago: time.Hour, seen: time.Hour,
			answer: &votes.Answer{By: "third-0"},
		},
		"accepted, held": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"},
			holds:   true, seen: abandoned, answer: &votes.Answer{By: "third-0"},
		},
		"accepted, held for long": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"},
			holds:   true, seen: abandoned + 1, answer: &votes.Answer{By: "third-0"},
			outcome: votes.OutcomeUnknown,
		},
		"accepted by the former primary": {
			request: votes.Request{Kind: votes.RequestSwitchover, To: "own-0"}, holds: true,
			answer:  &votes.Answer{By: "third-0"},
			outcome: votes.OutcomeDone, reason: votes.ReasonPromoted,
		},
		"a failover that another accepted": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"}, holds: true, answer: &votes.Answer{By: "third-0"},
		},
		"a switchover it accepted itself": {
			request: votes.Request{Kind: votes.RequestSwitchover, To: "own-0"}, holds: true, answer: &votes.Answer{By: "OWN-0"},
		},
		"it led to this term": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"},
			holds:   true, line: &votes.Timeline{Term: 3, RequestID: "d", Promoted: promoted},
			outcome: votes.OutcomeDone, reason: votes.ReasonPromoted,
		},
		"another led to this term": {
			request: votes.Request{Kind: votes.RequestFailover, To: "own-0"},
			holds:   true, line: &votes.Timeline{Term: 3, RequestID: "x", Promoted: promoted},
			outcome: votes.OutcomeRefused, reason: votes.ReasonAlreadyPrimary,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
			if c.holds || c.claims {
				b = holding(t, votes.StateHeld)
			}
			if c.claims {
				b.state = votes.StateClaimed
			}
			if c.role != "" {
				b.seen.Role = c.role
			}
			b.chronicle.line = c.line
			r := c.request
			r.ID, r.Issued = "d", issued(c.ago)(b)
			n := votes.Notes{Request: votes.EncodeNote(r)}
			if c.answer != nil {
				n.Answer = votes.EncodeNote(votes.Answer{ID: "d", Outcome: votes.OutcomeAccepted, By: c.answer.By})
			}
			for _, v := range b.voters {
				v.Record.Notes, v.Version = n, v.Version+1
			}
			b.ballot.Read(t.Context(), ballot.Patient)
			b.requests.age(b.Keeper, &r)
			b.clock.At += c.seen
			out := b.answerRequests(t.Context(), b.seen, Outcome{})
			answer := b.requests.answer
			if !c.holds && !c.claims {
				g.Expect(answer).To(BeNil(), "who stands by writes it at once")
				if a := b.answered(t); a.Outcome != votes.OutcomeAccepted && a.ID != "" {
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

// Nobody else can have had a majority while the votes of the last round of this run's count.
func TestForHowLongAHolderIsAlone(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, votes.StateHeld)
	g.Expect(b.alone()).To(BeTrue())
	b.clock.At += b.timings.HolderBound() - 1
	g.Expect(b.alone()).To(BeTrue())
	b.clock.At++
	g.Expect(b.alone()).To(BeFalse())
	b.clock.At, b.counted = time.Second, 0
	g.Expect(b.alone()).To(BeFalse(), "there was no round")
}

// What a run made of the voters is forgotten with a group that is gone, unless it leads still.
func TestWhenVotersAreForgotten(t *testing.T) {
	made := Remembered{Voters: &votes.Configuration{Term: 3, Number: 1, Voters: []string{"a"}}, VotersBy: own.String()}
	led, other := votes.Record{Term: 3, Holder: own}, votes.Record{Term: 3, Holder: rival}
	for name, c := range map[string]struct {
		remembered Remembered
		exists     bool
		leading    votes.Record
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
			got, err := b.forgetVoters(c.remembered, c.leading, ballot.Observation{Exists: c.exists})
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
	b := holding(t, votes.StateHeld)
	b.ordered = []string{"a", "new"}
	c := b.ballot.Configuration()
	missing := b.awaitVoters(t.Context(), c, "")
	g.Expect(missing).To(ContainSubstring("new (no way there)"))
	first := b.clock.At
	for _, c := range []struct {
		after  time.Duration
		waited string
		looks  bool
	}{{0, "it waits", false}, {5*time.Second - 1, "it waits", false}, {0, "", true}, {5 * time.Second, "it waits", true}} {
		b.visited, b.clock.At = first, first+c.after
		got := b.awaitVoters(t.Context(), b.ballot.Configuration(), c.waited)
		g.Expect(b.visited > first || c.after == 0).To(Equal(c.looks || c.after == 0))
		if c.looks {
			g.Expect(got).To(Equal(missing))
		} else {
			g.Expect(got).To(Equal("it waits"))
		}
	}
}

// While the voters change the new ones get what is known, and nothing that is not.
func TestWhichNotesNewVotersGet(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, votes.StateHeld)
	b.ballot.Adopt(votes.Configuration{Term: 3, Number: 1, Voters: []string{"a", "b", "c"}, Next: []string{"a"}})
	g.Expect(b.notesForNewVoters()).To(BeZero())
	told := votes.Notes{
		Timelines: votes.EncodeNote(
			[]votes.Timeline{{Term: 3}},
		),
		Apart:    votes.EncodeNote([]votes.Apart{{Server: "third-0", Term: 2}}),
		Forced:   votes.EncodeNote(votes.Fork{Term: 2, Server: "own-0"}),
		Paused:   "true",
		PausedAt: "2027-01-15T08:00:00Z",
		Request:  votes.EncodeNote(votes.Request{ID: "d", Kind: votes.RequestPause, Issued: b.clock.Wall().UTC()}),
		Answer:   votes.EncodeNote(votes.Answer{ID: "d", Outcome: votes.OutcomeDone}),
	}
	for _, v := range b.voters {
		v.Record.Notes = told
	}
	b.ballot.Read(t.Context(), ballot.Patient)
	got := b.notesForNewVoters()
	g.Expect(got.Timelines).To(ContainSubstring(`"term":3`))
	g.Expect(got.Apart).To(ContainSubstring("third-0"))
	g.Expect(got.Forced).To(Equal(told.Forced))
	g.Expect(got.Paused).To(Equal("true"))
	g.Expect(got.Request).To(ContainSubstring(`"d"`))
	g.Expect(got.Answer).To(ContainSubstring(`"d"`))
	b.ballot.Adopt(votes.Configuration{Term: 3, Number: 2, Voters: []string{"a"}})
	g.Expect(b.notesForNewVoters()).To(BeZero(), "they do not change any more")
}

// A holder goes on in a higher term while it serves by votes that say Held, where a vote has been above it for some
// time.
func TestWhenAHolderOutgrowsAClaim(t *testing.T) {
	mine := votes.Record{Term: 3, State: votes.StateHeld, Holder: own}
	above := votes.Record{Term: 4, State: votes.StateClaimed, Holder: rival}
	for name, c := range map[string]struct {
		change func(*bench)
		other  votes.Record
		age    time.Duration
		grows  bool
	}{
		"a higher claim":            {nil, above, 2 * time.Second, true},
		"a higher claim, just seen": {nil, above, 2*time.Second - 1, false},
		"its own, for long":         {nil, mine, time.Hour, false},
		"another's of the term": {nil, votes.Record{Term: 3, State: votes.StateClaimed, Holder: rival}, 2 * time.Second,
			true},
		"a lower one":               {nil, votes.Record{Term: 2, State: votes.StateHeld, Holder: rival}, time.Hour, false},
		"it claims":                 {func(b *bench) { b.state = votes.StateClaimed }, above, time.Hour, false},
		"the votes do not say Held": {func(b *bench) { b.voted = votes.StateClaimed }, above, time.Hour, false},
		"it is not primary":         {func(b *bench) { b.seen.Role = ballot.RoleResolving }, above, time.Hour, false},
		"it has no majority":        {func(b *bench) { b.voters[1].Absent = true }, above, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateHeld)
			b.voters[2].Record = c.other
			b.ballot.Read(t.Context(), ballot.Patient)
			if c.change != nil {
				c.change(b)
			}
			b.clock.At += c.age
			if b.voters[1].Absent {
				b.ballot.Read(t.Context(), ballot.Patient)
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
		b := holding(t, votes.StateHeld)
		b.voters[2].Record.Term = before
		b.ballot.Read(t.Context(), ballot.Patient)
		b.voters[2].Record, b.voters[2].Version = votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}, 7
		b.ballot.Read(t.Context(), ballot.Patient)
		g.Expect(b.outgrow(b.seen) != "").To(Equal(grows), "term %d", before)
		if !grows {
			b.regain(t.Context())
			g.Expect(b.voters[2].Record).To(And(HaveField("Term", int64(3)), HaveField("Holder.Server", "own-0")))
			leading, _ := b.ballot.Leading()
			g.Expect(leading.Term).To(Equal(int64(3)))
			g.Expect(b.ballot.Restored(3)).To(BeEmpty(), "it counts again at once")
		}
	}
}

// A Pause and a Resume become the word on the votes, with the time at which they were asked for.
func TestAPauseBecomesTheWordOnTheVotes(t *testing.T) {
	for kind, word := range map[votes.RequestKind]string{votes.RequestPause: "true", votes.RequestResume: "false"} {
		g := NewWithT(t)
		b := holding(t, votes.StateHeld)
		b.vote(votes.Record{Term: 3, State: votes.StateHeld, Holder: own, Notes: votes.Notes{
			Request: votes.EncodeNote(votes.Request{ID: "p", Kind: kind, Issued: b.clock.Wall().UTC()})}})
		at := b.clock.Wall().UTC().Format(time.RFC3339Nano)
		b.Step(t.Context())
		b.Step(t.Context())
		for _, v := range b.voters {
			g.Expect(v.Record.Notes).To(And(HaveField("Paused", word), HaveField("PausedAt", at)))
		}
	}
}
