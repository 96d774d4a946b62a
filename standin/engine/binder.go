// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/sqlerr"
)

// unsupported is error 40510's kin for T-SQL that SQL Server has and the stand-in has not.
func unsupported(what string) *sqlerr.Error {
	return sqlerr.Unsupported(what)
}
