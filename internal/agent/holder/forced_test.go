// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/tsql"
)

// rows are the numbers that a server's copy has.
func (c *trio) rows(m *member) ([]int, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	rows, err := m.sa.QueryContext(ctx, "SELECT id FROM [Content].dbo.t ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var have []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		have = append(have, id)
	}
	return have, rows.Err()
}

// span is the numbers from first to last.
func span(first, last int) []int {
	var ids []int
	for id := first; id <= last; id++ {
		ids = append(ids, id)
	}
	return ids
}

// acknowledge writes numbers at a primary; each is acknowledged.
func (c *trio) acknowledge(m *member, ids []int) {
	c.t.Helper()
	for _, id := range ids {
		c.exec(m, fmt.Sprintf("INSERT INTO [Content].dbo.t (id) VALUES (%d)", id))
	}
}

// outcome asks for something and waits for the final answer.
func (c *trio) outcome(r votes.Request) votes.Answer {
	c.t.Helper()
	c.ask(r)
	var answer votes.Answer
	c.g.Eventually(func() (bool, error) {
		for _, v := range c.voters {
			lease := v.get()
			a, ok, err := votes.ParseAnswer(lease.Annotations)
			if err != nil {
				return false, err
			}
			if ok && a.ID == r.ID && a.Final() {
				answer = a
				return true, nil
			}
		}
		return false, nil
	}, busy, 20*time.Millisecond).Should(BeTrue(), "request "+r.ID+" is answered")
	return answer
}

func quarantined(m *member) func() bool {
	return func() bool {
		groups, _ := m.part.Status().(map[string]holder.GroupStatus)
		return groups["content"].Quarantined
	}
}

// copyOf reads the state of another server's copy, as the primary m sees it.
func (c *trio) copyOf(m, other *member) func() (string, error) {
	return func() (string, error) {
		var state string
		err := m.sa.QueryRowContext(c.t.Context(),
			"SELECT s.synchronization_state_desc FROM sys.dm_hadr_database_replica_states s "+
				"JOIN sys.availability_replicas r ON r.replica_id = s.replica_id WHERE r.replica_server_name = @p1", other.name).
			Scan(&state)
		return state, err
	}
}

// connections says which replica each server calls connected, and why it could not connect.
func (c *trio) connections() string {
	var text strings.Builder
	for _, m := range c.members {
		var said sql.NullString
		// Its pool may still have connections to an engine that was killed.
		_ = m.sa.PingContext(c.t.Context())
		err := m.sa.QueryRowContext(c.t.Context(),
			"SELECT STRING_AGG(CONCAT_WS(' ', r.replica_server_name, s.role_desc, s.connected_state_desc, "+
				"s.last_connect_error_number, s.last_connect_error_description, s.last_connect_error_timestamp), '; ') "+
				"FROM sys.dm_hadr_availability_replica_states s JOIN sys.availability_replicas r ON r.replica_id = s.replica_id").
			Scan(&said)
		fmt.Fprintf(&text, "%s sees %s %v\n", m.name, said.String, err)
	}
	return text.String()
}

