// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// declaredType is a variable's type. The parser forgets the name of one that it does not know itself (sysname, types of
// the user's); it is read from the text then.
func (s *Session) declaredType(node *ast.SqlDataTypeReference) (sqltype.Type, *sqlerr.Error) {
	f := s.frame()
	if node == nil || node.SqlDataTypeOption != "" || node.Name != nil || f == nil || f.batch == nil {
		t, err := bind.DataTypeOf(node, false)
		return s.inCodePage(t), err
	}
	text := f.batch.TextOf(node)
	t, err := syntax.ParseType(text)
	if err == nil {
		return s.inCodePage(t), nil
	}
	if alias := s.aliasType(s.context(), bind.SplitName(text)); alias != nil {
		return s.inCodePage(*alias), nil
	}
	return t, sqlerr.New(2715, 6, 0, text)
}

// declaredName is the name of a variable's type.
func (s *Session) declaredName(node *ast.SqlDataTypeReference) string {
	if node.SqlDataTypeOption != "" {
		return node.SqlDataTypeOption
	}
	return s.typeNameIn(node).Name
}

func (s *Session) declareVariables(ctx context.Context, n *ast.DeclareVariableStatement, w tds.Writer) error {
	for i, d := range n.Declarations {
		name := d.VariableName.Value
		if !strings.HasPrefix(name, "@") {
			name = "@" + name
		}
		if done, err := s.declareTyped(ctx, name, d); done || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if d.DataType != nil && strings.EqualFold(s.declaredName(d.DataType), "cursor") {
			if s.variable(name) == nil {
				s.declare(name, sqltype.IntType, nil).isCursor = true
			}
			continue
		}
		t, e := s.declaredType(d.DataType)
		if e != nil {
			alias := (*sqltype.Type)(nil)
			if d.DataType != nil && d.DataType.Name != nil {
				alias = s.aliasType(ctx, bind.NameOf(d.DataType.Name))
			}
			if alias == nil {
				return placedVariable(e, i+1)
			}
			t = *alias
		}
		v := s.variable(name)
		if v == nil {
			v = s.declare(name, t, nil)
		}
		// A declaration in a loop is the same variable; only its initial value is set again.
		v.typ = t
		if d.Value != nil {
			value, err := s.evaluate(ctx, d.Value, t)
			if err != nil {
				return err
			}
			v.value = value
		}
	}
	return nil
}

func (s *Session) setVariable(ctx context.Context, n *ast.SetVariableStatement, w tds.Writer) error {
	if v := s.variable(n.Variable.Name); v != nil && v.isCursor {
		return s.setCursor(v, n)
	}
	if n.FunctionCallExists {
		return s.modifyVariable(ctx, n)
	}
	if n.CursorDefinition != nil && s.variable(n.Variable.Name) != nil {
		return sqlerr.New(16948, 1, n.Variable.Name)
	}
	if n.CursorDefinition != nil || n.SeparatorType != "" && n.Identifier != nil {
		return unsupported("SET of a cursor variable or a method")
	}
	v := s.variable(n.Variable.Name)
	if v == nil || v.table != nil {
		return sqlerr.New(137, 1, n.Variable.Name)
	}
	var node ast.ScalarExpression = n.Expression
	if op := bind.CompoundOperator(n.AssignmentKind); op != "" {
		node = &ast.BinaryExpression{BinaryExpressionType: op, FirstExpression: n.Variable, SecondExpression: n.Expression}
	}
	value, err := s.evaluateKeyed(ctx, n, node, v.typ)
	if err != nil {
		return err
	}
	v.value = value
	return nil
}

// VariableAs is a variable's value in another type, for statements that other packages execute; 137 when it is not
// declared.
func (s *Session) VariableAs(name string, t sqltype.Type) (any, error) {
	v := s.variable(name)
	if v == nil {
		return nil, sqlerr.New(137, 2, strings.TrimSpace(name))
	}
	value, err := s.Convert(v.value, v.typ, t, sqltype.Implicit)
	if err != nil {
		return nil, err
	}
	return value, nil
}

// SetVariable gives a variable a value of a type; 137 when it is not declared.
func (s *Session) SetVariable(name string, value any, t sqltype.Type) error {
	v := s.variable(name)
	if v == nil {
		return sqlerr.New(137, 1, strings.TrimSpace(name))
	}
	converted, err := s.Convert(value, t, v.typ, sqltype.Implicit)
	if err != nil {
		return err
	}
	v.value = converted
	return nil
}
