// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestPartitionFunctions goes by the examples and the text of
// docs/t-sql/statements/create-partition-function-transact-sql.md, alter-partition-function-transact-sql.md and
// drop-partition-function-transact-sql.md.
func TestPartitionFunctions(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE PARTITION FUNCTION myRangePF1 (int) AS RANGE LEFT FOR VALUES (1, 100, 1000);", "ok"},
		{"CREATE PARTITION FUNCTION myRangePF2 (int) AS RANGE RIGHT FOR VALUES (1, 100, 1000);", "ok"},
		{`CREATE PARTITION FUNCTION [myDateRangePF1] (datetime)
AS RANGE RIGHT FOR VALUES ('20030201', '20030301', '20030401',
               '20030501', '20030601', '20030701', '20030801',
               '20030901', '20031001', '20031101', '20031201');`, "ok"},
		{"CREATE PARTITION FUNCTION myRangePF3 (char(20)) AS RANGE RIGHT FOR VALUES ('EX', 'RXE', 'XR');", "ok"},
		{
			`DECLARE @IntegerPartitionFunction nvarchar(max) = N'CREATE PARTITION FUNCTION IntegerPartitionFunction (int) AS RANGE RIGHT FOR VALUES (';
DECLARE @i int = 1;
WHILE @i < 1499
BEGIN
SET @IntegerPartitionFunction += CAST(@i as nvarchar(10)) + N', ';
SET @i += 1;
END
SET @IntegerPartitionFunction += CAST(@i as nvarchar(10)) + N');';
EXEC sp_executesql @IntegerPartitionFunction;`,
			"ok",
		},
		{
			`DECLARE @DatePartitionFunction nvarchar(max) = N'CREATE PARTITION FUNCTION DatePartitionFunction (datetime2) AS RANGE RIGHT FOR VALUES (';
DECLARE @i datetime2 = '20070101';
WHILE @i < '20110101'
BEGIN
SET @DatePartitionFunction += '''' + CAST(@i as nvarchar(10)) + '''' + N', ';
SET @i = DATEADD(MM, 1, @i);
END
SET @DatePartitionFunction += '''' + CAST(@i as nvarchar(10))+ '''' + N');';
EXEC sp_executesql @DatePartitionFunction;`,
			"ok",
		},
		{"SELECT name, type_desc, fanout, boundary_value_on_right FROM sys.partition_functions ORDER BY function_id",
			"myRangePF1 RANGE 4 false; myRangePF2 RANGE 4 true; myDateRangePF1 RANGE 12 true; myRangePF3 RANGE 4 true; " +
				"IntegerPartitionFunction RANGE 1500 true; DatePartitionFunction RANGE 50 true"},
		{
			"SELECT p.name, v.boundary_id, CAST(v.value AS int), SQL_VARIANT_PROPERTY(v.value, 'BaseType') FROM " +
				"sys.partition_range_values v JOIN sys.partition_functions p ON p.function_id = v.function_id WHERE p.name = " +
				"'myRangePF1' ORDER BY 2",
			"myRangePF1 1 1 int; myRangePF1 2 100 int; myRangePF1 3 1000 int",
		},
		{
			"SELECT TYPE_NAME(p.system_type_id), p.max_length FROM sys.partition_parameters p JOIN sys.partition_functions f " +
				"ON f.function_id = p.function_id WHERE f.name = 'myRangePF3'",
			"char 20",
		},
		{
			"SELECT $PARTITION.myRangePF1(0), $PARTITION.myRangePF1(1), $PARTITION.myRangePF1(2), " +
				"$PARTITION.myRangePF1(1000), $PARTITION.myRangePF1(1001), $PARTITION.myRangePF1(NULL)",
			"1 1 2 3 4 1",
		},
		{
			"SELECT $PARTITION.myRangePF2(0), $PARTITION.myRangePF2(1), $PARTITION.myRangePF2(99), " +
				"$PARTITION.myRangePF2(1000), $PARTITION.myRangePF2(NULL)",
			"1 2 2 4 1",
		},
		{
			"SELECT $PARTITION.myDateRangePF1('20030131'), $PARTITION.myDateRangePF1('20030201'), " +
				"$PARTITION.myDateRangePF1('20040101')",
			"1 2 12",
		},
		{"SELECT $PARTITION.myRangePF3('ew'), $PARTITION.myRangePF3('ex'), $PARTITION.myRangePF3('xs')", "1 2 4"},
		{"SELECT $PARTITION.IntegerPartitionFunction(700), $PARTITION.IntegerPartitionFunction(5000)", "701 1500"},
		{"SELECT $PARTITION.nowhere(1)", "!208/16"},
		{"SELECT $PARTITION.myRangePF1('x')", "!245/16"},
		{"CREATE PARTITION FUNCTION myRangePF1 (int) AS RANGE FOR VALUES (1)", "!2714/16"},
		{"CREATE PARTITION FUNCTION f () AS RANGE FOR VALUES (1)", "!7702/16"},
		{"CREATE PARTITION FUNCTION f (varchar(max)) AS RANGE FOR VALUES ('a')", "!7704/16"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1, 'x')", "!7705/16"},
		{"CREATE PARTITION FUNCTION f (varchar(2)) AS RANGE FOR VALUES ('abc')", "!7720/16"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (5, 1, 3, 1)", "!7708/16"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1) nonsense", "!102/15"},
		{"SELECT COUNT(*) FROM sys.partition_functions WHERE name = 'f'", "0"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES (30, 10, 20)", "ok"},
		{"ALTER PARTITION FUNCTION f() SPLIT RANGE (15)", "ok"},
		{"ALTER PARTITION FUNCTION f() SPLIT RANGE (15)", "!7721/16"},
		{"ALTER PARTITION FUNCTION f() MERGE RANGE (11)", "!7715/16"},
		{"ALTER PARTITION FUNCTION f() MERGE RANGE (10)", "ok"},
		{
			"SELECT CAST(value AS int) FROM sys.partition_range_values v JOIN sys.partition_functions p ON p.function_id = " +
				"v.function_id WHERE p.name = 'f' ORDER BY boundary_id",
			"15; 20; 30",
		},
		{"ALTER PARTITION FUNCTION nowhere() MERGE RANGE (1)", "!15151/16"},
		{"CREATE PARTITION FUNCTION n (int) AS RANGE RIGHT FOR VALUES (NULL, 5)", "ok"},
		{"SELECT $PARTITION.n(NULL), $PARTITION.n(-100), $PARTITION.n(5)", "2 2 3"},
		{"CREATE PARTITION FUNCTION e (int) AS RANGE FOR VALUES ()", "ok"},
		{"SELECT $PARTITION.e(7)", "1"},
		{"BEGIN TRANSACTION; DROP PARTITION FUNCTION e; ROLLBACK; SELECT $PARTITION.e(7)", "1"},
		{"DROP PARTITION FUNCTION e", "ok"},
		{"DROP PARTITION FUNCTION e", "!15151/16"},
	})
}

