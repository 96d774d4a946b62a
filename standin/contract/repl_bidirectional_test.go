// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// exchanging makes two servers publish one table to each other, over one distributor
// (docs/relational-databases/replication/transactional/bidirectional-transactional-replication.md). Both have the rows.
func exchanging(t *testing.T) *replication {
	t.Helper()
	r := newReplication(t)
	r.distribute(t)
	mustExec(
		t,
		r.distDB,
		`EXEC sp_adddistpublisher @publisher = N'SUB', @distribution_db = N'distribution', @security_mode = 0, @login = N'sa', @password = @p1, @working_directory = @p2`,
		saPassword,
		t.TempDir(),
	)
	r.subscriptionDatabase(t)
	mustExec(
		t,
		r.target,
		`CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer nvarchar(50) NOT NULL, amount decimal(10,2) NULL, placed datetime2(3) NULL, guid uniqueidentifier NULL)`,
	)
	mustExec(
		t,
		r.target,
		`INSERT INTO dbo.orders VALUES (1, N'Zoë', 12.50, '2026-11-20T10:00:00.123', '6F9619FF-8B86-D011-B42D-00C04FC964FF'), (2, N'Ludwig', NULL, NULL, NULL)`,
	)
	mustExec(t, r.subDB, `EXEC sp_adddistributor @distributor = N'DIST', @password = N'Distr1bute-Me'`)
	mustExec(t, r.subDB, `EXEC sp_replicationdboption @dbname = N'shopcopy', @optname = N'publish', @value = N'true'`)
	for _, at := range []*sql.DB{r.source, r.target} {
		mustExec(
			t,
			at,
			`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`,
			saPassword,
		)
		mustExec(
			t,
			at,
			`EXEC sp_addpublication @publication = N'both', @status = N'active', @allow_push = N'true', @independent_agent = N'true', @repl_freq = N'continuous'`,
		)
		mustExec(
			t,
			at,
			`EXEC sp_addarticle @publication = N'both', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`,
		)
	}
	return r
}

// pushTo subscribes a database to the publication of another one.
func pushTo(t *testing.T, from *sql.DB, subscriber, database, options string) {
	t.Helper()
	mustExec(
		t,
		from,
		`EXEC sp_addsubscription @publication = N'both', @subscriber = @p1, @destination_db = @p2, @subscription_type = N'push', @sync_type = N'replication support only'`+options,
		subscriber,
		database,
	)
	mustExec(
		t,
		from,
		`EXEC sp_addpushsubscription_agent @publication = N'both', @subscriber = @p1, @subscriber_db = @p2, @subscriber_security_mode = 0, @subscriber_login = N'sa', @subscriber_password = @p3, @frequency_type = 64`,
		subscriber,
		database,
		saPassword,
	)
}

