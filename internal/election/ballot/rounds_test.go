// SPDX-License-Identifier: Apache-2.0

package ballot_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/votes"
)

var (
	mine   = votes.Holder{Server: "own-0", PodUID: "pod", Engine: "run"}
	others = votes.Holder{Server: "rival-0", PodUID: "pod", Engine: "run"}
)

// asked is a voter that counts what it is asked, and whose next swap comes to something else.
type asked struct {
	electiontest.Kept
	reads, swaps int
	// meanwhile is what another swaps in before the next swap, nil for nothing.
	meanwhile *votes.Record
	// lost is how many swaps' answers are lost after they took place, refused how many did not.
	lost, refused int
}

func (a *asked) Read(ctx context.Context) (votes.Record, string, error) {
	a.reads++
	return a.Kept.Read(ctx)
}

func (a *asked) Swap(ctx context.Context, version string, r votes.Record) (string, error) {
	a.swaps++
	if a.refused > 0 {
		a.refused--
		return "", errors.New("not now")
	}
	if a.meanwhile != nil {
		a.Record, a.meanwhile = *a.meanwhile, nil
		a.Version++
	}
	version, err := a.Kept.Swap(ctx, version, r)
	if err == nil && a.lost > 0 {
		a.lost--
		return "", errors.New("the answer was lost")
	}
	return version, err
}

// ballotOn is a ballot of sites a, b, c, ... with these votes, none of which has been read.
func ballotOn(clock ballot.Clock, records ...votes.Record) (*ballot.Ballot, []*asked) {
	var voters []votes.Voter
	var all []*asked
	for i, r := range records {
		a := &asked{Kept: electiontest.Kept{Site: string(rune('a' + i)), Record: r}}
		voters, all = append(voters, a), append(all, a)
	}
	return ballotOf(voters, clock, time.Second), all
}

func held(term int64, by votes.Holder) votes.Record {
	return votes.Record{Term: term, State: votes.StateHeld, Holder: by}
}

func always(votes.Record) bool { return true }

// One call to each voter is a round, whether its vote is known or not: only what is not known is read before.
func TestWhatASwapAsks(t *testing.T) {
	next := held(4, mine)
	next.Holder.Nonce = "n"
	for name, c := range map[string]struct {
		read                  bool
		change                func(*asked)
		granted, reads, swaps int
	}{
		"known":               {true, func(*asked) {}, 1, 0, 1},
		"not read yet":        {false, func(*asked) {}, 1, 1, 1},
		"absent":              {false, func(a *asked) { a.Absent = true }, 0, 1, 0},
		"changed since":       {true, func(a *asked) { r := held(3, others); a.meanwhile = &r }, 1, 1, 2},
		"the answer was lost": {true, func(a *asked) { a.lost = 1 }, 1, 1, 1},
		"refused once":        {true, func(a *asked) { a.refused = 1 }, 1, 1, 2},
		"refused twice":       {true, func(a *asked) { a.refused = 2 }, 0, 1, 2},
		"changed to what may not be replaced": {true, func(a *asked) { r := held(9, others); a.meanwhile = &r },
			0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotOn(&electiontest.Moved{}, held(3, others))
			if c.read {
				b.Read(t.Context(), ballot.Patient)
			}
			all[0].reads = 0
			c.change(all[0])
			tally := b.Cast(t.Context(), ballot.Patient, next, func(r votes.Record) bool { return r.Term < 4 })
			g.Expect(tally.Granted).To(Equal(c.granted))
			g.Expect(tally.Carried).To(Equal(c.granted == 1))
			g.Expect(all[0].reads).To(Equal(c.reads), "reads")
			g.Expect(all[0].swaps).To(Equal(c.swaps), "swaps")
			_, ok := b.Leading()
			g.Expect(ok).To(Equal(!all[0].Absent))
			if c.granted == 1 {
				g.Expect(all[0].Record.SameVote(next)).To(BeTrue())
				g.Expect(b.Agreed(4, mine)).To(BeTrue())
			}
		})
	}
}

