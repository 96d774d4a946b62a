// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// forced is a group whose second server was forced to be primary while the first, which was it, and the third were
// away. All are back; the first is quarantined.
func forced(t *testing.T) (w *world, g *WithT, line votes.Timeline) {
	t.Helper()
	w, g = held(t)
	w.servers[1].isolate(true)
	w.live(5)
	w.servers[2].isolate(true)
	w.servers[0].isolate(true)
	w.servers[1].isolate(false)
	w.live(15)
	g.Expect(w.primary()).To(BeNil(), "nobody can be promoted without loss")
	w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1], AllowDataLoss: true})
	w.live(5)
	g.Expect(w.forced).To(BeTrue())
	g.Expect(w.servers[1].run.role).To(Equal(ballot.RolePrimary))
	lines := w.timelines(g)
	line = lines[len(lines)-1]
	w.servers[2].isolate(false)
	w.servers[0].isolate(false)
	w.servers[0].run.suspended = true
	w.live(8)
	g.Expect(w.servers[0].memory.Quarantined).To(Equal(line.Term))
	g.Expect(w.servers[0].run.suspended).To(BeTrue(), "nothing is resumed")
	return w, g, line
}

// A replica that was not synchronized is forced: its cost is on record, the old primary is quarantined with what it
// alone has, and comes back when a person says so.
func TestForcedFailover(t *testing.T) {
	w, g, line := forced(t)
	g.Expect(line.Lost).NotTo(BeNil())
	g.Expect(line.Lost.Known).To(BeFalse(), "the old primary could not be asked")
	apart := func() []votes.Apart {
		return votes.QuarantinedReplicas(w.voters[0].record, w.voters[1].record, w.voters[2].record)
	}
	g.Expect(apart()).
		To(ContainElement(And(
			HaveField("Server", names[0]),
			HaveField("Term", line.Term),
			HaveField("Over", BeFalse()),
			HaveField(
				"Databases",
				ConsistOf(And(HaveField("Name", "Content"), HaveField("FromLSN", line.Lost.Databases[0].FromLSN),
					HaveField("ToLSN", fmt.Sprint(len(w.servers[0].log))))),
			),
		)), "the votes tell what the old primary alone has")
	w.ask(votes.Request{ID: "j", Kind: votes.RequestRejoin, To: names[0]})
	w.live(3)
	g.Expect(w.servers[0].run.suspended).To(BeFalse())
	g.Expect(w.answer(g)).To(And(HaveField("ID", "j"), HaveField("Outcome", votes.OutcomeDone)))
	w.live(2)
	g.Expect(apart()).
		To(ContainElement(And(HaveField("Server", names[0]), HaveField("Term", line.Term), HaveField("Over", BeTrue()))))
}

// answers are those at all voters: a final one at any of them counts.
func (w *world) answers(g *WithT) (all []votes.Answer) {
	for _, v := range w.voters {
		a, _, err := votes.ParseAnswer(map[string]string{votes.AnnotationAnswer: v.record.Notes.Answer})
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, a)
	}
	return all
}

// What a person decided about a quarantined replica is carried out once, and whoever asked is told so, though the agent
// ends, or no voter takes its word, just then: Refused would say that nothing was touched.
func TestADecisionThatWasCarriedOutIsNotCalledRefused(t *testing.T) {
	for _, kind := range []votes.RequestKind{votes.RequestRejoin, votes.RequestReseed} {
		for _, arriving := range []int{0, 1, 3, 4} {
			t.Run(fmt.Sprintf("%s, %d writes arrive", kind, arriving), func(t *testing.T) {
				w, g, _ := forced(t)
				s := w.servers[0]
				w.ask(votes.Request{ID: "d", Kind: kind, To: names[0]})
				s.swapsLeft = &arriving
				w.live(2)
				s.swapsLeft = nil
				s.startAgent()
				w.live(5)
				g.Expect(s.memory.Quarantined).To(BeZero())
				g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "d"), HaveField("Outcome", votes.OutcomeDone))))
				g.Expect(w.answers(g)).
					NotTo(ContainElement(And(HaveField("ID", "d"), HaveField("Outcome", votes.OutcomeRefused))))
				if kind == votes.RequestReseed {
					g.Expect(s.run.reseeded).To(Equal(1))
				}
			})
		}
	}
}

