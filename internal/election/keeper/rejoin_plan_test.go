// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// follower is a synchronized secondary of rival-0, which holds term 5, and was forced in none.
func follower() rejoinView {
	return rejoinView{
		self:    "own-0",
		leading: votes.Record{Term: 5, State: votes.StateHeld, Holder: rival},
		seen: ballot.Observation{Exists: true, Role: ballot.RoleSecondary, Mode: ballot.ModeSynchronous, Connected: true,
			Primary: "rival-0"},
		local: []ballot.DatabaseState{{Name: "App", Local: true, State: "SYNCHRONIZED", HardenedLSN: "5"}},
	}
}

// What is due on a replica's way back behind the primary that another server became.
func TestThePlanOfARejoin(t *testing.T) {
	// A fork of term 4, at which this replica's log ends.
	forked := func(at string) func(*rejoinView) {
		return func(v *rejoinView) {
			v.fork = &votes.Fork{Term: 4, Server: "rival-0", Databases: map[string]string{"App": at}}
		}
	}
	ahead, level := forked("4"), forked("5")
	suspended := func(v *rejoinView) { v.seen.Suspended = []string{"App"} }
	resolving := func(v *rejoinView) { v.seen.Role, v.seen.Connected, v.seen.Primary = ballot.RoleResolving, false, "" }
	stranger := func(d time.Duration) func(*rejoinView) {
		return func(v *rejoinView) { v.seen.Connected, v.stranger = false, d }
	}
	standing := func(d time.Duration) func(*rejoinView) { return func(v *rejoinView) { v.standing = d } }
	unknown := func(v *rejoinView) { v.local[0].HardenedLSN = "" }
	unsure := func(d time.Duration) func(*rejoinView) { return func(v *rejoinView) { v.unsure = d } }
	unsynchronized := func(v *rejoinView) { v.local[0].State = "SYNCHRONIZING" }
	bare := func(v *rejoinView) { v.local, v.bare = nil, true }
	remembers := func(r Remembered) func(*rejoinView) { return func(v *rejoinView) { v.remembered = r } }
	cleared := Remembered{Cleared: 4, Followed: 4}
	for name, c := range map[string]struct {
		changes []func(*rejoinView)
		want    rejoinStep
	}{
		"it follows": {nil, rejoinStep{}},
		"resolving":  {[]func(*rejoinView){resolving}, rejoinStep{become: true, why: causeResolving}},
		"suspended":  {[]func(*rejoinView){suspended}, rejoinStep{resume: []string{"App"}}},
		"no group": {
			[]func(*rejoinView){resolving, func(v *rejoinView) { v.seen.Exists = false }}, rejoinStep{},
		},
		"nobody holds the term": {
			[]func(*rejoinView){resolving, func(v *rejoinView) { v.leading.State = votes.StateClaimed }}, rejoinStep{},
		},
		"it holds the term itself": {
			[]func(*rejoinView){resolving, func(v *rejoinView) { v.leading.Holder.Server = "OWN-0" }},
			rejoinStep{}},
		"it has promised a higher term": {[]func(*rejoinView){resolving, remembers(Remembered{Promise: Promise{Term: 6}})},
			rejoinStep{}},
		"it has promised this term": {[]func(*rejoinView){resolving, remembers(Remembered{Promise: Promise{Term: 5}})},
			rejoinStep{become: true, why: causeResolving}},

		"ahead": {[]func(*rejoinView){ahead, suspended, unsynchronized},
			rejoinStep{quarantined: true, remember: &Remembered{Quarantined: 4}}},
		"ahead, as remembered": {[]func(*rejoinView){ahead, suspended, unsynchronized,
			remembers(Remembered{Quarantined: 4})},
			rejoinStep{quarantined: true}},
		"ahead, of an earlier fork before": {[]func(*rejoinView){ahead, suspended, unsynchronized,
			remembers(Remembered{Quarantined: 3})},
			rejoinStep{quarantined: true, remember: &Remembered{Quarantined: 4}}},
		"ahead, and it takes no log": {[]func(*rejoinView){ahead, unsynchronized, standing(time.Hour)},
			rejoinStep{quarantined: true, remember: &Remembered{Quarantined: 4}}},
		"ahead, and resolving": {[]func(*rejoinView){ahead, resolving, unsynchronized},
			rejoinStep{quarantined: true, become: true, why: causeResolving, remember: &Remembered{Quarantined: 4}}},
		"nobody knows how far": {[]func(*rejoinView){level, unsynchronized, suspended, unknown}, rejoinStep{unsure: true}},
		"nobody knows how far, and it is resolving": {[]func(*rejoinView){level, unknown, resolving},
			rejoinStep{unsure: true, become: true, why: causeResolving}},
		"nobody knows how far, for long": {[]func(*rejoinView){level, unsynchronized, unknown, unsure(unsurePatience)},
			rejoinStep{quarantined: true, remember: &Remembered{Quarantined: 4}}},
		"one is ahead, and nobody knows how far another is": {[]func(*rejoinView){ahead, unsynchronized, func(v *rejoinView) {
			v.fork.Databases["Shop"] = "1"
			v.local = append(v.local, ballot.DatabaseState{Name: "Shop", Local: true, State: "SYNCHRONIZED"})
		}}, rejoinStep{quarantined: true, remember: &Remembered{Quarantined: 4}}},
		"no copy is shown": {[]func(*rejoinView){level, func(v *rejoinView) { v.local = nil }}, rejoinStep{unsure: true}},
		"no copy is shown, for long": {[]func(*rejoinView){level, func(v *rejoinView) { v.local = nil },
			unsure(unsurePatience)}, rejoinStep{quarantined: true, remember: &Remembered{Quarantined: 4}}},
		"no copy is shown of a group without any": {[]func(*rejoinView){func(v *rejoinView) {
			v.fork, v.local = &votes.Fork{Term: 4, Server: "rival-0"}, nil
		}}, rejoinStep{remember: &Remembered{Cleared: 4}}},
		"ahead in a database that was not forked": {[]func(*rejoinView){level, func(v *rejoinView) {
			v.local = append(v.local, ballot.DatabaseState{Name: "New", State: "SYNCHRONIZED", HardenedLSN: "9"})
		}}, rejoinStep{remember: &cleared}},
		"a database of unknown end that was not forked": {[]func(*rejoinView){level, func(v *rejoinView) {
			v.local = append(v.local, ballot.DatabaseState{Name: "New", State: "SYNCHRONIZED"})
		}}, rejoinStep{remember: &cleared}},

		"level, and it follows": {[]func(*rejoinView){level}, rejoinStep{remember: &cleared}},
		"level, not synchronized yet": {[]func(*rejoinView){level, unsynchronized},
			rejoinStep{remember: &Remembered{Cleared: 4}}},
		"level, and one is suspended": {
			[]func(*rejoinView){level, suspended, func(v *rejoinView) { v.local[0].Suspended = true }},
			rejoinStep{remember: &Remembered{Cleared: 4}, resume: []string{"App"}}},
		"level, and suspended while cut off": {[]func(*rejoinView){level, suspended, stranger(0)},
			rejoinStep{remember: &Remembered{Cleared: 4}, resume: []string{"App"}}},
		"level, and resolving": {
			[]func(*rejoinView){level, resolving},
			rejoinStep{remember: &Remembered{Cleared: 4}, become: true, why: causeResolving},
		},
		"level, and cut off": {[]func(*rejoinView){level, stranger(0)}, rejoinStep{}},
		"cleared, and followed since": {[]func(*rejoinView){level, remembers(Remembered{Cleared: 4})},
			rejoinStep{remember: &cleared}},
		"cleared, and ahead": {[]func(*rejoinView){ahead, unsynchronized, remembers(Remembered{Cleared: 4})}, rejoinStep{}},
		"cleared and followed": {[]func(*rejoinView){ahead, remembers(cleared)},
			rejoinStep{}},
		"the votes are older than the fork": {[]func(*rejoinView){level, remembers(Remembered{Cleared: 4}),
			func(v *rejoinView) { v.leading.Term = 3 }}, rejoinStep{}},
		"the votes are of the fork's term": {[]func(*rejoinView){level, remembers(Remembered{Cleared: 4}),
			func(v *rejoinView) { v.leading.Term = 4 }}, rejoinStep{remember: &cleared}},
		"it was the one that was forced": {
			[]func(*rejoinView){ahead, suspended, func(v *rejoinView) { v.fork.Server = "OWN-0" }},
			rejoinStep{resume: []string{"App"}}},
		"it holds no databases": {[]func(*rejoinView){level, func(v *rejoinView) {
			v.seen.Mode, v.local = ballot.ModeConfigurationOnly, nil
		}}, rejoinStep{}},

		"new volumes": {[]func(*rejoinView){level, bare, resolving},
			rejoinStep{remember: &Remembered{Cleared: 4}, become: true, why: causeResolving}},
		"new volumes, before there is a group": {
			[]func(*rejoinView){level, bare, func(v *rejoinView) { v.seen = ballot.Observation{} }},
			rejoinStep{remember: &Remembered{Cleared: 4}}},
		"new volumes, decided before": {[]func(*rejoinView){level, bare, resolving, remembers(Remembered{Cleared: 4})},
			rejoinStep{become: true, why: causeResolving}},
	} {
		t.Run(name, func(t *testing.T) {
			v := follower()
			for _, change := range c.changes {
				change(&v)
			}
			NewWithT(t).Expect(planRejoin(v)).To(Equal(c.want))
		})
	}
}

