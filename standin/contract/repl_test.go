// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// changes are inserts, updates, deletes, key changes and a large value, in transactions.
func changes(t *testing.T, r *replication) {
	t.Helper()
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (3, N'Ada', 99.99, '2026-11-20T11:00:00', NULL)`)
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; UPDATE dbo.orders SET amount = 7, customer = N'O''Neil' WHERE id = 1; DELETE FROM dbo.orders WHERE id = 2; INSERT INTO dbo.pictures VALUES ('c', 3, 0xCAFE); COMMIT`,
	)
	mustExec(t, r.source, `UPDATE dbo.pictures SET code = 'z' WHERE code = 'a'`)
	mustExec(t, r.source, `UPDATE dbo.orders SET id = 30 WHERE id = 3`)
	mustExec(t, r.pubDB, `EXEC sp_configure N'max text repl size (B)', -1; RECONFIGURE`)
	mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES ('large', 1, @p1)`, []byte(strings.Repeat("0123456789", 15000)))
}

func TestPullReplication(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	g.Expect(failure(t, r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'x', @source_object = N'orders'`).Number).
		To(BeEquivalentTo(20026), "no publication yet")
	r.publish(t)
	g.Expect(failure(t, r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'keyless', @source_owner = N'dbo', @source_object = N'keyless'`).Number).
		To(BeEquivalentTo(14088))
	g.Expect(failure(t, r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`).Number).
		To(BeEquivalentTo(14030))
	r.pull(t)
	g.Eventually(func() any {
		return scalar(
			r.distDB,
			`SELECT TOP (1) comments FROM distribution.dbo.MSdistribution_history ORDER BY timestamp DESC`,
		)
	}).WithTimeout(deliverWithin).Should(ContainSubstring("is not yet available"), "21076 before the snapshot")
	r.snapshot(t)
	r.bothSame(t)
	changes(t, r)
	r.bothSame(t)

	// Bulk: many small transactions and a large one.
	mustExec(
		t,
		r.source,
		`DECLARE @i int = 100; WHILE @i < 400 BEGIN INSERT INTO dbo.orders VALUES (@i, N'bulk', @i, NULL, NULL); SET @i = @i + 1 END`,
	)
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; DECLARE @i int = 1000; WHILE @i < 3000 BEGIN INSERT INTO dbo.orders VALUES (@i, REPLICATE(N'x', 50), @i, NULL, NULL); SET @i = @i + 1 END; COMMIT`,
	)
	r.bothSame(t)

	t.Run("tracer token", func(t *testing.T) {
		g := NewWithT(t)
		id := value(
			t,
			r.source,
			`DECLARE @id int; EXEC sp_posttracertoken @publication = N'web', @tracer_token_id = @id OUTPUT; SELECT @id`,
		)
		g.Eventually(func() [][]any {
			rows, _ := tryQuery(
				r.source,
				fmt.Sprintf(`EXEC sp_helptracertokenhistory @publication = N'web', @tracer_id = %v`, id),
			)
			return rows
		}).WithTimeout(deliverWithin).Should(HaveExactElements(HaveExactElements(Not(BeNil()), Equal("SUB"),
			Equal("shopcopy"), Not(BeNil()), Not(BeNil()))))
		g.Expect(query(t, r.source, `EXEC sp_helptracertokens @publication = N'web'`)).To(HaveLen(1))
	})
	t.Run("monitoring", func(t *testing.T) {
		g := NewWithT(t)
		dist := r.dist.open(t, "distribution")
		g.Eventually(func() any {
			rows, err := tryQuery(
				dist,
				`EXEC sp_replmonitorsubscriptionpendingcmds @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscription_type = 1`,
			)
			if err != nil || len(rows) != 1 {
				return err
			}
			return rows[0][0]
		}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
		rows := query(t, dist, `EXEC sp_replmonitorhelpsubscription @publisher = N'PUB', @publication_type = 0`)
		g.Expect(rows).To(HaveLen(1))
		g.Expect(rows[0][2]).To(Equal("SUB"))
		g.Expect(rows[0][0]).To(BeElementOf(int64(3), int64(4)), "in progress or idle")
		g.Expect(query(t, dist, `EXEC sp_replmonitorhelppublication @publisher = N'PUB'`)).To(HaveLen(1))
		g.Expect(query(t, dist, `EXEC sp_replmonitorhelppublisher`)).To(HaveLen(1))
		g.Expect(fmt.Sprint(query(t, dist, `EXEC sp_browsereplcmds`))).
			To(ContainSubstring("{CALL [sp_MSins_dboorders] (3,N'Ada',N'99.99'"))
		g.Expect(query(t, r.source, `EXEC sp_helpsubscription @publication = N'web'`)).To(HaveLen(2))
		g.Expect(query(t, r.source, `EXEC sp_helparticle @publication = N'web'`)).To(HaveLen(2))
		g.Expect(query(t, r.source, `EXEC sp_helppublication @publication = N'web'`)).To(HaveLen(1))
		g.Expect(query(t, r.target, `EXEC sp_helppullsubscription`)).To(HaveLen(1))
		g.Expect(query(t, r.source, `EXEC sp_get_distributor`)).To(HaveLen(1))
		g.Expect(query(t, r.source, `EXEC sp_helpdistributor`)).To(HaveLen(1))
		g.Expect(value(t, r.target, `SELECT COUNT(*) FROM sys.tables WHERE is_ms_shipped = 0`)).
			To(BeEquivalentTo(2), "replication's tables are the system's")
	})
	t.Run("article added later", func(t *testing.T) {
		mustExec(t, r.source, `CREATE TABLE dbo.late (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL)`)
		mustExec(t, r.source, `INSERT INTO dbo.late VALUES (1, N'before')`)
		mustExec(
			t,
			r.source,
			`EXEC sp_addarticle @publication = N'web', @article = N'late', @source_owner = N'dbo', @source_object = N'late'`,
		)
		mustExec(t, r.source, `EXEC sp_refreshsubscriptions @publication = N'web'`)
		mustExec(t, r.source, `INSERT INTO dbo.late VALUES (2, N'between')`)
		mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (5000, N'meanwhile', 1, NULL, NULL)`)
		r.snapshot(t)
		mustExec(t, r.source, `INSERT INTO dbo.late VALUES (3, N'after')`)
		r.same(t, "dbo.late", "*", "id")
		r.bothSame(t)
	})
	t.Run("published tables are protected", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(failure(t, r.source, `DROP TABLE dbo.orders`).Number).To(BeEquivalentTo(3724))
		g.Expect(failure(t, r.source, `TRUNCATE TABLE dbo.orders`).Number).To(BeEquivalentTo(4711))
		g.Expect(failure(t, r.source, `EXEC sp_droppublication @publication = N'web'`).Number).To(BeEquivalentTo(14005))
		g.Expect(failure(t, r.source, `EXEC sp_droparticle @publication = N'web', @article = N'orders'`).Number).
			To(BeEquivalentTo(14046))
	})
	t.Run("taken down", func(t *testing.T) {
		g := NewWithT(t)
		mustExec(t, r.subDB, `EXEC msdb.dbo.sp_delete_job @job_name = N'distribution'`)
		mustExec(
			t,
			r.target,
			`EXEC sp_droppullsubscription @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web'`,
		)
		mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
		mustExec(t, r.distDB, `EXEC msdb.dbo.sp_delete_job @job_name = N'logreader'`)
		mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web'`)
		mustExec(t, r.source, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
		mustExec(t, r.pubDB, `EXEC sp_dropdistributor`)
		mustExec(t, r.distDB, `EXEC sp_dropdistpublisher @publisher = N'PUB'`)
		mustExec(t, r.distDB, `EXEC sp_dropdistributiondb @database = N'distribution'`)
		mustExec(t, r.distDB, `EXEC sp_dropdistributor`)
		g.Expect(value(t, r.target, `SELECT COUNT(*) FROM dbo.orders`)).To(BeNumerically(">", 2000), "the data stay")
		mustExec(t, r.source, `DROP TABLE dbo.orders`)
	})
}