// Copies are given up only for a primary that can seed them: the quarantined ones may be all there is.
func TestNothingIsReseededWithoutAPrimary(t *testing.T) {
	w, g, _ := forced(t)
	w.servers[1].isolate(true)
	w.servers[2].isolate(true)
	w.live(3)
	w.ask(votes.Request{ID: "r", Kind: votes.RequestReseed, To: names[0]})
	w.live(20)
	g.Expect(w.servers[0].run.reseeded).To(BeZero())
	g.Expect(w.servers[0].memory.Quarantined).NotTo(BeZero())
	g.Expect(w.answer(g)).
		To(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeRefused),
			HaveField("Reason", votes.ReasonNoPrimary)))
}

// A reseed whose DROP fails is tried again, and never called Refused: some of the copies may be gone.
func TestAReseedThatFailsIsNotCalledRefused(t *testing.T) {
	w, g, _ := forced(t)
	w.servers[0].run.reseedErr = errors.New("database is in use")
	w.ask(votes.Request{ID: "r", Kind: votes.RequestReseed, To: names[0], ExpiresSeconds: 20})
	w.live(30)
	g.Expect(w.servers[0].run.reseeded).To(BeNumerically(">", 1))
	g.Expect(w.answer(g)).To(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeAccepted)))
	w.servers[0].run.reseedErr = nil
	w.live(3)
	g.Expect(w.answer(g)).To(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeDone)))
}

// refused says whether any voter has it that a request was refused.
func (w *world) refused(g *WithT, id string) bool {
	for _, a := range w.answers(g) {
		if a.ID == id && a.Outcome == votes.OutcomeRefused {
			return true
		}
	}
	return false
}

// A primary that is away for a moment refuses no reseed, and nothing is given up until it is back.
func TestAReseedWaitsForAPrimaryThatIsSoonBack(t *testing.T) {
	w, g, _ := forced(t)
	w.servers[1].isolate(true)
	w.ask(votes.Request{ID: "r", Kind: votes.RequestReseed, To: names[0]})
	w.live(1)
	g.Expect(w.servers[0].run.reseeded).To(BeZero())
	g.Expect(w.refused(g, "r")).To(BeFalse())
	w.servers[1].isolate(false)
	w.live(5)
	g.Expect(w.servers[0].run.reseeded).To(Equal(1))
	g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeDone))))
}

// What was begun is not called Refused for what it has itself done, or for a primary that is lost meanwhile.
func TestAReseedThatWasBegunIsNeverRefused(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"the suspended copy is gone": func(w *world) {
			w.servers[0].run.suspended = false
			w.live(5)
		},
		"the primary is lost": func(w *world) {
			w.servers[1].isolate(true)
			w.servers[2].isolate(true)
			w.live(20)
			w.servers[1].isolate(false)
			w.servers[2].isolate(false)
			w.live(10)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, g, _ := forced(t)
			w.ask(votes.Request{ID: "j", Kind: votes.RequestRejoin, To: names[0]})
			w.live(5)
			s := w.servers[0]
			s.run.suspended, s.run.reseedErr = true, errors.New("database is in use")
			w.ask(votes.Request{ID: "r", Kind: votes.RequestReseed, To: names[0]})
			w.live(3)
			g.Expect(s.memory).To(And(HaveField("Begun", "r"), HaveField("Quarantined", BeZero())))
			meanwhile(w)
			g.Expect(w.refused(g, "r")).To(BeFalse())
			s.run.reseedErr = nil
			w.live(5)
			g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeDone))))
		})
	}
}

