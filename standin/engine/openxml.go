// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmlmethod"
)

// openXMLView is the table function behind OPENXML; no client can name it.
const openXMLView = "sys.openxml nodes"

// installOpenXML registers what OPENXML needs (docs/t-sql/functions/openxml-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-xml-preparedocument-transact-sql.md,
// sp-xml-removedocument-transact-sql.md).
func installOpenXML(r *Registry) {
	r.Procedure(
		Procedure{
			Name: "sp_xml_preparedocument",
			Parameters: []Parameter{{Name: "@hdoc", Type: sqltype.IntType, Output: true},
				{
					Name: "@xmltext",
					Type: nmax,
					XML:  true,
				}, {Name: "@xpath_namespaces", Type: nmax, XML: true}},
			Run: prepareDocument,
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_xml_removedocument",
			Parameters: []Parameter{{Name: "@hdoc", Type: sqltype.IntType, Required: true}},
			Run:        removeDocument,
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       strings.TrimPrefix(openXMLView, "sys."),
			Parameters: []sqltype.Type{bigT, nmax},
			Columns:    columns("node bigint"),
			Rows: func(_ context.Context, s *Session, args []any) ([][]any, error) {
				return s.keptXML().Rows(args[0], args[1])
			},
		},
	)
}

func prepareDocument(_ context.Context, c *ProcCall) error {
	handle, err := c.Session.xml.Prepare(
		c.String("@xmltext"),
		!c.IsNull("@xmltext"),
		c.String("@xpath_namespaces"),
		!c.IsNull("@xpath_namespaces"),
	)
	if err != nil {
		return err
	}
	c.SetOutput("@hdoc", handle)
	return nil
}

func removeDocument(_ context.Context, c *ProcCall) error {
	if err := c.Session.xml.Remove(c.Value("@hdoc")); err != nil {
		return err
	}
	return nil
}

// openXML binds OPENXML in FROM.
func (b *binder) openXML(sc *scope, n *ast.OpenXmlTableReference) string {
	if n.TableName == nil && len(n.SchemaDeclarationItems) == 0 {
		b.refuse("OPENXML without WITH")
	}
	if l, ok := n.Variable.(*ast.IntegerLiteral); ok {
		b.fail(102, l.Value)
	}
	handle := b.convert(b.scalar(sc, n.Variable), bigT, sqltype.Implicit, 0, false)
	pattern := b.convert(b.scalar(sc, n.RowPattern), nmax, sqltype.Implicit, 0, false)
	flags := literal(bigT, int64(0))
	if n.Flags != nil {
		flags = b.convert(b.scalar(sc, n.Flags), bigT, sqltype.Implicit, 0, false)
	}
	src := &source{alias: aliasOf(n.Alias), sqlite: b.nextAlias()}
	if src.alias == "" {
		src.alias = "openxml"
	}
	node := expr{sql: src.sqlite + ".c1", typ: bigT, nullable: true}
	add := func(name string, t sqltype.Type, path expr) {
		function, result := xmlmethod.DocumentValue, nmax
		if t.Kind == sqltype.XML {
			function, result = xmlmethod.DocumentMarkup, t
		}
		value := b.goCall(function, []expr{handle, node, path, literal(nmax, name), flags}, result, false)
		e := b.convert(value, t, sqltype.Explicit, 0, false)
		src.addColumn(name, e.sql, t, true, e.collation, nil)
	}
	for _, item := range n.SchemaDeclarationItems {
		d := item.ColumnDefinition
		path := literal(nmax, nil)
		if item.Mapping != nil {
			path = b.columnPattern(sc, item.Mapping)
		}
		add(d.ColumnIdentifier.Value, b.dataType(d.DataType, false), path)
	}
	if n.TableName != nil {
		name := NameOf(n.TableName)
		_, _, o := b.resolve(name)
		if o == nil || o.Kind != metadata.KindTable {
			b.fail(208, name.String())
		}
		for _, c := range o.Table.Columns {
			add(c.Name, c.Type, literal(nmax, nil))
		}
	}
	sc.add(src)
	return b.virtualTable(
		src,
		need{view: openXMLView, columns: b.s.inst.registry.tableFunctions[openXMLView].Columns},
		handle.sql,
		pattern.sql,
	)
}

// columnPattern is the pattern of a column. Metaproperties are refused.
func (b *binder) columnPattern(sc *scope, node ast.ScalarExpression) expr {
	e := b.convert(b.scalar(sc, node), nmax, sqltype.Implicit, 0, false)
	if s, ok := e.lit.(string); ok && strings.HasPrefix(s, "@mp:") {
		b.refuse("The metaproperty " + s + " of OPENXML")
	}
	return e
}
