// SPDX-License-Identifier: Apache-2.0

// Package tables has the tables and views that replication keeps in databases: at the distributor, in publication and
// in subscription databases.
package tables

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/syntax"
)

// Table is a replication system table; its columns are those of docs/relational-databases/system-tables/.
type Table struct{ name, columns string }

// Distributor lie in msdb of a distributor. The last one tells that it is one: it is made last and dropped first.
var Distributor = []Table{
	// sysreplicationalerts has no rows: no alerts are raised.
	{
		"sysreplicationalerts",
		`alert_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, status int NOT NULL, agent_type int NULL, agent_id int NULL, error_id int NULL, alert_error_code int NULL,
		time datetime NOT NULL, publisher sysname NULL, publisher_db sysname NULL, publication sysname NULL, publication_type int NULL, subscriber sysname NULL, subscriber_db sysname NULL,
		article sysname NULL, destination_object sysname NULL, source_object sysname NULL, alert_error_text nvarchar(max) NULL`,
	},
	{
		"MSdistributiondbs",
		`name sysname NOT NULL PRIMARY KEY, min_distretention int NOT NULL, max_distretention int NOT NULL, history_retention int NOT NULL`,
	},
	{
		"MSdistpublishers",
		`name sysname NOT NULL PRIMARY KEY, distribution_db sysname NOT NULL, working_directory nvarchar(255) NOT NULL,
		security_mode int NOT NULL, login sysname NOT NULL, password nvarchar(524) NULL, active bit NOT NULL, trusted bit NOT NULL,
		third_party bit NOT NULL, publisher_type sysname NOT NULL, storage_connection_string nvarchar(779) NULL`,
	},
	{"MSdistributor", `property sysname NOT NULL PRIMARY KEY, value nvarchar(3000) NULL`},
}

// Profiles lie in msdb of every server.
var Profiles = []Table{
	{
		"MSagent_profiles",
		`profile_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, profile_name sysname NOT NULL, agent_type int NOT NULL, type int NOT NULL,
		description nvarchar(3000) NULL, def_profile bit NOT NULL`,
	},
	{"MSagent_parameters", `profile_id int NOT NULL, parameter_name sysname NOT NULL, value nvarchar(255) NOT NULL,
		CONSTRAINT PK_MSagent_parameters PRIMARY KEY (profile_id, parameter_name)`},
}

