// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// forShape is what FOR JSON or FOR XML makes of a query's rows. The functions for_json_row and for_xml_row get it as
// their first argument.
type forShape struct {
	Names []string
	// Raw are the columns that are JSON or XML themselves, by position.
	Raw map[int]bool `json:",omitempty"`
	// Nulls is INCLUDE_NULL_VALUES or XSINIL.
	Nulls bool `json:",omitempty"`
	// Row is the element around each row of XML; Elements makes columns elements of RAW and AUTO, Path reads their names
	// as paths.
	Row      string `json:",omitempty"`
	Elements bool   `json:",omitempty"`
	Path     bool   `json:",omitempty"`
	// Declared are the declarations of namespaces that each row's element has, as text with a blank before each.
	Declared string `json:",omitempty"`

	// Levels are the tables that AUTO nests; empty when there is one. JSON tells FOR JSON AUTO from FOR XML AUTO.
	Levels []forLevel `json:",omitempty"`
	JSON   bool       `json:",omitempty"`

	root               string
	array, typed, auto bool
}

// Names that clients know these columns by.
const (
	jsonColumn = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B"
	xmlColumn  = "XML_F52E2B61-18A1-11d1-B105-00805F49916B"
)

// forQuery binds a query with FOR JSON or FOR XML (docs/relational-databases/json/format-query-results-as-json-with-for-json-sql-server.md,
// docs/relational-databases/xml/for-xml-sql-server.md): one row with one text, none when the query has no rows.
func (b *binder) forQuery(sc *scope, q *ast.QuerySpecification, o queryOptions) boundQuery {
	plain := *q
	plain.ForClause = nil
	o.subquery, o.exists, o.hidden = false, false, nil
	inner := b.specification(sc, &plain, o)
	if len(inner.variables) > 0 {
		b.failWith(&sqlerr.Error{Number: 6819, Class: 16, State: 1, Message: "The FOR XML clause is not allowed in a ASSIGNMENT statement."})
	}
	shape, f := b.forFrame(q.ForClause)
	if shape.auto {
		b.nest(sc, &shape, inner.outputs)
	}
	if len(shape.Levels) > 0 {
		f.function, f.separator = "for_auto_row", ","
	}
	args := append([]expr{{}}, b.forColumns(&shape, f.column, inner.outputs)...)
	text, err := json.Marshal(&shape)
	if err != nil {
		b.failWith(internalError(err))
	}
	args[0] = literal(nmax, string(text))
	row := b.goCall(f.function, args, nmax, true)
	out := expr{typ: nmax, nullable: true, collation: "tsql_ci_as", json: f.column == jsonColumn}
	name := f.column
	if shape.typed {
		out.typ, out.collation, name = sqltype.Type{Kind: sqltype.XML}, "", ""
	}
	rows := fmt.Sprintf("group_concat(%s, %s)", row.sql, quoteText(f.separator))
	if len(shape.Levels) > 0 {
		rows = b.goCall("for_auto", []expr{args[0], {sql: "('[' || " + rows + " || ']')", typ: nmax, nullable: true}}, nmax, true).sql
	}
	query := fmt.Sprintf("SELECT %s || %s || %s AS c1 FROM (%s)", quoteText(f.open), rows, quoteText(f.end), inner.sql)
	if !shape.typed {
		query += " HAVING count(*) > 0"
	}
	return boundQuery{sql: query, outputs: []output{{name: name, expr: out}}, oneRow: true}
}

// forFrame is what stands around and between the rows of a text, the function that writes one, and the column's name.
type forFrame struct {
	function, open, end, separator, column string
}

// forFrame reads a FOR clause.
func (b *binder) forFrame(clause ast.ForClause) (forShape, forFrame) {
	switch c := clause.(type) {
	case *ast.JsonForClause:
		shape, f := b.jsonShape(c), forFrame{function: "for_json_row", separator: ",", column: jsonColumn}
		if shape.array {
			f.open, f.end = "[", "]"
		}
		if shape.root != "" {
			f.open, f.end = "{"+quoteJSON(shape.root)+":"+f.open, f.end+"}"
		}
		return shape, f
	case *ast.XmlForClause:
		shape, f := b.xmlShape(c), forFrame{function: "for_xml_row", column: xmlColumn}
		if shape.root != "" {
			f.open, f.end = "<"+xmlName(shape.root)+shape.Declared+">", "</"+xmlName(shape.root)+">"
			shape.Declared = ""
		}
		return shape, f
	case *ast.UpdateForClause:
		b.fail(1003, b.s.line, "FOR UPDATE", "DECLARE CURSOR")
	case *ast.ReadOnlyForClause:
		b.fail(1003, b.s.line, "READ ONLY", "DECLARE CURSOR")
	default:
		b.refuse("FOR BROWSE")
	}
	return forShape{}, forFrame{}
}

