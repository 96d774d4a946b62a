// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// Transactions take lists in the order of their numbers and never append to one that they have read, so that they wait
// for each other instead of ending each other; a user who sees a list that is long enough goes on to the next one.
func TestTransactionsOnLists(t *testing.T) {
	g := NewWithT(t)
	l, seen := lists{from: 100}, map[listappend.Element]bool{}
	for number := range int64(2000) {
		steps := l.choose(7, number+1)
		g.Expect(steps).NotTo(BeEmpty())
		read := map[int64]bool{}
		for i, s := range steps {
			g.Expect(i == 0 || steps[i-1].List <= s.List).To(BeTrue(), "%v", steps)
			if s.Append == "" {
				read[s.List] = true
				continue
			}
			g.Expect(seen[s.Append]).To(BeFalse())
			g.Expect(read[s.List]).To(BeFalse())
			seen[s.Append] = true
		}
	}
	long := make(listappend.List, listLength)
	l.learn([]listappend.Step{{List: 101, Read: long}, {List: 102, Read: long[1:]}, {List: 103, Append: "7.1.0"}})
	g.Expect(l.generation).To(Equal([listsAtATime]int64{0, 1, 0, 0}))
	l.learn([]listappend.Step{{List: 101, Read: long}})
	g.Expect(l.number(1)).To(BeEquivalentTo(105), "a list that it has left already")
	last := lists{from: 100, generation: [listsAtATime]int64{ListRange/listsAtATime - 1}}
	last.learn([]listappend.Step{{List: last.number(0), Read: long}})
	g.Expect(last.number(0)).To(BeNumerically("<", 100+ListRange), "no other recording's")
}
