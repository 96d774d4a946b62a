// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/tds"
)

func (s *Session) merge(ctx context.Context, n *ast.MergeStatement, w tds.Writer) error {
	return unsupported("MERGE")
}
