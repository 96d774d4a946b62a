// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// NodesView is the table function behind nodes(); no client can name it.
const NodesView = "sys.xml nodes"

// nodesOfColumn binds column.nodes(...) in FROM, which looks like a function of a schema; ok is false when it is one.
func (b *Binder) nodesOfColumn(sc *Scope, n *ast.SchemaObjectFunctionTableReference) (text string, ok bool) {
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
	return b.nodes(sc, b.Receiver(b.column(sc, parts)), "nodes", n.Parameters, n.Alias, n.Columns), true
}

// nodesOfVariable binds @variable.nodes(...) in FROM.
func (b *Binder) nodesOfVariable(sc *Scope, n *ast.VariableMethodCallTableReference) string {
	return b.nodes(sc, b.Receiver(b.Variable(n.Variable.Name)), n.MethodName.Value, n.Parameters, n.Alias, n.Columns)
}

// nodes adds the rows of nodes() as a source with one column (docs/t-sql/xml/nodes-method-xml-data-type.md). The column
// is the number of a node; methods that are called on it get the instance as it was given to nodes().
func (b *Binder) nodes(
	sc *Scope,
	r xmlReceiver,
	method string,
	params []ast.ScalarExpression,
	alias *ast.Identifier,
	names []*ast.Identifier,
) string {
	switch {
	case method != "nodes":
		b.Fail(227, method)
	case len(params) != 1:
		b.Fail(174, method, 1)
	case alias == nil || len(names) == 0:
		b.Fail(318)
	case len(names) > 1:
		b.Fail(8159, alias.Value)
	}
	x := b.xquery(sc, r, method, params[0])
	args := b.xmlArguments(r, &x)
	src := &Source{Alias: alias.Value, sqlite: b.nextAlias()}
	src.AddColumn(names[0].Value, src.sqlite+".c1", sqltype.Type{Kind: sqltype.XML}, true, "", nil)
	c := src.Columns[0]
	c.document, c.origin, c.context = r.whole, r.origin, x.compiled.RowContext()
	sc.Add(src)
	terms := make([]string, len(args))
	for i, a := range args {
		terms[i] = a.SQL
	}
	return b.virtualTable(
		src,
		VirtualTable{View: NodesView, Columns: b.session.TableFunction(NodesView).Columns},
		terms...)
}
