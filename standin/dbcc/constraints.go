// SPDX-License-Identifier: Apache-2.0

package dbcc

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// violationsShown is how many rows DBCC CHECKCONSTRAINTS tells of a constraint without ALL_ERRORMSGS.
const violationsShown = 200

// checkConstraints is DBCC CHECKCONSTRAINTS: the rows that checks and foreign keys do not hold for, which came in while
// a constraint was not enforced (docs/t-sql/database-console-commands/dbcc-checkconstraints-transact-sql.md).
func checkConstraints(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if err := s.Require(ctx, engine.Permission{Name: "CONTROL", Database: s.CurrentDatabase()}); err != nil {
		return err
	}
	all, limit := false, violationsShown
	for _, o := range n.Options {
		switch o.OptionKind {
		case "AllConstraints":
			all = true
		case "AllErrorMessages":
			limit = 0
		case "NoInfoMessages":
		default:
			return sqlerr.New(2532, 1)
		}
	}
	sch, err := s.Catalog(ctx, s.CurrentDatabase())
	if err != nil {
		return err
	}
	list, err := constraintsToCheck(ctx, s, n, sch, all)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, c := range list {
		found, err := violations(ctx, s, sch, c, limit)
		if err != nil {
			return err
		}
		rows = append(rows, found...)
	}
	text := sqltype.Type{Kind: sqltype.VarChar, Length: 8000}
	if len(rows) > 0 {
		if err := engine.WriteResult(w, []tds.Column{
			engine.Column("Table", text),
			engine.Column("Constraint", text),
			engine.Column("Where", text),
		}, rows); err != nil {
			return err
		}
	}
	return done(n, w)
}

// constraintsToCheck are the checks and foreign keys of the table or the one constraint that is named, else of all
// tables.
func constraintsToCheck(
	ctx context.Context, s *engine.Session,
	n *ast.DbccStatement,
	sch *metadata.Catalog,
	all bool,
) ([]*metadata.Object, error) {
	judged := func(o *metadata.Object) bool {
		return o.Kind == metadata.KindCheck || o.Kind == metadata.KindForeignKey
	}
	var named *metadata.Object
	if len(n.Literals) > 0 {
		var err error
		if _, named, err = objectOf(ctx, s, s.CurrentDatabase(), n.Literals[0],
			func(o *metadata.Object) bool { return isTable(o) || judged(o) }); err != nil {
			return nil, err
		}
		if judged(named) {
			return []*metadata.Object{named}, nil
		}
	}
	var list []*metadata.Object
	for _, o := range sch.Objects {
		if judged(o) && (named == nil || o.Parent == named.ID) && (all || !o.Disabled) {
			list = append(list, o)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list, nil
}

// violations are the rows of a table that a constraint does not hold for, at most limit of them unless that is 0.
func violations(
	ctx context.Context, s *engine.Session,
	sch *metadata.Catalog,
	c *metadata.Object,
	limit int,
) ([][]any, error) {
	table := sch.Objects[c.Parent]
	if table == nil || table.Table == nil {
		return nil, nil
	}
	where, read, err := violated(ctx, s, sch, table, c)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(read))
	for i, column := range read {
		name, shown := "t."+syntax.QuoteName(column.Name), strings.ReplaceAll(syntax.QuoteName(column.Name), "'", "''")
		parts[i] = "IIF(" + name + " IS NULL, '" + shown + " IS NULL', CONCAT('" + shown +
			" = ''', REPLACE(CONVERT(nvarchar(max), " + name + "), '''', ''''''), ''''))"
	}
	top := ""
	if limit > 0 {
		top = fmt.Sprintf("TOP (%d) ", limit)
	}
	full := syntax.QuoteName(sch.SchemaName(table)) + "." + syntax.QuoteName(table.Name)
	found, err := s.Query(
		ctx,
		"SELECT "+top+"CONCAT("+strings.Join(parts, ", ' AND ', ")+", '') AS w FROM "+full+" AS t WHERE "+where,
	)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, found.Len())
	for i := range rows {
		rows[i] = []any{full, syntax.QuoteName(c.Name), found.String(i, "w")}
	}
	return rows, nil
}

// violated is the condition of the rows of a table that a constraint does not hold for, and the columns that it reads.
func violated(
	ctx context.Context, s *engine.Session,
	sch *metadata.Catalog,
	table, c *metadata.Object,
) (string, []*metadata.Column, error) {
	var read []*metadata.Column
	if c.Kind == metadata.KindCheck {
		for _, column := range table.Table.Columns {
			used, err := s.ChecksColumn(ctx, sch, table, c, column)
			if err != nil {
				return "", nil, err
			}
			if used {
				read = append(read, column)
			}
		}
		if len(read) == 0 {
			read = table.Table.Columns
		}
		return "NOT (" + c.Definition + ")", read, nil
	}
	parent := sch.Objects[c.ForeignKey.Referenced]
	var given, same []string
	for i, id := range c.ForeignKey.Columns {
		own, other := table.Table.ColumnByID(id), parent.Table.ColumnByID(c.ForeignKey.RefColumns[i])
		read = append(read, own)
		given = append(given, "t."+syntax.QuoteName(own.Name)+" IS NOT NULL")
		same = append(same, "p."+syntax.QuoteName(other.Name)+" = t."+syntax.QuoteName(own.Name))
	}
	return strings.Join(
		given,
		" AND ",
	) + " AND NOT EXISTS (SELECT * FROM " + syntax.QuoteName(
		sch.SchemaName(parent),
	) + "." + syntax.QuoteName(
		parent.Name,
	) + " AS p WHERE " +
		strings.Join(
			same,
			" AND ",
		) + ")", read, nil
}
