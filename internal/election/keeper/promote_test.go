// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// reporting is what another replica reports: its configuration's number, and the end of its log.
func (b *bench) reporting(server string, sequence int64, end string) {
	i := b.shown
	i.Sequence = sequence
	i.Databases = []ballot.DatabaseState{{Server: server, Name: "App", Local: true, HardenedLSN: end, Ready: true}}
	b.reports[server] = ballot.Report{Server: server, Role: ballot.RoleResolving,
		Holder: votes.Holder{Server: server, PodUID: "pod", Engine: "run"}, Inspection: i}
}

// fencing is a bench whose replica is OFFLINE once it was told so.
func fencing(t *testing.T) *bench {
	t.Helper()
	b := holding(t, votes.StateClaimed)
	b.follows = func(statement string) {
		if statement == "FAILOVER" || statement == "FORCE" {
			b.seen.Role = ballot.RolePrimary
		}
	}
	return b
}

// What the reports of a claim come to.
func TestWhatAClaimComesTo(t *testing.T) {
	best := func(b *bench) { b.reporting("third-0", 1, "4") }
	behind := func(b *bench) { b.reporting("third-0", 2, "4") } // this replica has an older configuration
	more := func(b *bench) { b.reporting("third-0", 1, "9") }
	nobody := func(b *bench) {
		behind(b)
		r := b.reports["third-0"]
		r.Replicas = []ballot.Replica{
			{Server: "own-0", Mode: ballot.ModeSynchronous},
			{Server: "third-0", Mode: ballot.ModeConfigurationOnly},
		}
		b.reports["third-0"] = r
	}
	alone := func(*bench) {}
	plain, named := &votes.Request{ID: "f"}, &votes.Request{ID: "f", To: "own-0"}
	loss, namedLoss := &votes.Request{
		ID:            "f",
		AllowDataLoss: true,
	}, &votes.Request{
		ID:            "f",
		To:            "own-0",
		AllowDataLoss: true,
	}
	for name, c := range map[string]struct {
		reports func(*bench)
		request *votes.Request
		age     time.Duration
		action  string
		force   bool
		fenced  bool
		reason  string
	}{
		"the best":                             {best, nil, 0, "became holder", false, false, ""},
		"another has more":                     {more, nil, 0, "handed term 4 over to third-0", false, false, ""},
		"another has more, a failover to any":  {more, plain, 0, "handed term 4 over to third-0", false, false, ""},
		"another has more, a failover to this": {more, named, 0, "became holder", false, false, ""},
		"another is newer":                     {behind, nil, 0, "handed term 4 over to third-0", false, false, ""},
		"another is newer, a failover to any":  {behind, plain, 0, "handed term 4 over to third-0", false, false, ""},
		"another is newer, a failover to this": {behind, named, 0, "claim released", false, false,
			votes.ReasonNotSynchronized},
		"another is newer, with loss to any": {behind, loss, 0, "handed term 4 over to third-0", false, false, ""},
		"another is newer, with loss to this": {
			behind, namedLoss, 0, "another replica has a newer configuration; data loss is allowed", true, true, "",
		},
		"none has it":                    {nobody, nil, 0, "claim released", false, false, ""},
		"none has it, a failover to any": {nobody, plain, 0, "claim released", false, false, votes.ReasonNotSynchronized},
		"too few":                        {alone, nil, 0, "waiting for reports", false, false, ""},
		"too few, a failover to this":    {alone, named, time.Hour, "waiting for reports", false, false, ""},
		"too few, with loss, at once":    {alone, loss, 0, "waiting for reports", false, false, ""},
		"too few, with loss, almost":     {alone, loss, time.Second - 1, "waiting for reports", false, false, ""},
		"too few, with loss, after a renewal": {
			alone, loss, time.Second, "fenced 1 replicas of 2 needed; data loss is allowed", true, true, "",
		},
		"too few, with loss to this, at once": {alone, namedLoss, 0, "waiting for reports", false, false, ""},
		"too few, with loss to this, later": {
			alone, namedLoss, time.Second, "fenced 1 replicas of 2 needed; data loss is allowed", true, true, "",
		},
		"too few, this term was promised": {refusing(3), nil, 0, "waiting for reports", false, false, ""},
		"too few, a higher one was promised": {
			refusing(8), nil, 0, "term 8 was promised to another: claimed term 9", false, false, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			c.reports(b)
			b.claim.request = c.request
			b.clock.At += c.age
			if c.request != nil {
				b.chronicle.begin(b.Keeper, votes.Timeline{Term: 3, From: "rival-0", To: "own-0"}, c.request)
			}
			now := b.clock.At
			out := b.fenceAll(t.Context())
			g.Expect(out.Action).To(ContainSubstring(c.action))
			g.Expect(b.claim.force).To(Equal(c.force))
			g.Expect(b.claim.fenced).To(Equal(c.fenced))
			g.Expect(b.statements).NotTo(ContainElement("FORCE"), "what it costs is not on record yet")
			switch {
			case out.Action == "waiting for reports":
				g.Expect(out.Soon).To(Equal(b.timings.Renew / 4))
			case out.Action == "handed term 4 over to third-0":
				g.Expect(b.retryAt).To(Equal(now + 2*b.timings.Renew))
			case out.Action == "claim released":
				g.Expect(b.retryAt).To(Equal(now + 3*b.timings.Renew/2))
			}
			if c.reason != "" {
				g.Expect(b.answered(t)).To(And(HaveField("Outcome", votes.OutcomeFailed), HaveField("Reason", c.reason)))
			}
		})
	}
}

