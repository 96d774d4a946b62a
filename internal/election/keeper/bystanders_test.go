// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// In which role the other replicas are at FAILOVER, and what is tried in turn once the engine has refused it.
func TestWhichWaysOfStandingByAreTried(t *testing.T) {
	resolving := ballot.Report{Server: "third-0", Role: ballot.RoleResolving}
	secondary := ballot.Report{Server: "third-0", Role: ballot.RoleSecondary}
	itself := ballot.Report{Server: "OWN-0", Role: ballot.RoleResolving}
	word := &votes.Request{FencedHolder: rival.String()}
	for name, c := range map[string]struct {
		declared ballot.Role
		request  *votes.Request
		report   ballot.Report
		change   func(*claim)
		want     []stand
	}{
		"nobody is RESOLVING":   {report: secondary, want: []stand{staying, offline}},
		"one is":                {report: resolving, want: []stand{staying, following, offline}},
		"this one alone is":     {report: itself, want: []stand{staying, offline}},
		"SECONDARY is declared": {declared: ballot.RoleSecondary, report: secondary, want: []stand{staying, offline}},
		"RESOLVING is declared": {declared: ballot.RoleResolving, report: resolving, want: []stand{offline, following}},
		"declared, and none is": {declared: ballot.RoleResolving, report: secondary, want: []stand{offline}},
		"a plain request":       {request: &votes.Request{}, report: secondary, want: []stand{staying, offline}},
		"data may be lost":      {request: &votes.Request{AllowDataLoss: true}, report: secondary, want: []stand{offline}},
		"data may be lost, one is": {request: &votes.Request{AllowDataLoss: true}, report: resolving,
			want: []stand{offline, following}},
		"by a person's word": {request: word, report: resolving, want: []stand{offline}},
		"it is forced":       {report: resolving, change: func(c *claim) { c.force = true }, want: []stand{staying}},
		"one was taken":      {report: resolving, change: func(c *claim) { c.answered = 1 }, want: []stand{staying}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateClaimed)
			b.SetRoleAtFailover(c.declared)
			b.claim.request, b.claim.reports = c.request, []ballot.Report{c.report}
			if c.change != nil {
				c.change(&b.claim)
			}
			b.claim.fenced = true
			tried := []stand{b.by()}
			turns := func() bool {
				b.turn()
				b.clock.At += 2 * b.timings.Renew
				return b.turn()
			}
			for len(tried) < len(c.want) && turns() {
				g.Expect(b.claim.fenced).To(BeFalse(), "the others are asked anew")
				b.claim.fenced = true
				tried = append(tried, b.by())
			}
			g.Expect(b.claim.fenced).To(BeTrue())
			g.Expect(tried).To(Equal(c.want))
			g.Expect(turns()).To(Equal(slices.Contains(c.want, following)), "OFFLINE and SECONDARY alternate")
		})
	}
	g := NewWithT(t)
	g.Expect(fmt.Sprint(staying, "; ", following, "; ", offline)).To(
		Equal("the other replicas as they are; all other replicas SECONDARY; the other replicas OFFLINE"))
}

