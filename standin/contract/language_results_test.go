// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestAverageOfIntegersOverflows: the sum under an average has the type of the result (docs/t-sql/functions/avg-transact-sql.md, Return types).
func TestAverageOfIntegersOverflows(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"SELECT AVG(a) FROM (VALUES (2147483647), (2147483647)) x (a)", "!8115/16/2"}, {"SELECT AVG(a) OVER () FROM (VALUES (-2147483648), (-1)) x (a)", "!8115/16/2"},
		{"SELECT AVG(CAST(a AS bigint)), AVG(CAST(a AS float)) FROM (VALUES (2147483647), (2147483647)) x (a)", "2147483647 2.147483647e+09"},
		{"SELECT AVG(CAST(a AS smallint)) FROM (VALUES (32767), (32767), (NULL)) x (a)", "32767"}, {"SELECT AVG(DISTINCT a) FROM (VALUES (2147483647), (2147483647)) x (a)", "2147483647"},
	})
}