// rejoins is a bench beside a primary that holds term 5, in its rejoin.
func rejoins(t *testing.T, line *votes.Timeline) *bench {
	t.Helper()
	vote := votes.Record{Term: 5, State: votes.StateHeld, Holder: rival}
	if line != nil {
		vote.Notes.Timelines = votes.EncodeNote([]votes.Timeline{*line})
	}
	b := newBench(t, alike(vote)...)
	b.refused = nil
	return b
}

// A copy's end of log counts that is this replica's own: what its views show of others neither holds it back nor lets
// it
// go.
func TestARejoinGoesByTheReplicasOwnCopies(t *testing.T) {
	for name, c := range map[string]struct {
		own, other  string
		quarantined int64
	}{"this copy is ahead": {"9", "5", 4}, "another is": {"5", "9", 0}} {
		t.Run(name, func(t *testing.T) {
			b := rejoins(t, nil)
			b.vote(votes.Record{Term: 5, State: votes.StateHeld, Holder: rival, Notes: votes.Notes{
				Forced: votes.EncodeNote(votes.Fork{Term: 4, Server: "rival-0", Databases: map[string]string{"App": "5"}})}})
			b.shown.Databases[0].HardenedLSN = c.own
			b.shown.Databases = append(b.shown.Databases,
				ballot.DatabaseState{Server: "rival-0", Name: "App", State: "SYNCHRONIZED", HardenedLSN: c.other})
			b.Step(t.Context())
			NewWithT(t).Expect(b.saved.Quarantined).To(Equal(c.quarantined))
		})
	}
}

