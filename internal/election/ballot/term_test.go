// SPDX-License-Identifier: Apache-2.0

package ballot_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/electiontest"
	"geosql.dev/operator/internal/election/votes"
)

// A vote of a term that nobody can have claimed counts as absent, and nothing that it tells is taken over, neither its
// term nor who votes. What a majority says counts, whatever it is, up to the last term.
func TestWhichTermsAreBelieved(t *testing.T) {
	const step = votes.TermStep
	only := votes.Configuration{Term: votes.MaxTerm - 5, Number: 1, Voters: []string{"a"}}
	told := held(1, others)
	told.Voters = only.Encode()
	of := func(records ...votes.Record) []votes.Record { return records }
	for name, c := range map[string]struct {
		records []votes.Record
		known   int64
		highest int64
		beyond  string
		ok      bool
	}{
		"as they grow":        {of(held(7, mine), held(7, mine), held(8, others)), 0, 8, "", true},
		"two steps above":     {of(held(7, mine), held(7, mine), held(7+2*step, others)), 0, 7 + 2*step, "", true},
		"more":                {of(held(7, mine), held(7, mine), held(8+2*step, others)), 0, 7, "c", true},
		"read first":          {of(held(8+2*step, others), held(7, mine), held(7, mine)), 0, 7, "a", true},
		"the last of a Lease": {of(held(1<<31-1, others), held(7, mine), held(7, mine)), 0, 7, "a", true},
		"a majority, far above": {of(held(90*step, others), held(7, mine), held(90*step, others)), 0, 90 * step,
			"", true},
		"one that is behind": {of(held(90*step, others), held(91*step, mine), held(7, mine)), 0, 91 * step, "",
			true},
		"promised, or held": {of(held(90*step, others), held(7, mine), held(7, mine)), 89 * step, 90 * step, "",
			true},
		"above the last, by all": {of(held(votes.MaxTerm+1, others), held(votes.MaxTerm+1, others)), 0, 0, "ab", false},
		"by who votes":           {of(held(7, mine), held(7, mine), told), 0, 7, "c", true},
		"known above the last":   {of(held(7, mine), held(1<<31-1, mine)), 1<<31 - 1, 7, "b", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, all := ballotOn(&electiontest.Moved{}, c.records...)
			b.Know(c.known)
			_, ok := b.Read(t.Context(), ballot.Patient)
			g.Expect(ok).To(Equal(c.ok))
			g.Expect(b.HighestTerm()).To(Equal(c.highest))
			g.Expect(b.Configuration().Term).To(BeZero())
			for _, a := range all {
				has := ContainSubstring(a.Site + " has a vote of term")
				if c.beyond == "" || a.Site != c.beyond && c.beyond != "ab" {
					g.Expect(b.Beyond()).NotTo(has)
				} else {
					g.Expect(b.Beyond()).To(has)
				}
			}
		})
	}
}

// Who has a majority without a vote that is not believed takes it, with nothing of what stood beside it.
func TestAVoteThatIsNotBelievedIsReplaced(t *testing.T) {
	g := NewWithT(t)
	forged := held(votes.MaxTerm, others)
	forged.InitialPrimary, forged.Notes.Forced = "own-0", `{"term":1073741000,"server":"rival-0"}`
	forged.Voters = votes.Configuration{Term: 1 << 40, Number: 1, Voters: []string{"c"}}.Encode()
	b, all := ballotOn(&electiontest.Moved{}, held(7, mine), held(7, mine), forged)
	b.Read(t.Context(), ballot.Patient)
	g.Expect(b.Beyond()).To(ContainSubstring("c has a vote"))
	b.ReplaceBeyond(t.Context(), held(7, mine))
	g.Expect(b.Beyond()).To(BeEmpty())
	g.Expect(all[2].Record.SameVote(held(7, mine))).To(BeTrue())
	g.Expect(all[2].Record.InitialPrimary).To(Equal("own-0"))
	g.Expect(all[2].Record.Notes).To(BeZero())
	g.Expect(all[2].Record.Configuration()).To(Equal(b.Configuration()))
	g.Expect(b.Snapshot()["c"]).NotTo(BeNil())
}

// reachable is a voter that some do not reach.
type reachable struct {
	*electiontest.Kept
	cut *bool
}

var errCut = errors.New("cut off")

func (r reachable) Read(ctx context.Context) (votes.Record, string, error) {
	if *r.cut {
		return votes.Record{}, "", errCut
	}
	return r.Kept.Read(ctx)
}

func (r reachable) Swap(ctx context.Context, version string, v votes.Record) (string, error) {
	if *r.cut {
		return "", errCut
	}
	return r.Kept.Swap(ctx, version, v)
}

// No legal history is refused. Candidates claim, over and over and with many a claim in vain, at the voters that they
// reach, in terms that they believe themselves; some are away for most of it, and some know nothing any more. Whoever
// then reads all votes believes each of them, may claim above them all or as high, and what a majority has come to may
// be promised.
func TestNoLegalHistoryIsRefused(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{1, 3, 5}).Draw(rt, "voters")
		var kept []*electiontest.Kept
		for i := range n {
			kept = append(kept, &electiontest.Kept{Site: string(rune('a' + i)), Record: held(1, mine)})
		}
		cuts := make([][]bool, 3)
		reader := func(cut []bool) *ballot.Ballot {
			var voters []votes.Voter
			for i, k := range kept {
				voters = append(voters, reachable{k, &cut[i]})
			}
			return ballotOf(voters, &electiontest.Moved{}, 1)
		}
		candidates := make([]*ballot.Ballot, len(cuts))
		for i := range cuts {
			cuts[i] = make([]bool, n)
			candidates[i] = reader(cuts[i])
		}
		ctx := context.Background()
		for range rapid.IntRange(1, 40).Draw(rt, "claims") {
			c := rapid.IntRange(0, len(cuts)-1).Draw(rt, "candidate")
			for i := range cuts[c] {
				cuts[c][i] = rapid.IntRange(0, 2).Draw(rt, "cut") == 0
			}
			if rapid.IntRange(0, 9).Draw(rt, "restarted") == 0 {
				candidates[c] = reader(cuts[c])
			}
			b := candidates[c]
			if _, ok := b.Read(ctx, ballot.Patient); !ok {
				continue
			}
			// As many claims as there may be one after another, each one above the last, of which this is the end.
			many := rapid.Int64Range(1, 3*votes.TermStep).Draw(rt, "terms")
			term := min(b.HighestTerm()+many, b.Claimable())
			next := held(term, votes.Holder{Server: "c-0", PodUID: string(rune('0' + c)), Engine: "run"})
			b.Claim(ctx, next, 0, func(votes.Record) bool { return true })
		}
		fresh := reader(make([]bool, n))
		candidates = append(candidates, fresh)
		cuts = append(cuts, make([]bool, n))
		highest := int64(0)
		for _, k := range kept {
			highest = max(highest, k.Record.Term)
		}
		for i, b := range candidates {
			clear(cuts[i])
			_, ok := b.Read(ctx, ballot.Patient)
			if !ok || b.Beyond() != "" || b.HighestTerm() != highest || b.Claimable() < highest {
				rt.Fatalf("candidate %d refuses: %s, highest %d of %d", i, b.Beyond(), b.HighestTerm(), highest)
			}
			leading, _ := b.Leading()
			if b.Agreed(leading.Term, leading.Holder) && b.Promisable() <= leading.Term {
				rt.Fatalf("candidate %d does not promise above %d", i, leading.Term)
			}
		}
	})
}
