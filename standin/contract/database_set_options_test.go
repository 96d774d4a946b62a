// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDatabaseOptionsAreShown goes by docs/t-sql/statements/alter-database-transact-sql-set-options.md and
// docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md.
func TestDatabaseOptionsAreShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	one := connection(t, db)
	for _, c := range []struct{ column, unless, option, shown string }{
		{"page_verify_option_desc", "CHECKSUM", "PAGE_VERIFY NONE", "NONE"},
		{"page_verify_option", "0", "PAGE_VERIFY TORN_PAGE_DETECTION", "1"},
		{"page_verify_option", "1", "TORN_PAGE_DETECTION OFF", "0"},
		{"page_verify_option_desc", "NONE", "TORN_PAGE_DETECTION ON", "TORN_PAGE_DETECTION"},
		{"page_verify_option", "1", "PAGE_VERIFY CHECKSUM", "2"},
		{"is_parameterization_forced", "false", "PARAMETERIZATION FORCED", "true"},
		{"is_local_cursor_default", "false", "CURSOR_DEFAULT LOCAL", "true"},
		{"is_date_correlation_on", "false", "DATE_CORRELATION_OPTIMIZATION ON", "true"},
		{"is_honor_broker_priority_on", "false", "HONOR_BROKER_PRIORITY ON", "true"},
		{"target_recovery_time_in_seconds", "60", "TARGET_RECOVERY_TIME = 2 MINUTES", "120"},
		{"delayed_durability_desc", "DISABLED", "DELAYED_DURABILITY = ALLOWED", "ALLOWED"},
		{"delayed_durability", "1", "DELAYED_DURABILITY = FORCED", "2"},
		{"is_accelerated_database_recovery_on", "false", "ACCELERATED_DATABASE_RECOVERY = ON", "true"},
		{"is_mixed_page_allocation_on", "false", "MIXED_PAGE_ALLOCATION ON", "true"},
		{"is_memory_optimized_elevate_to_snapshot_on", "false", "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT = ON", "true"},
		{"is_temporal_history_retention_enabled", "true", "TEMPORAL_HISTORY_RETENTION OFF", "false"},
		{"is_auto_update_stats_async_on", "false", "AUTO_UPDATE_STATISTICS_ASYNC ON", "true"},
		{"is_ansi_null_default_on", "false", "ANSI_NULL_DEFAULT ON", "true"},
		{"is_recursive_triggers_on", "false", "RECURSIVE_TRIGGERS ON", "true"},
		{"is_cursor_close_on_commit_on", "false", "CURSOR_CLOSE_ON_COMMIT ON", "true"},
		{"containment_desc", "NONE", "CONTAINMENT = NONE", "NONE"},
		{"is_supplemental_logging_enabled", "false", "AUTO_SHRINK OFF", "false"},
		{"user_access_desc", "MULTI_USER", "RESTRICTED_USER", "RESTRICTED_USER"},
		{"user_access_desc", "RESTRICTED_USER", "MULTI_USER", "MULTI_USER"},
	} {
		text := "SELECT " + c.column + " FROM sys.databases WHERE database_id = DB_ID()"
		g.Expect(fmt.Sprint(value(t, one, text))).To(Equal(c.unless), c.column)
		mustExec(t, one, "ALTER DATABASE CURRENT SET "+c.option)
		g.Expect(fmt.Sprint(value(t, one, text))).To(Equal(c.shown), c.option)
	}
	converse(t, one, []say{
		{
			"SELECT DATABASEPROPERTYEX(DB_NAME(), 'IsLocalCursorsDefault'), DATABASEPROPERTYEX(DB_NAME(), " +
				"'IsParameterizationForced'), DATABASEPROPERTYEX(DB_NAME(), 'IsTornPageDetectionEnabled'), " +
				"DATABASEPROPERTYEX(DB_NAME(), 'IsMemoryOptimizedElevateToSnapshotEnabled')",
			"1 1 0 1",
		},
		{
			"ALTER DATABASE CURRENT SET PAGE_VERIFY TORN_PAGE_DETECTION, AUTO_CLOSE OFF WITH NO_WAIT",
			"ok",
		}, {"SELECT DATABASEPROPERTYEX(DB_NAME(), 'IsTornPageDetectionEnabled')", "1"},
		{
			"DECLARE @before uniqueidentifier = (SELECT service_broker_guid FROM sys.databases WHERE database_id = DB_ID()); " +
				"ALTER DATABASE CURRENT SET NEW_BROKER; " +
				"SELECT IIF(service_broker_guid = @before, 'old', 'new'), is_broker_enabled FROM sys.databases WHERE " +
				"database_id = DB_ID()",
			"new false",
		},
	})
}

