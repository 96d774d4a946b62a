// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// withoutRows is a publication whose subscriber has the rows already and is not subscribed yet. The log reader connects
// to the distributor as login reader, who owns the distribution database and no more.
func withoutRows(t *testing.T) *replication {
	t.Helper()
	r := newReplication(t)
	r.distribute(t)
	mustExec(t, r.distDB, `CREATE LOGIN reader WITH PASSWORD = 'Read3r-Of-Logs'`)
	mustExec(t, r.dist.open(t, "distribution"), `CREATE USER reader FOR LOGIN reader; ALTER ROLE db_owner ADD MEMBER reader`)
	r.publish(t)
	r.readAgainAs(t, "reader")
	r.subscriptionDatabase(t)
	mustExec(t, r.target, `CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer nvarchar(50) NOT NULL, amount decimal(10,2) NULL, placed datetime2(3) NULL, guid uniqueidentifier NULL)`)
	mustExec(t, r.target, `INSERT INTO dbo.orders VALUES (1, N'Zoë', 12.50, '2026-11-20T10:00:00.123', '6F9619FF-8B86-D011-B42D-00C04FC964FF'), (2, N'Ludwig', NULL, NULL, NULL)`)
	mustExec(t, r.target, `CREATE TABLE dbo.pictures (code varchar(20) NOT NULL, part smallint NOT NULL, content varbinary(max) NULL, CONSTRAINT PK_pictures PRIMARY KEY (code, part))`)
	mustExec(t, r.target, `INSERT INTO dbo.pictures VALUES ('a', 1, 0x00010203), ('b', 2, NULL)`)
	return r
}

// readAgainAs runs the log reader anew, which connects to the distributor with a login then.
func (r *replication) readAgainAs(t *testing.T, login string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0), "it runs")
	mustExec(t, r.distDB, `EXEC msdb.dbo.sp_stop_job @job_name = N'logreader'`)
	mustExec(t, r.distDB, `EXEC msdb.dbo.sp_update_jobstep @job_name = N'logreader', @step_id = 1, @command = @p1`,
		strings.Replace(logReaderCommand(""), account("Distributor"),
			"-DistributorSecurityMode 0 -DistributorLogin ["+login+"] -DistributorPassword [Read3r-Of-Logs] ", 1))
	g.Eventually(func() error {
		_, err := r.distDB.Exec(`EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`)
		return err
	}).WithTimeout(deliverWithin).Should(Succeed())
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader' AND login_name = @p1`, login)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0), "it connects so")
}

const addWithoutRows = `EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy',
	@subscription_type = N'push', @sync_type = N'replication support only', @article = N'all'`

// TestSetUpTakesASysadmin: for a subscriber that has the rows the log reader writes the set-up scripts into the
// distribution database after sp_addsubscription, and must run as a member of sysadmin for that
// (docs/relational-databases/system-stored-procedures/sp-addsubscription-transact-sql.md, "Remarks";
// docs/relational-databases/replication/security/replication-agent-security-model.md). One that does not fails with
// 21089 until it does, and delivers nothing to anybody.
func TestSetUpTakesASysadmin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := withoutRows(t)
	pending := func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSnosyncsubsetup`)
	}
	mustExec(t, r.source, addWithoutRows)
	job(t, r.distDB, "distribution", "Distribution", distributionCommand(0, ""), true)
	mustExec(t, r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'distribution'`, saPassword)
	changes(t, r)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSrepl_errors WHERE error_code = N'21089'`)
	}).WithTimeout(deliverWithin).Should(BeNumerically(">", 0))
	g.Expect(pending()).To(BeNumerically(">", 0))
	g.Expect(scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id = 30`)).To(BeEquivalentTo(0))
	g.Expect(scalar(r.target, `SELECT COUNT(*) FROM sys.procedures WHERE name LIKE N'sp_MSins%'`)).To(BeEquivalentTo(0))

	mustExec(t, r.distDB, `ALTER SERVER ROLE sysadmin ADD MEMBER reader`)
	r.bothSame(t)
	g.Expect(pending()).To(BeEquivalentTo(0))

	// What comes later takes it no more.
	mustExec(t, r.distDB, `ALTER SERVER ROLE sysadmin DROP MEMBER reader`)
	r.readAgainAs(t, "reader")
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (41, N'later', 1, NULL, NULL)`)
	r.bothSame(t)
}

// TestSetUpOfASubscriptionThatEnded: nobody waits for it, and the log reader goes on without the right.
func TestSetUpOfASubscriptionThatEnded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := withoutRows(t)
	mustExec(t, r.source, addWithoutRows)
	mustExec(t, r.source,
		`EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB', @destination_db = N'shopcopy'`)
	g.Expect(scalar(r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSnosyncsubsetup`)).To(BeEquivalentTo(0))
	r.pushHere(t)
	r.snapshot(t)
	r.bothSame(t)
}

// TestSetUpNeedsTheSnapshotFolder: the publisher's engine keeps scripts below the distributor's snapshot folder, and
// refuses the subscription with 21330 where it cannot (docs/relational-databases/replication/mssql-eng021330.md).
func TestSetUpNeedsTheSnapshotFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := withoutRows(t)
	folder := t.TempDir()
	mustExec(t, r.distDB, `UPDATE msdb.dbo.MSdistpublishers SET working_directory = N'//DIST/ReplData'`)
	g.Expect(failure(t, r.source, addWithoutRows).Number).To(BeEquivalentTo(21330), "the publisher does not map it")
	g.Expect(query(t, r.source, `SELECT * FROM dbo.syssubscriptions WHERE srvname = N'SUB'`)).To(BeEmpty())
	mustExec(t, r.source, strings.Replace(addWithoutRows, "replication support only", "none", 1))
	mustExec(t, r.source,
		`EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB', @destination_db = N'shopcopy'`)

	mustExec(t, r.distDB, `UPDATE msdb.dbo.MSdistpublishers SET working_directory = @p1`, folder)
	mustExec(t, r.source, addWithoutRows)
}
