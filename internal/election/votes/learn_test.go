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
