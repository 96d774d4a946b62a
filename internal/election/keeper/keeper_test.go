// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// held is a world whose first server is primary and has been for two seconds.
func held(t *testing.T) (*world, *WithT) {
	t.Helper()
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	g.Expect(w.servers[0].step().Term).To(Equal(int64(1)))
	w.create()
	w.live(2)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record.State).To(Equal(votes.StateHeld))
	t.Cleanup(func() { g.Expect(w.fault).NotTo(HaveOccurred()) })
	return w, g
}

// isolate cuts a server off from all voters and all other servers, or joins it again.
func (s *server) isolate(cut bool) {
	for i := range s.cut {
		s.cut[i] = cut
	}
	for _, name := range names {
		s.apart[name] = cut && name != s.name
	}
}

// timelines of all terms that the first voter has.
func (w *world) timelines(g *WithT) []votes.Timeline {
	lines, err := votes.ParseTimelines(
		map[string]string{votes.AnnotationTimelines: w.voters[0].record.Notes.Timelines},
	)
	g.Expect(err).NotTo(HaveOccurred())
	return lines
}

func (w *world) answer(g *WithT) votes.Answer {
	a, _, err := votes.ParseAnswer(map[string]string{votes.AnnotationAnswer: w.voters[0].record.Notes.Answer})
	g.Expect(err).NotTo(HaveOccurred())
	return a
}

// ask writes a request at one voter, as kubectl does.
func (w *world) ask(r votes.Request) { w.askAt(1, r) }

// askBefore writes a request that says that it was issued that long ago.
func (w *world) askBefore(ago time.Duration, r votes.Request) {
	at := w.now
	w.now -= ago
	w.ask(r)
	w.now = at
}

func (w *world) askAt(voter int, r votes.Request) {
	r.Issued = clock{w.servers[0]}.Wall()
	annotations := map[string]string{}
	r.Annotate(annotations)
	w.voters[voter].record.Notes.Request = annotations[votes.AnnotationRequest]
	w.voters[voter].version++
}

func TestHolderRenewsItsLease(t *testing.T) {
	w, g := held(t)
	w.live(60)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
}

func TestOnlyTheInitialPrimaryClaimsTheFirstTerm(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	w.servers[0].run.asleep = true
	w.live(30)
	g.Expect(w.voters[0].record.Term).To(BeZero())
}

// The manager may take longer to make the group than a claim may last, and its engine shows it RESOLVING for a moment.
// The first term is not given up for that: no other server has the group, and none could give it another primary.
func TestTheFirstTermWaitsForItsGroup(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	g.Expect(w.servers[0].step().Term).To(Equal(int64(1)))
	w.live(60)
	g.Expect(w.voters[0].record.State).To(Equal(votes.StateClaimed))
	w.create()
	w.servers[1].exists, w.servers[2].exists = false, false
	first := w.servers[0].run
	first.role, first.ready = ballot.RoleResolving, false
	w.live(3)
	first.role, first.ready, first.lease = ballot.RolePrimary, true, w.now+w.timings.WriteLease
	w.live(3)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
	g.Expect(w.fault).NotTo(HaveOccurred())
}

func TestAGroupWhoseVotesWereLostIsNotClaimed(t *testing.T) {
	w, g := held(t)
	for _, v := range w.voters {
		v.record, v.version = votes.Record{State: votes.StateReleased, InitialPrimary: names[0]}, v.version+1
	}
	for _, s := range w.servers {
		s.startAgent() // one that remembers no higher term
	}
	w.advance(time.Second)
	out := w.servers[0].step()
	g.Expect(out.Action).To(Equal("taken offline"))
	g.Expect(out.Err).To(MatchError(ContainSubstring("votes were lost")))
	w.live(30)
	g.Expect(w.writers()).To(BeEmpty())
}

