// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// A request is not lost with the first claim that is made for it, of which too few votes are heard: whoever asked has
// asked for the promotion, and for all that goes with it.
func TestARequestOutlivesAClaimThatIsNotGranted(t *testing.T) {
	for arriving := range 2 {
		for _, again := range []string{"tries again", "is restarted"} {
			t.Run(fmt.Sprintf("%d votes arrive, and the agent %s", arriving, again), func(t *testing.T) {
				w, g := held(t)
				for _, s := range w.servers {
					s.run.keeper.SetPolicy(false, true)
				}
				w.servers[0].isolate(true)
				w.live(15)
				g.Expect(w.primary()).To(BeNil(), "failover is manual")
				w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1]})
				s := w.servers[1]
				left := arriving
				s.swapsLeft = &left
				w.live(1)
				g.Expect(w.primary()).To(BeNil())
				s.swapsLeft = nil
				if again == "is restarted" {
					s.startAgent()
					s.run.keeper.SetPolicy(false, true)
				}
				w.live(30)
				g.Expect(w.primary()).To(Equal(s))
				g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "f"), HaveField("Outcome", votes.OutcomeDone))))
			})
		}
	}
}

// What has been done, or has failed, is not done again: not by an agent that is restarted before it could say so, nor
// in a later term.
func TestARequestIsNotBegunWithAgainOnceItHasEnded(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"its agent ends right after the promotion": func(w *world) {
			w.live(2)
			w.servers[1].startAgent()
		},
		"another one is primary since": func(w *world) {
			w.live(2)
			w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[2]})
			w.live(5)
			for _, v := range w.voters {
				v.record.Notes.Answer, v.version = "", v.version+1
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			for _, s := range w.servers {
				s.run.keeper.SetPolicy(false, true)
			}
			w.servers[0].isolate(true)
			w.live(15)
			w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1], ExpiresSeconds: 3600})
			end(w)
			for _, s := range w.servers {
				s.run.keeper.SetPolicy(false, true)
			}
			before := w.primary()
			if before != nil {
				before.isolate(true)
			}
			w.live(40)
			g.Expect(w.primary()).To(BeNil(), "failover is manual, and nobody has asked again")
		})
	}
}

// A Failover that the engine has refused has failed, and stays so: what the same server claims afterwards is by
// nobody's request.
func TestARequestThatTheEngineRefusedHasFailed(t *testing.T) {
	w, g := held(t)
	w.servers[0].isolate(true)
	w.servers[1].run.refuse, w.servers[2].run.refuse = true, true
	w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1], ExpiresSeconds: 3600})
	w.live(60)
	g.Expect(w.answers(g)).
		To(ContainElement(And(HaveField("ID", "f"), HaveField("Outcome", votes.OutcomeFailed),
			HaveField("Reason", votes.ReasonNotSynchronized))))
	asked := 0
	for _, t := range w.timelines(g) {
		if t.RequestID == "f" {
			asked++
		}
	}
	g.Expect(asked).To(BeNumerically("<=", 1))
}

// The one vote that was granted makes this server the holder by the newest term, of which the request says something
// else. It has begun with it by then: it is neither refused nor left.
func TestARequestThatWasBegunIsNotRefusedForItsOwnClaim(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers {
		s.run.keeper.SetPolicy(false, true)
		s.cut[2] = true
	}
	w.live(2)
	w.servers[0].isolate(true)
	w.servers[0].run.dead = true
	word := w.voters[0].record.Holder
	w.ask(
		votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1], FencedHolder: word.String(), ExpectedTerm: 1},
	)
	left := 1
	w.servers[1].swapsLeft = &left
	w.live(1)
	g.Expect(w.primary()).To(BeNil())
	w.servers[1].swapsLeft = nil
	w.live(20)
	g.Expect(w.refused(g, "f")).To(BeFalse())
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "f"), HaveField("Outcome", votes.OutcomeDone))))
}
