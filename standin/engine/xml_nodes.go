// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// nodesView is the table function behind nodes(); no client can name it.
const nodesView = "sys.xml nodes"

// nodesOfColumn binds column.nodes(...) in FROM, which looks like a function of a schema; ok is false when it is one.
func (b *binder) nodesOfColumn(sc *scope, n *ast.SchemaObjectFunctionTableReference) (text string, ok bool) {
	name := NameOf(n.SchemaObject)
	if name.Name != "nodes" || name.Schema == "" || name.Server != "" {
		return "", false
	}
	parts := []string{name.Schema}
	if name.Database != "" {
		parts = []string{name.Database, name.Schema}
	}
	if sc.findColumn(parts) == nil {
		return "", false
	}
	return b.nodes(sc, b.receiver(b.column(sc, parts)), "nodes", n.Parameters, n.Alias, n.Columns), true
}

// nodesOfVariable binds @variable.nodes(...) in FROM.
func (b *binder) nodesOfVariable(sc *scope, n *ast.VariableMethodCallTableReference) string {
	return b.nodes(sc, b.receiver(b.variable(n.Variable.Name)), n.MethodName.Value, n.Parameters, n.Alias, n.Columns)
}

// nodes adds the rows of nodes() as a source with one column (docs/t-sql/xml/nodes-method-xml-data-type.md). The column
// is the number of a node; methods that are called on it get the instance as it was given to nodes().
func (b *binder) nodes(
	sc *scope,
	r xmlReceiver,
	method string,
	params []ast.ScalarExpression,
	alias *ast.Identifier,
	names []*ast.Identifier,
) string {
	switch {
	case method != "nodes":
		b.fail(227, method)
	case len(params) != 1:
		b.fail(174, method, 1)
	case alias == nil || len(names) == 0:
		b.fail(318)
	case len(names) > 1:
		b.fail(8159, alias.Value)
	}
	x := b.xquery(sc, r, method, params[0])
	args := b.xmlArguments(r, &x)
	src := &source{alias: alias.Value, sqlite: b.nextAlias()}
	src.addColumn(names[0].Value, src.sqlite+".c1", sqltype.Type{Kind: sqltype.XML}, true, "", nil)
	c := src.columns[0]
	c.document, c.origin, c.context = r.whole, r.origin, x.compiled.RowContext()
	sc.add(src)
	terms := make([]string, len(args))
	for i, a := range args {
		terms[i] = a.sql
	}
	return b.virtualTable(
		src,
		need{view: nodesView, columns: b.s.inst.registry.tableFunctions[nodesView].Columns},
		terms...)
}
