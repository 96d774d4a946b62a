// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// TestLongStatements: chains of conditions as programs write them are evaluated; what is more than can be compiled is
// error 191 (docs/relational-databases/errors-events/database-engine-events-and-errors-0-to-999.md) and leaves the
// connection.
func TestLongStatements(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	times := strings.Repeat
	converse(t, db, []say{
		{"CREATE TABLE t (id int PRIMARY KEY, a int); INSERT t VALUES (1, 1), (2, 2), (3, NULL)", "ok"},
		{"SELECT id FROM t WHERE a = -1" + times(" OR a = -2", 4000) + " OR a = 2", "2"},
		{"SELECT COUNT(*) FROM t WHERE a <> -1" + times(" AND a <> -2", 4000) + " AND a <> 2", "1"},
		{"SELECT COUNT(*) FROM t WHERE a = 1" + times(" OR a = 2 AND id > 1", 1000), "2"},
		{"SELECT COUNT(*) FROM t WHERE NOT (a = -1" + times(" OR a = -2", 1500) + ")", "2"},
		{"SELECT 1" + times(" + 1", 600), "601"},
		{"SELECT 1" + times(" + 1", 3000), "!191"},
		{"SELECT COUNT(*) FROM (SELECT 1 AS n" + times(" UNION ALL SELECT 1", 400) + ") x", "401"},
		{"SELECT COUNT(*) FROM (SELECT 1 AS n" + times(" UNION ALL SELECT 1", 900) + ") x", "901"},
		{"SELECT COUNT(*) FROM (SELECT id FROM t" + times(" UNION SELECT a FROM t", 900) + ") x", "4"},
		{"SELECT COUNT(*) FROM t WHERE a IN (1" + times(", 2", 9000) + ")", "2"},
		{"SELECT COUNT(*) FROM t", "3"},
	})
}
