// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// kept is a voter that keeps its vote in memory.
type kept struct {
	name    string
	record  Record
	version int
	absent  bool
}

func (v *kept) Name() string { return v.name }

func (v *kept) Read(context.Context) (Record, string, error) {
	if v.absent {
		return Record{}, "", ErrAbsent
	}
	return v.record, fmt.Sprint(v.version), nil
}

func (v *kept) Swap(_ context.Context, version string, r Record) (string, error) {
	switch {
	case v.absent:
		return "", ErrAbsent
	case version != fmt.Sprint(v.version):
		return "", ErrConflict
	}
	v.record, v.version = r, v.version+1
	return fmt.Sprint(v.version), nil
}

// moved is a clock that only the test moves, and whoever sleeps.
type moved struct{ now time.Duration }

func (c *moved) Now() time.Duration { return c.now }

func (c *moved) Sleep(ctx context.Context, d time.Duration) error {
	c.now += d
	return ctx.Err()
}

func (c *moved) Wall() time.Time { return time.Unix(1_800_000_000, 0).Add(c.now) }

// ballotWith is a ballot of sites a, b, c, ... that has read these votes.
func ballotWith(t *testing.T, clock Clock, votes ...Record) (*Ballot, []*kept) {
	t.Helper()
	var c Configuration
	var voters []Voter
	var all []*kept
	for i, r := range votes {
		v := &kept{name: string(rune('a' + i)), record: r}
		c.Voters, voters, all = append(c.Voters, v.name), append(voters, v), append(all, v)
	}
	b := NewBallot(c, voters, clock, time.Second)
	b.Read(t.Context(), Patient)
	return b, all
}

var (
	own   = Holder{Server: "own-0", PodUID: "pod", Engine: "run"}
	rival = Holder{Server: "rival-0", PodUID: "pod", Engine: "run"}
)

// Where no majority agrees the highest term leads, wherever it is read, and within a term what is claimed or held.
func TestWhichVoteLeads(t *testing.T) {
	vote := func(term int64, state State, holder Holder) Record {
		return Record{Term: term, State: state, Holder: holder}
	}
	highest := vote(3, StateHeld, own)
	claimed, released := vote(3, StateClaimed, own), vote(3, StateReleased, rival)
	for name, c := range map[string]struct {
		votes []Record
		want  Record
	}{
		"the first is the highest":      {[]Record{highest, vote(1, StateHeld, rival), vote(2, StateHeld, own)}, highest},
		"the second is":                 {[]Record{vote(1, StateHeld, rival), highest, vote(2, StateHeld, own)}, highest},
		"the third is":                  {[]Record{vote(1, StateHeld, rival), vote(2, StateHeld, own), highest}, highest},
		"a claim beside a released one": {[]Record{released, claimed, vote(1, StateHeld, own)}, claimed},
		"a released one beside a claim": {[]Record{claimed, released, vote(1, StateHeld, own)}, claimed},
		"a majority below the highest": {[]Record{highest, vote(2, StateHeld, rival), vote(2, StateHeld, rival)},
			vote(2, StateHeld, rival)},
		"no majority of one state": {[]Record{vote(2, StateHeld, rival), vote(2, StateClaimed, rival), highest}, highest},
		"votes that were never anybody's": {[]Record{{State: StateReleased, InitialPrimary: "own-0"},
			{State: StateReleased, InitialPrimary: "own-0"}, {State: StateReleased, InitialPrimary: "own-0"}},
			Record{State: StateReleased, InitialPrimary: "own-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotWith(t, &moved{}, c.votes...)
			leading, ok := b.Leading()
			g.Expect(ok).To(BeTrue())
			g.Expect(leading).To(Equal(c.want))
			records := map[string]Record{}
			for _, v := range all {
				records[v.name] = v.record
			}
			observed, ok := b.Configuration().Leading(records)
			g.Expect(ok).To(BeTrue())
			g.Expect(observed).To(Equal(c.want), "for an observer, too")
		})
	}
}

