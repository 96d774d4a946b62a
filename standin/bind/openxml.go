// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmlmethod"
)

// OpenXMLView is the table function behind OPENXML; no client can name it.
const OpenXMLView = "sys.openxml nodes"

// openXML binds OPENXML in FROM.
func (b *Binder) openXML(sc *Scope, n *ast.OpenXmlTableReference) string {
	if n.TableName == nil && len(n.SchemaDeclarationItems) == 0 {
		b.Refuse("OPENXML without WITH")
	}
	if l, ok := n.Variable.(*ast.IntegerLiteral); ok {
		b.Fail(102, l.Value)
	}
	handle := b.Convert(b.Scalar(sc, n.Variable), bigT, sqltype.Implicit, 0, false)
	pattern := b.Convert(b.Scalar(sc, n.RowPattern), nmax, sqltype.Implicit, 0, false)
	flags := literal(bigT, int64(0))
	if n.Flags != nil {
		flags = b.Convert(b.Scalar(sc, n.Flags), bigT, sqltype.Implicit, 0, false)
	}
	src := &Source{Alias: AliasOf(n.Alias), sqlite: b.nextAlias()}
	if src.Alias == "" {
		src.Alias = "openxml"
	}
	node := Expr{SQL: src.sqlite + ".c1", Type: bigT, Nullable: true}
	add := func(name string, t sqltype.Type, path Expr) {
		function, result := xmlmethod.DocumentValue, nmax
		if t.Kind == sqltype.XML {
			function, result = xmlmethod.DocumentMarkup, t
		}
		value := b.goCall(function, []Expr{handle, node, path, literal(nmax, name), flags}, result, false)
		e := b.Convert(value, t, sqltype.Explicit, 0, false)
		src.AddColumn(name, e.SQL, t, true, e.collation, nil)
	}
	for _, item := range n.SchemaDeclarationItems {
		d := item.ColumnDefinition
		path := literal(nmax, nil)
		if item.Mapping != nil {
			path = b.columnPattern(sc, item.Mapping)
		}
		add(d.ColumnIdentifier.Value, b.DataType(d.DataType, false), path)
	}
	if n.TableName != nil {
		name := NameOf(n.TableName)
		_, _, o := b.Resolve(name)
		if o == nil || o.Kind != metadata.KindTable {
			b.Fail(208, name.String())
		}
		for _, c := range o.Table.Columns {
			add(c.Name, c.Type, literal(nmax, nil))
		}
	}
	sc.Add(src)
	return b.virtualTable(
		src,
		VirtualTable{View: OpenXMLView, Columns: b.session.TableFunction(OpenXMLView).Columns},
		handle.SQL,
		pattern.SQL,
	)
}

// columnPattern is the pattern of a column. Metaproperties are refused.
func (b *Binder) columnPattern(sc *Scope, node ast.ScalarExpression) Expr {
	e := b.Convert(b.Scalar(sc, node), nmax, sqltype.Implicit, 0, false)
	if s, ok := e.Literal.(string); ok && strings.HasPrefix(s, "@mp:") {
		b.Refuse("The metaproperty " + s + " of OPENXML")
	}
	return e
}
