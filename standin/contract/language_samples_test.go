// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestConstraintsOfTheMoment: what a CHECK constraint may ask for besides the row, as those of the sample databases
// Northwind (BirthDate < getdate()) and AdventureWorks do.
// docs/relational-databases/tables/unique-constraints-and-check-constraints.md.
func TestConstraintsOfTheMoment(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{`CREATE TABLE people (
	id int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
	boss int NULL CONSTRAINT fk_boss REFERENCES people (id),
	born datetime NULL CONSTRAINT ck_born CHECK (born < GETDATE()),
	hired date NOT NULL CONSTRAINT ck_hired CHECK (hired BETWEEN '1996-07-01' AND DATEADD(DAY, 1, GETDATE())),
	by_whom sysname NOT NULL CONSTRAINT df_whom DEFAULT CURRENT_USER CONSTRAINT ck_whom CHECK (by_whom = USER_NAME() AND by_whom = CURRENT_USER),
	login sysname NOT NULL CONSTRAINT ck_login CHECK (login = SYSTEM_USER))`, "ok"},
		{
			"INSERT people (boss, born, hired, login) VALUES (NULL, '1960-05-29', SYSDATETIME(), SYSTEM_USER), (1, NULL, " +
				"'2001-01-01', SYSTEM_USER)",
			"ok",
		},
		{"INSERT people (born, hired, login) VALUES (DATEADD(year, 1, GETDATE()), '2001-01-01', SYSTEM_USER)", "!547/16"},
		{"UPDATE people SET hired = DATEADD(day, 2, GETDATE()) WHERE id = 2", "!547/16"},
		{"UPDATE people SET login = N'nobody' WHERE id = 2", "!547/16"},
		{
			"ALTER TABLE people WITH CHECK ADD CONSTRAINT ck_old CHECK (hired < DATEADD(YEAR, -1, SYSUTCDATETIME()))",
			"!547/16",
		},
		{"ALTER TABLE people WITH NOCHECK ADD CONSTRAINT ck_old CHECK (hired < DATEADD(YEAR, -1, SYSUTCDATETIME()))", "ok"},
		{"UPDATE people SET born = '1961-01-01' WHERE id = 1", "!547/16"},
		{"SELECT id, by_whom FROM people WHERE born IS NULL", "2 dbo"},
		{"CREATE INDEX recent ON people (born) WHERE born > GETDATE()", "!10735"},
	})
}

// TestObjectsOfLongAgo: docs/relational-databases/system-compatibility-views/sys-sysobjects-transact-sql.md. The
// scripts of Northwind and pubs ask for sysstat, whose bits the page calls internal: they tell views (2), tables (3)
// and procedures (4) apart.
func TestObjectsOfLongAgo(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE orders (id int CONSTRAINT pk_orders PRIMARY KEY)", "ok"},
		{"CREATE VIEW looking AS SELECT id FROM orders", "ok"},
		{"CREATE PROCEDURE doing AS SELECT 1 AS one", "ok"},
		{
			"SELECT name, xtype, type, sysstat & 0xf FROM sysobjects WHERE name IN ('orders', 'looking', 'doing') ORDER BY name",
			"doing P  P  4; looking V  V  2; orders U  U  3",
		},
		{
			"SELECT xtype, type, schema_ver, OBJECT_NAME(parent_obj) FROM sysobjects WHERE name = 'pk_orders'",
			"PK K  0 orders",
		},
		{`if exists (select * from sysobjects where id = object_id('dbo.looking') and sysstat & 0xf = 2)
	drop view "dbo"."looking"`, "ok"},
		{"SELECT OBJECT_ID('looking')", "NULL"},
		{
			"SELECT CASE WHEN CONVERT(datetime, SERVERPROPERTY('ResourceLastUpdateDateTime')) <= GETDATE() THEN 'earlier' END",
			"earlier",
		},
	})
}

