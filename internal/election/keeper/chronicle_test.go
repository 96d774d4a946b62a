// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// When a primary may commit, and when all that take part are synchronized, in every one of its databases.
func TestWhenAPrimaryIsSynchronized(t *testing.T) {
	row := func(server, name, state string) ballot.DatabaseState {
		return ballot.DatabaseState{Server: server, Name: name, State: state, Local: server == "own-0"}
	}
	full := []ballot.DatabaseState{
		row("own-0", "App", "SYNCHRONIZED"), row("own-0", "Shop", "SYNCHRONIZED"),
		row("RIVAL-0", "App", "SYNCHRONIZED"), row("rival-0", "Shop", "SYNCHRONIZED"),
		row("third-0", "App", "SYNCHRONIZED"), row("third-0", "Shop", "SYNCHRONIZED"),
		row("async-0", "App", "SYNCHRONIZED"), row("async-0", "Shop", "SYNCHRONIZED"),
	}
	without := func(server, name string) []ballot.DatabaseState {
		rows := append([]ballot.DatabaseState(nil), full...)
		for i := range rows {
			if rows[i].Server == server && rows[i].Name == name {
				rows[i].State = "SYNCHRONIZING"
			}
		}
		return rows
	}
	for name, c := range map[string]struct {
		rows        []ballot.DatabaseState
		required    int
		enough, all bool
	}{
		"all are":                      {full, 2, true, true},
		"more are needed":              {full, 3, false, true},
		"one is not, in the second":    {without("third-0", "Shop"), 1, true, false},
		"one is not, in the first":     {without("third-0", "App"), 1, true, false},
		"one is not that is needed":    {without("third-0", "App"), 2, false, false},
		"the asynchronous one is not":  {without("async-0", "App"), 2, true, true},
		"none is shown":                {full[:2], 0, true, false},
		"the local ones are not shown": {full[2:], 2, false, false},
		"one local one is not shown":   {append([]ballot.DatabaseState{full[0]}, full[2:]...), 2, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := ballot.Inspection{
				Required:  c.required,
				Names:     []string{"App", "Shop"},
				Databases: c.rows,
				Replicas: []ballot.Replica{
					{
						Server: "own-0",
						Mode:   ballot.ModeSynchronous,
					},
					{Server: "rival-0", Mode: ballot.ModeSynchronous},
					{Server: "third-0", Mode: ballot.ModeSynchronous},
					{Server: "async-0", Mode: ballot.ModeAsynchronous},
					{Server: "only-0", Mode: ballot.ModeConfigurationOnly},
				},
			}
			enough, all := i.Synchronized()
			g.Expect(enough).To(Equal(c.enough))
			g.Expect(all).To(Equal(c.all))

			b := holding(t, votes.StateHeld)
			b.shown = i
			b.chronicle.line = &votes.Timeline{Term: 3, Outcome: votes.OutcomeAccepted}
			b.chronicle.follow(t.Context(), b.Keeper)
			g.Expect(b.chronicle.line.FirstWrite != nil).To(Equal(c.enough))
			g.Expect(b.chronicle.line.AllSynchronized != nil).To(Equal(c.all))
			g.Expect(b.chronicle.line.Outcome == votes.OutcomeDone).To(Equal(c.all))
		})
	}
}

// What a forced failover may cost goes by what each replica itself has: the fork is the end of this one's own log, and
// the lost range ends where the longest of the others' does.
func TestWhatAForcedFailoverMayCost(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	rows := func(server, app, shop string) []ballot.DatabaseState {
		all := []ballot.DatabaseState{
			{Server: "third-0", Name: "App", HardenedLSN: "99"},
			{Server: server, Name: "App", Local: true, HardenedLSN: app, LastCommit: &at},
			{Server: server, Name: "Shop", Local: true, HardenedLSN: shop},
			// What its views show of others may be old.
			{Server: "own-0", Name: "App", HardenedLSN: "99"}, {Server: "other-0", Name: "Shop", HardenedLSN: "99"},
		}
		return all
	}
	report := func(server, app, shop string) ballot.Report {
		return ballot.Report{Server: server, Inspection: ballot.Inspection{Databases: rows(server, app, shop)}}
	}
	for name, c := range map[string]struct {
		from    string
		reports []ballot.Report
		known   bool
		app     string
		shop    string
	}{
		"alone": {"rival-0", []ballot.Report{report("own-0", "5", "5")}, false, "5", "5"},
		"the former primary reports": {
			"RIVAL-0", []ballot.Report{report("own-0", "5", "5"), report("rival-0", "9", "4")}, true, "9", "5",
		},
		"another reports": {
			"rival-0", []ballot.Report{report("own-0", "5", "5"), report("third-0", "4", "6")}, false, "5", "6",
		},
		"it was the primary itself": {"own-0", []ballot.Report{report("own-0", "5", "5")}, false, "5", "5"},
		"the first of two has more": {
			"rival-0", []ballot.Report{report("rival-0", "9", "5"), report("own-0", "5", "5")}, true, "9", "5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := holding(t, votes.StateClaimed)
			b.chronicle.line = &votes.Timeline{Term: 3, From: c.from, To: "own-0"}
			b.chronicle.estimate(b.Keeper, c.reports)
			g.Expect(b.chronicle.fork).To(Equal(&votes.Fork{Term: 3, Server: "own-0",
				Databases: map[string]string{"App": "5", "Shop": "5"}}))
			lost := b.chronicle.line.Lost
			g.Expect(lost.Known).To(Equal(c.known))
			g.Expect(lost.Databases).To(HaveLen(2))
			g.Expect(lost.Databases[0]).To(And(HaveField("Name", "App"), HaveField("FromLSN", "5"), HaveField("ToLSN", c.app),
				HaveField("LastCommit", Equal(votes.MicroTime(at))), HaveField("OldLastCommit", Equal(votes.MicroTime(at)))))
			g.Expect(lost.Databases[1]).To(And(HaveField("Name", "Shop"), HaveField("ToLSN", c.shop),
				HaveField("LastCommit", BeNil()), HaveField("OldLastCommit", BeNil())))
			g.Expect(b.chronicle.recorded()).To(BeFalse())
		})
	}
}

