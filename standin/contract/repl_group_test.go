// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A publisher in an availability group: agents keep the original publisher's name and find the primary through the
// redirection; nothing goes out before it is hardened on the secondary; after a failover all goes on from where it was.
func TestRedirectedPublisher(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	c.synchronized(0, 1)
	dist := prepareInstance(t, "MSSQL_AGENT_ENABLED=true")
	dist.name = "DIST"
	g.Expect(dist.launch()).To(Succeed())
	distDB := dist.open(t, "master")
	at := func(i *instance) string { return strings.Replace(i.address, ":", ",", 1) }
	const link = `EXEC sp_addlinkedserver @server = @p1, @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = @p2`
	mustExec(t, distDB, `EXEC sp_adddistributor @distributor = N'DIST', @password = N'Distr1bute-Me'`)
	mustExec(t, distDB, `EXEC sp_adddistributiondb @database = N'distribution'`)
	for n := range 2 {
		mustExec(t, distDB, link, c.servers[n].name, at(c.servers[n]))
		mustExec(
			t,
			distDB,
			`EXEC sp_adddistpublisher @publisher = @p1, @distribution_db = N'distribution', @security_mode = 0, @login = N'sa', @password = @p2, @working_directory = @p3`,
			c.servers[n].name,
			saPassword,
			t.TempDir(),
		)
		mustExec(t, c.admins[n], link, "DIST", at(dist))
		mustExec(t, c.admins[n], `EXEC sp_adddistributor @distributor = N'DIST', @password = N'Distr1bute-Me'`)
	}
	mustExec(t, distDB, link, "LISTENER", at(c.servers[0]))
	distribution := dist.open(t, "distribution")
	mustExec(t, c.admins[0], `EXEC sp_replicationdboption @dbname = N'app', @optname = N'publish', @value = N'true'`)
	mustExec(
		t,
		distribution,
		`EXEC sp_redirect_publisher @original_publisher = N'AGA', @publisher_db = N'app', @redirected_publisher = N'LISTENER'`,
	)
	g.Expect(query(t, distribution,
		`EXEC sp_get_redirected_publisher @original_publisher = N'AGA', @publisher_db = N'app', @bypass_publisher_validation = 1`)).
		To(Equal([][]any{{"LISTENER", int64(0), int64(0), nil}}))
	g.Expect(failure(t, distribution,
		`DECLARE @r nvarchar(128); EXEC sp_validate_redirected_publisher @original_publisher = N'AGA', @publisher_db = N'app', @redirected_publisher = @r OUTPUT`).Number).
		To(BeEquivalentTo(21882), "the group has no listener of that name")
	mustExec(
		t,
		c.admins[0],
		`ALTER AVAILABILITY GROUP [ag] ADD LISTENER N'LISTENER' (WITH IP ((N'127.0.0.1', N'255.0.0.0')), PORT = 1433)`,
	)
	g.Expect(query(t, distribution,
		`EXEC sp_get_redirected_publisher @original_publisher = N'AGA', @publisher_db = N'app'`)).
		To(Equal([][]any{{"LISTENER", int64(0), int64(0), nil}}))

	names := "-Publisher [AGA] -PublisherDB [app] "
	agents := names + "-Distributor [DIST] " + account("Distributor")
	app := c.servers[0].open(t, "app")
	job(t, distDB, "logreader", "LogReader", agents+account("Publisher")+"-Continuous", true)
	mustExec(
		t,
		app,
		`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @job_name = N'logreader'`,
		saPassword,
	)
	mustExec(
		t,
		app,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @independent_agent = N'true', @immediate_sync = N'true', @allow_pull = N'true'`,
	)
	mustExec(
		t,
		app,
		`EXEC sp_addarticle @publication = N'web', @article = N't', @source_owner = N'dbo', @source_object = N't'`,
	)
	job(t, distDB, "snapshot", "Snapshot", agents+account("Publisher")+"-Publication [web]", false)
	mustExec(
		t,
		app,
		`EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @snapshot_job_name = N'snapshot'`,
		saPassword,
	)
	mustExec(t, distDB, `CREATE DATABASE copy`)
	copied := dist.open(t, "copy")
	mustExec(
		t,
		app,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'DIST', @destination_db = N'copy', @subscription_type = N'pull', @article = N'all'`,
	)
	mustExec(
		t,
		copied,
		`EXEC sp_addpullsubscription @publisher = N'AGA', @publisher_db = N'app', @publication = N'web', @subscription_type = N'pull'`,
	)
	job(
		t,
		distDB,
		"distribution",
		"Distribution",
		agents+account(
			"Subscriber",
		)+"-Publication [web] -Subscriber [DIST] -SubscriberDB [copy] -SubscriptionType 1 -Continuous",
		true,
	)
	mustExec(
		t,
		copied,
		`EXEC sp_addpullsubscription_agent @publisher = N'AGA', @publisher_db = N'app', @publication = N'web', @distributor = N'DIST', @distributor_security_mode = 0,
		@distributor_login = N'sa', @distributor_password = @p1, @job_name = N'distribution'`,
		saPassword,
	)
	mustExec(t, app, `EXEC sp_startpublication_snapshot @publication = N'web'`)

	rows := func() any { return scalar(copied, `SELECT COUNT(*) FROM dbo.t`) }
	for id := range 10 {
		g.Expect(c.insert(t.Context(), 0, id)).To(Succeed())
	}
	g.Eventually(rows).WithTimeout(deliverWithin).Should(BeEquivalentTo(10))

	// A secondary that is away holds everything back.
	c.servers[1].kill()
	g.Expect(c.insert(t.Context(), 0, 10)).To(Succeed())
	g.Consistently(rows, "3s", "200ms").Should(BeEquivalentTo(10))
	c.restart(1)
	g.Eventually(rows).WithTimeout(deliverWithin).Should(BeEquivalentTo(11))
	c.synchronized(0, 1)
	deadReplicaDemoted(t, c, rows)

	// The listener goes to the other replica.
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	c.promote(1)
	mustExec(t, distDB, `EXEC sp_dropserver @server = N'LISTENER'`)
	mustExec(t, distDB, link, "LISTENER", at(c.servers[1]))
	g.Expect(c.insert(t.Context(), 1, 13)).To(Succeed())
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	for id := 14; id < 30; id++ {
		g.Expect(c.insert(t.Context(), 1, id)).To(Succeed())
	}
	g.Eventually(rows).WithTimeout(deliverWithin).Should(BeEquivalentTo(30))
	app = c.servers[1].open(t, "app")
	g.Expect(query(t, app, `EXEC sp_helpsubscription @publication = N'web'`)).To(HaveLen(1))
	token := value(
		t,
		app,
		`DECLARE @id int; EXEC sp_posttracertoken @publication = N'web', @tracer_token_id = @id OUTPUT; SELECT @id`,
	)
	g.Eventually(func() string {
		rows, _ := tryQuery(app, fmt.Sprintf(`EXEC sp_helptracertokenhistory @publication = N'web', @tracer_id = %v`, token))
		return fmt.Sprint(rows)
	}).WithTimeout(deliverWithin).Should(MatchRegexp(`\[\[\d+ DIST copy \d+ \d+\]\]`))
	g.Eventually(func() any {
		return scalar(c.admins[1], `SELECT CAST(is_published AS int) FROM sys.databases WHERE name = 'app'`)
	}, patient).Should(BeEquivalentTo(1))
}

