// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// grow adds sites that do not vote yet, to five.
func (w *world) grow() {
	w.growTo(5)
}

func (w *world) growTo(sites int) {
	for i := len(w.voters); i < sites; i++ {
		w.voters = append(w.voters, &leaseStore{name: fmt.Sprintf("site%d", i), gone: true})
	}
	for _, s := range w.servers {
		s.startAgent()
	}
}

// configured is what an observer of all Leases takes for the configuration of voters.
func (w *world) configured() votes.Configuration { return w.began().Follow(w.records()) }

// records are the votes that are there, by site.
func (w *world) records() map[string]votes.Record {
	records := map[string]votes.Record{}
	for _, v := range w.voters {
		if !v.gone {
			records[v.name] = v.record
		}
	}
	return records
}

// order lets these sites vote: Leases are created where there are none, by what was last looked at, and some of the
// servers are told. Their agents get other voters with their orders, and so begin anew. No Lease is ever taken away.
func (w *world) order(sites []string, told ...*server) {
	c := w.looked
	if c.IsZero() {
		c = w.configured()
	}
	for _, v := range w.voters {
		if v.gone && slices.Contains(sites, v.name) {
			record, err := votes.DecodeLease(votes.NewLease("web", "content", names[0], c))
			if err != nil {
				panic(err)
			}
			v.record, v.gone, v.version = record, false, v.version+1
		}
	}
	for _, s := range told {
		s.ordered = sites
		if !s.run.dead {
			s.startAgent()
		}
	}
}

// reorder orders other voters from time to time, to some servers.
func (w *world) reorder(rng *rand.Rand) {
	if len(w.voters) == 3 {
		return
	}
	switch rng.IntN(40) {
	case 0, 1:
		var sites []string
		for _, i := range rng.Perm(len(w.voters))[:[]int{1, 3, 3, 3, 5}[rng.IntN(5)]] {
			sites = append(sites, w.voters[i].name)
		}
		var told []*server
		for _, s := range w.servers {
			if rng.IntN(3) > 0 {
				told = append(told, s)
			}
		}
		w.order(sites, told...)
		if trace != nil {
			trace("%s ordered %v", w.now, sites)
		}
	case 2:
		// The manager looks, and creates Leases much later by what it saw.
		w.looked = w.configured()
	case 3:
		w.servers[rng.IntN(3)].unsure = 1 + rng.IntN(2)
	case 4:
		if w.lates {
			if voter := rng.IntN(len(w.voters)); !w.voters[voter].gone {
				w.late(voter)
			}
		}
	}
}

// checkStamps sees that of one term and number there is one configuration, in all votes and in what all servers
// remember.
func (w *world) checkStamps() {
	var all []votes.Configuration
	for _, v := range w.voters {
		if v.left == "" || v.record.Voters != v.left {
			all = append(all, v.record.Configuration())
		}
	}
	for _, s := range w.servers {
		if s.memory.Voters != nil {
			all = append(all, *s.memory.Voters)
		}
	}
	for i, c := range all {
		for _, o := range all[:i] {
			if !c.IsZero() && !o.IsZero() && c.Same(o) && !reflect.DeepEqual(c, o) {
				w.report("of term %d and number %d there are two configurations: %s; %s", c.Term, c.Number, c, o)
			}
		}
	}
}

// settleVoters tells all servers the same.
func (w *world) settleVoters() {
	if len(w.voters) > 3 {
		w.order(w.servers[0].ordered, w.servers...)
	}
}

func TestOneScheduleOfChanges(t *testing.T) { scheduler(scheduleOfChanges).one(t) }

func TestSchedulesOfChanges(t *testing.T) { scheduler(scheduleOfChanges).many(t, 1, breaks{}) }

// What keeps acknowledged writes does not ask who votes.
func TestNothingIsLostWithoutClocksWhileVotersChange(t *testing.T) {
	scheduler(scheduleOfChanges).many(t, 3, withoutClocks)
}

// Agents that do not read who votes find two majorities.
func TestAHiddenConfigurationIsNoticed(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		t.Run(fmt.Sprint(hidden), func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(ballot.DefaultTimings())
			w.servers[0].step()
			w.create()
			w.live(2)
			w.breaks.hideVoters = hidden
			w.growTo(6)
			w.order([]string{"site3", "site4", "site5"}, w.servers[0])
			w.live(5)
			g.Expect(w.configured().Voters).To(ContainElement("site3"))
			w.servers[0].apart[names[1]], w.servers[0].apart[names[2]] = true, true
			w.live(30)
			if hidden {
				g.Expect(w.fault).To(MatchError(ContainSubstring("two engines are writable")))
				return
			}
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.servers[0].run.role).To(Equal(ballot.RolePrimary), "it has its votes")
		})
	}
}

