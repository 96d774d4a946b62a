// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/tsql"
)

// A copy that was taken out of the group by hand is given up by name and seeded anew; one that follows is not given up.
func TestACopyOutsideOfTheGroupIsSeededAnew(t *testing.T) {
	c := newTrio(t, tsql.ConfigurationOnly)
	primary, other := c.members[0], c.members[2]
	c.acknowledge(primary, span(1, 10))
	answer := c.outcome(votes.Request{ID: "healthy", Kind: votes.RequestReseed, To: other.name})
	c.g.Expect(answer).
		To(And(HaveField("Outcome", votes.OutcomeRefused), HaveField("Reason", votes.ReasonNotQuarantined)),
			answer.Message)

	c.exec(other, "ALTER DATABASE [Content] SET HADR OFF")
	c.acknowledge(primary, span(11, 20))
	answer = c.outcome(
		votes.Request{ID: "other", Kind: votes.RequestReseedDatabases, Databases: []string{"Shop"}, To: other.name},
	)
	c.g.Expect(answer).
		To(And(HaveField("Outcome", votes.OutcomeRefused), HaveField("Reason", votes.ReasonNoSuchDatabase)),
			answer.Message)
	answer = c.outcome(
		votes.Request{ID: "stale", Kind: votes.RequestReseedDatabases, Databases: []string{"Content"}, To: other.name},
	)
	c.g.Expect(answer).To(And(HaveField("Outcome", votes.OutcomeDone), HaveField("By", other.name)), answer.Message)

	// What the manager does when it sees that a copy is missing.
	c.g.Eventually(func() error { return other.db.Exec(t.Context(), tsql.GrantCreateAnyDatabase("content")) }, busy,
		100*time.Millisecond).
		Should(Succeed())
	c.g.Expect(primary.db.Exec(t.Context(), tsql.SetReplicaSeeding("content", other.name, false))).To(Succeed())
	c.synchronized(0)
	c.g.Eventually(func() ([]int, error) { return c.rows(other) }, busy, 100*time.Millisecond).Should(Equal(span(1, 20)))
}
