// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// fileText puts the name of a database and the folder for its files into a text.
func fileText(t *testing.T, db *sql.DB, name, text string) string {
	t.Helper()
	folder := value(t, db, "SELECT CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(260))").(string)
	return strings.NewReplacer("<name>", name, "<path>", strings.TrimSuffix(folder, "/")+"/"+name).Replace(text)
}

func fileTexts(t *testing.T, db *sql.DB, name string, list []say) []say {
	t.Helper()
	out := make([]say, len(list))
	for i, one := range list {
		out[i] = say{fileText(t, db, name, one.text), fileText(t, db, name, one.want)}
	}
	return out
}

// dropLater drops a database of the shared server when the test ends.
func dropLater(t *testing.T, admin *sql.DB, name string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := admin.Exec("ALTER DATABASE [" + name + "] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE [" +
			name + "]"); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
}

// createdWithGroups is example D of docs/t-sql/statements/create-database-transact-sql.md with paths of the server.
const createdWithGroups = `CREATE DATABASE [<name>]
ON PRIMARY
( NAME = SPri1_dat, FILENAME = '<path>_SPri1dat.mdf', SIZE = 10, MAXSIZE = 50, FILEGROWTH = 15% ),
( NAME = SPri2_dat, FILENAME = '<path>_SPri2dt.ndf', SIZE = 10, MAXSIZE = 50, FILEGROWTH = 15% ),
FILEGROUP SalesGroup1
( NAME = SGrp1Fi1_dat, FILENAME = '<path>_SG1Fi1dt.ndf', SIZE = 10, MAXSIZE = 50, FILEGROWTH = 5 ),
( NAME = SGrp1Fi2_dat, FILENAME = '<path>_SG1Fi2dt.ndf', SIZE = 10, MAXSIZE = 50, FILEGROWTH = 5 ),
FILEGROUP SalesGroup2
( NAME = SGrp2Fi1_dat, FILENAME = '<path>_SG2Fi1dt.ndf', SIZE = 10, MAXSIZE = 50, FILEGROWTH = 5 ),
( NAME = SGrp2Fi2_dat, FILENAME = '<path>_SG2Fi2dt.ndf', SIZE = 10, MAXSIZE = 50, FILEGROWTH = 5 )
LOG ON
( NAME = Sales_log, FILENAME = '<path>_salelog.ldf', SIZE = 5MB, MAXSIZE = 25MB, FILEGROWTH = 5MB )`

