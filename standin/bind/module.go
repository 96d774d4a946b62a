// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Module are a module's parameters and body.
type Module struct {
	Parameters []*ast.ProcedureParameter
	Body       *ast.StatementList
	// Returns is what a function returns, nil for another module.
	Returns ast.FunctionReturnType
}

// ModuleOf are the parts of a statement that creates or alters a module.
func ModuleOf(node ast.Statement) Module {
	switch n := node.(type) {
	case *ast.CreateProcedureStatement:
		return Module{n.Parameters, n.StatementList, nil}
	case *ast.AlterProcedureStatement:
		return Module{n.Parameters, n.StatementList, nil}
	case *ast.CreateOrAlterProcedureStatement:
		return Module{n.Parameters, n.StatementList, nil}
	case *ast.CreateFunctionStatement:
		return Module{n.Parameters, n.StatementList, n.ReturnType}
	case *ast.AlterFunctionStatement:
		return Module{n.Parameters, n.StatementList, n.ReturnType}
	case *ast.CreateOrAlterFunctionStatement:
		return Module{n.Parameters, n.StatementList, n.ReturnType}
	}
	return Module{}
}

// userFunction binds a call of a user-defined scalar function.
func (b *Binder) userFunction(sc *Scope, parts []string, params []ast.ScalarExpression) Expr {
	name := ObjectName{Name: parts[len(parts)-1]}
	if len(parts) > 1 {
		name.Schema = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		name.Database = parts[len(parts)-3]
	}
	space, _, o := b.Resolve(name)
	if o != nil && o.Kind == metadata.KindSynonym {
		space, _, o = b.Resolve(SplitName(o.Target))
	}
	if o == nil || o.Kind != metadata.KindScalar {
		b.Fail(4121, parts[0], strings.Join(parts, "."))
	}
	_, node, perr := ParseModule(o)
	if perr != nil {
		b.FailWith(perr)
	}
	m := ModuleOf(node)
	ret, ok := m.Returns.(*ast.ScalarFunctionReturnType)
	if !ok {
		b.Fail(4121, parts[0], strings.Join(parts, "."))
	}
	if len(params) > len(m.Parameters) {
		b.FailWith(sqlerr.New(8144, 2, strings.Join(parts, ".")))
	}
	if len(params) < len(m.Parameters) {
		b.FailWith(sqlerr.New(313, 2, strings.Join(parts, ".")))
	}
	args := make([]Expr, len(params))
	for i, p := range params {
		t := b.DataType(m.Parameters[i].DataType, false)
		if _, isDefault := p.(*ast.DefaultLiteral); isDefault {
			if m.Parameters[i].Value == nil {
				b.Fail(201, strings.Join(parts, "."), m.Parameters[i].VariableName.Value)
			}
			p = m.Parameters[i].Value
		}
		args[i] = b.Convert(b.Scalar(sc, p), t, sqltype.Implicit, 0, false)
	}
	return b.goCall("user:"+itoa(space)+":"+itoa(o.ID), args, b.DataType(ret.DataType, false), false)
}
