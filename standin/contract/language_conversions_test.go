// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestRowVersionsAreEightBytes: docs/t-sql/data-types/rowversion-transact-sql.md: "semantically equivalent to a
// binary(8) column".
func TestRowVersionsAreEightBytes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CONVERT(varchar(20), CAST(20 AS rowversion), 1), CONVERT(varchar(20), CAST(0xFE AS rowversion), 1), " +
				"CONVERT(varchar(20), CAST('abc' AS timestamp), 1), CAST(CAST(20 AS rowversion) AS int)",
			"0x0000000000000014 0xFE00000000000000 0x6162630000000000 20",
		},
		{"DECLARE @r rowversion = 0x01; SELECT DATALENGTH(@r)", "8"},
		{"CREATE TABLE v (id int, rv rowversion)", "ok"},
		{"ALTER TABLE v ALTER COLUMN id rowversion", "!4927/16"},
		{"ALTER TABLE v ALTER COLUMN rv int", "!4928/16"},
		{"SELECT CAST(0x78 AS nvarchar(4)), CAST(0x780079 AS nvarchar(4))", "x xy"},
	})
}

// TestCurrencySigns: docs/t-sql/data-types/money-and-smallmoney-transact-sql.md, the table of signs.
func TestCurrencySigns(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CAST('¤1.5' AS money), CAST(N'₩2' AS smallmoney), £3 + ¥4, CAST('-¢5' AS money), CAST(N'￥1,000.5' AS money)",
			"1.5000 2.0000 7.0000 -5.0000 1000.5000",
		},
		{"SELECT CAST(N'₹2' AS money)", "!235/16"},
	})
}

// TestNumbersAsText: docs/t-sql/functions (str, format, atn2, parsename): a float has 17 digits in STR, and what .NET
// knows of it in FORMAT.
func TestNumbersAsText(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT STR(1234567890123456789012345, 26), STR(2.5, 1), STR(-1234567890.5, 11), STR(123.445, 6, 2)",
			" 1234567890123456800000000 3 -1234567891 123.44",
		},
		{
			"SELECT FORMAT(CAST(33123489656565124.0 AS float), 'C', 'en-US'), FORMAT(CAST(3.3123461E20 AS real), 'N0'), " +
				"FORMAT(CAST(0.1 AS float), 'F18')",
			"$33,123,489,656,565,100.00 331,234,600,000,000,000,000 0.100000000000000000",
		},
		{"SELECT ATN2(0, 0)", "!3623/16"},
		{
			"SELECT PARSENAME('a.[b]]c].d', 2), PARSENAME('a.b.[c]d', 1), PARSENAME('a.b[c', 1), PARSENAME('a.b.c.d.e', 1), " +
				"PARSENAME(REPLICATE('x', 129) + '.b', 1)",
			"b]c NULL NULL NULL NULL",
		},
	})
}

// TestSetsOfLike: docs/t-sql/language-elements/like-transact-sql.md: a set that has nothing in it or does not end is no
// character.
func TestSetsOfLike(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT IIF(']b' LIKE '[]]b', 1, 0), IIF('a[b' LIKE 'a[%', 1, 0), IIF('a[b' LIKE 'a[[]%', 1, 0), IIF('a]b' LIKE " +
				"'a]b', 1, 0), IIF('a[b' LIKE 'a![b' ESCAPE '!', 1, 0)",
			"0 0 1 1 1",
		},
		{"SELECT PATINDEX('%[[]%', 'a[b'), PATINDEX('%[%', 'a[b')", "2 0"},
	})
}

// TestJSONAppend: docs/t-sql/functions/json-modify-transact-sql.md, append.
func TestJSONAppend(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			`SELECT JSON_MODIFY('{"a":1}', 'append $.b', 'x'), JSON_MODIFY(JSON_MODIFY('{}', 'append $.b', 1), 'append lax $.b', 2)`,
			`{"a":1,"b":["x"]} {"b":[1,2]}`,
		},
		{`SELECT JSON_MODIFY('{"a":1}', 'append strict $.b', 'x')`, "!13621/16"},
	})
}

// TestNamesOfTransactionsKnowCase: docs/t-sql/language-elements (begin-transaction, save-transaction).
func TestNamesOfTransactionsKnowCase(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE n (a int)", "ok"},
		{
			"BEGIN TRANSACTION outer1; SAVE TRANSACTION s; INSERT n VALUES (1); SAVE TRANSACTION S; INSERT n VALUES (2); " +
				"ROLLBACK TRANSACTION S; SELECT a FROM n",
			"1",
		},
		{"ROLLBACK TRANSACTION s; SELECT COUNT(*) FROM n", "0"},
		{"ROLLBACK TRANSACTION OUTER1", "!6401/16"},
		{"ROLLBACK TRANSACTION outer1; SELECT @@TRANCOUNT", "0"},
		{
			"DECLARE @n varchar(100) = REPLICATE('a', 40); BEGIN TRANSACTION @n; ROLLBACK TRANSACTION " +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; SELECT @@TRANCOUNT",
			"0",
		},
	})
}

// TestDeleteFromOuterJoin: rows of the join that have none of the table are not deleted, and OUTPUT does not have them.
func TestDeleteFromOuterJoin(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE a (id int, v int); CREATE TABLE b (id int); INSERT a VALUES (1, 1), (2, 2); INSERT b VALUES (1), (3)",
			"ok",
		},
		{"DELETE a OUTPUT deleted.id FROM b LEFT JOIN a ON a.id = b.id", "1"},
		{"UPDATE a SET v = 5 OUTPUT inserted.id FROM b FULL JOIN a ON a.id = b.id", "2"},
		{"DELETE TOP (1) a FROM b LEFT JOIN a ON a.id = b.id WHERE b.id = 3 OR a.id = 2; SELECT @@ROWCOUNT", "0"},
	})
}

// TestArgumentsThatAreJudged: docs/t-sql/statements/set-rowcount-transact-sql.md and
// docs/relational-databases/system-stored-procedures.
func TestArgumentsThatAreJudged(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"DECLARE @n int = -1; SET ROWCOUNT @n", "!507/16"},
		{"DECLARE @n int; SET ROWCOUNT @n", "!507/16"},
		{"EXEC sp_pkeys", "!201/16"},
		{"EXEC sp_helpdbfixedrole 'nothing'", "!15412/11"},
		{"EXEC sp_helpsrvrolemember 'nothing'", "!15412/11"},
		{"EXEC sp_helplinkedsrvlogin 'nothing'", "!15015/16"},
	})
}
