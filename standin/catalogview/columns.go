// SPDX-License-Identifier: Apache-2.0

package catalogview

import (
	"context"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

const columnColumns = "object_id int, name sysname, column_id int, system_type_id tinyint, user_type_id int, " +
	"max_length smallint, precision tinyint, scale tinyint, collation_name sysname, " +
	"is_nullable bit, is_ansi_padded bit, is_rowguidcol bit, is_identity bit, is_computed bit, is_filestream bit, " +
	"is_replicated bit, is_non_sql_subscribed bit, is_merge_published bit, " +
	"is_dts_replicated bit, is_xml_document bit, xml_collection_id int, default_object_id int, rule_object_id int, " +
	"is_sparse bit, is_column_set bit, generated_always_type tinyint, " +
	"generated_always_type_desc nvarchar(60), encryption_type int, encryption_type_desc nvarchar(64), " +
	"encryption_algorithm_name sysname, column_encryption_key_id int, " +
	"column_encryption_key_database_name sysname, is_hidden bit, is_masked bit, graph_type int, graph_type_desc " +
	"nvarchar(60), is_data_deletion_filter_column bit, ledger_view_column_type tinyint, " +
	"ledger_view_column_type_desc nvarchar(60), is_dropped_ledger_column bit"

func installColumnViews(r *engine.Registry) {
	user := func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
		return columnRecords(ctx, s, func(*metadata.Column) bool { return true })
	}
	r.RecordView("", "sys", "columns", columnColumns, user)
	r.RecordView(
		"",
		"sys",
		"all_columns",
		columnColumns,
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			out, err := user(ctx, s)
			if err != nil {
				return nil, err
			}
			return append(out, systemColumns(r)...), nil
		},
	)
	r.RecordView(
		"",
		"sys",
		"computed_columns",
		columnColumns+", definition nvarchar(max), uses_database_collation bit, is_persisted bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return columnRecords(ctx, s, func(c *metadata.Column) bool { return c.Computed != "" })
		},
	)
	r.RecordView(
		"",
		"sys",
		"identity_columns",
		columnColumns+", seed_value sql_variant, increment_value sql_variant, last_value sql_variant, "+
			"is_not_for_replication bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			return columnRecords(ctx, s, func(c *metadata.Column) bool { return c.Identity != nil })
		},
	)
	r.RecordView(
		"",
		"sys",
		"sysindexes",
		"id int, status int, first binary(6), indid smallint, root binary(6), minlen smallint, keycnt smallint, groupid "+
			"smallint, dpages int, reserved int, used int, rowcnt bigint, "+
			"rowmodctr int, reserved3 int, reserved4 int, xmaxlen smallint, maxirow smallint, OrigFillFactor tinyint, "+
			"StatVersion tinyint, reserved2 int, FirstIAM binary(6), impid smallint, lockflags smallint, pgmodctr int, "+
			"keys varbinary(816), name sysname, statblob image, maxlen int, rows int",
		formerIndexRecords,
	)
	r.RecordView(
		"",
		"sys",
		"indexes",
		"object_id int, name sysname, index_id int, type tinyint, type_desc nvarchar(60), is_unique bit, data_space_id "+
			"int, ignore_dup_key bit, "+
			"is_primary_key bit, is_unique_constraint bit, fill_factor tinyint, is_padded bit, is_disabled bit, "+
			"is_hypothetical bit, is_ignored_in_optimization bit, allow_row_locks bit, "+
			"allow_page_locks bit, has_filter bit, filter_definition nvarchar(max), compression_delay int, "+
			"suppress_dup_key_messages bit, auto_created bit, optimize_for_sequential_key bit",
		indexRecords,
	)
	r.RecordView(
		"",
		"sys",
		"index_columns",
		"object_id int, index_id int, index_column_id int, column_id int, key_ordinal tinyint, partition_ordinal tinyint, "+
			"is_descending_key bit, "+
			"is_included_column bit, column_store_order_ordinal tinyint",
		indexColumnRecords,
	)
	r.RecordView("", "sys", "stats", statisticsColumns, statisticsRecords)
	r.RecordView(
		"",
		"sys",
		"stats_columns",
		"object_id int, stats_id int, stats_column_id int, column_id int",
		statisticsColumnRecords,
	)
}