// The primary dies with acknowledged writes that the only other copy lacks. Nobody is promoted until a person allows
// the loss; then the timeline tells of it. The old primary comes back apart, with every lost row readable, also after
// another restart, until a person decides; afterwards both copies are equal and the primary can go back.
func TestForcedFailoverIsCounted(t *testing.T) {
	for _, way := range []votes.RequestKind{votes.RequestRejoin, votes.RequestReseed} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			c := newTrio(t, tsql.ConfigurationOnly)
			old, next := c.members[0], c.members[2]
			c.acknowledge(old, span(1, 20))
			// Where a connection was lost meanwhile rows were acknowledged without the copy.
			c.g.Eventually(c.copyOf(old, next), busy, 50*time.Millisecond).Should(Equal("SYNCHRONIZED"))
			c.exec(next, "ALTER DATABASE [Content] SET HADR SUSPEND")
			c.g.Eventually(c.copyOf(old, next), busy, 50*time.Millisecond).Should(Equal("NOT SYNCHRONIZING"))
			c.acknowledge(old, span(21, 50))
			old.engine.Kill(t)

			c.refuseWithoutLeave(next)
			answer := c.outcome(
				votes.Request{ID: "forced", Kind: votes.RequestFailover, To: next.name, AllowDataLoss: true},
			)
			c.g.Expect(answer).To(And(HaveField("Outcome", votes.OutcomeDone), HaveField("Reason", votes.ReasonPromoted)))
			c.countedLoss(next)
			c.g.Expect(c.rows(next)).To(Equal(span(1, 20)))
			c.acknowledge(next, span(101, 120))

			for range 2 {
				old.engine.Launch(t)
				c.g.Eventually(quarantined(old), busy, 50*time.Millisecond).Should(BeTrue(), "the old primary is kept apart")
				c.g.Eventually(func() ([]int, error) { return c.rows(old) }, busy, 100*time.Millisecond).
					Should(Equal(span(1, 50)), "what it alone has can be read")
				c.g.Expect(c.copyOf(next, old)()).To(Equal("NOT SYNCHRONIZING"))
				c.acknowledge(next, span(121+c.written(next), 121+c.written(next)))
				old.engine.Kill(t)
			}
			old.engine.Launch(t)
			c.g.Eventually(quarantined(old), busy, 50*time.Millisecond).Should(BeTrue())

			c.g.Expect(quarantined(c.members[1])()).To(BeFalse(), "a configuration-only replica has nothing to lose")
			answer = c.outcome(votes.Request{ID: "decided", Kind: way, To: old.name})
			c.g.Expect(answer).To(And(HaveField("Outcome", votes.OutcomeDone), HaveField("By", old.name)), c.connections)
			if way == votes.RequestReseed {
				// The manager does so when it sees that a copy is missing; the first primary was never granted it.
				// Its pool still has connections to the engine that was killed.
				c.g.Eventually(func() error { return old.db.Exec(t.Context(), tsql.GrantCreateAnyDatabase("content")) }, busy,
					100*time.Millisecond).
					Should(Succeed())
			}
			c.synchronized(2)
			c.g.Expect(quarantined(old)()).To(BeFalse())
			kept, err := c.rows(next)
			c.g.Expect(err).NotTo(HaveOccurred())
			c.g.Expect(kept).NotTo(ContainElement(BeNumerically("~", 35, 14)))
			c.g.Eventually(func() ([]int, error) { return c.rows(old) }, busy, 100*time.Millisecond).
				Should(Equal(kept), "both copies are equal")

			c.goBack(old)
			c.synchronized(0)
			c.g.Expect(c.rows(old)).To(Equal(kept))
		})
	}
}

// goBack asks for a switchover until it is done. Right after it was synchronized again the replica may not have said so
// yet: then the request is refused before anything is touched, and never fails half-way.
func (c *trio) goBack(to *member) {
	c.t.Helper()
	for i := range 100 {
		answer := c.outcome(votes.Request{ID: fmt.Sprint("back", i), Kind: votes.RequestSwitchover, To: to.name})
		if answer.Outcome == votes.OutcomeDone {
			return
		}
		c.g.Expect(answer).
			To(And(HaveField("Outcome", votes.OutcomeRefused), HaveField("Reason", votes.ReasonNotSynchronized)),
				answer.Message)
	}
	c.g.Expect("the switchover").To(Equal("done"))
}

// written is how many rows a server has that were written after the forced failover and the first twenty.
func (c *trio) written(m *member) int {
	have, err := c.rows(m)
	c.g.Expect(err).NotTo(HaveOccurred())
	return len(have) - 40
}

// refuseWithoutLeave asks for a failover that may lose nothing: it does not happen.
func (c *trio) refuseWithoutLeave(next *member) {
	c.t.Helper()
	answer := c.outcome(votes.Request{ID: "lossless", Kind: votes.RequestFailover, To: next.name})
	c.g.Expect(answer).
		To(And(HaveField("Outcome", votes.OutcomeFailed), HaveField("Reason", votes.ReasonNotSynchronized)))
	for _, v := range c.voters {
		c.g.Expect(v.record()).NotTo(And(HaveField("State", votes.StateHeld), HaveField("Holder.Server", next.name)))
		// A claim needs a majority: the last voter may still show the term that the killed primary has released.
		c.g.Eventually(func() votes.State { return v.record().State }, busy, 20*time.Millisecond).
			ShouldNot(Equal(votes.StateHeld))
	}
}

// countedLoss checks what the timeline of the forced term says of the loss.
func (c *trio) countedLoss(next *member) {
	c.t.Helper()
	lease := c.voters[0].get()
	lines, err := votes.ParseTimelines(lease.Annotations)
	c.g.Expect(err).NotTo(HaveOccurred())
	c.g.Expect(lines).To(ContainElement(And(
		HaveField("RequestID", "forced"), HaveField("Cause", votes.CauseFailover), HaveField("To", next.name),
		HaveField("Lost", And(Not(BeNil()), HaveField("Known", BeFalse()), HaveField("Databases", ConsistOf(And(
			HaveField("Name", "Content"), HaveField("FromLSN", Not(BeEmpty())), HaveField("LastCommit", Not(BeNil()))))))),
	)))
}
