// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestNamesWithAndWithoutDelimiters goes by docs/relational-databases/databases/database-identifiers.md, "Classes of
// identifiers": brackets and quotes around a name are no part of it, and a word that is not reserved needs none.
func TestNamesWithAndWithoutDelimiters(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE t (period int CONSTRAINT [pk t] PRIMARY KEY, connection int, rows int)", "ok"},
		{"INSERT t (period, connection, rows) VALUES (1, 2, 3), (2, 2, 4)", "ok"},
		{"SELECT COUNT(*) ignore FROM t WITH (INDEX ([pk t]))", "2"},
		{"SELECT COUNT(*) FROM t WITH (FORCESEEK (\"pk t\" (period)))", "2"},
		{"CREATE VIEW v ([a b], type) AS SELECT 1, 2", "ok"},
		{"SELECT [a b], type FROM v", "1 2"},
		{"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('v') ORDER BY column_id", "a b; type"},
		{
			"DECLARE @name sysname = 'message'; BEGIN TRAN; SAVE TRAN message; DELETE t; ROLLBACK TRAN @name; SELECT " +
				"COUNT(*) FROM t; ROLLBACK",
			"2",
		},
		{"BEGIN TRAN; SAVE TRAN [a b]; DELETE t; ROLLBACK TRAN \"a b\"; SELECT COUNT(*) FROM t; ROLLBACK", "2"},
		{"GOTO work; SELECT 1; work: SELECT 2", "2"},
		{"SELECT rows, SUM(period) OVER (PARTITION BY rows ORDER BY rows) FROM t ORDER BY rows", "3 1; 4 2"},
	})
}
