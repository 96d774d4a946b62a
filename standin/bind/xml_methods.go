// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"encoding/json"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/xmldata"
	"geosql.dev/standin/xmlmethod"
	"geosql.dev/standin/xquery"
)

// xmlMethods are the methods of the xml data type with the number of their arguments
// (docs/t-sql/xml/xml-data-type-methods.md). Their names are in lower case only.
var xmlMethods = map[string]int{"value": 2, "query": 1, "exist": 1, "nodes": 1, "modify": 1}

// xmlReceiver is what a method is called on: the whole instance with the number of the node that is meant in it.
type xmlReceiver struct {
	document, node string
	// whole is the SQL of the instance's text, which document is, too, but where nodes() may keep it.
	whole string
	// number is the SQL of the number under which nodes() keeps the instance.
	number string
	// origin is the column's name behind its table's, for messages; empty for all that is no column.
	origin  string
	context xquery.Context
	// parts are the expressions that the receiver reads.
	parts []Expr
}

// Receiver is an expression as a method's receiver (258 when it is no xml).
func (b *Binder) Receiver(e Expr) xmlReceiver {
	if e.Null || e.Type.Kind != sqltype.XML {
		b.Fail(258, e.Type.Kind)
	}
	r := xmlReceiver{document: e.SQL, whole: e.SQL, node: "0", number: "0", parts: []Expr{e}}
	if c := e.column; c != nil {
		r.origin = c.source.written() + "." + c.Name
		if c.document != "" {
			r.node, r.number, r.origin, r.context = c.SQL, c.source.sqlite+".c2", c.origin, c.context
			r.whole = c.document
			r.document = "(CASE WHEN tsql_known(" + r.number + ") THEN '' ELSE " + c.document + " END)"
		}
	}
	return r
}

// written is the name of a source as its FROM clause has it, without its alias when it is a table.
func (src *Source) written() string {
	if src.name != "" {
		return src.name
	}
	return src.Alias
}

// findColumn is the column that a name of one or two parts means; nil when there is none.
func (sc *Scope) findColumn(parts []string) *SourceColumn {
	for at := sc; at != nil; at = at.parent {
		for _, src := range at.Sources {
			if len(parts) > 1 && !src.matches(parts[:len(parts)-1]) {
				continue
			}
			for _, c := range src.Columns {
				if strings.EqualFold(c.Name, parts[len(parts)-1]) {
					return c
				}
			}
		}
	}
	return nil
}

// methodOfColumn binds column.method(...), which looks like a function of a schema. ok is false when it is one.
func (b *Binder) methodOfColumn(sc *Scope, parts []string, n *ast.FunctionCall) (e Expr, ok bool) {
	if len(parts) > 2 || sc == nil {
		return Expr{}, false
	}
	_, known := xmlMethods[methodNamed(n)]
	c := sc.findColumn(parts)
	if c == nil || !known && c.Type.Kind != sqltype.XML {
		return Expr{}, false
	}
	return b.xmlMethod(sc, b.Receiver(b.column(sc, parts)), n), true
}

// methodNamed is the name of a method, without the brackets that syntax.Parse puts around query.
func methodNamed(n *ast.FunctionCall) string { return strings.Trim(n.FunctionName.Value, "[]") }

// xmlMethod binds a method that gives a value.
func (b *Binder) xmlMethod(sc *Scope, r xmlReceiver, n *ast.FunctionCall) Expr {
	name := methodNamed(n)
	count, known := xmlMethods[name]
	switch {
	case !known || name == "nodes":
		b.Fail(227, name)
	case name == "modify":
		b.Fail(8137, name)
	case len(n.Parameters) != count:
		b.Fail(174, name, count)
	}
	e := b.xquery(sc, r, name, n.Parameters[0])
	switch name {
	case "exist":
		return b.xmlCall(xmlmethod.Exist, r, e, sqltype.Type{Kind: sqltype.Bit})
	case "query":
		return b.xmlCall(xmlmethod.Query, r, e, sqltype.Type{Kind: sqltype.XML})
	}
	t := b.valueType(n.Parameters[1])
	if t.Kind.IsBinary() {
		return b.Convert(
			b.xmlCall(xmlmethod.Bytes, r, e, sqltype.VarBinaryOf(sqltype.MaxLength)),
			t,
			sqltype.Explicit,
			0,
			false,
		)
	}
	value := b.xmlCall(xmlmethod.Value, r, e, nmax)
	return merge(b.Convert(value, t, sqltype.Explicit, 0, false), value)
}