// TestDataFilesOfAllColumns: docs/tools/bcp-utility.md, "Computed columns and timestamp columns": the values in the
// file are ignored.
func TestDataFilesOfAllColumns(t *testing.T) {
	t.Parallel()
	ownProcess(t)
	db := connection(t, newDatabase(t))
	path := filepath.Join(t.TempDir(), "rows.txt")
	NewWithT(
		t,
	).Expect(os.WriteFile(path, []byte("1\t3\t\t0000000000000001\tE610AB\n2\t4\t999\t\t0x01\n"), 0o644)).
		To(Succeed())
	converse(t, db, []say{
		{
			"CREATE TABLE lines (id int NOT NULL, quantity int NOT NULL, total AS quantity * 2, stamp rowversion, place " +
				"varbinary(10) NULL)",
			"ok",
		},
		{
			fmt.Sprintf(`BULK INSERT lines FROM '%s' WITH (FIELDTERMINATOR = '\t', ROWTERMINATOR = '0x0a', TABLOCK)`, path),
			"ok",
		},
		{"SELECT id, total, place FROM lines ORDER BY id", "1 6 0xE610AB; 2 8 0x01"},
	})
}

// TestRecursionWithSeveralMembers: docs/t-sql/queries/with-common-table-expression-transact-sql.md, "Using multiple
// anchor and recursive members".
func TestRecursionWithSeveralMembers(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE dbo.Person(ID int, Name VARCHAR(30), Mother INT, Father INT)", "ok"},
		{`INSERT dbo.Person
VALUES(1, 'Sue', NULL, NULL)
      ,(2, 'Ed', NULL, NULL)
      ,(3, 'Emma', 1, 2)
      ,(4, 'Jack', 1, 2)
      ,(5, 'Jane', NULL, NULL)
      ,(6, 'Bonnie', 5, 4)
      ,(7, 'Bill', 5, 4)`, "ok"},
		{`WITH Generation (ID) AS
(
    SELECT Mother
    FROM dbo.Person
    WHERE Name = 'Bonnie'
UNION
    SELECT Father
    FROM dbo.Person
    WHERE Name = 'Bonnie'
UNION ALL
    SELECT Person.Father
    FROM Generation, Person
    WHERE Generation.ID=Person.ID
UNION ALL
    SELECT Person.Mother
    FROM Generation, dbo.Person
    WHERE Generation.ID=Person.ID
)
SELECT Person.ID, Person.Name, Person.Mother, Person.Father
FROM Generation, dbo.Person
WHERE Generation.ID = Person.ID ORDER BY 1`, "1 Sue NULL NULL; 2 Ed NULL NULL; 4 Jack 1 2; 5 Jane NULL NULL"},
		{"WITH g AS (SELECT ID FROM Person UNION SELECT g.ID FROM g) SELECT * FROM g", "!252/16"},
		{"WITH g AS (SELECT ID FROM Person UNION ALL SELECT g.ID FROM g UNION ALL SELECT 1) SELECT * FROM g", "!247/16"},
	})
}

// TestIdentityFunction: docs/t-sql/functions/identity-function-transact-sql.md.
func TestIdentityFunction(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE people (FirstName nvarchar(20), LastName nvarchar(20)); INSERT people VALUES (N'Ken', N'Sánchez'), " +
				"(N'Terri', N'Duffy'), (N'Rob', N'Walters')",
			"ok",
		},
		{`SELECT  IDENTITY(smallint, 100, 5) AS ContactNum,
        FirstName AS First,
        LastName AS Last
INTO NewContact
FROM people
ORDER BY LastName`, "ok"},
		{"SELECT @@ROWCOUNT", "3"},
		{"SELECT ContactNum, Last FROM NewContact ORDER BY 1", "100 Duffy; 105 Sánchez; 110 Walters"},
		{"INSERT NewContact VALUES (N'Gail', N'Erickson'); SELECT SCOPE_IDENTITY()", "115"},
		{
			"SELECT TYPE_NAME(system_type_id), seed_value, increment_value, is_nullable FROM sys.identity_columns WHERE " +
				"object_id = OBJECT_ID('NewContact')",
			"smallint 100 5 false",
		},
		{"SELECT IDENTITY(int) AS id, FirstName INTO #numbered FROM people; SELECT MAX(id) FROM #numbered", "3"},
		{"SELECT IDENTITY(int, 1, 1) AS id FROM people", "!177/15"},
		{"SELECT IDENTITY(int, 1, 1) AS a, IDENTITY(int, 1, 1) AS b INTO #two FROM people", "!8109/16"},
		{"SELECT IDENTITY(int, 1, 1) INTO #unnamed FROM people", "!1038/15"},
		{"SELECT IDENTITY(varchar(5), 1, 1) AS a INTO #text FROM people", "!2749/16"},
	})
}

