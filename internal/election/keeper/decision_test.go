// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A replica may have what the others lack while it is quarantined, and while there is a fork that nobody has decided
// about and whose log it does not have.
func TestWhichReplicaIsApart(t *testing.T) {
	fork := &votes.Fork{Term: 3, Server: "rival-0"}
	for name, c := range map[string]struct {
		fork       *votes.Fork
		remembered Remembered
		apart      bool
	}{
		"nothing was forced":       {nil, Remembered{}, false},
		"quarantined":              {fork, Remembered{Quarantined: 3, Cleared: 3, Followed: 3}, true},
		"a fork":                   {fork, Remembered{}, true},
		"a fork after another":     {fork, Remembered{Cleared: 2, Followed: 2}, true},
		"it was decided about":     {fork, Remembered{Cleared: 3}, false},
		"it was followed":          {fork, Remembered{Followed: 3}, false},
		"this one was the primary": {&votes.Fork{Term: 3, Server: "own-0"}, Remembered{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
			NewWithT(t).Expect(b.apart(c.fork, c.remembered)).To(Equal(c.apart))
		})
	}
}

// What speaks against a decision: a replica that is apart is decided about as a whole, while there is something that
// waits for it; of every other one stale copies alone are given up.
func TestWhatSpeaksAgainstADecision(t *testing.T) {
	fork := &votes.Fork{Term: 3, Server: "rival-0"}
	suspended := ballot.Observation{Exists: true, Role: ballot.RoleSecondary, Suspended: []string{"App"}}
	quiet := ballot.Observation{Exists: true, Role: ballot.RoleSecondary}
	stale := []Copy{{Name: "App", State: "RESTORING"}}
	theirs := Copy{Name: "Shop", State: "ONLINE", Other: "a database of availability group blog"}
	for name, c := range map[string]struct {
		kind       votes.RequestKind
		fork       *votes.Fork
		remembered Remembered
		seen       ballot.Observation
		copies     []Copy
		reason     string
	}{
		"a primary": {
			votes.RequestReseed, fork, Remembered{Quarantined: 3}, ballot.Observation{Role: ballot.RolePrimary}, nil,
			votes.ReasonNotQuarantined,
		},
		"a primary that has begun": {
			votes.RequestReseed, fork, Remembered{Begun: "d"}, ballot.Observation{Role: ballot.RolePrimary}, nil,
			votes.ReasonNotQuarantined,
		},
		"begun":                   {votes.RequestRejoin, nil, Remembered{Begun: "d"}, quiet, nil, ""},
		"rejoin, quarantined":     {votes.RequestRejoin, fork, Remembered{Quarantined: 3}, quiet, nil, ""},
		"rejoin, not quarantined": {votes.RequestRejoin, fork, Remembered{}, suspended, nil, votes.ReasonNotQuarantined},
		"rejoin, nothing forced": {
			votes.RequestRejoin, nil, Remembered{Quarantined: 3}, suspended, nil, votes.ReasonNotQuarantined,
		},
		"reseed, quarantined":         {votes.RequestReseed, fork, Remembered{Quarantined: 3}, quiet, nil, ""},
		"reseed, apart and suspended": {votes.RequestReseed, fork, Remembered{}, suspended, nil, ""},
		"reseed, quarantined, and all is another group's": {
			votes.RequestReseed, fork, Remembered{Quarantined: 3}, quiet, []Copy{theirs}, votes.ReasonOwnData,
		},
		"reseed, apart and suspended, and all is another group's": {
			votes.RequestReseed, fork, Remembered{}, suspended, []Copy{theirs}, votes.ReasonOwnData,
		},
		"reseed, quarantined, and some is another group's": {
			votes.RequestReseed, fork, Remembered{Quarantined: 3}, quiet, append([]Copy{theirs}, stale...), "",
		},
		"rejoin, quarantined, and all is another group's": {
			votes.RequestRejoin, fork, Remembered{Quarantined: 3}, quiet, []Copy{theirs}, "",
		},
		"reseed, apart and nothing waits": {votes.RequestReseed, fork, Remembered{}, quiet, stale, votes.ReasonOwnData},
		"reseed, suspended alone": {
			votes.RequestReseed, nil, Remembered{}, suspended, nil, votes.ReasonNotQuarantined,
		},
		"reseed, a stale copy": {votes.RequestReseed, nil, Remembered{}, quiet, stale, ""},
		"reseed of one, quarantined": {
			votes.RequestReseedDatabases, fork, Remembered{Quarantined: 3}, suspended, stale, votes.ReasonOwnData,
		},
		"reseed of one, a stale copy": {votes.RequestReseedDatabases, nil, Remembered{}, quiet, stale, ""},
		"reseed of one, suspended alone": {votes.RequestReseedDatabases, nil, Remembered{}, suspended, nil,
			votes.ReasonNotQuarantined},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
			b.copies = c.copies
			no, err := b.checkDecision(t.Context(), &votes.Request{ID: "d", Kind: c.kind}, c.seen, c.fork, c.remembered)
			g.Expect(err).NotTo(HaveOccurred())
			reason := ""
			if no != nil {
				reason = no.reason
			}
			g.Expect(reason).To(Equal(c.reason))
		})
	}
}

