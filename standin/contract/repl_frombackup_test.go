// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A subscriber begins with a backup of the publication database, another one where the first one is: each gets what was
// committed after that, once.
func TestInitializeWithBackupAndFromLSN(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	backup := filepath.Join(t.TempDir(), "shop.bak")
	mustExec(t, r.source, `BACKUP DATABASE shop TO DISK = @p1`, backup)
	r.publishWith(t, "@immediate_sync = N'false', @allow_initialize_from_backup = N'true'")
	const subscribe = `EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @article = N'all',
		@sync_type = N'initialize with backup', @backupdevicetype = N'disk', @backupdevicename = @p1`
	g.Expect(failure(t, r.source, subscribe, backup).Number).
		To(Equal(int32(21397)), "the articles were not published then")

	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (10, N'before the backup', 1, NULL, NULL)`)
	mustExec(t, r.source, `BACKUP DATABASE shop TO DISK = @p1`, backup)
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.orders VALUES (11, N'after it', 1, NULL, NULL); UPDATE dbo.orders SET amount = 2 WHERE id = 10; DELETE FROM dbo.pictures WHERE code = 'a'`,
	)

	folder := t.TempDir()
	mustExec(
		t,
		r.subDB,
		fmt.Sprintf(
			`RESTORE DATABASE shopcopy FROM DISK = @p1 WITH FILE = 2, MOVE 'shop' TO '%s', MOVE 'shop_log' TO '%s'`,
			filepath.Join(folder, "copy.mdf"),
			filepath.Join(folder, "copy.ldf"),
		),
		backup,
	)
	r.target = r.sub.open(t, "shopcopy")
	g.Expect(query(t, r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id >= 10`)).To(Equal([][]any{{int64(1)}}))
	g.Expect(failure(t, r.source, subscribe, backup).Number).To(Equal(int32(21397)), "the first set is that of before")
	mustExec(t, r.source, subscribe+`, @fileidhint = 2`, backup)
	g.Expect(query(t, r.source, `SELECT DISTINCT sync_type, nosync_type FROM dbo.syssubscriptions`)).
		To(Equal([][]any{{int64(2), int64(2)}}))
	g.Expect(query(t, r.distDB, `SELECT DISTINCT sync_type, nosync_type FROM distribution.dbo.MSsubscriptions`)).
		To(Equal([][]any{{int64(2), int64(2)}}))
	job(t, r.distDB, "distribution", "Distribution", distributionCommand(0, "-SubscriptionStreams 4"), true)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'distribution'`,
		saPassword,
	)
	r.bothSame(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (12, N'later', 1, NULL, NULL)`)
	r.bothSame(t)

	// The position that the first subscriber has is where the second one goes on.
	mustExec(t, r.distDB, `EXEC msdb.dbo.sp_stop_job @job_name = N'distribution'`)
	g.Eventually(func() any {
		return scalar(r.distDB, `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = N'Replication Distribution'`)
	}).WithTimeout(deliverWithin).Should(BeEquivalentTo(0))
	at := value(t, r.target, `SELECT transaction_timestamp FROM dbo.MSreplication_subscriptions`)
	g.Expect(at).To(HaveLen(10))
	mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @subscriber = N'SUB', @article = N'all'`)
	for range 2 { // the second time there is nothing, which is no error
		mustExec(
			t,
			r.target,
			`EXEC sp_subscription_cleanup @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web'`,
		)
	}
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.orders VALUES (13, N'nobody listens', 1, NULL, NULL); DELETE FROM dbo.orders WHERE id = 1`,
	)
	g.Expect(failure(t, r.source, `EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @article = N'all',
		@sync_type = N'initialize from lsn', @subscriptionlsn = 0x00000020000000400001`).Number).
		To(Equal(int32(21399)))
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @article = N'all',
		@sync_type = N'initialize from lsn', @subscriptionlsn = @p1`,
		at,
	)
	g.Expect(query(t, r.source, `SELECT DISTINCT sync_type, nosync_type FROM dbo.syssubscriptions`)).
		To(Equal([][]any{{int64(2), int64(3)}}))
	job(t, r.distDB, "again", "Distribution", distributionCommand(0, ""), true)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'again'`,
		saPassword,
	)
	r.bothSame(t)
}
