// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/votes"
)

// ballotWith is a ballot of sites a, b, c, ... that has read these votes.
func ballotWith(t *testing.T, clock Clock, records ...votes.Record) (*Ballot, []*electiontest.Kept) {
	t.Helper()
	var c votes.Configuration
	var voters []votes.Voter
	var all []*electiontest.Kept
	for i, r := range records {
		v := &electiontest.Kept{Site: string(rune('a' + i)), Record: r}
		c.Voters, voters, all = append(c.Voters, v.Site), append(voters, v), append(all, v)
	}
	b := New(c, voters, clock, time.Second)
	b.Read(t.Context(), Patient)
	return b, all
}

var (
	own   = votes.Holder{Server: "own-0", PodUID: "pod", Engine: "run"}
	rival = votes.Holder{Server: "rival-0", PodUID: "pod", Engine: "run"}
)

// Where no majority agrees the highest term leads, wherever it is read, and within a term what is claimed or held.
func TestWhichVoteLeads(t *testing.T) {
	vote := func(term int64, state votes.State, holder votes.Holder) votes.Record {
		return votes.Record{Term: term, State: state, Holder: holder}
	}
	highest := vote(3, votes.StateHeld, own)
	claimed, released := vote(3, votes.StateClaimed, own), vote(3, votes.StateReleased, rival)
	for name, c := range map[string]struct {
		votes []votes.Record
		want  votes.Record
	}{
		"the first is the highest": {[]votes.Record{highest, vote(1, votes.StateHeld, rival),
			vote(2, votes.StateHeld, own)}, highest},
		"the second is": {[]votes.Record{vote(1, votes.StateHeld, rival), highest,
			vote(2, votes.StateHeld, own)}, highest},
		"the third is": {[]votes.Record{vote(1, votes.StateHeld, rival), vote(2, votes.StateHeld, own),
			highest}, highest},
		"a claim beside a released one": {[]votes.Record{released, claimed, vote(1, votes.StateHeld, own)}, claimed},
		"a released one beside a claim": {[]votes.Record{claimed, released, vote(1, votes.StateHeld, own)}, claimed},
		"a majority below the highest": {[]votes.Record{highest, vote(2, votes.StateHeld, rival),
			vote(2, votes.StateHeld, rival)},
			vote(2, votes.StateHeld, rival)},
		"no majority of one state": {[]votes.Record{vote(2, votes.StateHeld, rival), vote(2, votes.StateClaimed, rival),
			highest}, highest},
		"votes that were never anybody's": {[]votes.Record{{State: votes.StateReleased, InitialPrimary: "own-0"},
			{State: votes.StateReleased, InitialPrimary: "own-0"}, {State: votes.StateReleased, InitialPrimary: "own-0"}},
			votes.Record{State: votes.StateReleased, InitialPrimary: "own-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotWith(t, &electiontest.Moved{}, c.votes...)
			leading, ok := b.Leading()
			g.Expect(ok).To(BeTrue())
			g.Expect(leading).To(Equal(c.want))
			records := map[string]votes.Record{}
			for _, v := range all {
				records[v.Site] = v.Record
			}
			observed, ok := b.Configuration().Leading(records)
			g.Expect(ok).To(BeTrue())
			g.Expect(observed).To(Equal(c.want), "for an observer, too")
		})
	}
}

// A run has a majority in a term where that many votes are its own, of this very term, and not released.
func TestWhoseMajorityItIs(t *testing.T) {
	mine := votes.Record{Term: 3, State: votes.StateHeld, Holder: own}
	for name, c := range map[string]struct {
		vote   votes.Record
		agreed bool
	}{
		"held":         {mine, true},
		"claimed":      {votes.Record{Term: 3, State: votes.StateClaimed, Holder: own}, true},
		"released":     {votes.Record{Term: 3, State: votes.StateReleased, Holder: own}, false},
		"a lower term": {votes.Record{Term: 2, State: votes.StateHeld, Holder: own}, false},
		"another run":  {votes.Record{Term: 3, State: votes.StateHeld, Holder: rival}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := ballotWith(
				t,
				&electiontest.Moved{},
				mine,
				c.vote,
				votes.Record{Term: 1, State: votes.StateHeld, Holder: rival},
			)
			NewWithT(t).Expect(b.Agreed(3, own)).To(Equal(c.agreed))
		})
	}
}