// TestOutputTwice: docs/t-sql/queries/output-clause-transact-sql.md, "Using OUTPUT and OUTPUT INTO in a single
// statement".
func TestOutputTwice(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE photos (ProductID int, PhotoID int); INSERT photos VALUES (800, 1), (801, 2), (900, 3)", "ok"},
		{
			"CREATE TABLE products (ProductID int, Name nvarchar(50)); INSERT products VALUES (800, N'Frame'), (801, N'Wheel')",
			"ok",
		},
		{"CREATE TABLE kept (ProductID int, Name nvarchar(50), PhotoID int)", "ok"},
		{`DELETE photos
OUTPUT DELETED.ProductID,
       p.Name,
       DELETED.PhotoID
    INTO kept
OUTPUT DELETED.ProductID, DELETED.PhotoID + 10 AS more
FROM photos AS ph
JOIN products AS p
    ON ph.ProductID = p.ProductID`, "800 11; 801 12"},
		{"SELECT @@ROWCOUNT", "2"},
		{"SELECT ProductID, Name, PhotoID FROM kept ORDER BY 1", "800 Frame 1; 801 Wheel 2"},
		{
			"INSERT photos OUTPUT inserted.ProductID, inserted.PhotoID INTO kept (ProductID, PhotoID) OUTPUT inserted.* " +
				"VALUES (902, 5)",
			"902 5",
		},
		{
			"UPDATE photos SET PhotoID += 1 OUTPUT inserted.ProductID, N'changed', deleted.PhotoID INTO kept OUTPUT " +
				"inserted.PhotoID WHERE ProductID = 902",
			"6",
		},
		{"SELECT ProductID, Name, PhotoID FROM kept WHERE ProductID > 900 ORDER BY Name", "902 NULL 5; 902 changed 5"},
		{"INSERT photos OUTPUT inserted.ProductID INTO kept OUTPUT inserted.* VALUES (903, 5)", "!213/16"},
	})
}

// TestGroupingSetsOfExpressions: docs/t-sql/functions/grouping-id-transact-sql.md, the examples that group by parts of
// a date.
func TestGroupingSetsOfExpressions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE orders (OrderDate datetime, TotalDue money, region varchar(10)); INSERT orders VALUES " +
				"('2007-01-01', 1, 'a'), ('2007-01-02', 2, 'a'), ('2007-02-01', 4, 'b'), ('2008-01-01', 8, 'b')",
			"ok",
		},
		{`SELECT DATEPART(yyyy,OrderDate) AS N'Year', DATEPART(mm,OrderDate) AS N'Month', SUM(TotalDue) AS N'Total Due',
    CAST(GROUPING(DATEPART(mm,OrderDate)) AS CHAR(1)) + CAST(GROUPING(DATEPART(yyyy,OrderDate)) AS CHAR(1)) AS N'Bit Vector(base-2)',
    GROUPING_ID(DATEPART(yyyy,OrderDate), DATEPART(mm,OrderDate)) AS N'Integer Equivalent',
    CASE WHEN GROUPING_ID(DATEPART(yyyy,OrderDate), DATEPART(mm,OrderDate)) = 0 THEN N'Year Month' WHEN GROUPING_ID(DATEPART(yyyy,OrderDate), DATEPART(mm,OrderDate)) = 1 THEN N'Year' ELSE N'Grand Total' END
FROM orders
GROUP BY ROLLUP(DATEPART(yyyy,OrderDate), DATEPART(mm,OrderDate))
ORDER BY GROUPING_ID(DATEPART(yyyy,OrderDate), DATEPART(mm,OrderDate)), DATEPART(yyyy,OrderDate), DATEPART(mm,OrderDate)`,
			"2007 1 3.0000 00 0 Year Month; 2007 2 4.0000 00 0 Year Month; 2008 1 8.0000 00 0 Year Month; 2007 NULL 7.0000 " +
				"10 1 Year; 2008 NULL 8.0000 10 1 Year; NULL NULL 15.0000 11 3 Grand Total"},
		{
			"SELECT region, YEAR(OrderDate) * 10 AS y, COUNT(*) FROM orders GROUP BY GROUPING SETS ((region), " +
				"(YEAR(OrderDate)), (region, YEAR(OrderDate))) ORDER BY GROUPING_ID(region, YEAR(OrderDate)), 1, 2",
			"a 20070 2; b 20070 1; b 20080 1; a NULL 2; b NULL 2; NULL 20070 3; NULL 20080 1",
		},
		{
			"SELECT YEAR(OrderDate), COUNT(*) FROM orders GROUP BY YEAR(OrderDate) WITH ROLLUP ORDER BY 1",
			"NULL 4; 2007 3; 2008 1",
		},
		{"SELECT GROUPING(MONTH(OrderDate)) FROM orders GROUP BY ROLLUP(YEAR(OrderDate))", "!8161"},
		{"SELECT TOP (30) PERCENT WITH TIES region FROM orders ORDER BY region", "a; a"},
	})
}

