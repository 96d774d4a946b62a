// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestFunctionsOfAbsentFeatures: documented functions of what is not there have a value that says so, or are refused by
// name (docs/t-sql/functions/encryptbycert-transact-sql.md, collation-functions-tertiary-weights-transact-sql.md,
// filepropertyex-transact-sql.md, fulltextcatalogproperty-transact-sql.md;
// docs/relational-databases/system-functions/change-data-capture-functions-transact-sql.md).
func TestFunctionsOfAbsentFeatures(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT ENCRYPTBYCERT(1, 'a')", "!40517"},
		{"SELECT DECRYPTBYCERT(1, 0x00)", "!40517"},
		{"SELECT SIGNBYCERT(1, 'a')", "!40517"},
		{"SELECT VERIFYSIGNEDBYCERT(1, 'a', 0x00)", "!40517"},
		{"SELECT TERTIARY_WEIGHTS('a')", "!40517"},
		{
			"SELECT sys.fn_cdc_get_max_lsn()",
			"!40517",
		}, {"SELECT sys.fn_cdc_get_min_lsn('dbo_t')", "!40517"},
		{"SELECT sys.fn_cdc_map_time_to_lsn('largest less than', GETDATE())", "!40517"},
		{
			"SELECT sys.fn_cdc_map_lsn_to_time(0x00)",
			"!40517",
		}, {"SELECT sys.fn_cdc_increment_lsn(0x00), sys.fn_cdc_decrement_lsn(0x00)", "!40517"},
		{
			"SELECT sys.fn_cdc_get_column_ordinal('dbo_t', 'a'), sys.fn_cdc_has_column_changed('dbo_t', 'a', 0x00), " +
				"sys.fn_cdc_is_bit_set(1, 0x00)",
			"!40517",
		},
		{
			"SELECT sys.fn_stmt_sql_handle_from_sql_stmt(N'SELECT 1', NULL)",
			"!40517",
		}, {"SELECT sys.fn_PageResCracker(0x00)", "!40517"},
		{"SELECT sys.fn_nothing()", "!195"},
		{"SELECT FILEPROPERTYEX(DB_NAME(), 'BlobTier'), FULLTEXTCATALOGPROPERTY('none', 'ItemCount')", "NULL NULL"},
		{
			"SELECT COUNT(*) FROM sys.dm_xe_objects o JOIN sys.dm_xe_packages p ON p.guid = o.package_guid WHERE " +
				"o.object_type = 'event'",
			"0",
		},
		{
			"SELECT s.name, t.target_name FROM sys.dm_xe_sessions AS s LEFT JOIN sys.dm_xe_session_targets AS t ON " +
				"t.event_session_address = s.address WHERE s.name = 'AlwaysOn_health' AND s.dropped_event_count > 0",
			"",
		},
		{
			"SELECT p.operation_desc, s.is_schemabinding_enabled FROM sys.security_predicates p JOIN sys.security_policies s " +
				"ON s.object_id = p.object_id",
			"",
		},
		{
			"SELECT q.is_retention_enabled, t.service_contract_name, e.far_broker_instance FROM sys.service_queues q, " +
				"sys.transmission_queue t, sys.conversation_endpoints e",
			"",
		},
		{
			"SELECT a.on_failure_desc, k.string_sid, m.allow_enclave_computations, g.scope_batch FROM sys.server_audits a, " +
				"sys.asymmetric_keys k, sys.column_master_keys m, sys.plan_guides g",
			"",
		},
		{
			"SELECT s.max_rowcount, p.plan_forcing_type_desc, q.last_compile_memory_kb FROM sys.query_store_runtime_stats s " +
				"JOIN sys.query_store_plan p ON p.plan_id = s.plan_id JOIN sys.query_store_query q ON q.query_id = p.query_id",
			"",
		},
		{
			"SELECT total_cpu_usage_ms, cap_cpu_percent FROM sys.dm_resource_governor_resource_pools UNION ALL SELECT " +
				"total_cpu_usage_ms, max_dop FROM sys.dm_resource_governor_workload_groups",
			"",
		},
		{"SELECT key_algorithm, encryption_scan_state_desc FROM sys.dm_database_encryption_keys", ""},
		{"SELECT map_key, map_value FROM sys.dm_xe_map_values WHERE name = 'wait_types'", "ok"},
		{
			"SELECT COUNT(*) FROM sys.internal_tables AS itab JOIN sys.columns AS col ON itab.object_id = col.object_id " +
				"WHERE itab.parent_minor_id = 0",
			"0",
		},
	})
}
