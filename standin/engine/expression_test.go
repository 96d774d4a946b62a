// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
)

func TestExpressions(t *testing.T) {
	c := newServer(t).conn("master")
	for _, e := range []struct{ text, want string }{
		{"1 + 2 * 3", "7"}, {"7 / 2", "3"}, {"-7 / 2", "-3"}, {"7 % 3", "1"}, {"7 / 2.0", "3.500000"}, {"1.5 + 1.25", "2.75"},
		{"2.5 * 2.5", "6.25"},
		{"10 / CAST(4 AS float)", "2.5"}, {"5 & 3", "1"}, {"5 | 3", "7"}, {"5 ^ 3", "6"}, {"~5", "-6"}, {"-(3)", "-3"},
		{"'a' + 'b'", "ab"}, {"N'a' + NULL", "<nil>"}, {"CONCAT('a', NULL, 1, 2.5)", "a12.5"},
		{"CONCAT_WS(',', 'a', NULL, 'b')", "a,b"},
		{"LEN('abc  ')", "3"}, {"DATALENGTH(N'abc')", "6"}, {"DATALENGTH('abc')", "3"}, {"UPPER('abc')", "ABC"},
		{"LTRIM(RTRIM('  x '))", "x"}, {"TRIM('  x ')", "x"},
		{"SUBSTRING('abcdef', 2, 3)", "bcd"}, {"LEFT('abc', 2)", "ab"}, {"RIGHT('abc', 2)", "bc"},
		{"CHARINDEX('C', 'abcabc')", "3"}, {"CHARINDEX('c', 'abcabc', 4)", "6"},
		{"REPLACE('aXbx', 'x', '-')", "a-b-"}, {"STUFF('abcdef', 2, 3, 'Z')", "aZef"}, {"REPLICATE('ab', 3)", "ababab"},
		{"REVERSE('abc')", "cba"}, {"SPACE(3) + 'x'", "   x"},
		{"PATINDEX('%b_d%', 'abcd')", "2"}, {"ASCII('A')", "65"}, {"CHAR(65)", "A"}, {"UNICODE(N'€')", "8364"},
		{"QUOTENAME('a]b')", "[a]]b]"}, {"STR(3.14159, 6, 2)", "  3.14"},
		{"CAST('12' AS int)", "12"}, {"CAST(12 AS varchar(5)) + 'x'", "12x"}, {"CAST(1.5 AS int)", "1"},
		{"CAST('1.5' AS decimal(5,2))", "1.50"}, {"CAST(1 AS bit)", "true"},
		{"CAST('abc' AS char(5)) + '|'", "abc  |"}, {"CAST('abcdef' AS varchar(3))", "abc"},
		{"CAST(0x41 AS varchar(5))", "A"}, {"CONVERT(varchar(10), 0x0AFF, 1)", "0x0AFF"},
		{"CONVERT(varbinary(4), '0x0AFF', 1)", "\n\xff"}, {"TRY_CAST('x' AS int)", "<nil>"}, {"TRY_CONVERT(int, '7')", "7"},
		{"CAST(CAST(12.345 AS money) AS varchar(20))", "12.35"},
		{"CONVERT(varchar(30), CAST('2024-02-29T13:14:15.123' AS datetime), 121)", "2024-02-29 13:14:15.123"},
		{"CONVERT(varchar(30), CAST('2024-02-29 13:14:15' AS datetime2(3)), 126)", "2024-02-29T13:14:15.000"},
		{"CONVERT(varchar(30), CAST('20240229' AS datetime))", "Feb 29 2024 12:00AM"},
		{"CONVERT(char(8), CAST('2024-02-29' AS date), 112)", "20240229"},
		{"DATEADD(month, 1, CAST('2024-01-31' AS date))", "2024-02-29 00:00:00 +0000 UTC"},
		{"DATEDIFF(day, '2024-01-01', '2024-03-01')", "60"}, {"DATEPART(year, '2024-03-01')", "2024"},
		{"DATEDIFF(second, '2024-01-01 00:00:59', '2024-01-01 00:01:01')", "2"}, {"DATENAME(month, '2024-03-01')", "March"},
		{"YEAR('2024-03-01')", "2024"}, {"EOMONTH('2024-02-10')", "2024-02-29 00:00:00 +0000 UTC"},
		{"CASE WHEN 1 = 1 THEN 'y' ELSE 'n' END", "y"}, {"CASE 3 WHEN 1 THEN 'a' WHEN 3 THEN 'c' END", "c"},
		{"IIF(1 > 2, 1, 2)", "2"}, {"COALESCE(NULL, NULL, 3)", "3"}, {"ISNULL(NULL, 'x')", "x"},
		{"NULLIF(1, 1)", "<nil>"}, {"CHOOSE(2, 'a', 'b')", "b"}, {"ABS(-3)", "3"}, {"ROUND(2.567, 1)", "2.600"},
		{"FLOOR(-1.5)", "-2"}, {"CEILING(1.2)", "2"}, {"POWER(2, 10)", "1024"}, {"SQRT(16)", "4"}, {"SIGN(-2)", "-1"},
		{"ISNUMERIC('1.5')", "1"}, {"ISNUMERIC('x')", "0"}, {"ISDATE('2024-01-01')", "1"},
		{"CONVERT(varchar(40), HASHBYTES('SHA1', 'a'), 2)", "86F7E437FAA5A7FCE15D1DDCB9EAEAEA377667B8"},
		{"(SELECT MAX(v) FROM (VALUES (1), (3), (2)) x(v))", "3"},
		{"(SELECT STRING_AGG(v, ',') WITHIN GROUP (ORDER BY v DESC) FROM (VALUES ('a'), ('c'), ('b')) x(v))", "c,b,a"},
		{"FORMAT(1234.5, 'N2')", "1,234.50"}, {"FORMAT(CAST('2024-02-03' AS date), 'yyyy/MM/dd')", "2024/02/03"},
		{"CAST(1e6 AS varchar(20))", "1e+006"}, {"CAST(0.1 AS real)", "0.10000000149011612"},
		{"CAST(CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier) AS varchar(36))",
			"6F9619FF-8B86-D011-B42D-00C04FC964FF"}, {"2147483647 + CAST(1 AS bigint)", "2147483648"},
		{"DB_NAME()", "master"}, {"DB_ID('msdb')", "4"}, {"SUSER_SNAME()", "sa"}, {"@@SERVERNAME", "TESTSERVER"},
		{"SERVERPROPERTY('ProductMajorVersion')", "16"}, {"@@TRANCOUNT", "0"}, {"APP_NAME()", "go-mssqldb"},
		{"(SELECT COUNT(*) FROM (VALUES (1),(NULL)) x(a) WHERE a IS NULL)", "1"},
		{"(SELECT AVG(v) FROM (VALUES (1),(2)) x(v))", "1"}, {"(SELECT SUM(v) FROM (VALUES (1.5),(2.25)) x(v))", "3.75"},
		{"CAST(CAST('10:11:12.5' AS time(1)) AS varchar(20))", "10:11:12.5"},
		{"CAST(CAST('2024-01-01T00:00:00+02:00' AS datetimeoffset) AS varchar(40))", "2024-01-01 00:00:00.0000000 +02:00"},
		{"(SELECT TOP 1 v AS 'the value' FROM (VALUES (1), (3), (2)) x(v) ORDER BY 'the value' DESC)", "3"},
		{"ABS(CAST(-32768 AS smallint))", "32768"},
		{"CAST(CAST('2024-05-06 12:30:15. 25 +02:00' AS time(2)) AS varchar(20))", "12:30:15.25"},
		{"CAST(CAST('2024-05-06 12:30:15.  5' AS datetime2(1)) AS varchar(30))", "2024-05-06 12:30:15.5"},
		{"CHARINDEX('B', 'abcB' COLLATE Latin1_General_CS_AS)", "4"},
		{"CHARINDEX('B' COLLATE Latin1_General_BIN2, 'abc')", "0"},
		{"PATINDEX('%B%', 'abcB' COLLATE Latin1_General_BIN2)", "4"},
		{"REPLACE('aAa' COLLATE Latin1_General_BIN2, 'a', '-')", "-A-"}, {"YEAR(0)", "1900"}, {"MONTH(59.5)", "3"},
		{"DAY('2024-05-06 23:00 +05:00')", "6"},
		{"CAST(DATETIMEOFFSETFROMPARTS(2024, 2, 29, 13, 14, 15, 5, -5, -30, 1) AS varchar(40))",
			"2024-02-29 13:14:15.5 -05:30"},
		{"CAST(CAST(CAST(-12.34 AS decimal(6,2)) AS varbinary(20)) AS decimal(8,3))", "-12.340"},
		{"CAST(CAST(1 AS decimal(10,4)) / 3 AS varchar(30))", "0.333333"},
		{"REPLACE(CONVERT(varchar(50), CAST(1234567.891 AS money), 1), ',', '_')", "1_234_567.89"},
	} {
		rows := c.rows("SELECT " + e.text)
		if len(rows) != 1 || rows[0] != e.want {
			t.Errorf("SELECT %s\nwant %q, got %q", e.text, e.want, rows)
		}
	}
}