// asked is a bench that follows rival-0 in term 3, with a request that was issued just now at its first vote.
func asked(t *testing.T, r votes.Request, fork *votes.Fork) *bench {
	t.Helper()
	vote := votes.Record{Term: 3, State: votes.StateHeld, Holder: rival}
	if fork != nil {
		vote.Notes.Forced = votes.EncodeNote(fork)
	}
	b := newBench(t, alike(vote)...)
	r.ID, r.To, r.Issued = "d", "own-0", b.clock.Wall()
	b.voters[0].Record.Notes.Request = votes.EncodeNote(r)
	return b
}

// answered is what the votes say of the request.
func (b *bench) answered(t *testing.T) votes.Answer {
	t.Helper()
	a, _, err := votes.ParseAnswer(b.voters[0].Record.Notes.Annotations())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return a
}

// A reseed of a replica that is apart gives up its own group's copies alone, and says which it has left.
func TestAReseedSaysWhatItLeaves(t *testing.T) {
	g := NewWithT(t)
	fork := &votes.Fork{Term: 2, Server: "rival-0", Databases: map[string]string{"App": "3"}}
	b := asked(t, votes.Request{Kind: votes.RequestReseed}, fork)
	b.saved.Quarantined = 2
	b.copies = []Copy{{Name: "App", State: "RESTORING"},
		{Name: "Shop", State: "ONLINE", Other: "a database of availability group blog"}}
	for range 3 {
		b.Step(t.Context())
		b.clock.At += time.Second
	}
	g.Expect(b.statements).To(ContainElement("RESEED App"))
	g.Expect(b.answered(t)).To(And(HaveField("Outcome", votes.OutcomeDone),
		HaveField("Message", ContainSubstring("Shop here is a database of availability group blog"))))
}

// A reseed drops what it is about: of a replica that is not apart the stale copies alone. Nothing is decided about a
// fork by it, and nothing is said of other groups' databases where it is not about them.
func TestAReseedDropsStaleCopiesAlone(t *testing.T) {
	fork := &votes.Fork{Term: 2, Server: "own-0", Databases: map[string]string{"App": "3"}}
	for _, r := range []votes.Request{{Kind: votes.RequestReseed},
		{Kind: votes.RequestReseedDatabases, Databases: []string{"Shop"}}} {
		t.Run(string(r.Kind), func(t *testing.T) {
			g := NewWithT(t)
			b := asked(t, r, fork)
			b.shown.Names = []string{"App", "Shop"}
			b.copies = []Copy{{Name: "App", State: "ONLINE", InGroup: true}, {Name: "Shop", State: "RESTORING"}}
			if len(r.Databases) > 0 {
				b.copies = append(b.copies, Copy{Name: "Blog", State: "ONLINE", Other: "a database of availability group blog"})
			}
			for range 3 {
				b.Step(t.Context())
				b.clock.At += time.Second
			}
			g.Expect(b.statements).To(Equal([]string{"RESEED Shop"}))
			g.Expect(b.answered(t)).To(And(HaveField("ID", "d"), HaveField("Outcome", votes.OutcomeDone),
				HaveField("Message", BeEmpty())))
			g.Expect(b.saved).To(And(HaveField("Decided", "d"), HaveField("Cleared", BeZero())))
		})
	}
}