// TestCursorDefaultLocal: CURSOR_DEFAULT of the page: a cursor that says nothing is local to its batch then.
func TestCursorDefaultLocal(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"DECLARE early CURSOR FOR SELECT 1",
			"ok",
		}, {"OPEN early; SELECT CURSOR_STATUS('global', 'early'); DEALLOCATE early", "1"},
		{"ALTER DATABASE CURRENT SET CURSOR_DEFAULT LOCAL", "ok"},
		{
			"DECLARE late CURSOR FOR SELECT 1; OPEN late; SELECT CURSOR_STATUS('local', 'late'), " +
				"CURSOR_STATUS('global', 'late')",
			"1 -3",
		}, {"OPEN late", "!16916/16"},
		{"DECLARE said CURSOR GLOBAL FOR SELECT 1", "ok"}, {"OPEN said; CLOSE said; DEALLOCATE said", "ok"},
	})
}

// TestDatabaseOptionsRefused: the syntax and the table of options that may be combined on the page, the messages of the
// list of errors, and the tables of options that may be changed in
// docs/relational-databases/databases/master-database.md, model-database.md, msdb-database.md and tempdb-database.md.
func TestDatabaseOptionsRefused(t *testing.T) {
	t.Parallel()
	name := uniqueName("options")
	one := connection(t, shared.open(t, ""))
	mustExec(t, one, "CREATE DATABASE "+name)
	t.Cleanup(func() { mustExec(t, shared.open(t, ""), "DROP DATABASE "+name) })
	list := []say{}
	for _, c := range []say{
		{"READ_ONLY, READ_WRITE", "!5062/16"}, {"SINGLE_USER, MULTI_USER", "!5062/16"}, {"ONLINE, OFFLINE", "!5062/16"},
		{"ENABLE_BROKER, DISABLE_BROKER", "!5062/16"},
		{"PAGE_VERIFY CHECKSUM, TORN_PAGE_DETECTION ON", "!5062/16"}, {"ALLOW_SNAPSHOT_ISOLATION ON, READ_ONLY", "!5082/16"},
		{"ALLOW_SNAPSHOT_ISOLATION ON WITH NO_WAIT", "!5083/16"},
		{"READ_COMMITTED_SNAPSHOT ON, AUTO_CLOSE ON", "!5082/16"}, {"ENCRYPTION ON", "!33106/16"},
		{"ENCRYPTION OFF", "!33106/16"},
		{"TARGET_RECOVERY_TIME = 9999999999 SECONDS", "!5005/16"}, {"TARGET_RECOVERY_TIME = 60", "!102/15/1/1"},
		{"COMPATIBILITY_LEVEL = 95", "!15048/16"},
		{"RECOVERY = SIMPLE", "!102/15/1/1"}, {"AUTO_CLOSE = ON", "!102/15/1/1"},
		{"READ_COMMITTED_SNAPSHOT = ON", "!102/15/1/1"}, {"DELAYED_DURABILITY FORCED", "!102/15/1/1"},
		{"ACCELERATED_DATABASE_RECOVERY ON", "!156/15/1/1"}, {"COMPATIBILITY_LEVEL 150", "!102/15/1/1"},
		{"TARGET_RECOVERY_TIME 60 SECONDS", "!102/15/1/1"}, {"QUERY_STORE ON", "!156/15/1/1"},
		{"CONTAINMENT NONE", "!102/15/1/1"}, {"MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT ON", "!156/15/1/1"},
		{"AUTO_CLOSE\nMAYBE", "!102/15/1/2"}, {"AUTO_CLOSE ON,", "!102/15/1/1"}, {"AUTO_CLOSE ON WITH", "!102/15/1/1"},
		{"AUTO_CLOSE ON WITH ROLLBACK", "!102/15/1/1"}, {"READ_ONLY WITH ROLLBACK AFTER SECONDS", "!102/15/1/1"},
		{"READ_ONLY ON", "!156/15/1/1"}, {"FORCED", "!155/15/1/1"},
		{"TWO_DIGIT_YEAR_CUTOFF = 2049", "!40517/16"}, {"CONTAINMENT = PARTIAL", "!40517/16"},
		{"AUTOMATIC_TUNING (FORCE_LAST_GOOD_PLAN = ON)", "!40517/16"}, {"CHANGE_TRACKING = ON", "!40517/16"},
		{"ERROR_BROKER_CONVERSATIONS", "!40517/16"}, {"REMOTE_DATA_ARCHIVE = OFF", "!40517/16"}, {"EMERGENCY", "!40517/16"},
	} {
		list = append(list, say{"ALTER DATABASE " + name + " SET " + c.text, c.want})
	}
	list = append(
		list,
		say{
			"SELECT is_read_only, user_access_desc, state_desc, is_auto_close_on, snapshot_isolation_state, " +
				"page_verify_option_desc FROM sys.databases WHERE name = '" + name + "'",
			"false MULTI_USER ONLINE false 0 CHECKSUM",
		},
		say{"ALTER DATABASE CURRENT SET AUTO_UPDATE_STATISTICS ON", "!12104/15"},
	)
	for database, options := range map[string]string{
		"master": "ALLOW_SNAPSHOT_ISOLATION ON;AUTO_CLOSE ON;AUTO_SHRINK ON;OFFLINE;SINGLE_USER;READ_ONLY;DB_CHAINING " +
			"OFF;MIXED_PAGE_ALLOCATION OFF;READ_COMMITTED_SNAPSHOT ON;ENABLE_BROKER",
		"model": "OFFLINE;DB_CHAINING ON;MIXED_PAGE_ALLOCATION OFF;ENABLE_BROKER;TRUSTWORTHY ON",
		"msdb":  "ALLOW_SNAPSHOT_ISOLATION OFF;OFFLINE;MIXED_PAGE_ALLOCATION OFF;READ_COMMITTED_SNAPSHOT ON",
		"tempdb": "AUTO_CLOSE ON;AUTO_SHRINK ON;OFFLINE;SINGLE_USER;READ_ONLY;DB_CHAINING OFF;MIXED_PAGE_ALLOCATION " +
			"ON;READ_COMMITTED_SNAPSHOT ON;RECOVERY FULL;TRUSTWORTHY ON",
	} {
		for _, option := range strings.Split(options, ";") {
			list = append(list, say{"ALTER DATABASE " + database + " SET " + option, "!5058/16"})
		}
		list = append(list, say{"ALTER DATABASE " + database + " SET ENCRYPTION ON", "!33102/16"})
	}
	converse(t, one, list)
}

