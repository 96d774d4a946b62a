// SPDX-License-Identifier: Apache-2.0

// Package forclause writes what the FOR clause of a query makes of its rows: JSON and XML
// (docs/relational-databases/json/format-query-results-as-json-with-for-json-sql-server.md,
// docs/relational-databases/xml/for-xml-sql-server.md).
package forclause

import (
	"encoding/json"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Shape is what FOR JSON or FOR XML makes of a query's rows. The functions get it as JSON, as
// their first argument.
type Shape struct {
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

	// Fields are the columns of EXPLICIT behind its first two.
	Fields []Field `json:",omitempty"`

	// Levels are the tables that AUTO nests; empty when there is one. JSON tells FOR JSON AUTO from FOR XML AUTO.
	Levels []Level `json:",omitempty"`
	JSON   bool    `json:",omitempty"`
}

// Level is one of the tables that AUTO nests in each other, with the columns of the select list that are its own.
type Level struct {
	Name    string
	Columns []int
	// Restarts tells that no two rows are the same to it, because they have xml, which is not compared.
	Restarts bool `json:",omitempty"`
}

// The functions that write a row, and the one that nests the rows of AutoRow in each other; no client can name them.
const (
	JSONRow = "for_json_row"
	XMLRow  = "for_xml_row"
	AutoRow = "for_auto_row"
	Nest    = "for_auto"
	// Explicit nests the rows of AutoRow by the tags of EXPLICIT.
	Explicit = "for_xml_explicit"
)

// Functions are the functions of these names: they take a Shape in JSON and a row's values, or for Nest an array of
// rows.
func Functions() map[string]*builtin.Function[*builtin.Evaluation] {
	return map[string]*builtin.Function[*builtin.Evaluation]{
		JSONRow: row(jsonRow), XMLRow: row(xmlRow), AutoRow: row(autoRow), Explicit: nested(explicitRows),
		Nest: nested(func(shape *Shape, rows [][]*string) (string, *sqlerr.Error) {
			n := &nesting{shape: shape, rows: rows}
			n.level(0, len(rows), 0)
			return n.out.String(), nil
		}),
	}
}

// nested is a function that writes all rows of AutoRow.
func nested(write func(shape *Shape, rows [][]*string) (string, *sqlerr.Error)) *builtin.Function[*builtin.Evaluation] {
	return &builtin.Function[*builtin.Evaluation]{
		Min:  2,
		Max:  2,
		Type: sqltype.NVarCharMax,
		Pure: true,
		Run: func(_ *builtin.Evaluation, a []any) (any, *sqlerr.Error) {
			var shape Shape
			var rows [][]*string
			if err := json.Unmarshal([]byte(a[0].(string)), &shape); err != nil {
				return nil, sqlerr.Internal(err)
			}
			if err := json.Unmarshal([]byte(a[1].(string)), &rows); err != nil {
				return nil, sqlerr.Internal(err)
			}
			text, err := write(&shape, rows)
			if err != nil {
				return nil, err
			}
			return text, nil
		},
	}
}

func row(
	write func(shape *Shape, values []any, types []sqltype.Type) (string, *sqlerr.Error),
) *builtin.Function[*builtin.Evaluation] {
	return &builtin.Function[*builtin.Evaluation]{
		Min:   1,
		Max:   -1,
		Type:  sqltype.NVarCharMax,
		Pure:  true,
		Nulls: true,
		Run: func(e *builtin.Evaluation, a []any) (any, *sqlerr.Error) {
			var shape Shape
			if err := json.Unmarshal([]byte(a[0].(string)), &shape); err != nil {
				return nil, sqlerr.Internal(err)
			}
			text, err := write(&shape, a[1:], e.Types[1:])
			if err != nil {
				return nil, err
			}
			return text, nil
		},
	}
}