// A step in which neither engine nor voters answer takes two API time-outs: the engine is dead before the votes expire
// all the same.
func TestAFrozenEngineWithoutVotesIsKilledInTime(t *testing.T) {
	w, g := held(t)
	timings := ballot.DefaultTimings()
	w.servers[0].isolate(true)
	r := w.servers[0].run
	r.frozen = true
	w.advance(timings.Acknowledge + timings.WriteLease - 10*time.Millisecond - 3*2*timings.APITimeout)
	for range 3 {
		w.servers[0].step()
		g.Expect(r.dead).To(BeFalse())
		w.advance(2 * timings.APITimeout)
	}
	g.Expect(w.servers[0].step().Action).To(Equal("engine killed"), "the next step may be over after D(1-e)")
	g.Expect(r.dead).To(BeTrue())
}

func TestAnotherServerIsPromotedWhenTheVotesExpire(t *testing.T) {
	w, g := held(t)
	w.servers[0].isolate(true)
	before := len(w.acked)
	w.live(9)
	g.Expect(w.primary()).To(BeNil(), "nobody before the votes have expired")
	w.live(6)
	p := w.primary()
	g.Expect(p).NotTo(BeNil())
	g.Expect(p).NotTo(Equal(w.servers[0]))
	g.Expect(len(w.acked)).To(BeNumerically(">", before))
	w.servers[0].isolate(false)
	w.live(5)
	g.Expect(w.primary()).To(Equal(p), "the old primary does not come back as one")
	g.Expect(w.servers[0].run.role).To(Equal(ballot.RoleSecondary), "it rejoins by itself")
	g.Expect(w.servers[0].log).To(Equal(p.log))
	ended := w.servers[0].run.cleared
	g.Expect(ended).To(BeNumerically(">=", 3), "the listener may still lead to it: whoever comes is sent away again")
	w.live(2)
	g.Expect(w.servers[0].run.cleared).To(BeNumerically(">", ended))
	w.live(10)
	ended = w.servers[0].run.cleared
	w.live(10)
	g.Expect(w.servers[0].run.cleared).To(Equal(ended), "the listener has moved, and readers stay")
	for _, s := range w.servers[1:] {
		g.Expect(s.run.cleared).To(BeZero(), "the listener never led to %s", s.name)
	}
	lines := w.timelines(g)
	last := lines[len(lines)-1]
	g.Expect(last).
		To(And(
			HaveField("Cause", votes.CauseAutomatic),
			HaveField("From", names[0]),
			HaveField("To", p.name),
			HaveField("Suspected", Not(BeNil())),
			HaveField("Claimed", Not(BeNil())),
			HaveField("Fenced", Not(BeNil())),
			HaveField(
				"Promoted",
				Not(BeNil()),
			),
			HaveField("FirstWrite", Not(BeNil())),
			HaveField("AllSynchronized", Not(BeNil())),
			HaveField("Outcome", votes.OutcomeDone),
		))
}

// A suspicion that somebody else has acted on is over with the next holder's first word: what comes later is not timed
// from it.
func TestASuspicionEndsWithItsReason(t *testing.T) {
	w, g := held(t)
	w.servers[0].isolate(true)
	w.live(15)
	led := w.primary()
	g.Expect(led).NotTo(BeNil())
	w.servers[0].isolate(false)
	w.live(60)
	for n, to := range append(w.servers, w.servers...) {
		if to == w.primary() {
			continue
		}
		asked := w.wall()
		w.ask(votes.Request{ID: strconv.Itoa(n), Kind: votes.RequestSwitchover, To: to.name})
		w.live(20)
		g.Expect(w.primary()).To(Equal(to))
		lines := w.timelines(g)
		last := lines[len(lines)-1]
		g.Expect(last.Cause).To(Equal(votes.CauseSwitchover))
		g.Expect(last.Suspected.Time).To(BeTemporally(">=", asked))
	}
}