// stepped is what the engine is asked for in a step after some time, in which the holder has renewed its votes.
func (b *bench) stepped(t *testing.T, after time.Duration) []string {
	t.Helper()
	b.clock.At += after
	b.statements = nil
	for _, v := range b.voters {
		v.Record.Holder.Nonce, v.Version = b.nonce(), v.Version+1
	}
	b.Step(t.Context())
	return b.statements
}

// Sessions are ended at a server that the listener may have led to: the former primary, or each one where nobody knows.
func TestWhereSessionsAreEnded(t *testing.T) {
	at := votes.MicroTime(time.Unix(1_800_000_000, 0))
	line := func(from string) *votes.Timeline {
		return &votes.Timeline{Term: 5, From: from, To: "rival-0", Promoted: at}
	}
	for name, c := range map[string]struct {
		line *votes.Timeline
		led  bool
	}{
		"the former primary":       {line("OWN-0"), true},
		"another replica":          {line("third-0"), false},
		"nobody knows":             {nil, false},
		"it came from nobody":      {line(""), false},
		"a server that is no more": {line("gone-0"), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := rejoins(t, c.line)
			leading, _ := b.ballot.Leading()
			g.Expect(b.mayHaveLed(t.Context(), leading)).To(Equal(c.led))
		})
	}
}

// They are ended at each step until the listener has moved, and a last time then.
func TestForHowLongSessionsAreEnded(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, nil)
	r := &b.rejoin
	g.Expect(r.endStrays(t.Context(), b.Keeper, b.seen)).To(BeZero())
	r.followed = b.clock.At
	resolving := b.seen
	resolving.Role = ballot.RoleResolving
	g.Expect(r.endStrays(t.Context(), b.Keeper, resolving)).To(BeZero())
	g.Expect(b.statements).To(BeEmpty())
	b.clock.At += strayFor - 1
	g.Expect(r.endStrays(t.Context(), b.Keeper, b.seen).Action).To(BeEmpty())
	g.Expect(b.statements).To(HaveLen(1))
	g.Expect(b.endedWithin).To(Equal(strayFor-1+time.Second), "since it began to follow, and a moment more")
	b.clock.At++
	g.Expect(r.endStrays(t.Context(), b.Keeper, b.seen).Action).NotTo(BeEmpty())
	g.Expect(b.statements).To(HaveLen(2))
	b.clock.At += time.Second
	g.Expect(r.endStrays(t.Context(), b.Keeper, b.seen)).To(BeZero())
	g.Expect(b.statements).To(HaveLen(2))
}

