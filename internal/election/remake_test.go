// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election"
)

// remaking is a manager that makes the one vote anew that is gone from time to time.
type remaking struct {
	rng *rand.Rand
	// lost is the voter without a Lease, -1 for none.
	lost          int
	before, after map[string]election.Record
	// made is the vote that is on its way, and arrives after so many steps.
	made    *election.Record
	arrives int
}

// lose takes a Lease away, and forgets what was read before.
func (m *remaking) lose(w *world, voter int) {
	m.lost, m.made = voter, nil
	m.before, m.after = map[string]election.Record{}, map[string]election.Record{}
	w.lose(voter)
}

// step of a schedule is over. One vote is read at a time, and what is made of them arrives later.
func (m *remaking) step(w *world) {
	if m == nil {
		return
	}
	if !w.breaks.endless {
		// A holder that stood still may find its own old vote restored; that is another matter.
		w.voters[0].old = election.Record{}
	}
	switch {
	case m.lost < 0:
		if m.rng.IntN(30) == 0 {
			m.lose(w, m.rng.IntN(len(w.voters)))
		}
	case m.made != nil:
		if m.arrives--; m.arrives <= 0 {
			m.create(w)
		}
	default:
		m.look(w, m.rng.IntN(len(w.voters)))
	}
}

func (m *remaking) create(w *world) {
	v := w.voters[m.lost]
	v.record, v.gone, v.version = *m.made, false, v.version+1
	if trace != nil {
		trace("%s the vote at %s is made anew: term %d, %s", w.now, v.name, v.record.Term, v.record.Holder)
	}
	m.lost, m.made = -1, nil
}

func (m *remaking) look(w *world, voter int) {
	v := w.voters[voter]
	if voter == m.lost || v.absent {
		return
	}
	if _, known := m.before[v.name]; !known {
		m.before[v.name] = v.record
		return
	}
	m.after[v.name] = v.record
	w.nonces++
	record, err := election.Remake(w.began(), m.before, m.after, fmt.Sprint("remade", w.nonces))
	switch {
	case err == nil:
		m.made, m.arrives = &record, m.rng.IntN(12)
	case m.rng.IntN(6) == 0:
		// It gives up, and begins again later.
		m.before, m.after = map[string]election.Record{}, map[string]election.Record{}
	}
}

// scheduleOfRemadeVotes loses one vote after the other in the middle of other faults, and each is made anew.
func scheduleOfRemadeVotes(rng *rand.Rand, timings election.Timings, b breaks, steps int) error {
	w := newWorld(timings)
	m := &remaking{rng: rng, lost: -1}
	w.remaking = m
	if err := w.suffer(rng, b, steps); err != nil {
		return err
	}
	if m.lost < 0 {
		m.lose(w, rng.IntN(len(w.voters)))
	}
	lost, before := w.voters[m.lost], w.others()
	w.live(2)
	record, err := election.Remake(w.began(), before, w.others(), "the last")
	if err != nil {
		return w.unmade(err)
	}
	m.made = &record
	m.create(w)
	w.live(2)
	switch primary := w.primary(); {
	case w.fault != nil:
		return w.fault
	case primary == nil || lost.record.State != election.StateHeld || lost.record.Holder.Server != primary.name:
		return fmt.Errorf("the vote at %s is not the holder's: %s", lost.name, w.picture())
	}
	return nil
}

// unmade says that a vote should have been made anew; nil where a rival has kept one of the others since it claimed in vain.
func (w *world) unmade(err error) error {
	primary := w.primary()
	for _, r := range w.others() {
		if primary != nil && r.Holder.Server != primary.name {
			return nil
		}
	}
	return fmt.Errorf("the lost vote is not made anew: %w: %s", err, w.picture())
}

func TestOneScheduleOfRemadeVotes(t *testing.T) { scheduler(scheduleOfRemadeVotes).one(t) }

func TestSchedulesOfRemadeVotes(t *testing.T) {
	scheduler(scheduleOfRemadeVotes).many(t, 1, breaks{})
}

func TestNothingIsLostWithoutClocksWithRemadeVotes(t *testing.T) {
	scheduler(scheduleOfRemadeVotes).many(t, 3, breaks{endless: true})
}

// others are the votes that are left.
func (w *world) others() map[string]election.Record {
	records := map[string]election.Record{}
	for _, v := range w.voters {
		if !v.gone && !v.absent {
			records[v.name] = v.record
		}
	}
	return records
}

// The vote that is made anew counts like the one before: another site may be lost then.
func TestALostVoteIsMadeAnew(t *testing.T) {
	w, g := held(t)
	w.lose(2)
	before := w.others()
	w.live(2)
	record, err := election.Remake(w.began(), before, w.others(), "remade")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record).To(And(HaveField("Term", int64(1)), HaveField("State", election.StateHeld), HaveField("InitialPrimary", names[0]),
		HaveField("Voters", w.voters[0].record.Voters), HaveField("Notes.Timelines", w.voters[0].record.Notes.Timelines)))
	lease := election.RemadeLease("web", "content", record)
	g.Expect(election.DecodeLease(lease)).To(Equal(record))
	w.restore(record)
	w.live(2)
	g.Expect(w.voters[2].record.Holder.Nonce).NotTo(Equal("remade"), "the holder renews it")
	g.Expect(w.primary()).To(Equal(w.servers[0]))

	w.servers[0].isolate(true)
	w.servers[1].cut[0], w.servers[2].cut[0] = true, true
	w.live(25)
	g.Expect(w.primary()).To(BeElementOf(w.servers[1], w.servers[2]))
}

