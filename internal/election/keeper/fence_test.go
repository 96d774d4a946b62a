// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// shown has engines show the second server's copy otherwise.
func shown(change func(*ballot.DatabaseState)) func(*world) {
	return func(w *world) {
		w.shown = func(d *ballot.DatabaseState) {
			if d.Server == names[1] {
				change(d)
			}
		}
	}
}

// fence asks a server's agent for a promise of a term to a candidate.
func (s *server) fence(t *testing.T, term int64, candidate votes.Holder) (ballot.Report, error) {
	t.Helper()
	return s.run.keeper.Fence(t.Context(), ballot.FenceRequest{Group: "content", Term: term, Candidate: candidate})
}

// Nothing is reported of a replica that still shows the role that it had before OFFLINE.
func TestNothingIsReportedBeforeTheReplicaIsResolving(t *testing.T) {
	w, g := held(t)
	s := w.servers[2]
	s.run.lingersNext = 1
	_, err := s.fence(t, 5, votes.Holder{Server: names[1]})
	g.Expect(err).To(MatchError(ContainSubstring("the replica is SECONDARY still")))
	s.run.lingersNext = 0
	g.Expect(s.fence(t, 5, votes.Holder{Server: names[1]})).To(HaveField("Role", ballot.RoleResolving))
}

// A switchover hands over once the replica is RESOLVING, not when OFFLINE was answered.
func TestASwitchoverWaitsUntilThePrimaryIsResolving(t *testing.T) {
	w, g := held(t)
	w.servers[0].run.lingersNext = 1
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[1]})
	w.advance(500 * time.Millisecond)
	g.Expect(w.servers[0].run.keeper.Step(t.Context())).
		To(And(HaveField("Action", "switchover"),
			HaveField("Err", MatchError(ContainSubstring("the replica is PRIMARY still")))))
	for _, v := range w.voters {
		g.Expect(v.record.Term).To(Equal(int64(1)))
	}
	// OFFLINE had the time until the engine must have ended for the votes' expiry, counted from the last renewal.
	last := time.Duration((1 - w.timings.Drift) * float64(w.timings.Expiry))
	g.Expect(w.servers[0].run.offlineWithin).To(BeNumerically("~", last-w.timings.Kill, 600*time.Millisecond))
}

// A replica that has no group has nothing to take OFFLINE, and says so.
func TestAServerWithoutTheGroupIsFenced(t *testing.T) {
	w, g := held(t)
	s := w.servers[2]
	s.exists = false
	report, err := s.fence(t, 5, votes.Holder{Server: names[1]})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Server).To(Equal(names[2]))
	g.Expect(s.run.offlines).To(BeZero())
	g.Expect(s.memory.Promise).To(Equal(keeper.Promise{Term: 5, To: names[1]}))
}

// A fence is late when its term is held by its candidate already, or a higher one is. The holder's own next term is
// not, nor is what a rival asks for in the very term: promises decide about that.
func TestWhichFencesAreLate(t *testing.T) {
	for name, c := range map[string]struct {
		term      int64
		candidate func(w *world) votes.Holder
		late      bool
	}{
		"the term that is held, by its holder": {1, func(w *world) votes.Holder { return w.servers[0].run.self }, true},
		"a lower one":                          {0, func(w *world) votes.Holder { return w.servers[1].run.self }, true},
		"the next one, of the holder":          {2, func(w *world) votes.Holder { return w.servers[0].run.self }, false},
		"the next one, of another":             {2, func(w *world) votes.Holder { return w.servers[1].run.self }, false},
		"the same one, of another":             {1, func(w *world) votes.Holder { return w.servers[1].run.self }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			_, err := w.servers[2].fence(t, c.term, c.candidate(w))
			if !c.late {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(w.servers[2].run.offlines).To(Equal(1))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(names[0] + " holds term 1 already")))
			g.Expect(w.servers[2].run.offlines).To(BeZero())
		})
	}
}

// Whoever promises a higher term gives up its own: it says nothing more in it at the voters.
func TestAHolderThatPromisesAHigherTermRenewsNoVotes(t *testing.T) {
	w, g := held(t)
	s := w.servers[0]
	s.run.keeper.SetPolicy(true, false)
	_, err := s.fence(t, 5, votes.Holder{Server: names[1]})
	g.Expect(err).NotTo(HaveOccurred())
	before := w.voters[0].version
	w.advance(500 * time.Millisecond)
	g.Expect(s.run.keeper.Step(t.Context()).Term).To(BeZero())
	g.Expect(w.voters[0].version).To(Equal(before))
	g.Expect(w.voters[0].record.State).To(Equal(votes.StateHeld))
}

