// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/tds"
	"geosql.dev/operator/standin/xmldata"
	"geosql.dev/operator/standin/xquery"
)

// compiledChange is an expression of modify() with the types of its accessors.
type compiledChange struct {
	change *xquery.Change
	kinds  []xquery.Kind
}

func init() {
	addBuiltins(map[string]*builtinFunction{"xml modify": {min: xmlMethodArguments, max: xmlMethodArguments, typ: sqltype.Type{Kind: sqltype.XML}, pure: true, nulls: true, run: modifyXML}})
}

// modifyXML changes an instance: its arguments are as those of other methods, with what it is called for messages in the node's place.
func modifyXML(e *evaluation, a []any) (any, *sqlerr.Error) {
	if a[4] == nil {
		return nil, sqlerr.New(5302, 1, "modify()", a[0])
	}
	cache := &xmlCache{}
	if e.session != nil {
		cache = &e.session.xml
	}
	c, err := cache.change(a[1].(string))
	if err != nil {
		return nil, err
	}
	values, err := accessorValues(a[2].(string), c.kinds)
	if err != nil {
		return nil, err
	}
	d, err := xmldata.Parse(a[4].(string), xmldata.Options{Preserve: true, Decoded: true})
	if err != nil {
		return nil, err
	}
	return orError(c.change.Apply(d, values))
}

func (c *xmlCache) change(text string) (*compiledChange, *sqlerr.Error) {
	if x := c.changes[text]; x != nil {
		return x, nil
	}
	e, static, err := readExpression(text)
	if err != nil {
		return nil, err
	}
	change, err := xquery.CompileChange(e.Text, static)
	if err != nil {
		return nil, err
	}
	if c.changes == nil || len(c.changes) >= maxCachedExpressions {
		c.changes = map[string]*compiledChange{}
	}
	x := &compiledChange{change: change, kinds: e.Accessors}
	c.changes[text] = x
	return x, nil
}

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
	x := boundXQuery{xmlExpression: xmlExpression{Text: b.literalArgument(params[0], 1, method), Method: r.methodName(method), Namespaces: b.namespaces}}
	if _, err := xquery.CompileChange(x.Text, x.static(xquery.AnyUse, b.accessors(sc, &x))); err != nil {
		b.failWith(err)
	}
	args := b.xmlArguments(r, &x)
	args[0] = literal(nmax, name)
	return b.goCall("xml modify", args, sqltype.Type{Kind: sqltype.XML}, true)
}

// changingMethod binds SET column.method(...) of an UPDATE: modify() of xml, or WRITE.
func (b *binder) changingMethod(c *change, call *ast.FunctionCall) (*Column, string) {
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
