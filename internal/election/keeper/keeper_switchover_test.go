// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

func TestSwitchover(t *testing.T) {
	w, g := held(t)
	for round, to := range []int{1, 0, 2, 0} {
		id := names[to] + string(rune('a'+round))
		w.ask(
			votes.Request{
				ID:           id,
				Kind:         votes.RequestSwitchover,
				To:           names[to],
				Failover:     "f",
				ExpectedTerm: w.voters[0].record.Term,
			},
		)
		w.live(4)
		g.Expect(w.primary()).To(Equal(w.servers[to]))
		g.Expect(w.answer(g)).
			To(And(HaveField("ID", id), HaveField("Outcome", votes.OutcomeDone),
				HaveField("Reason", votes.ReasonPromoted)))
		lines := w.timelines(g)
		g.Expect(lines[len(lines)-1]).To(And(HaveField("Cause", votes.CauseSwitchover), HaveField("RequestID", id),
			HaveField("Failover", "f"), HaveField("AllSynchronized", Not(BeNil()))))
	}
	term := w.voters[0].record.Term
	w.live(30)
	g.Expect(w.voters[0].record.Term).To(Equal(term), "a request is carried out once")
}

// A request stands on the vote where it was asked for, and each vote has one answer, the newest. What was done, or was
// refused, is not done when the voter that has a newer request is not heard.
func TestAnOlderRequestIsNotCarriedOutAfterANewerOne(t *testing.T) {
	for name, c := range map[string]struct {
		expected int64
		outcome  votes.AnswerOutcome
	}{
		"done":    {0, votes.OutcomeDone},
		"refused": {3, votes.OutcomeRefused},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.askAt(1, votes.Request{ID: "a", Kind: votes.RequestSwitchover, To: names[2], ExpectedTerm: c.expected})
			w.live(4)
			g.Expect(w.answer(g)).To(And(HaveField("ID", "a"), HaveField("Outcome", c.outcome)))
			term := w.voters[0].record.Term
			for _, to := range []int{1, 0} {
				w.askAt(2, votes.Request{ID: names[to], Kind: votes.RequestSwitchover, To: names[to]})
				w.live(4)
				g.Expect(w.primary()).To(Equal(w.servers[to]))
				term++
			}
			for _, s := range w.servers {
				s.cut[2] = true
			}
			w.live(30)
			g.Expect(w.voters[0].record.Term).To(Equal(term), "a request is carried out once")

			w.grow()
			w.order([]string{"site1", "site3", "site4"}, w.servers...)
			w.live(5)
			for _, s := range w.servers {
				s.cut[1] = true
			}
			w.live(30)
			g.Expect(w.configured().Voters).To(ContainElement("site4"))
			g.Expect(w.voters[4].record.Term).To(Equal(term), "new voters are told that it is over")
		})
	}
}

// goneAfterHandingOver waits until the primary has handed its next term over, and takes it away at that moment. It
// returns the run that it was.
func goneAfterHandingOver(w *world, g *WithT) votes.Holder {
	g.Eventually(func() string {
		w.advance(500 * time.Millisecond)
		w.replicate()
		return w.servers[0].step().Action
	}, time.Minute).Should(ContainSubstring("handed term 2 over to " + names[1]))
	former := w.servers[0].run.self
	w.servers[0].crash()
	w.servers[0].run.asleep = true
	return former
}

// The target of a switchover looks at the votes while it is being handed the next term, and finds that at one of them,
// or at none yet: it claims a term of its own, for the switchover. The old primary is away meanwhile.
func TestASwitchoverIsDoneByAClaimOfTheTargetsOwn(t *testing.T) {
	for handed := range 2 {
		t.Run(fmt.Sprintf("%d votes handed over", handed), func(t *testing.T) {
			w, g := held(t)
			w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
			former := goneAfterHandingOver(w, g)
			for _, v := range w.voters[handed:] {
				v.record.Term, v.record.State, v.record.Holder, v.version = 1, votes.StateReleased, former, v.version+1
			}
			w.live(15)
			carriedOut(w, g, BeEquivalentTo(handed+2))
		})
	}
	t.Run("the request is not seen", func(t *testing.T) {
		w, g := held(t)
		w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
		w.servers[1].cut[1] = true
		former := goneAfterHandingOver(w, g)
		v := w.voters[2]
		v.record.Term, v.record.State, v.record.Holder, v.version = 1, votes.StateReleased, former, v.version+1
		w.live(30)
		g.Expect(w.primary()).To(Equal(w.servers[1]), w.picture())
		w.servers[1].cut[1] = false
		w.live(5)
		carriedOut(w, g, BeEquivalentTo(3))
	})
}