func TestAnEndedEngineIsNotWaitedFor(t *testing.T) {
	w, g := held(t)
	w.servers[0].run.dead = true
	w.servers[0].run.keeper.EngineEnded(t.Context())
	w.live(2)
	g.Expect(w.primary()).NotTo(BeNil(), "the agent that saw the engine end has released the term")
}

// A rival that claimed the same term in vain has left one vote: the holder takes it over, else it would go on with one
// vote less for the whole term.
func TestTheHolderTakesOverAVoteClaimedInVain(t *testing.T) {
	w, g := held(t)
	v := w.voters[2]
	v.record.Holder, v.record.State, v.version = w.servers[2].run.self, votes.StateClaimed, v.version+1
	w.live(3)
	g.Expect(v.record).
		To(And(HaveField("Holder.Server", names[0]), HaveField("State", votes.StateHeld), HaveField("Term", int64(1))))
	g.Expect(w.primary()).To(Equal(w.servers[0]))
}

func TestALostAnswerCountsByItsNonce(t *testing.T) {
	w, g := held(t)
	w.servers[0].lost = [maxVoters]bool{true, true, true}
	w.live(30)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
}

func TestARestartedEngineComesBackInANewTerm(t *testing.T) {
	w, g := held(t)
	w.servers[1].isolate(true)
	w.servers[0].crash()
	w.servers[2].run.keeper.SetPolicy(false, true) // only the last holder may
	w.live(3)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record.Term).To(BeNumerically(">=", 2))
	g.Expect(w.timelines(g)).To(ContainElement(HaveField("Cause", votes.CauseRestart)))
}

func TestARestartedAgentResumesItsTerm(t *testing.T) {
	w, g := held(t)
	w.servers[0].startAgent()
	w.live(3)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.voters[0].record.Term).To(Equal(int64(1)))
}

func TestAllRestarted(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers {
		s.run.dead = true
		s.start()
	}
	w.live(4)
	g.Expect(w.primary()).To(Equal(w.servers[0]), "the last holder's pod is the same: nobody has to wait")
	w.live(3)
	for _, s := range w.servers {
		s.pod++
		s.run.dead = true
		s.start()
	}
	w.live(20)
	g.Expect(w.primary()).NotTo(BeNil(), "with other pods the votes expire first")
}

func TestARefusedFailoverReleasesTheClaim(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers {
		s.run.refuse = true
	}
	w.servers[0].run.role = ballot.RoleResolving
	w.live(3)
	g.Expect(w.primary()).To(BeNil())
	for _, s := range w.servers {
		s.run.refuse = false
	}
	w.live(14)
	g.Expect(w.primary()).NotTo(BeNil(), "it is tried again later")
}

func TestASilentEngineIsKilledBeforeTheVotesExpire(t *testing.T) {
	w, g := held(t)
	r := w.servers[0].run
	r.frozen = true
	w.live(12)
	g.Expect(r.dead).To(BeTrue())
}

func TestPausedAndManualGroupsWaitForAPerson(t *testing.T) {
	for name, stop := range map[string]func(w *world){
		"paused by orders": func(w *world) {
			w.servers[1].run.keeper.SetPolicy(true, false)
			w.servers[2].run.keeper.SetPolicy(true, false)
		},
		"manual": func(w *world) {
			w.servers[1].run.keeper.SetPolicy(false, true)
			w.servers[2].run.keeper.SetPolicy(false, true)
		},
		"paused on a lease": func(w *world) { w.voters[2].record.Notes.Paused = "true"; w.voters[2].version++ },
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			stop(w)
			w.live(3)
			g.Expect(w.primary()).To(Equal(w.servers[0]), "the holder goes on holding")
			w.servers[0].isolate(true)
			w.live(30)
			g.Expect(w.primary()).To(BeNil())
			w.ask(votes.Request{ID: "r1", Kind: votes.RequestFailover, To: names[1]})
			w.live(5)
			g.Expect(w.primary()).To(Equal(w.servers[1]), "a person's request is carried out")
			g.Expect(w.answer(g)).To(And(HaveField("ID", "r1"), HaveField("Outcome", votes.OutcomeDone)))
		})
	}
}