// literalArgument is an argument that has to be a string literal (8172).
func (b *Binder) literalArgument(node ast.ScalarExpression, position int, method string) string {
	for {
		switch n := node.(type) {
		case *ast.ParenthesisExpression:
			node = n.Expression
			continue
		case *ast.StringLiteral:
			return n.Value
		case *ast.IdentifierLiteral:
			return n.Value
		}
		b.Fail(8172, position, method)
	}
}

// valueType is the type that value() gives (9500).
func (b *Binder) valueType(node ast.ScalarExpression) sqltype.Type {
	text := b.literalArgument(node, 2, "value")
	t, err := syntax.ParseType(text)
	if err != nil {
		alias := b.session.AliasType(b.ctx, SplitName(text))
		if alias == nil {
			b.Fail(9500, text)
		}
		t = *alias
	}
	switch t.Kind {
	case sqltype.XML, sqltype.Text, sqltype.NText, sqltype.Image, sqltype.SQLVariant:
		b.Fail(9500, text)
	}
	return t
}

// boundXQuery is a compiled expression with the values of its accessors.
type boundXQuery struct {
	xmlmethod.Expression
	compiled *xquery.Query
	values   []Expr
}

// methodName is a method as the messages of XQuery name it.
func (r xmlReceiver) methodName(method string) string {
	if r.origin != "" {
		return r.origin + "." + method + "()"
	}
	return method + "()"
}

// xquery compiles the expression of a method.
func (b *Binder) xquery(sc *Scope, r xmlReceiver, method string, node ast.ScalarExpression) boundXQuery {
	out := boundXQuery{
		Expression: xmlmethod.Expression{
			Text:       b.literalArgument(node, 1, method),
			Method:     r.methodName(method),
			Namespaces: b.namespaces,
			Context:    r.context,
		},
	}
	compiled, err := xquery.Compile(out.Text, out.Static(xquery.Uses[method], b.accessors(sc, &out)))
	if err != nil {
		b.FailWith(err)
	}
	out.compiled = compiled
	return out
}

// accessors gives sql:variable() and sql:column() their types and binds their values.
func (b *Binder) accessors(sc *Scope, out *boundXQuery) func(xquery.Accessor) (xquery.Type, *sqlerr.Error) {
	seen := map[xquery.Accessor]xquery.Type{}
	return func(a xquery.Accessor) (xquery.Type, *sqlerr.Error) {
		if t, ok := seen[a]; ok {
			return t, nil
		}
		var e Expr
		if err := Safely(func() { e = b.accessor(sc, a) }); err != nil {
			return xquery.Type{}, err
		}
		k, ok := xqueryKinds[e.Type.Kind]
		switch {
		case e.Type.Kind == sqltype.XML && strings.HasSuffix(out.Method, "modify()"):
			return xquery.Type{}, sqlerr.Unsupported("A value of type xml in sql:variable() and sql:column()")
		case e.Type.Kind == sqltype.XML:
			return xquery.Type{}, sqlerr.New(9342, 1, out.Method)
		case !ok:
			return xquery.Type{}, sqlerr.New(9344, 1, out.Method, e.Type.Kind)
		}
		out.values, out.Accessors = append(out.values, e), append(out.Accessors, k)
		seen[a] = xquery.Optional(k)
		return seen[a], nil
	}
}

// accessor binds the variable or the column that an accessor names.
func (b *Binder) accessor(sc *Scope, a xquery.Accessor) Expr {
	if a.Column {
		name := SplitName(a.Name)
		parts := []string{name.Server, name.Database, name.Schema, name.Name}
		for parts[0] == "" && len(parts) > 1 {
			parts = parts[1:]
		}
		return b.columnValue(b.column(sc, parts))
	}
	if !strings.HasPrefix(a.Name, "@") || len(a.Name) < 2 {
		b.Fail(9519, a.Name)
	}
	if v := b.session.Variable(a.Name); v == nil || v.Table != nil {
		b.FailWith(sqlerr.New(9501, 2, a.Name))
	}
	return b.Variable(a.Name)
}

// columnValue is a column that is read as a value: that of nodes() has none (493).
func (b *Binder) columnValue(e Expr) Expr {
	if e.column != nil && e.column.document != "" {
		b.Fail(493, e.column.Name)
	}
	return e
}