func TestPushReplication(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.snapshot(t)
	g.Eventually(func() any {
		return scalar(r.source, `SELECT CAST(immediate_sync_ready AS int) FROM dbo.syspublications`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(1), "the snapshot waits for subscribers")
	changes(t, r)
	r.push(t)
	r.bothSame(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (77, N'after the subscription', 1, NULL, NULL)`)
	r.bothSame(t)

	// A row that is missing at the subscriber stops the agent with 20598 and is told in the history and the errors.
	mustExec(t, r.target, `SELECT * INTO dbo.kept FROM dbo.orders WHERE id = 1`)
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 1`)
	mustExec(t, r.source, `UPDATE dbo.orders SET amount = 8 WHERE id = 1`)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_errors WHERE error_code = N'20598'`)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0))
	mustExec(t, r.target, `INSERT INTO dbo.orders SELECT * FROM dbo.kept`)
	r.bothSame(t)
}

// The default of a pull agent is Windows authentication, which Linux without a domain has not.
func TestPullAgentsDefaultIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.subscriptionDatabase(t)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'pull', @article = N'all'`,
	)
	mustExec(
		t,
		r.target,
		`EXEC sp_addpullsubscription @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @subscription_type = N'pull'`,
	)
	mustExec(
		t,
		r.target,
		`EXEC sp_addpullsubscription_agent @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @distributor = N'DIST', @distributor_security_mode = 0,
		@distributor_login = N'sa', @distributor_password = @p1, @frequency_type = 64`,
		saPassword,
	)
	g.Eventually(func() any {
		return fmt.Sprint(
			query(
				t,
				r.subDB,
				`SELECT j.name, j.enabled, h.sql_message_id, h.[message] FROM msdb.dbo.sysjobs AS j LEFT JOIN msdb.dbo.sysjobhistory AS h ON h.job_id = j.job_id AND h.step_id = 2`,
			),
		)
	}).WithTimeout(deliverWithin).Should(ContainSubstring(" 18452 "))
}

// Every one of the three is killed while rows are written: each row arrives exactly once.
func TestReplicationSurvivesKills(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.pull(t)
	r.snapshot(t)
	r.bothSame(t)
	write := func(from, to int) {
		mustExec(
			t,
			r.source,
			fmt.Sprintf(
				`DECLARE @i int = %d; WHILE @i < %d BEGIN INSERT INTO dbo.orders VALUES (@i, N'kill', 0, NULL, NULL); UPDATE dbo.orders SET amount = ISNULL(amount, 0) + 1 WHERE id = 1; SET @i = @i + 1 END`,
				from,
				to,
			),
		)
	}
	for n, i := range []*instance{r.sub, r.dist, r.pub} {
		base := 10000 * (n + 1)
		write(base, base+300)
		i.kill()
		g.Expect(i.launch()).To(Succeed())
		g.Eventually(func() any { return scalar(r.source, `SELECT 1`) }).WithTimeout(deliverWithin).Should(BeEquivalentTo(1))
		write(base+300, base+400)
	}
	r.bothSame(t)
	g.Expect(value(t, r.target, `SELECT amount FROM dbo.orders WHERE id = 1`)).
		To(Equal("1212.50"), "12.50 and one for each of 1,200 rows")
}

// A subscriber that has the rows already gets the changes from here on.
func TestReplicationSupportOnly(t *testing.T) {
	t.Parallel()
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
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
	mustExec(
		t,
		r.target,
		`CREATE TABLE dbo.pictures (code varchar(20) NOT NULL, part smallint NOT NULL, content varbinary(max) NULL, CONSTRAINT PK_pictures PRIMARY KEY (code, part))`,
	)
	mustExec(t, r.target, `INSERT INTO dbo.pictures VALUES ('a', 1, 0x00010203), ('b', 2, NULL)`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @sync_type = N'replication support only', @article = N'all'`,
	)
	job(t, r.distDB, "distribution", "Distribution", distributionCommand(0, "-SkipErrors 2601:2627:20598"), true)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'distribution'`,
		saPassword,
	)
	changes(t, r)
	r.bothSame(t)

	// -SkipErrors passes over what is missing, and goes on.
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 30`)
	mustExec(
		t,
		r.source,
		`BEGIN TRANSACTION; UPDATE dbo.orders SET amount = 0 WHERE id = 30; INSERT INTO dbo.orders VALUES (31, N'next', 1, NULL, NULL); COMMIT`,
	)
	r.same(t, "dbo.pictures", "*", "code, part")
	NewWithT(
		t,
	).Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id IN (30, 31)`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(1))
}

