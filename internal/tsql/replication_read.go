// SPDX-License-Identifier: Apache-2.0

package tsql

// Sources of the statements of this file: docs/relational-databases/system-tables/ (syspublications, sysarticles,
// sysarticlecolumns, syssubscriptions, MS*),
// docs/relational-databases/system-catalog-views/sys-servers-transact-sql.md, sys-databases-transact-sql.md,
// sys-sql-logins-transact-sql.md.

// ReplicationLogin selects the SID of a SQL login and whether the password is its own (PWDCOMPARE), in a row if it
// exists. Source: docs/t-sql/functions/pwdcompare-transact-sql.md; it takes CONTROL SERVER to see the hash.
func ReplicationLogin(login, password string) Statement {
	return new(
		builder,
	).sql("SELECT sid, COALESCE(PWDCOMPARE(@password, password_hash), 0) FROM sys.sql_logins WHERE name = @login").
		arg("login", login).
		secretArg("password", password).
		done("read login " + login)
}

// IsSysadmin selects whether the session's login is a sysadmin.
// Source: docs/t-sql/functions/is-srvrolemember-transact-sql.md.
func IsSysadmin() Statement {
	return text("SELECT COALESCE(IS_SRVROLEMEMBER(N'sysadmin'), 0)").Because("read what the operator may do")
}

// ProductVersion selects the build of the instance, such as 16.0.4135.4.
// Source: docs/t-sql/functions/serverproperty-transact-sql.md.
func ProductVersion() Statement {
	return text("SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))").Because("read the server's build")
}

// LinkedServers selects the names of every server that the instance knows beside itself.
func LinkedServers() Statement {
	return text("SELECT name FROM sys.servers WHERE server_id <> 0").Because("read the linked servers")
}

// InstalledDistributor selects installed, distribution server, distribution db installed, is distribution publisher and
// has remote distribution publisher.
// Source: docs/relational-databases/system-stored-procedures/sp-get-distributor-transact-sql.md.
func InstalledDistributor() Statement {
	return exec("sys.sp_get_distributor").done("read which distributor the server has")
}

// DistributionDatabases selects name, max_distretention and history_retention. The table is there once the instance is
// a distributor.
func DistributionDatabases() Statement {
	return text(`IF OBJECT_ID(N'msdb.dbo.MSdistributiondbs', N'U') IS NOT NULL
    SELECT name, max_distretention, history_retention FROM msdb.dbo.MSdistributiondbs`).Because("read the distribution databases")
}

// DistributionPublishers selects name, distribution database, working directory, security mode and login.
func DistributionPublishers() Statement {
	return text(`IF OBJECT_ID(N'msdb.dbo.MSdistpublishers', N'U') IS NOT NULL
    SELECT name, distribution_db, COALESCE(working_directory, N''), security_mode, COALESCE([login], N'') FROM msdb.dbo.MSdistpublishers`).
		Because("read the publishers")
}

// ReplicationDatabases selects name, state, is_published, is_read_only, recovery model, whether a full backup began the
// log chain, is_merge_published, whether it is another primary's copy, and the collation, of the user databases.
func ReplicationDatabases() Statement {
	return text(
		`SELECT d.name, d.state_desc, CAST(d.is_published AS int), CAST(d.is_read_only AS int), d.recovery_model_desc,
    CASE WHEN r.last_log_backup_lsn IS NULL THEN 0 ELSE 1 END, CAST(d.is_merge_published AS int),
    CASE WHEN EXISTS (SELECT 1 FROM sys.dm_hadr_database_replica_states AS h
        WHERE h.database_id = d.database_id AND h.is_local = 1 AND h.is_primary_replica = 0) THEN 1 ELSE 0 END,
    COALESCE(d.collation_name, N'')
FROM sys.databases AS d LEFT JOIN sys.database_recovery_status AS r ON r.database_id = d.database_id
WHERE d.database_id > 4`,
	).Because("read the databases")
}

// maxTextRepl is the option that bounds what one INSERT or UPDATE may write into a replicated column, in bytes, for the
// whole instance; -1 is no bound. Source:
// docs/database-engine/configure-windows/configure-the-max-text-repl-size-server-configuration-option.md.
const maxTextRepl = "max text repl size (B)"

// MaxTextRepl is 'max text repl size' unless somebody sets it.
const MaxTextRepl = 65536

