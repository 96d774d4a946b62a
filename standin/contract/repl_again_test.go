// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A subscription that was dropped and is made again begins with the snapshot, whatever the subscriber remembers of the
// former one; and so does one to a database that was dropped and made again, whose log begins anew.
func TestASubscriptionThatIsMadeAgainBeginsAnew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.newSnapshot(t)
	r.push(t)
	r.bothSame(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (3, N'third', 1, NULL, NULL)`)
	r.bothSame(t)

	drop := func() {
		t.Helper()
		mustExec(
			t,
			r.source,
			`EXEC sp_dropsubscription @publication = N'all', @article = N'all', @subscriber = N'SUB', @destination_db = N'shopcopy'`,
		)
		mustExec(t, r.target, `DROP TABLE dbo.orders; DROP TABLE dbo.pictures`)
	}
	again := func() {
		t.Helper()
		mustExec(
			t,
			r.source,
			`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'all'`,
		)
		mustExec(
			t,
			r.source,
			`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
			@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'distribution'`,
			saPassword,
		)
		r.bothSame(t)
		mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (4, N'fourth', 1, NULL, NULL)`)
		r.bothSame(t)
	}
	drop()
	again()
	g.Expect(failure(t, r.source,
		`EXEC sp_dropsubscription @publication = N'nothing', @article = N'all', @subscriber = N'all'`).Number).
		To(BeEquivalentTo(20026))

	// Many transactions, so that the new database's log is behind the old one's for a while.
	for n := range 50 {
		mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES ('many', @p1, 0x01)`, n)
	}
	r.bothSame(t)
	drop()
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web'`)
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	g.Expect(r.source.Close()).To(Succeed())
	mustExec(
		t,
		r.pubDB,
		`ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE shop; CREATE DATABASE shop`,
	)
	r.source = r.pub.open(t, "shop")
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer nvarchar(50) NOT NULL, amount decimal(10,2) NULL, placed datetime2(3) NULL, guid uniqueidentifier NULL)`,
	)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.pictures (code varchar(20) NOT NULL, part smallint NOT NULL, content varbinary(max) NULL, CONSTRAINT PK_pictures PRIMARY KEY (code, part))`,
	)
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @job_name = N'logreader'`,
		saPassword,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @independent_agent = N'true', @immediate_sync = N'true'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'pictures', @source_owner = N'dbo', @source_object = N'pictures'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @snapshot_job_name = N'snapshot'`,
		saPassword,
	)
	r.newSnapshot(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (3, N'after the snapshot', 1, NULL, NULL)`)
	again()
	for value, number := range map[string]int32{"-1": 14106, "1": 14107, "long": 21055} {
		g.Expect(failure(t, r.distDB,
			`EXEC sp_changedistributiondb @database = N'distribution', @property = N'max_distretention', @value = @p1`,
			value).Number).
			To(Equal(number), value)
	}
	g.Expect(query(t, r.source, `EXEC sp_helpsubscription @publication = N'web', @article = N'orders'`)[0][16:22]).
		To(Equal([]any{int64(0), "sa", "**********", nil, nil,
			value(t, r.distDB, `SELECT name FROM distribution.dbo.MSdistribution_agents`)}))
	g.Expect(failure(t, r.source,
		`EXEC sp_reinitsubscription @publication = N'web', @article = N'orders', @subscriber = N'SUB'`).Number).
		To(BeEquivalentTo(14122))

	// Without checks a distributor goes with all that it publishes and distributes.
	for _, name := range []string{"distribution", "logreader"} {
		mustExec(
			t,
			r.distDB,
			`EXEC msdb.dbo.sp_update_job @job_name = @p1, @enabled = 0; BEGIN TRY EXEC msdb.dbo.sp_stop_job @job_name = @p1 END TRY BEGIN CATCH END CATCH`,
			name,
		)
	}
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name LIKE N'Replication%'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	mustExec(t, r.pubDB, `EXEC sp_dropdistributor @no_checks = 1`)
	g.Expect(query(t, r.pubDB,
		`SELECT d.is_published, (SELECT COUNT(*) FROM sys.servers WHERE is_distributor = 1) FROM sys.databases AS d WHERE d.name = N'shop'`)).
		To(Equal([][]any{{false, int64(0)}}))
	g.Expect(failure(t, r.distDB, `EXEC sp_dropdistributor`).Number).To(BeEquivalentTo(14121))
	mustExec(t, r.distDB, `EXEC sp_dropdistributor @no_checks = 1`)
	g.Expect(value(t, r.distDB, `SELECT COUNT(*) FROM sys.databases WHERE name = N'distribution'`)).To(BeEquivalentTo(0))
}
