// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestNamesThatReplicationHolds: databases, tables and servers that replication knows by their names keep them. By the
// messages 15051, 18855, 20582 and 20583 (docs/relational-databases/errors-events/database-engine-events-and-errors.md)
// and docs/relational-databases/system-stored-procedures/sp-dropserver-transact-sql.md (Remarks).
func TestNamesThatReplicationHolds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.pullDisabled(t)
	refused := func(db executor, number, class int, text string) {
		t.Helper()
		err := failure(t, db, text)
		g.Expect([]int{int(err.Number), int(err.Class)}).To(Equal([]int{number, class}), text)
	}
	refused(r.source, 15051, 11, `EXEC sp_rename N'dbo.orders', N'sales'`)
	refused(r.source, 15051, 11, `EXEC sp_rename N'dbo.orders.customer', N'client', N'COLUMN'`)
	refused(r.pubDB, 18855, 11, `EXEC sp_renamedb N'shop', N'store'`)
	refused(r.pubDB, 18855, 11, `ALTER DATABASE shop MODIFY NAME = store`)
	refused(r.distDB, 18855, 11, `ALTER DATABASE distribution MODIFY NAME = other`)
	mustExec(t, r.source, `EXEC sp_rename N'dbo.keyless', N'loose'`)
	for _, logins := range []string{"", ", N'droplogins'"} {
		refused(r.pubDB, 20583, 16, `EXEC sp_dropserver N'SUB'`+logins)
		refused(r.distDB, 20583, 16, `EXEC sp_dropserver N'SUB'`+logins)
		refused(r.distDB, 20582, 16, `EXEC sp_dropserver N'PUB'`+logins)
		refused(r.subDB, 20582, 16, `EXEC sp_dropserver N'PUB'`+logins)
	}

	mustExec(
		t,
		r.target,
		`EXEC sp_droppullsubscription @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web'`,
	)
	mustExec(t, r.subDB, `EXEC sp_dropserver N'PUB'`)
	mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
	mustExec(t, r.source, `EXEC sp_dropsubscriber @subscriber = N'SUB'`)
	mustExec(t, r.pubDB, `EXEC sp_dropserver N'SUB'`)
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web'`)
	mustExec(t, r.source, `EXEC sp_rename N'dbo.orders', N'sales'`)
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	mustExec(t, r.pubDB, `EXEC sp_dropdistributor`)
	mustExec(t, r.distDB, `EXEC sp_dropdistpublisher @publisher = N'PUB'`)
	mustExec(t, r.distDB, `EXEC sp_dropserver N'PUB'`)
}

// TestPublicationsBeginWithAnAccessList: the members of sysadmin and who made the publication are in its access list,
// as far as the distributor has such logins (docs/relational-databases/replication/security/secure-the-publisher.md,
// Publication Access List).
func TestPublicationsBeginWithAnAccessList(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	const password = "Str0ng-Passw0rd"
	for _, db := range []executor{r.pubDB, r.distDB} {
		mustExec(t, db, `CREATE LOGIN keeper WITH PASSWORD = N'`+password+`'`)
		mustExec(t, db, `CREATE LOGIN chief WITH PASSWORD = N'`+password+`'`)
		mustExec(t, db, `CREATE LOGIN other WITH PASSWORD = N'`+password+`'`)
	}
	mustExec(t, r.pubDB, `CREATE LOGIN here_alone WITH PASSWORD = N'`+password+`'`)
	for _, login := range []string{"chief", "here_alone"} {
		mustExec(t, r.pubDB, `ALTER SERVER ROLE sysadmin ADD MEMBER `+login)
	}
	mustExec(t, r.source, `CREATE USER keeper`)
	mustExec(t, r.source, `ALTER ROLE db_owner ADD MEMBER keeper`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1`,
		saPassword,
	)
	mustExec(
		t,
		r.pub.openAs(t, "keeper", password, "shop"),
		`EXEC sp_addpublication @publication = N'web', @status = N'active'`,
	)
	listed := func() []string {
		var out []string
		for _, row := range query(t, r.source, `EXEC sp_help_publication_access @publication = N'web'`) {
			out = append(out, row[0].(string))
		}
		return out
	}
	g.Expect(listed()).To(ConsistOf("sa", "chief", "keeper"))
	mustExec(t, r.source, `EXEC sp_revoke_publication_access @publication = N'web', @login = N'chief'`)
	mustExec(t, r.source, `EXEC sp_grant_publication_access @publication = N'web', @login = N'other'`)
	g.Expect(listed()).To(ConsistOf("sa", "other", "keeper"))
}

// TestBackupsThatAPublicationDoesNotAllow: what the publication allows is judged before the backup is looked for
// (docs/relational-databases/system-stored-procedures/sp-addsubscription-transact-sql.md, @sync_type).
func TestBackupsThatAPublicationDoesNotAllow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	for _, more := range []string{`@sync_type = N'initialize with backup'`,
		`@sync_type = N'initialize with backup', @backupdevicetype = N'disk', @backupdevicename = N'/nowhere.bak'`,
		`@sync_type = N'initialize from lsn'`} {
		g.Expect(failure(t, r.source,
			`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', `+more).Number).
			To(BeEquivalentTo(18786), more)
	}
}

