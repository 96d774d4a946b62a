// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/syntax"
)

// Publication lie in a database that is published.
var Publication = []Table{
	{
		"syspublications",
		`description nvarchar(255) NULL, name sysname NOT NULL UNIQUE, pubid int IDENTITY(1,1) NOT NULL PRIMARY KEY, repl_freq tinyint NOT NULL,
		status tinyint NOT NULL, sync_method tinyint NOT NULL, snapshot_jobid binary(16) NULL, independent_agent bit NOT NULL,
		immediate_sync bit NOT NULL, enabled_for_internet bit NOT NULL, allow_push bit NOT NULL, allow_pull bit NOT NULL,
		allow_anonymous bit NOT NULL, immediate_sync_ready bit NOT NULL, allow_sync_tran bit NOT NULL, autogen_sync_procs bit NOT NULL,
		retention int NULL, allow_queued_tran bit NOT NULL, snapshot_in_defaultfolder bit NOT NULL, alt_snapshot_folder nvarchar(255) NULL,
		pre_snapshot_script nvarchar(255) NULL, post_snapshot_script nvarchar(255) NULL, compress_snapshot bit NOT NULL,
		ftp_address sysname NULL, ftp_port int NOT NULL, ftp_subdirectory nvarchar(255) NULL, ftp_login sysname NULL,
		ftp_password nvarchar(524) NULL, allow_dts bit NOT NULL, allow_subscription_copy bit NOT NULL, centralized_conflicts bit NULL,
		conflict_retention int NULL, conflict_policy int NULL, queue_type int NULL, ad_guidname sysname NULL, backward_comp_level int NOT NULL,
		allow_initialize_from_backup bit NOT NULL, min_autonosync_lsn binary(10) NULL, replicate_ddl int NULL, options int NOT NULL,
		originator_id int NULL`,
	},
	{
		"sysarticles",
		`artid int IDENTITY(1,1) NOT NULL PRIMARY KEY, creation_script nvarchar(255) NULL, del_cmd nvarchar(255) NULL, description nvarchar(255) NULL,
		dest_table sysname NOT NULL, filter int NOT NULL, filter_clause nvarchar(max) NULL, ins_cmd nvarchar(255) NULL, name sysname NOT NULL,
		objid int NOT NULL, pubid int NOT NULL, pre_creation_cmd tinyint NOT NULL, status tinyint NOT NULL, sync_objid int NOT NULL,
		type tinyint NOT NULL, upd_cmd nvarchar(255) NULL, schema_option binary(8) NULL, dest_owner sysname NULL, ins_scripting_proc int NULL,
		del_scripting_proc int NULL, upd_scripting_proc int NULL, custom_script nvarchar(2048) NULL, fire_triggers_on_snapshot bit NOT NULL,
		CONSTRAINT UQ_sysarticles UNIQUE (pubid, name)`,
	},
	{"sysarticlecolumns", `artid int NOT NULL, colid smallint NOT NULL, is_udt bit NULL, is_xml bit NULL, is_max bit NULL,
		CONSTRAINT PK_sysarticlecolumns PRIMARY KEY (artid, colid)`},
	{
		"syssubscriptions",
		`artid int NOT NULL, srvid smallint NOT NULL, dest_db sysname NOT NULL, status tinyint NOT NULL, sync_type tinyint NOT NULL,
		login_name sysname NOT NULL, subscription_type int NOT NULL, distribution_jobid binary(16) NULL, timestamp rowversion NOT NULL,
		update_mode tinyint NOT NULL, loopback_detection bit NOT NULL, queued_reinit bit NOT NULL, nosync_type tinyint NOT NULL,
		srvname sysname NOT NULL, CONSTRAINT PK_syssubscriptions PRIMARY KEY (artid, srvname, dest_db)`,
	},
	// MSreplposition is this program's own: how far the log was read when the position last went into another virtual log
	// file. It travels with the database, so that every replica keeps the log that the log reader still needs.
	{"MSreplposition", `id int NOT NULL PRIMARY KEY, xact_seqno binary(10) NOT NULL`},
	// MSreplarticleversions is this program's own: what an article was, before a schema change, for the commits up to
	// xact_seqno, as long as the log reader may have to read them.
	{
		"MSreplarticleversions",
		`id int IDENTITY(1,1) NOT NULL PRIMARY KEY, artid int NOT NULL, xact_seqno binary(10) NOT NULL, definition nvarchar(max) NOT NULL`,
	},
}