// A holder whose votes can be read and not renewed keeps serving by its lease, unless any voter has a higher term.
func TestAHolderThatCannotRenew(t *testing.T) {
	for name, rival := range map[string]bool{"nobody has claimed since": false, "one voter has a higher term": true} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			none := 0
			w.servers[0].swapsLeft = &none
			if rival {
				v := w.voters[0]
				v.record.Term, v.record.State, v.record.Holder, v.version = 2, votes.StateClaimed, w.servers[1].run.self,
					v.version+1
			}
			w.advance(500 * time.Millisecond)
			out := w.servers[0].run.keeper.Step(t.Context())
			if rival {
				g.Expect(out.Action).To(Equal("taken offline"))
				return
			}
			g.Expect(out.Action).To(Equal("lease not renewed"))
			g.Expect(w.servers[0].run.role).To(Equal(ballot.RolePrimary))
		})
	}
}

// A claim that nothing has come of is not fenced off: it is given up.
func TestAClaimThatCannotBeRenewedIsGivenUp(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	s := w.servers[0]
	g.Expect(s.step().Term).To(Equal(int64(1)))
	s.isolate(true)
	w.advance(500 * time.Millisecond)
	g.Expect(s.run.keeper.Step(t.Context())).To(And(HaveField("Action", "claim not renewed"), HaveField("Term", int64(1))))
	w.advance(w.timings.Expiry)
	g.Expect(s.run.keeper.Step(t.Context())).To(And(HaveField("Action", "claim not renewed"), HaveField("Term", BeZero())))
	g.Expect(s.run.offlines).To(BeZero())
}

// A replica that was given up has an older configuration, which calls it synchronized, and may have log that nobody
// acknowledged. Those that know the newest configuration go first.
func TestAnOlderConfigurationElectsNobody(t *testing.T) {
	w, g := held(t)
	stale, newest := w.servers[1], w.servers[2]
	stale.isolate(true)
	w.live(4)
	w.servers[0].isolate(true)
	stale.isolate(false)
	for len(stale.log) <= len(newest.log) {
		stale.log = append(stale.log, -1)
	}
	g.Expect(stale.config.synced).To(HaveKey(stale.name))
	g.Expect(newest.config.synced).NotTo(HaveKey(stale.name))
	newest.run.keeper.SetPolicy(false, true)
	w.live(25)
	g.Expect(w.primary()).To(Equal(newest), w.picture())
}

// Where no replica is shown nobody knows how many there are: nothing is decided, and nothing given up.
func TestWithoutReplicasNothingIsDecided(t *testing.T) {
	w, g := held(t)
	w.servers[0].isolate(true)
	w.servers[2].run.keeper.SetPolicy(false, true)
	w.breaks.noReplicas = true
	g.Eventually(func() string {
		w.advance(500 * time.Millisecond)
		return w.servers[1].step().Action
	}, time.Minute).Should(Equal("waiting for reports"))
}

// Where the newest configuration names no synchronous replica that reports, a forced failover takes the one with the
// longest log, and this one among its equals.
func TestAForcedFailoverByLogsAlone(t *testing.T) {
	for name, more := range map[string]int{"the first has more": 1, "the second has more": 2, "both have as much": 0} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.servers[0].isolate(true)
			for _, s := range w.servers {
				s.run.keeper.SetPolicy(false, true)
			}
			w.live(30)
			g.Expect(w.primary()).To(BeNil())
			w.breaks.asynchronous = true
			if more > 0 {
				w.servers[more].log = append(w.servers[more].log, -1)
			}
			w.ask(votes.Request{ID: "f", Kind: votes.RequestFailover, AllowDataLoss: true})
			w.live(15)
			g.Expect(w.primary()).NotTo(BeNil(), w.picture())
			if more > 0 {
				g.Expect(w.primary()).To(Equal(w.servers[more]))
				return
			}
			for _, line := range w.timelines(g) {
				g.Expect(line.Message).NotTo(ContainSubstring("handed over"), "nobody yields to its equal")
			}
		})
	}
}