// TestPartitionSchemes goes by the examples of docs/t-sql/statements/create-partition-scheme-transact-sql.md (A, B and
// C) and alter-partition-scheme-transact-sql.md.
func TestPartitionSchemes(t *testing.T) {
	t.Parallel()
	admin, name := shared.open(t, ""), uniqueName("ps")
	mustExec(
		t,
		admin,
		fileText(
			t,
			admin,
			name,
			`CREATE DATABASE [<name>] ON (NAME = a, FILENAME = '<path>.mdf'), FILEGROUP test1fg (NAME = f1, FILENAME = '<path>_1.ndf'), FILEGROUP test2fg (NAME = f2, FILENAME = '<path>_2.ndf'),
		FILEGROUP test3fg (NAME = f3, FILENAME = '<path>_3.ndf'), FILEGROUP test4fg (NAME = f4, FILENAME = '<path>_4.ndf'), FILEGROUP test5fg (NAME = f5, FILENAME = '<path>_5.ndf')`,
		),
	)
	dropLater(t, admin, name)
	db := shared.open(t, name)
	defer db.Close()
	const groups = "SELECT s.name, d.destination_id, FILEGROUP_NAME(d.data_space_id) FROM sys.destination_data_spaces " +
		"d JOIN sys.partition_schemes s ON s.data_space_id = d.partition_scheme_id WHERE s.name = "
	converse(t, connection(t, db), []say{
		{"CREATE PARTITION FUNCTION myRangePF1 (int) AS RANGE LEFT FOR VALUES (1, 100, 1000);", "ok"},
		{"CREATE PARTITION SCHEME myRangePS1 AS PARTITION myRangePF1 TO (test1fg, test2fg, test3fg, test4fg);", "ok"},
		{"CREATE PARTITION SCHEME myRangePS2 AS PARTITION myRangePF1 TO ( test1fg, test1fg, test1fg, test2fg );", "ok"},
		{"CREATE PARTITION SCHEME myRangePS3 AS PARTITION myRangePF1 ALL TO ( test1fg );", "ok"},
		{"CREATE PARTITION SCHEME myRangePS4 AS PARTITION myRangePF1 TO (test1fg, test2fg, test3fg, test4fg, test5fg)", "ok"},
		{"CREATE PARTITION SCHEME MS AS PARTITION myRangePF1 ALL TO ( [PRIMARY] );", "ok"},
		{
			groups + "'myRangePS1' ORDER BY 2",
			"myRangePS1 1 test1fg; myRangePS1 2 test2fg; myRangePS1 3 test3fg; myRangePS1 4 test4fg",
		},
		{groups + "'myRangePS4' AND d.destination_id > 3 ORDER BY 2", "myRangePS4 4 test4fg; myRangePS4 5 test5fg"},
		{"SELECT type, type_desc FROM sys.data_spaces WHERE name = 'myRangePS1'", "PS PARTITION_SCHEME"},
		{"CREATE PARTITION SCHEME x AS PARTITION myRangePF1 TO (test1fg, test2fg)", "!7707/16"},
		{"CREATE PARTITION SCHEME x AS PARTITION myRangePF1 ALL TO (test1fg, test2fg)", "!7723/16"},
		{"CREATE PARTITION SCHEME x AS PARTITION nowhere ALL TO (test1fg)", "!208/16"},
		{"CREATE PARTITION SCHEME x AS PARTITION myRangePF1 ALL TO (nowhere)", "!208/16/58"},
		{"CREATE PARTITION SCHEME MS AS PARTITION myRangePF1 ALL TO (test1fg)", "!2714/16"},
		{"ALTER DATABASE CURRENT ADD FILEGROUP MyRangePS1", "!5035/16/1"},
		{"ALTER DATABASE CURRENT MODIFY FILEGROUP test5fg NAME = MyRangePS1", "!5035/16/2"},
		{"ALTER PARTITION SCHEME MS NEXT USED test5fg;", "ok"},
		{"ALTER PARTITION SCHEME nowhere NEXT USED test5fg", "!15151/16"},
		{"ALTER PARTITION FUNCTION myRangePF1 () SPLIT RANGE (500)", "!7710/16"},
		{"ALTER PARTITION SCHEME myRangePS1 NEXT USED test5fg; ALTER PARTITION SCHEME myRangePS2 NEXT USED test5fg", "ok"},
		{"ALTER PARTITION FUNCTION myRangePF1 () SPLIT RANGE (500)", "ok"},
		{
			groups + "'myRangePS1' ORDER BY 2",
			"myRangePS1 1 test1fg; myRangePS1 2 test2fg; myRangePS1 3 test5fg; myRangePS1 4 test3fg; myRangePS1 5 test4fg",
		},
		{"ALTER PARTITION FUNCTION myRangePF1 () MERGE RANGE (100)", "ok"},
		{
			groups + "'myRangePS1' ORDER BY 2",
			"myRangePS1 1 test1fg; myRangePS1 2 test5fg; myRangePS1 3 test3fg; myRangePS1 4 test4fg",
		},
		{"DROP PARTITION FUNCTION myRangePF1", "!7706/16"},
		{"ALTER DATABASE CURRENT REMOVE FILE f4", "ok"},
		{"ALTER DATABASE CURRENT REMOVE FILEGROUP test4fg", "!5042/16"},
		{"CREATE TABLE t (a int) ON MS(a)", "ok"},
		{"DROP PARTITION SCHEME MS", "!7717/16"},
		{"DROP TABLE t; DROP PARTITION SCHEME MS", "ok"},
		{"DROP PARTITION SCHEME MS", "!15151/16"},
	})
}