func TestConditions(t *testing.T) {
	c := newServer(t).conn("master")
	for _, e := range []struct {
		text string
		want bool
	}{
		{"'a' = 'A'", true}, {"'a' = 'a  '", true},
		{"EXISTS (SELECT 1 FROM (SELECT v COLLATE Latin1_General_BIN2 AS v FROM (VALUES ('a')) x(v)) y WHERE v = 'A')",
			false}, {"'abc' LIKE 'A%'", true}, {"'abc' LIKE '[a-c]b_'", true}, {"'a%c' LIKE 'a!%c' ESCAPE '!'", true},
		{"'abc' NOT LIKE '%z%'", true}, {"3 BETWEEN 1 AND 5", true}, {"3 NOT BETWEEN 1 AND 2", true},
		{"2 IN (1, 2, 3)", true}, {"'b' IN ('A', 'B')", true}, {"NULL = NULL", false}, {"NOT (1 = 2)", true},
		{"1 = '1'", true}, {"1.50 = 1.5", true}, {"CAST('2024-01-01' AS date) < '2024-01-02'", true},
		{"EXISTS (SELECT 1 FROM sys.databases WHERE name = 'master')", true}, {"NULL IS NOT DISTINCT FROM NULL", true},
		{"CAST('00000000-0000-0000-0000-000000000001' AS uniqueidentifier) < '01000000-0000-0000-0000-000000000000'", false},
		{"N'é' = N'e'", false}, {"2 > 1.999", true}, {"CAST(5 AS float) = 5", true}, {"CAST(1 AS money) = 1", true},
		{"0x01 < 0x0200", true}, {"'a' < 'B'", true}, {"'_' < 'a'", true},
	} {
		got := c.one("SELECT CASE WHEN "+e.text+" THEN 1 ELSE 0 END") == int64(1)
		if got != e.want {
			t.Errorf("%s is %v", e.text, got)
		}
	}
}

