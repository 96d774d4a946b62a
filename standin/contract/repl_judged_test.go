// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Numbers that a publication cannot have are refused when it is made, as they are when it is changed; the schedule of
// its snapshots may be a monthly-relative one.
func TestNumbersOfPublicationsAreJudged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	g.Expect(failure(t, r.source, `EXEC sp_addpublication @publication = N'web', @retention = -1`).Number).
		To(Equal(int32(20050)))
	g.Expect(failure(t, r.source, `EXEC sp_addpublication @publication = N'web', @replicate_ddl = 2`).Number).
		To(Equal(int32(21544)))
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @retention = 0, @replicate_ddl = 0`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication_snapshot @publication = N'web', @frequency_type = 32, @frequency_interval = 1, @frequency_relative_interval = 16, @frequency_recurrence_factor = 1, @frequency_subday = 1,
		@publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`,
		saPassword,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_changepublication_snapshot @publication = N'web', @frequency_type = 32, @frequency_interval = 6, @frequency_relative_interval = 2, @frequency_recurrence_factor = 3`,
	)
	shown := query(t, r.source, `EXEC sp_helppublication_snapshot @publication = N'web'`)
	g.Expect(shown).To(HaveLen(1))
	g.Expect(shown[0][9:11]).To(Equal([]any{int64(32), int64(6)}))
	g.Expect(shown[0][13:15]).To(Equal([]any{int64(2), int64(3)}))
}

// The clean-ups take the retention that they are called with before that of the distribution database.
func TestRetentionOfCleanUps(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	for n := range 3 {
		mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (@p1, N'a')`, 100+n)
	}
	r.bothSame(t)
	distribution := r.dist.open(t, "distribution")
	mustExec(t, distribution, `EXEC dbo.sp_MSdistribution_cleanup`)
	const commands = `SELECT COUNT(*) FROM dbo.MSrepl_commands WHERE type = 30`
	g.Expect(value(t, distribution, commands)).To(BeEquivalentTo(3), "the database keeps them for an hour")
	g.Eventually(func() any {
		mustExec(t, distribution, `EXEC dbo.sp_MSdistribution_cleanup @min_distretention = 0, @max_distretention = 72`)
		return scalar(distribution, commands)
	}).WithTimeout(deliverWithin).WithPolling(200*time.Millisecond).Should(BeEquivalentTo(1),
		"the newest transaction stays")

	const lines = `SELECT COUNT(*) FROM dbo.MSdistribution_history`
	mustExec(t, distribution, `EXEC dbo.sp_MShistory_cleanup @history_retention = 48`)
	g.Expect(value(t, distribution, lines)).To(BeNumerically(">", 1))
	r.stopDistribution(t)
	g.Eventually(func() any {
		mustExec(t, distribution, `EXEC dbo.sp_MShistory_cleanup @history_retention = 0`)
		return scalar(distribution, lines)
	}).WithTimeout(deliverWithin).WithPolling(200*time.Millisecond).Should(BeEquivalentTo(1), "where the agent is")
}
