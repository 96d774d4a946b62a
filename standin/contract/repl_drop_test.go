// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A subscription is dropped while the agent that its procedures made runs: that ends, and says so.
func TestDropWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	dist := r.dist.open(t, "distribution")
	mustExec(t, r.source, `EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`, saPassword)
	mustExec(t, r.source, `EXEC sp_addpublication @publication = N'web', @status = N'active', @independent_agent = N'true'`)
	mustExec(t, r.source, `EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`, saPassword)
	for _, table := range []string{"orders", "pictures"} {
		mustExec(t, r.source, `EXEC sp_addarticle @publication = N'web', @article = @p1, @source_object = @p1`, table)
	}
	r.subscriptionDatabase(t)
	mustExec(t, r.source, `EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy'`)
	mustExec(t, r.source, `EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0, @subscriber_login = N'sa', @subscriber_password = @p1`, saPassword)
	r.snapshot(t)
	r.bothSame(t)
	running := func() any {
		return scalar(dist, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name IN (N'Replication Distribution', N'Replication Log Reader')`)
	}
	g.Expect(running()).To(BeNumerically(">", 0))

	mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
	g.Expect(value(t, dist, `SELECT COUNT(*) FROM dbo.MSdistribution_history WHERE comments = N'The process was stopped.'`)).To(BeEquivalentTo(1))
}