// What was noted at the lost vote and at one other is told by the new one, so that every majority tells it again.
func TestARemadeVoteTellsOfALossThatWasAllowed(t *testing.T) {
	w, g, _ := forced(t)
	w.live(2)
	w.voters[1].record.Notes.Forced, w.voters[1].record.Notes.Apart = "", ""
	forked := w.voters[0].record.Notes.Forced
	g.Expect(forked).NotTo(BeEmpty())
	w.lose(2)
	before := w.others()
	w.live(2)
	record, err := election.Remake(w.began(), before, w.others(), "remade")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.Notes.Forced).To(MatchJSON(forked))
}

func TestAVoteIsNotMadeAnew(t *testing.T) {
	holder := election.Holder{Server: names[0], PodUID: "pod", Engine: "run", Nonce: "1"}
	vote := func(change func(*election.Record)) election.Record {
		r := election.Record{Term: 3, State: election.StateHeld, Holder: holder}
		change(&r)
		return r
	}
	same := func(r *election.Record) {}
	renewed := func(r *election.Record) { r.Holder.Nonce = "2" }
	three := election.Configuration{Voters: []string{"a", "b", "c"}}
	type votes map[string]election.Record
	both := func(change func(*election.Record)) votes { return votes{"a": vote(change), "b": vote(change)} }
	for name, tc := range map[string]struct {
		c             election.Configuration
		before, after votes
	}{
		"without a majority":       {three, votes{"a": vote(same)}, votes{"a": vote(renewed)}},
		"not renewed":              {three, both(same), both(same)},
		"renewed at one alone":     {three, both(same), votes{"a": vote(renewed), "b": vote(same)}},
		"seen once at one":         {three, votes{"a": vote(same)}, both(renewed)},
		"another run since":        {three, both(same), both(func(r *election.Record) { r.Holder.Engine = "other"; r.Holder.Nonce = "2" })},
		"another term since":       {three, both(same), both(func(r *election.Record) { r.Term = 4; r.Holder.Nonce = "2" })},
		"released":                 {three, both(same), both(func(r *election.Record) { r.State = election.StateReleased; r.Holder.Nonce = "2" })},
		"claimed":                  {three, both(func(r *election.Record) { r.State = election.StateClaimed }), both(func(r *election.Record) { r.State = election.StateClaimed; r.Holder.Nonce = "2" })},
		"claimed by another":       {three, both(same), votes{"a": vote(renewed), "b": vote(func(r *election.Record) { r.Term, r.State, r.Holder.Server = 4, election.StateClaimed, names[1] })}},
		"nobody's":                 {three, both(func(r *election.Record) { r.Holder = election.Holder{} }), both(func(r *election.Record) { r.Holder = election.Holder{Nonce: "2"} })},
		"the voters change":        {election.Configuration{Term: 3, Number: 1, Voters: three.Voters, Next: []string{"a"}}, both(same), both(renewed)},
		"other voters are told of": {three, both(same), both(func(r *election.Record) { renewed(r); r.Voters = `{"term":3,"number":1,"voters":["a"]}` })},
		"notes cannot be read":     {three, both(same), both(func(r *election.Record) { renewed(r); r.Notes.Forced = "{" })},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := election.Remake(tc.c, tc.before, tc.after, "remade")
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
	g := NewWithT(t)
	_, err := election.Remake(three, both(same), both(renewed), "remade")
	g.Expect(err).NotTo(HaveOccurred())
	five := election.Configuration{Term: 2, Number: 2, Voters: []string{"a", "b", "c", "d", "e"}}
	told := func(r *election.Record) {
		renewed(r)
		r.Voters = `{"term":2,"number":2,"voters":["a","b","c","d","e"]}`
	}
	_, err = election.Remake(five, both(same), both(told), "remade")
	g.Expect(errors.Is(err, election.ErrNotRenewed)).To(BeTrue(), "two of five decide nothing")
	was, is := both(same), both(told)
	was["c"], is["c"] = vote(same), vote(told)
	record, err := election.Remake(five, was, is, "remade")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.Configuration()).To(Equal(five))
}

// A lost vote of which the holder made use must not be anybody's at once.
func TestALostVoteThatIsMadeFreeIsNoticed(t *testing.T) {
	w, g := held(t)
	free := election.Record{Term: 1, State: election.StateReleased, InitialPrimary: names[0]}
	// The holder has the votes 0 and 1; whoever knows nothing of vote 1 sees vote 2 expire.
	w.servers[0].cut[2], w.servers[1].cut[1] = true, true
	w.servers[1].startAgent()
	w.live(12)
	g.Expect(w.primary()).To(Equal(w.servers[0]))
	w.lose(1)
	before := w.others()
	w.live(1)
	_, err := election.Remake(w.began(), before, w.others(), "remade")
	g.Expect(err).To(MatchError(election.ErrNotRenewed))
	w.servers[0].isolate(true)
	w.servers[1].cut[1] = false
	w.restore(free)
	w.live(3)
	g.Expect(w.fault).To(MatchError(ContainSubstring("two engines are writable")))
	w.fault = nil
}