// Distribution lie in a distribution database.
var Distribution = []Table{
	// The servers of the other tables' publisher_id and subscriber_id.
	{"MSreplservers", `srvid smallint NOT NULL PRIMARY KEY, srvname sysname NOT NULL,
		CONSTRAINT UQ_MSreplservers UNIQUE (srvname)`},
	{
		"MSpublisher_databases",
		`publisher_id smallint NOT NULL, publisher_db sysname NOT NULL, id int IDENTITY(1,1) NOT NULL PRIMARY KEY,
		publisher_engine_edition int NULL, CONSTRAINT UQ_MSpublisher_databases UNIQUE (publisher_id, publisher_db)`,
	},
	{"MSpublications", `publisher_id smallint NOT NULL, publisher_db sysname NOT NULL, publication sysname NOT NULL,
		publication_id int IDENTITY(1,1) NOT NULL PRIMARY KEY, publication_type int NOT NULL, thirdparty_flag bit NOT NULL,
		independent_agent bit NOT NULL, immediate_sync bit NOT NULL, allow_push bit NOT NULL, allow_pull bit NOT NULL,
		allow_anonymous bit NOT NULL, description nvarchar(255) NULL, vendor_name nvarchar(100) NULL, retention int NULL,
		sync_method int NOT NULL, allow_subscription_copy bit NOT NULL, thirdparty_options int NULL, allow_queued_tran bit NOT NULL,
		options int NOT NULL, retention_period_unit tinyint NOT NULL, allow_initialize_from_backup bit NOT NULL,
		CONSTRAINT UQ_MSpublications UNIQUE (publisher_id, publisher_db, publication)`},
	{
		"MSarticles",
		`publisher_id smallint NOT NULL, publisher_db sysname NOT NULL, publication_id int NOT NULL, article sysname NOT NULL,
		article_id int NOT NULL, destination_object sysname NULL, source_owner sysname NULL, source_object sysname NULL,
		description nvarchar(255) NULL, destination_owner sysname NULL,
		CONSTRAINT PK_MSarticles PRIMARY KEY (publisher_id, publisher_db, article_id)`,
	},
	{
		"MSsubscriptions",
		`publisher_database_id int NOT NULL, publisher_id smallint NOT NULL, publisher_db sysname NOT NULL, publication_id int NOT NULL,
		article_id int NOT NULL, subscriber_id smallint NOT NULL, subscriber_db sysname NOT NULL, subscription_type int NOT NULL,
		sync_type tinyint NOT NULL, status tinyint NOT NULL, subscription_seqno varbinary(16) NOT NULL, snapshot_seqno_flag bit NOT NULL,
		independent_agent bit NOT NULL, subscription_time datetime NOT NULL, loopback_detection bit NOT NULL, agent_id int NOT NULL,
		update_mode tinyint NOT NULL, publisher_seqno varbinary(16) NOT NULL, ss_cplt_seqno varbinary(16) NOT NULL, nosync_type tinyint NOT NULL,
		CONSTRAINT PK_MSsubscriptions PRIMARY KEY (agent_id, article_id)`,
	},
	{
		"MSlogreader_agents",
		`id int IDENTITY(1,1) NOT NULL PRIMARY KEY, name nvarchar(100) NOT NULL, publisher_id smallint NOT NULL, publisher_db sysname NOT NULL,
		publication sysname NOT NULL, local_job bit NOT NULL, job_id binary(16) NULL, profile_id int NOT NULL, publisher_security_mode smallint NULL,
		publisher_login sysname NULL, publisher_password nvarchar(524) NULL, job_step_uid uniqueidentifier NULL, job_login sysname NULL,
		job_password nvarchar(524) NULL`,
	},
	{
		"MSsnapshot_agents",
		`id int IDENTITY(1,1) NOT NULL PRIMARY KEY, name nvarchar(100) NOT NULL, publisher_id smallint NOT NULL, publisher_db sysname NOT NULL,
		publication sysname NOT NULL, publication_type int NOT NULL, local_job bit NOT NULL, job_id binary(16) NULL, profile_id int NOT NULL,
		dynamic_filter_login sysname NULL, dynamic_filter_hostname sysname NULL, publisher_security_mode smallint NULL,
		publisher_login sysname NULL, publisher_password nvarchar(524) NULL, job_step_uid uniqueidentifier NULL, job_login sysname NULL,
		job_password nvarchar(524) NULL`,
	},
	{
		"MSdistribution_agents",
		`id int IDENTITY(1,1) NOT NULL PRIMARY KEY, name nvarchar(100) NOT NULL, publisher_database_id int NOT NULL, publisher_id smallint NOT NULL,
		publisher_db sysname NOT NULL, publication sysname NOT NULL, subscriber_id smallint NULL, subscriber_db sysname NULL,
		subscription_type int NULL, local_job bit NOT NULL, job_id binary(16) NULL, subscription_guid binary(16) NOT NULL, profile_id int NOT NULL,
		anonymous_subid uniqueidentifier NULL, subscriber_name sysname NULL, virtual_agent_id int NULL, anonymous_agent_id int NULL,
		creation_date datetime NOT NULL, queue_id sysname NULL, queue_status int NOT NULL, offload_enabled bit NOT NULL, offload_server sysname NULL,
		dts_package_name sysname NULL, dts_package_password nvarchar(524) NULL, dts_package_location int NOT NULL, sid varbinary(85) NOT NULL,
		queue_server sysname NULL, subscriber_security_mode smallint NULL, subscriber_login sysname NULL, subscriber_password nvarchar(524) NULL,
		reset_partial_snapshot_progress bit NOT NULL, job_step_uid uniqueidentifier NULL, subscriptionstreams tinyint NULL,
		memory_optimized bit NULL, job_login sysname NULL, job_password nvarchar(524) NULL`,
	},
	// What the Log Reader Agent has still to set up for subscribers that have the rows already, a row for each value.
	{
		"MSnosyncsubsetup",
		`publisher_database_id int NOT NULL, publication_id int NOT NULL, artid int NOT NULL, next_valid_lsn binary(10) NOT NULL,
		parameterName sysname NOT NULL, parameterValue nvarchar(max) NOT NULL,
		CONSTRAINT PK_MSnosyncsubsetup PRIMARY KEY (publisher_database_id, publication_id, artid, next_valid_lsn, parameterName)`,
	},
	{
		"MSrepl_transactions",
		`publisher_database_id int NOT NULL, xact_id varbinary(16) NULL, xact_seqno varbinary(16) NOT NULL, entry_time datetime NOT NULL,
		CONSTRAINT ucMSrepl_transactions PRIMARY KEY (publisher_database_id, xact_seqno)`,
	},
	{
		"MSrepl_commands",
		`publisher_database_id int NOT NULL, xact_seqno varbinary(16) NOT NULL, type int NOT NULL, article_id int NOT NULL,
		originator_id int NOT NULL, command_id int NOT NULL, partial_command bit NOT NULL, command varbinary(1024) NULL, hashkey int NULL,
		originator_lsn varbinary(16) NULL, CONSTRAINT ucMSrepl_commands PRIMARY KEY (publisher_database_id, xact_seqno, command_id)`,
	},
	{
		"MSrepl_originators",
		`id int IDENTITY(1,1) NOT NULL PRIMARY KEY, publisher_database_id int NOT NULL, srvname sysname NOT NULL, dbname sysname NOT NULL,
		publication_id int NULL, dbversion int NULL`,
	},
	{
		"MSrepl_errors",
		`id int NOT NULL, time datetime NOT NULL, error_type_id int NULL, source_type_id int NULL, source_name nvarchar(100) NULL,
		error_code sysname NULL, error_text nvarchar(max) NULL, xact_seqno varbinary(16) NULL, command_id int NULL, session_id int NULL`,
	},
	{
		"MSlogreader_history",
		`agent_id int NOT NULL, runstatus int NOT NULL, start_time datetime NOT NULL, time datetime NOT NULL, duration int NOT NULL,
		comments nvarchar(4000) NOT NULL, xact_seqno varbinary(16) NULL, delivery_time int NOT NULL, delivered_transactions int NOT NULL,
		delivered_commands int NOT NULL, average_commands int NOT NULL, delivery_rate float NOT NULL, delivery_latency int NOT NULL,
		error_id int NOT NULL, timestamp rowversion NOT NULL, updateable_row bit NOT NULL`,
	},
	{
		"MSdistribution_history",
		`agent_id int NOT NULL, runstatus int NOT NULL, start_time datetime NOT NULL, time datetime NOT NULL, duration int NOT NULL,
		comments nvarchar(4000) NOT NULL, xact_seqno varbinary(16) NULL, current_delivery_rate float NOT NULL, current_delivery_latency int NOT NULL,
		delivered_transactions int NOT NULL, delivered_commands int NOT NULL, average_commands int NOT NULL, delivery_rate float NOT NULL,
		delivery_latency int NOT NULL, total_delivered_commands bigint NOT NULL, error_id int NOT NULL, updateable_row bit NOT NULL,
		timestamp rowversion NOT NULL`,
	},
	{
		"MSsnapshot_history",
		`agent_id int NOT NULL, runstatus int NOT NULL, start_time datetime NOT NULL, time datetime NOT NULL, duration int NOT NULL,
		comments nvarchar(1000) NOT NULL, delivered_transactions int NOT NULL, delivered_commands int NOT NULL, delivery_rate float NOT NULL,
		error_id int NOT NULL, timestamp rowversion NOT NULL`,
	},
	{
		"MStracer_tokens",
		`tracer_id int IDENTITY(-2147483648,1) NOT NULL PRIMARY KEY, publication_id int NOT NULL, publisher_commit datetime NOT NULL, distributor_commit datetime NULL`,
	},
	{"MStracer_history", `parent_tracer_id int NOT NULL, agent_id int NOT NULL, subscriber_commit datetime NULL,
		CONSTRAINT PK_MStracer_history PRIMARY KEY (parent_tracer_id, agent_id)`},
	{
		"MSsubscriber_info",
		`publisher sysname NOT NULL, subscriber sysname NOT NULL, type tinyint NOT NULL, login sysname NULL, password nvarchar(524) NULL,
		description nvarchar(255) NULL, security_mode int NOT NULL, CONSTRAINT PK_MSsubscriber_info PRIMARY KEY (publisher, subscriber)`,
	},
	{
		"MSpublication_access",
		`publication_id int NOT NULL, login sysname NOT NULL, CONSTRAINT PK_MSpublication_access PRIMARY KEY (publication_id, login)`,
	},
	// The next four have no rows here: nothing waits for backups of the distribution database, snapshots are not processed
	// concurrently, nothing is peer-to-peer, and Replication Monitor's procedures read the history itself.
	{
		"MSrepl_backup_lsns",
		`publisher_database_id int NOT NULL PRIMARY KEY, valid_xact_id varbinary(16) NULL, valid_xact_seqno varbinary(16) NULL, next_xact_id varbinary(16) NULL,
		nextx_xact_seqno varbinary(16) NULL`,
	},
	{
		"MSsync_states",
		`publisher_id smallint NOT NULL, publisher_db sysname NOT NULL, publication_id int NOT NULL PRIMARY KEY`,
	},
	{
		"MScached_peer_lsns",
		`agent_id int NOT NULL, originator sysname NOT NULL, originator_db sysname NOT NULL, originator_publication_id int NOT NULL, originator_db_version int NOT NULL,
		originator_lsn varbinary(16) NULL`,
	},
	{
		"MSreplication_monitordata",
		`lastrefresh datetime NULL, computetime int NULL, publication_id int NULL, publisher sysname NULL, publisher_srvid int NULL, publisher_db sysname NULL,
		publication sysname NULL, publication_type int NULL, agent_type int NULL, agent_id int NULL, agent_name sysname NULL, job_id uniqueidentifier NULL, status int NULL,
		isagentrunningnow bit NULL, warning int NULL, last_distsync datetime NULL, agentstoptime datetime NULL, distdb sysname NULL, retention int NULL, time_stamp datetime NULL,
		worst_latency int NULL, best_latency int NULL, avg_latency int NULL, cur_latency int NULL, worst_runspeedPerf int NULL, best_runspeedPerf int NULL,
		average_runspeedPerf int NULL, mergePerformance int NULL, mergelatestsessionrunduration int NULL, mergelatestsessionrunspeed float NULL,
		mergelatestsessionconnectiontype int NULL, retention_period_unit tinyint NULL`,
	},
	// MSrepl_cleaned is this program's own: the newest transaction of each publication database that was cleaned up.
	{"MSrepl_cleaned", `publisher_database_id int NOT NULL PRIMARY KEY, xact_seqno varbinary(16) NOT NULL`},
	{
		"MSpublicationthresholds",
		`publication_id int NOT NULL, metric_id int NOT NULL, value int NULL, shouldalert bit NOT NULL, isenabled bit NOT NULL,
		CONSTRAINT PK_MSpublicationthresholds PRIMARY KEY (publication_id, metric_id)`,
	},
	{
		"MSredirected_publishers",
		`original_publisher sysname NOT NULL, publisher_db sysname NOT NULL, redirected_publisher sysname NOT NULL,
		CONSTRAINT PK_MSredirected_publishers PRIMARY KEY (original_publisher, publisher_db)`,
	},
}

