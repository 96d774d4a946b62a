// SPDX-License-Identifier: Apache-2.0

package dbcc

import (
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// commands is what DBCC HELP knows: the commands that are executed here, with what they take
// (docs/t-sql/database-console-commands).
var commands = []string{
	"CHECKALLOC [ ( database [ , NOINDEX ] ) ] [ WITH [ ALL_ERRORMSGS ] [ , NO_INFOMSGS ] [ , TABLOCK ] ]",
	"CHECKCATALOG [ ( database ) ] [ WITH NO_INFOMSGS ]",
	"CHECKCONSTRAINTS [ ( table | constraint ) ] [ WITH [ ALL_CONSTRAINTS ] [ , NO_INFOMSGS ] ]",
	"CHECKDB [ ( database [ , NOINDEX ] ) ] [ WITH [ ALL_ERRORMSGS ] [ , EXTENDED_LOGICAL_CHECKS ] [ , NO_INFOMSGS ] [ " +
		", TABLOCK ] [ , PHYSICAL_ONLY | DATA_PURITY ] [ , MAXDOP = n ] ]",
	"CHECKFILEGROUP [ ( filegroup [ , NOINDEX ] ) ] [ WITH [ ALL_ERRORMSGS ] [ , NO_INFOMSGS ] [ , TABLOCK ] [ , " +
		"PHYSICAL_ONLY ] [ , MAXDOP = n ] ]",
	"CHECKIDENT ( table [ , NORESEED | RESEED [ , value ] ] ) [ WITH NO_INFOMSGS ]",
	"CHECKTABLE ( table [ , NOINDEX | index ] ) [ WITH [ ALL_ERRORMSGS ] [ , EXTENDED_LOGICAL_CHECKS ] [ , NO_INFOMSGS " +
		"] [ , TABLOCK ] [ , PHYSICAL_ONLY | DATA_PURITY ] [ , MAXDOP = n ] ]",
	"CLEANTABLE ( database , table [ , batch_size ] ) [ WITH NO_INFOMSGS ]",
	"DBREINDEX ( table [ , index [ , fillfactor ] ] ) [ WITH NO_INFOMSGS ]",
	"DROPCLEANBUFFERS [ WITH NO_INFOMSGS ]",
	"FREEPROCCACHE [ ( handle | pool ) ] [ WITH NO_INFOMSGS ]",
	"FREESESSIONCACHE [ WITH NO_INFOMSGS ]",
	"FREESYSTEMCACHE ( 'ALL' [ , pool ] ) [ WITH [ MARK_IN_USE_FOR_REMOVAL ] [ , NO_INFOMSGS ] ]",
	"HELP ( 'dbcc_statement' | @dbcc_statement_var | '?' ) [ WITH NO_INFOMSGS ]",
	"INPUTBUFFER ( session_id [ , request_id ] ) [ WITH NO_INFOMSGS ]",
	"OPENTRAN [ ( database ) ] [ WITH NO_INFOMSGS ]",
	"PROCCACHE [ WITH NO_INFOMSGS ]",
	"SHOW_STATISTICS ( table , target ) [ WITH [ NO_INFOMSGS ] [ , STAT_HEADER ] [ , DENSITY_VECTOR ] [ , HISTOGRAM ] ]",
	"SHRINKDATABASE ( database [ , target_percent ] [ , NOTRUNCATE | TRUNCATEONLY ] ) [ WITH NO_INFOMSGS ]",
	"SHRINKFILE ( file [ , EMPTYFILE | [ target_size ] [ , NOTRUNCATE | TRUNCATEONLY ] ] ) [ WITH NO_INFOMSGS ]",
	"SQLPERF ( LOGSPACE | \"sys.dm_os_latch_stats\" , CLEAR | \"sys.dm_os_wait_stats\" , CLEAR ) [ WITH NO_INFOMSGS ]",
	"TRACEOFF ( trace# [ , ...n ] [ , -1 ] ) [ WITH NO_INFOMSGS ]",
	"TRACEON ( trace# [ , ...n ] [ , -1 ] ) [ WITH NO_INFOMSGS ]",
	"TRACESTATUS ( [ trace# [ , ...n ] ] [ , -1 ] ) [ WITH NO_INFOMSGS ]",
	"UPDATEUSAGE ( database [ , table [ , index ] ] ) [ WITH [ NO_INFOMSGS ] [ , COUNT_ROWS ] ]",
	"USEROPTIONS [ WITH NO_INFOMSGS ]",
}

// help is DBCC HELP (docs/t-sql/database-console-commands/dbcc-help-transact-sql.md).
func help(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) != 1 {
		return sqlerr.New(2583, 3)
	}
	if !s.Login().Sysadmin {
		return &sqlerr.Error{
			Number:  2571,
			Class:   14,
			State:   4,
			Message: "User '" + s.Login().Name + "' does not have permission to run DBCC help.",
		}
	}
	word, err := wordOf(ctx, s, n.Literals[0])
	if err != nil {
		return err
	}
	found := false
	for _, line := range commands {
		name, _, _ := strings.Cut(line, " ")
		if word == "?" {
			line = strings.ToLower(name)
		} else {
			line = "dbcc " + line
		}
		if word != "?" && !strings.EqualFold(name, word) {
			continue
		}
		found = true
		if err := w.Message(&sqlerr.Error{Number: 0, State: 1, Message: line}); err != nil {
			return err
		}
	}
	if !found {
		return &sqlerr.Error{
			Number:  8987,
			Class:   16,
			State:   1,
			Message: "No help available for DBCC statement '" + word + "'.",
		}
	}
	return done(n, w)
}

