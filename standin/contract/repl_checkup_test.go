// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Agents that say nothing for long are told of, in an error each and in their history.
// By docs/relational-databases/system-stored-procedures/sp-replication-agent-checkup-transact-sql.md.
func TestAgentsAreCheckedUpOn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	mustExec(t, r.distDB, `EXEC sp_replication_agent_checkup`)
	mustExec(t, r.distDB, `EXEC sp_replication_agent_checkup @heartbeat_interval = 5`)
	g.Expect(failure(t, r.distDB, `EXEC sp_replication_agent_checkup @heartbeat_interval = 0`).Number).
		To(BeEquivalentTo(14151))
	g.Expect(value(t, r.distDB,
		`SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE runstatus = 6 AND comments LIKE N'%has not logged a progress message in 0 minutes%'`)).
		To(BeEquivalentTo(1))
	g.Expect(failure(t, r.subDB, `EXEC sp_replication_agent_checkup`).Number).To(BeEquivalentTo(14114))

	g.Expect(query(t, r.subDB, `EXEC sp_helpreplicationoption @optname = N'transactional'`)).To(HaveLen(1))
	g.Expect(query(t, r.subDB, `EXEC sp_helpreplicationoption`)).To(BeEmpty())
}

// A publication is made with the defaults of its page, which give it no agent of its own, and delivers.
// By docs/relational-databases/system-stored-procedures/sp-addpublication-transact-sql.md, @independent_agent.
func TestPublicationWithDefaults(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web'`)
	g.Expect(failure(t, r.source, `EXEC sp_addpublication @publication = N'web', @immediate_sync = N'true'`).Number).
		To(BeEquivalentTo(21022))
	mustExec(t, r.source, `EXEC sp_addpublication @publication = N'web'`)
	g.Expect(query(t, r.source,
		`SELECT status, independent_agent, allow_push, allow_pull, immediate_sync, repl_freq FROM dbo.syspublications`)).
		To(Equal([][]any{{int64(0), false, true, false, false, int64(0)}}))
	g.Expect(value(t, r.distDB, `SELECT independent_agent FROM distribution.dbo.MSpublications`)).To(BeFalse())
	mustExec(t, r.source, `EXEC sp_changepublication @publication = N'web', @property = N'status', @value = N'active'`)
	for _, table := range []string{"orders", "pictures"} {
		mustExec(t, r.source, `EXEC sp_addarticle @publication = N'web', @article = @p1, @source_object = @p1`, table)
	}
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @snapshot_job_name = N'snapshot'`,
		saPassword,
	)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	mustExec(t, r.source, `UPDATE dbo.orders SET amount = 77`)
	r.bothSame(t)
	const immediate = `EXEC sp_changepublication @publication = N'web', @property = N'immediate_sync', @value = N'true'`
	g.Expect(failure(t, r.source, immediate).Number).To(BeEquivalentTo(21022))
	mustExec(
		t,
		r.source,
		`EXEC sp_changepublication @publication = N'web', @property = N'independent_agent', @value = N'true'`,
	)
	mustExec(t, r.source, immediate)
	g.Expect(value(t, r.distDB, `SELECT independent_agent FROM distribution.dbo.MSpublications`)).To(BeTrue())
}