// deadReplicaDemoted: a secondary that is away holds the log reader back until it is asynchronous and trace flag 1448
// is on, one of the two is not enough; when it is back and synchronous again nothing is lost or sent twice.
func deadReplicaDemoted(t *testing.T, c *agCluster, rows func() any) {
	t.Helper()
	g := NewWithT(t)
	mode := func(word string) {
		mustExec(
			t,
			c.admins[0],
			fmt.Sprintf(
				"ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'%s' WITH (AVAILABILITY_MODE = %s)",
				c.servers[1].name,
				word,
			),
		)
	}
	g.Expect(query(t, c.admins[0], "DBCC TRACESTATUS (1448, -1)")).
		To(Equal([][]any{{int64(1448), int64(0), int64(0), int64(0)}}))
	c.servers[1].kill()
	g.Expect(c.insert(t.Context(), 0, 11)).To(Succeed())
	mode("ASYNCHRONOUS_COMMIT")
	g.Consistently(rows, "2s", "200ms").Should(BeEquivalentTo(11), "asynchronous without the flag")
	mustExec(t, c.admins[0], "DBCC TRACEON (1448, -1)")
	g.Expect(query(t, c.admins[0], "DBCC TRACESTATUS (1448, -1)")).
		To(Equal([][]any{{int64(1448), int64(1), int64(1), int64(0)}}))
	g.Eventually(rows).WithTimeout(deliverWithin).Should(BeEquivalentTo(12))
	mode("SYNCHRONOUS_COMMIT")
	g.Expect(c.insert(t.Context(), 0, 12)).To(Succeed())
	g.Consistently(rows, "2s", "200ms").Should(BeEquivalentTo(12), "synchronous with the flag")
	c.restart(1)
	g.Eventually(rows).WithTimeout(deliverWithin).Should(BeEquivalentTo(13))
	c.synchronized(0, 1)
	mustExec(t, c.admins[0], "DBCC TRACEOFF (1448, -1)")
}