// LargestReplicated selects 'max text repl size' as it is in use.
// Source: docs/relational-databases/system-catalog-views/sys-configurations-transact-sql.md.
func LargestReplicated() Statement {
	return text("SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = " + String(maxTextRepl)).
		Because("read how large a replicated value may be")
}

// TableRules selects schema, table, kind, name and value of what the tables of the connection's database have beside
// rows and columns: Identity, with the last value that it gave, empty before the first one; Default and RowVersion, by
// column; Check, ForeignKey and Trigger that are in force, by name. Sources:
// docs/relational-databases/system-catalog-views/ (sys.identity_columns, default_constraints, check_constraints,
// foreign_keys, triggers).
func TableRules() Statement {
	return text(`SELECT s.name, t.name, r.kind, r.name, r.value FROM (
    SELECT object_id, N'Identity' AS kind, name, COALESCE(CONVERT(nvarchar(40), last_value), N'') AS value
    FROM sys.identity_columns
    UNION ALL SELECT d.parent_object_id, N'Default', c.name, N'' FROM sys.default_constraints AS d
        JOIN sys.columns AS c ON c.object_id = d.parent_object_id AND c.column_id = d.parent_column_id
    UNION ALL SELECT parent_object_id, N'Check', name, N'' FROM sys.check_constraints WHERE is_disabled = 0
    UNION ALL SELECT parent_object_id, N'ForeignKey', name, N'' FROM sys.foreign_keys WHERE is_disabled = 0
    UNION ALL SELECT parent_id, N'Trigger', name, N'' FROM sys.triggers WHERE is_disabled = 0 AND parent_class = 1
    UNION ALL SELECT object_id, N'RowVersion', name, N'' FROM sys.columns WHERE system_type_id = 189
) AS r JOIN sys.tables AS t ON t.object_id = r.object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE t.is_ms_shipped = 0`).Because("read what the tables have beside rows")
}

// OwnerMembership selects a row for each user of the login in the connection's database, with 1 when the user is in
// db_owner. Source: docs/relational-databases/system-catalog-views/sys-database-role-members-transact-sql.md.
func OwnerMembership(login string) Statement {
	return new(builder).sql(`SELECT u.name, (SELECT COUNT(*) FROM sys.database_role_members AS m
    JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
    WHERE m.member_principal_id = u.principal_id AND r.name = N'db_owner')
FROM sys.database_principals AS u WHERE u.sid = SUSER_SID(@login)`).arg("login", login).
		done("read the user of " + login)
}

// LocalRole selects the role of the local replica of a group.
func LocalRole(group string) Statement {
	return new(builder).sql(`SELECT s.role_desc FROM sys.availability_groups AS g
JOIN sys.dm_hadr_availability_replica_states AS s ON s.group_id = g.group_id AND s.is_local = 1
WHERE g.name = @group`).arg("group", group).done("read the role in group " + group)
}

// PublicationState selects pubid, description, immediate_sync_ready and repl_freq (0 streamed, 1 snapshots alone) of a
// publication of the connection's database, which must be published.
// Source: docs/relational-databases/system-tables/syspublications-transact-sql.md.
func PublicationState(publication string) Statement {
	return new(
		builder,
	).sql(`SELECT pubid, COALESCE(description, N''), CAST(immediate_sync_ready AS int), CAST(repl_freq AS int)
FROM dbo.syspublications WHERE name = @publication`).
		arg("publication", publication).
		done("read publication " + publication)
}

// Publications selects the names of all publications of the connection's database, which must be published.
func Publications() Statement {
	return new(builder).sql(`SELECT name FROM dbo.syspublications`).done("read the names of publications")
}

// Articles selects name, schema and name of the table, schema_option, filter clause, whether a view limits the
// snapshot, number, and schema and name of the table at subscribers (empty when it has those of the publisher), of a
// publication's articles. Source: docs/relational-databases/system-tables/sysarticles-transact-sql.md.
func Articles(publication string) Statement {
	return new(
		builder,
	).sql(`SELECT a.name, COALESCE(OBJECT_SCHEMA_NAME(a.objid), N''), COALESCE(OBJECT_NAME(a.objid), N''), a.schema_option,
    COALESCE(CAST(a.filter_clause AS nvarchar(4000)), N''), CASE WHEN a.sync_objid <> a.objid THEN 1 ELSE 0 END,
    a.artid, COALESCE(a.dest_owner, N''), COALESCE(a.dest_table, N'')
FROM dbo.sysarticles AS a JOIN dbo.syspublications AS p ON p.pubid = a.pubid WHERE p.name = @publication`).
		arg("publication", publication).
		done("read the articles of " + publication)
}

