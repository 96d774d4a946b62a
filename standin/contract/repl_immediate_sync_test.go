// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The distributor of an immediate_sync publication keeps what it has brought for the whole retention, also what every
// subscriber has and what is older than the newest snapshot.
func TestImmediateSyncKeepsWhatIsDelivered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.push(t)
	r.snapshot(t)
	for _, customer := range []string{"first", "second"} {
		mustExec(t, r.source, `UPDATE dbo.orders SET customer = @p1 WHERE id = 1`, customer)
	}
	r.bothSame(t)
	r.newSnapshot(t)
	db := r.dist.open(t, "distribution")
	const changes = `SELECT COUNT(*) FROM dbo.MSrepl_transactions AS t WHERE DATALENGTH(t.xact_seqno) = 10
		AND EXISTS (SELECT 1 FROM dbo.MSrepl_commands AS c WHERE c.xact_seqno = t.xact_seqno)`
	before := value(t, db, changes)
	g.Expect(before).To(BeNumerically(">=", 2), "the newest stays anyway")
	mustExec(t, db, `EXEC dbo.sp_MSdistribution_cleanup @min_distretention = 0, @max_distretention = 72`)
	g.Expect(value(t, db, changes)).To(Equal(before))
}