// TestODBCFunctions: docs/t-sql/functions/odbc-scalar-functions-transact-sql.md.
func TestODBCFunctions(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{`CREATE FUNCTION dbo.ODBCudf
(
    @string_exp NVARCHAR(4000)
)
RETURNS INT
AS
BEGIN
DECLARE @len INT
SET @len = (SELECT {fn OCTET_LENGTH( @string_exp )})
RETURN(@len)
END`, "ok"},
		{"SELECT dbo.ODBCudf('Returns the length.')", "38"},
		{"DECLARE @string_exp nvarchar(4000) = 'Returns the length.'; SELECT {fn BIT_LENGTH( @string_exp )}", "304"},
		{
			"DECLARE @date_exp nvarchar(30) = '2007-04-21 01:01:01.1234567'; SELECT {fn DAYNAME( @date_exp )}, {fn " +
				"MONTHNAME( @date_exp )}, {fn DAYOFMONTH( @date_exp )}, {fn HOUR( @date_exp )}, {fn QUARTER( @date_exp )}, {fn " +
				"EXTRACT(YEAR FROM @date_exp)}",
			"Saturday April 21 1 2 2007",
		},
		{
			"SELECT {fn CONCAT('a', 'b')}, {fn TRUNCATE(100.123456, 4)}, {fn UCASE('x')}, {fn MOD(7, 4)}, LEN({fn " +
				"CURRENT_DATE()}), LEN({fn CURRENT_TIME()}), LEN({fn CURRENT_TIME(6)})",
			"ab 100.123400 X 3 10 8 15",
		},
		{"SELECT {fn NO_SUCH_THING(1)}", "!40517"},
	})
}

// TestRowVersionDefault: docs/t-sql/functions/min-active-rowversion-transact-sql.md inserts DEFAULT; an explicit value
// is 273.
func TestRowVersionDefault(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE TABLE RowVersionTestTable (rv ROWVERSION)", "ok"},
		{"INSERT INTO RowVersionTestTable VALUES (DEFAULT)", "ok"},
		{"SELECT COUNT(rv) FROM RowVersionTestTable", "1"},
		{"CREATE TABLE MyTest (myKey int PRIMARY KEY, myValue int, RV rowversion)", "ok"},
		{"INSERT INTO MyTest (myKey, myValue) VALUES (1, 0)", "ok"},
		{"INSERT INTO MyTest (myKey, myValue, RV) VALUES (2, 0, DEFAULT)", "ok"},
		{"INSERT INTO MyTest VALUES (3, 0, DEFAULT)", "ok"},
		{"INSERT INTO MyTest VALUES (4, 0, 0x01)", "!273/16"},
		{"INSERT INTO MyTest SELECT 5, 0, 0x01", "!273/16"},
		{"INSERT INTO MyTest VALUES (6, 0)", "!213/16"},
		{"SELECT COUNT(DISTINCT RV) FROM MyTest", "3"},
	})
}

