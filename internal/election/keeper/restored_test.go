// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/test/support/checkout"
)

// page is the runbook's text.
func page(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout.Root(), "docs", "runbooks", "votes-lost.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// between is the part of a text between two others.
func between(t testing.TB, text, begin, end string) string {
	t.Helper()
	_, text, found := strings.Cut(text, begin)
	text, _, ended := strings.Cut(text, end)
	NewWithT(t).Expect(found && ended).To(BeTrue(), "the runbook has nothing between %q and %q", begin, end)
	return text
}

// runbook is the vote in the Lease that the runbook has a person create at the voters that have lost theirs, with other
// annotations.
func runbook(t testing.TB, annotations map[string]string) votes.Record {
	t.Helper()
	g := NewWithT(t)
	var lease coordinationv1.Lease
	g.Expect(yaml.UnmarshalStrict([]byte(between(t, page(t), "<<EOF\n", "\nEOF\n")), &lease)).To(Succeed())
	g.Expect(lease.Name).To(Equal(votes.LeaseName("content")))
	maps.Copy(lease.Annotations, annotations)
	record, err := votes.DecodeLease(&lease)
	g.Expect(err).NotTo(HaveOccurred())
	return record
}

func TestTheRunbooksAnnotationsAreRead(t *testing.T) {
	g := NewWithT(t)
	var annotations map[string]string
	g.Expect(yaml.Unmarshal([]byte(between(t, page(t), "```text\n", "```")), &annotations)).To(Succeed())
	vote := runbook(t, annotations)
	g.Expect(vote.Configuration()).
		To(Equal(votes.Configuration{Term: 4, Number: 2, Voters: []string{"tukwila", "quincy", "dublin"}}))
	var fork votes.Fork
	g.Expect(json.Unmarshal([]byte(vote.Notes.Forced), &fork)).To(Succeed())
	g.Expect(fork).
		To(Equal(votes.Fork{Term: 6, Server: "quisec-0", Databases: map[string]string{"Content": "37000000123400001"}}))
}

// Where others vote than those that the group began with, the Leases must say so again.
func TestRestoredVotesTellWhoVotes(t *testing.T) {
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.growTo(4)
			w.order([]string{"site0", "site1", "site3"}, w.servers...)
			w.live(5)
			g.Expect(w.configured()).
				To(Equal(votes.Configuration{Term: 1, Number: 2, Voters: []string{"site0", "site1", "site3"}}))
			w.lose(0, 1, 3)
			w.live(30)
			vote := runbook(t, nil)
			if told {
				vote = runbook(
					t,
					map[string]string{
						"geosql.dev/voter-generation": "1.2",
						"geosql.dev/voters":           `{"number":2,"term":1,"voters":["site0","site1","site3"]}`,
					},
				)
			}
			w.restore(vote)
			w.live(30)
			if !told {
				g.Expect(w.primary()).To(BeNil(), "agents believe no older configuration")
				return
			}
			g.Expect(w.primary()).NotTo(BeNil())
			g.Expect(w.configured().Voters).To(ConsistOf("site0", "site1", "site3"))
		})
	}
}

// mislaid is what happens to the votes in a schedule: from a moment on the Leases of some voters are gone, and some
// time later a person creates others.
type mislaid struct {
	vote         votes.Record
	voters       []int
	from, mended int
	steps        int
	// forge is done in every step, nil for nothing.
	forge func(w *world)
}

// lose takes the Leases of some voters away.
func (w *world) lose(voters ...int) {
	for _, i := range voters {
		w.voters[i].gone = true
	}
}

// restore creates the Leases that are gone.
func (w *world) restore(r votes.Record) {
	for _, v := range w.voters {
		if v.gone {
			v.record, v.gone, v.version = r, false, v.version+1
		}
	}
}

// step of a schedule is over.
func (m *mislaid) step(w *world) {
	if m == nil {
		return
	}
	if m.steps++; m.steps == m.from {
		w.lose(m.voters...)
	}
	if m.steps == m.mended {
		w.restore(m.vote)
	}
	if m.forge != nil {
		m.forge(w)
	}
}

// scheduleOfLostVotes loses a majority of the votes, or all, in the middle of other faults; a person restores them, at
// once or later, who knows of no term but the first.
func scheduleOfLostVotes(vote votes.Record) scheduler {
	return func(rng *rand.Rand, timings ballot.Timings, b breaks, steps int) error {
		w, steps := newWorld(timings), steps/2
		m := &mislaid{vote: vote, voters: rng.Perm(3)[:2+rng.IntN(2)], from: 1 + rng.IntN(steps-60)}
		m.mended = m.from + 1 + rng.IntN(60)
		w.mislaid = m
		return w.suffer(rng, b, steps)
	}
}

func TestOneScheduleOfLostVotes(t *testing.T) { scheduleOfLostVotes(runbook(t, nil)).one(t) }

func TestSchedulesOfLostVotes(t *testing.T) {
	scheduleOfLostVotes(runbook(t, nil)).many(t, 1, breaks{})
}

// What keeps acknowledged writes is no vote: it is on the servers' disks.
func TestNothingIsLostWithoutClocksWithTheVotes(t *testing.T) {
	scheduleOfLostVotes(runbook(t, nil)).many(t, 3, withoutClocks)
}