// TestPartitionedTables: what is in which partition, in the catalogue and by $PARTITION
// (docs/relational-databases/partitions/create-partitioned-tables-and-indexes.md,
// docs/t-sql/functions/partition-transact-sql.md).
func TestPartitionedTables(t *testing.T) {
	t.Parallel()
	const rows = "SELECT i.index_id, p.partition_number, p.rows FROM sys.partitions p JOIN sys.indexes i ON " +
		"i.object_id = p.object_id AND i.index_id = p.index_id WHERE p.object_id = OBJECT_ID('PartitionTable') ORDER BY 1, 2"
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE PARTITION FUNCTION myRangePF1 (datetime2(0)) AS RANGE RIGHT FOR VALUES ('2022-04-01', '2022-05-01', " +
				"'2022-06-01');",
			"ok",
		},
		{"CREATE PARTITION SCHEME myRangePS1 AS PARTITION myRangePF1 ALL TO ('PRIMARY');", "ok"},
		{"CREATE TABLE dbo.PartitionTable (col1 datetime2(0) PRIMARY KEY, col2 char(10)) ON myRangePS1 (col1);", "ok"},
		{
			"INSERT dbo.PartitionTable VALUES ('2022-03-31', 'a'), ('2022-04-01', 'b'), ('2022-04-30', 'c'), " +
				"('2023-01-01', 'd')",
			"ok",
		},
		{rows, "1 1 1; 1 2 2; 1 3 0; 1 4 1"},
		{
			"SELECT partition_number, record_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('PartitionTable'), " +
				"1, NULL, 'DETAILED') ORDER BY 1",
			"1 1; 2 2; 3 0; 4 1",
		},
		{
			"SELECT partition_number, record_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('PartitionTable'), " +
				"NULL, 2, 'DETAILED')",
			"2 2",
		},
		{"SELECT SUM(row_count) FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('PartitionTable')", "4"},
		{
			"SELECT $PARTITION.myRangePF1(col1) AS Partition, COUNT(*) AS [COUNT] FROM dbo.PartitionTable GROUP BY " +
				"$PARTITION.myRangePF1(col1) ORDER BY Partition;",
			"1 1; 2 2; 4 1",
		},
		{"SELECT col2 FROM dbo.PartitionTable WHERE $PARTITION.myRangePF1(col1) = 2 ORDER BY col1", "b         ; c         "},
		{
			`SELECT t.name, ps.name AS [Partition Scheme], pf.name AS [Partition Function] FROM sys.tables AS t JOIN sys.indexes AS i ON t.[object_id] = i.[object_id]
			JOIN sys.partition_schemes ps ON i.data_space_id = ps.data_space_id JOIN sys.partition_functions pf ON pf.function_id = ps.function_id WHERE t.name = 'PartitionTable'`,
			"PartitionTable myRangePS1 myRangePF1",
		},
		{
			`SELECT t.name, c.name AS PartitioningColumnName FROM sys.tables AS t JOIN sys.indexes AS i ON t.[object_id] = i.[object_id] AND i.[type] <= 1 JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
			JOIN sys.index_columns AS ic ON ic.[object_id] = i.[object_id] AND ic.index_id = i.index_id AND ic.partition_ordinal >= 1 JOIN sys.columns AS c ON t.[object_id] = c.[object_id] AND ic.column_id = c.column_id WHERE t.name = 'PartitionTable'`,
			"PartitionTable col1",
		},
		{"CREATE INDEX i ON PartitionTable (col2)", "ok"},
		{
			"SELECT key_ordinal, partition_ordinal, is_included_column FROM sys.index_columns WHERE object_id = " +
				"OBJECT_ID('PartitionTable') AND index_id = 2 ORDER BY index_column_id",
			"1 0 false; 0 1 false",
		},
		{
			"DECLARE @k TABLE (n sysname, d varchar(210), k nvarchar(2078)); INSERT @k EXEC sp_helpindex 'PartitionTable'; " +
				"SELECT d, k FROM @k WHERE n = 'i'",
			"nonclustered located on myRangePS1 col2",
		},
		{
			"DECLARE @s TABLE (q sysname NULL, o sysname NULL, t sysname, u smallint NULL, p sysname NULL, i sysname NULL, y " +
				"smallint, s smallint NULL, c sysname NULL, l char(1) NULL, n int NULL, g int NULL, f varchar(128) NULL); " +
				"INSERT @s EXEC sp_statistics 'PartitionTable'; SELECT c FROM @s WHERE i = 'i'",
			"col2",
		},
		{"ALTER INDEX i ON PartitionTable REBUILD PARTITION = 5", "!7722/16"},
		{"ALTER INDEX i ON PartitionTable REBUILD PARTITION = 4 WITH (DATA_COMPRESSION = PAGE)", "!40517/16"},
		{"ALTER INDEX ALL ON PartitionTable REBUILD PARTITION = 4", "ok"},
		{"ALTER TABLE PartitionTable REBUILD PARTITION = 0", "!7722/16"},
		{"ALTER TABLE PartitionTable REBUILD PARTITION = 4 WITH (DATA_COMPRESSION = ROW)", "!40517/16"},
		{"ALTER TABLE PartitionTable REBUILD PARTITION = 4", "ok"},
		{"SELECT MAX(data_compression) FROM sys.partitions WHERE object_id = OBJECT_ID('PartitionTable')", "0"},
		{"CREATE UNIQUE INDEX u ON PartitionTable (col2)", "!1908/16"},
		{"CREATE UNIQUE INDEX u ON PartitionTable (col2) ON [PRIMARY]", "ok"},
		{"TRUNCATE TABLE PartitionTable WITH (PARTITIONS (2))", "!3756/16"},
		{"DROP INDEX u ON PartitionTable", "ok"},
		{"TRUNCATE TABLE PartitionTable WITH (PARTITIONS (9))", "!7722/16"},
		{"TRUNCATE TABLE PartitionTable WITH (PARTITIONS (3 TO 2))", "!7728/16"},
		{"TRUNCATE TABLE PartitionTable WITH (PARTITIONS (1, 1))", "!7711/16"},
		{"TRUNCATE TABLE PartitionTable WITH (PARTITIONS (1, 2 TO 3))", "ok"},
		{rows, "1 1 0; 1 2 0; 1 3 0; 1 4 1; 2 1 0; 2 2 0; 2 3 0; 2 4 1"},
		{"ALTER PARTITION SCHEME myRangePS1 NEXT USED [PRIMARY]", "ok"},
		{"ALTER PARTITION FUNCTION myRangePF1() SPLIT RANGE ('2023-01-01')", "ok"},
		{"UPDATE PartitionTable SET col1 = '2022-12-31'; INSERT PartitionTable VALUES ('2024-01-01', 'x')", "ok"},
		{rows, "1 1 0; 1 2 0; 1 3 0; 1 4 1; 1 5 1; 2 1 0; 2 2 0; 2 3 0; 2 4 1; 2 5 1"},
		{"ALTER PARTITION FUNCTION myRangePF1() MERGE RANGE ('2023-01-01')", "ok"},
		{rows, "1 1 0; 1 2 0; 1 3 0; 1 4 2; 2 1 0; 2 2 0; 2 3 0; 2 4 2"},
		{"CREATE TABLE x (a int) ON myRangePS1(a)", "!7726/16"},
		{"CREATE TABLE x (a int) ON myRangePS1(b)", "!1911/16"},
		{"CREATE TABLE x (a int) ON nowhere(a)", "!1921/16"},
		{"CREATE TABLE x (a datetime2(0), b int) ON myRangePS1(a, b)", "!2726/16"},
		{"CREATE TABLE x (a datetime2(0), b int PRIMARY KEY) ON myRangePS1(a)", "!1908/16"},
		{"CREATE TABLE x (a datetime2(0), b varchar(max)) ON myRangePS1(a) TEXTIMAGE_ON [PRIMARY]", "!1707/16"},
		{"CREATE TABLE x (a datetime2(0), b AS DATEADD(day, 1, a)) ON myRangePS1(b)", "!7724/16"},
		{"CREATE TABLE h (a datetime2(0)) ON myRangePS1(a)", "ok"},
		{"CREATE INDEX parted ON h (a); ALTER INDEX parted ON h REBUILD PARTITION = 2; DROP INDEX parted ON h", "ok"},
		{"INSERT h VALUES (NULL), ('2022-04-15')", "ok"},
		{
			"SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('h') AND rows > 0 ORDER BY 1",
			"1 1; 2 1",
		},
		{"SELECT index_id, partition_ordinal FROM sys.index_columns WHERE object_id = OBJECT_ID('h')", "0 1"},
		{"CREATE CLUSTERED INDEX c ON h (a) ON [PRIMARY]", "ok"},
		{"SELECT COUNT(*) FROM sys.partitions WHERE object_id = OBJECT_ID('h')", "1"},
		{"ALTER TABLE h DROP COLUMN a", "!4923/16"},
		{"ALTER TABLE PartitionTable DROP COLUMN col1", "!5074/16"},
		{"ALTER TABLE PartitionTable ALTER COLUMN col1 date", "!5074/16"},
		{"ALTER TABLE PartitionTable SWITCH PARTITION 1 TO h", "!4943/16"},
		{"CREATE TABLE plain (a int); TRUNCATE TABLE plain WITH (PARTITIONS (1))", "!7729/16"},
		{"ALTER TABLE plain REBUILD PARTITION = 1", "!7729/16"},
	})
}