// TestTimesFromParts: docs/t-sql/functions/timefromparts-transact-sql.md, smalldatetimefromparts-, todatetimeoffset-,
// switchoffset- and formatmessage-transact-sql.md, docs/t-sql/functions/file-name-transact-sql.md.
func TestTimesFromParts(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT CAST(TIMEFROMPARTS ( 23, 59, 59, 0, 0 ) AS varchar(8)), CAST(TIMEFROMPARTS ( 14, 23, 44, 5, 1 ) AS " +
				"varchar(10)), CAST(TIMEFROMPARTS ( 14, 23, 44, 500, 3 ) AS varchar(12))",
			"23:59:59 14:23:44.5 14:23:44.500",
		},
		{
			"SELECT SMALLDATETIMEFROMPARTS ( 2010, 12, 31, 23, 59 ), TIMEFROMPARTS(1, NULL, 1, 1, 1)",
			"2010-12-31T23:59:00 NULL",
		},
		{"SELECT TIMEFROMPARTS(24, 0, 0, 0, 0)", "!289/16"},
		{"SELECT SMALLDATETIMEFROMPARTS(2010, 13, 1, 0, 0)", "!289/16"},
		{
			"SELECT CONVERT(varchar(40), TODATETIMEOFFSET(CAST('2019-04-22 11:39:21' AS datetime2(0)), -120)), " +
				"CONVERT(varchar(40), SWITCHOFFSET(CAST('2019-04-22 11:39:21 +00:00' AS datetimeoffset(0)), 90))",
			"2019-04-22 11:39:21 -02:00 2019-04-22 13:09:21 +01:30",
		},
		{"SELECT TODATETIMEOFFSET(SYSDATETIME(), 841)", "!9812/16"},
		{"SELECT FORMATMESSAGE('Bigint %I64d', 3000000000)", "Bigint 3000000000"},
		{
			"SELECT CASE WHEN FILE_NAME(1) = (SELECT name FROM sys.database_files WHERE file_id = 1) THEN 'same' END, " +
				"FILE_NAME(99)",
			"same NULL",
		},
	})
}

// TestDocumentedAnswers: answers that the pages of the functions print.
func TestDocumentedAnswers(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		// docs/t-sql/functions/avg-transact-sql.md: the average of money is cut (437.4042, 3472.1428), not rounded.
		{"SELECT AVG(m) FROM (VALUES ($1), ($1), ($0)) v (m)", "0.6666"},
		{"SELECT DISTINCT AVG(m) OVER (), AVG(-m) OVER () FROM (VALUES ($1), ($1), ($0)) v (m)", "0.6666 -0.6666"},
		// docs/t-sql/language-elements/string-concatenation-transact-sql.md and string-concatenation-equal-transact-sql.md.
		{`DECLARE @x VARCHAR(8000) = REPLICATE('x', 8000)
DECLARE @y VARCHAR(max) = REPLICATE('y', 8000)
DECLARE @z VARCHAR(8000) = REPLICATE('z',8000)
SET @y = @x + @z + @y
SELECT LEN(@y) AS y`, "16000"},
		{`DECLARE @x VARCHAR(4000) = REPLICATE('x', 4000)
DECLARE @z VARCHAR(8000) = REPLICATE('z',8000)
DECLARE @y VARCHAR(max) = ''
SET @y += @x + @z
SELECT LEN(@y), LEN('' + @x + @z), LEN(@y + @x + @z), LEN(@y + (@x + @z))`, "8000 8000 20000 16000"},
		{
			"DECLARE @n nvarchar(3000) = REPLICATE(N'n', 3000), @b varbinary(5000) = CAST(REPLICATE('b', 5000) AS " +
				"varbinary(5000)); SELECT LEN(@n + @n), DATALENGTH(@b + @b)",
			"4000 8000",
		},
		// docs/t-sql/functions/dateadd-transact-sql.md, Fractional seconds precision.
		{
			"DECLARE @d datetime2 = '2007-01-01 13:10:10.1111111'; SELECT DATEADD(nanosecond, 49, @d), DATEADD(nanosecond, " +
				"50, @d), DATEADD(nanosecond, 150, @d)",
			"2007-01-01T13:10:10.1111111 2007-01-01T13:10:10.1111112 2007-01-01T13:10:10.1111113",
		},
		// docs/t-sql/functions/log10-transact-sql.md.
		{"SELECT POWER (10, LOG10(5)), POWER(2, 0.5), POWER(-2, 3)", "5 1 -8"},
		// docs/t-sql/functions/textsize-transact-sql.md.
		{"SET TEXTSIZE 0; SELECT @@TEXTSIZE", "4096"},
		{"SET TEXTSIZE 2147483647", "ok"},
		// docs/t-sql/language-elements/sql-server-utilities-statements-backslash.md.
		{"SELECT 'abc\\\ndef' AS [ColumnResult]", "abcdef"},
		{"SELECT 'abc\\\r\ndef', N'a\\b'", `abcdef a\b`},
		// docs/t-sql/functions/objectpropertyex-transact-sql.md, indexproperty-transact-sql.md.
		{"CREATE TABLE based (id int CONSTRAINT pk_based PRIMARY KEY WITH (FILLFACTOR = 80))", "ok"},
		{"CREATE SYNONYM MyTable FOR based", "ok"},
		{
			"SELECT OBJECTPROPERTYEX(object_id(N'MyTable'), N'BaseType'), INDEXPROPERTY(OBJECT_ID('based'), 'pk_based', " +
				"'IndexFillFactor')",
			"U  80",
		},
		// docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md;
		// docs/t-sql/functions/connections-transact-sql.md.
		{
			"SELECT containment, containment_desc, physical_database_name FROM sys.databases WHERE name = 'master'",
			"0 NONE master",
		},
		{"SELECT IIF(@@CONNECTIONS > 0, 'some', 'none')", "some"},
	})
}

