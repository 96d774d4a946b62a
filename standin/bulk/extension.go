// SPDX-License-Identifier: Apache-2.0

// Package bulk reads data files into a server: BULK INSERT, and the rows that OPENROWSET (BULK) has
// (docs/relational-databases/import-export/bulk-import-and-export-of-data-sql-server.md).
package bulk

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Extension adds these statements to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	r.Statement(
		(*ast.BulkInsertStatement)(nil),
		func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
			return insert(ctx, s, st.Node.(*ast.BulkInsertStatement), w)
		},
	)
	for kind, t := range map[string]sqltype.Type{
		"singleblob":  sqltype.VarBinaryMax,
		"singleclob":  sqltype.VarCharMax,
		"singlenclob": sqltype.NVarCharMax,
	} {
		r.TableFunction(engine.TableFunction{
			Schema:     "sys",
			Name:       "openrowset " + kind,
			Parameters: []sqltype.Type{sqltype.NVarCharMax},
			Columns:    []tds.Column{{Name: "BulkColumn", Type: t, Nullable: true}},
			Rows: func(ctx context.Context, s *engine.Session, args []any) ([][]any, error) {
				path, _ := args[0].(string)
				return wholeFile(ctx, s, path, kind)
			},
		})
	}
	return nil
}
