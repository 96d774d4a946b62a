// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestExamplesOfStatements: what pages of the reference show, as they write it:
// docs/t-sql/language-elements/goto-transact-sql.md (Examples), where labels follow a SELECT without a semicolon;
// docs/t-sql/language-elements/sql-server-utilities-statements-backslash.md;
// docs/t-sql/database-console-commands/dbcc-freesystemcache-transact-sql.md, example B.
func TestExamplesOfStatements(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{`DECLARE @Counter int;
SET @Counter = 1;
DECLARE @seen TABLE (n int IDENTITY, said varchar(40));
WHILE @Counter < 10
BEGIN
    SET @Counter = @Counter + 1
    IF @Counter = 4 GOTO Branch_One --Jumps to the first branch.
    IF @Counter = 5 GOTO Branch_Two  --This will never execute.
END
Branch_One:
    INSERT @seen SELECT 'Jumping To Branch One.'
    GOTO Branch_Three; --This will prevent Branch_Two from executing.
Branch_Two:
    INSERT @seen SELECT 'Jumping To Branch Two.'
Branch_Three:
    INSERT @seen SELECT 'Jumping To Branch Three.'
Shown:
    SELECT said FROM @seen ORDER BY n`, "Jumping To Branch One.; Jumping To Branch Three."},
		{
			"DECLARE @n int = 0\nSELECT @n = COUNT(*) FROM sys.databases WHERE name = 'master'\nnext_one:\nSET @n += 1\nIF " +
				"@n < 5 GOTO next_one\nSELECT @n",
			"5",
		},
		{"SELECT 'abc\\\ndef' AS [ColumnResult]", "abcdef"},
		{"SELECT N'abc\\\r\ndef', 0xabc\\\ndef, 'a\\b'", `abcdef 0xABCDEF a\b`},
		{"SELECT 'abc\\\ndef'\nSELECT nope", "!207/16/1/3"},
		{"DBCC FREESYSTEMCACHE ('ALL', default)", "ok"},
	})
}