// Who was told another set than the one that the group began with takes no vote that tells of that one, and nobody
// writes.
func TestAnotherFirstSetIsNotBelieved(t *testing.T) {
	w, g := held(t)
	w.growTo(4)
	other := votes.Configuration{Voters: []string{"site0", "site1", "site3"}}
	var voters []votes.Voter
	for i := range w.voters {
		voters = append(voters, link{w.servers[1], i})
	}
	misled := ballot.New(other, voters, clock{w.servers[1]}, w.timings.APITimeout)
	_, known := misled.Read(t.Context(), ballot.Patient)
	g.Expect(known).To(BeFalse())
	g.Expect(misled.Configuration()).To(Equal(other))
	cast := misled.Cast(
		t.Context(),
		ballot.Patient,
		votes.Record{Term: 9, State: votes.StateHeld},
		func(votes.Record) bool { return true },
	)
	g.Expect(cast.Granted).To(BeZero())

	records := []votes.Record{w.voters[0].record, w.voters[1].record}
	g.Expect(votes.Known(other, records...)).To(Equal(w.began()), "the manager believes the votes, not a declaration")
	g.Expect(votes.Configured(other, records...)).To(Equal(other))
}

// A voter whose site is lost is replaced, and the next loss is borne as if there had been none.
func TestALostVoterIsReplaced(t *testing.T) {
	w, g := held(t)
	w.grow()
	lost := w.voters[2]
	for _, s := range w.servers {
		s.cut[2] = true
	}
	w.live(5)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	before := len(w.acked)
	w.order([]string{"site0", "site1", "site3"}, w.servers...)
	w.live(5)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(len(w.acked)).To(BeNumerically(">", before))
	g.Expect(w.configured()).
		To(Equal(votes.Configuration{Term: 1, Number: 2, Voters: []string{"site0", "site1", "site3"}}))
	g.Expect(w.voters[3].record).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
	g.Expect(w.voters[3].record.Notes.Timelines).To(Equal(w.voters[0].record.Notes.Timelines), "the history goes along")
	g.Expect(lost.record.Configuration().Sites()).NotTo(ContainElement("site3"))

	// The primary's site is lost, and its vote with it; who comes back from the site that was lost first knows nothing of
	// the change, and learns of it.
	w.servers[0].isolate(true)
	w.servers[1].cut[0], w.servers[2].cut[0] = true, true
	w.servers[2].ordered = nil
	w.servers[2].cut[2] = false
	w.servers[2].startAgent()
	w.live(25)
	g.Expect(w.primary()).To(BeElementOf(w.servers[1], w.servers[2]))
	g.Expect(w.fault).NotTo(HaveOccurred())
	g.Expect(w.voters[3].record).To(And(HaveField("Term", BeNumerically(">", 1)), HaveField("State", votes.StateHeld)))
}

// All voters are replaced at once; nobody can be elected by the old ones alone any more.
func TestAllVotersAreReplaced(t *testing.T) {
	w, g := held(t)
	w.growTo(6)
	added := []string{"site3", "site4", "site5"}
	w.order(added, w.servers...)
	w.live(5)
	g.Expect(w.configured().Voters).To(Equal(added))
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	w.servers[0].isolate(true)
	for _, s := range w.servers[1:] {
		s.ordered = nil
		s.cut[3], s.cut[4], s.cut[5] = true, true, true
		s.startAgent()
	}
	w.live(40)
	g.Expect(w.primary()).To(BeNil(), "three votes that have expired are nobody's any more")
	for _, s := range w.servers[1:] {
		s.cut[3], s.cut[4] = false, false
	}
	w.live(25)
	g.Expect(w.primary()).To(BeElementOf(w.servers[1:]))
	g.Expect(w.fault).NotTo(HaveOccurred())
}

// What a server made, and is not sure to have remembered, may be on its disk: it makes no other one of that term and
// number.
func TestWhatMayBeRememberedIsKept(t *testing.T) {
	for name, unsure := range map[string]int{"saved": unsureSaved, "lost": unsureLost} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			s := w.servers[0]
			s.unsure = unsure
			s.run.keeper.SetVoters([]string{"site0"})
			g.Expect(s.step().Err).To(MatchError(ContainSubstring("changing the voters")))
			s.run.keeper.SetVoters([]string{"site1"})
			swaps := 4 // a round that is carried, and one of which a single vote arrives
			s.swapsLeft = &swaps
			w.live(1)
			g.Expect(w.fault).NotTo(HaveOccurred())
			s.swapsLeft = nil
			w.live(10)
			g.Expect(w.configured()).To(And(HaveField("Voters", Equal([]string{"site1"})), HaveField("Next", BeEmpty())))
			g.Expect(w.primary()).To(Equal(s))
		})
	}
}

