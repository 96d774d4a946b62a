// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestSamples: docs/t-sql/queries/from-transact-sql.md, "tablesample_clause".
func TestSamples(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"CREATE TABLE many (id int PRIMARY KEY, v AS id * 2); INSERT many SELECT TOP (2000) ROW_NUMBER() OVER (ORDER BY " +
				"(SELECT NULL)) FROM sys.all_columns a CROSS JOIN sys.objects b",
			"ok",
		},
		{"SELECT COUNT(*), MAX(m.v) FROM many AS m TABLESAMPLE SYSTEM (100 PERCENT)", "2000 4000"},
		{"SELECT COUNT(*) FROM many TABLESAMPLE (0 PERCENT)", "0"},
		{
			"SELECT IIF((SELECT COUNT(*) FROM many TABLESAMPLE (30) REPEATABLE (7)) = (SELECT COUNT(*) FROM many TABLESAMPLE " +
				"(30 PERCENT) REPEATABLE (7)), 'same', 'other')",
			"same",
		},
		{"SELECT IIF(COUNT(*) <= 2000, 'some', 'more') FROM many TABLESAMPLE (500 ROWS)", "some"},
		{"SELECT COUNT(*) FROM many TABLESAMPLE (101 PERCENT)", "!498"},
		{"DECLARE @p int = 5; SELECT COUNT(*) FROM many TABLESAMPLE (@p PERCENT)", "!497"},
		{"CREATE VIEW looking AS SELECT id FROM many", "ok"},
		{"SELECT COUNT(*) FROM looking TABLESAMPLE (10 PERCENT)", "!494"},
	})
}

// TestParse: docs/t-sql/functions/parse-transact-sql.md, try-parse-transact-sql.md and
// docs/t-sql/statements/set-language-transact-sql.md.
func TestParse(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{
			"SELECT PARSE('12/16/2010' AS datetime2(0)), PARSE('Friday, 3 March 2023' AS date USING 'en-US'), PARSE('4:30 " +
				"PM' AS time(0) USING 'en-US')",
			"2010-12-16T00:00:00 2023-03-03T00:00:00 0001-01-01T16:30:00",
		},
		{
			"SELECT PARSE('16/12/2010' AS date USING 'en-GB'), PARSE('16.12.2010' AS date USING 'de-DE'), PARSE('2010-12-16' " +
				"AS date USING 'sv-SE')",
			"2010-12-16T00:00:00 2010-12-16T00:00:00 2010-12-16T00:00:00",
		},
		{
			"SELECT PARSE('€1.345,98' AS money USING 'de-DE'), PARSE('(1,234.5)' AS money), PARSE('1,234.5' AS decimal(10, " +
				"2)), PARSE(' -7 ' AS int), PARSE('7-' AS smallint)",
			"1345.9800 -1234.5000 1234.50 -7 -7",
		},
		{"SELECT PARSE('1.5e2' AS float), PARSE('12.00' AS bigint)", "150 12"},
		{"SELECT PARSE('x' AS int)", "!9819/16"},
		{"SELECT PARSE('1.5' AS int)", "!9819/16"},
		{
			"SELECT TRY_PARSE('x' AS int), TRY_PARSE('300' AS tinyint), TRY_PARSE('Tuesday' AS date USING 'en-US'), " +
				"TRY_PARSE('no' AS decimal USING 'sr-Latn-CS')",
			"NULL NULL NULL NULL",
		},
		{"SELECT PARSE(NULL AS int)", "!8116/16"},
		{"DECLARE @v varchar(5); SELECT PARSE(@v AS int)", "NULL"},
		{"SELECT PARSE('1' AS int USING 'no-SUCH')", "!9818/16"},
		{"SET LANGUAGE British", "ok"},
		{
			"SELECT @@LANGUAGE, @@DATEFIRST, CAST(CAST('16/12/2010' AS datetime) AS date), PARSE('16/12/2010' AS date)",
			"British 1 2010-12-16T00:00:00 2010-12-16T00:00:00",
		},
		{"SET LANGUAGE Klingon", "!2740/16"},
		{
			"SET LANGUAGE us_english; SELECT @@LANGUAGE, @@LANGID, @@DATEFIRST, CAST(CAST('12/16/2010' AS datetime) AS date)",
			"us_english 0 7 2010-12-16T00:00:00",
		},
		{
			"SELECT langid, name, alias, dateformat, datefirst, lcid FROM sys.syslanguages WHERE name IN ('us_english', " +
				"'British') ORDER BY langid",
			"0 us_english English mdy 7 1033; 23 British British English dmy 1 2057",
		},
	})
}