// A claim that is handed on keeps its cause and the server that held the term before; where no history is written it is
// this server's own.
func TestWhatAClaimIsHandedOnWith(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, votes.StateClaimed)
	g.Expect(b.chronicle.from(b.Keeper)).To(Equal("own-0"))
	g.Expect(b.chronicle.cause()).To(Equal(votes.CauseAutomatic))
	b.chronicle.line = &votes.Timeline{Term: 3, From: "rival-0", Cause: votes.CauseRestart}
	g.Expect(b.chronicle.from(b.Keeper)).To(Equal("rival-0"))
	g.Expect(b.chronicle.cause()).To(Equal(votes.CauseRestart))
}

// A promotion answers the request that led to it, and no other.
func TestAPromotionAnswersItsRequest(t *testing.T) {
	for id, answered := range map[string]bool{"d": true, "x": false, "": false} {
		g := NewWithT(t)
		b := asked(t, votes.Request{Kind: votes.RequestFailover}, nil)
		b.ballot.Read(t.Context(), ballot.Patient)
		if id != "" {
			b.chronicle.line = &votes.Timeline{Term: 3, RequestID: id}
		}
		b.chronicle.promoted(b.Keeper)
		g.Expect(b.requests.answer != nil).To(Equal(answered), id)
		if b.chronicle.line != nil {
			g.Expect(b.chronicle.line.Promoted).NotTo(BeNil())
		}
	}
}

// An answer does not take the place of one to a newer request, which would be open again then.
func TestAnAnswerStaysBesideNoNewerOne(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).UTC()
	for name, c := range map[string]struct {
		there votes.Answer
		told  bool
	}{
		"to an older one":       {votes.Answer{ID: "x", Issued: at.Add(-1)}, true},
		"to a newer one":        {votes.Answer{ID: "x", Issued: at.Add(1)}, false},
		"its own, accepted":     {votes.Answer{ID: "d", Issued: at.Add(1), Outcome: votes.OutcomeAccepted}, true},
		"its own, done":         {votes.Answer{ID: "d", Issued: at, Outcome: votes.OutcomeDone}, false},
		"of an earlier release": {votes.Answer{ID: "x"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival,
				Notes: votes.Notes{Answer: votes.EncodeNote(c.there)}})...)
			b.ballot.Read(t.Context(), ballot.Patient)
			b.requests.settle(b.Keeper, &votes.Request{ID: "d", Issued: at}, votes.OutcomeFailed, "", "")
			g.Expect(b.dueNotes().Answer != "").To(Equal(c.told))
			g.Expect(b.requests.answer != nil).To(Equal(c.told))
		})
	}
}

// The other replicas are looked for until they are known, and once.
func TestPartnersAreMetOnce(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
	g.Expect(b.meetPartners(t.Context())).To(Succeed())
	g.Expect(b.Partners()).To(Equal([]string{"rival-0", "third-0"}))
	b.shown.Replicas = b.shown.Replicas[:2]
	g.Expect(b.meetPartners(t.Context())).To(Succeed())
	g.Expect(b.Partners()).To(HaveLen(2))
	b = newBench(t, alike(votes.Record{Term: 3, State: votes.StateHeld, Holder: rival})...)
	b.unshown = errAway
	g.Expect(b.meetPartners(t.Context())).To(MatchError(ContainSubstring("looking at the replicas of group content")))
}

// An engine that has ended is released, and where no voter took that it is said.
func TestTheEndOfAnEngineIsTold(t *testing.T) {
	g := NewWithT(t)
	b := holding(t, votes.StateHeld)
	out, held := b.EngineEnded(t.Context())
	g.Expect(held).To(BeTrue())
	g.Expect(out.Err).NotTo(HaveOccurred())
	g.Expect(b.voters[0].Record.State).To(Equal(votes.StateReleased))
	_, held = b.EngineEnded(t.Context())
	g.Expect(held).To(BeFalse())

	b = holding(t, votes.StateHeld)
	for _, v := range b.voters {
		v.Absent, v.Version = true, v.Version+1
	}
	out, _ = b.EngineEnded(t.Context())
	g.Expect(out.Err).To(MatchError(ContainSubstring("no voter took the release of term 3")))
}
