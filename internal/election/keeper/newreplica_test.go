// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// A replica whose volumes were made anew after a failover with data loss has nothing that the others lack: nothing is
// kept apart, and no person is asked what is to become of it. Its agent may see that before the replica joins, or while
// it has no copies yet.
func TestAReplicaThatBeginsAfterAForcedFailoverIsNotQuarantined(t *testing.T) {
	for name, seen := range map[string]int{"seen before it joins": 3, "seen when it has joined": 0} {
		t.Run(name, func(t *testing.T) {
			w, g, line := forced(t)
			s := w.servers[0]
			s.empty()
			w.live(seen)
			s.exists, s.bare, s.config = true, true, w.servers[1].config
			s.run.role, s.run.suspended = ballot.RoleSecondary, false
			w.live(2)
			s.bare = false
			w.live(10)
			g.Expect(s.memory.Quarantined).To(BeZero())
			g.Expect(s.memory.Followed).To(Equal(line.Term))
			for _, a := range votes.QuarantinedReplicas(w.voters[0].record, w.voters[1].record, w.voters[2].record) {
				g.Expect(a).
					To(Or(HaveField("Server", Not(Equal(names[0]))), HaveField("Over", BeTrue())), "nobody is asked for a decision")
			}
		})
	}
}

// A replica without copies in its group has what it alone has all the same while databases of those names are there:
// the engine may not have taken them into the group yet, or somebody has taken them out.
func TestAReplicaWhoseCopiesAreNotInTheGroupStaysQuarantined(t *testing.T) {
	w, g, line := forced(t)
	s := w.servers[0]
	s.bare = true
	s.memory.Cleared = 0
	s.startAgent()
	w.live(5)
	g.Expect(s.memory).To(And(HaveField("Cleared", BeZero()), HaveField("Quarantined", line.Term)))
}

// A group that was made anew has terms of its own: what an agent remembers of a failover with data loss of a former
// group of the name says nothing of one of this group.
func TestAFormerGroupsForkIsNotThisOnes(t *testing.T) {
	w, g, line := forced(t)
	third := w.servers[2]
	g.Expect(third.memory.Followed).To(Equal(line.Term))
	third.memory.Followed, third.memory.Cleared = 90, 90
	third.startAgent()
	w.live(3)
	g.Expect(third.memory.Cleared).To(BeNumerically("<", 90))
	g.Expect(third.memory.Followed).To(Equal(line.Term), "it has this one's log, as before")
}
