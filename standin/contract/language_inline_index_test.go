// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestIndexesWithinATableDefinition have their filter and the columns that they include
// (docs/t-sql/statements/create-table-transact-sql.md, table_index).
func TestIndexesWithinATableDefinition(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE t (a int, b int, c int, INDEX i UNIQUE (a) INCLUDE (c) WHERE b = 1)", "ok"},
		{"INSERT t VALUES (1, 0, 0), (1, 0, 0), (1, 1, 0)", "ok"},
		{"INSERT t VALUES (1, 1, 0)", "!2601/14"},
		{
			"SELECT has_filter, (SELECT COUNT(*) FROM sys.index_columns c WHERE c.object_id = i.object_id AND " +
				"is_included_column = 1) FROM sys.indexes i WHERE name = 'i'",
			"true 1",
		},
	})
}