// Columns and rows that are left out do not arrive; an update moves rows in and out. A filter that changes makes the
// article be initialized again.
func TestFilteredArticle(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.parts (id int NOT NULL PRIMARY KEY, site nvarchar(10) NOT NULL, note nvarchar(20) NULL, secret nvarchar(20) NULL)`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.parts VALUES (1, N'dublin', N'a', N'x'), (2, N'quincy', N'b', N'y')`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'parts', @source_owner = N'dbo', @source_object = N'parts', @vertical_partition = N'true'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_articlecolumn @publication = N'web', @article = N'parts', @column = N'secret', @operation = N'drop'`,
	)
	g.Expect(failure(t, r.source,
		`EXEC sp_articlefilter @publication = N'web', @article = N'parts', @filter_name = N'f', @filter_clause = N'nothing = 1'`).Number).
		To(BeEquivalentTo(21745))
	mustExec(
		t,
		r.source,
		`EXEC sp_articlefilter @publication = N'web', @article = N'parts', @filter_name = N'f', @filter_clause = N'site = N''dublin'''`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_articleview @publication = N'web', @article = N'parts', @view_name = N'v_parts', @filter_clause = N'site = N''dublin'''`,
	)
	g.Expect(value(t, r.source,
		`SELECT COUNT(*) FROM dbo.sysarticles WHERE name = N'parts' AND sync_objid <> objid AND filter_clause LIKE N'%dublin%'`)).
		To(BeEquivalentTo(1))
	r.pull(t)
	r.snapshot(t)
	have := func() string {
		rows, err := tryQuery(r.target, `SELECT * FROM dbo.parts ORDER BY id`)
		return fmt.Sprint(rows, err)
	}
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal("[[1 a]] <nil>"))
	mustExec(
		t,
		r.source,
		`UPDATE dbo.parts SET site = N'dublin' WHERE id = 2; INSERT INTO dbo.parts VALUES (3, N'quincy', N'c', NULL), (4, N'dublin', N'd', NULL)`,
	)
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal("[[1 a] [2 b] [4 d]] <nil>"))
	mustExec(
		t,
		r.source,
		`UPDATE dbo.parts SET site = N'tukwila' WHERE id = 1; DELETE FROM dbo.parts WHERE id = 3; UPDATE dbo.parts SET note = N'e' WHERE id = 4`,
	)
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal("[[2 b] [4 e]] <nil>"))
	g.Eventually(func() any { return scalar(r.source, `SELECT MIN(status) FROM dbo.syssubscriptions`) }, patient).
		Should(BeEquivalentTo(2))
	g.Expect(failure(t, r.source,
		`EXEC sp_articlefilter @publication = N'web', @article = N'parts', @filter_name = N'f', @filter_clause = N'id = 1', @force_invalidate_snapshot = 1`).Number).
		To(BeEquivalentTo(20608))
	mustExec(
		t,
		r.source,
		`EXEC sp_articlefilter @publication = N'web', @article = N'parts', @filter_name = N'f', @filter_clause = N'id < 3', @force_invalidate_snapshot = 1, @force_reinit_subscription = 1`,
	)
	r.snapshot(t)
	g.Eventually(have).WithTimeout(deliverWithin).Should(Equal("[[1 a] [2 b]] <nil>"))
	r.bothSame(t)
}
