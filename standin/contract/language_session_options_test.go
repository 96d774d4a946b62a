// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestStatementsThatAreNotExecuted: NOEXEC takes effect when it is executed, for the statements behind it in its batch,
// too, until it is OFF (docs/t-sql/statements/set-noexec-transact-sql.md).
func TestStatementsThatAreNotExecuted(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE t (id int); SET NOEXEC ON; INSERT t VALUES (1); SELECT 2; DECLARE @x int = 5; EXEC ('SELECT 3'); " +
				"SET NOEXEC OFF; SELECT COUNT(*), @x FROM t",
			"0 NULL",
		},
		{"SET NOEXEC ON", ""}, {"INSERT t VALUES (1)", ""}, {"IF 1 = 1 SET NOEXEC OFF", ""}, {"SELECT * FROM t", ""},
		{"SELECT 1 SET NOEXEC OFF SELECT COUNT(*) FROM t", "0"}, {"SELECT 5", "5"},
		{
			"SET PARSEONLY ON",
			"",
		}, {"SELECT absent FROM absent", ""}, {"SELEC 1 2", "!102/15"}, {"SET PARSEONLY OFF", ""}, {"SELECT 5", "5"},
	})
}

// TestTextSize: what SELECT gives of large types is cut, and nothing else
// (docs/t-sql/statements/set-textsize-transact-sql.md).
func TestTextSize(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE t (a varchar(max), b nvarchar(max), c text, d varchar(20)); INSERT t VALUES ('abcdefgh', " +
				"N'abcdefgh', 'abcdefgh', 'abcdefgh')",
			"",
		},
		{
			"SET TEXTSIZE 5; SELECT a, b, c, d, LEN(a), CONVERT(varchar(20), CAST(0x0102030405060708 AS " +
				"varbinary(max)), 1) FROM t",
			"abcde ab abcde abcdefgh 8 0x0102030405060708",
		},
		{"DECLARE @a varchar(max); SELECT @a = a FROM t; SELECT LEN(@a), @@TEXTSIZE", "8 5"},
		{"SELECT a INTO u FROM t; SELECT LEN(a) FROM u", "8"},
		{"SET TEXTSIZE 0; SELECT LEN(REPLICATE(CAST('x' AS varchar(max)), 9000)), @@TEXTSIZE", "9000 4096"},
		{"SET TEXTSIZE -1; SELECT a, b FROM t", "abcdefgh abcdefgh"},
	})
}