// Subscription lie in a subscription database.
var Subscription = []Table{
	{
		"MSreplication_subscriptions",
		`publisher sysname NOT NULL, publisher_db sysname NULL, publication sysname NULL, independent_agent bit NOT NULL,
		subscription_type int NOT NULL, distribution_agent sysname NULL, time smalldatetime NOT NULL, description nvarchar(255) NULL,
		transaction_timestamp varbinary(16) NOT NULL, update_mode tinyint NOT NULL, agent_id binary(16) NULL, subscription_guid binary(16) NULL,
		subid binary(16) NULL, immediate_sync bit NOT NULL, CONSTRAINT UQ_MSreplication_subscriptions UNIQUE (publisher, publisher_db, publication, subscription_type)`,
	},
	{
		"MSsubscription_agents",
		`id int IDENTITY(1,1) NOT NULL PRIMARY KEY, publisher sysname NOT NULL, publisher_db sysname NOT NULL, publication sysname NOT NULL,
		subscription_type int NOT NULL, queue_id sysname NULL, update_mode tinyint NOT NULL, failover_mode bit NOT NULL, spid int NOT NULL,
		login_time datetime NOT NULL, allow_subscription_copy bit NOT NULL, attach_state int NOT NULL, attach_version binary(16) NOT NULL,
		last_sync_status int NULL, last_sync_summary sysname NULL, last_sync_time datetime NULL, queue_server sysname NULL,
		CONSTRAINT UQ_MSsubscription_agents UNIQUE (publisher, publisher_db, publication, subscription_type)`,
	},
	{
		"MSsubscription_properties",
		`publisher sysname NOT NULL, publisher_db sysname NOT NULL, publication sysname NOT NULL, publication_type int NOT NULL,
		publisher_login sysname NULL, publisher_password nvarchar(524) NULL, publisher_security_mode int NOT NULL, distributor sysname NULL,
		distributor_login sysname NULL, distributor_password nvarchar(524) NULL, distributor_security_mode int NULL, ftp_address sysname NULL,
		ftp_port int NULL, ftp_login sysname NULL, ftp_password nvarchar(524) NULL, alt_snapshot_folder nvarchar(255) NULL,
		working_directory nvarchar(255) NULL, use_ftp bit NOT NULL, dts_package_name sysname NULL, dts_package_password nvarchar(524) NULL,
		dts_package_location int NOT NULL, enabled_for_syncmgr bit NOT NULL, offload_agent bit NOT NULL, offload_server sysname NULL,
		dynamic_snapshot_location nvarchar(255) NULL, use_web_sync bit NOT NULL, internet_url nvarchar(260) NULL, internet_login sysname NULL,
		internet_password nvarchar(524) NULL, internet_security_mode int NOT NULL, internet_timeout int NOT NULL, hostname sysname NULL,
		job_step_uid uniqueidentifier NULL, CONSTRAINT UQ_MSsubscription_properties UNIQUE (publisher, publisher_db, publication)`,
	},
	{
		"MSreplication_objects",
		`publisher sysname NULL, publisher_db sysname NULL, publication sysname NULL, object_name sysname NOT NULL, object_type char(2) NOT NULL, article sysname NULL`,
	},
	{
		"MSsnapshotdeliveryprogress",
		`session_token nvarchar(260) NOT NULL, progress_token_hash int NOT NULL, progress_token nvarchar(500) NOT NULL,
		progress_timestamp datetime NULL, CONSTRAINT PK_MSsnapshotdeliveryprogress PRIMARY KEY (session_token, progress_token)`,
	},
}

// publicationViews lie in a database that is published, over its tables. The documents place sysextendedarticlesview in
// the distribution database, where the tables of which it is made do not lie.
var publicationViews = []view{
	{
		"sysschemaarticles",
		`SELECT artid, creation_script, description, dest_table AS dest_object, name, objid, pubid, pre_creation_cmd, CAST(status AS int) AS status, type,
		schema_option, dest_owner FROM dbo.sysarticles WHERE type & 224 <> 0`,
	},
	{
		"sysextendedarticlesview",
		`SELECT artid, creation_script, del_cmd, description, dest_table, filter, filter_clause, ins_cmd, name, objid, pubid, pre_creation_cmd,
		CAST(status AS int) AS status, sync_objid, type, upd_cmd, schema_option, dest_owner, ins_scripting_proc, del_scripting_proc, upd_scripting_proc, custom_script,
		fire_triggers_on_snapshot FROM dbo.sysarticles`,
	},
}

// MakePublication makes the tables and views that a publication database lacks.
func MakePublication(ctx context.Context, s *engine.Session, database string) error {
	if err := Make(ctx, s, database, Publication); err != nil {
		return err
	}
	return makeViews(ctx, s, database, publicationViews)
}

// DropPublication drops what MakePublication made.
func DropPublication(ctx context.Context, s *engine.Session, database string) error {
	for _, v := range publicationViews {
		if err := In(ctx, s, database, "DROP VIEW IF EXISTS dbo."+v.name); err != nil {
			return err
		}
	}
	return Drop(ctx, s, database, Publication)
}

// In runs a statement that has to be alone in its batch in a database.
func In(ctx context.Context, s *engine.Session, database, statement string) error {
	text := "USE " + syntax.QuoteName(database) + "; EXEC (" + stored.Literal(statement) + ")"
	return s.Exec(ctx, "EXEC ("+stored.Literal(text)+")")
}
