// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/xmldata"
	"geosql.dev/operator/standin/xquery"
)

// openXMLView is the table function behind OPENXML; no client can name it.
const openXMLView = "sys.openxml nodes"

// preparedXML is a document of sp_xml_preparedocument with the namespaces of its patterns.
type preparedXML struct {
	instance   *xmldata.Instance
	namespaces []xmldata.Binding
}

// preparedDocuments are a session's documents by handle: odd numbers, of which none comes twice.
type preparedDocuments struct {
	all  map[int64]*preparedXML
	last int64
}

// installOpenXML registers what OPENXML needs (docs/t-sql/functions/openxml-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-xml-preparedocument-transact-sql.md, sp-xml-removedocument-transact-sql.md).
func installOpenXML(r *Registry) {
	r.Procedure(Procedure{Name: "sp_xml_preparedocument", Parameters: []Parameter{{Name: "@hdoc", Type: sqltype.IntType, Output: true},
		{Name: "@xmltext", Type: nmax, XML: true}, {Name: "@xpath_namespaces", Type: nmax, XML: true}}, Run: prepareDocument})
	r.Procedure(Procedure{Name: "sp_xml_removedocument", Parameters: []Parameter{{Name: "@hdoc", Type: sqltype.IntType, Required: true}}, Run: removeDocument})
	r.TableFunction(TableFunction{Schema: "sys", Name: strings.TrimPrefix(openXMLView, "sys."), Parameters: []sqltype.Type{bigT, nmax}, Columns: columns("node bigint"),
		Rows: func(_ context.Context, s *Session, args []any) ([][]any, error) {
			d, err := s.prepared(args[0])
			if err != nil || args[1] == nil {
				return nil, orNil(err)
			}
			q, err := s.xml.pattern(args[1].(string), d.namespaces)
			if err != nil {
				return nil, err
			}
			nodes, err := q.Nodes(d.instance.Root(), d.instance.Root(), nil)
			if err != nil {
				return nil, err
			}
			rows := make([][]any, len(nodes))
			for i, n := range nodes {
				rows[i] = []any{int64(n.Order)}
			}
			return rows, nil
		}})
}

// orNil keeps a nil error of its type out of an error.
func orNil(err *sqlerr.Error) error {
	if err == nil {
		return nil
	}
	return err
}

func prepareDocument(_ context.Context, c *ProcCall) error {
	d := &preparedXML{}
	var err *sqlerr.Error
	text := c.String("@xmltext")
	if d.instance, err = xmldata.Parse(strings.TrimLeft(text, " \t\r\n"), xmldata.Options{Decoded: true}); err == nil && !c.IsNull("@xmltext") {
		err = oneRoot(d.instance)
	}
	if err != nil {
		return sqlerr.New(6602, 2, err.Message)
	}
	if !c.IsNull("@xpath_namespaces") {
		n, err := xmldata.Parse(c.String("@xpath_namespaces"), xmldata.Options{Decoded: true})
		if err == nil {
			err = oneRoot(n)
		}
		if err != nil {
			return sqlerr.New(6602, 2, err.Message)
		}
		for _, e := range n.Root().Children {
			for _, b := range e.Declared {
				if b.Prefix != "" {
					d.namespaces = append(d.namespaces, b)
				}
			}
		}
	}
	p := &c.Session.documents
	if p.all == nil {
		p.all, p.last = map[int64]*preparedXML{}, -1
	}
	p.last += 2
	p.all[p.last] = d
	c.SetOutput("@hdoc", p.last)
	return nil
}

// oneRoot tells that a document has one element at its top, and no text beside it.
func oneRoot(d *xmldata.Instance) *sqlerr.Error {
	n := 0
	for _, c := range d.Root().Children {
		switch c.Kind {
		case xmldata.Element:
			n++
		case xmldata.Text:
			n += 2
		}
	}
	if n != 1 {
		return &sqlerr.Error{Message: "Only one top level element is allowed in an XML document."}
	}
	return nil
}

func removeDocument(_ context.Context, c *ProcCall) error {
	if _, err := c.Session.prepared(c.Value("@hdoc")); err != nil {
		return err
	}
	delete(c.Session.documents.all, c.Int("@hdoc"))
	return nil
}

// prepared is the document of a handle (8179).
func (s *Session) prepared(handle any) (*preparedXML, *sqlerr.Error) {
	if s != nil {
		if d := s.documents.all[integer(handle)]; d != nil {
			return d, nil
		}
	}
	return nil, sqlerr.New(8179, 5, integer(handle))
}