// ArticleColumns selects article and column of a publication's articles.
func ArticleColumns(publication string) Statement {
	return new(builder).sql(`SELECT a.name, c.name
FROM dbo.sysarticlecolumns AS x JOIN dbo.sysarticles AS a ON a.artid = x.artid
JOIN dbo.syspublications AS p ON p.pubid = a.pubid
JOIN sys.columns AS c ON c.object_id = a.objid AND c.column_id = x.colid
WHERE p.name = @publication`).arg("publication", publication).done("read the published columns")
}

// Subscribers selects publication, subscriber and database of all subscriptions to the publications of the connection's
// database, which must be published.
func Subscribers() Statement {
	return text(`SELECT DISTINCT p.name, s.srvname, s.dest_db
FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid
    JOIN dbo.syspublications AS p ON p.pubid = a.pubid
WHERE s.srvname <> N''`).Because("read who subscribes to the database")
}

// ColumnsLeftOut selects article and column of the columns of a publication's tables that are not published.
func ColumnsLeftOut(publication string) Statement {
	return new(builder).sql(`SELECT a.name, c.name
FROM dbo.sysarticles AS a JOIN dbo.syspublications AS p ON p.pubid = a.pubid
    JOIN sys.columns AS c ON c.object_id = a.objid
WHERE p.name = @publication AND NOT EXISTS (SELECT 1 FROM dbo.sysarticlecolumns AS x WHERE x.artid = a.artid
    AND x.colid = c.column_id)`).
		arg("publication", publication).done("read the columns that are not published")
}

// ArticleSubscriptions selects article, subscriber, database, type (0 push, 1 pull), status (0 inactive, 1 subscribed,
// 2 active) and sync_type (1 automatic, 2 none: the subscriber had the data) of a publication's subscriptions. The
// virtual subscription of a publication with immediate_sync has no name.
func ArticleSubscriptions(publication string) Statement {
	return new(builder).sql(`SELECT a.name, s.srvname, s.dest_db, s.subscription_type, s.status, s.sync_type
FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid
JOIN dbo.syspublications AS p ON p.pubid = a.pubid
WHERE p.name = @publication AND s.srvname <> N''`).arg("publication", publication).
		done("read the subscriptions to " + publication)
}

// Tables selects schema, name, whether there is a primary key, and the data compression of the user tables of the
// connection's database.
func Tables() Statement {
	return text(`SELECT s.name, t.name,
    CASE WHEN EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.object_id = t.object_id
    AND i.is_primary_key = 1) THEN 1 ELSE 0 END,
    COALESCE((SELECT MIN(p.data_compression_desc) FROM sys.partitions AS p WHERE p.object_id = t.object_id
    AND p.index_id IN (0, 1)), N'NONE')
FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    WHERE t.is_ms_shipped = 0`).Because("read the tables")
}

// TableSizes selects schema, name, rows and bytes, those of its indexes included, of the user tables of the
// connection's database: what a copy of each costs to read. Source:
// docs/relational-databases/system-dynamic-management-views/sys-dm-db-partition-stats-transact-sql.md.
func TableSizes() Statement {
	return text(
		`SELECT s.name, t.name, SUM(CASE WHEN z.index_id IN (0, 1) THEN z.row_count ELSE 0 END), SUM(z.used_page_count) * 8192
FROM sys.dm_db_partition_stats AS z JOIN sys.tables AS t ON t.object_id = z.object_id
JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.is_ms_shipped = 0 GROUP BY s.name, t.name`,
	).Because("measure the tables")
}

// PrimaryKeyColumns selects schema, table and column of every primary key in the connection's database.
func PrimaryKeyColumns() Statement {
	return text(`SELECT s.name, t.name, c.name
FROM sys.indexes AS i JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
JOIN sys.tables AS t ON t.object_id = i.object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE i.is_primary_key = 1`).Because("read the primary keys")
}

