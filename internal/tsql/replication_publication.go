// SPDX-License-Identifier: Apache-2.0

package tsql

import "fmt"

// Sources of the statements of this file: the pages of the procedures in
// docs/relational-databases/system-stored-procedures/; they run in the publication database at the publisher.

// PublishDatabase enables or disables a database for transactional publication; it runs in master.
func PublishDatabase(database string, on bool) Statement {
	reason := "publish database "
	if !on {
		reason = "stop publishing database "
	}
	return exec("sys.sp_replicationdboption").str("dbname", database).str("optname", "publish").flag("value", on).
		done(reason + database)
}

// UnpublishDatabaseAlone disables a database for transactional publication without its distributor, which is gone or
// knows nothing of it; it runs in master.
func UnpublishDatabaseAlone(database string) Statement {
	return exec("sys.sp_replicationdboption").str("dbname", database).str("optname", "publish").flag("value", false).
		num("ignore_distributor", 1).done("stop publishing database " + database + " without its distributor")
}

// AddLogReaderAgent attaches the log reader's job, which must exist at the distributor.
func AddLogReaderAgent(job, login, password string) Statement {
	return exec("sys.sp_addlogreader_agent").str("job_name", job).num("publisher_security_mode", 0).
		str("publisher_login", login).secret("publisher_password", password).
		done("attach the log reader's job " + job)
}

// AddPublication adds a transactional publication that keeps a snapshot ready for new subscribers. A concurrent one
// does not lock its tables while it is made; one thread of the Distribution Agent applies it, whatever its
// MaxBcpThreads (docs/relational-databases/replication/agents/replication-distribution-agent.md, MaxBcpThreads).
func AddPublication(name, description string) Statement {
	return exec("sys.sp_addpublication").str("publication", name).str("description", description).
		str("sync_method", "concurrent").str("repl_freq", "continuous").str("status", "active").
		flag("independent_agent", true).flag("immediate_sync", true).flag("allow_push", true).flag("allow_pull", true).
		flag("allow_anonymous", false).flag("snapshot_in_defaultfolder", true).num("replicate_ddl", 1).num("retention", 0).
		done("add publication " + name)
}

// DescribePublication changes a publication's description, by which its owner is known.
func DescribePublication(name, description string) Statement {
	return exec(
		"sys.sp_changepublication",
	).str("publication", name).
		str("property", "description").
		str("value", description).
		done("take over publication " + name)
}

// DropPublication drops a publication; tables stay.
func DropPublication(name string) Statement {
	return exec("sys.sp_droppublication").str("publication", name).done("drop publication " + name)
}

// RestartReplication lets the log reader go on in a database that was restored, behind what the distributor has of its
// log; no log reader may be connected (18752). Source: docs/relational-databases/replication/administration/
// strategies-for-backing-up-and-restoring-snapshot-and-transactional-replication.md.
func RestartReplication() Statement {
	return exec("sys.sp_replrestart").done("let the log be read from where it is now")
}

// PassOverLog marks all that is in the log of the connection's database as distributed: transactions that are no longer
// valid neither come nor keep the log. The session lets go of the log again; no log reader may be connected (18752).
// Sources: docs/relational-databases/system-stored-procedures/sp-repldone-transact-sql.md, sp-replflush-transact-sql.md.
func PassOverLog() Statement {
	c := exec("sys.sp_repldone").raw("xactid", "NULL").raw("xact_seqno", "NULL").num("numtrans", 0).num("time", 0).
		num("reset", 1)
	c.b.sql("; EXEC sys.sp_replflush")
	return c.done("pass over what was not distributed, which the distributor has lost")
}

// NoteInDatabase adds an extended property, of at most 128 and 3750 characters, to the connection's database itself; it
// is in its backups. 15233 when there is one of the name.
// Source: docs/relational-databases/system-stored-procedures/sp-addextendedproperty-transact-sql.md.
func NoteInDatabase(name, value string) Statement {
	return exec("sys.sp_addextendedproperty").str("name", name).str("value", value).
		done("note " + name + " in the database")
}

// DatabaseNote selects the value of an extended property of the connection's database itself, no row when there is
// none. Source: docs/relational-databases/system-catalog-views/
// extended-properties-catalog-views-sys-extended-properties.md.
func DatabaseNote(name string) Statement {
	return new(builder).sql("SELECT COALESCE(CAST(value AS nvarchar(3750)), N'') FROM sys.extended_properties "+
		"WHERE class = 0 AND name = @name").arg("name", name).done("read the note " + name + " of the database")
}

// DropSubscriptions ends all subscriptions of a publication.
func DropSubscriptions(publication string) Statement {
	return exec("sys.sp_dropsubscription").str("publication", publication).str("article", "all").str("subscriber", "all").
		str("destination_db", "all").done("end the subscriptions to " + publication)
}