// A vote is outdone by a higher one, and by another run's of its term.
func TestWhatNoRoundReplaces(t *testing.T) {
	mine := votes.Record{Term: 3, State: votes.StateClaimed, Holder: own}
	for name, c := range map[string]struct {
		vote    votes.Record
		outdone bool
	}{
		"its own":                 {mine, false},
		"a lower one":             {votes.Record{Term: 2, State: votes.StateHeld, Holder: rival}, false},
		"another's of this term":  {votes.Record{Term: 3, State: votes.StateClaimed, Holder: rival}, true},
		"another's of a higher":   {votes.Record{Term: 4, State: votes.StateClaimed, Holder: rival}, true},
		"its own of a higher one": {votes.Record{Term: 4, State: votes.StateClaimed, Holder: own}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := ballotWith(t, &electiontest.Moved{}, mine, mine, c.vote)
			NewWithT(t).Expect(b.Outdone(3, own)).To(Equal(c.outdone))
		})
	}
}

// A vote ages while it stays the same swap and is in sight. Nothing is known of the age of one that was out of sight
// for longer than three API time-outs.
func TestAVoteAgesWhileItIsInSight(t *testing.T) {
	g := NewWithT(t)
	clock := &electiontest.Moved{At: time.Hour}
	vote := votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}
	b, all := ballotWith(t, clock, vote, vote, vote)
	clock.At += 3 * time.Second
	b.Read(t.Context(), Patient)
	g.Expect(b.UnchangedFor()).To(Equal(3 * time.Second))
	g.Expect(b.staleFor(0, vote)).To(Equal(3 * time.Second))
	g.Expect(
		b.staleFor(0, votes.Record{Term: 1, State: votes.StateHeld, Holder: own}),
	).To(
		BeZero(),
		"that is another vote",
	)
	clock.At += 3*time.Second + 1
	b.Read(t.Context(), Patient)
	g.Expect(b.UnchangedFor()).To(BeZero())
	clock.At += time.Second
	all[0].Absent = true
	b.Read(t.Context(), Patient)
	g.Expect(b.staleFor(0, vote)).To(BeZero(), "it is not known")
	g.Expect(b.staleFor(1, vote)).To(Equal(time.Second))
}

// A new term replaces votes of lower terms alone: a claim of a term that there is already would be a second one.
func TestAClaimIsOfATermAboveEveryVote(t *testing.T) {
	for term, granted := range map[int64]int{2: 0, 3: 0, 4: 3} {
		g := NewWithT(t)
		vote := votes.Record{Term: 3, State: votes.StateReleased, Holder: rival}
		b, _ := ballotWith(t, &electiontest.Moved{}, vote, vote, vote)
		next := votes.Record{Term: term, State: votes.StateClaimed, Holder: own}
		over := func(votes.Record) bool { return true }
		g.Expect(b.Claim(t.Context(), next, time.Hour, over).Granted).To(Equal(granted), "term %d", term)
	}
}

// A group has lost its votes when so many were never anybody's that the others are no majority, wherever those are.
func TestWhichVotesWereLost(t *testing.T) {
	used, unused := votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}, votes.Record{State: votes.StateReleased}
	for name, c := range map[string]struct {
		votes []votes.Record
		lost  bool
	}{
		"none":                 {[]votes.Record{used, used, used}, false},
		"the first":            {[]votes.Record{unused, used, used}, false},
		"the last":             {[]votes.Record{used, used, unused}, false},
		"the first and second": {[]votes.Record{unused, unused, used}, true},
		"the second and last":  {[]votes.Record{used, unused, unused}, true},
		"all":                  {[]votes.Record{unused, unused, unused}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotWith(t, &electiontest.Moved{}, c.votes...)
			b.Begun()
			g.Expect(b.NeverUsed()).To(Equal(c.lost))
			for _, v := range all {
				v.Absent = true
			}
			b.Read(t.Context(), Patient)
			g.Expect(b.NeverUsed()).To(BeFalse(), "what does not answer may have been anybody's")
		})
	}
}