// The servers of a distribution database's rows are in its own table MSreplservers, by ids that are not those of
// sys.servers: since 2016 SP2 CU3 and 2017 CU6, so that it may lie in a group, whose replicas know different servers.
// Replication has some names in capitals, whatever they were given as, and a database may have a collation that tells
// capitals apart: names of servers are compared in capitals.

// OriginalPublishers selects publication and the name of the server under which the distributor knows its publisher,
// for the publications of a database. It runs in the distribution database.
func OriginalPublishers(database string) Statement {
	return new(builder).sql(`SELECT p.publication, s.srvname FROM dbo.MSpublications AS p
JOIN dbo.MSreplservers AS s ON s.srvid = p.publisher_id WHERE p.publisher_db = @database`).arg("database", database).
		done("read who publishes " + database)
}

// PublicationAccess selects the logins on a publication's access list. It runs in the distribution database, which may
// know a publication of that name and database of several publishers: one that has moved is there under both.
func PublicationAccess(publisher, database, publication string) Statement {
	return new(builder).sql(`SELECT x.[login] FROM dbo.MSpublication_access AS x
JOIN dbo.MSpublications AS p ON p.publication_id = x.publication_id
    JOIN dbo.MSreplservers AS s ON s.srvid = p.publisher_id
WHERE UPPER(s.srvname) = UPPER(@publisher) AND p.publisher_db = @database AND p.publication = @publication`).
		arg("publisher", publisher).arg("database", database).arg("publication", publication).
		done("read who may read publication " + publication)
}

// agentJob joins an agent's job: job_id is binary(16) there and uniqueidentifier here.
const agentJob = "LEFT JOIN msdb.dbo.sysjobs AS j ON j.job_id = CAST(a.job_id AS uniqueidentifier)\n"

// attachedJob tells that an agent has a job: its id stays when the job is deleted, and no procedure attaches another
// one then.
const attachedJob = "CASE WHEN a.job_id IS NULL THEN 0 ELSE 1 END"

// LogReaderAgents selects id, name, publisher, job and whether one is attached (which may have been deleted since), of
// the log readers of a database. It runs in the distribution database.
func LogReaderAgents(database string) Statement {
	return new(
		builder,
	).sql(`SELECT a.id, a.name, s.srvname, COALESCE(j.name, N''), `+attachedJob+` FROM dbo.MSlogreader_agents AS a
`+agentJob+`JOIN dbo.MSreplservers AS s ON s.srvid = a.publisher_id WHERE a.publisher_db = @database`).
		arg("database", database).
		done("read the log readers of " + database)
}

// SnapshotAgents selects id, name, publisher, job and whether one is attached (which may have been deleted since), of
// the snapshot agents of a publication. It runs in the distribution database.
func SnapshotAgents(database, publication string) Statement {
	return new(
		builder,
	).sql(`SELECT a.id, a.name, s.srvname, COALESCE(j.name, N''), `+attachedJob+` FROM dbo.MSsnapshot_agents AS a
`+agentJob+`JOIN dbo.MSreplservers AS s ON s.srvid = a.publisher_id WHERE a.publisher_db = @database
    AND a.publication = @publication`).
		arg("database", database).
		arg("publication", publication).
		done("read the snapshot agent of " + publication)
}

// DistributionAgents selects id, name, publisher, job (when it is the distributor's) and whether one is attached of the
// distribution agents of a subscription. It runs in the distribution database.
func DistributionAgents(publisherDatabase string, s Subscription) Statement {
	return new(
		builder,
	).sql(`SELECT a.id, a.name, p.srvname, COALESCE(j.name, N''), `+attachedJob+` FROM dbo.MSdistribution_agents AS a
`+agentJob+`JOIN dbo.MSreplservers AS p ON p.srvid = a.publisher_id
    JOIN dbo.MSreplservers AS s ON s.srvid = a.subscriber_id
WHERE a.publisher_db = @database AND a.publication = @publication AND UPPER(s.srvname) = UPPER(@subscriber)
    AND a.subscriber_db = @destination`).
		arg("database", publisherDatabase).
		arg("publication", s.Publication).
		arg("subscriber", s.Subscriber).
		arg("destination", s.Database).
		done("read the distribution agent of " + s.Database + " on " + s.Subscriber)
}

