// SPDX-License-Identifier: Apache-2.0

// Package ddl executes the statements that define what is in a database besides tables, indexes and modules: files and
// file groups, sequences, types, statistics, and the schema that an object is in (docs/t-sql/statements). What they
// change goes through the engine's SchemaChange.
package ddl

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Extension adds these statements to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	on(r, createSequence)
	on(r, alterSequence)
	on(r, createAlias)
	on(r, createTableType)
	on(r, dropType)
	on(r, func(_ context.Context, _ *engine.Session, n *ast.CreateTypeStatement, _ tds.Writer) error {
		return sqlerr.New(102, 1, bind.NameOf(n.Name).Name)
	})
	on(r, createStatistics)
	on(r, updateStatistics)
	on(r, dropStatistics)
	on(r, transfer)
	installFiles(r)
	return nil
}

// on registers a func with its node already typed.
func on[T ast.Statement](
	r *engine.Registry,
	run func(ctx context.Context, s *engine.Session, n T, w tds.Writer) error,
) {
	var node T
	r.Statement(node, func(ctx context.Context, s *engine.Session, st syntax.Statement, w tds.Writer) error {
		return run(ctx, s, st.Node.(T), w)
	})
}
