// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// spatialTypes are types of SQL Server that the stand-in lacks: a module that names one is refused when it runs.
var spatialTypes = map[string]bool{
	"hierarchyid": true,
	"geometry":    true,
	"geography":   true,
	"vector":      true,
	"json":        true,
}

// knownTypes refuses a module that names types that there are not: 2715 for those of parameters and variables, 243 for
// those that CAST and CONVERT make (docs/t-sql/statements/create-procedure-transact-sql.md, data_type). Tables that a
// module makes are looked at when it runs.
func (s *Session) knownTypes(ctx context.Context, module ast.Statement) error {
	var found *sqlerr.Error
	line := syntax.Line(module)
	judge := func(t ast.DataTypeReference, number int32, position int) {
		if found != nil || t == nil || reflect.ValueOf(t).IsNil() || isCursorType(t) {
			return
		}
		_, err := bind.DataTypeOf(t, true)
		if err == nil || err.Number != 243 {
			return
		}
		name := s.typeNameIn(t)
		if name.Name == "" || spatialTypes[lower(name.Name)] || s.userType(ctx, name) != nil {
			return
		}
		// Of a variable's type the parser may have forgotten the name: see declaredType.
		if _, err := syntax.ParseType(name.Name); err == nil {
			return
		}
		if number == 243 {
			found = sqlerr.New(243, 1, name.String()).At(line)
			return
		}
		found = sqlerr.New(2715, 3, position, name.String()).At(line)
	}
	for i, p := range bind.ModuleOf(module).Parameters {
		judge(p.DataType, 2715, i+1)
	}
	switch ret := returnType(module).(type) {
	case *ast.ScalarFunctionReturnType:
		judge(ret.DataType, 2715, 0)
	case *ast.TableValuedFunctionReturnType:
		if body := ret.DeclareTableVariableBody; body != nil && body.Definition != nil {
			for i, c := range body.Definition.ColumnDefinitions {
				judge(c.DataType, 2715, i+1)
			}
		}
	}
	bind.EachNode(reflect.ValueOf(module), func(n any) {
		if st, ok := n.(ast.Statement); ok && syntax.Line(st) > 0 {
			line = syntax.Line(st)
		}
		switch n := n.(type) {
		case *ast.DeclareVariableStatement:
			for i, d := range n.Declarations {
				judge(d.DataType, 2715, i+1)
			}
		case *ast.CastCall:
			judge(n.DataType, 243, 0)
		case *ast.ConvertCall:
			judge(n.DataType, 243, 0)
		case *ast.TryCastCall:
			judge(n.DataType, 243, 0)
		case *ast.TryConvertCall:
			judge(n.DataType, 243, 0)
		}
	})
	if found == nil {
		return nil
	}
	return found
}