// TestDisabledReplicationLeavesNoJobs: where all that was published at a publisher that is its own distributor is
// dropped, the server has none of the jobs, databases, logins and servers that replication made. An agent whose job was
// deleted by hand is no hindrance. By docs/relational-databases/replication/disable-publishing-and-distribution.md.
func TestDisabledReplicationLeavesNoJobs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	run := func(text string) { t.Helper(); mustExec(t, r.pubDB, text) }
	const made = `SELECT CONCAT(N'job ', name) FROM msdb.dbo.sysjobs UNION ALL SELECT CONCAT(N'database ', name) FROM sys.databases WHERE database_id > 4
		UNION ALL SELECT CONCAT(N'server ', name) FROM sys.servers UNION ALL SELECT CONCAT(N'login ', name) FROM sys.server_principals WHERE type = 'S' ORDER BY 1`
	run(`CREATE DATABASE shop`)
	before := query(t, r.pubDB, made)
	source := r.pub.open(t, "shop")
	mustExec(t, source, `CREATE TABLE dbo.orders (id int PRIMARY KEY)`)
	run(`EXEC sp_adddistributor @distributor = N'PUB'`)
	run(`EXEC sp_adddistributiondb @database = N'distribution', @security_mode = 1`)
	run(`EXEC sp_adddistpublisher @publisher = N'PUB', @distribution_db = N'distribution', @security_mode = 1`)
	run(`EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`)
	mustExec(t, source, `EXEC sp_addlogreader_agent`)
	mustExec(t, source, `EXEC sp_addpublication @publication = N'web', @status = N'active', @independent_agent = N'true'`)
	mustExec(t, source, `EXEC sp_addpublication_snapshot @publication = N'web'`)
	mustExec(t, source, `EXEC sp_addarticle @publication = N'web', @article = N'orders', @source_object = N'orders'`)
	mustExec(
		t,
		source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push'`,
	)
	mustExec(
		t,
		source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy'`,
	)
	g.Expect(len(query(t, r.pubDB, made))).To(BeNumerically(">", len(before)+6))
	run(`EXEC msdb.dbo.sp_delete_job @job_name = N'PUB-shop-web-1'`)

	mustExec(t, source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'all'`)
	mustExec(t, source, `EXEC sp_droppublication @publication = N'web'`)
	run(`EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	run(`EXEC sp_dropdistpublisher @publisher = N'PUB'`)
	run(`EXEC sp_dropdistributiondb @database = N'distribution'`)
	run(`EXEC sp_dropdistributor`)
	g.Expect(query(t, r.pubDB, made)).To(Equal(before))
}
