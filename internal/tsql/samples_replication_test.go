// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	command := tsql.NewCommand().With("Publisher", "tukpub-0").WithSecret("PublisherPassword", "secret").Flag("Continuous")
	logReader := tsql.Job{
		Name:        "geosql-log",
		Description: "It's ours",
		Publisher:   "tukpub-0",
		Subsystem:   tsql.SubsystemLogReader,
		Database:    "distribution",
		Continuous:  true,
		Command:     command,
	}
	snapshot, distribution := logReader, logReader
	snapshot.Subsystem, snapshot.Continuous, distribution.Subsystem = tsql.SubsystemSnapshot, false,
		tsql.SubsystemDistribution
	pull := tsql.Subscription{Publication: "articles", Subscriber: "dubsub-0", Database: "Content", Pull: true}
	push := tsql.Subscription{Publication: "articles", Subscriber: "dubsub-0", Database: "Content", DataIsThere: true}
	here := tsql.PullSubscription{Publisher: "tukpub-0", PublisherDatabase: "Content", Publication: "articles"}

	add("AddDistributor", tsql.AddDistributor("dist-0", "secret"))
	add("AddDistributionDatabase", tsql.AddDistributionDatabase("distribution", 72, 48))
	add("ChangeRetention", tsql.ChangeRetention("distribution", 24))
	add("ChangeHistoryRetention", tsql.ChangeHistoryRetention("distribution", 24))
	add("AddDistributionPublisher", tsql.AddDistributionPublisher(tsql.DistributionPublisher{
		Publisher: "tukpub-0", Database: "distribution", Login: "agents", Password: "secret",
		WorkingDirectory: "//dist-0/ReplData"}))
	add("SetPublisherWorkingDirectory", tsql.SetPublisherWorkingDirectory("tukpub-0", "//dist-0/ReplData"))
	add("SetPublisherLogin", tsql.SetPublisherLogin("tukpub-0", "agents"))
	add("SetPublisherPassword", tsql.SetPublisherPassword("tukpub-0", "secret"))
	add("ChangeDistributorPassword", tsql.ChangeDistributorPassword("secret"))
	add("DropDistributionPublisher", tsql.DropDistributionPublisher("tukpub-0"))
	add("DropDistributionDatabase", tsql.DropDistributionDatabase("distribution"))
	add("DropDistributor", tsql.DropDistributor())
	add("AddLinkedServer", tsql.AddLinkedServer("dubsub-0"))
	add(
		"RedirectPublisher",
		tsql.RedirectPublisher("tukpub-0", "Content", "content"),
		tsql.RedirectPublisher("tukpub-0", "Content", "content,15333"),
	)
	add("RedirectedPublisher", tsql.RedirectedPublisher("tukpub-0", "Content"))

	add("AddJob", tsql.AddJob(logReader, true), tsql.AddJob(snapshot, true), tsql.AddJob(distribution, false))
	add("AddJobStep", tsql.AddJobStep(logReader), tsql.AddJobStep(snapshot), tsql.AddJobStep(distribution))
	add("AddJobServer", tsql.AddJobServer("geosql-log"))
	add("AddJobSchedule", tsql.AddJobSchedule("geosql-log"))
	add("UpdateJobStep", tsql.UpdateJobStep("geosql-log", 2, command))
	add("EnableJob", tsql.EnableJob("geosql-log", true), tsql.EnableJob("geosql-log", false))
	add("DescribeJob", tsql.DescribeJob("geosql-log", "geosql.dev web/log reader of Content"))
	add("RenameJob", tsql.RenameJob("TUKPUB-0-Content-7", "geosql-log", "geosql.dev web/dublin"))
	add("StartJob", tsql.StartJob("geosql-log"))
	add("StopJob", tsql.StopJob("geosql-log"))
	add("DeleteJob", tsql.DeleteJob("geosql-log"))
	add("JobState", tsql.JobState("geosql-log"))
	add("JobExecution", tsql.JobExecution("geosql-log"))

	add("PublishDatabase", tsql.PublishDatabase("Content", true), tsql.PublishDatabase("Content", false))
	add("AddLogReaderAgent", tsql.AddLogReaderAgent("geosql-log", "agents", "secret"))
	add("AddSnapshotPublication", tsql.AddSnapshotPublication("prices", "geosql.dev web/prices"))
	add("AddPublication", tsql.AddPublication("articles", "geosql.dev web/articles"))
	add("DescribePublication", tsql.DescribePublication("articles", "geosql.dev web/articles"))
	add("DropPublication", tsql.DropPublication("articles"))
	add("UnpublishDatabaseAlone", tsql.UnpublishDatabaseAlone("Content"))
	add("RestartReplication", tsql.RestartReplication())
	add("PassOverLog", tsql.PassOverLog())
	add("NoteInDatabase", tsql.NoteInDatabase("geosql.dev PublisherMove 0123", "web/move"))
	add("DatabaseNote", tsql.DatabaseNote("geosql.dev PublisherMove 0123"))
	add("DropSubscriptions", tsql.DropSubscriptions("articles"))
	add("DropLostSubscriptions", tsql.DropLostSubscriptions("articles"))
	add("DropLostPublication", tsql.DropLostPublication("articles"))
	add("GrantPublicationAccess", tsql.GrantPublicationAccess("articles", "agents"))
	add("AddPublicationSnapshot", tsql.AddPublicationSnapshot("articles", "geosql-snapshot", "agents", "secret"))
	add("StartPublicationSnapshot", tsql.StartPublicationSnapshot("articles"))
	add(
		"AddArticle",
		tsql.AddArticle(tsql.Article{Publication: "articles", Name: "dbo.Article", Schema: "dbo", Table: "Article"}),
		tsql.AddArticle(tsql.Article{Publication: "prices", Name: "dbo.Price", Schema: "dbo", Table: "Price",
			Scheduled: true}),
		tsql.AddArticle(
			tsql.Article{
				Publication: "articles",
				Name:        "dbo.Article",
				Schema:      "dbo",
				Table:       "Article",
				Compressed:  true,
				Vertical:    true,
			},
		),
		tsql.AddArticle(
			tsql.Article{Publication: "articles", Name: "dbo.Article", Schema: "dbo", Table: "Article", Publishable: true},
		),
	)
	add("SetArticleSchemaOption", tsql.SetArticleSchemaOption("articles", "dbo.Article", 0x80070F3, true, false),
		tsql.SetArticleSchemaOption("articles", "dbo.Article", 0x80070F3, false, true))
	add("AddArticleColumn", tsql.AddArticleColumn("articles", "dbo.Article", "Title"))
	add("DropArticleColumn", tsql.DropArticleColumn("articles", "dbo.Article", "Title"))
	add("SetArticleFilter", tsql.SetArticleFilter("articles", "dbo.Article", "filter", "Language = N'en'"))
	add(
		"SetArticleView",
		tsql.SetArticleView("articles", "dbo.Article", "view", "Language = N'en'"),
		tsql.SetArticleView("articles", "dbo.Article", "view", ""),
	)
	add("DropArticleSubscriptions", tsql.DropArticleSubscriptions("articles", "dbo.Article"))
	add("DropArticle", tsql.DropArticle("articles", "dbo.Article"))
	add("RefreshSubscriptions", tsql.RefreshSubscriptions("articles"))
	add(
		"CompressTable",
		tsql.CompressTable("dbo", "Article", tsql.DataCompressionPage, true),
		tsql.CompressTable("dbo", "Article", tsql.DataCompressionNone, false),
	)
	add("EngineEdition", tsql.EngineEdition())

	fromBackup := pull
	fromBackup.Backup = "/var/opt/mssql-backup/ReplData/unc/dublin_backup/20261120100000/full.bak"
	add("AddSubscription", tsql.AddSubscription(pull), tsql.AddSubscription(push), tsql.AddSubscription(fromBackup))
	add("AllowBackups", tsql.AllowBackups("articles"))
	add("BackupsAllowed", tsql.BackupsAllowed("articles"))
	add("DatabaseOrigin", tsql.DatabaseOrigin())
	add("InactiveArticles", tsql.InactiveArticles("articles"))
	add("RowVersionArticles", tsql.RowVersionArticles("articles"))
	add("DropSubscription", tsql.DropSubscription(pull))
	add("DropLostSubscription", tsql.DropLostSubscription(pull))
	add("AddPullSubscription", tsql.AddPullSubscription(here))
	add(
		"AddPullSubscriptionAgent",
		tsql.AddPullSubscriptionAgent(here, "dist-0", "distribution", "agents", "secret", "geosql-distribution"),
	)
	add("DropPullSubscription", tsql.DropPullSubscription(here))
	add("CleanSubscription", tsql.CleanSubscription(here))
	add("AddPushSubscriptionAgent", tsql.AddPushSubscriptionAgent(push, "agents", "secret", "geosql-distribution"))
	add("AddSubscriptionToArticle", tsql.AddSubscriptionToArticle(push, "dbo.Article"),
		tsql.AddSubscriptionToArticle(pull, "dbo.Article"))
	add("AddSubscriber", tsql.AddSubscriber("dist-0", "agents", "secret"))
	add("PostTracerToken", tsql.PostTracerToken("articles"))
	add("LocalTime", tsql.LocalTime())
	add("TracerTokens", tsql.TracerTokens("tukpub-0", "Content", "articles", 7))
	add(
		"PendingCommands",
		tsql.PendingCommands("tukpub-0", "Content", pull),
		tsql.PendingCommands("tukpub-0", "Content", push),
	)
	add("TraceOn", tsql.TraceOn(tsql.TraceFlagLogReaderIgnoresAsynchronous))
	add("TraceOff", tsql.TraceOff(tsql.TraceFlagLogReaderIgnoresAsynchronous))
	add("TraceStatus", tsql.TraceStatus(tsql.TraceFlagLogReaderIgnoresAsynchronous))
	add("AddMaintenanceJob", tsql.AddMaintenanceJob(tsql.ExpiredSubscriptions))
	add("AddMaintenanceStep", tsql.AddMaintenanceStep(tsql.ExpiredSubscriptions),
		tsql.AddMaintenanceStep(tsql.DistributionCleanup("distribution")),
		tsql.AddMaintenanceStep(tsql.HistoryCleanup("distribution")))
	add("AddMaintenanceSchedule", tsql.AddMaintenanceSchedule(tsql.ExpiredSubscriptions),
		tsql.AddMaintenanceSchedule(tsql.DistributionCleanup("distribution")))
	add("DatabaseSize", tsql.DatabaseSize("distribution"))
	add("MaintenanceJobState", tsql.MaintenanceJobState(tsql.ExpiredSubscriptions))
	add("DropUser", tsql.DropUser("agents"))

	add("LargestReplicated", tsql.LargestReplicated())
	add("LiftLargestReplicated", tsql.LiftLargestReplicated())
	add("Reconfigure", tsql.Reconfigure())
	add("ReplicationLogin", tsql.ReplicationLogin("agents", "secret"))
	add("IsSysadmin", tsql.IsSysadmin())
	add("LinkedServers", tsql.LinkedServers())
	add("InstalledDistributor", tsql.InstalledDistributor())
	add("DistributionDatabases", tsql.DistributionDatabases())
	add("DistributionPublishers", tsql.DistributionPublishers())
	add("ReplicationDatabases", tsql.ReplicationDatabases())
	add("OwnerMembership", tsql.OwnerMembership("agents"))
	add("LocalRole", tsql.LocalRole("content"))
	add("PublicationState", tsql.PublicationState("articles"))
	add("Publications", tsql.Publications())
	add("Articles", tsql.Articles("articles"))
	add("ArticleColumns", tsql.ArticleColumns("articles"))
	add("ArticleSubscriptions", tsql.ArticleSubscriptions("articles"))
	add("ReinitializeSubscription", tsql.ReinitializeSubscription(pull), tsql.ReinitializeSubscription(push))
	add("Subscribers", tsql.Subscribers())
	add("ColumnsLeftOut", tsql.ColumnsLeftOut("articles"))
	add("ProductVersion", tsql.ProductVersion())
	add("AgentStarted", tsql.AgentStarted())
	add("Tables", tsql.Tables())
	add("TableSizes", tsql.TableSizes())
	add("PrimaryKeyColumns", tsql.PrimaryKeyColumns())
	add("OriginalPublishers", tsql.OriginalPublishers("Content"))
	add("TableRules", tsql.TableRules())
	add("PublicationAccess", tsql.PublicationAccess("tukpub-0", "Content", "articles"))
	add("LogReaderAgents", tsql.LogReaderAgents("Content"))
	add("SnapshotAgents", tsql.SnapshotAgents("Content", "articles"))
	add("DistributionAgents", tsql.DistributionAgents("Content", pull))
	add(
		"AgentLastError",
		tsql.AgentLastError(tsql.AgentLogReader, 7),
		tsql.AgentLastError(tsql.AgentSnapshot, 7),
		tsql.AgentLastError(tsql.AgentDistribution, 7),
	)
	add(
		"AgentHistory",
		tsql.AgentHistory(tsql.AgentLogReader, 7),
		tsql.AgentHistory(tsql.AgentSnapshot, 7),
		tsql.AgentHistory(tsql.AgentDistribution, 7),
	)
	add("AgentFailure", tsql.AgentFailure(tsql.AgentLogReader, 7), tsql.AgentFailure(tsql.AgentDistribution, 7))
	add("SnapshotFailing", tsql.SnapshotFailing(7))
	add("LastSnapshot", tsql.LastSnapshot(7))
	add("SubscriptionSnapshot", tsql.SubscriptionSnapshot(7))
	add("SubscriptionsHere", tsql.SubscriptionsHere())
	add("LogEnd", tsql.LogEnd())
	add("NewestReplicated", tsql.NewestReplicated("tukpub-0", "Content"))
	add("PendingSetUps", tsql.PendingSetUps("tukpub-0", "Content"))
	add("SetUpLogin", tsql.SetUpLogin("geosql_replication_main_setup", "a'b"))
	add("LogReadersAs", tsql.LogReadersAs("geosql_replication_main_setup"))
	add("ColumnTypes", tsql.ColumnTypes("dbo", "Article"))
	add("TableRows", tsql.TableRows("dbo", "Article"))
	add(
		"TableDigest",
		tsql.TableDigest("dbo", "Article", []tsql.TypedColumn{{Name: "Id", Type: "int"}, {Name: "Body", Type: "ntext"}}),
	)
	add("PullAgentHere", tsql.PullAgentHere(here))
}