func TestPauseAndResumeByRequest(t *testing.T) {
	w, g := held(t)
	w.ask(votes.Request{ID: "p", Kind: votes.RequestPause})
	w.live(3)
	g.Expect(w.answer(g)).To(And(HaveField("ID", "p"), HaveField("Outcome", votes.OutcomeDone)))
	w.servers[0].isolate(true)
	w.live(20)
	g.Expect(w.primary()).To(BeNil())
	w.ask(votes.Request{ID: "r", Kind: votes.RequestResume})
	w.live(15)
	g.Expect(w.primary()).NotTo(BeNil())
}

func TestALivingHolderIsNotFailedOver(t *testing.T) {
	w, g := held(t)
	w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1]})
	w.live(3)
	g.Expect(w.answer(g)).
		To(And(HaveField("Outcome", votes.OutcomeRefused), HaveField("Reason", votes.ReasonHolderAlive)))
	g.Expect(w.primary()).To(Equal(w.servers[0]))
}

// Whoever asked is told that the promotion was done though the only voter with the request is silent when it is.
func TestAFailoverIsAnsweredThoughItsVoterWasSilent(t *testing.T) {
	w, g := held(t)
	for _, s := range w.servers {
		s.run.keeper.SetPolicy(false, true)
	}
	w.servers[0].isolate(true)
	w.live(15)
	g.Expect(w.primary()).To(BeNil())
	w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, To: names[1], Failover: "content-2"})
	w.servers[1].run.lag = 200 * time.Millisecond
	w.meanwhile = func() { w.servers[1].cut[1] = true }
	w.live(5)
	g.Expect(w.servers[1].cut[1]).To(BeTrue(), "the statement was on its way")
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	w.servers[1].cut[1] = false
	w.live(5)
	g.Expect(w.answer(g)).
		To(And(HaveField("ID", "f"), HaveField("Outcome", votes.OutcomeDone),
			HaveField("Reason", votes.ReasonPromoted)))
}

// A holder that renewed its votes after a rival had looked at them keeps them: what the rival swaps must be what it saw
// unchanged for long enough.
func TestAFreshVoteIsNotOverwritten(t *testing.T) {
	w, g := held(t)
	var voters []votes.Voter
	for i := range w.voters {
		voters = append(voters, link{w.servers[1], i})
	}
	rival := ballotOf(voters, clock{w.servers[1]}, w.timings.APITimeout)
	for range 12 {
		w.advance(time.Second)
		rival.Read(t.Context(), ballot.Patient)
	}
	g.Expect(rival.UnchangedFor()).To(BeNumerically(">=", w.timings.SuspectAfter()))
	next := votes.Record{Term: 9, State: votes.StateClaimed, Holder: votes.Holder{Server: names[1], Nonce: "n"}}
	nobody := func(votes.Record) bool { return false }
	w.servers[0].step()
	g.Expect(rival.Claim(t.Context(), next, w.timings.SuspectAfter(), nobody).Granted).To(BeZero())
	for range 12 {
		w.advance(time.Second)
		rival.Read(t.Context(), ballot.Patient)
	}
	g.Expect(rival.Claim(t.Context(), next, w.timings.SuspectAfter(), nobody)).
		To(And(HaveField("Granted", 3), HaveField("Carried", true)))
}