// pattern is a compiled row or column pattern, kept with the other expressions of the session.
func (c *xmlCache) pattern(text string, namespaces []xmldata.Binding) (*xquery.Query, *sqlerr.Error) {
	key := "pattern " + text
	for _, b := range namespaces {
		key += "\x00" + b.Prefix + "\x00" + b.URI
	}
	if x := c.expressions[key]; x != nil {
		return x.query, nil
	}
	q, err := xquery.Compile(text, xquery.Static{Method: "OPENXML", Namespaces: namespaces, Context: xquery.AtNode, Use: xquery.ForPattern})
	if err != nil {
		// What XQuery does not have may well be XPath.
		return nil, sqlerr.Unsupported("The pattern " + text + " of OPENXML")
	}
	if c.expressions == nil || len(c.expressions) >= maxCachedExpressions {
		c.expressions = map[string]*compiledXML{}
	}
	c.expressions[key] = &compiledXML{query: q}
	return q, nil
}

func init() {
	column := func(t sqltype.Type, value func(q *xquery.Query, d *preparedXML, n *xmldata.Node) (any, *sqlerr.Error)) *builtinFunction {
		return &builtinFunction{min: 5, max: 5, typ: t, nulls: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			d, err := e.session.prepared(a[0])
			if err != nil || a[1] == nil {
				return nil, err
			}
			n := integer(a[1])
			if n < 0 || n >= int64(len(d.instance.Nodes)) {
				return nil, sqlerr.New(8179, 5, integer(a[0]))
			}
			pattern, given := a[2].(string)
			if !given {
				name, ok := mapped(d.instance.Nodes[n], a[3].(string), integer(a[4]))
				if !ok {
					return nil, nil
				}
				return value(nil, d, name)
			}
			q, err := e.session.xml.pattern(pattern, d.namespaces)
			if err != nil {
				return nil, err
			}
			return value(q, d, d.instance.Nodes[n])
		}}
	}
	addBuiltins(map[string]*builtinFunction{
		"openxml value": column(nmax, func(q *xquery.Query, d *preparedXML, n *xmldata.Node) (any, *sqlerr.Error) {
			if q == nil {
				return n.Text(), nil
			}
			text, ok, err := q.Value(d.instance.Root(), n, nil)
			if !ok {
				return nil, err
			}
			return text, err
		}),
		"openxml markup": column(sqltype.Type{Kind: sqltype.XML}, func(q *xquery.Query, d *preparedXML, n *xmldata.Node) (any, *sqlerr.Error) {
			if q != nil {
				nodes, err := q.Nodes(d.instance.Root(), n, nil)
				if err != nil || len(nodes) == 0 {
					return nil, err
				}
				n = nodes[0]
			}
			if n.Kind == xmldata.Attribute {
				return xmldata.EscapeText(n.Value), nil
			}
			w := xmldata.NewWriter(nil, "")
			w.Node(n)
			return w.String(), nil
		}),
	})
}

// mapped is the attribute or element that a column without a pattern is: flags 1 (or 0) are attributes, 2 elements, 3 attributes
// first.
func mapped(n *xmldata.Node, column string, flags int64) (*xmldata.Node, bool) {
	find := func(list []*xmldata.Node, kind xmldata.Kind) *xmldata.Node {
		for _, c := range list {
			if c.Kind == kind && c.Name.Space == "" && (c.Name.Local == column || c.Name.Local == xmlName(column)) {
				return c
			}
		}
		return nil
	}
	var found *xmldata.Node
	if flags&3 != 2 {
		found = find(n.Attributes, xmldata.Attribute)
	}
	if found == nil && flags&2 != 0 {
		found = find(n.Children, xmldata.Element)
	}
	return found, found != nil
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
		function, result := "openxml value", nmax
		if t.Kind == sqltype.XML {
			function, result = "openxml markup", t
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
		name := nameOf(n.TableName)
		_, _, o := b.resolve(name)
		if o == nil || o.Kind != kindTable {
			b.fail(208, name.String())
		}
		for _, c := range o.Table.Columns {
			add(c.Name, c.Type, literal(nmax, nil))
		}
	}
	sc.add(src)
	f := b.s.inst.registry.tableFunctions[openXMLView]
	b.needs = append(b.needs, need{view: openXMLView, args: 2, columns: f.Columns})
	return "temp.v_" + identifierSafe(openXMLView) + "(" + handle.sql + ", " + pattern.sql + ") AS " + src.sqlite
}

// columnPattern is the pattern of a column. Metaproperties are refused.
func (b *binder) columnPattern(sc *scope, node ast.ScalarExpression) expr {
	e := b.convert(b.scalar(sc, node), nmax, sqltype.Implicit, 0, false)
	if s, ok := e.lit.(string); ok && strings.HasPrefix(s, "@mp:") {
		b.refuse("The metaproperty " + s + " of OPENXML")
	}
	return e
}