// What a replica does for a candidate that wants it in a role, and what it reports of its role then.
func TestWhatAReplicaDoesForACandidate(t *testing.T) {
	candidate := votes.Holder{Server: "third-0", PodUID: "pod", Engine: "run"}
	asked, before := Promise{Term: 5, To: "third-0"}, Promise{Term: 4, To: "third-0"}
	off := []string{"OFFLINE"}
	const primary, secondary, resolving = ballot.RolePrimary, ballot.RoleSecondary, ballot.RoleResolving
	for name, c := range map[string]struct {
		is, wanted ballot.Role
		revive     bool
		went       Promise
		refused    error
		statements []string
		role       ballot.Role
		stayed     bool
	}{
		"SECONDARY, and stays":         {is: secondary, wanted: secondary, role: secondary, stayed: true},
		"SECONDARY, and revives":       {is: secondary, wanted: secondary, revive: true, role: secondary, stayed: true},
		"SECONDARY, RESOLVING wanted":  {is: secondary, wanted: resolving, statements: off, role: resolving},
		"SECONDARY, nothing is wanted": {is: secondary, statements: off, role: resolving},
		"RESOLVING, and stays":         {is: resolving, wanted: secondary, role: resolving},
		"RESOLVING, and revives": {is: resolving, wanted: secondary, revive: true, statements: []string{"SECONDARY"},
			role: secondary, stayed: true},
		"RESOLVING, and revives in vain": {is: resolving, wanted: secondary, revive: true, refused: errAway,
			statements: []string{"SECONDARY"}, role: resolving},
		"RESOLVING, RESOLVING wanted":     {is: resolving, wanted: resolving, statements: off, role: resolving},
		"RESOLVING for this candidate":    {is: resolving, wanted: resolving, went: asked, role: resolving},
		"RESOLVING for this one, no wish": {is: resolving, went: asked, role: resolving},
		"RESOLVING in another term":       {is: resolving, went: before, statements: off, role: resolving},
		"SECONDARY since for this one":    {is: secondary, went: asked, statements: off, role: resolving},
		"PRIMARY, and it is to stay":      {is: primary, wanted: secondary, statements: off, role: resolving},
		"PRIMARY, and it is to revive":    {is: primary, wanted: secondary, revive: true, statements: off, role: resolving},
		"PRIMARY, RESOLVING wanted":       {is: primary, wanted: resolving, statements: off, role: resolving},
		"of a role that is not told":      {is: "", wanted: secondary, statements: off, role: resolving},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 4, State: votes.StateReleased, Holder: rival})...)
			b.roles()
			b.seen.Role, b.wentOffline, b.refused = c.is, c.went, c.refused
			report, err := b.Fence(t.Context(), ballot.FenceRequest{Group: "content", Term: 5, Candidate: candidate,
				Bystanders: c.wanted, Revive: c.revive})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Role).To(Equal(c.role))
			g.Expect(b.statements).To(Equal(c.statements))
			g.Expect(b.stayed == asked).To(Equal(c.stayed))
			g.Expect(b.saved.Promise).To(Equal(asked))
		})
	}
}

// The role that SET (ROLE = SECONDARY) has announced is awaited for an API time-out, and reported as it was where it
// does not come, or where whoever asked waits no longer.
func TestTheRoleOfARevivedReplicaIsAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		after int
		ended bool
		err   error
		role  ballot.Role
		looks int
	}{
		"at once":        {1, false, nil, ballot.RoleSecondary, 2},
		"a moment later": {10, false, nil, ballot.RoleSecondary, 11},
		"just in time":   {51, false, nil, ballot.RoleSecondary, 52},
		"too late":       {99, false, nil, ballot.RoleResolving, 52},
		"nobody waits":   {99, true, nil, ballot.RoleResolving, 2},
		"it is silent":   {1, false, errAway, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 4, State: votes.StateReleased, Holder: rival})...)
			secondary := b.seen
			b.seen.Role, b.seenNext, b.seenAfter, b.unseen = ballot.RoleResolving, &secondary, c.after, c.err
			ctx, end := context.WithCancel(t.Context())
			b.follows = func(string) {
				if c.ended {
					end()
				}
			}
			seen, err := b.standBeside(ctx, ballot.FenceRequest{Term: 5, Bystanders: ballot.RoleSecondary, Revive: true})
			end()
			if c.err != nil {
				g.Expect(err).To(MatchError(c.err))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(seen.Role).To(Equal(c.role))
			}
			g.Expect(b.looks).To(Equal(c.looks))
		})
	}
}