// xqueryKinds are the types that values have in XQuery (docs/xquery/xquery-extension-functions-sql-variable.md).
var xqueryKinds = map[sqltype.Kind]xquery.Kind{
	sqltype.TinyInt:          xquery.UnsignedByte,
	sqltype.SmallInt:         xquery.Short,
	sqltype.Int:              xquery.Int,
	sqltype.BigInt:           xquery.Long,
	sqltype.Decimal:          xquery.Decimal,
	sqltype.Money:            xquery.Decimal,
	sqltype.SmallMoney:       xquery.Decimal,
	sqltype.Float:            xquery.Double,
	sqltype.Real:             xquery.Float,
	sqltype.Bit:              xquery.Boolean,
	sqltype.Char:             xquery.String,
	sqltype.VarChar:          xquery.String,
	sqltype.NChar:            xquery.String,
	sqltype.NVarChar:         xquery.String,
	sqltype.UniqueIdentifier: xquery.String,
	sqltype.Binary:           xquery.Base64Binary,
	sqltype.VarBinary:        xquery.Base64Binary,
	sqltype.DateTime:         xquery.DateTime,
	sqltype.SmallDateTime:    xquery.DateTime,
	sqltype.DateTime2:        xquery.DateTime,
	sqltype.DateTimeOffset:   xquery.DateTime,
	sqltype.Date:             xquery.Date,
	sqltype.Time:             xquery.Time,
}

// text is the expression as the functions that evaluate it take it.
func (b *Binder) xmlText(x *xmlmethod.Expression) Expr {
	text, err := json.Marshal(x)
	if err != nil {
		b.FailWith(sqlerr.Internal(err))
	}
	return literal(nmax, string(text))
}

// xmlArguments are the arguments of the functions that evaluate an expression: see xmlmethod.Value.
func (b *Binder) xmlArguments(r xmlReceiver, x *boundXQuery) []Expr {
	values := literal(nmax, "[]")
	if len(x.values) > 0 {
		values = b.goCall(xmlmethod.Accessors, x.values, nmax, true)
	}
	return []Expr{{SQL: r.node, Type: bigT, Nullable: true}, b.xmlText(&x.Expression), values, {SQL: r.number, Type: bigT},
		merge(Expr{SQL: r.document, Type: nmax, Nullable: true}, r.parts...)}
}

func (b *Binder) xmlCall(function string, r xmlReceiver, x boundXQuery, t sqltype.Type) Expr {
	out := b.goCall(function, b.xmlArguments(r, &x), t, true)
	out.XML = true
	return out
}

// xmlNamespaces are those of WITH XMLNAMESPACES
// (docs/relational-databases/xml/add-namespaces-to-queries-with-with-xmlnamespaces.md).
func (b *Binder) xmlNamespaces(n *ast.XmlNamespaces) {
	seen := map[string]bool{}
	for _, e := range n.XmlNamespacesElements {
		var binding xmldata.Binding
		var uri *ast.StringLiteral
		switch x := e.(type) {
		case *ast.XmlNamespacesAliasElement:
			uri = x.String
			if x.Identifier != nil {
				binding.Prefix = x.Identifier.Value
			}
			if !xmldata.IsName(binding.Prefix) {
				b.Fail(102, binding.Prefix)
			}
		case *ast.XmlNamespacesDefaultElement:
			uri = x.String
		}
		if uri == nil {
			b.Fail(102, "XMLNAMESPACES")
		}
		binding.URI = uri.Value
		switch {
		case binding.Prefix == "xmlns":
			b.Fail(6871, binding.Prefix)
		case (binding.Prefix == "xml") != (binding.URI == xmldata.XMLSpace):
			b.Fail(6872)
		case binding.URI == "":
			b.Fail(6874)
		case seen[binding.Prefix] && binding.Prefix == "":
			b.Fail(6869, "default")
		case seen[binding.Prefix]:
			b.Fail(6869, binding.Prefix)
		}
		seen[binding.Prefix] = true
		b.namespaces = append(b.namespaces, binding)
	}
}

// mayBeNode binds what IS NULL asks about, which is all that the column of nodes() is read for by itself.
func (b *Binder) mayBeNode(sc *Scope, node ast.ScalarExpression) Expr {
	if n, ok := node.(*ast.ColumnReferenceExpression); ok && sc != nil && n.MultiPartIdentifier != nil {
		if c := sc.findColumn(Identifiers(n.MultiPartIdentifier)); c != nil && c.document != "" {
			return b.column(sc, Identifiers(n.MultiPartIdentifier))
		}
	}
	return b.Scalar(sc, node)
}
