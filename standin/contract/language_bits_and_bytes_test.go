// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestBitsOfIntegersAndBytes: the examples of the pages, and the widths of types
// (docs/t-sql/functions/bit-manipulation-functions-overview.md and its pages).
func TestBitsOfIntegersAndBytes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT BIT_COUNT(CAST(-1 AS smallint)), BIT_COUNT(CAST(-1 AS int)), BIT_COUNT(CAST(-1 AS bigint)), " +
				"BIT_COUNT(-1), BIT_COUNT(17), BIT_COUNT(0xabcdef)",
			"16 32 64 32 2 17",
		},
		{"SELECT GET_BIT(0xabcdef, 2), GET_BIT(0xabcdef, 4), GET_BIT(5, 2), GET_BIT(5, 1)", "true false true false"},
		{
			"SELECT CONVERT(varchar(20), SET_BIT(0x00, 2), 1), CONVERT(varchar(20), SET_BIT(0xabcdef, 0, 0), 1), SET_BIT(0, " +
				"2), SET_BIT(7, 0, 0), SET_BIT(0, 31)",
			"0x04 0xABCDEE 4 6 -2147483648",
		},
		{
			"SELECT LEFT_SHIFT(12345, 5), 12345 << 5, RIGHT_SHIFT(-8, 1), LEFT_SHIFT(8, -1), LEFT_SHIFT(1, 32), CAST(255 AS " +
				"tinyint) << 1",
			"395040 395040 2147483644 4 0 254",
		},
		{
			"SELECT CONVERT(varchar(20), LEFT_SHIFT(0xabcdef, 4), 1), CONVERT(varchar(20), 0xabcdef >> 4, 1), " +
				"CONVERT(varchar(20), LEFT_SHIFT(0xabcdef, 24), 1)",
			"0xBCDEF0 0x0ABCDE 0x000000",
		},
		{
			"SELECT DATALENGTH(LEFT_SHIFT(CAST(1 AS bigint), 40)), LEFT_SHIFT(NULL, 1), SET_BIT(1, NULL), GET_BIT(NULL, 1)",
			"8 NULL NULL NULL",
		},
		{
			"SELECT LEFT_SHIFT(1.5, 1)",
			"!8116/16",
		}, {"SELECT GET_BIT('a', 1)", "!8116/16"}, {"SELECT BIT_COUNT(1.5)", "!8116/16"},
		{
			"SELECT GET_BIT(1, 32)",
			"!40517/16",
		}, {"SELECT SET_BIT(1, -1)", "!40517/16"}, {"SELECT SET_BIT(1, 2, 2)", "!40517/16"},
	})
}

// TestNumbersThatHaveNoRoom: the numbers of the errors, and the text of a float that a page calls scientific where
// appropriate (docs/t-sql/functions/cast-and-convert-transact-sql.md, float and real styles).
func TestNumbersThatHaveNoRoom(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"DECLARE @f float = 12345.12; SELECT CAST(@f AS tinyint)", "!232/16/1"},
		{"DECLARE @f float = 1e10; SELECT CAST(@f AS int)", "!232/16/3"},
		{
			"DECLARE @f float = 1.123456789, @v varchar(4); BEGIN TRY SET @v = @f END TRY BEGIN CATCH SELECT ERROR_NUMBER(), " +
				"ERROR_MESSAGE() END CATCH",
			"232 Arithmetic overflow error for type varchar, value = 1.123457.",
		},
		{
			"DECLARE @d decimal(9, 2); BEGIN TRY SET @d = ROUND(748.58, -3) END TRY BEGIN CATCH SELECT " +
				"ERROR_MESSAGE() END CATCH",
			"Arithmetic overflow error converting numeric to data type numeric.",
		},
		{
			"SELECT CAST(0.0001e0 AS varchar(30)), CAST(0.00001e0 AS varchar(30)), CAST(0.000011e0 AS varchar(30)), " +
				"CAST(999999.5e0 AS varchar(30)), CAST(1900000e0 AS varchar(30)), CAST(100000e0 AS varchar(30))",
			"0.0001 1e-005 1.1e-005 1e+006 1.9e+006 100000",
		},
	})
}

// TestBytesOfNumbersAndTimes: floats are the bytes of IEEE 754, dates and times those of [MS-TDS] 2.2.5.5.1.8, and come
// back (docs/t-sql/functions/cast-and-convert-transact-sql.md, the table of conversions).
func TestBytesOfNumbersAndTimes(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	hex := func(value string) string {
		return "SELECT CONVERT(varchar(40), CAST(" + value + " AS varbinary(20)), 1)"
	}
	converse(t, db, []say{
		{hex("1e0"), "0x3FF0000000000000"}, {hex("CAST(1 AS real)"), "0x3F800000"},
		{"SELECT CAST(0x3FF0000000000000 AS float)", "!529/16"},
		{hex("CAST('0001-01-03' AS date)"), "0x020000"},
		{hex("CAST('00:00:01' AS time(0))"), "0x00010000"},
		{hex("CAST('0001-01-03 00:00:00.5' AS datetime2(1))"), "0x01050000020000"},
		{hex("CAST('0001-01-03 01:00:00 +01:00' AS datetimeoffset(0))"), "0x000000000200003C00"},
		{hex("CAST('1900-01-02 00:02' AS smalldatetime)"), "0x00010002"},
		{hex("CAST('1900-01-02 00:00:01' AS datetime)"), "0x000000010000012C"},
		{
			"SELECT CAST(CAST(CAST('2024-02-29 13:14:15.1234567 -05:30' AS datetimeoffset) AS varbinary(20)) AS " +
				"datetimeoffset) AT TIME ZONE 'UTC'",
			"2024-02-29T18:44:15.1234567",
		},
		{
			"SELECT CONVERT(varchar(40), CAST(CAST(CAST('2024-02-29 13:14:15.123' AS datetime2(3)) AS varbinary(20)) AS " +
				"datetime2(3)), 121)",
			"2024-02-29 13:14:15.123",
		},
		{
			"SELECT CONVERT(varchar(40), CAST(0x01 AS datetime), 121), CONVERT(varchar(40), CAST(0x00010002 AS " +
				"smalldatetime), 120)",
			"1900-01-01 00:00:00.003 1900-01-02 00:02:00",
		},
		{"SELECT CAST(0x0102 AS date)", "!9803/16"},
	})
}