// AgentKind is a kind of replication agent with a history of its own.
type AgentKind string

// The kinds of agents.
const (
	AgentLogReader    AgentKind = "logreader"
	AgentSnapshot     AgentKind = "snapshot"
	AgentDistribution AgentKind = "distribution"
)

// noStatistics leaves out the rows of a history that are a run's statistics in XML: agents write one every five
// minutes, and what they last said to people is in an older row.
const noStatistics = "comments NOT LIKE N'<stats%'"

// AgentHistory selects runstatus of an agent's newest history row, the newest comments that say something to people,
// and time of that row (in UTC), and how many seconds old it is by the distributor's clock. It runs in the
// distribution database.
func AgentHistory(kind AgentKind, id int) Statement {
	history := "dbo.MS" + string(kind) + "_history"
	return new(
		builder,
	).sql("SELECT TOP (1) h.runstatus, COALESCE((SELECT TOP (1) CAST(c.comments AS nvarchar(4000))\n    FROM ", history,
		" AS c WHERE c.agent_id = @id AND c.", noStatistics, " ORDER BY c.[time] DESC, c.[timestamp] DESC), N''), ",
		utc("h.[time]"), ", DATEDIFF(second, h.[time], GETDATE())\nFROM ", history,
		" AS h WHERE h.agent_id = @id ORDER BY h.[time] DESC, h.[timestamp] DESC").
		arg("id", id).
		done("read the history of the " + string(kind) + " agent")
}

// AgentLastError selects code and time (in UTC) of each row of the newest error that an agent's history tells of, and
// how many seconds old it is by the distributor's clock; no row without one. An agent notes what it attempted, which
// has no code, its own message, whose code begins with MSSQL_REPL, and the server's error as rows of one id. It runs
// in the distribution database. Source: docs/relational-databases/system-tables/msrepl-errors-transact-sql.md.
func AgentLastError(kind AgentKind, id int) Statement {
	return new(
		builder,
	).sql("SELECT COALESCE(e.error_code, N''), ", utc("e.[time]"), ", DATEDIFF(second, e.[time], GETDATE())\n"+
		"FROM dbo.MSrepl_errors AS e WHERE e.id = (SELECT MAX(r.id) FROM dbo.MS", string(kind), "_history AS h\n"+
		"    JOIN dbo.MSrepl_errors AS r ON r.id = h.error_id WHERE h.agent_id = @id) ORDER BY e.[time], e.error_code").
		arg("id", id).
		done("read the last error of the " + string(kind) + " agent")
}

// AgentFailure selects, of an agent that runs on, runstatus and comments of the newest run that failed or is tried
// again (runstatus 6, 5) and that it has gone on with nothing since, NULL when there is none; for how many seconds, by
// the distributor's clock, its history has rows of such runs; and how many seconds ago it last went on, NULL when
// never. An agent goes on when it idles, has delivered something, or has been at work for longer than it takes to
// connect: an attempt that has only begun says nothing. It runs in the distribution database. Source:
// docs/relational-databases/system-tables/msdistribution-history-transact-sql.md, mslogreader-history-transact-sql.md.
func AgentFailure(kind AgentKind, id int) Statement {
	return new(builder).sql(`SELECT TOP (1) h.runstatus, CAST(h.comments AS nvarchar(4000)),
    DATEDIFF(second, MIN(h.[time]) OVER (), GETDATE()), DATEDIFF(second, seen.[time], GETDATE())
FROM (SELECT MAX(g.[timestamp]) AS [timestamp], MAX(g.[time]) AS [time] FROM dbo.MS`, string(kind), `_history AS g
    WHERE g.agent_id = @id AND (g.runstatus = 4 OR g.runstatus = 3 AND (g.delivered_commands > 0
    OR g.duration >= 30))) AS seen
LEFT JOIN dbo.MS`, string(kind), `_history AS h ON h.agent_id = @id AND h.runstatus IN (5, 6)
    AND h.`+noStatistics+` AND h.[timestamp] > COALESCE(seen.[timestamp], 0x00)
ORDER BY h.[timestamp] DESC`).
		arg("id", id).done("read whether the " + string(kind) + " agent goes on")
}