// DropLostSubscriptions ends all subscriptions of a publication at the publisher, of which a distributor that was made
// anew knows nothing.
func DropLostSubscriptions(publication string) Statement {
	return exec("sys.sp_dropsubscription").str("publication", publication).str("article", "all").str("subscriber", "all").
		str("destination_db", "all").num("ignore_distributor", 1).
		done("end the subscriptions to " + publication + ", which the distributor does not know")
}

// DropLostPublication drops a publication at the publisher, of which a distributor that was made anew knows nothing;
// the page of sp_droppublication names this case. Tables stay.
func DropLostPublication(name string) Statement {
	return exec("sys.sp_droppublication").str("publication", name).num("ignore_distributor", 1).
		done("drop publication " + name + ", which the distributor does not know")
}

// GrantPublicationAccess puts a login on the publication's access list, which agents of pull subscriptions need.
func GrantPublicationAccess(publication, login string) Statement {
	return exec("sys.sp_grant_publication_access").str("publication", publication).str("login", login).
		done("let " + login + " read publication " + publication)
}

// AddPublicationSnapshot attaches the snapshot agent's job, which must exist at the distributor; it runs when asked
// for.
func AddPublicationSnapshot(publication, job, login, password string) Statement {
	return exec("sys.sp_addpublication_snapshot").str("publication", publication).num("frequency_type", 1).
		str("snapshot_job_name", job).num("publisher_security_mode", 0).
		str("publisher_login", login).secret("publisher_password", password).
		done("attach the snapshot agent's job " + job)
}

// StartPublicationSnapshot starts the snapshot agent.
func StartPublicationSnapshot(publication string) Statement {
	return exec("sys.sp_startpublication_snapshot").str("publication", publication).
		done("make a snapshot of publication " + publication)
}

// SchemaOption bits of sp_addarticle.
const (
	// schemaOption is the default of transactional articles, 0x30F3, with unique keys (0x4000) and schemas (0x8000000).
	schemaOption int64 = 0x80070F3
	// schemaOptionProcedures makes the procedures by which changes are applied: a snapshot publication takes none (21143).
	schemaOptionProcedures int64 = 0x2
	// schemaOptionCompression replicates data compression.
	schemaOptionCompression int64 = 0x400000000
	// schemaOptionPublishable replicates identity columns as such (0x4), defaults (0x800), and CHECK constraints (0x400),
	// these as NOT FOR REPLICATION (0x10000): the agent brings what the publisher took. Not rowversion as such (0x8): a
	// copy would have values of its own, and never be equal. Not foreign keys (0x200): a table that one refers to cannot
	// be replaced. Not triggers (0x100): what they did at the publisher arrives as rows.
	schemaOptionPublishable int64 = 0x4 | 0x400 | 0x800 | 0x10000
)

// SchemaOption of an article as sysarticles.schema_option has it.
func SchemaOption(compressed, publishable bool) int64 {
	option := schemaOption
	if compressed {
		option |= schemaOptionCompression
	}
	if publishable {
		option |= schemaOptionPublishable
	}
	return option
}

// Article is a table in a publication.
type Article struct {
	// Publication and Name of the article.
	Publication, Name string
	// Schema and Table of the published table, which has the same name at subscribers.
	Schema, Table string
	// Compressed replicates data compression.
	Compressed bool
	// Publishable replicates what a copy needs to take over: see SchemaOption. The agent inserts into identity columns, so
	// these become NOT FOR REPLICATION, at the publisher too (@identityrangemanagementoption, manual).
	Publishable bool
	// Vertical says that not all columns are published: those are added by AddArticleColumn.
	Vertical bool
	// Scheduled says that the publication brings snapshots alone.
	Scheduled bool
}

// AddArticle publishes a table. pre_creation_cmd is drop: a new snapshot replaces the subscriber's copy.
func AddArticle(a Article) Statement {
	option := SchemaOption(a.Compressed, a.Publishable)
	if a.Scheduled {
		option &^= schemaOptionProcedures
	}
	c := exec("sys.sp_addarticle").str("publication", a.Publication).str("article", a.Name).
		str("source_owner", a.Schema).str("source_object", a.Table).
		str("destination_table", a.Table).str("destination_owner", a.Schema).
		str("type", "logbased").str("pre_creation_cmd", "drop").
		raw("schema_option", fmt.Sprintf("0x%016X", option)).
		flag("vertical_partition", a.Vertical).num("force_invalidate_snapshot", 1)
	if a.Publishable {
		c = c.str("identityrangemanagementoption", "manual")
	}
	return c.done("publish table " + a.Schema + "." + a.Table)
}

// ReplicatesCompression tells whether a schema_option has subscribers' tables compressed as the publisher's is. The
// other bits are the engine's: it leaves out what does not go with an article.
func ReplicatesCompression(option int64) bool { return option&schemaOptionCompression != 0 }

