// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// openJSONTable is OPENJSON in FROM: with its default columns, or those of its WITH clause, which are taken out of each
// element by their paths.
func (b *Binder) openJSONTable(sc *Scope, n *ast.OpenJsonTableReference) string {
	path := n.RowPattern
	if path == nil {
		path = &ast.NullLiteral{}
	}
	args := []ast.ScalarExpression{n.Variable, path}
	alias := AliasOf(n.Alias)
	name := "openjson"
	if len(n.SchemaDeclarationItems) > 0 {
		name = "openjson elements"
	}
	text := b.tableFunction(sc, ObjectName{Name: name}, args, alias, nil)
	src := sc.Sources[len(sc.Sources)-1]
	src.nameless = alias == ""
	if len(n.SchemaDeclarationItems) == 0 {
		return text
	}
	value := Expr{SQL: src.Columns[0].SQL, Type: nmax, Nullable: true, collation: "tsql_ci_as"}
	src.Columns = nil
	if alias == "" {
		src.Alias = "openjson"
	}
	for _, item := range n.SchemaDeclarationItems {
		d := item.ColumnDefinition
		t := b.DataType(d.DataType, false)
		at := literal(nmax, `$."`+d.ColumnIdentifier.Value+`"`)
		if item.Mapping != nil {
			at = b.Scalar(sc, item.Mapping)
		}
		function := "json_text"
		if item.AsJson {
			if t != nmax {
				b.Fail(13618)
			}
			function = "json_query"
		}
		e := b.Convert(b.goCall(function, []Expr{value, at}, nmax, true), t, sqltype.Implicit, 0, false)
		src.AddColumn(d.ColumnIdentifier.Value, e.SQL, t, true, e.collation, nil)
	}
	return text
}