// Where a listener moves later, or never, its writers go on to come: those whose writes are refused are ended as long
// as that is so, seldom where they come again and again, and only at a server to which a listener may lead.
func TestWritersThatComeLateAreEnded(t *testing.T) {
	g := NewWithT(t)
	at := votes.MicroTime(time.Unix(1_800_000_000, 0))
	b := rejoins(t, &votes.Timeline{Term: 5, From: "OWN-0", To: "rival-0", Promoted: at})
	r := &b.rejoin
	step := func(after time.Duration) Outcome {
		t.Helper()
		b.clock.At += after
		return r.endStrays(t.Context(), b.Keeper, b.seen)
	}
	g.Expect(step(time.Hour)).To(BeZero(), "nobody came")
	b.writers = 2
	g.Expect(step(writersEvery-1)).To(BeZero(), "it is not due")
	g.Expect(step(1).Action).To(Equal("ended 2 sessions that came to write"))
	for _, pause := range []time.Duration{2 * writersEvery, 4 * writersEvery, writersSeldom, writersSeldom} {
		g.Expect(step(pause - 1)).To(BeZero())
		g.Expect(step(1).Action).NotTo(BeEmpty(), "they come again after %s", pause)
	}
	b.writers = 0
	g.Expect(step(writersSeldom)).To(BeZero())
	b.writers, b.refused = 1, errors.New("no answer")
	g.Expect(step(writersEvery).Err).To(MatchError(ContainSubstring("no answer")))
	b.refused = nil
	looked := b.lookedForWriters
	resolving := b.seen
	resolving.Role = ballot.RoleResolving
	b.clock.At += time.Hour
	g.Expect(r.endStrays(t.Context(), b.Keeper, resolving)).To(BeZero())

	b = rejoins(t, &votes.Timeline{Term: 5, From: "third-0", To: "rival-0", Promoted: at})
	b.writers = 1
	b.clock.At += time.Hour
	g.Expect(b.rejoin.endStrays(t.Context(), b.Keeper, b.seen)).To(BeZero(), "no listener ever led here")
	g.Expect(b.lookedForWriters).To(BeZero())
	g.Expect(looked).To(BeEquivalentTo(8))
}

// Who asks this agent meanwhile, as a candidate that wants the holder fenced does, waits for the step: however many
// sessions come, ending them takes no more of it than one call to a voter.
func TestEndingSessionsHoldsUpNobody(t *testing.T) {
	g := NewWithT(t)
	b := rejoins(t, &votes.Timeline{Term: 5, From: "OWN-0", To: "rival-0"})
	b.clock.At += time.Hour
	b.writers = 300
	g.Expect(b.rejoin.endStrays(t.Context(), b.Keeper, b.seen).Action).NotTo(BeEmpty())
	g.Expect(b.allowed).To(BeNumerically("<=", b.timings.APITimeout), "those that were refused a write")

	b.rejoin.followed = b.clock.Now()
	b.clock.At += time.Second
	g.Expect(b.rejoin.endStrays(t.Context(), b.Keeper, b.seen)).To(BeZero())
	g.Expect(b.allowed).To(BeNumerically("<=", b.timings.APITimeout), "those that came while the listener moved")
}

// What a rejoin relies on is remembered before anything is done, and what the engine refuses is said.
func TestARejoinRemembersFirst(t *testing.T) {
	fork := votes.Notes{
		Forced: votes.EncodeNote(votes.Fork{Term: 4, Server: "rival-0", Databases: map[string]string{"App": "5"}}),
	}
	for name, c := range map[string]struct {
		unsaved, refused error
		statements       []string
		says             string
	}{
		"all goes well":   {nil, nil, []string{"RESUME App"}, ""},
		"it is not saved": {errAway, nil, nil, errAway.Error()},
		"the engine refuses": {
			nil, errAway, []string{"RESUME App"}, "making own-0 a secondary of rival-0 in group content",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := rejoins(t, nil)
			b.vote(votes.Record{Term: 5, State: votes.StateHeld, Holder: rival, Notes: fork})
			b.seen.Suspended, b.unsaved, b.refused = []string{"App"}, c.unsaved, c.refused
			out := b.Step(t.Context())
			g.Expect(b.statements).To(Equal(c.statements))
			if c.says == "" {
				g.Expect(out.Err).NotTo(HaveOccurred())
				g.Expect(out.Action).To(Equal("resumed App"))
			} else {
				g.Expect(out.Err).To(MatchError(ContainSubstring(c.says)))
			}
		})
	}
}