// A replica that has stayed SECONDARY is taken OFFLINE once another is primary, unless it takes that one's log already.
func TestWhichBystandersComeAlong(t *testing.T) {
	his := func(term int64) votes.Record { return votes.Record{Term: term, State: votes.StateHeld, Holder: rival} }
	bound := func(b *bench) { b.seen.Connected = false }
	claimed := votes.Record{Term: 5, State: votes.StateClaimed, Holder: rival}
	mine := votes.Record{Term: 5, State: votes.StateHeld, Holder: own}
	for name, c := range map[string]struct {
		stayed  int64
		leading votes.Record
		change  func(*bench)
		taken   bool
		// keeps says that it is looked at again.
		keeps bool
	}{
		"it never stayed":              {0, his(5), bound, false, false},
		"of the term":                  {5, his(5), bound, true, false},
		"of a later one":               {5, his(6), bound, true, false},
		"of an earlier one":            {5, his(4), bound, false, true},
		"nobody holds it yet":          {5, claimed, bound, false, true},
		"it holds the term itself":     {5, mine, bound, false, false},
		"it follows":                   {5, his(5), func(*bench) {}, false, false},
		"it follows, and takes no log": {5, his(5), func(b *bench) { b.seen.Standing = []string{"App"} }, true, false},
		"the group is gone":            {5, his(5), func(b *bench) { b.seen.Exists = false }, false, false},
		"it is RESOLVING":              {5, his(5), func(b *bench) { b.seen.Role = ballot.RoleResolving }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(c.leading)...)
			b.roles()
			c.change(b)
			if c.stayed > 0 {
				b.stayed = Promise{Term: c.stayed, To: "rival-0"}
			}
			out, done := b.comeAlong(t.Context(), c.leading, b.seen)
			g.Expect(done).To(Equal(c.taken))
			g.Expect(b.stayed.Term != 0).To(Equal(c.keeps))
			if c.taken {
				g.Expect(b.statements).To(Equal([]string{"OFFLINE"}))
				g.Expect(out.Action).To(Equal("taken offline to follow rival-0"))
			} else {
				g.Expect(b.statements).To(BeEmpty())
			}
		})
	}
}

// One whose OFFLINE fails is asked again, unless it was OFFLINE and follows by itself by the time that it is looked at.
func TestABystanderWhoseOfflineFails(t *testing.T) {
	for name, c := range map[string]struct {
		role  ballot.Role
		keeps bool
	}{"it is SECONDARY": {ballot.RoleSecondary, false}, "it is RESOLVING": {ballot.RoleResolving, true}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			leading := votes.Record{Term: 5, State: votes.StateHeld, Holder: rival}
			b := newBench(t, alike(leading)...)
			b.stayed, b.refused = Promise{Term: 5, To: "rival-0"}, errAway
			before := b.seen
			before.Connected = false
			b.seen.Role = c.role
			out, done := b.comeAlong(t.Context(), leading, before)
			g.Expect(done).To(BeTrue())
			g.Expect(out.Err).To(MatchError(errAway))
			g.Expect(b.stayed.Term != 0).To(Equal(c.keeps))
		})
	}
}

// An engine that has the group no more has nothing to take OFFLINE, and one that does not answer is asked for nothing.
func TestNothingIsTakenOfflineThatIsNotSeen(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"the group is gone": func(b *bench) { b.seen.Exists = false },
		"it is silent":      func(b *bench) { b.unseen = errAway },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateClaimed)
			b.roles()
			b.claim.issued = true
			change(b)
			err := b.takeBack(t.Context())
			g.Expect(b.statements).To(BeEmpty())
			if b.unseen == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(errAway))
			}
		})
	}
}

