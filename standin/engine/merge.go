// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

func (s *Session) merge(ctx context.Context, n *ast.MergeStatement, w tds.Writer) error {
	return s.change(ctx, n, func(b *bind.Binder) *bind.Plan { return b.Merge(n, nil) }, w)
}

func (s *Session) mergeInto(ctx context.Context, n *syntax.Merge, w tds.Writer) error {
	return s.change(ctx, n, func(b *bind.Binder) *bind.Plan { return b.Merge(n.MergeStatement, n.Into) }, w)
}