// A rival whose claim one voter alone has granted does not go on with it where it reads no majority for it: the
// holder's votes are fresh, and its lease runs.
func TestAClaimOfOneVoterIsNotGoneOnWith(t *testing.T) {
	w, g := held(t)
	h, rival, v := w.servers[0], w.servers[1], w.voters[0]
	v.record.Holder, v.record.State, v.record.Term, v.version = rival.run.self, votes.StateClaimed, 2, v.version+1
	w.live(60)
	g.Expect(w.primary()).To(Equal(h))
	rival.cut[2] = true
	rival.apart[h.name] = true
	for range 10 {
		w.advance(500 * time.Millisecond)
		w.replicate()
		w.stepAll()
		w.replicate()
		g.Expect(len(w.writers())).To(BeNumerically("<", 2), "writable: %v", w.writers())
	}
	g.Expect(w.primary()).To(Equal(h))
}

// A claim that no majority has, and can have only by votes that are another claim's, is not renewed for ever: the votes
// are asked for in a new term. One voter is lost here, and with each of the others a claim of its own was left.
func TestAClaimWithoutAMajorityIsMadeAnew(t *testing.T) {
	w, g := held(t)
	claimant := w.servers[0]
	former := claimant.run.self
	claimant.crash()
	for _, s := range w.servers {
		s.run.role, s.run.follows = ballot.RoleResolving, ""
	}
	w.voters[0].absent = true
	for i, of := range map[int]votes.Record{1: {Term: 6, Holder: claimant.run.self}, 2: {Term: 3, Holder: former}} {
		v := w.voters[i]
		v.record.Term, v.record.State, v.record.Holder, v.version = of.Term, votes.StateClaimed, of.Holder, v.version+1
	}
	w.live(30)
	g.Expect(w.primary()).NotTo(BeNil(), w.picture())
	g.Expect(w.voters[2].record).To(And(HaveField("State", votes.StateHeld), HaveField("Term", BeNumerically(">", 6))))
}

// A fence of a claim that was given up may arrive when a later term is held. The replica that follows there has
// promised neither.
func TestAFenceOfAnOlderClaimTakesNoFollowerOffline(t *testing.T) {
	w, g := held(t)
	w.servers[1].apart[names[2]], w.servers[2].apart[names[1]] = true, true
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.live(3)
	g.Expect(w.primary()).To(Equal(w.servers[1]))
	clear(w.servers[1].apart)
	clear(w.servers[2].apart)
	w.live(20)
	follower := w.servers[2]
	g.Expect(follower.run.follows).To(Equal(names[1]))
	g.Expect(follower.memory.Promise.Term).To(BeNumerically("<", 2), "nobody has fenced it")
	before := follower.run.offlines
	_, err := follower.run.keeper.Fence(
		t.Context(),
		ballot.FenceRequest{Group: "content", Term: 1, Candidate: w.servers[0].run.self},
	)
	g.Expect(err).To(MatchError(ContainSubstring("holds term")))
	g.Expect(follower.run.offlines).To(Equal(before))
	g.Expect(follower.run.role).To(Equal(ballot.RoleSecondary))
}

// pausing is a voter after whose swaps the agent stands still for a time whenever it has read a clock.
type pausing struct {
	link
	pause *time.Duration
}

func (p pausing) Swap(ctx context.Context, version string, r votes.Record) (string, error) {
	p.s.w.reading.Store(int64(*p.pause))
	return p.link.Swap(ctx, version, r)
}

// The engine is given until Acknowledge after the round began, however long the process stands still before it says so.
func TestAPauseOfTheAgentLengthensNoDeadline(t *testing.T) {
	g := NewWithT(t)
	pause := time.Duration(0)
	w := newWorldOver(
		ballot.DefaultTimings(),
		func(s *server, i int) votes.Voter { return pausing{link{s, i}, &pause} },
	)
	w.servers[0].step()
	w.create()
	w.live(2)
	w.advance(500 * time.Millisecond)
	began := w.wall()
	pause = 200 * time.Millisecond
	w.servers[0].step()
	g.Expect(w.servers[0].run.renewBy).
		To(And(BeTemporally(">", began), BeTemporally("<=", began.Add(w.timings.Acknowledge))))
}