// ReplicatesRules tells whether a schema_option gives subscribers what a copy needs to take over. One bit says so: the
// engine leaves out those of which the table has nothing.
func ReplicatesRules(option int64) bool { return option&schemaOptionPublishable != 0 }

// SetArticleSchemaOption has subscribers' tables compressed as the publisher's is, or gives them what a copy needs to
// take over, and leaves the other properties of the article, whose schema_option is have, as they are; the snapshot is
// made again.
func SetArticleSchemaOption(publication, article string, have int64, compressed, publishable bool) Statement {
	return exec("sys.sp_changearticle").str("publication", publication).str("article", article).
		str("property", "schema_option").
		str("value", fmt.Sprintf("0x%016X", have|SchemaOption(compressed, publishable)&^schemaOption)).
		num("force_invalidate_snapshot", 1).num("force_reinit_subscription", 1).
		done("change which properties of " + article + " are replicated")
}

// ChangesArticle are the procedures that change an article, and with it the copies of its subscribers.
var ChangesArticle = []string{
	"sys.sp_articlecolumn",
	"sys.sp_articlefilter",
	"sys.sp_articleview",
	"sys.sp_changearticle",
	"sys.sp_droparticle",
}

// AddArticleColumn publishes a column.
func AddArticleColumn(publication, article, column string) Statement {
	return articleColumn(publication, article, column, "add").done("publish column " + column + " of " + article)
}

// DropArticleColumn publishes a column no longer.
func DropArticleColumn(publication, article, column string) Statement {
	return articleColumn(
		publication,
		article,
		column,
		"drop",
	).done("publish column " + column + " of " + article + " no longer")
}

func articleColumn(publication, article, column, operation string) *call {
	return exec("sys.sp_articlecolumn").str("publication", publication).str("article", article).str("column", column).
		str("operation", operation).num("force_invalidate_snapshot", 1).num("force_reinit_subscription", 1)
}

// SetArticleFilter makes the procedure that filters rows; clause is a WHERE clause without the word.
func SetArticleFilter(publication, article, filter, clause string) Statement {
	return exec("sys.sp_articlefilter").str("publication", publication).str("article", article).
		str("filter_name", filter).str("filter_clause", clause).
		num("force_invalidate_snapshot", 1).num("force_reinit_subscription", 1).
		done("filter the rows of " + article)
}

// SetArticleView makes the view that a snapshot of chosen columns or rows is read from. clause is empty without a
// filter.
func SetArticleView(publication, article, view, clause string) Statement {
	return exec("sys.sp_articleview").str("publication", publication).str("article", article).
		str("view_name", view).optional("filter_clause", clause).
		num("force_invalidate_snapshot", 1).num("force_reinit_subscription", 1).
		done("define what the snapshot of " + article + " has")
}

// DropArticleSubscriptions ends all subscriptions to one article, which must be before it is dropped.
func DropArticleSubscriptions(publication, article string) Statement {
	return exec(
		"sys.sp_dropsubscription",
	).str("publication", publication).
		str("article", article).
		str("subscriber", "all").
		str("destination_db", "all").
		done("end the subscriptions to " + article)
}

// DropArticle publishes a table no longer; it stays at publisher and subscribers.
func DropArticle(publication, article string) Statement {
	return exec(
		"sys.sp_droparticle",
	).str("publication", publication).
		str("article", article).
		num("force_invalidate_snapshot", 1).
		done("publish " + article + " no longer")
}

// RefreshesSubscriptions is the procedure that subscribes the existing subscribers to new articles.
const RefreshesSubscriptions = "sys.sp_refreshsubscriptions"

// RefreshSubscriptions subscribes the existing subscribers to articles that were added since. Older versions of its
// page speak of pull subscriptions only.
func RefreshSubscriptions(publication string) Statement {
	return exec(RefreshesSubscriptions).str("publication", publication).
		done("subscribe the subscribers of " + publication + " to its new articles")
}

// DataCompression is a table's DATA_COMPRESSION.
type DataCompression string

// The kinds of data compression.
const (
	DataCompressionNone DataCompression = "NONE"
	DataCompressionRow  DataCompression = "ROW"
	DataCompressionPage DataCompression = "PAGE"
)

// CompressTable rebuilds a table with another compression. Writers wait for all of it unless it is online, which not
// every edition can. Sources: docs/t-sql/statements/alter-table-transact-sql.md (REBUILD WITH (DATA_COMPRESSION,
// ONLINE)); docs/relational-databases/data-compression/enable-compression-on-a-table-or-index.md: offline unless ONLINE
// is specified.
func CompressTable(schema, table string, to DataCompression, online bool) Statement {
	with := "DATA_COMPRESSION = " + string(to)
	if online {
		with += ", ONLINE = ON"
	}
	return new(builder).sql("ALTER TABLE ", Qualified(schema, table), " REBUILD WITH (", with, ")").
		takesLong("ALTER TABLE", Qualified(schema, table)).
		done("compress table " + schema + "." + table + " by " + string(to))
}