// Nobody serves without votes. The Leases of the runbook, whose holder is nobody, are waited for like those of a holder
// that is gone, and the next election goes by what the replicas have.
func TestVotesAreRestoredByHand(t *testing.T) {
	vote := runbook(t, nil)
	for name, tc := range map[string]struct {
		lost      []int
		meanwhile func(w *world)
		// soon restores the Leases while the primary still serves by its write lease.
		soon bool
	}{
		"a majority":                       {lost: []int{1, 2}},
		"all":                              {lost: []int{0, 1, 2}},
		"before the write lease has ended": {lost: []int{0, 1, 2}, soon: true},
		"and every agent begins anew": {lost: []int{0, 1},
			meanwhile: func(w *world) { w.eachServer((*server).startAgent) }},
		"and the same, at once": {lost: []int{0, 1}, soon: true,
			meanwhile: func(w *world) { w.eachServer((*server).startAgent) }},
		"and every engine begins anew": {lost: []int{0, 1, 2},
			meanwhile: func(w *world) { w.eachServer((*server).crash) }},
		"and the primary is cut off": {lost: []int{1, 2}, meanwhile: func(w *world) { w.servers[0].isolate(true) }},
		"and the primary is cut off at once": {lost: []int{0, 1, 2}, soon: true,
			meanwhile: func(w *world) { w.servers[0].isolate(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.lose(tc.lost...)
			if !tc.soon {
				w.live(30)
				g.Expect(w.primary()).To(BeNil(), "nobody may be primary")
			}
			if tc.meanwhile != nil {
				tc.meanwhile(w)
			}
			acknowledged := len(w.acked)
			w.restore(vote)
			w.live(9)
			if !tc.soon {
				g.Expect(w.primary()).To(BeNil(), "whoever held the votes may serve as long as they counted")
			}
			w.live(30)
			g.Expect(w.fault).NotTo(HaveOccurred())
			g.Expect(w.primary()).NotTo(BeNil())
			g.Expect(len(w.acked)).To(BeNumerically(">", acknowledged))
			if former := w.servers[0]; former != w.primary() && former.run.role == ballot.RoleSecondary {
				g.Expect(former.run.cleared).
					To(BeNumerically(">", 5), "sessions that came to the former primary while the listener moved are ended")
			}
			for _, i := range tc.lost {
				g.Expect(w.voters[i].record).
					To(And(HaveField("Term", BeNumerically(">", vote.Term)), HaveField("State", votes.StateHeld)))
			}
		})
	}
}

// Leases that somebody has said are released would let the next primary write while the one of before still does.
func TestVotesThatAreReleasedByHandAreNoticed(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(ballot.DefaultTimings())
	w.servers[0].step()
	w.create()
	w.live(2)
	vote := runbook(t, nil)
	vote.State, vote.Holder = votes.StateReleased, votes.Holder{}
	w.lose(0, 1, 2)
	w.servers[0].isolate(true)
	w.restore(vote)
	w.live(6)
	g.Expect(w.fault).To(MatchError(ContainSubstring("two engines are writable")))
}

func (w *world) eachServer(do func(*server)) {
	for _, s := range w.servers {
		do(s)
	}
}

// A Lease as of a new group, or of a term that is over, makes nobody primary.
func TestVotesOfALowTermAreNotBelieved(t *testing.T) {
	fresh, err := votes.DecodeLease(votes.NewLease("web", "content", names[0], votes.Configuration{}))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	late := runbook(t, nil)
	late.Term = 1
	for name, vote := range map[string]votes.Record{"of a new group": fresh, "of a term that is over": late} {
		t.Run(name, func(t *testing.T) {
			w, g := held(t)
			w.servers[0].crash()
			w.live(5)
			g.Expect(w.voters[0].record.Term).To(BeNumerically(">", 1))
			w.lose(0, 1, 2)
			w.live(30)
			w.restore(vote)
			w.live(30)
			g.Expect(w.primary()).To(BeNil())
		})
	}
}

// After a failover that lost data the votes must tell of it again: a replica that has not the log of that one must not
// be elected.
func TestRestoredVotesTellOfALossThatWasAllowed(t *testing.T) {
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			w, g, _ := forced(t)
			vote := runbook(t, nil)
			if told {
				vote.Notes.Forced = w.voters[0].record.Notes.Forced
				g.Expect(vote.Notes.Forced).NotTo(BeEmpty())
			}
			w.lose(0, 1, 2)
			w.servers[1].isolate(true)
			w.servers[2].isolate(true)
			w.live(30)
			w.servers[2].isolate(false)
			w.restore(vote)
			w.live(40)
			if told {
				g.Expect(w.primary()).To(BeNil())
				return
			}
			g.Expect(w.primary()).NotTo(BeNil(), "it may lack what was written since: see the runbook")
		})
	}
}

// A minority that is gone stops nothing, and is made anew when its site has not voted for a while.
func TestALostVoteComesBack(t *testing.T) {
	w, g := held(t)
	w.lose(2)
	w.live(15)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	w.order([]string{"site0"}, w.servers...)
	w.live(5)
	g.Expect(w.configured().Voters).To(Equal([]string{"site0"}))
	w.order([]string{"site0", "site1", "site2"}, w.servers...)
	w.live(5)
	g.Expect(w.configured()).To(And(HaveField("Voters", HaveLen(3)), HaveField("Next", BeEmpty())))
	g.Expect(w.voters[2].record).To(And(HaveField("Term", int64(1)), HaveField("State", votes.StateHeld)))
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	w.servers[0].isolate(true)
	w.servers[1].cut[0], w.servers[2].cut[0] = true, true
	w.live(25)
	g.Expect(w.primary()).To(BeElementOf(w.servers[1], w.servers[2]))
	g.Expect(w.fault).NotTo(HaveOccurred())
}
