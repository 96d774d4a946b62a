// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/jsondata"
	"geosql.dev/standin/sqltype"
)

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