// TestCreateDatabaseWithFileGroups: the documented database with three file groups, and what the catalogue says of it.
func TestCreateDatabaseWithFileGroups(t *testing.T) {
	t.Parallel()
	admin, name := shared.open(t, ""), uniqueName("fg")
	converse(t, admin, fileTexts(t, admin, name, []say{
		{strings.Replace(createdWithGroups, "SGrp2Fi2_dat", "sgrp2fi1_DAT", 1), "!1828/16"},
		{strings.Replace(createdWithGroups, "SalesGroup2", "salesGROUP1", 1), "!5035/16"},
		{strings.Replace(createdWithGroups, "SalesGroup2", "[Primary]", 1), "!5035/16"},
		{strings.Replace(createdWithGroups, "SalesGroup2", "[default]", 1), "!5051/16"},
		{"SELECT COUNT(*) FROM sys.databases WHERE name = '<name>'", "0"},
		{createdWithGroups, "ok"},
	}))
	dropLater(t, admin, name)
	db := shared.open(t, name)
	converse(t, connection(t, db), fileTexts(t, admin, name, []say{
		{
			"SELECT file_id, type_desc, data_space_id, name, physical_name, size, max_size, growth, is_percent_growth FROM " +
				"sys.database_files ORDER BY file_id",
			"1 ROWS 1 SPri1_dat <path>_SPri1dat.mdf 1280 6400 15 true; 2 LOG 0 Sales_log <path>_salelog.ldf 640 3200 640 " +
				"false; 3 ROWS 1 SPri2_dat <path>_SPri2dt.ndf 1280 6400 15 true; " +
				"4 ROWS 2 SGrp1Fi1_dat <path>_SG1Fi1dt.ndf 1280 6400 640 false; 5 ROWS 2 SGrp1Fi2_dat <path>_SG1Fi2dt.ndf 1280 " +
				"6400 640 false; " +
				"6 ROWS 3 SGrp2Fi1_dat <path>_SG2Fi1dt.ndf 1280 6400 640 false; 7 ROWS 3 SGrp2Fi2_dat <path>_SG2Fi2dt.ndf 1280 " +
				"6400 640 false",
		},
		{
			"SELECT name, data_space_id, type, type_desc, is_default, is_system, is_read_only, is_autogrow_all_files FROM " +
				"sys.filegroups ORDER BY data_space_id",
			"PRIMARY 1 FG ROWS_FILEGROUP true false false false; SalesGroup1 2 FG ROWS_FILEGROUP false false false false; " +
				"SalesGroup2 3 FG ROWS_FILEGROUP false false false false",
		},
		{"SELECT COUNT(*), COUNT(DISTINCT file_guid) FROM sys.master_files WHERE database_id = DB_ID()", "7 7"},
		{
			"SELECT FILEGROUP_NAME(3), FILEGROUP_ID('salesgroup1'), FILEGROUPPROPERTY('SalesGroup1', 'IsUserDefinedFG'), " +
				"FILEGROUPPROPERTY('SalesGroup1', 'IsDefault'), FILEGROUPPROPERTY('SalesGroup1', 'IsReadOnly'), " +
				"FILEGROUPPROPERTY('SalesGroup1', 'x')",
			"SalesGroup2 2 1 0 0 NULL",
		},
		{
			"SELECT FILE_NAME(7), FILE_ID('SGrp1Fi1_dat'), FILE_IDEX('Sales_log'), FILEPROPERTY('SGrp1Fi1_dat', " +
				"'IsPrimaryFile'), FILEPROPERTY('SPri1_dat', 'IsPrimaryFile'), FILE_ID('x')",
			"SGrp2Fi2_dat 4 2 0 1 NULL",
		},
		{"EXEC sp_helpfilegroup 'SalesGroup1'", "SalesGroup1 2 2"},
		{
			"DECLARE @f TABLE (n sysname, i smallint, f nchar(260), g sysname NULL, s nvarchar(18), m nvarchar(18), w " +
				"nvarchar(18), u varchar(9)); INSERT @f EXEC sp_helpfile; SELECT n, g, s, m, w, u FROM @f WHERE i IN (2, " +
				"6) ORDER BY i",
			"Sales_log NULL 5120 KB 25600 KB 5120 KB log only; SGrp2Fi1_dat SalesGroup2 10240 KB 51200 KB 5120 KB data only",
		},
		{"DBCC CHECKFILEGROUP ('SalesGroup2') WITH NO_INFOMSGS", "ok"},
		{"DBCC CHECKFILEGROUP (9)", "!2523/16"},
	}))
	db.Close()
}