// view is a view of dbo over the tables of its database.
type view struct{ name, query string }

// distributionViews lie in a distribution database.
var distributionViews = []view{
	{"MSsysservers_replservers", `SELECT srvid AS msrs_srvid, srvname AS msrs_srvname FROM dbo.MSreplservers`},
	{"MSdistribution_status", `SELECT m.article_id, m.agent_id,
		CAST(SUM(CASE WHEN c.xact_seqno > ISNULL(h.delivered, 0x00) THEN 1 ELSE 0 END) AS int) AS UndelivCmdsInDistDB,
		CAST(SUM(CASE WHEN c.xact_seqno > ISNULL(h.delivered, 0x00) THEN 0 ELSE 1 END) AS int) AS DelivCmdsInDistDB
		FROM dbo.MSsubscriptions AS m JOIN dbo.MSrepl_commands AS c ON c.publisher_database_id = m.publisher_database_id AND c.article_id = m.article_id
		LEFT JOIN (SELECT agent_id, MAX(xact_seqno) AS delivered FROM dbo.MSdistribution_history GROUP BY agent_id) AS h ON h.agent_id = m.agent_id
		WHERE m.status = 2 AND c.partial_command = 0 AND c.xact_seqno >= m.subscription_seqno GROUP BY m.article_id, m.agent_id`},
}

