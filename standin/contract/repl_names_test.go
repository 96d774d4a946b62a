// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Procedures of replication run as the system does: of a caller's text they take one clause, and nothing that goes on
// after it.
func TestReplicationTakesNoStatementForAClause(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	const more = `CREATE LOGIN intruder WITH PASSWORD = N''Intrud3r!''; `
	for text, number := range map[string]int32{
		`sp_articlefilter @publication = N'web', @article = N'orders', @filter_name = N'f', @filter_clause = N'1 = 1); ` +
			more + `SELECT (1'`: 21745,
		`sp_articleview @publication = N'web', @article = N'orders', @filter_clause = N'1 = 1); ` + more +
			`SELECT (1'`: 21745,
		`sp_addarticle @publication = N'web', @article = N'again', @source_owner = N'dbo', @source_object = N'orders', @filter_clause = N'1 = 1); ` + more + `SELECT (1'`: 21745,
		`sp_repladdcolumn @source_object = N'dbo.orders', @column = N'x', @typetext = N'int NULL; ` + more +
			`'`: 21023,
		`sp_table_validation @table = N'orders', @expected_rowcount = 2, @rowcount_only = 2, @column_list = N'id)), 0) AS bigint) AS total FROM dbo.orders; ` + more + `SELECT ((ISNULL((1'`: 21023,
	} {
		g.Expect(failure(t, r.source, "EXEC "+text).Number).To(Equal(number), text)
	}
	g.Expect(value(t, r.pubDB, `SELECT COUNT(*) FROM sys.server_principals WHERE name = N'intruder'`)).
		To(BeEquivalentTo(0))
}

// Names with brackets and quotes in them are names like others.
func TestReplicationTakesNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.[O'Brien's] (id int NOT NULL PRIMARY KEY); INSERT INTO dbo.[O'Brien's] VALUES (1)`,
	)
	g.Expect(query(t, r.source,
		`DECLARE @n bigint; EXEC sp_table_validation @table = N'O''Brien''s', @expected_rowcount = @n OUTPUT; SELECT @n`)).
		To(Equal([][]any{{int64(1)}}))

	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shop]copy', @subscription_type = N'push', @sync_type = N'automatic'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shop]copy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @frequency_type = 2`,
		saPassword,
	)
	g.Expect(value(t, r.distDB,
		`SELECT COUNT(*) FROM msdb.dbo.sysjobsteps WHERE subsystem = N'Distribution' AND CHARINDEX(N'-SubscriberDB [shop]]copy] ', command) > 0`)).
		To(BeEquivalentTo(1))

	mustExec(t, r.subDB, `CREATE DATABASE [shop]]copy]`)
	target := r.sub.open(t, "shop]copy")
	mustExec(
		t,
		target,
		`EXEC sp_addpullsubscription @publisher = N'PUB', @publisher_db = N'sh]op', @publication = N'w]eb', @subscription_type = N'pull'`,
	)
	mustExec(
		t,
		target,
		`EXEC sp_addpullsubscription_agent @publisher = N'PUB', @publisher_db = N'sh]op', @publication = N'w]eb', @distributor = N'DIST', @frequency_type = 2`,
	)
	g.Expect(value(t, r.subDB, `SELECT COUNT(*) FROM msdb.dbo.sysjobsteps WHERE subsystem = N'Distribution'
		AND CHARINDEX(N'-PublisherDB [sh]]op] -Publication [w]]eb] ', command) > 0 AND CHARINDEX(N'-SubscriberDB [shop]]copy]', command) > 0`)).To(BeEquivalentTo(1))
}

// What is redirected stays so where it cannot be redirected to somewhere else: agents would go to the original
// publisher.
func TestARedirectionIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	dist := r.dist.open(t, "distribution")
	redirect := `EXEC sp_redirect_publisher @original_publisher = N'PUB', @publisher_db = N'shop', @redirected_publisher = @p1`
	mustExec(t, dist, redirect, "FIRST")
	mustExec(t, dist, `CREATE TRIGGER dbo.stop ON dbo.MSredirected_publishers AFTER INSERT AS THROW 50000, N'no', 1`)
	g.Expect(failure(t, dist, redirect, "SECOND").Number).To(Equal(int32(50000)))
	g.Expect(query(t, dist, `SELECT redirected_publisher FROM dbo.MSredirected_publishers`)).To(Equal([][]any{{"FIRST"}}))
}

// Procedures at subscribers have any name, that of an article's commands or one that is made of its table's.
func TestProceduresOfSubscribersHaveAnyName(t *testing.T) {
	t.Parallel()
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.[o]]d.d?(x,] (id int NOT NULL PRIMARY KEY, [a]]?] int NULL); CREATE TABLE dbo.named (id int NOT NULL PRIMARY KEY, a int NULL)`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'odd', @source_owner = N'dbo', @source_object = N'o]d.d?(x,'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'named', @source_owner = N'dbo', @source_object = N'named', @ins_cmd = N'CALL dbo.[my.ins]', @upd_cmd = N'SCALL [dbo].[my]]upd?]', @del_cmd = N'XCALL "my del("'`,
	)
	r.push(t)
	r.snapshot(t)
	for _, table := range []string{"dbo.[o]]d.d?(x,]", "dbo.named"} {
		r.same(t, table, "*", "id")
		mustExec(t, r.source, "INSERT INTO "+table+" VALUES (1, 1), (2, 2)")
		r.same(t, table, "*", "id")
		mustExec(t, r.source, "UPDATE "+table+" SET id = 3 WHERE id = 2; DELETE FROM "+table+" WHERE id = 1")
		r.same(t, table, "*", "id")
	}
}
