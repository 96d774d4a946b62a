// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Properties of publications and articles are changed as their pages say: which ask for a new snapshot (20607), which
// for subscriptions to be initialized again (20608), and what comes of it.
func TestChangedPropertiesOfPublicationsAndArticles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.push(t)
	r.newSnapshot(t)
	r.bothSame(t)
	g.Eventually(func() any { return scalar(r.source, `SELECT MIN(status) FROM dbo.syssubscriptions`) }, patient).
		Should(BeEquivalentTo(2))

	publication := func(property, value string) string {
		return `EXEC sp_changepublication @publication = N'web', @property = N'` + property + `', @value = N'` + value + `'`
	}
	article := func(property, value string) string {
		return `EXEC sp_changearticle @publication = N'web', @article = N'orders', @property = N'` + property +
			`', @value = N'` + value + `'`
	}
	const invalidate, reinitialize = `, @force_invalidate_snapshot = 1`, `, @force_reinit_subscription = 1`
	for statement, number := range map[string]int32{
		publication("sync_method", "native"):      20607,
		publication("sync_method", "fast"):        14014,
		publication("sync_method", "character"):   21023,
		publication("repl_freq", "often"):         14015,
		publication("repl_freq", "snapshot"):      21023,
		publication("allow_anonymous", "true"):    21023,
		publication("allow_anonymous", "perhaps"): 14137,
		publication("independent_agent", "false"): 21022,
		publication("immediate_sync", "perhaps"):  14137,
		publication("retention", "-1"):            20050,
		publication("retention", "long"):          20050,
		article("pre_creation_cmd", "none"):       20607,
		article("ins_cmd", "SQL"):                 20607,
		article("ins_cmd", "SQL") + invalidate:    20608,
		article("status", "parameters"):           20608,
		article("status", "loud"):                 14097,
		article("dest_table", "") + invalidate:    14043,
		article("upd_cmd", "VCALL sp_upd"):        21023,
		article("upd_cmd", "XCALL sp_upd"):        20607,
		article("ins_cmd", "XCALL sp_ins"):        21023,
		article("filter", "f"):                    21023,
	} {
		// The first error of a batch: 20607 comes before 20608.
		g.Expect(failure(t, r.source, statement).Number).To(Equal(number), statement)
	}
	mustExec(t, r.source, publication("allow_anonymous", "false"))
	mustExec(t, r.source, publication("repl_freq", "continuous"))
	mustExec(t, r.source, publication("independent_agent", "true"))

	// Without immediate_sync nothing is kept for subscribers to come, and an article that is added gets a snapshot of its
	// own.
	mustExec(t, r.source, publication("immediate_sync", "false"))
	g.Expect(query(t, r.source, `SELECT immediate_sync, immediate_sync_ready FROM dbo.syspublications`)).
		To(Equal([][]any{{false, false}}))
	g.Expect(query(t, r.distDB,
		`SELECT p.immediate_sync, (SELECT COUNT(*) FROM distribution.dbo.MSsubscriptions WHERE agent_id < 0) FROM distribution.dbo.MSpublications AS p`)).
		To(Equal([][]any{{false, int64(0)}}))
	mustExec(t, r.source, `CREATE TABLE dbo.late (id int NOT NULL PRIMARY KEY); INSERT INTO dbo.late VALUES (1), (2)`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'late', @source_owner = N'dbo', @source_object = N'late'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @article = N'late', @subscriber = N'SUB', @destination_db = N'shopcopy'`,
	)
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.late VALUES (3); INSERT INTO dbo.orders VALUES (50, N'meanwhile', 1, NULL, NULL)`,
	)
	r.newSnapshot(t)
	r.same(t, "dbo.late", "*", "id")
	r.bothSame(t)
	g.Expect(query(t, r.distDB,
		`SELECT TOP (1) comments FROM distribution.dbo.MSsnapshot_history WHERE runstatus = 2 ORDER BY timestamp DESC`)).
		To(Equal([][]any{{"[100%] A snapshot of 1 article(s) was generated."}}))

	mustExec(t, r.source, publication("immediate_sync", "true"))
	g.Expect(value(t, r.distDB,
		`SELECT COUNT(*) FROM distribution.dbo.MSsubscriptions WHERE agent_id < 0 AND status = 1`)).
		To(BeEquivalentTo(3))
	r.newSnapshot(t)
	g.Eventually(func() any { return scalar(r.source, `SELECT immediate_sync_ready FROM dbo.syspublications`) }, patient).
		Should(BeTrue())
	g.Expect(value(t, r.distDB,
		`SELECT COUNT(*) FROM distribution.dbo.MSsubscriptions WHERE agent_id < 0 AND status = 2`)).
		To(BeEquivalentTo(3))

	// A new snapshot is enough for some properties: subscriptions stay as they are.
	mustExec(t, r.source, publication("sync_method", "native")+invalidate)
	mustExec(t, r.source, article("pre_creation_cmd", "none")+invalidate)
	mustExec(t, r.source, article("schema_option", "0x00000000000030F3")+invalidate)
	g.Expect(value(t, r.source, `SELECT MIN(status) FROM dbo.syssubscriptions`)).To(BeEquivalentTo(2))
	mustExec(t, r.source, article("pre_creation_cmd", "drop")+invalidate)
	// Others initialize the article's subscriptions again, and its changes arrive as it then says.
	mustExec(t, r.source, article("ins_cmd", "SQL")+invalidate+reinitialize)
	mustExec(t, r.source, article("dest_table", "taken_orders")+invalidate+reinitialize)
	g.Expect(query(t, r.source,
		`SELECT a.name, s.status FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid ORDER BY a.name`)).
		To(Equal([][]any{{"late", int64(2)}, {"orders", int64(1)}, {"pictures", int64(2)}}))
	mustExec(t, r.target, `DROP TABLE dbo.orders`) // its primary key has the name that the other table's is to have
	r.newSnapshot(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (51, N'taken', 1, NULL, NULL)`)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.taken_orders`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(value(t, r.source, `SELECT COUNT(*) FROM dbo.orders`)))
	g.Expect(value(t, r.source, `SELECT ins_cmd FROM dbo.sysarticles WHERE name = N'orders'`)).To(Equal("SQL"))
}