// formerIndexRecords are the rows of sys.sysindexes
// (docs/relational-databases/system-compatibility-views/sys-sysindexes-transact-sql.md).
func formerIndexRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	list, err := partitionRecords(ctx, s)
	if err != nil {
		return nil, err
	}
	sch, err := s.Catalog(ctx, s.ViewDatabase())
	if err != nil {
		return nil, err
	}
	list = wholeIndexes(list)
	pages, err := pagesOfIndexes(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, rec := range list {
		rec["id"], rec["indid"], rec["status"] = rec["object_id"], rec["index_id"], 0
		rec["rowcnt"], rec["rowmodctr"], rec["groupid"] = rec["rows"], 0, rec["data_space_id"]
		for _, internal := range []string{"minlen", "reserved3", "reserved4", "xmaxlen", "maxirow", "OrigFillFactor",
			"StatVersion", "reserved2", "impid", "lockflags", "pgmodctr"} {
			rec[internal] = 0
		}
		if p := pages[[2]int64{int64(rec["object_id"].(int32)), int64(rec["index_id"].(int32))}]; p != nil {
			rec["dpages"], rec["used"], rec["reserved"] = p[2], p[3], p[4]
		}
		if o := sch.Objects[rec["object_id"].(int32)]; o != nil {
			for _, i := range o.Table.Indexes {
				if i.ID == rec["index_id"] {
					rec["name"], rec["keycnt"], rec["status"], rec["OrigFillFactor"] = i.Name, len(i.Keys), formerIndexStatus(i),
						i.FillFactor
				}
			}
		}
	}
	return list, nil
}

// formerIndexStatus is the column status of sysindexes. Its page has it as internal by now; the Transact-SQL Reference
// of SQL Server 7.0 and 2000 (sysindexes) gave the bits, and clients look for primary keys by them.
func formerIndexStatus(i *metadata.Index) int {
	status := 0
	for _, b := range []struct {
		set bool
		bit int
	}{{i.IgnoreDup, 1}, {i.Unique, 2}, {i.Clustered, 16}, {i.PrimaryKey, 2048},
		{i.Constraint != 0 && !i.PrimaryKey, 4096}} {
		if b.set {
			status |= b.bit
		}
	}
	return status
}

// pagesOfIndexes are the rows of sys.dm_db_partition_stats for whole indexes, by table and index: their pages of data,
// used and reserved ones.
func pagesOfIndexes(ctx context.Context, s *engine.Session) (map[[2]int64][]any, error) {
	rows, err := s.RowsOf(
		ctx,
		s.ViewDatabase(),
		`SELECT CAST(object_id AS bigint), CAST(index_id AS bigint), SUM(in_row_data_page_count), SUM(used_page_count), SUM(reserved_page_count)
		FROM sys.dm_db_partition_stats GROUP BY object_id, index_id`,
		nil,
	)
	out := make(map[[2]int64][]any, len(rows))
	for _, row := range rows {
		out[[2]int64{row[0].(int64), row[1].(int64)}] = row
	}
	return out, err
}

func userTypeID(c *metadata.Column) int64 {
	if c.UserTypeID != 0 {
		return c.UserTypeID
	}
	for _, i := range sqltype.Infos {
		if c.UserType != "" && i.Name == strings.ToLower(c.UserType) {
			return i.UserTypeID
		}
	}
	if c.Type.Kind == sqltype.Decimal && c.Numeric {
		return 108
	}
	return c.Type.SystemTypeID()
}

func systemTypeID(c *metadata.Column) int64 {
	if c.Type.Kind == sqltype.Decimal && c.Numeric {
		return 108
	}
	return c.Type.SystemTypeID()
}