// TestPartitionsSurvive: partition functions and schemes are in the log and in backups.
func TestPartitionsSurvive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "parts")
	mustExec(t, db, "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (10, 20)")
	mustExec(t, db, "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])")
	mustExec(t, db, "CREATE TABLE t (a int PRIMARY KEY) ON ps(a)")
	mustExec(t, db, "INSERT t VALUES (1), (10), (11), (25); ALTER PARTITION FUNCTION pf() SPLIT RANGE (15)")
	const rows = "SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID('t') ORDER BY 1"
	want := [][]any{{int64(1), int64(1)}, {int64(2), int64(2)}, {int64(3), int64(0)}, {int64(4), int64(1)}}
	g.Expect(query(t, db, rows)).To(Equal(want))
	db.Close()
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	admin := i.open(t, "")
	g.Expect(query(t, i.open(t, "parts"), rows)).To(Equal(want))
	mustExec(t, admin, "BACKUP DATABASE parts TO DISK = 'parts.bak'")
	mustExec(t, i.open(t, "parts"), "ALTER PARTITION FUNCTION pf() MERGE RANGE (15)")
	mustExec(
		t,
		admin,
		"ALTER DATABASE parts SET SINGLE_USER WITH ROLLBACK IMMEDIATE; RESTORE DATABASE parts FROM DISK = 'parts.bak' "+
			"WITH REPLACE; ALTER DATABASE parts SET MULTI_USER",
	)
	g.Expect(query(t, i.open(t, "parts"), rows)).To(Equal(want))
}
