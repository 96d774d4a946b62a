// SPDX-License-Identifier: Apache-2.0

package syntax_test

import "testing"

func TestStatementsCutShort(t *testing.T) {
	refusedWith(t, []fault{
		{"CREATE SCHEMA s\nAUTHORIZATION", 102, 2, "'AUTHORIZATION'"},
		{"CREATE SCHEMA AUTHORIZATION\nCREATE TABLE t (a int)", 156, 2, "'CREATE'"},
		{"ALTER TABLE t WITH CHECK\nADD CONSTRAINT", 102, 2, "'CONSTRAINT'"},
		{"ALTER INDEX ALL ON dbo.t\nWITH (FILLFACTOR = 10)", 102, 2, "'('"},
		{"ALTER INDEX i ON dbo.t WITH", 102, 1, "'WITH'"},
		{"RAISERROR (\nNULL, 16, 1)", 156, 2, "'NULL'"},
		{"RAISERROR ('a',\n0x10, 1)", 102, 2, "'0x10'"},
		{"RAISERROR ('a', 16,\n@@ERROR)", 102, 2, "'@@ERROR'"},
		{"RAISERROR ('a', 16, 1,\n)", 102, 2, "')'"},
		{"RAISERROR ('a', 16, 1, 'b'\n'c')", 102, 2, "'c'"},
	})
}
