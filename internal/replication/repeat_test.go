// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// Every statement is carried out twice, as after an answer that was lost: the second time nothing fails, and nothing is
// there twice. One server is publisher, distributor and subscriber.
func TestStatementsMayBeRepeated(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	connector := e.Connector(t)
	sa, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	const password, host = "Str0ng-and-long.secret", "solo-0"
	for _, s := range []tsql.Statement{
		tsql.CreateLogin(tsql.Login{Name: credentials.RoleOperator.Login(),
			SID:      credentials.SID("web", credentials.RoleOperator.Login()),
			Password: e.Access.Passwords.Of(credentials.RoleOperator)}),
		tsql.AddServerRoleMember("sysadmin", credentials.RoleOperator.Login()),
		{Text: "CREATE DATABASE Content"}, {Text: "CREATE DATABASE Copy"},
		{Text: fmt.Sprintf("CREATE LOGIN agents WITH PASSWORD = N'%s'", password)},
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed())
	}
	engines := replication.Engines{Connector: connector, Namespace: "web"}
	twice := func(database string, statements ...tsql.Statement) {
		t.Helper()
		for _, s := range statements {
			step := replication.Execute{Server: "solo", Database: database, Statement: s}
			for _, time := range []string{"first", "second"} {
				g.Expect(engines.Execute(t.Context(), step)).To(Succeed(), "the %s time, %s", time, step.Describe())
			}
		}
	}
	count := func(text string) (n int) {
		t.Helper()
		sa, err := connector.Open(t.Context(), e.Target(credentials.RoleSA))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sa.Query(t.Context(), tsql.Statement{Text: text}, func(r mssql.Row) error { return r.Scan(&n) })).
			To(Succeed())
		return n
	}
	command := func(kind string) tsql.Command {
		return tsql.NewCommand().With("Publisher", host).With("PublisherDB", "Content").With("Note", kind)
	}
	reader := tsql.Job{Name: "reader", Subsystem: tsql.SubsystemLogReader, Database: "distribution", Command: command("r")}
	snapshot := tsql.Job{
		Name:      "snapshot",
		Subsystem: tsql.SubsystemSnapshot,
		Database:  "distribution",
		Command:   command("s"),
	}
	pushed := tsql.Job{
		Name:      "pushed",
		Subsystem: tsql.SubsystemDistribution,
		Database:  "distribution",
		Command:   command("d"),
	}
	push := tsql.Subscription{Publication: "articles", Subscriber: host, Database: "Copy"}
	pull := tsql.PullSubscription{Publisher: host, PublisherDatabase: "Content", Publication: "pulled"}

	twice("master", tsql.AddDistributor(host, password), tsql.AddDistributionDatabase("distribution", 72, 48))
	twice("distribution", tsql.CreateUser("agents", "agents"), tsql.AddRoleMember("db_owner", "agents"))
	twice(
		"master",
		tsql.AddDistributionPublisher(
			tsql.DistributionPublisher{
				Publisher:        host,
				Database:         "distribution",
				Login:            "agents",
				Password:         password,
				WorkingDirectory: t.TempDir(),
			},
		),
		tsql.PublishDatabase("Content", true),
		tsql.AddLinkedServer("elsewhere-0"),
	)
	for _, j := range []tsql.Job{reader, snapshot, pushed} {
		twice("master", tsql.AddJob(j, false), tsql.AddJobStep(j), tsql.AddJobServer(j.Name))
	}
	twice(
		"Content",
		tsql.Statement{Text: "IF OBJECT_ID(N'dbo.Article') IS NULL CREATE TABLE dbo.Article (Id int NOT NULL PRIMARY KEY)"},
		tsql.AddLogReaderAgent("reader", "agents", password),
	)
	for _, publication := range []string{"articles", "pulled"} {
		twice("Content", tsql.AddPublication(publication, "mine"), tsql.GrantPublicationAccess(publication, "agents"),
			tsql.AddArticle(tsql.Article{Publication: publication, Name: "dbo.Article", Schema: "dbo", Table: "Article"}))
	}
	twice("Content", tsql.AddPublicationSnapshot("articles", "snapshot", "agents", password), tsql.AddSubscription(push),
		tsql.RefreshSubscriptions("articles"), tsql.AddPushSubscriptionAgent(push, "agents", password, "pushed"))
	twice("Copy", tsql.AddPullSubscription(pull))
	g.Expect(count("SELECT COUNT(*) FROM Content.dbo.syssubscriptions WHERE srvname = N'solo-0'")).To(Equal(1))
	g.Expect(count("SELECT COUNT(*) FROM Content.dbo.sysarticles")).To(Equal(2))
	g.Expect(count("SELECT COUNT(*) FROM Copy.dbo.MSreplication_subscriptions")).To(Equal(1))
	g.Expect(count("SELECT COUNT(*) FROM msdb.dbo.sysjobsteps WHERE subsystem IN (N'LogReader', N'Snapshot', " +
		"N'Distribution')")).
		To(Equal(3))

	// A publication that has moved within its distributor is known there under both publishers. The access list is each
	// one's own: that the former publisher's has the agents says nothing of the new one's.
	at := func(server v1alpha1.ServerName) replication.AtDistributor {
		t.Helper()
		found, err := engines.ReadAtDistributor(t.Context(), replication.System{Server: "solo", Database: "distribution"},
			replication.Party{Servers: []v1alpha1.ServerName{server}}, "Content", "articles")
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	g.Expect(at("solo").Access).To(ContainElement("agents"))
	g.Expect(engines.Execute(t.Context(), replication.Execute{Server: "solo", Database: "distribution",
		Statement: tsql.Statement{Text: `
INSERT INTO dbo.MSreplservers (srvid, srvname) SELECT MAX(srvid) + 1, N'elsewhere-0' FROM dbo.MSreplservers;
INSERT INTO dbo.MSpublications (publisher_id, publisher_db, publication, publication_type, thirdparty_flag,
	independent_agent,
	immediate_sync, allow_push, allow_pull, allow_anonymous, sync_method, allow_subscription_copy, allow_queued_tran,
	options,
	retention_period_unit, allow_initialize_from_backup)
SELECT srvid, N'Content', N'articles', 0, 0, 1, 1, 1, 1, 0, 3, 0, 0, 0, 0, 0 FROM dbo.MSreplservers
		WHERE srvname = N'elsewhere-0'`}})).
		To(Succeed())
	g.Expect(at("elsewhere")).
		To(And(HaveField("Known", true), HaveField("Original", "elsewhere-0"), HaveField("Access", BeEmpty())))
	g.Expect(engines.Execute(t.Context(),
		replication.Execute{Server: "solo", Database: "distribution", Statement: tsql.Statement{
			Text: "DELETE p FROM dbo.MSpublications AS p JOIN dbo.MSreplservers AS s ON s.srvid = p.publisher_id " +
				"WHERE s.srvname = N'elsewhere-0'"}})).
		To(Succeed())

	twice("Copy", tsql.DropPullSubscription(pull))
	twice(
		"Content",
		tsql.DropSubscription(push),
		tsql.DropArticle("articles", "dbo.Article"),
		tsql.DropPublication("articles"),
		tsql.DropPublication("pulled"),
	)
	twice("master", tsql.PublishDatabase("Content", false))
	for _, j := range []tsql.Job{reader, snapshot, pushed} {
		twice("master", tsql.DeleteJob(j.Name))
	}
	twice(
		"master",
		tsql.DropDistributionPublisher(host),
		tsql.DropDistributionDatabase("distribution"),
		tsql.DropDistributor(),
	)
	g.Expect(count("SELECT COUNT(*) FROM sys.databases WHERE name = N'distribution'")).To(Equal(0))

	// Other errors stay errors.
	g.Expect(engines.Execute(t.Context(),
		replication.Execute{Server: "solo", Database: "Content", Statement: tsql.AddSubscription(push)})).
		To(MatchError(ContainSubstring("solo-0")))
}
