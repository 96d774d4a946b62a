// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
	"geosql.dev/standin/xmlmethod"
	"geosql.dev/standin/xquery"
)

// modified binds modify() on what is called name (docs/t-sql/xml/modify-method-xml-data-type.md).
func (b *binder) modified(sc *scope, r xmlReceiver, name, method string, params []ast.ScalarExpression) expr {
	_, known := xmlMethods[method]
	switch {
	case !known:
		b.fail(227, method)
	case method != "modify":
		b.fail(8113, method)
	case len(params) != 1:
		b.fail(174, method, 1)
	}
	x := boundXQuery{
		Expression: xmlmethod.Expression{
			Text:       b.literalArgument(params[0], 1, method),
			Method:     r.methodName(method),
			Namespaces: b.namespaces,
		},
	}
	if _, err := xquery.CompileChange(x.Text, x.Static(xquery.AnyUse, b.accessors(sc, &x))); err != nil {
		b.failWith(err)
	}
	args := b.xmlArguments(r, &x)
	args[0] = literal(nmax, name)
	return b.goCall(xmlmethod.Modify, args, sqltype.Type{Kind: sqltype.XML}, true)
}

// changingMethod binds SET column.method(...) of an UPDATE: modify() of xml, or WRITE.
func (b *binder) changingMethod(c *change, call *ast.FunctionCall) (*metadata.Column, string) {
	target, ok := call.CallTarget.(*ast.MultiPartIdentifierCallTarget)
	if !ok {
		b.refuse("SET of a method")
	}
	parts := identifiers(target.MultiPartIdentifier)
	col := c.column(parts[len(parts)-1])
	if col == nil || col.Type.Kind != sqltype.XML {
		return b.writeMethod(c, call)
	}
	if len(parts) > 1 {
		b.fail(102, ".")
	}
	r := b.receiver(b.column(&scope{sources: []*source{c.src}}, parts))
	return col, b.store(b.modified(c.sc, r, col.Name, methodNamed(call), call.Parameters), col, &c.d.target)
}

// modifyVariable is SET @variable.modify(...).
func (s *Session) modifyVariable(ctx context.Context, n *ast.SetVariableStatement) error {
	v := s.variable(n.Variable.Name)
	if v == nil {
		return sqlerr.New(137, 1, n.Variable.Name)
	}
	p, err := s.compile(ctx, n, func(b *binder) *plan {
		e := b.modified(&scope{}, b.receiver(b.variable(n.Variable.Name)), n.Variable.Name, n.Identifier.Value, n.Parameters)
		p := b.plan("SELECT " + e.sql)
		p.columns = []tds.Column{{Type: e.typ}}
		return p
	})
	if err != nil {
		return err
	}
	value, err := s.planValue(ctx, p)
	if err != nil {
		return err
	}
	v.value = value
	s.rowCount = 1
	return nil
}
