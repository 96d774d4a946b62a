// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestStringFunctionsOfBytes: docs/t-sql/functions (left, right, replace, stuff, substring, ltrim): bytes are read as
// characters, but by STUFF and SUBSTRING.
func TestStringFunctionsOfBytes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT LEFT(0x616263, 2), RIGHT(0x616263, 1), REPLACE(0x616263, 0x62, 0x78), LTRIM(0x2061) + '|', UPPER(0x61), " +
				"REVERSE(0x6162), REPLICATE(0x61, 2)",
			"ab c axc a| A ba aa",
		},
		{
			"SELECT CONVERT(varchar(20), STUFF(0x616263, 2, 1, 0x7879), 1), CONVERT(varchar(20), STUFF(0x616263, 2, 1, " +
				"NULL), 1), CONVERT(varchar(20), SUBSTRING(0x616263, 2, 1), 1)",
			"0x61787963 0x6163 0x62",
		},
		{"CREATE TABLE img (i image); INSERT img VALUES (0x616263)", "ok"},
		{"SELECT CONVERT(varchar(20), SUBSTRING(i, 2, 5), 1) FROM img", "0x6263"},
		{"SELECT STUFF('abc', 2, 1, NULL), STUFF('abc', 4, 1, 'x'), STUFF(NULL, 1, 1, 'x')", "ac NULL NULL"},
		{
			"SELECT DATALENGTH(STUFF(REPLICATE('a', 8000), 1, 0, 'bc')), DATALENGTH(REPLACE(REPLICATE('a', 8000), 'a', 'bb'))",
			"8000 8000",
		},
		{
			"SELECT DATALENGTH(REPLACE('abc', N'b', 'x')), REPLACE(CAST('abc' AS char(3)), 'b', N'ж'), " +
				"DATALENGTH(REPLACE('abc', 'b', 'x'))",
			"6 aжc 3",
		},
		{"SELECT TRANSLATE('abc', 'ab', N'xж'), TRANSLATE(N'abc', 'ab', N'xж')", "x?c xжc"},
		{"SELECT TRANSLATE('abc', 'ab', N'x🙂')", "!9828/16"},
	})
}

// TestOffsetsAndParts: docs/t-sql/functions (switchoffset, todatetimeoffset, datetrunc, datediff-big,
// smalldatetimefromparts, datetimefromparts).
func TestOffsetsAndParts(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CONVERT(varchar(40), SWITCHOFFSET(CAST('2026-01-01 10:00 +02:00' AS datetimeoffset(0)), '-01:00')), " +
				"CONVERT(varchar(40), TODATETIMEOFFSET(CAST('2026-01-01 10:00' AS datetime2(3)), 90))",
			"2026-01-01 07:00:00 -01:00 2026-01-01 10:00:00.000 +01:30",
		},
		{
			"SELECT CONVERT(varchar(40), SWITCHOFFSET('2026-01-01', 90.6), 120), CONVERT(varchar(40), " +
				"TODATETIMEOFFSET('2026-01-01', '+14:00'), 120)",
			"2026-01-01 01:30:00 +01:30 2026-01-01 00:00:00 +14:00",
		},
		{"SELECT SWITCHOFFSET('2026-01-01', '+14:01')", "!9812/16"},
		{"SELECT TODATETIMEOFFSET('2026-01-01', '-15:00')", "!9812/16"},
		{"SELECT SWITCHOFFSET('9999-12-31 23:00 +00:00', '+02:00')", "!9813/16"},
		{"SELECT DATETRUNC(microsecond, CAST('2026-01-01' AS datetime))", "!9810/16"},
		{"SELECT DATETRUNC(microsecond, CAST('2026-01-01' AS datetime2(3)))", "!9810/16"},
		{"SELECT DATETRUNC(millisecond, CAST('12:00:00.5' AS time(1)))", "!9810/16"},
		{
			"SELECT CONVERT(varchar(40), DATETRUNC(hour, CAST('2026-01-01 09:45 +12:42' AS datetimeoffset(0))))",
			"2026-01-01 09:00:00 +12:42",
		},
		{"SELECT DATETRUNC(millisecond, CAST('2026-01-01 00:00:00.123' AS datetime))", "2026-01-01T00:00:00.123"},
		{"SELECT DATEDIFF_BIG(nanosecond, '2000-01-01', '2500-01-01')", "!535/16"},
		{"SELECT DATEDIFF_BIG(nanosecond, '2000-01-01', '2200-01-01')", "6311433600000000000"},
		{"SELECT SMALLDATETIMEFROMPARTS(2079, 6, 7, 0, 0)", "!289/16"},
		{"SELECT DATETIMEFROMPARTS(1752, 12, 31, 0, 0, 0, 0)", "!289/16"},
		{
			"SELECT SMALLDATETIMEFROMPARTS(2079, 6, 6, 23, 59), DATETIMEFROMPARTS(1753, 1, 1, 0, 0, 0, 0)",
			"2079-06-06T23:59:00 1753-01-01T00:00:00",
		},
	})
}
