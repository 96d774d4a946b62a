// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
)

// depth computes tsql_depth(level, limit): the next level, or 530 beyond the limit.
func (st *connState) depth(args []sqlite.Value) (any, *sqlerr.Error) {
	next, limit := args[0].Int64()+1, args[1].Int64()
	if limit > 0 && next > limit {
		return nil, sqlerr.New(530, 1, limit)
	}
	return next, nil
}