// A round is carried when a majority granted it, and met no configuration that is newer than the one it began with.
func TestWhichRoundsAreCarried(t *testing.T) {
	newer := votes.Configuration{Term: 3, Number: 1, Voters: []string{"a"}}
	told := held(3, others)
	told.Voters = newer.Encode()
	for name, c := range map[string]struct {
		first, last votes.Record
		granted     int
		carried     bool
	}{
		"all":                         {held(3, mine), held(3, mine), 3, true},
		"a majority":                  {held(3, mine), held(9, others), 2, true},
		"a minority":                  {held(9, others), held(9, others), 1, false},
		"one tells of another set":    {held(3, mine), told, 3, false},
		"a minority, and another set": {held(9, others), told, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, _ := ballotOn(&electiontest.Moved{}, c.first, held(3, mine), c.last)
			tally := b.Cast(t.Context(), ballot.Patient, held(4, mine), func(r votes.Record) bool { return r.Term < 4 })
			g.Expect(tally.Granted).To(Equal(c.granted))
			g.Expect(tally.Carried).To(Equal(c.carried))
			g.Expect(tally.String()).To(ContainSubstring("of 3 votes, a majority of a, b, c needed"))
		})
	}
}

// A claim replaces what is known to be over, and every vote that has been seen unchanged for long enough, up to the
// very moment.
func TestWhichVotesAClaimReplaces(t *testing.T) {
	released := votes.Record{Term: 3, State: votes.StateReleased, Holder: others}
	for name, c := range map[string]struct {
		vote    votes.Record
		over    bool
		age     time.Duration
		granted int
	}{
		"held":             {held(3, others), false, 0, 0},
		"almost as long":   {held(3, others), false, 2*time.Second - 1, 0},
		"as long":          {held(3, others), false, 2 * time.Second, 1},
		"longer":           {held(3, others), false, 2*time.Second + 1, 1},
		"over":             {held(3, others), true, 0, 1},
		"released":         {released, false, 0, 1},
		"of the same term": {held(4, others), true, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &electiontest.Moved{At: time.Hour}
			b, _ := ballotOn(clock, c.vote)
			b.Read(t.Context(), ballot.Patient)
			clock.At += c.age
			tally := b.Claim(t.Context(), held(4, mine), 2*time.Second, func(votes.Record) bool { return c.over })
			NewWithT(t).Expect(tally.Granted).To(Equal(c.granted))
		})
	}
}

// A vote of a lower term, or of an older configuration, than was seen at its voter counts as absent, and does not make
// the voter forget what was seen.
func TestAnOlderVoteCountsAsAbsent(t *testing.T) {
	with := func(term int64, c votes.Configuration) votes.Record {
		r := held(term, others)
		r.Voters = c.Encode()
		return r
	}
	older := votes.Configuration{Term: 3, Number: 1, Voters: []string{"a"}}
	newer := votes.Configuration{Term: 3, Number: 2, Voters: []string{"a"}}
	newest := votes.Configuration{Term: 4, Number: 1, Voters: []string{"a"}}
	contrary := votes.Configuration{Term: 3, Number: 2, Voters: []string{"b"}}
	for name, c := range map[string]struct {
		then  votes.Record
		known bool
	}{
		"the same":                              {with(5, newer), true},
		"a higher term":                         {with(6, newer), true},
		"a lower term":                          {with(4, newer), false},
		"an older configuration":                {with(5, older), false},
		"older in both":                         {with(4, older), false},
		"an older one, and a higher term":       {with(6, older), false},
		"a lower term, and a newer one":         {with(4, newest), false},
		"a configuration that contradicts":      {with(5, contrary), false},
		"a contradiction, and of a higher term": {with(6, contrary), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotOn(&electiontest.Moved{}, with(5, newer))
			_, ok := b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(BeTrue())
			all[0].Record = c.then
			_, ok = b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(Equal(c.known))
			g.Expect(b.Configuration()).To(Equal(newer))
			g.Expect(b.HighestTerm()).To(Equal(map[bool]int64{true: c.then.Term, false: 5}[c.known]))
			all[0].Record = with(7, newer)
			_, ok = b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(BeTrue(), "a newer one counts")
		})
	}
}

// What is older than what was seen is replaced by a term that is not below it. A voter that answers nothing was not
// restored.
func TestWhichVotesWereRestored(t *testing.T) {
	g := NewWithT(t)
	b, all := ballotOn(&electiontest.Moved{}, held(5, mine), held(5, mine), held(5, mine))
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Restored(5)).To(BeEmpty())
	all[1].Record, all[2].Absent = held(2, others), true
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Restored(5)).To(Equal([]int{1}))
	g.Expect(b.Restored(6)).To(Equal([]int{1}))
	g.Expect(b.Restored(4)).To(BeEmpty())
	all[1].refused = 1
	b.ReplaceRestored(t.Context(), 1, held(5, mine))
	g.Expect(b.Restored(5)).To(Equal([]int{1}), "it was refused")
	b.ReplaceRestored(t.Context(), 1, held(5, mine))
	g.Expect(b.Restored(5)).To(BeEmpty())
	g.Expect(all[1].Record).To(And(HaveField("Term", int64(5)), HaveField("Holder", mine)))
	g.Expect(b.Snapshot()["b"]).NotTo(BeNil())
}

