// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmlmethod"
	"geosql.dev/standin/xquery"
)

// WriteValue is the function that column.WRITE (expression, offset, length) becomes; no client can name it.
const WriteValue = "write value"

// writeMethod binds column.WRITE (docs/t-sql/queries/update-transact-sql.md, .WRITE).
func (b *Binder) writeMethod(c *change, call *ast.FunctionCall) (*metadata.Column, string) {
	target, ok := call.CallTarget.(*ast.MultiPartIdentifierCallTarget)
	if !ok || !strings.EqualFold(call.FunctionName.Value, "write") {
		b.Refuse("SET of a method")
	}
	parts := Identifiers(target.MultiPartIdentifier)
	col := c.column(parts[len(parts)-1])
	if col == nil {
		b.Fail(207, parts[len(parts)-1])
	}
	if col.Type.Length != sqltype.MaxLength ||
		col.Type.Kind != sqltype.VarChar && col.Type.Kind != sqltype.NVarChar && col.Type.Kind != sqltype.VarBinary {
		b.Fail(258, col.Type.Kind)
	}
	if len(call.Parameters) != 3 {
		b.Fail(174, "write", 3)
	}
	args := []Expr{
		b.column(&Scope{Sources: []*Source{c.src}}, []string{parts[len(parts)-1]}),
		b.Scalar(c.sc, call.Parameters[0]),
	}
	args[1] = b.Convert(args[1], col.Type, sqltype.Implicit, 0, false)
	for _, p := range call.Parameters[1:] {
		args = append(args, b.Convert(b.Scalar(c.sc, p), sqltype.BigIntType, sqltype.Implicit, 0, false))
	}
	return col, b.Store(b.goCall(WriteValue, args, col.Type, true), col, &c.d.Target)
}

// Modified binds modify() on what is called name (docs/t-sql/xml/modify-method-xml-data-type.md).
func (b *Binder) Modified(sc *Scope, r xmlReceiver, name, method string, params []ast.ScalarExpression) Expr {
	_, known := xmlMethods[method]
	switch {
	case !known:
		b.Fail(227, method)
	case method != "modify":
		b.Fail(8113, method)
	case len(params) != 1:
		b.Fail(174, method, 1)
	}
	x := boundXQuery{
		Expression: xmlmethod.Expression{
			Text:       b.literalArgument(params[0], 1, method),
			Method:     r.methodName(method),
			Namespaces: b.namespaces,
		},
	}
	if _, err := xquery.CompileChange(x.Text, x.Static(xquery.AnyUse, b.accessors(sc, &x))); err != nil {
		b.FailWith(err)
	}
	args := b.xmlArguments(r, &x)
	args[0] = literal(nmax, name)
	return b.goCall(xmlmethod.Modify, args, sqltype.Type{Kind: sqltype.XML}, true)
}

// changingMethod binds SET column.method(...) of an UPDATE: modify() of xml, or WRITE.
func (b *Binder) changingMethod(c *change, call *ast.FunctionCall) (*metadata.Column, string) {
	target, ok := call.CallTarget.(*ast.MultiPartIdentifierCallTarget)
	if !ok {
		b.Refuse("SET of a method")
	}
	parts := Identifiers(target.MultiPartIdentifier)
	col := c.column(parts[len(parts)-1])
	if col == nil || col.Type.Kind != sqltype.XML {
		return b.writeMethod(c, call)
	}
	if len(parts) > 1 {
		b.Fail(102, ".")
	}
	r := b.Receiver(b.column(&Scope{Sources: []*Source{c.src}}, parts))
	return col, b.Store(b.Modified(c.sc, r, col.Name, methodNamed(call), call.Parameters), col, &c.d.Target)
}
