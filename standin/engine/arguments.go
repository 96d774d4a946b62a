// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// argument is one argument of a procedure call.
type argument struct {
	name      string
	value     any
	typ       sqltype.Type
	isDefault bool
	// output is the caller's variable that gets the value back.
	output *variable
	// returned asks for a RETURNVALUE token (RPC).
	returned bool
	// table is the caller's table variable, rows are those that a client sends.
	table *variable
	rows  *tds.Table
}

func (s *Session) arguments(ctx context.Context, params []*ast.ExecuteParameter) ([]argument, error) {
	out := make([]argument, 0, len(params))
	named := false
	for _, p := range params {
		a := argument{}
		if p.Variable != nil {
			a.name, named = p.Variable.Name, true
		} else if named {
			return nil, sqlerr.New(119, 1, len(out)+1)
		}
		switch v := p.ParameterValue.(type) {
		case *ast.DefaultLiteral:
			a.isDefault = true
		case *ast.VariableReference:
			x := s.variable(v.Name)
			if global := s.inst.registry.globals[lower(v.Name)]; x == nil && global != nil && !p.IsOutput {
				a.value, a.typ = global.Value(s), global.Type
				break
			}
			if x == nil {
				return nil, sqlerr.New(137, 2, v.Name)
			}
			a.value, a.typ = x.value, x.typ
			if x.table != nil {
				a.table = x
			}
			if p.IsOutput {
				a.output = x
			}
		case *ast.IdentifierLiteral:
			a.value, a.typ = v.Value, sqltype.NVarCharOf(max(1, len(v.Value)))
		case *ast.ColumnReferenceExpression:
			parts := bind.Identifiers(v.MultiPartIdentifier)
			text := strings.Join(parts, ".")
			a.value, a.typ = text, sqltype.NVarCharOf(max(1, len(text)))
		default:
			if p.IsOutput {
				return nil, sqlerr.New(179, 1)
			}
			var err error
			if a.value, a.typ, err = s.EvaluateTyped(ctx, p.ParameterValue); err != nil {
				return nil, err
			}
			if _, isNull := p.ParameterValue.(*ast.NullLiteral); isNull {
				a.typ = sqltype.Type{}
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// bindArguments makes a procedure's parameters its variables. It returns the variable of each argument.
func (s *Session) bindArguments(
	ctx context.Context,
	proc string,
	params []*ast.ProcedureParameter,
	args []argument,
	f *frame,
) (map[int]*variable, error) {
	given, e := matchArguments(proc, params, args)
	if e != nil {
		return nil, e
	}
	bound := map[int]*variable{}
	for i, p := range params {
		var a *argument
		at, ok := given[i]
		if ok {
			a = &args[at]
		}
		v, taken, err := s.bindArgument(ctx, proc, p, a, f)
		if err != nil {
			return nil, err
		}
		if taken {
			bound[at] = v
		}
	}
	return bound, nil
}

// matchArguments says which argument each parameter was given, by position and by name.
func matchArguments(proc string, params []*ast.ProcedureParameter, args []argument) (map[int]int, *sqlerr.Error) {
	byName := map[string]int{}
	for i, p := range params {
		byName[lower(p.VariableName.Value)] = i
	}
	given := map[int]int{}
	for i, a := range args {
		at := i
		if a.name != "" {
			n, ok := byName[lower(a.name)]
			if !ok {
				return nil, sqlerr.New(8145, 2, a.name, proc)
			}
			at = n
		}
		if at >= len(params) {
			if len(params) == 0 {
				return nil, sqlerr.New(8146, 2, proc)
			}
			return nil, sqlerr.New(8144, 2, proc)
		}
		if _, twice := given[at]; twice {
			return nil, sqlerr.New(8143, 1, params[at].VariableName.Value)
		}
		given[at] = i
	}
	return given, nil
}

// bindArgument makes the variable of one parameter; a is nil when it was given nothing. taken says that the variable
// has the argument's value, and may have one to give back.
func (s *Session) bindArgument(
	ctx context.Context,
	proc string,
	p *ast.ProcedureParameter,
	a *argument,
	f *frame,
) (v *variable, taken bool, err error) {
	name := p.VariableName.Value
	if isCursorType(p.DataType) {
		if a == nil {
			return nil, false, sqlerr.New(201, 4, proc, name)
		}
		if v, err = cursorArgument(name, a); err != nil {
			return nil, false, err
		}
		f.variables[lower(v.name)] = v
		return v, true, nil
	}
	if table := s.tableType(ctx, s.typeNameIn(p.DataType)); table != nil {
		_, err := s.tableArgument(ctx, f, name, table, a)
		return nil, false, err
	}
	t, err := s.moduleType(ctx, p.DataType)
	if err != nil {
		return nil, false, err
	}
	v = &variable{name: name, typ: t}
	f.variables[lower(name)] = v
	switch {
	case a == nil || a.isDefault:
		if p.Value == nil && s.settings.fmtOnly && a == nil {
			return v, false, nil // a procedure is described whatever it is given
		}
		if p.Value == nil {
			return nil, false, sqlerr.New(201, 4, proc, name)
		}
		v.value, err = s.defaultArgument(ctx, p.Value, t)
		return v, false, err
	case a.output != nil && !a.returned && !strings.EqualFold(p.Modifier, "Output"):
		return nil, false, sqlerr.New(8162, 2, name)
	case a.table != nil || a.rows != nil:
		return nil, false, sqlerr.New(206, 2, "table", t.Kind)
	}
	value, e := s.Convert(a.value, a.typ, t, sqltype.Implicit)
	if e != nil {
		if e.Number == 245 || e.Number == 8169 || e.Number == 241 {
			return nil, false, sqlerr.New(8114, 1, a.typ.Kind, t.Kind)
		}
		copied := *e
		return nil, false, &copied
	}
	v.value = value
	return v, true, nil
}

// moduleType is the type that a module declares a parameter or its result with: neither a table nor a cursor.
func (s *Session) moduleType(ctx context.Context, node ast.DataTypeReference) (sqltype.Type, error) {
	t, e := bind.DataTypeOf(node, false)
	if e == nil {
		return s.inCodePage(t), nil
	}
	if u, ok := node.(*ast.UserDataTypeReference); ok {
		if alias := s.aliasType(ctx, bind.NameOf(u.Name)); alias != nil {
			return s.inCodePage(*alias), nil
		}
	}
	return t, e
}

func (s *Session) defaultArgument(ctx context.Context, node ast.ScalarExpression, t sqltype.Type) (any, error) {
	if id, ok := node.(*ast.IdentifierLiteral); ok {
		v, e := s.Convert(id.Value, sqltype.NVarCharMax, t, sqltype.Implicit)
		if e != nil {
			return nil, e
		}
		return v, nil
	}
	return s.evaluate(ctx, node, t)
}