// TestMessagesByNumber: docs/t-sql/language-elements/throw-transact-sql.md, "Using FORMATMESSAGE with THROW".
func TestMessagesByNumber(t *testing.T) {
	t.Parallel()
	ownProcess(t)
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{`EXEC sys.sp_addmessage
     @msgnum   = 60123
    ,@severity = 16
    ,@msgtext  = N'This is a test message with one numeric parameter (%d), one string parameter (%s), and another string parameter (%s).'
    ,@lang = 'us_english'`, "ok"},
		{
			"SELECT FORMATMESSAGE(60123, 500, N'First string', N'second string')",
			"This is a test message with one numeric parameter (500), one string parameter (First string), and another " +
				"string parameter (second string).",
		},
		{
			"DECLARE @msg NVARCHAR(2048) = FORMATMESSAGE(60123, 500, N'First string', N'second string');   \n\nTHROW " +
				"60000, @msg, 1",
			"!60000/16/1/3",
		},
		{"SELECT FORMATMESSAGE(60124, 500)", "NULL"},
		// docs/t-sql/language-elements/raiserror-transact-sql.md, severity: -1 is that of the message.
		{"RAISERROR (15600,-1,-1, 'mysp_CreateCustomer')", "!15600/15/1/1"},
		{
			"BEGIN TRY RAISERROR (15600, 16, 1, 'mysp_CreateCustomer') END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
			"An invalid parameter or option was specified for procedure 'mysp_CreateCustomer'.",
		},
		{"RAISERROR (13999, 16, 1)", "!18054/16"},
		{"EXEC sp_dropmessage 60123", "ok"},
	})
}

