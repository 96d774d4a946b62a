// SPDX-License-Identifier: Apache-2.0

package votes

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Of timelines the newest are kept. Attempts that came to nothing make room first, and never for one before them.
func TestWhichTimelinesAreKept(t *testing.T) {
	line := func(term int64, o AnswerOutcome) Timeline { return Timeline{Term: term, Outcome: o} }
	terms := func(timelines []Timeline) (terms []int64) {
		for _, t := range timelines {
			terms = append(terms, t.Term)
		}
		return terms
	}
	done := []Timeline{line(1, OutcomeDone), line(2, OutcomeDone), line(3, OutcomeDone), line(4, OutcomeDone)}
	g := NewWithT(t)
	g.Expect(terms(MergeTimelines(nil, line(1, OutcomeDone)))).To(Equal([]int64{1}))
	five := MergeTimelines(done, line(5, OutcomeFailed))
	g.Expect(terms(five)).To(Equal([]int64{1, 2, 3, 4, 5}))
	g.Expect(terms(MergeTimelines(five, line(6, OutcomeDone)))).To(Equal([]int64{1, 2, 3, 4, 6}))
	full := MergeTimelines(done, line(5, OutcomeDone))
	g.Expect(terms(MergeTimelines(full, line(6, OutcomeFailed)))).To(Equal([]int64{2, 3, 4, 5, 6}))
	g.Expect(MergeTimelines(done, line(3, OutcomeFailed))).
		To(Equal([]Timeline{done[0], done[1], line(3, OutcomeFailed), done[3]}))
}
