// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/sqlc-dev/teesql/ast"

// Merge is MERGE with OUTPUT ... INTO, whose elements are Into's (docs/t-sql/statements/merge-transact-sql.md).
type Merge struct {
	*ast.MergeStatement
	Into *ast.OutputIntoClause
}