// Once somebody held a vote, or it is known that there is the group, a vote that was never anybody's counts as absent.
// A claim alone does not make the group.
func TestFromWhenOnAnUnusedVoteIsAbsent(t *testing.T) {
	unused := votes.Record{State: votes.StateReleased, InitialPrimary: "own-0"}
	for name, c := range map[string]struct {
		other        votes.Record
		begun, known bool
	}{
		"all are":          {unused, false, true},
		"another's claim":  {votes.Record{Term: 1, State: votes.StateClaimed, Holder: others}, false, true},
		"another held":     {held(1, others), false, false},
		"the group began":  {unused, true, false},
		"it began, claims": {votes.Record{Term: 1, State: votes.StateClaimed, Holder: others}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := ballotOn(&electiontest.Moved{}, unused, c.other)
			if c.begun {
				b.Begun()
			}
			b.Read(t.Context(), ballot.Patient)
			NewWithT(t).Expect(b.Snapshot()["a"] != nil).To(Equal(c.known))
			b.Read(t.Context(), ballot.Patient)
			NewWithT(t).Expect(b.Snapshot()["a"] != nil).To(Equal(c.known), "in the next round, too")
		})
	}
}

// The age of a vote begins when it is seen first, and anew with every swap of it.
func TestTheAgeOfAVoteBeginsAnew(t *testing.T) {
	g := NewWithT(t)
	clock := &electiontest.Moved{At: time.Hour}
	b, all := ballotOn(clock, votes.Record{})
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.UnchangedFor()).To(BeZero(), "it was never seen before")
	for _, change := range []func(*votes.Record){
		func(r *votes.Record) { r.Term = 1 },
		func(r *votes.Record) { r.State = votes.StateHeld },
		func(r *votes.Record) { r.Holder = others },
		func(r *votes.Record) { r.Holder.Nonce = "n" },
	} {
		clock.At += time.Second
		b.Read(t.Context(), ballot.Patient)
		g.Expect(b.UnchangedFor()).To(Equal(time.Second))
		change(&all[0].Record)
		b.Read(t.Context(), ballot.Patient)
		g.Expect(b.UnchangedFor()).To(BeZero())
	}
	clock.At += time.Second
	all[0].Record.Notes.Paused = "true"
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.UnchangedFor()).To(Equal(time.Second), "a note is no swap of the vote")
}

// A majority of the votes has been unchanged for as long as the youngest of its eldest has.
func TestHowLongAMajorityIsUnchanged(t *testing.T) {
	g := NewWithT(t)
	clock := &electiontest.Moved{At: time.Hour}
	b, all := ballotOn(clock, held(1, others), held(1, others), held(1, others))
	b.Read(t.Context(), ballot.Patient)
	for _, i := range []int{1, 0} {
		clock.At += time.Second
		all[i].Record.Term++
		b.Read(t.Context(), ballot.Patient)
	}
	clock.At += time.Second
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.UnchangedFor()).To(Equal(2*time.Second), "3 s, 2 s and 1 s")
	all[1].Absent, all[2].Absent = true, true
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.UnchangedFor()).To(BeZero(), "one is no majority")
}

// A configuration replaces the present one when it is newer, and is one.
func TestWhichConfigurationsAreAdopted(t *testing.T) {
	g := NewWithT(t)
	present := votes.Configuration{Term: 2, Number: 2, Voters: []string{"a"}}
	b := ballot.New(present, nil, &electiontest.Moved{}, time.Second)
	for _, c := range []votes.Configuration{{}, {Term: 9, Number: 1}, {Term: 2, Number: 1, Voters: []string{"x"}},
		{Term: 1, Number: 9, Voters: []string{"x"}}, {Term: 2, Number: 2, Voters: []string{"x"}}} {
		b.Adopt(c)
		g.Expect(b.Configuration()).To(Equal(present), "%v", c)
	}
	newer := votes.Configuration{Term: 2, Number: 3, Voters: []string{"x"}}
	b.Adopt(newer)
	g.Expect(b.Configuration()).To(Equal(newer))
}