// TestAlterFileGroups goes by the examples of
// docs/t-sql/statements/alter-database-transact-sql-file-and-filegroup-options.md (A to E, H and J) with paths of the
// server, and by the refusals of its text.
func TestAlterFileGroups(t *testing.T) {
	t.Parallel()
	admin, name := shared.open(t, ""), uniqueName("fg")
	mustExec(t, admin, "CREATE DATABASE ["+name+"]")
	dropLater(t, admin, name)
	db := shared.open(t, name)
	defer db.Close()
	file := func(n string) string {
		return "( NAME = " + n + ", FILENAME = '<path>_" + n + ".ndf', SIZE = 5MB, MAXSIZE = 100MB, FILEGROWTH = 5MB )"
	}
	converse(t, connection(t, db), fileTexts(t, admin, name, []say{
		{"ALTER DATABASE [<name>] ADD FILE " + file("Test1dat2"), "ok"},
		{"ALTER DATABASE [<name>] ADD FILEGROUP Test1FG1", "ok"},
		{"ALTER DATABASE [<name>] ADD FILEGROUP test1fg1", "!5035/16/1"},
		{"ALTER DATABASE [<name>] ADD FILEGROUP [default]", "!5051/16"},
		{"ALTER DATABASE [<name>] ADD FILEGROUP x CONTAINS FILESTREAM", "!40517/16"},
		{"ALTER DATABASE [<name>] ADD FILE " + file("a") + " TO FILEGROUP nowhere", "!1921/16"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP Test1FG1 DEFAULT", "!5050/16/1"},
		{"ALTER DATABASE [<name>] ADD FILE " + file("test1dat3") + ", " + file("test1dat4") + " TO FILEGROUP Test1FG1", "ok"},
		{"ALTER DATABASE [<name>] ADD FILE " + file("TEST1dat4"), "!1828/16"},
		{"ALTER DATABASE [<name>] ADD LOG FILE " + file("test1log2") + ", " + file("test1log3"), "ok"},
		{"SELECT name, type_desc, FILEGROUP_NAME(data_space_id) FROM sys.database_files WHERE file_id > 2 ORDER BY file_id",
			"Test1dat2 ROWS PRIMARY; test1dat3 ROWS Test1FG1; test1dat4 ROWS Test1FG1; test1log2 LOG NULL; test1log3 LOG NULL"},
		{"ALTER DATABASE [<name>] REMOVE FILE test1dat4", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILE test1dat4", "!5009/16"},
		{"ALTER DATABASE [<name>] REMOVE FILE [<name>]", "!5020/16"},
		{"ALTER DATABASE [<name>] REMOVE FILE test1log3", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = test1dat3, SIZE = 200MB)", "!5040/16"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = test1dat3, SIZE = 50MB)", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = test1dat3, SIZE = 50MB)", "!5039/16"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = test1dat3)", "!5038/16"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = nowhere, SIZE = 1GB)", "!5041/16"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = test1dat3, NEWNAME = Test1dat2)", "!1828/16"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = test1dat3, NEWNAME = renamed)", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILE (NAME = renamed, FILENAME = '<path>_moved.ndf')", "ok"},
		{
			"SELECT size, physical_name FROM sys.master_files WHERE name = 'renamed' AND database_id = DB_ID('<name>')",
			"6400 <path>_moved.ndf",
		},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP Test1FG1 DEFAULT", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP Test1FG1 DEFAULT", "!5045/16/3"},
		{"CREATE TABLE d (a int)", "ok"},
		{
			"SELECT d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id WHERE i.object_id " +
				"= OBJECT_ID('d')",
			"Test1FG1",
		},
		{"ALTER DATABASE [<name>] REMOVE FILE renamed", "!5031/16"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP [PRIMARY] DEFAULT", "ok"},
		{"SELECT name FROM sys.filegroups WHERE is_default = 1", "PRIMARY"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP [PRIMARY] READ_ONLY", "!5047/16"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP [PRIMARY] NAME = x", "!5012/16"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP nowhere DEFAULT", "!5014/16/2"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP Test1FG1 NAME = [PRIMARY]", "!5035/16/2"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP Test1FG1 NAME = Other", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP [Other] AUTOGROW_ALL_FILES", "ok"},
		{"SELECT name, is_autogrow_all_files FROM sys.filegroups ORDER BY data_space_id", "PRIMARY false; Other true"},
		{"INSERT d VALUES (1)", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILE renamed", "!5042/16/1"},
		{"ALTER DATABASE [<name>] REMOVE FILEGROUP Other", "!5042/16"},
		{"DBCC SHRINKFILE (renamed, EMPTYFILE)", "!2555/16"},
		{"ALTER DATABASE [<name>] ADD FILE " + file("second") + " TO FILEGROUP Other", "ok"},
		{"DBCC SHRINKFILE (renamed, EMPTYFILE) WITH NO_INFOMSGS", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILE renamed", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILE second", "!5042/16/1"},
		{"TRUNCATE TABLE d", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILE second", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILEGROUP Other", "!5042/16"},
		{"INSERT d VALUES (1)", "!622/16/3"},
		{"DROP TABLE d", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILEGROUP Other", "ok"},
		{"ALTER DATABASE [<name>] REMOVE FILEGROUP Other", "!5014/16"},
		{"SELECT COUNT(*) FROM sys.filegroups", "1"},
		{"BEGIN TRANSACTION; ALTER DATABASE [<name>] ADD FILEGROUP g", "!226/16"},
		{"ROLLBACK", "ok"},
		{"ALTER DATABASE tempdb ADD FILEGROUP g", "!1826/16"},
		{"ALTER DATABASE master ADD FILE " + file("m"), "!5013/16"},
	}))
}

