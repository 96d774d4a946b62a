// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// returnedTable has the columns of a multi-statement table-valued function, whose definition is tried out.
func (s *Session) returnedTable(ctx context.Context, ret ast.FunctionReturnType) (*metadata.Table, error) {
	body := ret.(*ast.TableValuedFunctionReturnType).DeclareTableVariableBody
	if body == nil || body.VariableName == nil || body.Definition == nil {
		return nil, sqlerr.New(102, 1, "TABLE")
	}
	trial, err := s.TableOfDefinition(ctx, "@returns", body.Definition)
	if err != nil {
		return nil, err
	}
	table := &metadata.Table{NextColumn: trial.Table.NextColumn}
	for _, c := range trial.Table.Columns {
		copied := *c
		copied.Default = 0
		table.Columns = append(table.Columns, &copied)
	}
	return table, nil
}

// functionRows runs a multi-statement table-valued function; raw are its arguments as they are stored.
func (s *Session) functionRows(ctx context.Context, key string, raw []any) ([]tds.Column, [][]any, error) {
	parts := strings.Split(strings.TrimPrefix(key, bind.FunctionKey), ":")
	space, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil {
		return nil, nil, err
	}
	id, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return nil, nil, err
	}
	sch, err := s.schema(ctx, int32(space))
	if err != nil {
		return nil, nil, err
	}
	o := sch.Objects[int32(id)]
	if o == nil || o.Kind != metadata.KindTableFunction {
		return nil, nil, sqlerr.New(208, 1, key)
	}
	if s.nest >= maxNesting {
		return nil, nil, sqlerr.New(217, 1, maxNesting)
	}
	batch, node, perr := bind.ParseModule(o)
	if perr != nil {
		return nil, nil, perr
	}
	f := s.moduleFrame(o, batch)
	f.table = true
	before, line := s.db, s.line
	if db := s.inst.DatabaseByID(int32(space)); db != nil {
		s.db = db
	}
	s.frames = append(s.frames, f)
	s.nest++
	s.tryDepth++
	var columns []tds.Column
	var rows [][]any
	err = s.asOf(ctx, o, func() (err error) {
		columns, rows, err = s.runTableFunction(ctx, bind.ModuleOf(node), f, raw)
		return err
	})
	s.tryDepth--
	s.popFrame()
	s.db, s.line = before, line
	return columns, rows, err
}

func (s *Session) runTableFunction(
	ctx context.Context,
	m bind.Module,
	f *frame,
	raw []any,
) ([]tds.Column, [][]any, error) {
	for i, p := range m.Parameters {
		var t sqltype.Type
		b := newBinder(ctx, s, s.db.ID())
		if e := bind.Safely(func() { t = b.DataType(p.DataType, false) }); e != nil {
			return nil, nil, e
		}
		v, err := sqltype.Decode(t, raw[i])
		if err != nil {
			return nil, nil, err
		}
		f.variables[lower(p.VariableName.Value)] = &variable{name: p.VariableName.Value, typ: t, value: v}
	}
	body := m.Returns.(*ast.TableValuedFunctionReturnType).DeclareTableVariableBody
	var columns []tds.Column
	var rows [][]any
	err := s.inFunctionSpace(func() error {
		name := body.VariableName.Value
		o, err := s.TableOfDefinition(ctx, name, body.Definition)
		if err != nil {
			return err
		}
		s.declare(name, o.Table.Columns[0].Type, nil).table = o
		if err := s.functionStatements(m); err != nil {
			return err
		}
		columns, rows, err = s.allRows(ctx, name, o)
		return err
	})
	return columns, rows, err
}

// allRows reads a table variable.
func (s *Session) allRows(ctx context.Context, name string, o *metadata.Object) ([]tds.Column, [][]any, error) {
	p, err := s.compile(ctx, nil, func(b *bind.Binder) *bind.Plan {
		sc := &bind.Scope{}
		sch, called := b.Catalog(bind.TempSpace), bind.ObjectName{Name: name}
		from := b.BaseTable(sc, bind.TempSpace, sch, s.localObject(o), name, called)
		var list []string
		var columns []tds.Column
		for _, c := range sc.Sources[0].Columns {
			list = append(list, c.SQL)
			columns = append(columns, tds.Column{Name: c.Name, Type: c.Type, Nullable: true})
		}
		p := b.Plan("SELECT " + strings.Join(list, ", ") + " FROM " + from)
		p.Columns = columns
		return p
	})
	if err != nil {
		return nil, nil, err
	}
	var rows [][]any
	err = s.queryPlan(ctx, p, func(values []any) error {
		rows = append(rows, append([]any(nil), values...))
		return nil
	})
	return p.Columns, rows, err
}
