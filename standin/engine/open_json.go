// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/jsondata"
	"geosql.dev/standin/sqltype"
)

// openJSONTable is OPENJSON in FROM: with its default columns, or those of its WITH clause, which are taken out of each
// element by their paths.
func (b *binder) openJSONTable(sc *scope, n *ast.OpenJsonTableReference) string {
	path := n.RowPattern
	if path == nil {
		path = &ast.NullLiteral{}
	}
	args := []ast.ScalarExpression{n.Variable, path}
	alias := aliasOf(n.Alias)
	name := "openjson"
	if len(n.SchemaDeclarationItems) > 0 {
		name = "openjson elements"
	}
	text := b.tableFunction(sc, ObjectName{Name: name}, args, alias, nil)
	src := sc.sources[len(sc.sources)-1]
	src.nameless = alias == ""
	if len(n.SchemaDeclarationItems) == 0 {
		return text
	}
	value := expr{sql: src.columns[0].sql, typ: nmax, nullable: true, collation: "tsql_ci_as"}
	src.columns = nil
	if alias == "" {
		src.alias = "openjson"
	}
	for _, item := range n.SchemaDeclarationItems {
		d := item.ColumnDefinition
		t := b.dataType(d.DataType, false)
		at := literal(nmax, `$."`+d.ColumnIdentifier.Value+`"`)
		if item.Mapping != nil {
			at = b.scalar(sc, item.Mapping)
		}
		function := "json_text"
		if item.AsJson {
			if t != nmax {
				b.fail(13618)
			}
			function = "json_query"
		}
		e := b.convert(b.goCall(function, []expr{value, at}, nmax, true), t, sqltype.Implicit, 0, false)
		src.addColumn(d.ColumnIdentifier.Value, e.sql, t, true, e.collation, nil)
	}
	return text
}

// installJSON registers what OPENJSON reads (docs/t-sql/functions/openjson-transact-sql.md): its default columns, and
// under a name that no client can write the elements that its WITH clause takes apart.
func installJSON(r *Registry) {
	two := []sqltype.Type{nmax, nmax}
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "openjson",
			Parameters: two,
			Columns:    columns("key nvarchar(4000), value nvarchar(max), type tinyint"),
			Rows:       func(_ context.Context, _ *Session, args []any) ([][]any, error) { return openJSON(args, false) },
		},
	)
	r.TableFunction(
		TableFunction{Schema: "sys", Name: "openjson elements", Parameters: two, Columns: columns("value nvarchar(max)"),
			Rows: func(_ context.Context, _ *Session, args []any) ([][]any, error) { return openJSON(args, true) }},
	)
}

func openJSON(args []any, elements bool) ([][]any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, nil
	}
	path, _ := args[1].(string)
	if path == "" {
		path = "$"
	}
	return jsondata.Rows(text, path, elements)
}
