// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestFiltersAsTheyAreKept: sys.indexes and sys.stats show a filter with names in brackets, values in parentheses and
// IN as it stands; mappers compare it with what they would make
// (docs/relational-databases/system-catalog-views/sys-indexes-transact-sql.md, filter_definition).
func TestFiltersAsTheyAreKept(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (id int, x varchar(9), status int, at datetime, INDEX i0 (at) WHERE at is not null)", "ok"},
		{"CREATE INDEX i1 ON t (id) WHERE status >= 5", "ok"},
		{"CREATE INDEX i2 ON t (id) WHERE x = 'it''s' AND (status <> -1)", "ok"},
		{"CREATE INDEX i3 ON t (id) WHERE status IN (1, 2)", "ok"},
		{"CREATE INDEX i4 ON t (id) WHERE status IN (1,2,3) AND id < 7", "ok"},
		{"CREATE STATISTICS s1 ON t (id) WHERE x IN ('a', N'b')", "ok"},
		{"SELECT name, filter_definition FROM sys.indexes WHERE object_id = OBJECT_ID('t') AND has_filter = 1 ORDER BY name",
			"i0 ([at] IS NOT NULL); i1 ([status]>=(5)); i2 ([x]='it''s' AND [status]<>(-1)); i3 ([status] IN ((1), (2))); i4 " +
				"(([status] IN ((1), (2), (3))) AND [id]<(7))"},
		{"SELECT filter_definition FROM sys.stats WHERE name = 's1'", "([x] IN ('a', N'b'))"},
		{
			"INSERT INTO t (id, status) VALUES (1, 1), (2, 5); SELECT id FROM t WITH (INDEX (i4)) WHERE status IN " +
				"(1,2,3) AND id < 7",
			"1",
		},
	})
}
