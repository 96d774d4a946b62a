// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/forclause"
	"geosql.dev/standin/jsondata"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmldata"
)

// forShape is the shape of a FOR clause that is being bound, and what stands around its rows.
type forShape struct {
	forclause.Shape
	root               string
	array, typed, auto bool
	explicit           bool
}

// Names that clients know these columns by.
const (
	jsonColumn = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B"
	xmlColumn  = "XML_F52E2B61-18A1-11d1-B105-00805F49916B"
)

// forQuery binds a query with FOR JSON or FOR XML
// (docs/relational-databases/json/format-query-results-as-json-with-for-json-sql-server.md,
// docs/relational-databases/xml/for-xml-sql-server.md): one row with one text, none when the query has no rows.
func (b *binder) forQuery(sc *scope, q *ast.QuerySpecification, o queryOptions) boundQuery {
	plain := *q
	plain.ForClause = nil
	return b.forRows(sc, q.ForClause, func(o queryOptions) boundQuery { return b.specification(sc, &plain, o) }, o)
}

// forRows makes the text of the rows of a query, which bind binds without its FOR clause.
func (b *binder) forRows(
	sc *scope,
	clause ast.ForClause,
	bind func(queryOptions) boundQuery,
	o queryOptions,
) boundQuery {
	o.subquery, o.exists, o.hidden = false, false, nil
	inner := bind(o)
	if len(inner.variables) > 0 {
		b.failWith(
			&sqlerr.Error{
				Number:  6819,
				Class:   16,
				State:   1,
				Message: "The FOR XML clause is not allowed in a ASSIGNMENT statement.",
			},
		)
	}
	shape, f := b.forFrame(clause)
	if shape.auto {
		b.nest(sc, &shape, inner.outputs)
	}
	nest := forclause.Nest
	if shape.explicit {
		b.fields(&shape, inner.outputs)
		nest = forclause.Explicit
		if shape.root != "" {
			f.open = strings.TrimSuffix(f.open, ">") + shape.Declared + ">"
			shape.Declared = ""
		}
	}
	if shape.explicit || len(shape.Levels) > 0 {
		f.function, f.separator = forclause.AutoRow, ","
	}
	args := append([]expr{{}}, b.forColumns(&shape, f.column, inner.outputs)...)
	if shape.Declared != "" && shape.Row == "" && shape.root == "" && len(shape.Raw) > 0 {
		b.refuse("FOR XML PATH of xml without an element around each row, with XMLNAMESPACES or XSINIL")
	}
	text, err := json.Marshal(&shape.Shape)
	if err != nil {
		b.failWith(internalError(err))
	}
	args[0] = literal(nmax, string(text))
	row := b.goCall(f.function, args, nmax, true)
	if shape.list() {
		f.separator = " "
		row.sql = anyValue(len(inner.outputs)) + " THEN " + row.sql + " END)"
	}
	out := expr{typ: nmax, nullable: true, collation: "tsql_ci_as", json: f.column == jsonColumn}
	name := f.column
	if shape.typed {
		out.typ, out.collation, name = sqltype.Type{Kind: sqltype.XML}, "", ""
	}
	rows := fmt.Sprintf("group_concat(%s, %s)", row.sql, sqltype.StoredLiteral(f.separator))
	if shape.explicit || len(shape.Levels) > 0 {
		rows = b.goCall(
			nest,
			[]expr{args[0], {sql: "('[' || " + rows + " || ']')", typ: nmax, nullable: true}},
			nmax,
			true,
		).sql
	}
	query := fmt.Sprintf(
		"SELECT %s || %s || %s AS c1 FROM (%s)",
		sqltype.StoredLiteral(f.open),
		rows,
		sqltype.StoredLiteral(f.end),
		inner.sql,
	)
	if !shape.typed {
		query += " HAVING count(*) > 0"
	}
	return boundQuery{sql: query, outputs: []output{{name: name, expr: out}}, oneRow: true}
}

// list tells whether the rows of a PATH without an element around each are all one list: values of data() follow each
// other with a blank between them (docs/relational-databases/xml/column-names-with-the-path-specified-as-data.md),
// those of the next row too.
func (s *forShape) list() bool {
	for _, name := range s.Names {
		if name != "data()" {
			return false
		}
	}
	return s.Path && !s.JSON && s.Row == "" && len(s.Levels) == 0 && len(s.Names) > 0
}

