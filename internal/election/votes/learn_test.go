// SPDX-License-Identifier: Apache-2.0

package votes_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
)

// What is told replaces what is known from a declaration, unless it is older than a configuration that somebody made.
func TestWhatIsToldCounts(t *testing.T) {
	first := votes.Configuration{Voters: []string{"a", "b", "c"}}
	other := votes.Configuration{Voters: []string{"a", "b", "d"}}
	made := votes.Configuration{Term: 2, Number: 1, Voters: []string{"d"}}
	newer := votes.Configuration{Term: 2, Number: 2, Voters: []string{"e"}}
	for name, c := range map[string]struct{ known, told, want votes.Configuration }{
		"nothing":                     {first, votes.Configuration{}, first},
		"the first one":               {other, first, first},
		"one that was made":           {first, made, made},
		"a newer one":                 {made, newer, newer},
		"an older one":                {newer, made, newer},
		"the first one, when changed": {made, first, made},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.known.Learn(c.told)).To(Equal(c.want))
		})
	}
}

// Of two configurations the one of the higher term is newer, and within a term that of the higher number. Two of one
// stamp contradict one another that name different sites, unless one of them is none.
func TestWhichConfigurationIsNewer(t *testing.T) {
	made := votes.Configuration{Term: 2, Number: 3, Voters: []string{"a", "b"}, Next: []string{"c"}}
	of := func(term, number int64) votes.Configuration {
		return votes.Configuration{Term: term, Number: number, Voters: []string{"x"}}
	}
	ordered := votes.Configuration{Term: 2, Number: 3, Voters: []string{"b", "a"}, Next: []string{"c"}}
	voters := votes.Configuration{Term: 2, Number: 3, Voters: []string{"a", "d"}, Next: []string{"c"}}
	next := votes.Configuration{Term: 2, Number: 3, Voters: []string{"a", "b"}, Next: []string{"d"}}
	for name, c := range map[string]struct {
		other                      votes.Configuration
		newer, older, same, contra bool
	}{
		"itself":                {made, false, false, true, false},
		"in another order":      {ordered, false, false, true, false},
		"other voters":          {voters, false, false, true, true},
		"others to vote":        {next, false, false, true, true},
		"of a lower term":       {of(1, 9), true, false, false, false},
		"of a lower number":     {of(2, 2), true, false, false, false},
		"of a higher number":    {of(2, 4), false, true, false, false},
		"of a higher term":      {of(3, 1), false, true, false, false},
		"the first one":         {of(0, 0), true, false, false, false},
		"none":                  {votes.Configuration{}, true, false, false, false},
		"of the stamp, no site": {votes.Configuration{Term: 2, Number: 3}, false, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(made.Newer(c.other)).To(Equal(c.newer))
			g.Expect(c.other.Newer(made)).To(Equal(c.older))
			g.Expect(made.Same(c.other)).To(Equal(c.same))
			g.Expect(c.other.Same(made)).To(Equal(c.same))
			if c.contra {
				g.Expect(made.Contradicts(c.other)).To(MatchError(ContainSubstring("neither is newer")))
				g.Expect(c.other.Contradicts(made)).NotTo(Succeed())
			} else {
				g.Expect(made.Contradicts(c.other)).To(Succeed())
				g.Expect(c.other.Contradicts(made)).To(Succeed())
			}
		})
	}
	g := NewWithT(t)
	g.Expect(of(0, 0).Contradicts(votes.Configuration{})).To(Succeed(), "a vote that tells of no sites")
	g.Expect(votes.Configuration{}.Contradicts(of(0, 0))).To(Succeed())
	g.Expect(votes.Record{Voters: "{"}.Configuration()).To(BeZero(), "what cannot be read tells nothing")
}

// Those that vote once a change is through are those that are to vote, and without a change those that do.
func TestWhoVotesInTheEnd(t *testing.T) {
	g := NewWithT(t)
	c := votes.Configuration{Term: 2, Number: 1, Voters: []string{"a", "b"}}
	g.Expect(c.Final()).To(Equal([]string{"a", "b"}))
	c.Next = []string{"b", "c"}
	g.Expect(c.Final()).To(Equal([]string{"b", "c"}))
	g.Expect(c.Sites()).To(Equal([]string{"a", "b", "c"}))
}
