// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	add("SessionState", tsql.SessionState())
	add("LocalRoles", tsql.LocalRoles())
}
