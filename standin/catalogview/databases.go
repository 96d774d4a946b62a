// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/storage"
)

func installDatabaseViews(r *engine.Registry) {
	r.RecordView("", "sys", "databases", "", databaseRecords)
	r.AddColumns(
		"sys.databases",
		"is_result_set_caching_on bit, is_tempdb_spill_to_remote_store bit, is_stale_page_detection_on bit, "+
			"is_data_retention_enabled bit, is_ledger_on bit, is_change_feed_enabled bit, "+
			"is_temporal_history_retention_enabled bit",
	)
	installFileViews(r)
	r.RecordView(
		"",
		"sys",
		"database_recovery_status",
		"database_id int, database_guid uniqueidentifier, family_guid uniqueidentifier, last_log_backup_lsn numeric(25,0), "+
			"recovery_fork_guid uniqueidentifier, first_recovery_fork_guid uniqueidentifier, fork_point_lsn numeric(25,0)",
		recoveryRecords,
	)
	r.RecordView(
		"",
		"sys",
		"sysdatabases",
		"name sysname, dbid smallint, sid varbinary(85), mode smallint, status int, status2 int, crdate datetime, "+
			"reserved datetime, category int, cmptlevel tinyint, filename nvarchar(260), version smallint",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			var out []engine.Record
			for _, db := range s.Instance().Databases() {
				i := db.Info()
				category := 0
				for bit, set := range map[int]bool{1: i.Published, 2: i.Subscribed, 4: i.MergePublished, 16: i.Distributor} {
					if set {
						category |= bit
					}
				}
				out = append(
					out,
					engine.Record{
						"name":      i.Name,
						"dbid":      i.ID,
						"sid":       i.OwnerSID,
						"mode":      0,
						"status":    65536,
						"status2":   0,
						"crdate":    i.Created,
						"reserved":  time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC),
						"category":  category,
						"cmptlevel": i.CompatibilityLevel,
						"filename":  metadata.StorageFiles(i.Files).Data,
						"version":   957,
					},
				)
			}
			return out, nil
		},
	)
}

// pageVerifications and delayedDurabilities are the descriptions of page_verify_option and delayed_durability by number
// (docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md).
var (
	pageVerifications   = []string{"NONE", "TORN_PAGE_DETECTION", "CHECKSUM"}
	delayedDurabilities = []string{"DISABLED", "ALLOWED", "FORCED"}
)

// targetRecoveryTime is TARGET_RECOVERY_TIME in seconds; a new database has one minute.
func targetRecoveryTime(i *engine.DatabaseInfo) int64 {
	if n, err := strconv.ParseInt(i.Options["TARGET_RECOVERY_TIME"], 10, 64); err == nil {
		return n
	}
	return 60
}

// seesDatabase tells which databases are shown to who may see no other: master, tempdb, his own and the one that he is
// in (docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md, Permissions).
func seesDatabase(s *engine.Session, db *engine.Database) bool {
	return db == s.CurrentDatabase() || strings.EqualFold(db.Name(), "master") || strings.EqualFold(db.Name(), "tempdb") ||
		string(db.Info().OwnerSID) == string(s.Login().SID)
}

func databaseRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	var out []engine.Record
	all := s.Require(ctx, engine.Permission{Name: "VIEW ANY DATABASE"}) == nil ||
		s.Require(ctx, engine.Permission{Name: "CREATE ANY DATABASE"}) == nil
	for _, db := range s.Instance().Databases() {
		i := db.Info()
		if !all && !seesDatabase(s, db) {
			continue
		}
		state := int64(db.State())
		model := int64(db.RecoveryModel())
		access := map[string]int64{"MULTI_USER": 0, "SINGLE_USER": 1, "RESTRICTED_USER": 2}[i.UserAccess]
		reuse, reuseDesc := 0, "NOTHING"
		if st := db.Storage(); st != nil {
			reuse, reuseDesc = st.ReuseWait()
		}
		on := func(name string, def bool) bool {
			v, ok := i.Options[name]
			if !ok {
				return def
			}
			return v == "ON" || v == ""
		}
		is := func(name, value string) bool { return i.Options[name] == value }
		number := func(name string, names []string) int64 {
			for n, value := range names {
				if i.Options[name] == value {
					return int64(n)
				}
			}
			return -1
		}
		verify := number("PAGE_VERIFY", pageVerifications)
		if verify < 0 {
			verify = int64(len(pageVerifications) - 1)
		}
		durability := max(number("DELAYED_DURABILITY", delayedDurabilities), 0)
		snapshot := int64(0)
		if i.SnapshotIsolation || i.ID == 1 || i.ID == 4 {
			snapshot = 1
		}
		rec := engine.Record{
			"name":                                  i.Name,
			"physical_database_name":                i.Name,
			"containment":                           0,
			"containment_desc":                      "NONE",
			"catalog_collation_type":                0,
			"catalog_collation_type_desc":           "DATABASE_DEFAULT",
			"is_remote_data_archive_enabled":        false,
			"is_ledger_on":                          false,
			"is_result_set_caching_on":              false,
			"is_tempdb_spill_to_remote_store":       false,
			"is_stale_page_detection_on":            false,
			"is_data_retention_enabled":             false,
			"is_temporal_history_retention_enabled": on("TEMPORAL_HISTORY_RETENTION", true),
			"is_change_feed_enabled":                false,
			"is_federation_member":                  false,
			"is_memory_optimized_elevate_to_snapshot_on": on(
				"MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT",
				false,
			),
			"is_memory_optimized_enabled": false,
			"database_id":                 i.ID,
			"owner_sid":                   i.OwnerSID,
			"create_date":                 i.Created,
			"compatibility_level":         i.CompatibilityLevel,
			"collation_name":              i.Collation,
			"user_access":                 access,
			"user_access_desc":            i.UserAccess,
			"is_read_only":                i.ReadOnly || db.Standby() != "",
			"is_auto_close_on":            on("AUTO_CLOSE", false),
			"is_auto_shrink_on": on(
				"AUTO_SHRINK",
				false,
			),
			"state":                               state,
			"state_desc":                          db.State().String(),
			"is_in_standby":                       db.Standby() != "",
			"is_cleanly_shutdown":                 db.State() == engine.Offline,
			"is_supplemental_logging_enabled":     false,
			"snapshot_isolation_state":            snapshot,
			"snapshot_isolation_state_desc":       engine.Description(snapshot, "OFF", "ON"),
			"is_read_committed_snapshot_on":       i.ReadCommittedSnapshot,
			"recovery_model":                      model,
			"recovery_model_desc":                 db.RecoveryName(),
			"page_verify_option":                  verify,
			"page_verify_option_desc":             pageVerifications[verify],
			"is_auto_create_stats_on":             on("AUTO_CREATE_STATISTICS", true),
			"is_auto_create_stats_incremental_on": false,
			"is_auto_update_stats_on":             on("AUTO_UPDATE_STATISTICS", true),
			"is_auto_update_stats_async_on":       on("AUTO_UPDATE_STATISTICS_ASYNC", false),
			"is_ansi_null_default_on": on(
				"ANSI_NULL_DEFAULT",
				false,
			),
			"is_ansi_nulls_on":   on("ANSI_NULLS", false),
			"is_ansi_padding_on": on("ANSI_PADDING", false),
			"is_ansi_warnings_on": on(
				"ANSI_WARNINGS",
				false,
			),
			"is_arithabort_on":              on("ARITHABORT", false),
			"is_concat_null_yields_null_on": on("CONCAT_NULL_YIELDS_NULL", false),
			"is_numeric_roundabort_on": on(
				"NUMERIC_ROUNDABORT",
				false,
			),
			"is_quoted_identifier_on":  on("QUOTED_IDENTIFIER", false),
			"is_recursive_triggers_on": on("RECURSIVE_TRIGGERS", false),
			"is_cursor_close_on_commit_on": on(
				"CURSOR_CLOSE_ON_COMMIT",
				false,
			),
			"is_local_cursor_default": is("CURSOR_DEFAULT", "LOCAL"),
			"is_fulltext_enabled":     false,
			"is_trustworthy_on": on(
				"TRUSTWORTHY",
				i.ID == 4,
			),
			"is_db_chaining_on":                 on("DB_CHAINING", i.ID <= 2 || i.ID == 4),
			"is_parameterization_forced":        is("PARAMETERIZATION", "FORCED"),
			"is_master_key_encrypted_by_server": false,
			"is_query_store_on": is(
				"QUERY_STORE",
				"ON",
			),
			"is_published":        i.Published,
			"is_subscribed":       i.Subscribed,
			"is_merge_published":  i.MergePublished,
			"is_distributor":      i.Distributor,
			"is_sync_with_backup": false,
			"service_broker_guid": i.BrokerGUID,
			"is_broker_enabled":   false,
			"log_reuse_wait":      reuse,
			"log_reuse_wait_desc": reuseDesc,
			"is_date_correlation_on": on(
				"DATE_CORRELATION_OPTIMIZATION",
				false,
			),
			"is_cdc_enabled":              false,
			"is_encrypted":                false,
			"is_honor_broker_priority_on": on("HONOR_BROKER_PRIORITY", false),
			"target_recovery_time_in_seconds": targetRecoveryTime(
				&i,
			),
			"delayed_durability":      durability,
			"delayed_durability_desc": delayedDurabilities[durability],
			"is_accelerated_database_recovery_on": on(
				"ACCELERATED_DATABASE_RECOVERY",
				false,
			),
			"is_mixed_page_allocation_on": on("MIXED_PAGE_ALLOCATION", i.ID == 1 || i.ID == 3 || i.ID == 4),
		}
		if i.ReplicaID != uuid.Nil {
			rec["replica_id"], rec["group_database_id"] = i.ReplicaID, i.GroupDatabaseID
		}
		out = append(out, rec)
	}
	return out, nil
}

func recoveryRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	var out []engine.Record
	for _, db := range s.Instance().Databases() {
		st := db.Storage()
		if st == nil {
			out = append(out, engine.Record{"database_id": db.ID()})
			continue
		}
		id := st.Identity()
		_, log := st.BackupPositions()
		rec := engine.Record{
			"database_id":              db.ID(),
			"database_guid":            id.Database,
			"family_guid":              id.Family,
			"recovery_fork_guid":       id.LastFork(),
			"first_recovery_fork_guid": id.LastFork(),
		}
		if st.RecoveryModel() != storage.Simple {
			rec["last_log_backup_lsn"] = engine.LSNValue(log)
		}
		out = append(out, rec)
	}
	return out, nil
}