// clearStatistics is DBCC SQLPERF of a view of waits or latches with CLEAR: neither is counted here, so there is
// nothing to reset (docs/t-sql/database-console-commands/dbcc-sqlperf-transact-sql.md).
func clearStatistics(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	view, err := wordOf(ctx, s, n.Literals[0])
	if err != nil {
		return err
	}
	clear, err := wordOf(ctx, s, n.Literals[1])
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"sys.dm_os_wait_stats", "sys.dm_os_latch_stats"}, strings.ToLower(view)) ||
		!strings.EqualFold(clear, "CLEAR") {
		return sqlerr.Unsupported("DBCC SQLPERF (" + view + ", " + clear + ")")
	}
	if err := s.Require(ctx, engine.Permission{Name: "ALTER SERVER STATE"}); err != nil {
		return err
	}
	return done(n, w)
}

// procedureCache is DBCC PROCCACHE: like sys.dm_exec_cached_plans it has no entries
// (docs/t-sql/database-console-commands/dbcc-proccache-transact-sql.md).
func procedureCache(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if err := s.Require(ctx, engine.Permission{Name: "CONTROL", Database: s.CurrentDatabase()}); err != nil {
		return err
	}
	row := make([]any, 6)
	for i := range row {
		row[i] = int64(0)
	}
	var cols []tds.Column
	for _, name := range []string{"num proc buffs", "num proc buffs used", "num proc buffs active", "proc cache size",
		"proc cache used", "proc cache active"} {
		cols = append(cols, engine.Column(name, sqltype.IntType))
	}
	if err := engine.WriteResult(w, cols, [][]any{row}); err != nil {
		return err
	}
	return done(n, w)
}

// The columns of the results of DBCC SHOW_STATISTICS; ~ stands for a space in a name.
const (
	statisticsHeader = "Name sysname, Updated nvarchar(20), Rows bigint, Rows~Sampled bigint, Steps smallint, Density " +
		"real, Average~Key~Length real, String~Index nchar(3), Filter~Expression nvarchar(4000), " +
		"Unfiltered~Rows bigint, Persisted~Sample~Percent float"
	statisticsDensities = "All~Density real, Average~Length real, Columns nvarchar(4000)"
	statisticsHistogram = "RANGE_HI_KEY sql_variant, RANGE_ROWS real, EQ_ROWS real, DISTINCT_RANGE_ROWS bigint, " +
		"AVG_RANGE_ROWS real"
)

