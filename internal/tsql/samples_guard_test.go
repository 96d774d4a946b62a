// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	prefix := tsql.GuardPrefix("web", "dublin")
	guard := tsql.GuardName(prefix, "dbo", "Article")
	add("GuardTable", tsql.GuardTable(guard, "dbo", "Art]icle"))
	add("EnableGuard", tsql.EnableGuard(guard, "dbo", "Article"))
	add("DropGuard", tsql.DropGuard(guard, "dbo"))
	add("Guards", tsql.Guards(prefix))
}
