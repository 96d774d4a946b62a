// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestAggregatesOfTheQueryAround: an aggregate in a subquery belongs to the query whose column it has, which is then
// one of groups (docs/relational-databases/errors-events/database-engine-events-and-errors.md, 147, 8120 and 8124).
func TestAggregatesOfTheQueryAround(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE t (id int PRIMARY KEY, g int, v int); INSERT t VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5); CREATE " +
				"TABLE one (x int); INSERT one VALUES (10)",
			"",
		},
		{"SELECT (SELECT SUM(t.v)) FROM t", "35"},
		{"SELECT g, (SELECT SUM(t.v)) FROM t GROUP BY g ORDER BY g", "1 30; 2 5"},
		{"SELECT g, (SELECT SUM(t.v) FROM one) FROM t GROUP BY g ORDER BY g", "1 30; 2 5"},
		{"SELECT g, (SELECT MAX(d.m) FROM (SELECT SUM(t.v) AS m) AS d) FROM t GROUP BY g ORDER BY g", "1 30; 2 5"},
		{"SELECT id, (SELECT SUM(t.v)) FROM t", "!8120/16"}, {"SELECT id, (SELECT SUM(t.v) FROM one) FROM t", "!8120/16"},
		{"SELECT id FROM t WHERE (SELECT MAX(t.v)) > 1", "!147/15"},
		{"SELECT g FROM t GROUP BY g HAVING (SELECT MAX(t.id)) > 2", "2"},
		{"SELECT g FROM t GROUP BY g HAVING EXISTS (SELECT 1 FROM one WHERE one.x < MAX(t.v))", "!40517/16"},
		{"SELECT g FROM t GROUP BY g HAVING EXISTS (SELECT 1 FROM one GROUP BY one.x HAVING one.x < MAX(t.v))", "1"},
		{"SELECT g FROM t GROUP BY g HAVING 15 IN (SELECT MAX(t.v) - one.x + 5 FROM one)", "1"},
		{"SELECT id FROM t GROUP BY g HAVING 15 > ANY (SELECT MAX(t.v) FROM one)", "!8120/16"},
		{"SELECT g, (SELECT COUNT(*) FROM t AS u WHERE u.v <= SUM(t.v)) FROM t GROUP BY g ORDER BY g", "1 3; 2 1"},
		{"SELECT g, (SELECT SUM(one.x) FROM one WHERE one.x > MIN(t.v)) FROM t GROUP BY g ORDER BY g", "1 NULL; 2 10"},
		{"SELECT (SELECT SUM(t.v + one.x) FROM one) FROM t", "!8124/16"},
		{"SELECT id, (SELECT SUM(one.x) FROM one WHERE one.x = t.v) FROM t ORDER BY id", "1 10; 2 NULL; 3 NULL"},
		{"SELECT id, (SELECT SUM(u.v) FROM t AS u WHERE u.g = t.g) FROM t ORDER BY id", "1 30; 2 30; 3 5"},
	})
}
