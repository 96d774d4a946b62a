// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// A snapshot publication brings tables whole, with or without a primary key, each time its agent runs, and nothing
// between.
func TestSnapshotPublication(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	mustExec(t, r.source, `INSERT INTO dbo.keyless VALUES (1), (1), (NULL)`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @allow_push = N'true', @allow_pull = N'true', @independent_agent = N'true', @repl_freq = N'snapshot'`,
	)
	g.Expect(failure(t, r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'keyless', @source_owner = N'dbo', @source_object = N'keyless', @schema_option = 0x03`).Number).
		To(Equal(int32(21143)))
	for _, table := range []string{"orders", "keyless"} {
		mustExec(
			t,
			r.source,
			fmt.Sprintf(
				`EXEC sp_addarticle @publication = N'web', @article = N'%[1]s', @source_owner = N'dbo', @source_object = N'%[1]s'`,
				table,
			),
		)
	}
	job(
		t,
		r.distDB,
		"snapshot",
		"Snapshot",
		"-Publisher [PUB] -PublisherDB [shop] -Publication [web] -Distributor [DIST] "+account(
			"Distributor",
		)+account(
			"Publisher",
		),
		false,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @snapshot_job_name = N'snapshot'`,
		saPassword,
	)
	r.push(t)
	r.snapshot(t)
	both := func() {
		r.same(t, "dbo.orders", "*", "id")
		r.same(t, "dbo.keyless", "*", "a")
	}
	both()
	dist := r.dist.open(t, "distribution")
	// The subscription is where its newest snapshot is, which moves on with each.
	at := func() any {
		return scalar(r.target, `SELECT transaction_timestamp FROM dbo.MSreplication_subscriptions WHERE publication = N'web'`)
	}
	position := func() any {
		g.Eventually(at).WithTimeout(deliverWithin).Should(Equal(scalar(dist,
			`SELECT MAX(subscription_seqno) FROM dbo.MSsubscriptions WHERE status = 2 AND snapshot_seqno_flag = 1 AND agent_id > 0`)))
		return at()
	}
	first := position()
	g.Expect(query(t, dist,
		`SELECT p.publication_type, (SELECT COUNT(*) FROM dbo.MSlogreader_agents) FROM dbo.MSpublications AS p`)).
		To(Equal([][]any{{int64(1), int64(0)}}))
	g.Expect(query(t, dist, `SELECT COUNT(*) FROM dbo.MSrepl_commands WHERE type > 0`)).To(Equal([][]any{{int64(0)}}))

	// The tables are the publisher's to change; only dropping one needs its article to go first.
	mustExec(
		t,
		r.source,
		`UPDATE dbo.orders SET customer = N'changed' WHERE id = 1; INSERT INTO dbo.orders VALUES (3, N'new', 1, NULL, NULL)`,
	)
	mustExec(t, r.source, `TRUNCATE TABLE dbo.keyless; INSERT INTO dbo.keyless VALUES (7)`)
	mustExec(t, r.source, `ALTER TABLE dbo.orders ADD note nvarchar(20) NULL; ALTER TABLE dbo.orders DROP COLUMN placed`)
	mustExec(t, r.source, `UPDATE dbo.orders SET note = N'noted'`)
	g.Expect(failure(t, r.source, `DROP TABLE dbo.keyless`).Number).To(Equal(int32(3724)))
	for text, number := range map[string]int32{`EXEC sp_posttracertoken @publication = N'web'`: 21485,
		`EXEC sp_publication_validation @publication = N'web'`:                                                                                  21484,
		`EXEC sp_scriptpublicationcustomprocs @publication = N'web'`:                                                                            21515,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'x', @sync_type = N'replication support only'`: 21023} {
		g.Expect(failure(t, r.source, text).Number).To(Equal(number), text)
	}
	g.Eventually(func() any {
		return scalar(dist, `SELECT COUNT(*) FROM dbo.MSdistribution_history WHERE runstatus = 4`)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0), "the agent has nothing to do")
	g.Expect(query(t, r.target, `SELECT customer FROM dbo.orders WHERE id IN (1, 3)`)).To(Equal([][]any{{"Zoë"}}))
	r.snapshot(t)
	both()
	g.Expect(columnsOf(r.target, "dbo.orders")()).To(Equal(columnsOf(r.source, "dbo.orders")()))
	g.Expect(position()).NotTo(Equal(first))
	mustExec(
		t,
		r.source,
		`EXEC sp_dropsubscription @publication = N'web', @subscriber = N'all', @article = N'all'; EXEC sp_droppublication @publication = N'web'`,
	)
}