func TestErrorsOfExpressions(t *testing.T) {
	c := newServer(t).conn("master")
	for _, e := range []struct {
		number int32
		text   string
	}{
		{8134, "SELECT 1 / 0"}, {245, "SELECT CAST('x' AS int)"}, {8114, "SELECT CAST('x' AS decimal(5,2))"},
		{8115, "SELECT 2147483647 + 1"}, {241, "SELECT CAST('x' AS datetime)"},
		{242, "SELECT CAST('2024-13-01' AS datetime)"},
		{220, "SELECT CAST(300 AS tinyint)"}, {8169, "SELECT CAST('x' AS uniqueidentifier)"}, {208, "SELECT * FROM nosuch"},
		{207, "SELECT nosuch FROM sys.databases"}, {195, "SELECT nosuch(1)"}, {174, "SELECT LEN('a', 'b')"},
		{137, "SELECT @nosuch"}, {102, "SELECT * FRM x"}, {2812, "EXEC nosuch"}, {4104, "SELECT x.a FROM sys.databases d"},
		{209, "SELECT name FROM sys.databases a, sys.databases b"}, {512, "SELECT (SELECT 1 UNION SELECT 2)"},
		{8120, "SELECT name, COUNT(*) FROM sys.databases"}, {402, "SELECT 'a' - GETDATE() % 2"},
		{529, "SELECT CAST(CAST(1 AS float) AS date)"}, {911, "USE nosuch"}, {205, "SELECT 1 UNION SELECT 1, 2"},
		{8115, "SELECT CAST(1234.5 AS decimal(3,1))"}, {243, "SELECT CAST(1 AS nosuch)"}, {8145, "EXEC sp_who @nosuch = 1"},
		{201, "EXEC sp_set_session_context"}, {40517, "SELECT * FROM sys.databases FOR XML RAW, XMLDATA"},
		{8115, "DECLARE @i int = -2147483648; SELECT ABS(@i)"}, {8115, "SELECT ABS(CAST(-9223372036854775808 AS bigint))"},
		{8115, "SELECT EXP(1000)"}, {3623, "SELECT SQRT(-1)"},
		{289, "SELECT DATETIMEOFFSETFROMPARTS(2024, 1, 1, 0, 0, 0, 0, 15, 0, 0)"},
		{289, "SELECT DATETIMEOFFSETFROMPARTS(2024, 1, 1, 0, 0, 0, 0, 1, -30, 0)"},
		{408, "SELECT name AS 'the name' FROM sys.databases ORDER BY 'another'"},
		{241, "SELECT CAST('2024-05-06 12:30:15. 25' AS datetime)"},
	} {
		c.fails(e.number, e.text)
	}
}
