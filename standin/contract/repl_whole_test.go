// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A procedure that fails at the distributor in its middle leaves nothing behind, at neither of them: it can be called
// again.
func TestReplicationProceduresAreWhole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	distribution := r.dist.open(t, "distribution")
	mustExec(t, r.source, `CREATE TABLE dbo.late (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL)`)
	mustExec(t, r.source, `INSERT INTO dbo.late VALUES (1, N'before')`)
	// The distributor has written the article's row when it comes to its subscription.
	mustExec(
		t,
		distribution,
		`ALTER TABLE dbo.MSsubscriptions WITH NOCHECK ADD CONSTRAINT full_up CHECK (subscriber_id > 1000)`,
	)
	const add = `EXEC sp_addarticle @publication = N'web', @article = N'late', @source_owner = N'dbo', @source_object = N'late'`
	g.Expect(failure(t, r.source, add).Number).To(BeEquivalentTo(547))
	g.Expect(value(t, r.source, `SELECT COUNT(*) FROM dbo.sysarticles WHERE name = N'late'`)).To(BeEquivalentTo(0))
	g.Expect(value(t, r.source, `SELECT CAST(is_published AS int) FROM sys.tables WHERE name = N'late'`)).
		To(BeEquivalentTo(0))
	g.Expect(value(t, distribution, `SELECT COUNT(*) FROM dbo.MSarticles WHERE article = N'late'`)).To(BeEquivalentTo(0))

	// Within the caller's transaction only the procedure's part is undone.
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; INSERT INTO dbo.late VALUES (2, N'mine'); BEGIN TRY `+add+` END TRY BEGIN CATCH PRINT ERROR_NUMBER() END CATCH; COMMIT TRANSACTION`,
	)
	g.Expect(value(t, r.source, `SELECT COUNT(*) FROM dbo.late`)).To(BeEquivalentTo(2))
	g.Expect(value(t, r.source, `SELECT COUNT(*) FROM dbo.sysarticles WHERE name = N'late'`)).To(BeEquivalentTo(0))

	mustExec(t, distribution, `ALTER TABLE dbo.MSsubscriptions DROP CONSTRAINT full_up`)
	mustExec(t, r.source, add)
	r.snapshot(t)
	g.Eventually(func() any {
		return scalar(r.source, `SELECT CAST(immediate_sync_ready AS int) FROM dbo.syspublications`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
	r.push(t)
	r.bothSame(t)
	r.same(t, "dbo.late", "*", "id")
}
