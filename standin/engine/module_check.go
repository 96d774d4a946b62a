// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

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
	b.ofText = true
	err := b.bindNaming(func() {
		b.with(def.WithCtesAndXmlNamespaces)
		q := b.query(&scope{}, def.QueryExpression, queryOptions{subquery: true})
		view := NameOf(viewName(node)).Name
		if len(names) > 0 && len(names) != len(q.outputs) {
			b.fail(pick(len(names) > len(q.outputs), 8159, 8158), view)
		}
		columns := make([]string, len(q.outputs))
		for i, o := range q.outputs {
			columns[i] = o.name
			if len(names) > 0 {
				columns[i] = names[i].Value
			}
		}
		b.uniqueColumns(columns, view, 4511)
	})
	if err != nil {
		return err
	}
	return nil
}

// namesTemporary tells whether a query has a temporary table in it, which views may not have
// (docs/t-sql/statements/create-view-transact-sql.md, select_statement).
func namesTemporary(query *ast.SelectStatement) (found bool) {
	eachNode(reflect.ValueOf(query), func(n any) {
		ref, ok := n.(*ast.NamedTableReference)
		found = found || ok && NameOf(ref.SchemaObject).Temporary()
	})
	return found
}

// uniqueColumns are the names of a view's or function's columns: 4506 for one that is there twice, the number unnamed
// for one without.
func (b *binder) uniqueColumns(columns []string, module string, unnamed int32) {
	seen := map[string]bool{}
	for i, name := range columns {
		if name == "" {
			b.fail(unnamed, i+1)
		}
		if seen[lower(name)] {
			b.fail(4506, name, module)
		}
		seen[lower(name)] = true
	}
}

// checkInline binds the query of an inline table-valued function, its parameters without values, so that a function
// over nothing is refused as a view is. A query over a parameter of a table type is bound when the function is called.
func (s *Session) checkInline(ctx context.Context, name string, m moduleParts) error {
	ret, ok := m.returns.(*ast.SelectFunctionReturnType)
	if !ok || ret.SelectStatement == nil {
		return sqlerr.New(102, 1, "RETURN")
	}
	if err := sideEffects(ret.SelectStatement); err != nil {
		return err
	}
	b := newBinder(ctx, s, s.db.ID())
	b.ofText = true
	f := &frame{variables: map[string]*variable{}, batch: s.frame().batch, procedure: name, module: s.frame().module}
	s.frames = append(s.frames, f)
	defer func() { s.frames = s.frames[:len(s.frames)-1] }()
	err := b.bindNaming(func() {
		for _, p := range m.parameters {
			if strings.EqualFold(p.Modifier, "ReadOnly") {
				return
			}
			f.variables[lower(p.VariableName.Value)] = &variable{
				name:  p.VariableName.Value,
				typ:   b.dataType(p.DataType, false),
				bound: "NULL",
			}
		}
		b.with(ret.SelectStatement.WithCtesAndXmlNamespaces)
		q := b.query(&scope{}, ret.SelectStatement.QueryExpression, queryOptions{subquery: true})
		columns := make([]string, len(q.outputs))
		for i, o := range q.outputs {
			columns[i] = o.name
		}
		b.uniqueColumns(columns, name, 4514)
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