// TestFilesAddedAtOnce: of sessions that add a file of one name at once, one does.
func TestFilesAddedAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin, name := shared.open(t, ""), uniqueName("fg")
	mustExec(t, admin, "CREATE DATABASE ["+name+"]")
	dropLater(t, admin, name)
	db := shared.open(t, name)
	defer db.Close()
	mustExec(t, db, "CREATE TABLE t (a int)")
	first := connection(t, db)
	mustExec(t, first, "BEGIN TRANSACTION; INSERT t VALUES (1)")
	results := make(chan error, 8)
	for n := range 8 {
		text := fileText(
			t,
			admin,
			name,
			fmt.Sprintf("ALTER DATABASE [<name>] ADD FILE (NAME = again, FILENAME = '<path>_%d.ndf')", n),
		)
		go func() {
			_, err := admin.Exec(text)
			results <- err
		}()
	}
	spid := value(t, first, "SELECT @@SPID")
	g.Eventually(func() any {
		return value(t, admin, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE blocking_session_id = @p1", spid)
	}, patient, "20ms").Should(BeEquivalentTo(8))
	mustExec(t, first, "ROLLBACK")
	added := 0
	for range 8 {
		var e mssql.Error
		switch err := <-results; {
		case err == nil:
			added++
		case !errors.As(err, &e) || e.Number != 1828:
			t.Error(err)
		}
	}
	g.Expect(added).To(Equal(1))
	g.Expect(value(t, admin, "SELECT COUNT(*) FROM ["+name+"].sys.database_files")).To(BeEquivalentTo(3))
	g.Expect(value(t, admin, "SELECT COUNT(*) FROM sys.master_files WHERE database_id = DB_ID('"+name+"')")).
		To(BeEquivalentTo(3))
}

