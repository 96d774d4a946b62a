// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestChangedLoginsOfAgentsCount: the agents of the procedures' own jobs connect as the distributor has noted for them
// when they start, so that who took the default, Windows authentication, makes good with the procedures that change it.
// By docs/relational-databases/system-stored-procedures/sp-changelogreader-agent-transact-sql.md, its neighbours
// sp-changepublication-snapshot and sp-changesubscription, and
// docs/relational-databases/replication/security/view-and-modify-replication-security-settings.md.
func TestChangedLoginsOfAgentsCount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.subscriptionDatabase(t)
	mustExec(t, r.source, `EXEC sp_addlogreader_agent`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @allow_push = N'true', @independent_agent = N'true'`,
	)
	mustExec(t, r.source, `EXEC sp_addpublication_snapshot @publication = N'web'`)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy'`,
	)
	dist := r.dist.open(t, "distribution")
	mustExec(t, r.source, `EXEC sp_startpublication_snapshot @publication = N'web'`)
	for _, history := range []string{"MSlogreader_history", "MSsnapshot_history", "MSdistribution_history"} {
		g.Eventually(func() any {
			return scalar(dist, "SELECT TOP (1) CAST(comments AS nvarchar(max)) FROM dbo."+history+" WHERE runstatus IN (5, 6)")
		}).WithTimeout(deliverWithin).Should(ContainSubstring("18452"), history)
	}

	again := func(pattern string) {
		t.Helper()
		for _, row := range query(t, r.distDB, `SELECT name FROM msdb.dbo.sysjobs AS j WHERE name LIKE @p1`, pattern) {
			name := row[0].(string)
			// A job that waits for its next try counts as running.
			mustExec(
				t,
				r.distDB,
				`IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobactivity AS a JOIN msdb.dbo.sysjobs AS j ON j.job_id = a.job_id
				WHERE j.name = @p1 AND a.start_execution_date IS NOT NULL AND a.stop_execution_date IS NULL) EXEC msdb.dbo.sp_stop_job @job_name = @p1`,
				name,
			)
			g.Eventually(func() error {
				_, err := r.distDB.Exec(`EXEC msdb.dbo.sp_start_job @job_name = @p1`, name)
				return err
			}).WithTimeout(deliverWithin).Should(Succeed(), name)
		}
	}
	change := func(statement string) { mustExec(t, r.source, strings.ReplaceAll(statement, "$password", saPassword)) }
	change(
		`EXEC sp_changelogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = N'$password'`,
	)
	change(
		`EXEC sp_changepublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = N'$password'`,
	)
	for property, v := range map[string]string{"subscriber_security_mode": "0", "subscriber_login": "sa",
		"subscriber_password": saPassword} {
		mustExec(
			t,
			r.source,
			`EXEC sp_changesubscription @publication = N'web', @article = N'all', @subscriber = N'SUB', @destination_db = N'shopcopy', @property = @p1, @value = @p2`,
			property,
			v,
		)
	}
	again("PUB-shop-[0-9]%")
	again("PUB-shop-web-[0-9]%")
	again("PUB-shop-web-SUB%")
	r.same(t, "dbo.orders", "*", "id")
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (3, N'Clara', 1.00, NULL, NULL)`)
	r.same(t, "dbo.orders", "*", "id")
}
