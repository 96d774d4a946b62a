// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// installDescriptions registers what drivers ask about a statement before they run it
// (docs/relational-databases/system-stored-procedures/sp-describe-first-result-set-transact-sql.md,
// sp-describe-undeclared-parameters-transact-sql.md).
func installDescriptions(r *Registry) {
	r.Procedure(Procedure{Name: "sp_describe_undeclared_parameters", Parameters: []Parameter{
		{Name: "@tsql", Type: nmax, Required: true}, {Name: "@params", Type: nmax}}, Run: describeUndeclared})
	first := "@tsql! nvarchar(max), @params nvarchar(max), @browse_information_mode tinyint = 0"
	r.Procedure(
		Procedure{
			Name:       "sp_describe_first_result_set",
			Parameters: ParameterList(first),
			Run: func(ctx context.Context, c *ProcCall) error {
				rows, cause, err := c.Session.firstResultSet(ctx, c.String("@tsql"), c.String("@params"))
				if cause != nil {
					err = &sqlerr.Error{
						Number: 11529,
						Class:  16,
						State:  1,
						Message: "The metadata could not be determined because every code path results in an error; see previous " +
							"errors for some of these.",
					}
				}
				if err != nil {
					return err
				}
				return c.ResultSet(columns(firstResultColumns+tdsResultColumns), rows)
			},
		},
	)
	r.TextFunction(
		"sys",
		"dm_exec_describe_first_result_set_for_object",
		firstResultColumns+errorResultColumns,
		"SELECT r.* FROM sys.procedures AS p CROSS APPLY sys.dm_exec_describe_first_result_set(N'EXEC ' + "+
			"QUOTENAME(SCHEMA_NAME(p.schema_id)) + N'.' + QUOTENAME(p.name), NULL, @p2) AS r WHERE p.object_id = @p1",
		sqltype.IntType,
		sqltype.IntType,
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_exec_describe_first_result_set",
			Parameters: []sqltype.Type{nmax, nmax, sqltype.IntType},
			Columns:    columns(firstResultColumns + errorResultColumns),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				text, _ := args[0].(string)
				params, _ := args[1].(string)
				rows, cause, err := s.firstResultSet(ctx, text, params)
				if cause != nil {
					return [][]any{undescribed(cause)}, nil
				}
				for i, row := range rows {
					rows[i] = append(row[:describedColumns:describedColumns], make([]any, 6)...)
				}
				return rows, err
			},
		},
	)
}

// undescribed is the row of sys.dm_exec_describe_first_result_set that tells why a batch has no description; the
// function itself does not fail.
func undescribed(cause *sqlerr.Error) []any {
	kind, name := int64(1), "MISC"
	if cause.Class == 15 {
		kind, name = 2, "SYNTAX"
	}
	row := make([]any, describedColumns, describedColumns+6)
	row[0], row[1], row[3] = false, int64(0), false
	return append(row, int64(cause.Number), int64(cause.Class), int64(cause.State), cause.Message, kind, name)
}

const firstResultColumns = "is_hidden bit, column_ordinal int, name sysname, is_nullable bit, system_type_id int, " +
	"system_type_name nvarchar(256), max_length smallint, precision tinyint, scale tinyint, collation_name sysname, " +
	"user_type_id int, user_type_database sysname, user_type_schema sysname, user_type_name sysname, " +
	"assembly_qualified_type_name nvarchar(4000), xml_collection_id int, xml_collection_database sysname, " +
	"xml_collection_schema sysname, xml_collection_name sysname, is_xml_document bit, is_case_sensitive bit, " +
	"is_fixed_length_clr_type bit, source_server sysname, source_database sysname, source_schema sysname, " +
	"source_table sysname, source_column sysname, is_identity_column bit, is_part_of_unique_key bit, is_updateable " +
	"bit, is_computed_column bit, is_sparse_column_set bit, ordinal_in_order_by_list smallint, " +
	"order_by_is_descending smallint, order_by_list_length smallint"

// What the procedure has beyond those columns, and what the function has in their place.
const (
	describedColumns   = 35
	tdsResultColumns   = ", tds_type_id int, tds_length int, tds_collation_id int, tds_collation_sort_id tinyint"
	errorResultColumns = ", error_number int, error_severity int, error_state int, error_message nvarchar(4000), " +
		"error_type int, error_type_desc nvarchar(60)"
)

// firstColumns finds the columns of the first result set of a batch without running it, by FMTONLY. cause is why there
// is none to describe.
func (s *Session) firstColumns(
	ctx context.Context,
	text, params string,
) (columns []tds.Column, cause *sqlerr.Error, err error) {
	restore := s.optionScope()
	defer restore()
	s.settings.fmtOnly = true
	told := &discardWriter{}
	w := &firstColumns{Writer: told}
	declarations, perr := syntax.ParseParameters(params)
	if perr != nil {
		return nil, nil, perr
	}
	if u, err := s.undeclaredParameters(ctx, text, declarations); err == nil && len(u.order) > 0 {
		// Microsoft's ODBC driver describes what it has prepared without its parameters, which have no types yet.
		params = u.declare(params)
		if declarations, perr = syntax.ParseParameters(params); perr != nil {
			return nil, nil, perr
		}
	}
	values := make([]tds.Param, len(declarations))
	for i, d := range declarations {
		values[i] = tds.Param{Name: d.Name, Type: d.Type}
	}
	counted := s.rowCount
	err = s.executeText(ctx, text, params, values, w, false)
	s.rowCount = counted
	if err != nil && !w.seen {
		if cause = told.err; cause != nil || errors.As(err, &cause) {
			return nil, cause, nil
		}
		return nil, nil, err
	}
	if told.err != nil && !w.seen {
		return nil, told.err, nil
	}
	return w.columns, nil, nil
}

// firstResultSet describes the first result set of a batch, a row for each column.
func (s *Session) firstResultSet(
	ctx context.Context,
	text, params string,
) (rows [][]any, cause *sqlerr.Error, err error) {
	columns, cause, err := s.firstColumns(ctx, text, params)
	if cause != nil || err != nil {
		return nil, cause, err
	}
	rows = make([][]any, len(columns))
	for i, c := range columns {
		id, length := tdsTypeOf(c.Type)
		collation := any(nil)
		if c.Type.Kind.IsCharacter() {
			collation = sqltype.DefaultCollation
		}
		row := make([]any, describedColumns+4)
		copy(
			row,
			[]any{
				false,
				int64(i + 1),
				TextOrNull(c.Name),
				c.Nullable,
				c.Type.SystemTypeID(),
				c.Type.String(),
				int64(c.Type.MaxBytes()),
				int64(c.Type.DisplayPrecision()),
				int64(c.Type.DisplayScale()),
				collation,
			},
		)
		row[19], row[20], row[21], row[27], row[29], row[30], row[31] = false, false, false, c.Identity, !c.Identity, false,
			false
		row[35], row[36] = id, length
		rows[i] = row
	}
	return rows, nil, nil
}

// firstColumns keeps the columns of the first result set.
type firstColumns struct {
	tds.Writer
	seen    bool
	columns []tds.Column
}

func (w *firstColumns) Columns(cols []tds.Column) error {
	if !w.seen {
		w.seen, w.columns = true, append([]tds.Column(nil), cols...)
	}
	return nil
}

func (w *firstColumns) Row([]any) error           { return nil }
func (w *firstColumns) Done(tds.Completion) error { return nil }