// What becomes of a claim whose engine knows, by what no view tells, that the replica is not synchronized.
func TestWhoIsLetGoAfterARefusal(t *testing.T) {
	third := func(b *bench) { b.reporting("third-0", 1, "4") }
	for name, c := range map[string]struct {
		others  func(*bench)
		change  func(*bench)
		handed  bool
		offline bool
	}{
		"another one may be promoted": {others: third, handed: true},
		"a FAILOVER of this claim may be at work": {others: third, handed: true, offline: true,
			change: func(b *bench) { b.claim.issued = true }},
		"a person named this one": {others: third,
			change: func(b *bench) { b.claim.request = &votes.Request{ID: "f", To: "own-0"} }},
		"a person named nobody": {others: third, handed: true,
			change: func(b *bench) { b.claim.request = &votes.Request{ID: "f"} }},
		"it was forced":         {others: third, change: func(b *bench) { b.claim.force = true }},
		"too few have reported": {others: func(*bench) {}},
		"the other was refused, too": {others: func(b *bench) {
			third(b)
			r := b.reports["third-0"]
			r.Refused = true
			b.reports["third-0"] = r
		}},
		"the group is paused": {others: third, change: func(b *bench) { b.paused = true }},
		"failover is manual":  {others: third, change: func(b *bench) { b.manual = true }},
		"it is manual, and a person asked": {others: third, handed: true,
			change: func(b *bench) { b.manual, b.paused, b.claim.request = true, true, &votes.Request{ID: "f"} }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateClaimed)
			b.roles()
			c.others(b)
			mine, err := b.report(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			b.claim.reports = []ballot.Report{mine}
			if r, ok := b.reports["third-0"]; ok {
				b.claim.reports = append(b.claim.reports, r)
			}
			if c.change != nil {
				c.change(b)
			}
			out := b.unsynchronized(t.Context(), ErrNotSynchronized)
			g.Expect(out.Err).To(MatchError(ErrNotSynchronized))
			if c.handed {
				g.Expect(out.Action).To(Equal("handed term 4 over to third-0"))
			} else {
				g.Expect(out.Action).To(Equal("claim released"))
			}
			g.Expect(b.statements).To(Equal(map[bool][]string{true: {"OFFLINE"}}[c.offline]))
			report, err := b.report(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Refused).To(BeTrue(), "it says so from now on")
			b.shown.Sequence++
			report, err = b.report(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.Refused).To(BeFalse(), "another configuration is another matter")
		})
	}
}

// A claim is over after the expiry of its votes, or when a FAILOVER that the engine has taken, or not answered, has had
// its time.
func TestWhenAClaimIsOverdue(t *testing.T) {
	expiry, within := ballot.DefaultTimings().Expiry, 15*time.Second
	for name, c := range map[string]struct {
		sent    time.Duration
		refusal error
		after   time.Duration
		overdue bool
	}{
		"nothing was sent":                  {0, nil, expiry, false},
		"nothing was sent, later":           {0, nil, expiry + 1, true},
		"FAILOVER was sent":                 {time.Second, nil, time.Second + within, false},
		"FAILOVER was sent, later":          {time.Second, nil, time.Second + within + 1, true},
		"it was refused":                    {0, ErrRefused, expiry, false},
		"it was refused, later":             {0, ErrRefused, expiry + 1, true},
		"one was sent, and another refused": {time.Second, ErrRefused, time.Second + within, false},
	} {
		b := holding(t, votes.StateClaimed)
		at := b.clock.At
		if c.sent > 0 {
			b.claim.open = at + c.sent
		}
		b.claim.refusal = c.refusal
		NewWithT(t).Expect(b.overdue(at+c.after)).To(Equal(c.overdue), name)
	}
}

// After 41142 nothing was begun, unless by a FAILOVER before it whose answer left that open.
func TestWhatARefusalLeavesOpen(t *testing.T) {
	other := errors.New("silent")
	for name, c := range map[string]struct {
		answers []error
		issued  bool
		refusal error
	}{
		"taken":                 {[]error{nil}, true, nil},
		"not answered":          {[]error{other}, true, nil},
		"refused":               {[]error{ErrRefused}, true, ErrRefused},
		"not synchronized":      {[]error{ErrNotSynchronized}, false, ErrNotSynchronized},
		"not answered, then so": {[]error{other, ErrNotSynchronized}, true, ErrNotSynchronized},
		"refused, then so":      {[]error{ErrRefused, ErrNotSynchronized}, true, ErrNotSynchronized},
		"so, then refused":      {[]error{ErrNotSynchronized, ErrRefused}, true, ErrRefused},
		"refused, then taken":   {[]error{ErrRefused, nil}, true, nil},
	} {
		g := NewWithT(t)
		var of claim
		for _, err := range c.answers {
			of.issued = true
			of.note(time.Second, err)
		}
		g.Expect(of.issued).To(Equal(c.issued), name)
		if c.refusal == nil {
			g.Expect(of.refusal).NotTo(HaveOccurred(), name)
		} else {
			g.Expect(of.refusal).To(MatchError(c.refusal), name)
		}
	}
}