// What people are shown has each that votes, and no record where none is known.
func TestASnapshotShowsAllThatVote(t *testing.T) {
	g := NewWithT(t)
	vote := votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}
	first, last, other := &electiontest.Kept{
		Site:   "a",
		Record: vote,
	}, &electiontest.Kept{
		Site:   "b",
		Absent: true,
	}, &electiontest.Kept{
		Site:   "x",
		Record: vote,
	}
	b := New(
		votes.Configuration{Voters: []string{"a", "b", "gone"}},
		[]votes.Voter{first, last, other},
		&electiontest.Moved{},
		time.Second,
	)
	b.Read(t.Context(), Patient)
	g.Expect(b.Snapshot()).To(Equal(map[string]*votes.Record{"a": &vote, "b": nil, "gone": nil}))
}

// A site that is to vote gets the holder's vote where it had nobody's, if the holder may give it. Every other one is
// left as it is, and what keeps it from being needed is said.
func TestVisitedSitesGetTheHoldersVote(t *testing.T) {
	unused, older := votes.Record{State: votes.StateReleased}, votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}
	mine := votes.Record{Term: 3, State: votes.StateHeld, Holder: own}
	for name, c := range map[string]struct {
		vote                 votes.Record
		absent, may, swapped bool
		without              string
	}{
		"nobody's":                       {vote: unused, may: true, swapped: true},
		"nobody's, and it may not":       {vote: unused, without: "new (" + errUnused.Error() + ")"},
		"an earlier term's":              {vote: older, may: true},
		"an earlier term's, and may not": {vote: older},
		"a term's that is not replaced": {vote: votes.Record{Term: 9, State: votes.StateHeld, Holder: rival}, may: true,
			without: "new (the vote there"},
		"none": {absent: true, may: true, without: "new (" + votes.ErrAbsent.Error() + ")"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			// The new one is the first of those that can be asked.
			added := &electiontest.Kept{Site: "new", Record: c.vote, Absent: c.absent}
			voters := []votes.Voter{added, &electiontest.Kept{Site: "a", Record: mine}}
			b := New(votes.Configuration{Voters: []string{"a"}}, voters, &electiontest.Moved{}, time.Second)
			b.Read(t.Context(), Patient)
			b.Begun()
			without := b.Visit(t.Context(), []string{"new", "nowhere"}, time.Second, mine, func() bool { return c.may })
			if c.without != "" {
				g.Expect(without).To(HaveLen(2))
				g.Expect(without[0]).To(ContainSubstring(c.without))
			} else {
				g.Expect(without).To(HaveLen(1))
			}
			g.Expect(without[len(without)-1]).To(Equal("nowhere (no way there)"))
			if c.swapped {
				g.Expect(added.Record).To(And(HaveField("Term", int64(3)), HaveField("Holder", own)))
			} else {
				g.Expect(added.Record).To(Equal(c.vote))
			}
		})
	}
}

// Sites answer when a majority of them has a vote that is known, wherever they are among all.
func TestWhichSitesAnswer(t *testing.T) {
	g := NewWithT(t)
	vote := votes.Record{Term: 1, State: votes.StateHeld, Holder: rival}
	b, all := ballotWith(t, &electiontest.Moved{}, vote, vote, vote)
	all[1].Absent = true
	b.Read(t.Context(), Patient)
	g.Expect(b.Answering([]string{"a"})).To(BeTrue())
	g.Expect(b.Answering([]string{"b"})).To(BeFalse())
	g.Expect(b.Answering([]string{"nowhere"})).To(BeFalse())
	g.Expect(b.Answering([]string{"a", "b", "c"})).To(BeTrue())
	g.Expect(b.Answering([]string{"b", "nowhere", "c"})).To(BeFalse())
}