// TestAggregatesWithinGroup: a result that is too long and orders that contradict each other are refused, and
// percentiles are approximated (docs/t-sql/functions/string-agg-transact-sql.md,
// approx-percentile-cont-transact-sql.md, approx-percentile-disc-transact-sql.md).
func TestAggregatesWithinGroup(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE employee (id int IDENTITY PRIMARY KEY, dept int, salary int); INSERT employee VALUES (1, 31), (1, " +
				"33), (1, 18), (2, 25), (2, 35), (2, 10), (2, 10), (3, 1), (3, NULL), (4, NULL), (4, NULL)",
			"",
		},
		{
			"SELECT dept, APPROX_PERCENTILE_DISC(0.10) WITHIN GROUP (ORDER BY salary), APPROX_PERCENTILE_CONT(0.5) WITHIN " +
				"GROUP (ORDER BY salary DESC) FROM employee GROUP BY dept ORDER BY dept",
			"1 18 31; 2 10 17.5; 3 1 1; 4 NULL NULL",
		},
		{"SELECT APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary) OVER () FROM employee", "!4113/16"},
		{"SELECT APPROX_PERCENTILE_CONT(0.5) FROM employee", "!10754/15"},
		{"SELECT APPROX_PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY CAST(salary AS varchar(9))) FROM employee", "!8117/16"},
		{"SELECT id FROM employee WHERE APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary) > 1", "!147/15"},
		{"SELECT STRING_AGG(REPLICATE('x', 3000), ',') FROM employee WHERE dept = 1", "!9829/16"},
		{"SELECT LEN(STRING_AGG(CAST(REPLICATE('x', 3000) AS varchar(max)), ',')) FROM employee WHERE dept = 1", "9002"},
		{"SELECT STRING_AGG(CAST(REPLICATE(N'x', 3000) AS nvarchar(3000)), ',') FROM employee WHERE id < 3", "!9829/16"},
		{
			"SELECT STRING_AGG(dept, ',') WITHIN GROUP (ORDER BY id), STRING_AGG(salary, ',') WITHIN GROUP (ORDER BY salary) " +
				"FROM employee",
			"!8711/16",
		},
		{
			"SELECT STRING_AGG(dept, ',') WITHIN GROUP (ORDER BY id), STRING_AGG(salary, ',') WITHIN GROUP (ORDER BY id), " +
				"STRING_AGG(id, '') FROM employee WHERE dept = 1",
			"1,1,1 31,33,18 123",
		},
	})
}

// TestTypesOfTableFunctions: STRING_SPLIT is as its arguments are, GENERATE_SERIES has decimals
// (docs/t-sql/functions/string-split-transact-sql.md, generate-series-transact-sql.md, Examples).
func TestTypesOfTableFunctions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT TOP (0) * INTO a FROM STRING_SPLIT('a,b', ','); SELECT TOP (0) * INTO b FROM STRING_SPLIT('a,b', N',', " +
				"1); DECLARE @m varchar(max) = 'a'; SELECT TOP (0) * INTO c FROM STRING_SPLIT(@m, ',')",
			"",
		},
		{
			"SELECT OBJECT_NAME(object_id), name, TYPE_NAME(system_type_id), max_length FROM sys.columns WHERE object_id IN " +
				"(OBJECT_ID('a'), OBJECT_ID('b'), OBJECT_ID('c')) ORDER BY object_id, column_id",
			"a value varchar 3; b value nvarchar 6; b ordinal bigint 8; c value varchar -1",
		},
		{"SELECT COUNT(*) FROM STRING_SPLIT('a,A' COLLATE Latin1_General_BIN2, ',') WHERE value = 'a'", "1"},
		{
			"DECLARE @start decimal(2, 1) = 0.0, @stop decimal(2, 1) = 1.0, @step decimal(2, 1) = 0.1; SELECT " +
				"STRING_AGG(value, ' ') FROM GENERATE_SERIES(@start, @stop, @step)",
			"0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0",
		},
		{"SELECT value FROM GENERATE_SERIES(1.5, 0.0) ORDER BY value", "0.5; 1.5"},
		{"SELECT value FROM GENERATE_SERIES(1.0, 2.0, 0.0)", "!4199/16"},
		{
			"SELECT value FROM GENERATE_SERIES(1, 2, 0.1)",
			"!5373/16",
		}, {"SELECT value FROM GENERATE_SERIES(1.0, 2)", "!5373/16"},
		{
			"SELECT STRING_AGG(value, ' ') FROM GENERATE_SERIES(CAST(1 AS tinyint), CAST(7 AS tinyint), CAST(3 AS tinyint))",
			"1 4 7",
		},
	})
}