// TestDataFiles: docs/t-sql/statements/bulk-insert-transact-sql.md and docs/t-sql/functions/openrowset-transact-sql.md.
// The files are where the server is.
func TestDataFiles(t *testing.T) {
	t.Parallel()
	ownProcess(t)
	db := connection(t, newDatabase(t))
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o644)).To(Succeed())
		return path
	}
	plain := file("plain.txt", "id,name,born\n1,Ada,1815-12-10\n2,,\n3,Bob,1970-01-01")
	tabs := file("tabs.txt", "4\tTab\t2001-02-03\r\n5\tLast\t\r\n")
	bad := file("bad.txt", "6,x,2001-01-01\nseven,y,2001-01-01\n8,much too long,2001-01-01\n9,z,2001-01-01\n")
	csv := file("quoted.csv", "10,\"G, \"\"H\"\"\",1906-12-09\r\n11,\"a\r\nb\",\r\n")
	wide := file("wide.txt", "\xff\xfe1\x002\x00;\x00\xe9\x00;\x00\n\x00")
	cut := file("cut.txt", "13,short")
	converse(t, db, []say{
		{"CREATE TABLE p (id int NOT NULL, name nvarchar(10) NULL CONSTRAINT df_p DEFAULT N'none', born date NULL)", "ok"},
		{
			fmt.Sprintf(
				`BULK INSERT p FROM '%s' WITH (FIRSTROW = 2, LASTROW = 3, FIELDTERMINATOR = ',', ROWTERMINATOR = '\n')`,
				plain,
			),
			"ok",
		},
		{"SELECT @@ROWCOUNT", "2"},
		{
			fmt.Sprintf(
				`BULK INSERT dbo.p FROM '%s' WITH (FIRSTROW = 4, FIELDTERMINATOR = ',', ROWTERMINATOR = '0x0a', TABLOCK)`,
				plain,
			),
			"ok",
		},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (KEEPNULLS, BATCHSIZE = 1)", tabs), "ok"},
		{
			"SELECT id, name, born FROM p ORDER BY id",
			"1 Ada 1815-12-10T00:00:00; 2 none NULL; 3 Bob 1970-01-01T00:00:00; 4 Tab 2001-02-03T00:00:00; 5 Last NULL",
		},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (FIELDTERMINATOR = ',', MAXERRORS = 0)", bad), "!4864/16"},
		{"SELECT COUNT(*) FROM p", "5"},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (FIELDTERMINATOR = ',')", bad), "!4864/16"},
		{"SELECT id FROM p WHERE id > 5 ORDER BY id", "6; 9"},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (FORMAT = 'CSV')", csv), "ok"},
		{
			"SELECT id, REPLACE(REPLACE(name, CHAR(13), '\\r'), CHAR(10), '\\n') FROM p WHERE id IN (10, 11) ORDER BY id",
			`10 G, "H"; 11 a\r\nb`,
		},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (DATAFILETYPE = 'widechar', FIELDTERMINATOR = ';')", wide), "ok"},
		{"SELECT name FROM p WHERE id = 12", "é"},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (FIELDTERMINATOR = ',')", cut), "!4832/16"},
		{fmt.Sprintf("BULK INSERT p FROM '%s'", filepath.Join(dir, "none.txt")), "!4860/16"},
		{fmt.Sprintf("BULK INSERT nowhere FROM '%s'", plain), "!208/16"},
		{fmt.Sprintf("BULK INSERT p FROM '%s' WITH (NONSENSE)", plain), "!155/15"},
		{fmt.Sprintf("SELECT LEN(BulkColumn) FROM OPENROWSET (BULK '%s', SINGLE_CLOB) AS f", cut), "8"},
		{fmt.Sprintf("SELECT f.b FROM OPENROWSET (BULK '%s', SINGLE_BLOB) AS f (b)", cut), "0x31332C73686F7274"},
		{fmt.Sprintf("SELECT * FROM OPENROWSET (BULK '%s', SINGLE_CLOB)", cut), "!491"},
		{"CREATE TABLE numbered (n int IDENTITY (100, 1), a varchar(20) NULL)", "ok"},
		{fmt.Sprintf("BULK INSERT numbered FROM '%s' WITH (FIELDTERMINATOR = ',')", cut), "ok"},
		{fmt.Sprintf("BULK INSERT numbered FROM '%s' WITH (FIELDTERMINATOR = ',', KEEPIDENTITY)", cut), "ok"},
		{"SELECT n, a FROM numbered ORDER BY n", "13 short; 100 short"},
		{
			"CREATE LOGIN bulk_reader WITH PASSWORD = 'Str0ng!pass1'; CREATE USER bulk_reader; GRANT INSERT ON p TO bulk_reader",
			"ok",
		},
		{fmt.Sprintf("EXECUTE AS LOGIN = 'bulk_reader'; BULK INSERT p FROM '%s'", plain), "!4834/16"},
		{"REVERT; DROP USER bulk_reader; DROP LOGIN bulk_reader", "ok"},
	})
}