// forColumns are the values that a row of text is written from; the shape learns their names, and which stand there as they are.
func (b *binder) forColumns(shape *forShape, name string, outputs []output) []expr {
	var columns []expr
	for i, c := range outputs {
		e := asColumn(c.expr, i)
		shape.Names = append(shape.Names, c.name)
		if name == xmlColumn && c.name == "" && len(shape.Levels) > 0 {
			b.fail(6809)
		}
		if name == jsonColumn && c.name == "" {
			b.failWith(jsonError(13605, 1, "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table."))
		}
		if c.expr.json && name == jsonColumn || e.typ.Kind == sqltype.XML && name == xmlColumn {
			if shape.Raw == nil {
				shape.Raw = map[int]bool{}
			}
			shape.Raw[i] = true
		}
		columns = append(columns, e)
	}
	return columns
}

// nest gives AUTO the tables that it nests.
func (b *binder) nest(sc *scope, shape *forShape, outputs []output) {
	missing := sqlerr.New(6800, 1)
	if shape.JSON {
		missing = jsonError(13600, 1, "FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR JSON PATH or add a FROM clause with a table name.")
	}
	levels := b.autoLevels(sc, outputs, missing)
	shape.Row = levels[0].Name
	if len(levels) > 1 {
		shape.Levels = levels
	}
}

func (b *binder) jsonShape(f *ast.JsonForClause) forShape {
	shape := forShape{array: true, JSON: true}
	for _, option := range f.Options {
		switch option.OptionKind {
		case "Auto":
			shape.auto = true
		case "Path":
			shape.Path = true
		case "Root":
			shape.root = "root"
			if option.Value != nil {
				shape.root = option.Value.Value
			}
		case "IncludeNullValues":
			shape.Nulls = true
		case "WithoutArrayWrapper":
			shape.array = false
		default:
			b.refuse("FOR JSON " + option.OptionKind)
		}
	}
	return shape
}

func (b *binder) xmlShape(f *ast.XmlForClause) forShape {
	shape := forShape{}
	for _, option := range f.Options {
		given := func(otherwise string) string {
			if option.Value != nil {
				return option.Value.Value
			}
			return otherwise
		}
		switch option.OptionKind {
		case "Auto":
			shape.auto = true
		case "Raw":
			shape.Row = given("row")
		case "Path":
			shape.Row, shape.Path, shape.Elements = given("row"), true, true
		case "Root":
			shape.root = given("root")
		case "Elements", "ElementsAbsent":
			shape.Elements = true
		case "ElementsXsiNil":
			shape.Elements, shape.Nulls = true, true
		case "Type", "[TYPE]": // syntax.Parse puts TYPE into brackets, as the name of a column
			shape.typed = true
		case "BinaryBase64":
		default:
			b.refuse("FOR XML " + strings.ToUpper(option.OptionKind))
		}
	}
	b.declareNamespaces(&shape)
	return shape
}

// declareNamespaces finds the declarations that FOR XML writes on the elements that are not in another: those of WITH
// XMLNAMESPACES, the last one first, behind the one that ELEMENTS XSINIL needs.
func (b *binder) declareNamespaces(shape *forShape) {
	if shape.Nulls {
		shape.Declared = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	}
	for _, n := range slices.Backward(b.namespaces) {
		switch {
		case n.Prefix == "xml":
		case n.Prefix == "xsi" && shape.Nulls:
			b.fail(6873)
		case n.Prefix == "":
			shape.Declared += ` xmlns="` + xmlAttribute.Replace(n.URI) + `"`
		default:
			shape.Declared += " xmlns:" + n.Prefix + `="` + xmlAttribute.Replace(n.URI) + `"`
		}
	}
	if shape.Declared != "" && shape.Row == "" && shape.root == "" && !shape.auto {
		b.refuse("FOR XML without an element around each row, with XMLNAMESPACES or XSINIL")
	}
}

// openJSONTable is OPENJSON in FROM: with its default columns, or those of its WITH clause, which are taken out of each
// element by their paths.
func (b *binder) openJSONTable(sc *scope, n *ast.OpenJsonTableReference) string {
	path := n.RowPattern
	if path == nil {
		path = &ast.NullLiteral{}
	}
	args := []ast.ScalarExpression{n.Variable, path}
	if len(n.SchemaDeclarationItems) == 0 {
		return b.tableFunction(sc, objectName{name: "openjson"}, args, aliasOf(n.Alias), nil)
	}
	alias := aliasOf(n.Alias)
	text := b.tableFunction(sc, objectName{name: "openjson elements"}, args, alias, nil)
	src := sc.sources[len(sc.sources)-1]
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
			function = "json_query"
		}
		e := b.convert(b.goCall(function, []expr{value, at}, nmax, true), t, sqltype.Implicit, 0, false)
		src.addColumn(d.ColumnIdentifier.Value, e.sql, t, true, e.collation, nil)
	}
	return text
}