// A run has a majority in a term where that many votes are its own, of this very term, and not released.
func TestWhoseMajorityItIs(t *testing.T) {
	mine := Record{Term: 3, State: StateHeld, Holder: own}
	for name, c := range map[string]struct {
		vote   Record
		agreed bool
	}{
		"held":         {mine, true},
		"claimed":      {Record{Term: 3, State: StateClaimed, Holder: own}, true},
		"released":     {Record{Term: 3, State: StateReleased, Holder: own}, false},
		"a lower term": {Record{Term: 2, State: StateHeld, Holder: own}, false},
		"another run":  {Record{Term: 3, State: StateHeld, Holder: rival}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := ballotWith(t, &moved{}, mine, c.vote, Record{Term: 1, State: StateHeld, Holder: rival})
			NewWithT(t).Expect(b.agreed(3, own)).To(Equal(c.agreed))
		})
	}
}

// A vote is outdone by a higher one, and by another run's of its term.
func TestWhatNoRoundReplaces(t *testing.T) {
	mine := Record{Term: 3, State: StateClaimed, Holder: own}
	for name, c := range map[string]struct {
		vote    Record
		outdone bool
	}{
		"its own":                 {mine, false},
		"a lower one":             {Record{Term: 2, State: StateHeld, Holder: rival}, false},
		"another's of this term":  {Record{Term: 3, State: StateClaimed, Holder: rival}, true},
		"another's of a higher":   {Record{Term: 4, State: StateClaimed, Holder: rival}, true},
		"its own of a higher one": {Record{Term: 4, State: StateClaimed, Holder: own}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := ballotWith(t, &moved{}, mine, mine, c.vote)
			NewWithT(t).Expect(b.outdone(3, own)).To(Equal(c.outdone))
		})
	}
}

// A vote ages while it stays the same swap and is in sight. Nothing is known of the age of one that was out of sight
// for longer than three API time-outs.
func TestAVoteAgesWhileItIsInSight(t *testing.T) {
	g := NewWithT(t)
	clock := &moved{now: time.Hour}
	vote := Record{Term: 1, State: StateHeld, Holder: rival}
	b, all := ballotWith(t, clock, vote, vote, vote)
	clock.now += 3 * time.Second
	b.Read(t.Context(), Patient)
	g.Expect(b.UnchangedFor()).To(Equal(3 * time.Second))
	g.Expect(b.staleFor(0, vote)).To(Equal(3 * time.Second))
	g.Expect(b.staleFor(0, Record{Term: 1, State: StateHeld, Holder: own})).To(BeZero(), "that is another vote")
	clock.now += 3*time.Second + 1
	b.Read(t.Context(), Patient)
	g.Expect(b.UnchangedFor()).To(BeZero())
	clock.now += time.Second
	all[0].absent = true
	b.Read(t.Context(), Patient)
	g.Expect(b.staleFor(0, vote)).To(BeZero(), "it is not known")
	g.Expect(b.staleFor(1, vote)).To(Equal(time.Second))
}

// A new term replaces votes of lower terms alone: a claim of a term that there is already would be a second one.
func TestAClaimIsOfATermAboveEveryVote(t *testing.T) {
	for term, granted := range map[int64]int{2: 0, 3: 0, 4: 3} {
		g := NewWithT(t)
		vote := Record{Term: 3, State: StateReleased, Holder: rival}
		b, _ := ballotWith(t, &moved{}, vote, vote, vote)
		next := Record{Term: term, State: StateClaimed, Holder: own}
		over := func(Record) bool { return true }
		g.Expect(b.Claim(t.Context(), next, time.Hour, over).Granted).To(Equal(granted), "term %d", term)
	}
}

// A group has lost its votes when so many were never anybody's that the others are no majority, wherever those are.
func TestWhichVotesWereLost(t *testing.T) {
	used, unused := Record{Term: 1, State: StateHeld, Holder: rival}, Record{State: StateReleased}
	for name, c := range map[string]struct {
		votes []Record
		lost  bool
	}{
		"none":                 {[]Record{used, used, used}, false},
		"the first":            {[]Record{unused, used, used}, false},
		"the last":             {[]Record{used, used, unused}, false},
		"the first and second": {[]Record{unused, unused, used}, true},
		"the second and last":  {[]Record{used, unused, unused}, true},
		"all":                  {[]Record{unused, unused, unused}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotWith(t, &moved{}, c.votes...)
			b.Begun()
			g.Expect(b.neverUsed()).To(Equal(c.lost))
			for _, v := range all {
				v.absent = true
			}
			b.Read(t.Context(), Patient)
			g.Expect(b.neverUsed()).To(BeFalse(), "what does not answer may have been anybody's")
		})
	}
}

