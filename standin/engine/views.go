// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Record is a row of a system view by column name; columns that it lacks are NULL.
type Record map[string]any

type record = Record

// columns reads a list of columns: "name sysname, object_id int, scale decimal(10,2)".
func columns(list string) []tds.Column {
	var out []tds.Column
	depth, start := 0, 0
	add := func(text string) {
		name, typ, _ := strings.Cut(strings.TrimSpace(text), " ")
		t, err := syntax.ParseType(strings.TrimSpace(typ))
		if err != nil {
			panic(fmt.Sprintf("column %q: %v", text, err))
		}
		out = append(out, tds.Column{Name: name, Type: t, Nullable: true})
	}
	for i, r := range list {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				add(list[start:i])
				start = i + 1
			}
		}
	}
	add(list[start:])
	return out
}

func byColumns(cols []tds.Column, records []record) [][]any {
	out := make([][]any, len(records))
	for i, rec := range records {
		row := make([]any, len(cols))
		for c := range cols {
			row[c] = normalise(rec[cols[c].Name])
		}
		out[i] = row
	}
	return out
}

// installViews registers the views of what the engine is doing; those of the catalogue are catalogview's.
func installViews(r *Registry) {
	installSessionViews(r)
	installServerViews(r)
	installActivityViews(r)
	installReferences(r)
	r.RecordView(
		"",
		"INFORMATION_SCHEMA",
		"VIEW_COLUMN_USAGE",
		"VIEW_CATALOG sysname, VIEW_SCHEMA sysname, VIEW_NAME sysname, TABLE_CATALOG sysname, TABLE_SCHEMA sysname, "+
			"TABLE_NAME sysname, COLUMN_NAME sysname",
		viewColumnRecords,
	)
}

// Description is the word of a number in a column like state_desc; NULL where there is none.
func Description(n int64, words ...string) any {
	if n < 0 || n >= int64(len(words)) {
		return nil
	}
	return words[n]
}

// TextOrNull is a text, or NULL for an empty one.
func TextOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// LSNType is numeric(25,0), in which backup views and the HADR views show log sequence numbers.
var LSNType = sqltype.DecimalOf(25, 0)

// LSNValue is an LSN as a value of LSNType.
func LSNValue(l storage.LSN) any {
	if l.IsZero() {
		return nil
	}
	return decimal.NewFromBigInt(l.Numeric(), 0)
}

// Column makes a column of a system view.
func Column(name string, t sqltype.Type) tds.Column {
	return tds.Column{Name: name, Type: t, Nullable: true}
}