// A swap gives every vote the newest configuration that is known, and none an older one.
func TestWhichConfigurationASwapGives(t *testing.T) {
	present := votes.Configuration{Term: 2, Number: 2, Voters: []string{"a"}}
	for name, c := range map[string]struct{ vote, want votes.Configuration }{
		"none":      {votes.Configuration{}, present},
		"older":     {votes.Configuration{Term: 2, Number: 1, Voters: []string{"a", "b"}}, present},
		"the first": {votes.Configuration{Voters: []string{"a", "b"}}, present},
		"the same":  {present, present},
	} {
		t.Run(name, func(t *testing.T) {
			r := held(3, mine)
			r.Voters = c.vote.Encode()
			a := &asked{Kept: electiontest.Kept{Site: "a", Record: r}}
			b := ballot.New(present, []votes.Voter{a}, &electiontest.Moved{}, time.Second)
			NewWithT(t).Expect(b.Cast(t.Context(), ballot.Patient, held(3, mine), always).Granted).To(Equal(1))
			NewWithT(t).Expect(a.Record.Configuration()).To(Equal(c.want))
		})
	}
	// It was told of no sites: then the first ones are written down.
	g := NewWithT(t)
	b, all := ballotOn(&electiontest.Moved{}, held(3, mine))
	b.Note(t.Context(), votes.Notes{Paused: "true"})
	g.Expect(all[0].Record.Configuration()).To(Equal(votes.Configuration{Voters: []string{"a"}}))
	g.Expect(all[0].Record.Notes.Paused).To(Equal("true"))
	g.Expect(all[0].Record.SameVote(held(3, mine))).To(BeTrue(), "a note changes no vote")
	// A vote that is not read yet tells of a newer one: a swap of it leaves that.
	later := votes.Configuration{Term: 3, Number: 1, Voters: []string{"a", "b"}}
	told := held(3, mine)
	told.Voters = later.Encode()
	a := &asked{Kept: electiontest.Kept{Site: "x", Record: told}}
	b = ballot.New(present, []votes.Voter{a}, &electiontest.Moved{}, time.Second)
	g.Expect(b.Visit(t.Context(), []string{"x"}, time.Second, held(4, mine), func() bool { return true })).To(BeEmpty())
	g.Expect(a.Record.Configuration()).To(Equal(later))
	g.Expect(b.Configuration()).To(Equal(present), "one that does not vote is not believed")
}

// A site is not needed that refuses the holder's vote.
func TestAVisitThatIsRefused(t *testing.T) {
	g := NewWithT(t)
	a := &asked{Kept: electiontest.Kept{Site: "new", Record: votes.Record{State: votes.StateReleased}}, refused: 1}
	b := ballot.New(votes.Configuration{Voters: []string{"a"}}, []votes.Voter{a}, &electiontest.Moved{}, time.Second)
	visit := func() []string {
		return b.Visit(t.Context(), []string{"new"}, time.Second, held(3, mine), func() bool { return true })
	}
	g.Expect(visit()).To(Equal([]string{"new (not now)"}))
	g.Expect(a.Record.Unused()).To(BeTrue())
	g.Expect(visit()).To(BeEmpty())
	g.Expect(a.Record.Term).To(Equal(int64(3)))
	g.Expect(b.Answering([]string{"new"})).To(BeTrue())
}

// Where a newer configuration turns up those that vote in it are read, through as many as MaxConfigurations.
func TestAReadingFollowsNewerConfigurations(t *testing.T) {
	g := NewWithT(t)
	var voters []votes.Voter
	for i, site := range []string{"a", "b", "c", "d"} {
		r := held(3, others)
		if i < 3 {
			r.Voters = votes.Configuration{Term: 3, Number: int64(i + 1), Voters: []string{string(rune('b' + i))}}.Encode()
		}
		voters = append(voters, &asked{Kept: electiontest.Kept{Site: site, Record: r}})
	}
	b := ballot.New(votes.Configuration{Voters: []string{"a"}}, voters, &electiontest.Moved{}, time.Second)
	_, ok := b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Configuration().Voters).To(Equal([]string{"d"}))
	g.Expect(ok).To(BeFalse(), "it is one more than is followed")
	leading, ok := b.Read(t.Context(), ballot.Patient)
	g.Expect(ok).To(BeTrue())
	g.Expect(leading).To(Equal(held(3, others)))
}