func columnRecords(ctx context.Context, s *engine.Session, keep func(*metadata.Column) bool) ([]engine.Record, error) {
	_, list, err := s.VisibleObjects(ctx)
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	for _, o := range list {
		if o.Kind == metadata.KindView || o.Kind == metadata.KindInline {
			out = append(out, columnsOfView(ctx, s, o, keep)...)
		}
		if o.Table == nil {
			continue
		}
		for _, c := range o.Table.Columns {
			if !keep(c) {
				continue
			}
			rec := columnRecord(o.ID, c.ID, c)
			rec["is_nullable"], rec["is_rowguidcol"], rec["is_identity"], rec["is_computed"] = c.Nullable, c.RowGUID,
				c.Identity != nil, c.Computed != ""
			rec["is_replicated"], rec["default_object_id"], rec["is_sparse"] = o.Table.Replicated, c.Default, c.Sparse
			if c.Type.Kind.IsCharacter() {
				rec["collation_name"] = c.Collation
			}
			if c.Computed != "" {
				rec["definition"], rec["uses_database_collation"], rec["is_persisted"] = "("+c.Computed+")", true, c.Persisted
			}
			if c.Identity != nil {
				rec["seed_value"], rec["increment_value"], rec["is_not_for_replication"] = c.Identity.Seed, c.Identity.Increment,
					c.Identity.NotForReplication
				rec["last_value"] = s.LastIdentity(ctx, o)
			}
			out = append(out, rec)
		}
	}
	return out, nil
}

// columnsOfView are the rows of sys.columns for a view.
func columnsOfView(
	ctx context.Context,
	s *engine.Session,
	o *metadata.Object,
	keep func(*metadata.Column) bool,
) []engine.Record {
	var out []engine.Record
	for _, column := range s.ViewShape(ctx, o) {
		if !keep(column) {
			continue
		}
		rec := columnRecord(o.ID, column.ID, column)
		rec["is_nullable"], rec["collation_name"] = column.Nullable, engine.TextOrNull(column.Collation)
		out = append(out, rec)
	}
	return out
}

// columnRecord is the row of a column that is nothing special.
func columnRecord(object, id int32, c *metadata.Column) engine.Record {
	return engine.Record{
		"object_id":                      object,
		"name":                           c.Name,
		"column_id":                      id,
		"system_type_id":                 systemTypeID(c),
		"user_type_id":                   userTypeID(c),
		"max_length":                     c.Type.MaxBytes(),
		"precision":                      c.Type.DisplayPrecision(),
		"scale":                          c.Type.DisplayScale(),
		"is_ansi_padded":                 c.Type.Kind.IsCharacter() || c.Type.Kind.IsBinary(),
		"is_rowguidcol":                  false,
		"is_identity":                    false,
		"is_computed":                    false,
		"is_filestream":                  false,
		"is_replicated":                  false,
		"is_non_sql_subscribed":          false,
		"is_merge_published":             false,
		"is_dts_replicated":              false,
		"is_xml_document":                false,
		"xml_collection_id":              0,
		"default_object_id":              0,
		"rule_object_id":                 0,
		"is_sparse":                      false,
		"is_column_set":                  false,
		"generated_always_type":          0,
		"generated_always_type_desc":     "NOT_APPLICABLE",
		"is_hidden":                      false,
		"is_masked":                      false,
		"is_data_deletion_filter_column": false,
		"is_dropped_ledger_column":       false,
	}
}

// systemColumns are the columns of the system views.
func systemColumns(r *engine.Registry) []engine.Record {
	var out []engine.Record
	for _, v := range r.Views() {
		if v.Database != "" {
			continue
		}
		for i, c := range v.Columns {
			column := &metadata.Column{Name: c.Name, Type: c.Type}
			rec := columnRecord(metadata.SystemObjectID(v.Schema+"."+v.Name), int32(i+1), column)
			rec["is_nullable"] = c.Nullable
			out = append(out, rec)
		}
	}
	return out
}

func indexRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	_, list, err := visibleTables(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	for _, o := range list {
		heap := true
		for _, i := range o.Table.Indexes {
			if i.Clustered {
				heap = false
			}
		}
		base := engine.Record{
			"object_id":                   o.ID,
			"data_space_id":               o.Table.Place.DataSpace(),
			"ignore_dup_key":              false,
			"fill_factor":                 0,
			"is_padded":                   false,
			"is_disabled":                 false,
			"is_hypothetical":             false,
			"is_ignored_in_optimization":  false,
			"allow_row_locks":             !o.Table.HeapLocks.NoRow,
			"allow_page_locks":            !o.Table.HeapLocks.NoPage,
			"has_filter":                  false,
			"suppress_dup_key_messages":   false,
			"auto_created":                false,
			"optimize_for_sequential_key": false,
		}
		with := func(more engine.Record) engine.Record {
			rec := engine.Record{}
			for k, v := range base {
				rec[k] = v
			}
			for k, v := range more {
				rec[k] = v
			}
			return rec
		}
		if heap {
			out = append(
				out,
				with(
					engine.Record{
						"index_id":             int32(0),
						"type":                 0,
						"type_desc":            "HEAP",
						"is_unique":            false,
						"is_primary_key":       false,
						"is_unique_constraint": false,
					},
				),
			)
		}
		for _, i := range o.Table.Indexes {
			kind := int64(2)
			if i.Clustered {
				kind = 1
			}
			rec := with(
				engine.Record{
					"index_id":                    i.ID,
					"name":                        i.Name,
					"type":                        kind,
					"type_desc":                   engine.Description(kind, "HEAP", "CLUSTERED", "NONCLUSTERED"),
					"is_unique":                   i.Unique,
					"is_primary_key":              i.PrimaryKey,
					"is_unique_constraint":        i.Constraint != 0 && !i.PrimaryKey,
					"fill_factor":                 i.FillFactor,
					"is_disabled":                 i.Disabled,
					"data_space_id":               i.Place.DataSpace(),
					"ignore_dup_key":              i.IgnoreDup,
					"is_padded":                   i.Padded,
					"allow_row_locks":             !i.Locks.NoRow,
					"allow_page_locks":            !i.Locks.NoPage,
					"optimize_for_sequential_key": i.SequentialKey,
				},
			)
			if i.Filter != "" {
				rec["has_filter"], rec["filter_definition"] = true, i.Filter
			}
			out = append(out, rec)
		}
	}
	return out, nil
}

// partitionColumn is a column that partitions a heap or an index without being in its key.
func partitionColumn(o *metadata.Object, index int32, ordinal int, column int32) engine.Record {
	return engine.Record{
		"object_id":                  o.ID,
		"index_id":                   index,
		"index_column_id":            ordinal,
		"column_id":                  column,
		"key_ordinal":                0,
		"partition_ordinal":          1,
		"is_descending_key":          false,
		"is_included_column":         false,
		"column_store_order_ordinal": 0,
	}
}

// partitionOrdinal is partition_ordinal: which of the partitioning columns a column is, of which there is one.
func partitionOrdinal(partitions bool) int64 {
	if partitions {
		return 1
	}
	return 0
}

func indexColumnRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	_, list, err := visibleTables(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []engine.Record
	for _, o := range list {
		if p := o.Table.Place.Column; p != 0 && !o.Table.IsClustered() {
			out = append(out, partitionColumn(o, 0, 1, p))
		}
		for _, i := range o.Table.Indexes {
			n := 0
			for k, key := range i.Keys {
				n++
				out = append(
					out,
					engine.Record{
						"object_id":                  o.ID,
						"index_id":                   i.ID,
						"index_column_id":            n,
						"column_id":                  key.Column,
						"key_ordinal":                k + 1,
						"partition_ordinal":          partitionOrdinal(key.Column == i.Place.Column),
						"is_descending_key":          key.Descending,
						"is_included_column":         false,
						"column_store_order_ordinal": 0,
					},
				)
			}
			for _, c := range i.Included {
				n++
				out = append(
					out,
					engine.Record{
						"object_id":                  o.ID,
						"index_id":                   i.ID,
						"index_column_id":            n,
						"column_id":                  c,
						"key_ordinal":                0,
						"partition_ordinal":          partitionOrdinal(c == i.Place.Column),
						"is_descending_key":          false,
						"is_included_column":         true,
						"column_store_order_ordinal": 0,
					},
				)
			}
			if p := i.Place.Column; p != 0 && !metadata.IsKey(i.Keys, p) && !slices.Contains(i.Included, p) {
				out = append(out, partitionColumn(o, i.ID, n+1, p))
			}
		}
	}
	return out, nil
}