// Data loss was allowed, and none was needed: the replica had every acknowledged write. What the old primary alone has
// was never acknowledged, so it comes back by itself, as after any other failover, and nothing is called lost.
func TestAFailoverThatLosesNothingQuarantinesNobody(t *testing.T) {
	w, g := held(t)
	w.servers[0].isolate(true)
	w.live(4)
	g.Expect(len(w.servers[0].log)).To(BeNumerically(">", len(w.servers[1].log)), "written, and not acknowledged")
	w.servers[0].run.suspended = true
	w.live(6)
	w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1], AllowDataLoss: true})
	w.servers[2].run.keeper.SetPolicy(true, false)
	w.live(15)
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	g.Expect(w.forced).To(BeFalse())
	lines := w.timelines(g)
	g.Expect(lines[len(lines)-1]).To(And(HaveField("RequestID", "f"), HaveField("Lost", BeNil())))
	w.servers[0].isolate(false)
	w.live(10)
	g.Expect(w.servers[0].memory.Quarantined).To(BeZero())
	g.Expect(w.servers[0].run.suspended).To(BeFalse())
}

// Too few replicas are left for a majority, and a person allows data loss without naming a server: the one is forced
// that has the most of those that report, whoever was the first to claim.
func TestAForcedFailoverTakesTheReplicaThatHasTheMost(t *testing.T) {
	for _, behind := range []int{1, 2} {
		t.Run(names[behind]+" is behind", func(t *testing.T) {
			w, g := held(t)
			w.servers[behind].isolate(true)
			w.live(5)
			w.breaks.lostReplicas = true
			w.servers[0].isolate(true)
			w.servers[behind].isolate(false)
			for _, s := range w.servers {
				s.run.keeper.SetPolicy(false, true)
			}
			w.live(30)
			g.Expect(w.primary()).To(BeNil())
			most := w.servers[3-behind]
			g.Expect(len(most.log)).To(BeNumerically(">", len(w.servers[behind].log)))
			w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, AllowDataLoss: true})
			w.live(15)
			g.Expect(w.primary()).To(Equal(most))
			g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "f"), HaveField("Outcome", votes.OutcomeDone))))
		})
	}
}

// A replica that is not quarantined is reseeded when a copy of it is stale: left outside of the group, by name or with
// the others. One that is written to beside the group is not given up, and neither is one that follows.
func TestAStaleCopyIsReseeded(t *testing.T) {
	for name, c := range map[string]struct {
		request votes.Request
		outside string
		outcome votes.AnswerOutcome
		reason  string
		gaveUp  []string
	}{
		"left outside, of the replica": {votes.Request{Kind: votes.RequestReseed}, "RESTORING", votes.OutcomeDone,
			"", []string{"Content"}},
		"left outside, by name": {votes.Request{Kind: votes.RequestReseedDatabases,
			Databases: []string{"content"}}, "RESTORING", votes.OutcomeDone, "", []string{"Content"}},
		"written to beside the group": {votes.Request{Kind: votes.RequestReseed}, "ONLINE", votes.OutcomeRefused,
			votes.ReasonOwnData, nil},
		"another group's database": {votes.Request{Kind: votes.RequestReseedDatabases,
			Databases: []string{"Shop"}}, "RESTORING", votes.OutcomeRefused, votes.ReasonNoSuchDatabase, nil},
		"a replica of which all follow": {votes.Request{Kind: votes.RequestReseed}, "", votes.OutcomeRefused,
			votes.ReasonNotQuarantined, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			s := w.servers[1]
			s.run.outside = c.outside
			c.request.ID, c.request.To = "r", names[1]
			w.ask(c.request)
			w.live(10)
			g.Expect(w.answers(g)).
				To(ContainElement(And(HaveField("ID", "r"), HaveField("Outcome", c.outcome),
					HaveField("Reason", ContainSubstring(c.reason)))))
			g.Expect(s.run.gaveUp).To(Equal(c.gaveUp))
			g.Expect(s.memory.Cleared).To(BeZero())
		})
	}
}
