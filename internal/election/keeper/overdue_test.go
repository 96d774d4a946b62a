// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A claim that has come to nothing says for how long it was tried, and what the engine refused.
func TestWhatAnOverdueClaimSays(t *testing.T) {
	for name, c := range map[string]struct {
		request *votes.Request
		refusal error
		reason  string
		word    bool
	}{
		"nothing was refused":   {&votes.Request{ID: "f"}, nil, votes.ReasonNoQuorum, false},
		"refused":               {&votes.Request{ID: "f"}, ErrRefused, votes.ReasonEngineRefused, false},
		"refused, nobody asked": {nil, ErrRefused, "", false},
		"refused, by a person's word": {&votes.Request{ID: "f", FencedHolder: rival.String()}, ErrRefused,
			votes.ReasonEngineRefused, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateClaimed)
			b.claim.request, b.claim.refusal = c.request, c.refusal
			b.clock.At += 11 * time.Second
			out := b.promote(t.Context(), b.clock.At)
			g.Expect(out.Action).To(Equal("claim released"))
			g.Expect(out.Err).To(MatchError(ContainSubstring("term 3 came to nothing within 11s")))
			if c.word {
				g.Expect(out.Err).To(MatchError(ContainSubstring("ask again without a word")))
			} else {
				g.Expect(out.Err).NotTo(MatchError(ContainSubstring("ask again without a word")))
			}
			if c.reason != "" {
				g.Expect(b.answered(t).Reason).To(Equal(c.reason))
			}
		})
	}
	b := holding(t, votes.StateClaimed)
	b.claim.at = 0
	NewWithT(t).Expect(b.overdue(10*time.Second+1)).To(BeTrue(), "nothing was sent when the machine started")
}

// Where nobody else may go on, a refusal of before tells nothing against this replica: it goes by its log as ever.
func TestARefusedReplicaThatMayNotPass(t *testing.T) {
	for name, c := range map[string]struct {
		refused, manual, reports, handed bool
		action                           string
	}{
		"refused":                          {true, false, true, false, "handed term 4 over to third-0"},
		"refused, and manual":              {true, true, true, false, "handed term 4 over to third-0"},
		"manual, and another has more":     {false, true, true, false, "handed term 4 over to third-0"},
		"refused, manual, too few reports": {true, true, false, false, "waiting for reports"},
		"refused, and handed back":         {true, false, true, true, "claim released"},
		"not refused, and handed":          {false, false, true, true, "handed term 4 over to third-0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			if c.reports {
				b.reporting("third-0", 1, "9")
			}
			if c.refused {
				b.unready, b.unreadyAt = 1, b.clock.At
			}
			b.manual, b.claim.handed = c.manual, c.handed
			g.Expect(b.fenceAll(t.Context()).Action).To(Equal(c.action))
		})
	}
}

// A copy stands still from when the replica follows and takes no log on; progress is counted from its last change.
func TestSinceWhenACopyStands(t *testing.T) {
	g := NewWithT(t)
	held := votes.Record{Term: 5, State: votes.StateHeld, Holder: rival}
	seen := ballot.Observation{Exists: true, Role: ballot.RoleSecondary, Connected: true, Primary: "rival-0"}
	var p pace
	at := time.Hour
	look := func(after time.Duration) paces {
		at += after
		p.watch(at, held, seen)
		return p.since(at)
	}
	look(0)
	now := look(time.Minute)
	g.Expect(now.standing).To(BeZero(), "it takes log")
	g.Expect(now.still).To(Equal(time.Minute))
	seen.Standing = []string{"App"}
	g.Expect(look(time.Minute).standing).To(Equal(time.Minute))
	seen.Connected = false
	g.Expect(look(time.Minute).standing).To(BeZero(), "it does not follow")
	seen.Connected, seen.Progress = true, "some"
	now = look(time.Minute)
	g.Expect(now.standing).To(BeZero())
	g.Expect(now.still).To(BeZero())
	g.Expect(look(time.Minute).still).To(Equal(time.Minute))
}

// For how long the end of a copy's log is unknown counts from when it became so.
func TestForHowLongAnEndIsUnknown(t *testing.T) {
	g := NewWithT(t)
	var p pace
	g.Expect(p.unsureFor(time.Hour, true)).To(BeZero())
	g.Expect(p.unsureFor(time.Hour+time.Second, true)).To(Equal(time.Second))
	g.Expect(p.unsureFor(time.Hour+time.Minute, true)).To(Equal(time.Minute))
	g.Expect(p.unsureFor(time.Hour+time.Minute, false)).To(BeZero())
	g.Expect(p.unsureFor(time.Hour+2*time.Minute, true)).To(BeZero())
}

// The holder's word counts where it is primary: what its engine shows of this replica's copies.
func TestWhatTheHolderSaysOfAReplica(t *testing.T) {
	holder := votes.Record{Term: 5, State: votes.StateHeld, Holder: rival}
	of := func(state string, role ballot.Role, change func(*ballot.Report)) ballot.Report {
		r := ballot.Report{Server: "rival-0", Role: role}
		r.Databases = []ballot.DatabaseState{{Server: "OWN-0", Name: "App", State: state}}
		change(&r)
		return r
	}
	as := func(*ballot.Report) {}
	for name, c := range map[string]struct {
		report ballot.Report
		err    error
		want   heldWord
	}{
		"synchronized":  {of("SYNCHRONIZED", ballot.RolePrimary, as), nil, heldWord{heard: true, moves: true}},
		"synchronizing": {of("SYNCHRONIZING", ballot.RolePrimary, as), nil, heldWord{heard: true, moves: true}},
		"not":           {of("NOT SYNCHRONIZING", ballot.RolePrimary, as), nil, heldWord{heard: true}},
		"no primary":    {of("SYNCHRONIZED", ballot.RoleSecondary, as), nil, heldWord{}},
		"it is silent":  {of("SYNCHRONIZED", ballot.RolePrimary, as), errAway, heldWord{}},
		"it is suspended": {of("SYNCHRONIZED", ballot.RolePrimary, func(r *ballot.Report) {
			r.Databases[0].Suspended = true
		}), nil, heldWord{heard: true}},
		"another's copy": {of("SYNCHRONIZED", ballot.RolePrimary, func(r *ballot.Report) {
			r.Databases[0].Server = "third-0"
		}), nil, heldWord{heard: true}},
		"it is seeded": {of("", ballot.RolePrimary, func(r *ballot.Report) { r.Seeding = []string{"Own-0"} }), nil,
			heldWord{heard: true, seeded: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, alike(holder)...)
			b.reports["rival-0"] = c.report
			if c.err != nil {
				b.refuses["rival-0"] = c.err
			}
			NewWithT(t).Expect(b.askHolder(t.Context(), holder)).To(Equal(c.want))
		})
	}
}
