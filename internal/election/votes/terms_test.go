// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// One vote says neither how far the terms are nor who votes; what a majority says counts.
func TestWhatIsBelievedOfSeveralVotes(t *testing.T) {
	g := NewWithT(t)
	const far = 1 << 29
	c := Configuration{Voters: []string{"a", "b", "c"}}
	forged := Record{Term: 7, Voters: Configuration{Term: MaxTerm, Number: 1, Voters: []string{"c"}}.Encode()}
	for name, tc := range map[string]struct {
		terms    map[string]int64
		told     bool
		reached  int64
		believed []string
	}{
		"alike":                   {map[string]int64{"a": 7, "b": 7, "c": 8}, false, 7, []string{"a", "b", "c"}},
		"the last by one":         {map[string]int64{"a": 7, "b": 7, "c": 1<<31 - 1}, false, 7, []string{"a", "b"}},
		"far by a majority":       {map[string]int64{"a": far, "b": 7, "c": far}, false, far, []string{"a", "b", "c"}},
		"one that answers alone":  {map[string]int64{"a": far}, false, 0, nil},
		"by who is said to vote":  {map[string]int64{"a": 7, "b": 7}, true, 7, []string{"a", "b"}},
		"a site that has no vote": {map[string]int64{"a": 7, "b": 7, "d": far}, false, 7, []string{"a", "b"}},
	} {
		records := map[string]Record{}
		for site, term := range tc.terms {
			records[site] = Record{Term: term}
		}
		if tc.told {
			records["c"] = forged
		}
		g.Expect(c.Reached(func(site string) (int64, bool) { r, ok := records[site]; return r.Term, ok })).
			To(Equal(tc.reached), name)
		g.Expect(slices.Sorted(maps.Keys(c.Believed(records)))).To(Equal(tc.believed), name)
	}
}