// A reseed waits for a primary that it could be seeded by for as long as votes count, and is refused then. One that is
// connected to a primary is carried out however old the request is, and what speaks against it by itself comes first.
func TestHowLongAReseedWaitsForAPrimary(t *testing.T) {
	stale := []Copy{{Name: "App", State: "RESTORING"}}
	for name, c := range map[string]struct {
		fed    bool
		age    time.Duration
		copies []Copy
		reason string
		done   bool
	}{
		"not connected":                       {false, 0, stale, "", false},
		"not connected for long":              {false, 20 * time.Second, stale, votes.ReasonNoPrimary, false},
		"not connected, and nothing is stale": {false, 20 * time.Second, nil, votes.ReasonNotQuarantined, false},
		"connected":                           {true, 0, stale, "", true},
		"connected, and asked long ago":       {true, 20 * time.Second, stale, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := asked(t, votes.Request{Kind: votes.RequestReseed}, nil)
			b.copies, b.seen.Connected = c.copies, c.fed
			b.ballot.Read(t.Context(), ballot.Patient)
			b.requests.age(b.Keeper, b.told().request)
			b.clock.At += c.age
			for range 2 {
				b.Step(t.Context())
			}
			g.Expect(b.answered(t).Reason).To(Or(Equal(c.reason), Equal(string(votes.RequestReseed))))
			g.Expect(b.answered(t).Outcome == votes.OutcomeRefused).To(Equal(c.reason != ""))
			g.Expect(b.answered(t).Outcome == votes.OutcomeDone).To(Equal(c.done))
			g.Expect(len(b.statements) > 0).To(Equal(c.done))
		})
	}
}

// A decision that nobody may begin with any more is refused, unless this server remembers that it has begun with it.
func TestADecisionThatHasExpired(t *testing.T) {
	for name, c := range map[string]struct {
		begun string
		done  bool
	}{"begun": {"d", true}, "another was begun": {"other", false}, "nothing was": {"", false}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := asked(t, votes.Request{Kind: votes.RequestReseed}, nil)
			b.copies, b.saved.Begun = []Copy{{Name: "App", State: "RESTORING"}}, c.begun
			b.clock.At += time.Hour
			for range 2 {
				b.Step(t.Context())
			}
			g.Expect(b.answered(t).Outcome == votes.OutcomeDone).To(Equal(c.done))
			if !c.done {
				g.Expect(b.answered(t).Reason).To(Equal(votes.ReasonExpired))
			}
		})
	}
}

// An engine that does not answer is not decided about, and nobody is answered by what is not known of it.
func TestNothingIsAnsweredForAnEngineThatIsSilent(t *testing.T) {
	b := asked(t, votes.Request{Kind: votes.RequestReseed}, nil)
	b.unseen = errAway
	for range 3 {
		b.Step(t.Context())
		b.clock.At += time.Second
	}
	NewWithT(t).Expect(b.answered(t)).To(BeZero())
	NewWithT(t).Expect(b.statements).To(BeEmpty())
}

// Nothing is given up before a majority of the voters has it on record, and what was done is remembered before it is
// called done.
func TestADecisionIsOnRecordFirst(t *testing.T) {
	g := NewWithT(t)
	b := asked(t, votes.Request{Kind: votes.RequestReseed}, nil)
	b.copies = []Copy{{Name: "App", State: "RESTORING"}}
	b.ballot.Read(t.Context(), ballot.Patient)
	b.voters[1].Absent, b.voters[2].Absent = true, true
	told := b.told()
	out := b.decideFork(t.Context(), told.request, b.seen, told)
	g.Expect(out.Action).To(ContainSubstring("before the voters have that on record"))
	g.Expect(b.statements).To(BeEmpty())
	b.voters[1].Absent, b.voters[2].Absent = false, false
	out = b.decideFork(t.Context(), told.request, b.seen, told)
	g.Expect(out.Action).To(Equal("reseed accepted"))
	g.Expect(b.statements).To(Equal([]string{"RESEED App"}))

	b = asked(t, votes.Request{Kind: votes.RequestReseed}, nil)
	b.copies = []Copy{{Name: "App", State: "RESTORING"}}
	b.ballot.Read(t.Context(), ballot.Patient)
	b.follows = func(string) { b.unsaved = errAway }
	told = b.told()
	g.Expect(b.decideFork(t.Context(), told.request, b.seen, told).Err).To(MatchError(errAway))
	g.Expect(b.answered(t).Outcome).To(Equal(votes.OutcomeAccepted))
}