// carriedOut expects the second server to have done what request s asks for, in such a term.
func carriedOut(w *world, g *WithT, term OmegaMatcher) {
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	g.Expect(w.answer(g)).
		To(And(HaveField("ID", "s"), HaveField("Outcome", votes.OutcomeDone),
			HaveField("Reason", votes.ReasonPromoted)))
	lines := w.timelines(g)
	g.Expect(lines[len(lines)-1]).
		To(And(HaveField("Cause", votes.CauseSwitchover), HaveField("RequestID", "s"), HaveField("To", names[1]),
			HaveField("Term", term)))
}

func TestASwitchoverIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(w *world)
		to      string
		reason  string
		term    int64
	}{
		"not synchronized": {prepare: func(w *world) { w.servers[1].isolate(true) }, to: names[1],
			reason: votes.ReasonNotSynchronized},
		"the primary": {to: names[0], reason: votes.ReasonAlreadyPrimary},
		"a stranger":  {to: "other-0", reason: votes.ReasonNotAReplica},
		"agent silent": {prepare: func(w *world) { w.servers[1].run.asleep = true }, to: names[1],
			reason: votes.ReasonTargetUnreachable},
		"data movement suspended": {prepare: shown(func(d *ballot.DatabaseState) { d.Suspended = true }), to: names[1],
			reason: votes.ReasonSuspended},
		"reverting": {prepare: shown(func(d *ballot.DatabaseState) { d.State = "REVERTING" }), to: names[1],
			reason: votes.ReasonReverting},
		"initializing": {prepare: shown(func(d *ballot.DatabaseState) { d.State = "INITIALIZING" }),
			to: names[1], reason: votes.ReasonReverting},
		"decided on too late": {to: names[1], term: 7, reason: votes.ReasonSuperseded},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			w.live(2)
			w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: tc.to, ExpectedTerm: tc.term})
			w.live(3)
			g.Expect(w.answer(g)).To(And(HaveField("Outcome", votes.OutcomeRefused), HaveField("Reason", tc.reason)))
			g.Expect(w.primary()).To(Equal(w.servers[0]))
			g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
		})
	}
}

// A replica that has just become synchronized hears of the configuration that says so after the primary: a switchover
// to it waits for that while the primary serves, and is refused when it never comes.
func TestASwitchoverWaitsUntilItsTargetKnowsTheConfiguration(t *testing.T) {
	for name, comes := range map[string]bool{"it comes": true, "it does not come": false} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.servers[1].run.behind = true
			w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
			w.live(3)
			g.Expect(w.primary()).To(Equal(w.servers[0]))
			g.Expect(w.voters[0].record.Term).To(Equal(int64(1)), "nothing is touched")
			w.servers[1].run.behind = !comes
			w.live(15)
			if comes {
				carriedOut(w, g, BeEquivalentTo(2))
				return
			}
			g.Expect(w.primary()).To(Equal(w.servers[0]))
			g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
			g.Expect(w.answer(g)).To(And(HaveField("Outcome", votes.OutcomeRefused),
				HaveField("Reason", votes.ReasonNotSynchronized)))
		})
	}
}

func TestAFailedSwitchoverReturnsToTheOldPrimary(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers {
		s.run.keeper.SetPolicy(false, true)
	}
	w.servers[1].run.refuse = true
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.live(15)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.answer(g)).To(And(HaveField("ID", "s"), HaveField("Outcome", votes.OutcomeFailed)))
}
