// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// installActivityViews registers views and functions over what sessions, transactions, logs and files are doing
// (docs/relational-databases/system-dynamic-management-views).
func installActivityViews(r *Registry) {
	intT := sqltype.IntType
	r.RecordView(
		"",
		"sys",
		"dm_tran_database_transactions",
		"transaction_id bigint, database_id int, database_transaction_begin_time datetime, database_transaction_type int, "+
			"database_transaction_state int, database_transaction_status int, "+
			"database_transaction_status2 int, database_transaction_log_record_count bigint, "+
			"database_transaction_replicate_record_count int, database_transaction_log_bytes_used bigint, "+
			"database_transaction_log_bytes_reserved bigint, "+
			"database_transaction_log_bytes_used_system int, database_transaction_log_bytes_reserved_system int, "+
			"database_transaction_begin_lsn numeric(25,0), database_transaction_last_lsn numeric(25,0), "+
			"database_transaction_most_recent_savepoint_lsn numeric(25,0), database_transaction_commit_lsn numeric(25,0), "+
			"database_transaction_last_rollback_lsn numeric(25,0), database_transaction_next_undo_lsn numeric(25,0)",
		databaseTransactions,
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_db_log_info",
			Parameters: []sqltype.Type{intT},
			Columns: columns(
				"database_id int, file_id smallint, vlf_begin_offset bigint, vlf_size_mb float, vlf_sequence_number bigint, " +
					"vlf_active bit, " +
					"vlf_status int, vlf_parity tinyint, vlf_first_lsn nvarchar(48), vlf_create_lsn nvarchar(48), " +
					"vlf_encryptor_thumbprint varbinary(20)",
			),
			Rows: virtualLogFiles,
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_db_index_physical_stats",
			Parameters: []sqltype.Type{sqltype.SmallIntType, intT, intT, intT, sqltype.Sysname},
			Columns: columns("database_id smallint, object_id int, index_id int, " +
				"partition_number int, index_type_desc nvarchar(60), alloc_unit_type_desc nvarchar(60), index_depth tinyint, " +
				"index_level tinyint, avg_fragmentation_in_percent float, fragment_count bigint, " +
				"avg_fragment_size_in_pages float, " +
				"page_count bigint, avg_page_space_used_in_percent float, record_count bigint, ghost_record_count bigint, " +
				"version_ghost_record_count bigint, min_record_size_in_bytes int, max_record_size_in_bytes int, " +
				"avg_record_size_in_bytes float, " +
				"forwarded_record_count bigint, compressed_page_count bigint, hobt_id bigint, columnstore_delete_buffer_state " +
				"tinyint, columnstore_delete_buffer_state_desc nvarchar(60), version_record_count bigint, " +
				"inrow_version_record_count bigint, " +
				"inrow_diff_version_record_count bigint, total_inrow_version_payload_size_in_bytes bigint, " +
				"offrow_regular_version_record_count bigint, offrow_long_term_version_record_count bigint"),
			Rows: indexPages,
		},
	)
	r.RecordView(
		"",
		"sys",
		"dm_tran_locks",
		"resource_type nvarchar(60), resource_subtype nvarchar(60), resource_database_id int, resource_description "+
			"nvarchar(256), resource_associated_entity_id bigint, resource_lock_partition int, "+
			"request_mode nvarchar(60), request_type nvarchar(60), request_status nvarchar(60), request_reference_count "+
			"smallint, request_lifetime int, request_session_id int, request_exec_context_id int, request_request_id int, "+
			"request_owner_type nvarchar(60), request_owner_id bigint, request_owner_guid uniqueidentifier, "+
			"request_owner_lockspace_id nvarchar(32), lock_owner_address varbinary(8)",
		lockRecords,
	)
	r.RecordView(
		"",
		"sys",
		"dm_tran_active_transactions",
		"transaction_id bigint, name nvarchar(32), transaction_begin_time datetime, transaction_type int, transaction_uow "+
			"uniqueidentifier, transaction_state int, "+
			"transaction_status int, transaction_status2 int, dtc_state int, dtc_status int, dtc_isolation_level int, "+
			"filestream_transaction_id varbinary(128)",
		func(ctx context.Context, s *Session) ([]record, error) {
			if s.count == 0 {
				return nil, nil
			}
			title := s.name
			if title == "" {
				title = "user_transaction"
			}
			return []record{
				{
					"transaction_id":         int64(s.descriptor),
					"name":                   title,
					"transaction_begin_time": s.began,
					"transaction_type":       1,
					"transaction_state":      2,
					"transaction_status":     0,
					"transaction_status2":    0,
					"dtc_state":              0,
					"dtc_status":             0,
					"dtc_isolation_level":    0,
				},
			}, nil
		},
	)
}

// databaseTransactions is the session's own transaction, in the database where it is.
func databaseTransactions(_ context.Context, s *Session) ([]record, error) {
	if s.count == 0 {
		return nil, nil
	}
	return []record{
		{
			"transaction_id":                              int64(s.descriptor),
			"database_id":                                 s.db.ID(),
			"database_transaction_begin_time":             s.began.UTC(),
			"database_transaction_type":                   1,
			"database_transaction_state":                  4,
			"database_transaction_status":                 0,
			"database_transaction_status2":                0,
			"database_transaction_replicate_record_count": 0,
		},
	}, nil
}

