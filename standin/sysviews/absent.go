// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
)

// absentViews are catalog and dynamic management views of things that the stand-in never has, so that they are truly
// empty: scripts that look for such things find none. The columns are the documented ones that scripts ask for
// (docs/relational-databases/system-catalog-views, docs/relational-databases/system-dynamic-management-views).
var absentViews = map[string]string{
	"assemblies": "name sysname, principal_id int, assembly_id int, clr_name " +
		"nvarchar(4000), permission_set tinyint, permission_set_desc nvarchar(60), is_visible bit, create_date datetime, " +
		"modify_date datetime, is_user_defined bit",
	"assembly_files": "assembly_id int, name nvarchar(260), file_id int, content " +
		"varbinary(max)",
	"assembly_modules": "object_id int, assembly_id int, assembly_class sysname, " +
		"assembly_method sysname, null_on_null_input bit, execute_as_principal_id int",
	"change_tracking_databases": "database_id int, is_auto_cleanup_on bit, retention_period int, " +
		"retention_period_units tinyint, retention_period_units_desc nvarchar(60)",
	"change_tracking_tables": "object_id int, is_track_columns_updated_on bit, min_valid_version " +
		"bigint, begin_version bigint, cleanup_version bigint",
	"column_encryption_keys": "name sysname, column_encryption_key_id int, create_date datetime, " +
		"modify_date datetime",
	"credentials": "credential_id int, name sysname, credential_identity " +
		"nvarchar(4000), create_date datetime, modify_date datetime, target_type nvarchar(100), target_id int",
	"database_audit_specifications": "database_specification_id int, name sysname, create_date datetime, " +
		"modify_date datetime, audit_guid uniqueidentifier, is_state_enabled bit",
	"crypt_properties": "class tinyint, class_desc nvarchar(60), major_id int, thumbprint " +
		"varbinary(32), crypt_type char(4), crypt_type_desc nvarchar(60), crypt_property varbinary(max)",
	"event_notifications": "name sysname, object_id int, parent_class tinyint, " +
		"parent_class_desc nvarchar(60), parent_id int, create_date datetime, modify_date datetime, service_name " +
		"nvarchar(256), broker_instance nvarchar(128), creator_sid varbinary(85), principal_id int",
	"routes": "name sysname, route_id int, principal_id int, remote_service_name " +
		"nvarchar(256), broker_instance nvarchar(128), lifetime datetime, address nvarchar(256), mirror_address " +
		"nvarchar(256)",
	"sensitivity_classifications": "class int, class_desc varchar(16), major_id int, minor_id int, " +
		"label sysname, label_id sysname, information_type sysname, information_type_id sysname, rank int, rank_desc " +
		"varchar(16)",
	"services": "name sysname, service_id int, principal_id int, service_queue_id int",
	"dm_db_uncontained_entities": "class int, class_desc nvarchar(60), major_id int, " +
		"statement_line_number int, statement_offset_begin int, statement_offset_end int, statement_type nvarchar(512), " +
		"feature_name nvarchar(256), feature_type_name nvarchar(256)",
	"dm_hadr_cluster_networks": "member_name nvarchar(128), network_subnet_ip nvarchar(48), " +
		"network_subnet_ipv4_mask nvarchar(45), network_subnet_prefix_length int, is_public bit, is_ipv4 bit",
	"dm_os_ring_buffers": "ring_buffer_address varbinary(8), ring_buffer_type nvarchar(60), " +
		"timestamp bigint, record nvarchar(3072)",
	"filetables": "object_id int, is_enabled bit, directory_name nvarchar(255), " +
		"filename_collation_id int, filename_collation_name sysname",
	"fulltext_catalogs": "fulltext_catalog_id int, name sysname, path nvarchar(260), " +
		"is_default bit, is_accent_sensitivity_on bit, data_space_id int, file_id int, principal_id int, is_importing bit",
	"hash_indexes": "object_id int, name sysname, index_id int, type tinyint, type_desc " +
		"nvarchar(60), bucket_count int",
	"masked_columns": "object_id int, name sysname, column_id int, is_masked bit, " +
		"masking_function nvarchar(4000)",
	"numbered_procedures": "object_id int, procedure_number smallint, definition nvarchar(max)",
	"openkeys": "database_id int, database_name sysname, key_id int, key_name " +
		"sysname, key_guid uniqueidentifier, opened_date datetime, status smallint",
	"periods": "name sysname, period_type tinyint, period_type_desc nvarchar(60), " +
		"object_id int, start_column_id int, end_column_id int",
	"remote_logins": "server_id int, remote_name sysname, local_principal_id int, " +
		"modify_date datetime",
	"server_audit_specifications": "server_specification_id int, name sysname, create_date datetime, " +
		"modify_date datetime, audit_guid uniqueidentifier, is_state_enabled bit",
	"spatial_indexes": "object_id int, name sysname, index_id int, spatial_index_type " +
		"tinyint, spatial_index_type_desc nvarchar(60), tessellation_scheme sysname",
	"traces": "id int, status int, path nvarchar(260), max_size bigint, stop_time " +
		"datetime, max_files int, is_rowset bit, is_rollover bit, is_shutdown bit, is_default bit, buffer_count int, " +
		"buffer_size int, file_position bigint, reader_spid int, start_time datetime, last_event_time datetime, " +
		"event_count bigint, dropped_event_count int",
	"dm_clr_properties": "name nvarchar(128), value nvarchar(128)",
	"dm_db_missing_index_details": "index_handle int, database_id smallint, object_id int, " +
		"equality_columns nvarchar(4000), inequality_columns nvarchar(4000), included_columns nvarchar(4000), statement " +
		"nvarchar(4000)",
	"dm_db_missing_index_groups":   "index_group_handle int, index_handle int",
	"dm_db_persisted_sku_features": "feature_name sysname, feature_id int",
	"dm_os_cluster_nodes": "NodeName sysname, status int, status_description nvarchar(20), " +
		"is_current_owner bit",
	"dm_server_memory_dumps": "filename nvarchar(256), creation_time datetimeoffset(7), " +
		"size_in_bytes bigint",
	"resource_governor_configuration": "classifier_function_id int, is_enabled bit, " +
		"max_outstanding_io_per_volume int",
	"memory_optimized_tables_internal_attributes": "object_id int, xtp_object_id bigint, type int, type_desc " +
		"nvarchar(60), minor_id int",
}

