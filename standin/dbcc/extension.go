// SPDX-License-Identifier: Apache-2.0

// Package dbcc executes the database console commands: what they take, ask for and answer
// (docs/t-sql/database-console-commands). What a command reads or changes of a session, a file or an identity column is
// the engine's.
package dbcc

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Extension adds DBCC to an instance.
type Extension struct{}

// Install registers the statement.
func (Extension) Install(r *engine.Registry) error {
	r.Statement((*ast.DbccStatement)(nil),
		func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
			return run(ctx, s, st.Node.(*ast.DbccStatement), w)
		})
	return nil
}