// virtualLogFiles is sys.dm_db_log_info.
func virtualLogFiles(_ context.Context, s *Session, args []any) ([][]any, error) {
	db := s.db
	if args[0] != nil {
		db = s.inst.DatabaseByID(int32(integer(args[0])))
	}
	if db == nil || db.Storage() == nil {
		return nil, nil
	}
	var rows [][]any
	for _, v := range db.Storage().Log().VirtualFiles() {
		rows = append(
			rows,
			[]any{
				int64(db.ID()),
				int64(2),
				int64(v.Begin),
				float64(v.Bytes) / (1 << 20),
				int64(v.Number),
				true,
				int64(2),
				int64(64),
				storage.MakeLSN(v.Number, v.First, 0).String(),
				nil,
				nil,
			},
		)
	}
	return rows, nil
}

// indexPages is sys.dm_db_index_physical_stats: every index is one piece of a B-tree of one level, as far as it is
// known.
func indexPages(ctx context.Context, s *Session, args []any) ([][]any, error) {
	mode, _ := args[4].(string)
	if modes := []string{"", "default", "limited", "sampled", "detailed"}; !slices.Contains(modes, lower(mode)) {
		return nil, unsupported("The mode " + mode + " of sys.dm_db_index_physical_stats")
	}
	scan := "LIMITED"
	if lower(mode) == "sampled" || lower(mode) == "detailed" {
		scan = "DETAILED"
	}
	var rows [][]any
	for _, db := range s.inst.Databases() {
		if args[0] != nil && integer(args[0]) != 0 && integer(args[0]) != int64(db.ID()) || db.State() != Online {
			continue
		}
		found, err := s.RowsOf(
			ctx,
			db,
			`SELECT CAST(DB_ID() AS smallint), p.object_id, p.index_id, p.partition_number, CASE WHEN i.type = 0 THEN 'HEAP' WHEN i.type = 1 THEN 'CLUSTERED INDEX' ELSE 'NONCLUSTERED INDEX' END, 'IN_ROW_DATA', CAST(1 AS tinyint),
				CAST(0 AS tinyint), CAST(0 AS float), CAST(1 AS bigint), CAST(p.used_page_count AS float), p.used_page_count, CAST(NULL AS float), IIF(@p4 = 'LIMITED', NULL, p.row_count), CAST(IIF(@p4 = 'LIMITED', NULL, 0) AS bigint),
				CAST(IIF(@p4 = 'LIMITED', NULL, 0) AS bigint), CAST(NULL AS int), CAST(NULL AS int), CAST(NULL AS float), CAST(IIF(i.type = 0 AND @p4 <> 'LIMITED', 0, NULL) AS bigint), CAST(0 AS bigint), p.partition_id,
				CAST(0 AS tinyint), 'NOT VALID', CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(NULL AS bigint)
			FROM sys.dm_db_partition_stats p JOIN sys.indexes i ON i.object_id = p.object_id AND i.index_id = p.index_id
			WHERE (ISNULL(@p1, 0) = 0 OR p.object_id = @p1) AND (ISNULL(@p2, -1) = -1 OR p.index_id = @p2) AND (ISNULL(@p3, 0) = 0 OR p.partition_number = @p3) ORDER BY p.object_id, p.index_id, p.partition_number`,
			[]any{args[1], args[2], args[3], scan},
		)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// lockRecords are the locks that the stand-in knows: each session's shared lock on its database, and application locks.
// Rows and tables are not locked.
func lockRecords(_ context.Context, s *Session) ([]record, error) {
	var out []record
	lock := func(of *Session, kind, mode, description, owner string, database int) {
		out = append(
			out,
			record{
				"resource_type":                 kind,
				"resource_subtype":              "",
				"resource_database_id":          database,
				"resource_description":          description,
				"resource_associated_entity_id": 0,
				"resource_lock_partition":       0,
				"request_mode":                  mode,
				"request_type":                  "LOCK",
				"request_status":                "GRANT",
				"request_reference_count":       1,
				"request_lifetime":              0,
				"request_session_id":            of.spid,
				"request_exec_context_id":       0,
				"request_request_id":            0,
				"request_owner_type":            owner,
				"request_owner_id":              0,
			},
		)
	}
	for _, other := range s.inst.Sessions() {
		if other.internal {
			continue
		}
		lock(other, "DATABASE", "S", "", "SHARED_TRANSACTION_WORKSPACE", other.snapshot().database)
	}
	locks := &s.inst.applocks
	locks.mu.Lock()
	defer locks.mu.Unlock()
	for key, l := range locks.locks {
		for holder, h := range l.holders {
			owner := "SESSION"
			if h.transaction {
				owner = "TRANSACTION"
			}
			mode := map[string]string{"Shared": "S", "IntentShared": "IS", "IntentExclusive": "IX", "Update": "U",
				"Exclusive": "X"}[h.mode]
			lock(holder, "APPLICATION", mode, key, owner, holder.snapshot().database)
		}
	}
	return out, nil
}