// showStatistics is DBCC SHOW_STATISTICS. Statistics are definitions without content here, so of the header's numbers
// none is known but those of what there is not, and densities and histogram are empty, as they are where no data were
// read (docs/t-sql/database-console-commands/dbcc-show-statistics-transact-sql.md, Remarks).
func showStatistics(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) != 2 {
		return sqlerr.New(2583, 3)
	}
	wanted := map[string]bool{}
	for _, o := range n.Options {
		switch o.OptionKind {
		case "NoInfoMessages":
		case "StatHeader", "DensityVector", "Histogram":
			wanted[o.OptionKind] = true
		default:
			return sqlerr.Unsupported("DBCC SHOW_STATISTICS WITH " + strings.ToUpper(spaced(o.OptionKind)))
		}
	}
	sch, o, err := objectOf(ctx, s, s.CurrentDatabase(), n.Literals[0], isTable)
	if err != nil {
		return err
	}
	target, err := wordOf(ctx, s, n.Literals[1])
	if err != nil {
		return err
	}
	read := engine.Permission{Name: "SELECT", Database: s.CurrentDatabase(), Schema: sch.SchemaName(o), Object: o.Name,
		ObjectID: o.ID}
	if err := s.Require(ctx, read); err != nil {
		return err
	}
	header, err := s.RowsOf(
		ctx,
		s.CurrentDatabase(),
		`SELECT s.name, CONVERT(nvarchar(20), CAST(STATS_DATE(s.object_id, s.stats_id) AS datetime), 100), CAST(NULL AS bigint), CAST(NULL AS bigint), CAST(0 AS smallint), CAST(NULL AS real),
		CAST(NULL AS real), N'NO ', s.filter_definition, CAST(NULL AS bigint), CAST(0 AS float) FROM sys.stats AS s WHERE s.object_id = @p1 AND s.name = @p2`,
		[]any{int64(o.ID), target},
	)
	if err != nil {
		return err
	}
	if len(header) == 0 {
		return sqlerr.New(2767, 1, target)
	}
	for _, part := range []struct {
		option, columns string
		rows            [][]any
	}{{"StatHeader", statisticsHeader, header}, {"DensityVector", statisticsDensities, nil},
		{"Histogram", statisticsHistogram, nil}} {
		if len(wanted) > 0 && !wanted[part.option] {
			continue
		}
		cols := engine.ColumnList(part.columns)
		for i := range cols {
			cols[i].Name = strings.ReplaceAll(cols[i].Name, "~", " ")
		}
		if err := engine.WriteResult(w, cols, part.rows); err != nil {
			return err
		}
	}
	return done(n, w)
}

// logInfo is DBCC LOGINFO, which sys.dm_db_log_info has taken the place of
// (docs/relational-databases/system-dynamic-management-views/sys-dm-db-log-info-transact-sql.md); its columns are
// recalled, not read.
func logInfo(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	db, err := databaseOf(ctx, s, n)
	if err != nil {
		return err
	}
	rows, err := s.RowsOf(
		ctx,
		s.CurrentDatabase(),
		`SELECT 0, CAST(file_id AS int), CAST(vlf_size_mb * 1048576 AS bigint), vlf_begin_offset, CAST(vlf_sequence_number AS int), vlf_status, vlf_parity, CAST(0 AS numeric(25)) FROM sys.dm_db_log_info(@p1)`,
		[]any{int64(db.ID())},
	)
	if err != nil {
		return err
	}
	if err := engine.WriteResult(w,
		engine.ColumnList("RecoveryUnitId int, FileId int, FileSize bigint, StartOffset bigint, FSeqNo int, "+
			"Status int, Parity tinyint, CreateLSN numeric(25,0)"), rows); err != nil {
		return err
	}
	return done(n, w)
}

// userOptions is DBCC USEROPTIONS (docs/t-sql/database-console-commands/dbcc-useroptions-transact-sql.md).
func userOptions(s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) > 0 {
		return sqlerr.New(2583, 3)
	}
	name, value := engine.Column("Set Option", sqltype.Sysname), engine.Column("Value", sqltype.Sysname)
	if err := engine.WriteResult(w, []tds.Column{name, value}, s.UserOptions()); err != nil {
		return err
	}
	return done(n, w)
}
