// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

// checkView binds a view's query, so that a view over nothing is refused.
func (s *Session) checkView(ctx context.Context, node ast.Statement) error {
	var def *ast.SelectStatement
	var names []*ast.Identifier
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		def, names = n.SelectStatement, n.Columns
	case *ast.AlterViewStatement:
		def, names = n.SelectStatement, n.Columns
	case *ast.CreateOrAlterViewStatement:
		def, names = n.SelectStatement, n.Columns
	}
	if def == nil {
		return sqlerr.New(102, 1, "VIEW")
	}
	if namesTemporary(def) {
		return sqlerr.New(4508, 1)
	}
	b := newBinder(ctx, s, s.db.ID())
	b.OfText = true
	err := b.Naming(func() {
		b.With(def.WithCtesAndXmlNamespaces)
		q := b.Query(&bind.Scope{}, def.QueryExpression, bind.QueryOptions{Subquery: true})
		view := bind.NameOf(viewName(node)).Name
		if len(names) > 0 && len(names) != len(q.Outputs) {
			b.Fail(pick(len(names) > len(q.Outputs), 8159, 8158), view)
		}
		columns := make([]string, len(q.Outputs))
		for i, o := range q.Outputs {
			columns[i] = o.Name
			if len(names) > 0 {
				columns[i] = names[i].Value
			}
		}
		b.UniqueColumns(columns, view, 4511)
	})
	if err != nil {
		return err
	}
	return nil
}

// namesTemporary tells whether a query has a temporary table in it, which views may not have
// (docs/t-sql/statements/create-view-transact-sql.md, select_statement).
func namesTemporary(query *ast.SelectStatement) (found bool) {
	bind.EachNode(reflect.ValueOf(query), func(n any) {
		ref, ok := n.(*ast.NamedTableReference)
		found = found || ok && bind.NameOf(ref.SchemaObject).Temporary()
	})
	return found
}

// checkInline binds the query of an inline table-valued function, its parameters without values, so that a function
// over nothing is refused as a view is. A query over a parameter of a table type is bound when the function is called.
func (s *Session) checkInline(ctx context.Context, name string, m bind.Module) error {
	ret, ok := m.Returns.(*ast.SelectFunctionReturnType)
	if !ok || ret.SelectStatement == nil {
		return sqlerr.New(102, 1, "RETURN")
	}
	if err := sideEffects(ret.SelectStatement); err != nil {
		return err
	}
	b := newBinder(ctx, s, s.db.ID())
	b.OfText = true
	f := &frame{variables: map[string]*variable{}, batch: s.frame().batch, procedure: name, module: s.frame().module}
	s.frames = append(s.frames, f)
	defer func() { s.frames = s.frames[:len(s.frames)-1] }()
	err := b.Naming(func() {
		for _, p := range m.Parameters {
			if strings.EqualFold(p.Modifier, "ReadOnly") {
				return
			}
			f.variables[lower(p.VariableName.Value)] = &variable{
				name:  p.VariableName.Value,
				typ:   b.DataType(p.DataType, false),
				bound: "NULL",
			}
		}
		b.With(ret.SelectStatement.WithCtesAndXmlNamespaces)
		q := b.Query(&bind.Scope{}, ret.SelectStatement.QueryExpression, bind.QueryOptions{Subquery: true})
		columns := make([]string, len(q.Outputs))
		for i, o := range q.Outputs {
			columns[i] = o.Name
		}
		b.UniqueColumns(columns, name, 4514)
	})
	if err != nil {
		return err
	}
	return nil
}

func viewName(node ast.Statement) *ast.SchemaObjectName {
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		return n.SchemaObjectName
	case *ast.AlterViewStatement:
		return n.SchemaObjectName
	case *ast.CreateOrAlterViewStatement:
		return n.SchemaObjectName
	}
	return nil
}