// TestReadOnlyFileGroups: what is in a read-only file group can be read alone (the page's READ_ONLY).
func TestReadOnlyFileGroups(t *testing.T) {
	t.Parallel()
	admin, name := shared.open(t, ""), uniqueName("fg")
	mustExec(
		t,
		admin,
		fileText(
			t,
			admin,
			name,
			"CREATE DATABASE [<name>] ON (NAME = a, FILENAME = '<path>.mdf'), FILEGROUP old DEFAULT (NAME = b, FILENAME = "+
				"'<path>_b.ndf')",
		),
	)
	dropLater(t, admin, name)
	db := shared.open(t, name)
	defer db.Close()
	c := connection(t, db)
	converse(t, c, fileTexts(t, admin, name, []say{
		{"CREATE TABLE history (id int PRIMARY KEY, v varchar(max))", "ok"},
		{"CREATE TABLE live (id int PRIMARY KEY, n int) ON [PRIMARY]", "ok"},
		{"CREATE INDEX i ON live (n) ON old", "ok"},
		{"CREATE TABLE free (id int) ON [PRIMARY]", "ok"},
		{"INSERT history VALUES (1, 'x'); INSERT live VALUES (1, 1)", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP old READ_ONLY", "ok"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP old READONLY", "!5045/16/1"},
		{"SELECT is_read_only FROM sys.filegroups ORDER BY data_space_id", "false; true"},
		{
			"SELECT is_read_only, FILEPROPERTY(name, 'IsReadOnly') FROM sys.database_files ORDER BY file_id",
			"false 0; false 0; true 1",
		},
		{"INSERT history VALUES (2, 'y')", "!652/16/1"},
		{"UPDATE history SET v = 'z'", "!652/16/1"},
		{"DELETE history", "!652/16/1"},
		{"TRUNCATE TABLE history", "!652/16/1"},
		{"INSERT live VALUES (2, 2)", "!652/16/1"},
		{"SELECT id, v FROM history", "1 x"},
		{"INSERT free VALUES (1)", "ok"},
		{"CREATE TABLE t (a int)", "!1924/16/2"},
		{"CREATE INDEX j ON free (id) ON old", "!1924/16/2"},
		{"ALTER DATABASE [<name>] ADD FILE (NAME = c, FILENAME = '<path>_c.ndf') TO FILEGROUP old", "!5048/16"},
		{"ALTER DATABASE [<name>] REMOVE FILE b", "!5055/16"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP old READ_WRITE WITH NO_WAIT", "ok"},
		{"INSERT history VALUES (2, 'y')", "ok"},
	}))
	other := shared.open(t, name)
	user := connection(t, other)
	converse(t, user, []say{{"SELECT 1", "1"}})
	converse(t, c, fileTexts(t, admin, name, []say{
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP old READ_ONLY WITH NO_WAIT", "!5070/16"},
		{"ALTER DATABASE [<name>] MODIFY FILEGROUP nowhere READ_ONLY WITH ROLLBACK IMMEDIATE", "!5014/16"},
	}))
	converse(t, user, []say{{"SELECT 1", "1"}})
	other.Close()
}

// TestPlacesInFileGroups: ON, TEXTIMAGE_ON, SELECT ... INTO ... ON and MOVE TO
// (docs/t-sql/statements/create-table-transact-sql.md, create-index-transact-sql.md, drop-index-transact-sql.md,
// docs/t-sql/queries/select-into-clause-transact-sql.md).
func TestPlacesInFileGroups(t *testing.T) {
	t.Parallel()
	admin, name := shared.open(t, ""), uniqueName("fg")
	mustExec(
		t,
		admin,
		fileText(
			t,
			admin,
			name,
			"CREATE DATABASE [<name>] ON PRIMARY (NAME = a, FILENAME = '<path>.mdf'), FILEGROUP f2 (NAME = b, FILENAME = "+
				"'<path>_b.ndf'), FILEGROUP f3 (NAME = c, FILENAME = '<path>_c.ndf')",
		),
	)
	dropLater(t, admin, name)
	db := shared.open(t, name)
	defer db.Close()
	const where = "SELECT i.index_id, d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = " +
		"i.data_space_id WHERE i.object_id = OBJECT_ID('t') ORDER BY i.index_id"
	converse(t, connection(t, db), []say{
		{"CREATE TABLE t (a int NOT NULL, b int, c varchar(max)) ON f2 TEXTIMAGE_ON f3", "ok"},
		{where, "0 f2"},
		{"SELECT lob_data_space_id FROM sys.tables WHERE name = 't'", "3"},
		{"CREATE INDEX i1 ON t (b)", "ok"},
		{"CREATE INDEX i2 ON t (b) ON f3", "ok"},
		{"CREATE INDEX i3 ON t (b) ON [default]", "ok"},
		{where, "0 f2; 2 f2; 3 f3; 4 PRIMARY"},
		{"ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (a) ON f3", "ok"},
		{where, "1 f3; 2 f2; 3 f3; 4 PRIMARY"},
		{"ALTER TABLE t DROP CONSTRAINT pk WITH (MOVE TO f2)", "ok"},
		{where, "0 f2; 2 f2; 3 f3; 4 PRIMARY"},
		{"CREATE CLUSTERED INDEX c ON t (a) ON [PRIMARY]", "ok"},
		{"DROP INDEX i1 ON t WITH (MOVE TO f3)", "!3748/16"},
		{"DROP INDEX c ON t WITH (MOVE TO nowhere)", "!1921/16"},
		{"DROP INDEX c ON t", "ok"},
		{where, "0 PRIMARY; 2 f2; 3 f3; 4 PRIMARY"},
		{"CREATE CLUSTERED INDEX c ON t (a) ON f3", "ok"},
		{"CREATE CLUSTERED INDEX c ON t (a, b) WITH (DROP_EXISTING = ON) ON f2", "ok"},
		{where, "1 f2; 2 f2; 3 f3; 4 PRIMARY"},
		{"SELECT * INTO u ON f3 FROM t", "ok"},
		{"SELECT * INTO v ON nowhere FROM t", "!1921/16"},
		{"SELECT OBJECT_ID('v'), (SELECT data_space_id FROM sys.indexes WHERE object_id = OBJECT_ID('u'))", "NULL 3"},
		{"CREATE TABLE w (a int PRIMARY KEY NONCLUSTERED ON f3, b int UNIQUE) ON f2", "ok"},
		{
			"SELECT i.index_id, i.data_space_id FROM sys.indexes i WHERE object_id = OBJECT_ID('w') ORDER BY 1",
			"0 2; 2 3; 3 2",
		},
		{"CREATE TABLE x (a int) TEXTIMAGE_ON f2", "!1709/16"},
		{"CREATE TABLE #t (a int) ON f2", "!1921/16"},
		{"CREATE TABLE #t (a int) ON [PRIMARY]", "ok"},
		{
			"SELECT DISTINCT data_space_id FROM sys.allocation_units u JOIN sys.partitions p ON p.hobt_id = u.container_id " +
				"WHERE p.object_id = OBJECT_ID('w') ORDER BY 1",
			"2; 3",
		},
		{"EXEC sp_helpindex 'w'", "ok"},
	})
}

// TestFileGroupsSurvive: file groups are in the log and in backups, with the places of files as RESTORE moves them.
func TestFileGroupsSurvive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	admin := i.open(t, "")
	text := func(s string) string { return fileText(t, admin, "sales", s) }
	mustExec(t, admin, text(createdWithGroups))
	db := i.open(t, "sales")
	mustExec(t, db, "CREATE TABLE t (a int PRIMARY KEY) ON SalesGroup2; INSERT t VALUES (1)")
	mustExec(
		t,
		admin,
		text("ALTER DATABASE sales ADD FILE (NAME = later, FILENAME = '<path>_later.ndf') TO FILEGROUP SalesGroup1"),
	)
	mustExec(t, admin, "ALTER DATABASE sales MODIFY FILEGROUP SalesGroup1 DEFAULT")
	const files = "SELECT f.file_id, f.name, f.physical_name, g.name, g.is_default FROM sys.database_files f LEFT JOIN " +
		"sys.filegroups g ON g.data_space_id = f.data_space_id ORDER BY f.file_id"
	before := query(t, db, files)
	g.Expect(before).To(HaveLen(8))
	db.Close()
	i.kill()
	g.Expect(i.launch()).To(Succeed())
	db, admin = i.open(t, "sales"), i.open(t, "")
	g.Expect(query(t, db, files)).To(Equal(before))
	g.Expect(value(t, db, "SELECT data_space_id FROM sys.indexes WHERE object_id = OBJECT_ID('t')")).To(BeEquivalentTo(3))

	mustExec(t, admin, "BACKUP DATABASE sales TO DISK = 'sales.bak'")
	list := query(t, admin, "RESTORE FILELISTONLY FROM DISK = 'sales.bak'")
	g.Expect(list).To(HaveLen(8))
	g.Expect(list[5][3]).To(Equal("SalesGroup2"))
	move := "RESTORE DATABASE copy FROM DISK = 'sales.bak' WITH RECOVERY"
	for _, row := range list {
		move += text(", MOVE '" + row[0].(string) + "' TO '<path>_copy_" + row[0].(string) + "'")
	}
	mustExec(t, admin, move)
	copied := i.open(t, "copy")
	after := query(t, copied, files)
	for n := range after {
		g.Expect(after[n][2]).To(Equal(text("<path>_copy_" + after[n][1].(string))))
		after[n][2] = before[n][2]
	}
	g.Expect(after).To(Equal(before))
	mustExec(t, admin, "ALTER DATABASE sales SET OFFLINE WITH ROLLBACK IMMEDIATE")
	g.Expect(value(t, admin, "SELECT COUNT(*) FROM sys.master_files WHERE database_id = DB_ID('sales')")).
		To(BeEquivalentTo(8))
}