// Somebody alone who waits ends the round, too. Patient rounds give a silent voter a moment.
func TestHowLongARoundTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gone := &lone{name: "c", away: true}
		b := ballotOf([]votes.Voter{&lone{name: "a"}, &lone{name: "b"}, gone}, electiontest.BubbleClock{}, 2*time.Second)
		read := func(pace ballot.Pace) time.Duration {
			began := time.Now()
			_, ok := b.Read(t.Context(), pace)
			g.Expect(ok).To(BeTrue())
			return time.Since(began)
		}
		done := b.Hurry()
		g.Expect(read(ballot.Patient)).To(BeZero())
		done()
		g.Expect(b.AllHeard()).To(BeTrue())
		g.Expect(read(ballot.Quick)).To(Equal(30*time.Millisecond), "it is not known to be silent")
		g.Expect(read(ballot.Patient)).To(Equal(2 * time.Second))
		g.Expect(b.AllHeard()).To(BeFalse())
		g.Expect(read(ballot.Patient)).To(Equal(200 * time.Millisecond))
		g.Expect(read(ballot.Quick)).To(BeZero())
		g.Expect(read(ballot.Patient)).To(Equal(2*time.Second), "every fourth patient round")
		gone.away = false
		g.Expect(read(ballot.Patient)).To(BeZero())
		g.Expect(b.AllHeard()).To(BeTrue())
	})
}

// The holder of the leading term gave it up when one vote says so of the highest term that a majority knows.
func TestWhoseTermWasReleased(t *testing.T) {
	gone := func(term int64) votes.Record {
		return votes.Record{Term: term, State: votes.StateReleased, Holder: others}
	}
	his := held(3, others)
	type list = []votes.Record
	for name, c := range map[string]struct {
		votes    list
		absent   int
		released bool
		runs     list
	}{
		"no":                   {list{his, his, his}, 0, false, nil},
		"the first says so":    {list{gone(3), his, his}, 0, true, list{gone(3)}},
		"the last does":        {list{his, his, gone(3)}, 0, true, list{gone(3)}},
		"of a lower term":      {list{gone(2), his, his}, 0, false, list{gone(2)}},
		"all do":               {list{gone(3), gone(3), gone(2)}, 0, true, list{gone(3), gone(3), gone(2)}},
		"no majority is known": {list{his, his, gone(3)}, 2, false, list{gone(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotOn(&electiontest.Moved{}, c.votes...)
			for i := range c.absent {
				all[i].Absent = true
			}
			b.Read(t.Context(), ballot.Patient)
			g.Expect(b.Released()).To(Equal(c.released))
			g.Expect(b.ReleasedRuns()).To(Equal(c.runs))
		})
	}
}

// A group was served when a majority tells of a primary, and notes are those of the votes that are known.
func TestWhetherAGroupWasServed(t *testing.T) {
	g := NewWithT(t)
	claimed := votes.Record{Term: 2, State: votes.StateClaimed, Holder: others, Notes: votes.Notes{Paused: "true"}}
	b, all := ballotOn(&electiontest.Moved{}, claimed, claimed, held(1, others))
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Served()).To(BeFalse(), "one alone may be of a former group")
	all[0].Record.State = votes.StateHeld
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Served()).To(BeTrue())
	all[0].Absent = true
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Notes()).To(Equal([]votes.Notes{claimed.Notes, {}}))
}

// A run with a majority in its term is outbid by a vote that it cannot replace, once that has stood for some time or
// counts as absent for being older than what was seen.
func TestWhoIsOutbid(t *testing.T) {
	for name, c := range map[string]struct {
		vote   votes.Record
		age    time.Duration
		outbid bool
	}{
		"its own":                       {held(3, mine), time.Hour, false},
		"a lower one":                   {held(2, others), time.Hour, false},
		"a higher one":                  {held(4, others), time.Second, true},
		"a higher one for not so long":  {held(4, others), time.Second - 1, false},
		"another's of the term":         {held(3, others), time.Second, true},
		"another's for not so long":     {held(3, others), time.Second - 1, false},
		"its own run's of a higher one": {held(4, mine), time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &electiontest.Moved{At: time.Hour}
			b, _ := ballotOn(clock, held(3, mine), held(3, mine), c.vote)
			b.Read(t.Context(), ballot.Patient)
			clock.At += c.age
			NewWithT(t).Expect(b.Outbid(3, mine, time.Second)).To(Equal(c.outbid))
			NewWithT(t).Expect(b.Outbid(3, others, time.Second)).To(BeFalse(), "it has no majority")
		})
	}
	g := NewWithT(t)
	b, all := ballotOn(&electiontest.Moved{}, held(3, mine), held(3, mine), held(4, others))
	b.Read(t.Context(), ballot.Patient)
	all[2].Absent = true
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Outbid(3, mine, 0)).To(BeFalse(), "it is not known")
	all[2].Absent, all[2].Record = false, held(1, others)
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Outbid(3, mine, time.Hour)).To(BeTrue(), "it was restored")
	g.Expect(b.Restored(4)).To(Equal([]int{2}))
}
