// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A voter that was away while a pause was ended says "paused" still when it is back. Whatever was asked for meanwhile,
// the pause is over: nobody would know why there is no election at the next fault.
func TestAPauseThatWasEndedStaysSoWhenAVoterIsBack(t *testing.T) {
	w, g := held(t)
	w.ask(votes.Request{ID: "p", Kind: votes.RequestPause})
	w.live(3)
	away := w.voters[2]
	g.Expect(away.record.Notes.Paused).To(Equal("true"))
	for _, s := range w.servers {
		s.cut[2] = true
	}
	w.live(2)
	w.ask(votes.Request{ID: "r", Kind: votes.RequestResume})
	w.live(3)
	g.Expect(w.answer(g)).To(And(HaveField("ID", "r"), HaveField("Outcome", votes.OutcomeDone)))
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.live(5)
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	for _, s := range w.servers {
		s.cut[2] = false
	}
	w.live(5)
	w.servers[1].isolate(true)
	w.live(30)
	g.Expect(w.primary()).NotTo(BeNil(), "the group is not paused")
}

// A Pause stands on the vote where it was asked for until another request takes its place there. An agent that reads
// that vote alone, as one that has just started, finds no answer to it once a later request was answered; it does not
// carry it out a second time after the group was resumed.
func TestAPauseThatWasEndedIsNotCarriedOutAgain(t *testing.T) {
	w, g := held(t)
	w.ask(votes.Request{ID: "p", Kind: votes.RequestPause}) // on the vote of the second site
	w.live(3)
	elsewhere := func(r votes.Request) {
		pause := w.voters[1].record.Notes.Request
		w.ask(r)
		w.voters[0].record.Notes.Request, w.voters[1].record.Notes.Request = w.voters[1].record.Notes.Request, pause
		w.voters[0].version++
		w.live(3)
		g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", r.ID), HaveField("Outcome", votes.OutcomeDone))))
	}
	elsewhere(votes.Request{ID: "r", Kind: votes.RequestResume})
	elsewhere(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	started := w.servers[0]
	started.startAgent()
	started.cut[0] = true
	w.servers[1].crash()
	w.live(15)
	for i, v := range w.voters {
		g.Expect(v.record.Notes.Paused).To(Equal("false"), "vote %d: %s", i, v.record.Notes.Answer)
	}
	started.cut[0] = false
	w.live(5)
	g.Expect(w.primary()).NotTo(BeNil())
	w.primary().isolate(true)
	w.live(30)
	g.Expect(w.primary()).NotTo(BeNil(), "the group is not paused")
}

// A request that has expired when it is first read says so, with both times: where it was made a clock may be behind.
func TestARequestOfAClockThatIsBehindSaysSo(t *testing.T) {
	w, g := held(t)
	w.askBefore(5*time.Minute, votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.live(2)
	g.Expect(w.answer(g)).
		To(And(HaveField("ID", "s"), HaveField("Reason", votes.ReasonExpired),
			HaveField("Message", ContainSubstring("the clock is right"))))
}

// What nobody may begin with any more is answered although it is nobody's: no server is named, or that one is away, and
// nobody holds the votes.
func TestARequestOfNobodysExpires(t *testing.T) {
	for name, request := range map[string]votes.Request{
		"a failover to whoever is best":    {Kind: votes.RequestFailover},
		"a switchover to one that is away": {Kind: votes.RequestSwitchover, To: names[0]},
		"a reseed of one that is away":     {Kind: votes.RequestReseed, To: names[0]},
		"a resume":                         {Kind: votes.RequestResume},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.askBefore(10*time.Minute, votes.Request{ID: "p", Kind: votes.RequestPause, ExpiresSeconds: 3600})
			w.live(3)
			w.servers[0].isolate(true)
			w.live(20)
			g.Expect(w.primary()).To(BeNil(), "paused")
			request.ID = "x"
			w.askBefore(5*time.Minute, request)
			w.live(30)
			g.Expect(w.answers(g)).
				To(ContainElement(And(HaveField("ID", "x"), HaveField("Outcome", votes.OutcomeRefused),
					HaveField("Reason", votes.ReasonExpired))))
		})
	}
}

// A clock that is ahead where something was asked for makes it wait no longer than it may.
func TestARequestOfAClockThatIsAheadExpires(t *testing.T) {
	w, g := held(t)
	w.ask(votes.Request{ID: "p", Kind: votes.RequestPause})
	w.live(3)
	w.servers[0].isolate(true)
	w.live(20)
	at := w.now
	w.now += 3 * time.Hour
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[0], ExpiresSeconds: 30})
	w.now = at
	w.live(90)
	g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "s"), HaveField("Reason", votes.ReasonExpired))))
	w.servers[0].isolate(false)
	w.live(20)
	g.Expect(w.primary()).To(BeNil(), "paused, and nobody is asked any more")
}

// While a group is paused a primary whose lease has run out does not come back by itself. A person's word makes it, or
// another, primary all the same.
func TestAPausedGroupWhoseLeaseRanOutDoesAsItIsTold(t *testing.T) {
	for _, to := range names[:2] {
		t.Run(to, func(t *testing.T) {
			w, g := held(t)
			w.ask(votes.Request{ID: "p", Kind: votes.RequestPause})
			w.live(3)
			r := w.servers[0].run
			r.role, r.ready = ballot.RoleResolving, false
			w.live(20)
			g.Expect(w.primary()).To(BeNil(), "paused")
			w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: to})
			w.live(15)
			g.Expect(w.answers(g)).To(ContainElement(And(HaveField("ID", "f"), HaveField("Outcome", votes.OutcomeDone))))
			g.Expect(w.primary()).NotTo(BeNil())
			g.Expect(w.primary().name).To(Equal(to))
		})
	}
}