// TestQueryStoreOptions goes by QUERY_STORE of docs/t-sql/statements/alter-database-transact-sql-set-options.md and
// docs/relational-databases/system-catalog-views/sys-database-query-store-options-transact-sql.md. A server that
// collects nothing says that its store is read-only.
func TestQueryStoreOptions(t *testing.T) {
	t.Parallel()
	const state = "SELECT desired_state, desired_state_desc, IIF(actual_state_desc = desired_state_desc OR " +
		"actual_state_desc = 'READ_ONLY', 'so', actual_state_desc) FROM sys.database_query_store_options"
	const all = "SELECT flush_interval_seconds, interval_length_minutes, max_storage_size_mb, " +
		"stale_query_threshold_days, max_plans_per_query, query_capture_mode, query_capture_mode_desc, " +
		"size_based_cleanup_mode, size_based_cleanup_mode_desc, " +
		"wait_stats_capture_mode_desc, capture_policy_execution_count, capture_policy_total_compile_cpu_time_ms, " +
		"capture_policy_total_execution_cpu_time_ms, capture_policy_stale_threshold_hours FROM " +
		"sys.database_query_store_options"
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = OFF",
			"ok",
		}, {state, "0 OFF so"}, {all, "900 60 1000 30 200 2 AUTO 1 AUTO ON NULL NULL NULL NULL"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON",
			"ok",
		}, {state, "2 READ_WRITE so"}, {"SELECT is_query_store_on FROM sys.databases WHERE database_id = DB_ID()", "true"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON (OPERATION_MODE = READ_WRITE, CLEANUP_POLICY = " +
				"(STALE_QUERY_THRESHOLD_DAYS = 90), DATA_FLUSH_INTERVAL_SECONDS = 600, MAX_STORAGE_SIZE_MB = 500, " +
				"INTERVAL_LENGTH_MINUTES = 30, " +
				"SIZE_BASED_CLEANUP_MODE = OFF, QUERY_CAPTURE_MODE = CUSTOM, MAX_PLANS_PER_QUERY = 100, WAIT_STATS_CAPTURE_MODE " +
				"= OFF, QUERY_CAPTURE_POLICY = (STALE_CAPTURE_POLICY_THRESHOLD = 2 DAYS, EXECUTION_COUNT = 40, " +
				"TOTAL_COMPILE_CPU_TIME_MS = 2000, TOTAL_EXECUTION_CPU_TIME_MS = 200))",
			"ok",
		}, {all, "600 30 500 90 100 4 CUSTOM 0 OFF OFF 40 2000 200 48"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE (OPERATION_MODE = READ_ONLY)",
			"ok",
		}, {state, "1 READ_ONLY so"}, {all, "600 30 500 90 100 4 CUSTOM 0 OFF OFF 40 2000 200 48"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE (QUERY_CAPTURE_MODE = ALL)",
			"ok",
		}, {"SELECT query_capture_mode_desc, capture_policy_execution_count FROM sys.database_query_store_options",
			"ALL NULL"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE CLEAR",
			"ok",
		}, {"ALTER DATABASE CURRENT SET QUERY_STORE CLEAR ALL", "ok"},
		{"ALTER DATABASE CURRENT SET QUERY_STORE = OFF (FORCED)", "ok"}, {state, "0 OFF so"},
		{"SELECT is_query_store_on FROM sys.databases WHERE database_id = DB_ID()", "false"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE (INTERVAL_LENGTH_MINUTES = 7)",
			"!12432/16",
		}, {"ALTER DATABASE CURRENT SET QUERY_STORE = ON (MAX_STORAGE_SIZE_MB = 1, MAX_STORAGE_SIZE_MB = 2)",
			"!12401/15/1/1"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON, QUERY_STORE CLEAR",
			"!12417/15",
		}, {"ALTER DATABASE CURRENT SET QUERY_STORE = ON, READ_ONLY", "!12418/16"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON (OPERATION_MODE = OFF)",
			"!156/15/1/1",
		}, {"ALTER DATABASE CURRENT SET QUERY_STORE = ON ()", "!102/15/1/1"},
		{"ALTER DATABASE CURRENT SET QUERY_STORE = MAYBE", "!102/15/1/1"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON (MAX_SIZE_MB = 5)",
			"!102/15/1/1",
		}, {"ALTER DATABASE CURRENT SET QUERY_STORE = ON (CLEANUP_POLICY = 5)", "!102/15/1/1"},
		{"ALTER DATABASE CURRENT SET QUERY_STORE", "!102/15/1/1"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON (QUERY_CAPTURE_POLICY = (STALE_CAPTURE_POLICY_THRESHOLD = 8 DAYS))",
			"!12453/16",
		},
		{
			"ALTER DATABASE master SET QUERY_STORE = ON",
			"!12438/16",
		}, {"ALTER DATABASE tempdb SET QUERY_STORE = ON", "!12438/16"}, {state, "0 OFF so"},
	})
}