// What people are shown has each that votes, and no record where none is known.
func TestASnapshotShowsAllThatVote(t *testing.T) {
	g := NewWithT(t)
	vote := Record{Term: 1, State: StateHeld, Holder: rival}
	first, last, other := &kept{name: "a", record: vote}, &kept{name: "b", absent: true}, &kept{name: "x", record: vote}
	b := NewBallot(Configuration{Voters: []string{"a", "b", "gone"}}, []Voter{first, last, other}, &moved{}, time.Second)
	b.Read(t.Context(), Patient)
	g.Expect(b.Snapshot()).To(Equal(map[string]*Record{"a": &vote, "b": nil, "gone": nil}))
}

// A site that is to vote gets the holder's vote where it had nobody's, if the holder may give it. Every other one is
// left as it is, and what keeps it from being needed is said.
func TestVisitedSitesGetTheHoldersVote(t *testing.T) {
	unused, older := Record{State: StateReleased}, Record{Term: 1, State: StateHeld, Holder: rival}
	mine := Record{Term: 3, State: StateHeld, Holder: own}
	for name, c := range map[string]struct {
		vote                 Record
		absent, may, swapped bool
		without              string
	}{
		"nobody's":                       {vote: unused, may: true, swapped: true},
		"nobody's, and it may not":       {vote: unused, without: "new (" + errUnused.Error() + ")"},
		"an earlier term's":              {vote: older, may: true},
		"an earlier term's, and may not": {vote: older},
		"a term's that is not replaced": {vote: Record{Term: 9, State: StateHeld, Holder: rival}, may: true,
			without: "new (the vote there"},
		"none": {absent: true, may: true, without: "new (" + ErrAbsent.Error() + ")"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			// The new one is the first of those that can be asked.
			added := &kept{name: "new", record: c.vote, absent: c.absent}
			voters := []Voter{added, &kept{name: "a", record: mine}}
			b := NewBallot(Configuration{Voters: []string{"a"}}, voters, &moved{}, time.Second)
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
				g.Expect(added.record).To(And(HaveField("Term", int64(3)), HaveField("Holder", own)))
			} else {
				g.Expect(added.record).To(Equal(c.vote))
			}
		})
	}
}

// A vote is in the way of a configuration that needs it when the holder cannot replace it, or when it tells of voters
// that are newer than those of the holder's and of a term that this one's does not exceed.
func TestWhichVotesAreInTheWay(t *testing.T) {
	present := Configuration{Term: 2, Number: 5, Voters: []string{"a"}}
	holder := Record{Term: 3, State: StateHeld, Holder: own}
	told := func(term, number int64) string {
		return Configuration{Term: term, Number: number, Voters: []string{"x"}}.encode()
	}
	for name, c := range map[string]struct {
		vote Record
		way  bool
	}{
		"never used":                       {Record{State: StateReleased}, false},
		"a lower term":                     {Record{Term: 2, State: StateReleased, Holder: rival}, false},
		"its own term, held by itself":     {Record{Term: 3, State: StateHeld, Holder: own}, false},
		"its own term, held by another":    {Record{Term: 3, State: StateHeld, Holder: rival}, true},
		"its own term, claimed by another": {Record{Term: 3, State: StateClaimed, Holder: rival}, false},
		"its own term, released":           {Record{Term: 3, State: StateReleased, Holder: own}, true},
		"a higher term of its own":         {Record{Term: 4, State: StateHeld, Holder: own}, true},
		"voters of the holder's term":      {Record{Term: 3, State: StateHeld, Holder: own, Voters: told(3, 1)}, true},
		"voters of a higher term":          {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(4, 1)}, true},
		"voters of a term between":         {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(2, 6)}, false},
		"older voters":                     {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(2, 4)}, false},
		"other voters of the same stamp":   {Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(2, 5)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.vote.InTheWay(holder, present)
			NewWithT(t).Expect(err != nil).To(Equal(c.way), fmt.Sprint(err))
		})
	}
	// Older voters of a term that is not below the holder's are known already.
	newest := Configuration{Term: 3, Number: 5, Voters: []string{"a"}}
	older := Record{Term: 2, State: StateHeld, Holder: rival, Voters: told(3, 4)}
	NewWithT(t).Expect(older.InTheWay(holder, newest)).To(Succeed())
}