// A group is deleted, and another one made that has its name, on the same servers, whose disks remember who voted in
// the former one. The new one has the voters that it was declared with.
func TestVotersOfAFormerGroupAreForgotten(t *testing.T) {
	w, g := held(t)
	w.growTo(4)
	w.order([]string{"site3"}, w.servers...)
	w.live(5)
	g.Expect(w.configured().Voters).To(Equal([]string{"site3"}))
	g.Expect(w.servers[0].memory.Voters).NotTo(BeNil())

	for i, v := range w.voters {
		v.version++
		v.record, v.gone = votes.Record{State: votes.StateReleased, InitialPrimary: names[0]}, i == 3
	}
	for _, s := range w.servers {
		s.exists, s.run.role, s.ordered = false, ballot.RoleResolving, nil
		s.startAgent()
	}
	w.acked = nil
	w.live(2)
	g.Expect(w.voters[0].record).To(And(HaveField("Term", BeNumerically(">", 0)), HaveField("Holder.Server", names[0])))
	w.create()
	w.live(5)
	g.Expect(w.configured()).To(Equal(w.began()))
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.servers[0].memory.Voters).To(BeNil())
}

// What another run made, or this one in another term, is no concern of the term that is held.
func TestOnlyTheTermsOwnRunRemembersItsVoters(t *testing.T) {
	own := func(s *server) string { return s.run.self.String() }
	for name, c := range map[string]struct {
		term   int64
		by     func(*server) string
		goesOn bool
	}{
		"this run":     {1, own, true},
		"another run":  {1, func(*server) string { return names[0] + "/pod/another/" }, false},
		"another term": {2, own, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.grow()
			s := w.servers[0]
			s.memory.Voters = &votes.Configuration{Term: c.term, Number: 6, Voters: w.began().Voters, Next: []string{"site0"}}
			s.memory.VotersBy = c.by(s)
			w.order([]string{"site1"}, s)
			w.live(6)
			want := votes.Configuration{Term: 1, Number: 2, Voters: []string{"site1"}}
			if c.goesOn {
				want.Number = 9 // it has finished what it had begun, and has begun again
			}
			g.Expect(w.configured()).To(Equal(want))
			g.Expect(w.primary()).To(Equal(s))
		})
	}
}

// A site that does not answer is not waited for with the lease at stake: nothing is changed, and what is missing is
// said.
func TestNewVotersMustAnswer(t *testing.T) {
	w, g := held(t)
	w.grow()
	w.servers[0].cut[3] = true
	w.order([]string{"site0", "site1", "site3"}, w.servers...)
	w.live(5)
	g.Expect(w.configured()).To(Equal(w.began()))
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	g.Expect(w.servers[0].step().Waiting).To(ContainSubstring("site3"))
	w.servers[0].cut[3] = false
	w.live(10)
	g.Expect(w.configured().Voters).To(ConsistOf("site0", "site1", "site3"))
	g.Expect(w.servers[0].step().Waiting).To(BeEmpty())
}

// Who has lost its term waits for no voters: that is the next holder's concern.
func TestWithoutATermNoVotersAreAwaited(t *testing.T) {
	w, g := held(t)
	w.grow()
	s := w.servers[0]
	s.cut[3] = true
	w.order([]string{"site0", "site1", "site3"}, s)
	w.live(5)
	g.Expect(s.step().Waiting).To(ContainSubstring("site3"))
	s.isolate(true)
	w.live(25)
	g.Expect(s.step()).To(And(HaveField("Term", BeZero()), HaveField("Waiting", BeEmpty())))
	g.Expect(w.primary()).To(BeElementOf(w.servers[1], w.servers[2]))
}

// The holder ends between any two of the writes of a change; who comes after it finishes what it finds.
func TestAChangeIsFinishedByTheNextHolder(t *testing.T) {
	for swaps := range 12 {
		t.Run(fmt.Sprint(swaps), func(t *testing.T) {
			w, g := held(t)
			w.grow()
			w.order([]string{"site0", "site3", "site4"}, w.servers...)
			w.servers[0].swapsLeft = &swaps
			w.live(3)
			w.servers[0].isolate(true)
			w.live(30)
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.primary()).To(BeElementOf(w.servers[1], w.servers[2]))
			g.Expect(w.configured()).
				To(And(HaveField("Voters", ConsistOf("site0", "site3", "site4")), HaveField("Next", BeEmpty())))
			w.servers[0].swapsLeft = nil
			w.servers[0].isolate(false)
			w.live(30)
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.primary()).NotTo(BeNil())
			g.Expect(w.configured()).To(HaveField("Next", BeEmpty()))
		})
	}
}