// SnapshotFailing selects for how many seconds, by the distributor's clock, the snapshot agent's history has nothing
// but failed runs, NULL when the newest run that ended did not fail. It runs in the distribution database. Source:
// docs/relational-databases/system-tables/mssnapshot-history-transact-sql.md.
func SnapshotFailing(id int) Statement {
	return new(builder).sql(`SELECT DATEDIFF(second, MIN(h.[time]), GETDATE()) FROM dbo.MSsnapshot_history AS h
WHERE h.agent_id = @id AND h.runstatus = 6
    AND h.[time] > COALESCE((SELECT MAX(g.[time]) FROM dbo.MSsnapshot_history AS g WHERE g.agent_id = @id
    AND g.runstatus = 2), '19000101')`).
		arg("id", id).done("read how long the snapshot agent has failed")
}

// LastSnapshot selects when the snapshot agent last succeeded, as text in ISO 8601, how many seconds ago by the
// distributor's clock, and how many seconds ago that run was begun, or no row. It runs in the distribution database.
func LastSnapshot(id int) Statement {
	return new(builder).sql("SELECT TOP (1) CONVERT(nvarchar(33), [time], 126), DATEDIFF(second, [time], GETDATE()), "+
		"DATEDIFF(second, start_time, GETDATE()) FROM dbo.MSsnapshot_history WHERE agent_id = @id AND runstatus = 2 "+
		"ORDER BY [time] DESC, [timestamp] DESC").
		arg("id", id).
		done("read when the last snapshot was made")
}

// SubscriptionsHere selects publisher, database, publication, type, transaction_timestamp and time (of the last change,
// in UTC) of the subscriptions that the connection's database knows of. The table is there once it has
// one.
func SubscriptionsHere() Statement {
	return text(`IF OBJECT_ID(N'dbo.MSreplication_subscriptions', N'U') IS NOT NULL
    SELECT publisher, publisher_db, publication, subscription_type, transaction_timestamp, ` + utc("[time]") + ` FROM dbo.MSreplication_subscriptions`).
		Because("read the subscriptions of the database")
}

// PullAgentHere selects a row for a pull subscription whose properties, the distributor among them, are known to the
// connection's database.
func PullAgentHere(s PullSubscription) Statement {
	return new(builder).sql(`IF OBJECT_ID(N'dbo.MSsubscription_properties', N'U') IS NOT NULL
    SELECT COALESCE(distributor, N'') FROM dbo.MSsubscription_properties WHERE UPPER(publisher) = UPPER(@publisher) AND publisher_db = @database AND publication = @publication`).
		arg("publisher", s.Publisher).arg("database", s.PublisherDatabase).arg("publication", s.Publication).
		done("read the properties of the pull subscription")
}

// LogEnd selects the number of the last record in the log of the connection's database, as "vlf:block:slot" in
// hexadecimal digits, and its recovery fork, which is a new one after RESTORE. Sources:
// docs/relational-databases/system-dynamic-management-views/sys-dm-db-log-stats-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-database-recovery-status-transact-sql.md.
func LogEnd() Statement {
	return text(`SELECT COALESCE(l.log_end_lsn, N''),
    COALESCE((SELECT CAST(r.recovery_fork_guid AS nvarchar(36)) FROM sys.database_recovery_status AS r
    WHERE r.database_id = DB_ID()), N'')
FROM sys.dm_db_log_stats(DB_ID()) AS l`).Because("read where the log ends")
}

// NewestReplicated selects xact_seqno and entry_time (in UTC) of the newest transaction of a published database that
// the log reader has brought, or no row. Those of snapshots are longer than the log's ten bytes. It runs in the
// distribution database. Source: docs/relational-databases/system-tables/msrepl-transactions-transact-sql.md.
func NewestReplicated(publisher, database string) Statement {
	return new(builder).sql(`SELECT TOP (1) t.xact_seqno, `, utc("t.entry_time"), ` FROM dbo.MSrepl_transactions AS t
JOIN dbo.MSpublisher_databases AS d ON d.id = t.publisher_database_id
    JOIN dbo.MSreplservers AS s ON s.srvid = d.publisher_id
WHERE UPPER(s.srvname) = UPPER(@publisher) AND d.publisher_db = @database AND DATALENGTH(t.xact_seqno) = 10 ORDER BY t.xact_seqno DESC`).
		arg("publisher", publisher).arg("database", database).done("read the newest transaction of " + database)
}