// TestQueryStoreProcedures:
// docs/relational-databases/system-stored-procedures/query-store-stored-procedures-transact-sql.md and the messages
// 12402 to 12405.
func TestQueryStoreProcedures(t *testing.T) {
	t.Parallel()
	ownProcess(t) // of a server that collects nothing
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = OFF",
			"ok",
		}, {"EXEC sp_query_store_flush_db", "!12405/16"}, {"EXEC sp_query_store_force_plan 1, 1", "!12405/16"},
		{
			"ALTER DATABASE CURRENT SET QUERY_STORE = ON",
			"ok",
		}, {"EXEC sp_query_store_flush_db", "!12404/16"},
		{"EXEC sp_query_store_force_plan @query_id = 1, @plan_id = 1", "!12404/16"},
		{
			"EXEC sp_query_store_unforce_plan 1, 1",
			"!12404/16",
		}, {"EXEC sp_query_store_remove_plan 1", "!12404/16"},
		{"EXEC sp_query_store_remove_query @query_id = 1", "!12404/16"},
		{"EXEC sp_query_store_reset_exec_stats 1", "!12404/16"},
		{
			"EXEC sp_query_store_remove_query",
			"!201/16",
		}, {"SELECT COUNT(*) FROM sys.query_store_query q JOIN sys.query_store_query_text t ON t.query_text_id = " +
			"q.query_text_id", "0"},
	})
}
