// SPDX-License-Identifier: Apache-2.0

package bind

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
func (b *Binder) forQuery(sc *Scope, q *ast.QuerySpecification, o QueryOptions) BoundQuery {
	plain := *q
	plain.ForClause = nil
	return b.forRows(sc, q.ForClause, func(o QueryOptions) BoundQuery { return b.specification(sc, &plain, o) }, o)
}

// forRows makes the text of the rows of a query, which bind binds without its FOR clause.
func (b *Binder) forRows(
	sc *Scope,
	clause ast.ForClause,
	bind func(QueryOptions) BoundQuery,
	o QueryOptions,
) BoundQuery {
	o.Subquery, o.exists, o.hidden = false, false, nil
	inner := bind(o)
	if len(inner.variables) > 0 {
		b.FailWith(
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
		b.nest(sc, &shape, inner.Outputs)
	}
	nest := forclause.Nest
	if shape.explicit {
		b.fields(&shape, inner.Outputs)
		nest = forclause.Explicit
		if shape.root != "" {
			f.open = strings.TrimSuffix(f.open, ">") + shape.Declared + ">"
			shape.Declared = ""
		}
	}
	if shape.explicit || len(shape.Levels) > 0 {
		f.function, f.separator = forclause.AutoRow, ","
	}
	args := append([]Expr{{}}, b.forColumns(&shape, f.column, inner.Outputs)...)
	if shape.Declared != "" && shape.Row == "" && shape.root == "" && len(shape.Raw) > 0 {
		b.Refuse("FOR XML PATH of xml without an element around each row, with XMLNAMESPACES or XSINIL")
	}
	text, err := json.Marshal(&shape.Shape)
	if err != nil {
		b.FailWith(sqlerr.Internal(err))
	}
	args[0] = literal(nmax, string(text))
	row := b.goCall(f.function, args, nmax, true)
	if shape.list() {
		f.separator = " "
		row.SQL = anyValue(len(inner.Outputs)) + " THEN " + row.SQL + " END)"
	}
	out := Expr{Type: nmax, Nullable: true, collation: "tsql_ci_as", json: f.column == jsonColumn}
	name := f.column
	if shape.typed {
		out.Type, out.collation, name = sqltype.Type{Kind: sqltype.XML}, "", ""
	}
	rows := fmt.Sprintf("group_concat(%s, %s)", row.SQL, sqltype.StoredLiteral(f.separator))
	if shape.explicit || len(shape.Levels) > 0 {
		rows = b.goCall(
			nest,
			[]Expr{args[0], {SQL: "('[' || " + rows + " || ']')", Type: nmax, Nullable: true}},
			nmax,
			true,
		).SQL
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
	return BoundQuery{sql: query, Outputs: []Output{{Name: name, expr: out}}, oneRow: true}
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
func (b *Binder) fields(shape *forShape, outputs []Output) {
	if len(outputs) < 3 {
		b.Fail(6801)
	}
	for _, o := range outputs[2:] {
		f, err := forclause.ReadField(o.Name)
		if err != nil {
			b.FailWith(err)
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
func (b *Binder) forFrame(clause ast.ForClause) (forShape, forFrame) {
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
		b.Fail(1003, b.session.Line(), "FOR UPDATE", "DECLARE CURSOR")
	case *ast.ReadOnlyForClause:
		b.Fail(1003, b.session.Line(), "READ ONLY", "DECLARE CURSOR")
	default:
		b.Refuse("FOR BROWSE")
	}
	return forShape{}, forFrame{}
}

// forColumns are the values that a row of text is written from; the shape learns their names, and which stand there as
// they are.
func (b *Binder) forColumns(shape *forShape, name string, outputs []Output) []Expr {
	var columns []Expr
	for i, c := range outputs {
		e := asColumn(c.expr, i)
		shape.Names = append(shape.Names, c.Name)
		if name == xmlColumn && c.Name == "" && len(shape.Levels) > 0 && e.Type.Kind != sqltype.XML {
			b.Fail(6809)
		}
		if name == jsonColumn && c.Name == "" {
			b.FailWith(
				jsondata.Error(
					13605,
					1,
					"Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON "+
						"clause. Add alias to the unnamed column or table.",
				),
			)
		}
		if c.expr.json && name == jsonColumn || e.Type.Kind == sqltype.XML && name == xmlColumn {
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
func (b *Binder) nest(sc *Scope, shape *forShape, outputs []Output) {
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

func (b *Binder) jsonShape(f *ast.JsonForClause) forShape {
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
			b.Refuse("FOR JSON " + option.OptionKind)
		}
	}
	if shape.root != "" && !shape.array {
		b.Fail(13620)
	}
	return shape
}

func (b *Binder) xmlShape(f *ast.XmlForClause) forShape {
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
			b.Refuse("FOR XML " + strings.ToUpper(option.OptionKind))
		}
	}
	b.declareNamespaces(&shape)
	return shape
}

// declareNamespaces finds the declarations that FOR XML writes on the elements that are not in another: those of WITH
// XMLNAMESPACES, the last one first, behind the one that ELEMENTS XSINIL needs.
func (b *Binder) declareNamespaces(shape *forShape) {
	if shape.Nulls {
		shape.Declared = xsiDeclared
	}
	for _, n := range slices.Backward(b.namespaces) {
		switch {
		case n.Prefix == "xml":
		case n.Prefix == "xsi" && shape.Nulls:
			b.Fail(6873)
		case n.Prefix == "":
			shape.Declared += ` xmlns="` + xmldata.EscapeAttribute(n.URI) + `"`
		default:
			shape.Declared += " xmlns:" + n.Prefix + `="` + xmldata.EscapeAttribute(n.URI) + `"`
		}
	}
	if shape.Declared != "" && shape.Row == "" && shape.root == "" && !shape.auto && !shape.Path {
		b.Refuse("FOR XML RAW without an element around each row, with XMLNAMESPACES or XSINIL")
	}
}