// installAbsentViews registers those, and views that are others in another form.
func installAbsentViews(r *engine.Registry) {
	for name, list := range absentViews {
		r.RecordView(
			"",
			"sys",
			name,
			list,
			func(context.Context, *engine.Session) ([]engine.Record, error) { return nil, nil },
		)
	}
	r.TextView(
		"sys",
		"sysservers",
		"srvid smallint, srvstatus smallint, srvname sysname, srvproduct sysname, providername sysname, datasource "+
			"nvarchar(4000), location nvarchar(4000), providerstring nvarchar(4000), schemadate datetime, "+
			"topologyx int, topologyy int, catalog sysname, srvcollation sysname, connecttimeout int, querytimeout int, "+
			"srvnetname char(30), isremote bit, rpc bit, pub bit, sub bit, dist bit, dpub bit, rpcout bit, dataaccess bit, "+
			"collationcompatible bit, system bit, useremotecollation bit, lazyschemavalidation bit, collation sysname, "+
			"nonsqlsub bit",
		`SELECT CAST(server_id AS smallint), CAST(0 AS smallint), name, product, provider, data_source, location, provider_string, modify_date, 0, 0, catalog, collation_name, connect_timeout, query_timeout,
			CAST(data_source AS char(30)), CAST(1 - is_linked AS bit), is_remote_login_enabled, is_publisher, is_subscriber, CAST(is_distributor AS bit), CAST(is_publisher AS bit), is_rpc_out_enabled, is_data_access_enabled,
			is_collation_compatible, is_system, uses_remote_collation, lazy_schema_validation, collation_name, is_nonsql_subscriber FROM sys.servers`,
	)
	r.TextView(
		"sys",
		"events",
		"object_id int, type int, type_desc nvarchar(60), is_trigger_event bit, event_group_type int, "+
			"event_group_type_desc nvarchar(60)",
		"SELECT object_id, type, type_desc, CAST(1 AS bit), event_group_type, event_group_type_desc FROM sys.trigger_events",
	)
	r.TextView(
		"sys",
		"event_notification_event_types",
		"type int, type_name nvarchar(64), parent_type int",
		"SELECT type, type_name, parent_type FROM sys.trigger_event_types WHERE type > 3",
	)
	r.TextView(
		"sys",
		"parameter_type_usages",
		"object_id int, parameter_id int, user_type_id int",
		"SELECT p.object_id, p.parameter_id, p.user_type_id FROM sys.parameters AS p JOIN sys.types AS t ON "+
			"t.user_type_id = p.user_type_id WHERE t.is_user_defined = 1",
	)
	r.TextView(
		"sys",
		"sysreferences",
		"constid int, fkeyid int, rkeyid int, rkeyindid smallint, keycnt smallint, forkeys varbinary(32), refkeys "+
			"varbinary(32), fkeydbid smallint, rkeydbid smallint"+keyColumns(
			", fkey%d smallint",
		)+keyColumns(
			", rkey%d smallint",
		),
		"SELECT object_id, parent_object_id, referenced_object_id, CAST(key_index_id AS smallint), CAST((SELECT COUNT(*) "+
			"FROM sys.foreign_key_columns k WHERE k.constraint_object_id = f.object_id) AS smallint), CAST(NULL AS "+
			"varbinary(32)), CAST(NULL AS varbinary(32)), "+
			"CAST(DB_ID() AS smallint), CAST(DB_ID() AS smallint)"+keyColumns(
			", CAST(ISNULL((SELECT parent_column_id FROM sys.foreign_key_columns k WHERE k.constraint_object_id = "+
				"f.object_id AND k.constraint_column_id = %d), 0) AS smallint)",
		)+
			keyColumns(
				", CAST(ISNULL((SELECT referenced_column_id FROM sys.foreign_key_columns k WHERE k.constraint_object_id = "+
					"f.object_id AND k.constraint_column_id = %d), 0) AS smallint)",
			)+" FROM sys.foreign_keys f",
	)
	r.TextView(
		"sys",
		"sysforeignkeys",
		"constid int, fkeyid int, rkeyid int, fkey smallint, rkey smallint, keyno smallint",
		"SELECT constraint_object_id, parent_object_id, referenced_object_id, CAST(parent_column_id AS smallint), "+
			"CAST(referenced_column_id AS smallint), CAST(constraint_column_id AS smallint) FROM sys.foreign_key_columns",
	)
	r.TextView(
		"sys",
		"sysindexkeys",
		"id int, indid smallint, colid smallint, keyno smallint",
		"SELECT object_id, CAST(index_id AS smallint), CAST(column_id AS smallint), CAST(key_ordinal AS smallint) FROM "+
			"sys.index_columns",
	)
	r.TextView(
		"sys",
		"sysaltfiles",
		"fileid smallint, groupid smallint, size int, maxsize int, growth int, status int, perf int, dbid smallint, name "+
			"sysname, filename nvarchar(260)",
		"SELECT CAST(file_id AS smallint), CAST(IIF(type = 0, 1, 0) AS smallint), size, max_size, growth, 0, 0, "+
			"CAST(database_id AS smallint), name, physical_name FROM sys.master_files",
	)
	r.TextView(
		"sys",
		"sysfilegroups",
		"groupid smallint, allocpolicy smallint, status int, groupname sysname",
		"SELECT CAST(data_space_id AS smallint), CAST(0 AS smallint), 0, name FROM sys.filegroups",
	)
	r.TextView(
		"sys",
		"sysmembers",
		"memberuid smallint, groupuid smallint",
		"SELECT CAST(member_principal_id AS smallint), CAST(role_principal_id AS smallint) FROM sys.database_role_members "+
			"WHERE member_principal_id < 32768 AND role_principal_id < 32768",
	)
	r.TextView(
		"sys",
		"sysconfigures",
		"value int, config int, comment nvarchar(255), status smallint",
		"SELECT CAST(value AS int), configuration_id, CAST(description AS nvarchar(255)), CAST(is_dynamic AS smallint) "+
			"FROM sys.configurations",
	)
	r.TextView(
		"sys",
		"syscurconfigs",
		"value int, config int, comment nvarchar(255), status smallint",
		"SELECT CAST(value_in_use AS int), configuration_id, CAST(description AS nvarchar(255)), CAST(is_dynamic AS "+
			"smallint) FROM sys.configurations",
	)
	r.TextView(
		"sys",
		"xml_schema_collections",
		"xml_collection_id int, schema_id int, principal_id int, name sysname, create_date datetime, modify_date datetime",
		"SELECT 1, 4, CAST(NULL AS int), CAST(N'sys' AS sysname), create_date, create_date FROM sys.databases WHERE "+
			"database_id = 1",
	)
	r.TextView(
		"sys",
		"syslanguages",
		"langid smallint, dateformat nchar(3), datefirst tinyint, upgrade int, name sysname, alias sysname, months "+
			"nvarchar(372), shortmonths nvarchar(132), days nvarchar(217), lcid int, msglangid smallint",
		"SELECT langid, dateformat, datefirst, upgrade, name, alias, months, shortmonths, days, lcid, msglangid FROM "+
			"sys.languages",
	)
	r.TableFunction(
		engine.TableFunction{
			Schema:  "sys",
			Name:    "fn_helpcollations",
			Columns: engine.ColumnList("name sysname, description nvarchar(1000)"),
			Rows: func(context.Context, *engine.Session, []any) ([][]any, error) {
				return [][]any{
					{
						sqltype.DefaultCollation,
						"Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive for Unicode " +
							"Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data",
					},
					{
						"Latin1_General_BIN",
						"Latin1-General, binary sort",
					},
					{"Latin1_General_BIN2", "Latin1-General, binary code point comparison sort"},
					{
						"Latin1_General_CI_AI",
						"Latin1-General, case-insensitive, accent-insensitive, kanatype-insensitive, width-insensitive",
					},
					{
						"Latin1_General_CI_AS",
						"Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive",
					},
					{
						"Latin1_General_CS_AS",
						"Latin1-General, case-sensitive, accent-sensitive, kanatype-insensitive, width-insensitive",
					},
				}, nil
			},
		},
	)
}

// keyColumns repeats a text for the sixteen columns of a foreign key that sys.sysreferences has.
func keyColumns(format string) string {
	text := ""
	for i := 1; i <= 16; i++ {
		text += fmt.Sprintf(format, i)
	}
	return text
}
