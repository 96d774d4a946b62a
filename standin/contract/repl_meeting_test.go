// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A subscription that is registered while a snapshot is finished gets that snapshot: it never waits for one that nobody
// makes. A trigger stops the registration at the distributor, between its look for a snapshot and its row, until the
// Snapshot Agent has come to where it makes the subscriptions active that wait.
func TestSnapshotAndSubscriptionMeet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	// Enough for the agent to be at work while the subscription is registered.
	for range 14 {
		mustExec(
			t,
			r.source,
			`INSERT INTO dbo.orders (id, customer) SELECT id + (SELECT MAX(id) FROM dbo.orders), customer FROM dbo.orders`,
		)
	}
	r.subscriptionDatabase(t)
	dist := r.dist.open(t, "distribution")
	gate := connection(t, dist)
	mustExec(t, gate, `EXEC sp_getapplock @Resource = N'gate', @LockMode = N'Exclusive', @LockOwner = N'Session'`)
	mustExec(t, dist, `CREATE TRIGGER dbo.stopped ON dbo.MSsubscriptions AFTER DELETE AS
		EXEC sp_getapplock @Resource = N'gate', @LockMode = N'Shared', @LockOwner = N'Session'; EXEC sp_releaseapplock @Resource = N'gate', @LockOwner = N'Session'`)
	r.snapshot(t)
	g.Eventually(func() any { return scalar(dist, `SELECT COUNT(*) FROM dbo.MSsnapshot_history WHERE runstatus = 1`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(1))
	done := make(chan error, 1)
	go func() {
		_, err := r.source.Exec(
			`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'all'`,
		)
		done <- err
	}()
	g.Eventually(func() any {
		return scalar(
			dist,
			`SELECT (SELECT COUNT(*) FROM sys.dm_exec_requests AS q JOIN sys.dm_exec_sessions AS s ON s.session_id = q.session_id WHERE s.program_name = N'Replication Snapshot' AND q.blocking_session_id <> 0)
			+ (SELECT COUNT(*) FROM dbo.MSsnapshot_history WHERE runstatus = 2)`,
		)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1),
		"the Snapshot Agent waits behind the registration, or was first")
	mustExec(t, gate, `EXEC sp_releaseapplock @Resource = N'gate', @LockOwner = N'Session'`)
	g.Eventually(done).WithTimeout(deliverWithin).Should(Receive(BeNil()))
	g.Eventually(func() any { return scalar(dist, `SELECT COUNT(*) FROM dbo.MSsnapshot_history WHERE runstatus = 2`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(1))
	g.Expect(query(t, dist, `SELECT status FROM dbo.MSsubscriptions WHERE agent_id > 0`)).
		To(Equal([][]any{{int64(2)}, {int64(2)}}))
	g.Expect(query(t, r.source, `SELECT status FROM dbo.syssubscriptions`)).To(Equal([][]any{{int64(2)}, {int64(2)}}))
}
