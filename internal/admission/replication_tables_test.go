// SPDX-License-Identifier: Apache-2.0

//go:build integration

package admission_test

// nightly has a publication be copied by a schedule.
const nightly = "  type: Snapshot\n  schedule: 0 3 * * *\n"

// replicationRefusals are checked like refusals.
var replicationRefusals = []refusal{
	{
		"a distributor in the group",
		with(group, "NAME", "content") + "---" + with(distributor, "NAME", "main", "SERVER", "b"),
		with(publication, "NAME", "articles"),
		[]string{
			"spec.distributor",
			"Distributor main runs on b, which hosts a replica of AvailabilityGroup content",
			"outside the group",
		},
	},
	{
		"a filter that brings a statement",
		with(group, "NAME", "content"),
		with(publication, "NAME", "articles", "{table: dbo.Article}",
			"{table: dbo.Article, filter: '1 = 1) DROP TABLE dbo.Article --'}"),
		[]string{"spec.articles[0].filter", "a parenthesis is closed that was not opened"},
	},
	{
		"a replica on the distributor",
		with(publication, "NAME", "articles") + "---" + with(distributor, "NAME", "main", "SERVER", "b"),
		with(group, "NAME", "content"),
		[]string{"spec.replicas", "Distributor main runs on b"},
	},
	{
		"a publisher that is not admitted",
		with(distributor, "NAME", "main", "SERVER", "d", "{server: d}", "{server: d, publishers: [{server: x}]}"),
		with(publication, "NAME", "articles"),
		[]string{"does not admit AvailabilityGroup content: add it to the Distributor's spec.publishers"},
	},
	{
		"two distributors for a publisher",
		with(publication, "NAME", "one"),
		with(publication, "NAME", "two", "distributor: main", "distributor: other"),
		[]string{"a publisher has one distributor"},
	},
	{
		"two distributors on a server",
		with(distributor, "NAME", "one", "SERVER", "d"),
		with(distributor, "NAME", "two", "SERVER", "d"),
		[]string{"d is Distributor one already"},
	},
	{
		"a distributor that moves",
		with(distributor, "NAME", "stays", "SERVER", "d"),
		with(distributor, "NAME", "stays", "SERVER", "e"),
		[]string{"spec.server: Invalid value", "spec.server is immutable"},
	},
	{
		"a server in place of its group",
		with(group, "NAME", "content"),
		with(publication, "NAME", "p", "{availabilityGroup: content}", "{server: a}"),
		[]string{"spec.publisher.server", "name publisher.availabilityGroup content"},
	},
	{
		"a subscriber in place of its group",
		with(group, "NAME", "content"),
		with(subscription, "NAME", "s", "{server: sub}", "{server: b}"),
		[]string{"spec.subscriber.server", "a group cannot receive"},
	},
	{
		"a group that takes what is published",
		with(publication, "NAME", "p", "{availabilityGroup: content}", "{server: a}"),
		with(group, "NAME", "content"),
		[]string{"spec.databases", "Publication p names database Content of SQLServer a"},
	},
	{
		"an article twice",
		"",
		with(publication, "NAME", "p") + "  - {table: DBO.article}\n",
		[]string{"spec.articles[1].table: Duplicate value"},
	},
	{
		"a procedure",
		"",
		with(publication, "NAME", "p", "{table: dbo.Article}", "{procedure: dbo.AddArticle}"),
		[]string{"spec.articles[0].procedure", "a procedure is not published yet: name a table"},
	},
	{
		"a view",
		"",
		with(publication, "NAME", "p", "{table: dbo.Article}", "{view: dbo.Newest}"),
		[]string{"spec.articles[0].view", "a view is not published yet: name a table"},
	},
	{
		"a function",
		"",
		with(publication, "NAME", "p", "{table: dbo.Article}", "{function: dbo.Slug}"),
		[]string{"spec.articles[0].function", "a function is not published yet: name a table"},
	},
	{
		"an article that is nothing",
		"",
		with(publication, "NAME", "p", "{table: dbo.Article}", "{filter: 'Id > 0'}"),
		[]string{"spec.articles[0]", "an article is exactly one of table, procedure, view and function"},
	},
	{
		"an article that is two",
		"",
		with(publication, "NAME", "p", "{table: dbo.Article}", "{table: dbo.Article, view: dbo.Newest}"),
		[]string{"spec.articles[0]", "an article is exactly one of table, procedure, view and function"},
	},
	{
		"an initialization as a word",
		"",
		with(publication, "NAME", "p") + "  initialization: Snapshot\n",
		[]string{"spec.initialization", "expected map"},
	},
	{
		"a snapshot type without a schedule",
		"",
		with(publication, "NAME", "p") + "  type: Snapshot\n",
		[]string{"spec.schedule", "type Snapshot takes a schedule"},
	},
	{
		"a schedule of a stream",
		"",
		with(publication, "NAME", "p") + "  schedule: 0 3 * * *\n",
		[]string{"spec.schedule", "type Snapshot takes a schedule"},
	},
	{
		"a time zone without a schedule",
		"",
		with(publication, "NAME", "p") + "  timeZone: Europe/Dublin\n",
		[]string{"spec.timeZone", "timeZone goes with schedule"},
	},
	{
		"a log reader of snapshots",
		"",
		with(publication, "NAME", "p") + nightly + "  logReaderProfile: fast\n",
		[]string{"spec.logReaderProfile", "leave logReaderProfile out"},
	},
	{
		"snapshots that keep copies",
		"",
		with(publication, "NAME", "p") + nightly + "  initialization: {method: ReplicationSupportOnly}\n",
		[]string{"spec.initialization", "initialization.method is Snapshot or CompressedSnapshot, or left out"},
	},
	{
		"a schedule in words",
		"",
		with(publication, "NAME", "p") + "  type: Snapshot\n  schedule: at night\n",
		[]string{"spec.schedule", "minute, hour, day of the month"},
	},
	{
		"a schedule nowhere",
		"",
		with(publication, "NAME", "p") + nightly + "  timeZone: Dublin\n",
		[]string{"spec.timeZone", "no time zone of the tz database"},
	},
	{
		"a latency of snapshots",
		with(publication, "NAME", "articles") + nightly,
		with(subscription, "NAME", "s") + "  objectives: {latency: 1m}\n",
		[]string{"spec.objectives.latency", "its schedule says how old a copy may be"},
	},
	{
		"snapshots for whom a latency is promised",
		with(subscription, "NAME", "s") + "  objectives: {latency: 1m}\n",
		with(publication, "NAME", "articles") + nightly,
		[]string{"spec.type", "Subscription s has objectives.latency"},
	},
	{
		"a copy that is kept by a subscriber of snapshots",
		with(publication, "NAME", "articles") + nightly,
		with(subscription, "NAME", "s") + "  initialization: {method: Compare}\n",
		[]string{"spec.initialization.method", "each of which replaces what is there"},
	},
	{
		"snapshots for who keeps a copy",
		with(subscription, "NAME", "s") + "  initialization: {method: ReplicationSupportOnly}\n",
		with(publication, "NAME", "articles") + nightly,
		[]string{"spec.type", "Subscription s has initialization.method ReplicationSupportOnly"},
	},
	{
		"an initialization by another method",
		"",
		with(publication, "NAME", "p") + "  initialization: {method: Detach}\n",
		[]string{"spec.initialization.method", `"Snapshot", "CompressedSnapshot", "Compare", "Manual", "Backup", "ReplicationSupportOnly"`},
	},
	{
		"files that are brought nowhere",
		"",
		with(publication, "NAME", "p") + "  initialization: {method: Manual}\n",
		[]string{"spec.initialization.manual", "method Manual takes manual"},
	},
	{
		"a folder of files that are fetched",
		"",
		with(subscription, "NAME", "s") + "  initialization: {manual: {folder: disk}}\n",
		[]string{"spec.initialization.manual", "no other method does"},
	},
	{
		"a folder of files beside a backup",
		"",
		with(subscription, "NAME", "s") + "  initialization: {method: Backup, manual: {folder: disk}}\n",
		[]string{"spec.initialization.manual", "no other method does"},
	},
	{
		"a folder elsewhere",
		"",
		with(subscription, "NAME", "s") + "  initialization: {method: Manual, manual: {folder: ../data}}\n",
		[]string{"spec.initialization.manual.folder", "folder is relative, such as articles or disks/articles"},
	},
	{
		"a folder from the root",
		"",
		with(subscription, "NAME", "s") + "  initialization: {method: Manual, manual: {folder: /disk}}\n",
		[]string{"spec.initialization.manual.folder", "folder is relative"},
	},
	{
		"no folder",
		"",
		with(subscription, "NAME", "s") + "  initialization: {method: Manual, manual: {folder: ''}}\n",
		[]string{"spec.initialization.manual.folder"},
	},
	{
		"files for an agent at the distributor",
		"",
		with(subscription, "NAME", "s") + "  type: Push\n  initialization: {method: Manual, manual: {folder: disk}}\n",
		[]string{"spec.initialization", "they go with type Pull, and with type Push and agentAt Subscriber"},
	},
	{
		"packed files for an agent at the distributor",
		"",
		with(subscription, "NAME", "s") + "  type: Push\n  initialization: {method: CompressedSnapshot}\n",
		[]string{"spec.initialization", "they go with type Pull, and with type Push and agentAt Subscriber"},
	},
	{
		"files for all, one of whose agents is at the distributor",
		with(subscription, "NAME", "s") + "  type: Push\n",
		with(publication, "NAME", "articles") + "  initialization: {method: Manual, manual: {folder: disk}}\n",
		[]string{"spec.initialization.method", "the agent of Subscription s runs at the distributor"},
	},
	{
		"a backup beside a schedule",
		with(publication, "NAME", "articles") + nightly,
		with(subscription, "NAME", "s") + "  initialization: {method: Backup}\n",
		[]string{"spec.initialization.method", "each of which replaces what is there"},
	},
	{
		"files of snapshots by a schedule",
		with(publication, "NAME", "articles") + nightly,
		with(subscription, "NAME", "s") + "  initialization: {method: Manual, manual: {folder: disk}}\n",
		[]string{"spec.initialization.method", "each of which replaces what is there"},
	},
	{
		"a subscription that is initialized by another method",
		"",
		with(subscription, "NAME", "s") + "  initialization: {method: Detach}\n",
		[]string{"spec.initialization.method", `"Snapshot", "CompressedSnapshot", "Compare", "Manual", "Backup", "ReplicationSupportOnly"`},
	},
	{
		"a subscriber that is server and group",
		"",
		with(subscription, "NAME", "s", "{server: sub}", "{server: sub, availabilityGroup: content}"),
		[]string{"spec.subscriber", "name exactly one of server and availabilityGroup"},
	},
	{
		"a subscriber as a word",
		"",
		with(subscription, "NAME", "s", "{server: sub}", "sub"),
		[]string{"spec.subscriber", "expected map"},
	},
	{
		"a table without schema",
		"",
		with(publication, "NAME", "p", "dbo.Article", "Article"),
		[]string{"spec.articles[0].table", "table is schema.name, such as dbo.Article"},
	},
	{
		"publisher and group at once",
		"",
		with(publication, "NAME", "p", "{availabilityGroup: content}", "{availabilityGroup: content, server: a}"),
		[]string{"name exactly one of server and availabilityGroup"},
	},
	{
		"a reinitialization that is none",
		"",
		with(subscription, "NAME", "s") + "  reinitialization: Always\n",
		[]string{"spec.reinitialization"},
	},
	{
		"a pull agent at the distributor",
		"",
		with(subscription, "NAME", "s") + "  agentAt: Distributor\n",
		[]string{"agentAt Distributor goes with type Push"},
	},
	{
		"a subscription twice",
		with(subscription, "NAME", "one"),
		with(subscription, "NAME", "two"),
		[]string{"spec.database", "Subscription one delivers the same publication there"},
	},
	{
		"a subscription to the published database",
		with(publication, "NAME", "articles", "{availabilityGroup: content}", "{server: sub}"),
		with(subscription, "NAME", "loop"),
		[]string{"is the published database itself: SQLServer sub publishes it"},
	},
	{
		"a profile of another agent",
		with(profile, "NAME", "reader", "AGENT", "LogReader"),
		with(subscription, "NAME", "s") + "  profile: reader\n",
		[]string{"spec.profile", "is a profile for the LogReader agent: one with agent Distribution is needed"},
	},
	{
		"another type of what began with a backup",
		with(subscription, "NAME", "s") + "  initialization: {method: Backup}\nstatus: {initialization: {method: Backup}}\n",
		with(subscription, "NAME", "s") + "  initialization: {method: Backup}\n  type: Push\n",
		[]string{"spec.type", "began with a backup", "allowed is Pull"},
	},
	{
		"another type in a topology of what began with a backup",
		with(subscription, "{name: NAME, ", "{name: s, labels: {geosql.dev/topology: t}, ", "publication: articles",
			"publication: pub", "{server: sub}", "{server: d}") +
			"  initialization: {method: Backup}\nstatus: {initialization: {method: Backup}}\n",
		with(topology, "NAME", "t") + "  subscriptions:\n  - {name: s, publication: pub, subscriber: {server: d}, " +
			"database: Content, type: Push, initialization: {method: Backup}}\n",
		[]string{"spec.subscriptions[0].type", "began with a backup", "allowed is Pull"},
	},
	{
		"an agent parameter out of range",
		"",
		with(profile, "NAME", "p", "AGENT", "Distribution, commitBatchSize: 0"),
		[]string{"spec.commitBatchSize", "greater than or equal to 1"},
	},
	{
		"a parameter of another agent",
		"",
		with(profile, "NAME", "p", "AGENT", "Snapshot, pollingInterval: 5"),
		[]string{"pollingInterval is for the Distribution and LogReader agents"},
	},
	{
		"a retention too short",
		"",
		with(distributor, "NAME", "x", "SERVER", "d", "{server: d}", "{server: d, retention: 10m}"),
		[]string{"retention must be between 1h and 8760h"},
	},
	{
		"a retention in words",
		"",
		with(distributor, "NAME", "x", "SERVER", "d", "{server: d}", "{server: d, retention: 3 days}"),
		[]string{"retention must be between 1h and 8760h; a duration is written like 90s, 12h or 1h30m"},
	},
}