// TestFormats: docs/t-sql/functions/format-transact-sql.md, all examples; the session's language chooses the culture
// where none is named.
func TestFormats(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"DECLARE @d DATE = '11/22/2020'; SELECT FORMAT( @d, 'd', 'en-US' ), FORMAT( @d, 'd', 'en-gb' ), FORMAT( @d, 'd', " +
				"'de-de' ), FORMAT( @d, 'd', 'zh-cn' )",
			"11/22/2020 22/11/2020 22.11.2020 2020/11/22",
		},
		{
			"DECLARE @d DATE = '11/22/2020'; SELECT FORMAT( @d, 'D', 'en-US' ), FORMAT( @d, 'D', 'en-gb' ), FORMAT( @d, 'D', " +
				"'de-de' ), FORMAT( @d, 'D', 'zh-cn' )",
			"Sunday, November 22, 2020 22 November 2020 Sonntag, 22. November 2020 2020年11月22日",
		},
		{
			"DECLARE @d DATE = '2020-11-22'; SELECT FORMAT( @d, 'dd/MM/yyyy', 'en-US' ), FORMAT(123456789,'###-##-####')",
			"22/11/2020 123-45-6789",
		},
		{
			"SELECT FORMAT(m, 'N', 'en-us'), FORMAT(m, 'G', 'en-us'), FORMAT(m, 'C', 'en-us') FROM (VALUES ($1.0002), " +
				"($1.55), ($8.2784)) v (m)",
			"1.00 1.0002 $1.00; 1.55 1.5500 $1.55; 8.28 8.2784 $8.28",
		},
		{
			"SELECT FORMAT(m, 'N', 'de-de'), FORMAT(m, 'G', 'de-de'), FORMAT(m, 'C', 'de-de') FROM (VALUES ($1.0002), " +
				"($1.55)) v (m)",
			"1,00 1,0002 1,00 €; 1,55 1,5500 1,55 €",
		},
		{
			`SELECT FORMAT(cast('07:35' as time), N'hh.mm'), FORMAT(cast('07:35' as time), N'hh:mm'), FORMAT(cast('07:35' as time), N'hh\.mm'), FORMAT(cast('07:35' as time), N'hh\:mm')`,
			"NULL NULL 07.35 07:35",
		},
		{
			"SELECT FORMAT(CAST('2018-01-01 01:00' AS datetime2), N'hh:mm tt'), FORMAT(CAST('2018-01-01 01:00' AS " +
				"datetime2), N'hh:mm t'), FORMAT(CAST('2018-01-01 14:00' AS datetime2), N'hh:mm tt'), FORMAT(CAST('2018-01-01 " +
				"14:00' AS datetime2), N'HH:mm')",
			"01:00 AM 01:00 A 02:00 PM 14:00",
		},
		{
			"SELECT FORMAT(CAST('2018-01-05 14:03' AS datetime), 'd'), FORMAT(CAST('2018-01-05 14:03' AS datetime), 'g'), " +
				"FORMAT($1234.5, 'C'), FORMAT(-1234.5, 'C2')",
			"1/5/2018 1/5/2018 2:03 PM $1,234.50 ($1,234.50)",
		},
		{
			"SELECT FORMAT(1234567.891, '$#,##0.00'), FORMAT(0.256, '0.0%'), FORMAT(-5, '0;(0);zero'), FORMAT(0, " +
				"'0;(0);zero'), FORMAT(12345678, '0,,'), FORMAT(7, 'D3'), FORMAT(255, 'X4')",
			"$1,234,567.89 25.6% (5) zero 12 007 00FF",
		},
		{"SELECT FORMAT(1.5, 'D'), FORMAT(CAST('2018-01-05' AS date), 'k')", "NULL NULL"},
		{"SELECT FORMAT(1, 'N', 'no-SUCH')", "!9818/16"},
		{"SET LANGUAGE British", "ok"},
		{"SELECT FORMAT(CAST('2018-01-05' AS date), 'd'), FORMAT($1.5, 'C')", "05/01/2018 £1.50"},
	})
}

// TestSpaceInOneResult: docs/relational-databases/system-stored-procedures/sp-spaceused-transact-sql.md, @oneresultset
// and @include_total_xtp_storage.
func TestSpaceInOneResult(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	for statement, columns := range map[string]int{"EXEC sp_spaceused @oneresultset = 1": 7,
		"EXEC sp_spaceused @updateusage = 'FALSE', @mode = 'ALL', @oneresultset = '1', @include_total_xtp_storage = '1'": 10,
		"EXEC sp_spaceused": 3} {
		rows, err := tryQuery(db, statement)
		g.Expect(err).NotTo(HaveOccurred(), statement)
		g.Expect(rows[0]).To(HaveLen(columns), statement)
	}
}