// refusing has the other replicas refuse because they have promised a term.
func refusing(term int64) func(*bench) {
	return func(b *bench) { b.refuses["third-0"] = ballot.Promised(term, ballot.ErrPromised) }
}

// A server that has failed leaves the field to others for longer each time, for as long as votes count at most.
func TestHowLongAServerStaysBackAfterAFailure(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(votes.Record{Term: 1, State: votes.StateHeld, Holder: rival})...)
	renew := b.timings.Renew
	for _, want := range []time.Duration{3 * renew / 2, 3 * renew, 6 * renew, b.timings.Expiry, b.timings.Expiry} {
		g.Expect(b.backoff()).To(Equal(want))
	}
	for range 100 {
		g.Expect(b.backoff()).To(Equal(b.timings.Expiry))
	}
	b.random = 0
	b.failures = 0
	g.Expect(b.backoff()).To(Equal(renew))
}

// FAILOVER is followed by looks at the role, for a moment: where it comes the server serves in the same step.
func TestTheRoleIsAwaitedAfterFailover(t *testing.T) {
	primary := ballot.Observation{Exists: true, Role: ballot.RolePrimary, Mode: ballot.ModeSynchronous}
	for name, c := range map[string]struct {
		after  int
		err    error
		action string
		looks  int
	}{
		"it comes at once":           {0, nil, "became holder", 1},
		"it comes in time":           {15, nil, "became holder", 16},
		"it comes later":             {50, nil, "failover issued", 20},
		"the engine does not answer": {0, errors.New("silent"), "failover issued", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.claim.fenced, b.follows = true, nil
			b.seenNext, b.seenAfter, b.unseen = &primary, c.after, c.err
			out := b.failOver(t.Context())
			g.Expect(out.Action).To(Equal(c.action))
			g.Expect(b.looks).To(Equal(c.looks))
			g.Expect(out.Role == ballot.RolePrimary).To(Equal(c.action == "became holder"))
			if c.action == "became holder" {
				g.Expect(b.statements).To(Equal([]string{"FAILOVER", "LEASE"}))
			}
		})
	}
}

// FAILOVER is not sent again while the role may still be changing by the last one, nor under votes that are too old.
func TestWhenFailoverIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		answered, round time.Duration
		refused         error
		sent            bool
		soon            time.Duration
	}{
		"at once":                    {sent: true, soon: soon},
		"it was answered just now":   {answered: 1, soon: rolePoll},
		"it was a while ago":         {answered: time.Second - 1, soon: rolePoll},
		"it was a renewal ago":       {answered: time.Second, sent: true, soon: soon},
		"the votes are not yet old":  {round: 1400 * time.Millisecond, sent: true, soon: soon},
		"the votes are too old":      {round: 1500 * time.Millisecond, soon: soon},
		"the engine refuses for now": {refused: errors.New("busy"), sent: true, soon: time.Second / 4},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := fencing(t)
			b.follows = nil
			b.claim.fenced, b.refused = true, c.refused
			if c.answered > 0 {
				b.claim.answered = b.clock.At - c.answered
			}
			b.claim.round = b.clock.At - c.round
			out := b.failOver(t.Context())
			g.Expect(len(b.statements) > 0).To(Equal(c.sent))
			g.Expect(out.Soon).To(Equal(c.soon))
		})
	}
	NewWithT(t).Expect(rolePoll).To(Equal(50 * time.Millisecond))
}

// The step that makes a server primary says so, though its engine was RESOLVING when it began.
func TestTheStepOfAPromotionSaysPrimary(t *testing.T) {
	b := fencing(t)
	b.reporting("third-0", 1, "5")
	var out Outcome
	for range 5 {
		if out = b.Step(t.Context()); slices.Contains(b.statements, "FAILOVER") {
			break
		}
	}
	NewWithT(t).Expect(b.statements).To(Equal([]string{"FAILOVER", "LEASE"}))
	NewWithT(t).Expect(out).To(And(HaveField("Role", ballot.RolePrimary), HaveField("State", votes.StateHeld)))
}

// A step tells the role that it has seen, and none where the engine did not answer.
func TestAStepTellsTheRole(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
	g.Expect(b.Step(t.Context())).To(And(HaveField("Role", ballot.RoleSecondary), HaveField("Term", BeZero())))
	b.unseen = errAway
	g.Expect(b.Step(t.Context()).Role).To(BeEmpty())
	b.unseen, b.seen.Exists = nil, false
	g.Expect(b.Step(t.Context()).Role).To(BeEmpty())
}
