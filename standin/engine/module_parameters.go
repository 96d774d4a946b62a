// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// ModuleParameter is a parameter of a procedure or function as its text declares it.
type ModuleParameter struct {
	Number         int
	Name           string
	Output, Cursor bool
	// Type is empty for cursors and tables.
	Type sqltype.Type
	// UserType is the alias or table type, nil for another; TypeName is the name of either.
	UserType *metadata.Object
	TypeName string
}

// ModuleParameters are the parameters of a procedure or function of the view's database; those whose types are there no
// longer are left out.
func (s *Session) ModuleParameters(ctx context.Context, o *metadata.Object) []ModuleParameter {
	_, node, err := bind.ParseModule(o)
	if err != nil {
		return nil
	}
	before := s.db
	s.db = s.viewDatabase()
	defer func() { s.db = before }()
	var out []ModuleParameter
	for i, n := range bind.ModuleOf(node).Parameters {
		p := ModuleParameter{
			Number: i + 1,
			Name:   n.VariableName.Value,
			Output: n.Modifier == "Output",
			Cursor: isCursorType(n.DataType),
		}
		if !p.Cursor && !s.declared(ctx, n, &p) {
			continue
		}
		out = append(out, p)
	}
	return out
}

// declared gives a parameter its type; false when that is there no longer.
func (s *Session) declared(ctx context.Context, n *ast.ProcedureParameter, p *ModuleParameter) bool {
	name := s.typeNameIn(n.DataType)
	p.TypeName, p.UserType = name.Name, s.userType(ctx, name)
	if p.UserType != nil && p.UserType.Kind == metadata.KindTableType {
		return true
	}
	var err error
	p.Type, err = s.moduleType(ctx, n.DataType)
	return err == nil
}

// ReturnType is the type that a scalar function returns.
func ReturnType(o *metadata.Object) (sqltype.Type, bool) {
	_, node, err := bind.ParseModule(o)
	if err != nil {
		return sqltype.Type{}, false
	}
	returns, ok := bind.ModuleOf(node).Returns.(*ast.ScalarFunctionReturnType)
	if !ok {
		return sqltype.Type{}, false
	}
	t, err := bind.DataTypeOf(returns.DataType, false)
	return t, err == nil
}