// anyValue begins a CASE for rows of so many columns that are not all NULL.
func anyValue(width int) string {
	parts := make([]string, width)
	for i := range parts {
		parts[i] = metadata.ColumnName(int32(i+1)) + " IS NOT NULL"
	}
	return "(CASE WHEN " + strings.Join(parts, " OR ")
}

// fields reads the columns of EXPLICIT: a tag, its parent, and values (6801, 6802).
func (b *binder) fields(shape *forShape, outputs []output) {
	if len(outputs) < 3 {
		b.fail(6801)
	}
	for _, o := range outputs[2:] {
		f, err := forclause.ReadField(o.name)
		if err != nil {
			b.failWith(err)
		}
		shape.Fields = append(shape.Fields, f)
		if f.Directive == "elementxsinil" {
			shape.Declared = xsiDeclared
		}
	}
}

// xsiDeclared declares the namespace of xsi:nil.
const xsiDeclared = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`

// forFrame is what stands around and between the rows of a text, the function that writes one, and the column's name.
type forFrame struct {
	function, open, end, separator, column string
}

// forFrame reads a FOR clause.
func (b *binder) forFrame(clause ast.ForClause) (forShape, forFrame) {
	switch c := clause.(type) {
	case *ast.JsonForClause:
		shape, f := b.jsonShape(c), forFrame{function: forclause.JSONRow, separator: ",", column: jsonColumn}
		if shape.array {
			f.open, f.end = "[", "]"
		}
		if shape.root != "" {
			f.open, f.end = "{"+jsondata.Quote(shape.root)+":"+f.open, f.end+"}"
		}
		return shape, f
	case *ast.XmlForClause:
		shape, f := b.xmlShape(c), forFrame{function: forclause.XMLRow, column: xmlColumn}
		if shape.root != "" {
			f.open, f.end = "<"+xmldata.EncodeName(shape.root)+shape.Declared+">", "</"+xmldata.EncodeName(shape.root)+">"
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

// forColumns are the values that a row of text is written from; the shape learns their names, and which stand there as
// they are.
func (b *binder) forColumns(shape *forShape, name string, outputs []output) []expr {
	var columns []expr
	for i, c := range outputs {
		e := asColumn(c.expr, i)
		shape.Names = append(shape.Names, c.name)
		if name == xmlColumn && c.name == "" && len(shape.Levels) > 0 && e.typ.Kind != sqltype.XML {
			b.fail(6809)
		}
		if name == jsonColumn && c.name == "" {
			b.failWith(
				jsondata.Error(
					13605,
					1,
					"Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON "+
						"clause. Add alias to the unnamed column or table.",
				),
			)
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
		missing = jsondata.Error(
			13600,
			1,
			"FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR JSON PATH or add a FROM clause "+
				"with a table name.",
		)
	}
	levels := b.autoLevels(sc, outputs, missing)
	shape.Row = levels[0].Name
	if len(levels) > 1 {
		shape.Levels = levels
	}
}

func (b *binder) jsonShape(f *ast.JsonForClause) forShape {
	shape := forShape{array: true, Shape: forclause.Shape{JSON: true}}
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
	if shape.root != "" && !shape.array {
		b.fail(13620)
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
		case "Explicit":
			shape.explicit = true
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
		shape.Declared = xsiDeclared
	}
	for _, n := range slices.Backward(b.namespaces) {
		switch {
		case n.Prefix == "xml":
		case n.Prefix == "xsi" && shape.Nulls:
			b.fail(6873)
		case n.Prefix == "":
			shape.Declared += ` xmlns="` + xmldata.EscapeAttribute(n.URI) + `"`
		default:
			shape.Declared += " xmlns:" + n.Prefix + `="` + xmldata.EscapeAttribute(n.URI) + `"`
		}
	}
	if shape.Declared != "" && shape.Row == "" && shape.root == "" && !shape.auto && !shape.Path {
		b.refuse("FOR XML RAW without an element around each row, with XMLNAMESPACES or XSINIL")
	}
}
