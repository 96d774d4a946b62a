// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// nestedChange is the INSERT, UPDATE, DELETE or MERGE whose OUTPUT rows an INSERT takes
// (docs/t-sql/queries/from-transact-sql.md, <dml_table_source>); nil for any other source.
func nestedChange(n *ast.InsertStatement) *ast.DataModificationTableReference {
	src, ok := n.InsertSpecification.InsertSource.(*ast.SelectInsertSource)
	if !ok {
		return nil
	}
	q, ok := src.Select.(*ast.QuerySpecification)
	if !ok || q.FromClause == nil || len(q.FromClause.TableReferences) != 1 {
		return nil
	}
	ref, _ := q.FromClause.TableReferences[0].(*ast.DataModificationTableReference)
	return ref
}

// insertChanged makes the nested change first, keeps the rows of its OUTPUT clause, and inserts from them.
func (s *Session) insertChanged(
	ctx context.Context,
	n *ast.InsertStatement,
	ref *ast.DataModificationTableReference,
	w tds.Writer,
) error {
	node, output := changeStatement(ref.DataModificationSpecification, n.WithCtesAndXmlNamespaces)
	if node == nil {
		return unsupported(fmt.Sprintf("The data modification %s", bind.NodeName(ref.DataModificationSpecification)))
	}
	if output == nil {
		return sqlerr.New(10726, 1)
	}
	return s.together(ctx, func() error {
		changed := &collectWriter{}
		if err := s.dispatch(ctx, node, changed); err != nil {
			return err
		}
		result := changed.first()
		if result == nil {
			return sqlerr.New(10726, 1)
		}
		names, err := changeNames(ref, result.Columns)
		if err != nil {
			return err
		}
		columns := make([]*metadata.Column, len(result.Columns))
		for i, c := range result.Columns {
			columns[i] = &metadata.Column{
				ID:        int32(i + 1),
				Name:      names[i],
				Type:      c.Type,
				Nullable:  true,
				Collation: sqltype.DefaultCollation,
			}
		}
		table, err := s.frameTable(ctx, "@changed", columns)
		if err != nil {
			return err
		}
		if _, err := s.insertValues(ctx, bind.TempSpace, table, columns, result.Columns, result.Rows, true); err != nil {
			return err
		}
		f := s.frame()
		outer := f.changed
		f.changed = table
		defer func() { f.changed = outer }()
		p, err := s.compile(ctx, nil, func(b *bind.Binder) *bind.Plan { return b.Insert(n) })
		if err != nil {
			return err
		}
		return s.runChange(ctx, p, w)
	})
}

// changeStatement is the statement of a nested change, and its OUTPUT clause.
func changeStatement(
	spec ast.DataModificationSpecification,
	with *ast.WithCtesAndXmlNamespaces,
) (ast.Statement, *ast.OutputClause) {
	switch t := spec.(type) {
	case *ast.InsertSpecification:
		return &ast.InsertStatement{InsertSpecification: t, WithCtesAndXmlNamespaces: with}, t.OutputClause
	case *ast.UpdateSpecification:
		return &ast.UpdateStatement{UpdateSpecification: t, WithCtesAndXmlNamespaces: with}, t.OutputClause
	case *ast.DeleteSpecification:
		return &ast.DeleteStatement{DeleteSpecification: t, WithCtesAndXmlNamespaces: with}, t.OutputClause
	case *ast.MergeSpecification:
		return &ast.MergeStatement{MergeSpecification: t, WithCtesAndXmlNamespaces: with}, t.OutputClause
	}
	return nil, nil
}

func changeNames(ref *ast.DataModificationTableReference, columns []tds.Column) ([]string, error) {
	alias, listed := syntax.ChangeAlias(ref)
	if len(listed) > 0 && len(listed) != len(columns) {
		return nil, sqlerr.New(pick(len(listed) > len(columns), 8159, 8158), 1, alias)
	}
	names, seen := make([]string, len(columns)), map[string]bool{}
	for i, c := range columns {
		if names[i] = c.Name; len(listed) > 0 {
			names[i] = listed[i]
		}
		if names[i] == "" {
			return nil, sqlerr.New(8155, 1, i+1, alias)
		}
		if seen[lower(names[i])] {
			return nil, sqlerr.New(8156, 1, names[i], alias)
		}
		seen[lower(names[i])] = true
	}
	return names, nil
}
