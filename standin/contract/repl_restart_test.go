// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// An agent whose server is away is tried again, and the history says so (runstatus 5); one whose command is refused has
// failed. By docs/relational-databases/system-tables/msdistribution-history-transact-sql.md.
func TestAgentsThatAreTriedAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	dist := r.dist.open(t, "distribution")
	status := func() string {
		rows, err := tryQuery(
			dist,
			`SELECT TOP (1) runstatus, comments FROM dbo.MSdistribution_history WHERE runstatus IN (5, 6) ORDER BY timestamp DESC`,
		)
		return fmt.Sprint(rows, err)
	}
	r.sub.kill()
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (50, N'while it was away')`)
	g.Eventually(status).
		WithTimeout(deliverWithin).
		Should(ContainSubstring("[[5 the process could not connect to Subscriber 'SUB'"))
	g.Expect(query(t, dist, `EXEC sp_replmonitorhelppublication @publisher = N'PUB'`)[0][3]).To(Equal(int64(5)))
	g.Expect(r.sub.launch()).To(Succeed())
	r.bothSame(t)
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 50`)
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id = 50`)
	g.Eventually(status).WithTimeout(deliverWithin).Should(ContainSubstring("[[6 "))
}

// A publication database that is restored from a backup goes on behind what its distributor has of it. By
// docs/relational-databases/replication/administration/strategies-for-backing-up-and-restoring-snapshot-and-transactional-replication.md
// and docs/relational-databases/system-stored-procedures/sp-replrestart-transact-sql.md.
func TestRestoredPublicationDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	backup := filepath.Join(t.TempDir(), "shop.bak")
	mustExec(t, r.pubDB, `BACKUP DATABASE shop TO DISK = @p1`, backup)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (60, N'lost'), (61, N'lost')`)
	r.bothSame(t)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 0; EXEC msdb.dbo.sp_stop_job @job_name = N'logreader'`,
	)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
	}).WithTimeout(patient).Should(BeEquivalentTo(0))
	g.Expect(failure(t, r.pubDB, `EXEC sp_replrestart`).Number).To(BeEquivalentTo(20054))
	r.source.Close()
	mustExec(
		t,
		r.pubDB,
		`ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; RESTORE DATABASE shop FROM DISK = @p1 WITH REPLACE, KEEP_REPLICATION; ALTER DATABASE shop SET MULTI_USER`,
		backup,
	)
	r.source = r.pub.open(t, "shop")
	g.Expect(value(t, r.source, `SELECT COUNT(*) FROM dbo.orders WHERE id >= 60`)).To(BeEquivalentTo(0))
	// What the backup lacks is brought from the subscriber.
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 61`)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (60, N'lost')`)
	mustExec(t, r.source, `EXEC sp_replrestart`)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`,
	)
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.orders (id, customer) VALUES (62, N'after'); UPDATE dbo.orders SET customer = N'changed' WHERE id = 60`,
	)
	r.bothSame(t)
	mustExec(t, r.source, `DELETE FROM dbo.orders WHERE id = 62`)
	r.bothSame(t)
	// Nothing is missing in databases of this program.
	mustExec(t, r.source, `EXEC sp_vupgrade_replication`)
	mustExec(
		t,
		r.source,
		`EXEC sp_vupgrade_replication @login = N'sa', @password = N'', @ver_old = 517, @force_remove = 0, @security_mode = 1`,
	)
	r.bothSame(t)
}

// A subscription begins at its snapshot, behind which the restored database's log has to go on, too, when nothing was
// delivered since.
func TestRestoredPublicationDatabaseGoesOnBehindTheSnapshot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	backup := filepath.Join(t.TempDir(), "shop.bak")
	mustExec(t, r.source, `ALTER DATABASE shop MODIFY FILE (NAME = shop_log, MAXSIZE = 32 MB)`)
	mustExec(t, r.pubDB, `BACKUP DATABASE shop TO DISK = @p1`, backup)
	mustExec(t, r.source, `CREATE TABLE dbo.unpublished (id int NOT NULL PRIMARY KEY, filler varbinary(max) NOT NULL)`)
	for n := range 6 {
		mustExec(
			t,
			r.source,
			`INSERT INTO dbo.unpublished VALUES (@p1, CAST(REPLICATE(CAST('x' AS varchar(max)), 3000000) AS varbinary(max)))`,
			n,
		)
	}
	mustExec(t, r.source, `EXEC sp_reinitsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 2`)
	r.snapshot(t)
	r.bothSame(t)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 0; EXEC msdb.dbo.sp_stop_job @job_name = N'logreader'`,
	)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Log Reader'`)
	}).WithTimeout(patient).Should(BeEquivalentTo(0))
	r.source.Close()
	mustExec(
		t,
		r.pubDB,
		`ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; RESTORE DATABASE shop FROM DISK = @p1 WITH REPLACE, KEEP_REPLICATION; ALTER DATABASE shop SET MULTI_USER`,
		backup,
	)
	r.source = r.pub.open(t, "shop")
	mustExec(t, r.source, `EXEC sp_replrestart`)
	mustExec(
		t,
		r.distDB,
		`EXEC msdb.dbo.sp_update_job @job_name = N'logreader', @enabled = 1; EXEC msdb.dbo.sp_start_job @job_name = N'logreader'`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (62, N'after')`)
	r.bothSame(t)
}