// MakeDistribution makes the tables and views that a distribution database lacks.
func MakeDistribution(ctx context.Context, s *engine.Session, database string) error {
	if err := Make(ctx, s, database, Distribution); err != nil {
		return err
	}
	return makeViews(ctx, s, database, distributionViews)
}

// makeViews makes the views that a database lacks and marks them as SQL Server's own.
func makeViews(ctx context.Context, s *engine.Session, database string, views []view) error {
	for _, v := range views {
		there, err := Exists(ctx, s, syntax.QuoteName(database)+".dbo."+v.name)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := In(ctx, s, database,
			"CREATE VIEW dbo."+v.name+" AS "+strings.ReplaceAll(v.query, "\n\t\t", " ")); err != nil {
			return err
		}
		if err := markShipped(ctx, s, s.Instance().Database(database), v.name); err != nil {
			return err
		}
	}
	return nil
}

// Make makes the tables that a database lacks and marks them as SQL Server's own.
func Make(ctx context.Context, s *engine.Session, database string, tables []Table) error {
	db := s.Instance().Database(database)
	for _, t := range tables {
		full := syntax.QuoteName(database) + ".dbo." + syntax.QuoteName(t.name)
		r, err := s.Query(ctx, "SELECT OBJECT_ID(@p1) AS id", full)
		if err != nil {
			return fmt.Errorf("look for table %s: %w", full, err)
		}
		if r.Value(0, "id") != nil {
			continue
		}
		if err := s.Exec(ctx, "CREATE TABLE "+full+" ("+strings.ReplaceAll(t.columns, "\n\t\t", " ")+")"); err != nil {
			return err
		}
		if err := markShipped(ctx, s, db, t.name); err != nil {
			return err
		}
	}
	return nil
}

// markShipped sets is_ms_shipped of a table or view of dbo.
func markShipped(ctx context.Context, s *engine.Session, db *engine.Database, name string) error {
	o, err := s.ObjectNamed(ctx, db, "dbo", name)
	if err != nil || o == nil {
		return err
	}
	return s.ChangeObject(ctx, db, o.ID, func(o *metadata.Object) { o.Shipped = true })
}

// Drop drops those of the tables that a database has.
func Drop(ctx context.Context, s *engine.Session, database string, tables []Table) error {
	for _, t := range tables {
		name := syntax.QuoteName(database) + ".dbo." + syntax.QuoteName(t.name)
		if err := s.Exec(ctx, "DROP TABLE IF EXISTS "+name); err != nil {
			return err
		}
	}
	return nil
}

// Exists tells whether a table is there.
func Exists(ctx context.Context, s *engine.Session, name string) (bool, error) {
	r, err := s.Query(ctx, "SELECT OBJECT_ID(@p1) AS id", name)
	return r.Value(0, "id") != nil, err
}