// TestFileGroupsReachSecondaries: a database with file groups is seeded with them, what is added later arrives with the
// log, and the next primary goes on with them.
func TestFileGroupsReachSecondaries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	text := func(s string) string { return fileText(t, c.admins[0], "app", s) }
	mustExec(
		t,
		c.admins[0],
		text(
			"CREATE DATABASE app ON PRIMARY (NAME = app, FILENAME = '<path>.mdf'), FILEGROUP f2 DEFAULT (NAME = b, FILENAME "+
				"= '<path>_b.ndf')",
		),
	)
	db := c.servers[0].open(t, "app")
	mustExec(t, db, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(50) NULL)")
	db.Close()
	mustExec(t, c.admins[0], "BACKUP DATABASE app TO DISK = N'app.bak'")
	mustExec(
		t,
		c.admins[0],
		fmt.Sprintf(
			"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = %d) FOR DATABASE [app] "+
				"REPLICA ON ",
			agLease,
		)+
			c.replica(
				0,
				"SYNCHRONOUS_COMMIT",
			)+", "+c.replica(
			1,
			"SYNCHRONOUS_COMMIT",
		)+", "+c.replica(
			2,
			"CONFIGURATION_ONLY",
		),
	)
	for n := 1; n < 3; n++ {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	}
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	c.synchronized(0, 1)
	mustExec(t, c.admins[0], "ALTER DATABASE app ADD FILEGROUP f3")
	mustExec(
		t,
		c.admins[0],
		text("ALTER DATABASE app ADD FILE (NAME = c, FILENAME = '<path>_c.ndf', SIZE = 16MB) TO FILEGROUP f3"),
	)
	mustExec(t, c.admins[0], "CREATE TABLE app.dbo.u (id int PRIMARY KEY) ON f3; INSERT app.dbo.u VALUES (1)")
	const files = "SELECT f.file_id, f.name, f.size, g.name, g.is_default FROM app.sys.database_files f JOIN " +
		"app.sys.filegroups g ON g.data_space_id = f.data_space_id WHERE f.file_id > 2 ORDER BY f.file_id"
	want := [][]any{{int64(3), "b", int64(1024), "f2", true}, {int64(4), "c", int64(2048), "f3", false}}
	g.Expect(query(t, c.admins[0], files)).To(Equal(want))
	g.Eventually(func() any {
		rows, err := tryQuery(c.admins[1], files)
		if err != nil {
			return err
		}
		return rows
	}, patient, "100ms").Should(Equal(want))
	g.Expect(query(t, c.admins[1], "SELECT COUNT(*) FROM sys.master_files WHERE database_id = DB_ID('app')")).
		To(Equal([][]any{{int64(4)}}))
	g.Expect(failure(t, c.admins[1], "ALTER DATABASE app ADD FILEGROUP f4").Number).To(BeEquivalentTo(3906))
	c.servers[0].kill()
	c.promote(1)
	g.Eventually(func() error {
		_, err := tryQuery(c.admins[1], "ALTER DATABASE app ADD FILEGROUP f4")
		return err
	}, patient, "200ms").Should(Succeed())
	g.Expect(query(t, c.admins[1],
		"SELECT t.name, i.data_space_id FROM app.sys.tables t JOIN app.sys.indexes i ON i.object_id = t.object_id "+
			"ORDER BY t.name")).
		To(Equal([][]any{{"t", int64(2)}, {"u", int64(3)}}))
}