// Transactions that came from a subscriber do not go back to it, unless its subscription asks for that; a third server
// gets them.
func TestBidirectionalReplication(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := exchanging(t)
	third := r.sub.open(t, "master")
	mustExec(t, third, `CREATE DATABASE third`)
	third = r.sub.open(t, "third")
	mustExec(
		t,
		third,
		`CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer nvarchar(50) NOT NULL, amount decimal(10,2) NULL, placed datetime2(3) NULL, guid uniqueidentifier NULL)`,
	)
	mustExec(
		t,
		third,
		`INSERT INTO dbo.orders VALUES (1, N'Zoë', 12.50, '2026-11-20T10:00:00.123', '6F9619FF-8B86-D011-B42D-00C04FC964FF'), (2, N'Ludwig', NULL, NULL, NULL)`,
	)
	pushTo(t, r.source, "SUB", "shopcopy", "")
	pushTo(t, r.target, "PUB", "shop", ", @loopback_detection = N'true'")
	pushTo(t, r.target, "SUB", "third", ", @loopback_detection = N'FALSE'")
	g.Expect(query(t, r.source, `SELECT loopback_detection FROM dbo.syssubscriptions`)).To(Equal([][]any{{true}}))
	g.Expect(query(t, r.target, `SELECT dest_db, loopback_detection FROM dbo.syssubscriptions ORDER BY dest_db`)).
		To(Equal([][]any{{"shop", true}, {"third", false}}))
	g.Expect(failure(t, r.target,
		`EXEC sp_addsubscription @publication = N'both', @subscriber = N'DIST', @destination_db = N'x', @loopback_detection = N'maybe'`).Number).
		To(Equal(int32(14148)))

	everywhere := func(want ...[]any) {
		t.Helper()
		for name, at := range map[string]*sql.DB{"first": r.source, "second": r.target, "third": third} {
			g.Eventually(func() ([][]any, error) {
				return tryQuery(at, `SELECT id, customer FROM dbo.orders ORDER BY id`)
			}).WithTimeout(deliverWithin).WithPolling(200*time.Millisecond).Should(Equal(want), name)
		}
	}
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (10, N'from the first')`)
	mustExec(t, r.target, `INSERT INTO dbo.orders (id, customer) VALUES (20, N'from the second')`)
	everywhere(
		[]any{int64(1), "Zoë"},
		[]any{int64(2), "Ludwig"},
		[]any{int64(10), "from the first"},
		[]any{int64(20), "from the second"},
	)
	mustExec(
		t,
		r.source,
		`UPDATE dbo.orders SET customer = N'again' WHERE id IN (10, 20); DELETE FROM dbo.orders WHERE id = 1`,
	)
	everywhere([]any{int64(2), "Ludwig"}, []any{int64(10), "again"}, []any{int64(20), "again"})
	mustExec(
		t,
		r.target,
		`DELETE FROM dbo.orders WHERE id = 10; UPDATE dbo.orders SET customer = N'and again' WHERE id = 20`,
	)
	everywhere([]any{int64(2), "Ludwig"}, []any{int64(20), "and again"})

	distribution := r.dist.open(t, "distribution")
	// What came from the other one is stored with its name, and nobody who left it out waits for it.
	g.Expect(query(t, distribution,
		`SELECT DISTINCT o.srvname, o.dbname FROM dbo.MSrepl_commands AS c JOIN dbo.MSrepl_originators AS o ON o.id = c.originator_id ORDER BY o.srvname`)).
		To(Equal([][]any{{"PUB", "shop"}, {"SUB", "shopcopy"}}))
	for _, s := range [][]string{{"PUB", "shop", "SUB", "shopcopy"}, {"SUB", "shopcopy", "PUB", "shop"}} {
		g.Eventually(func() any {
			return scalar(
				distribution,
				`DECLARE @t TABLE (pending int, seconds int); INSERT INTO @t EXEC sp_replmonitorsubscriptionpendingcmds @publisher = @p1, @publisher_db = @p2, @publication = N'both', @subscriber = @p3, @subscriber_db = @p4, @subscription_type = 0; SELECT pending FROM @t`,
				s[0],
				s[1],
				s[2],
				s[3],
			)
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0), s[0])
	}
	g.Expect(query(t, distribution,
		`SELECT error_code, error_text FROM dbo.MSrepl_errors WHERE error_code IN ('2627', '20598')`)).
		To(BeEmpty())
	var shown [][]any
	for _, row := range query(t, distribution, `EXEC sp_browsereplcmds`) {
		if strings.Contains(row[10].(string), "from the first") {
			shown = append(shown, row[1:3])
		}
	}
	g.Expect(shown).To(ConsistOf([]any{nil, nil}, []any{"PUB", "shop"}))
}

// A subscription without the detection of loops gets its own transactions back.
func TestLoopsThatAreNotDetected(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := exchanging(t)
	pushTo(t, r.source, "SUB", "shopcopy", ", @loopback_detection = N'true'")
	pushTo(t, r.target, "PUB", "shop", ", @loopback_detection = N'false'")
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (10, N'comes back')`)
	distribution := r.dist.open(t, "distribution")
	g.Eventually(func() any {
		return scalar(distribution, `SELECT COUNT(*) FROM dbo.MSrepl_errors WHERE error_code = '2627'`)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0))
}
