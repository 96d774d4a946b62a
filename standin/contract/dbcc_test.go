// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestCheckConstraints: docs/t-sql/database-console-commands/dbcc-checkconstraints-transact-sql.md.
func TestCheckConstraints(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE Table1 (Col1 INT, Col2 CHAR(30)); INSERT INTO Table1 VALUES (100, 'Hello'), (NULL, 'x')", "ok"},
		{"ALTER TABLE Table1 WITH NOCHECK ADD CONSTRAINT chkTab1 CHECK (Col1 > 100)", "ok"},
		{"DBCC CHECKCONSTRAINTS(Table1)", "[dbo].[Table1] [chkTab1] [Col1] = '100'"},
		{"DBCC CHECKCONSTRAINTS ('dbo.chkTab1') WITH NO_INFOMSGS", "[dbo].[Table1] [chkTab1] [Col1] = '100'"},
		{"CREATE TABLE p (a int, b varchar(5), PRIMARY KEY (a, b)); INSERT p VALUES (1, 'x')", "ok"},
		{"CREATE TABLE c (a int, b varchar(5)); INSERT c VALUES (1, 'x'), (1, 'y'''), (NULL, 'z'), (2, NULL)", "ok"},
		{"ALTER TABLE c WITH NOCHECK ADD CONSTRAINT fk FOREIGN KEY (a, b) REFERENCES p", "ok"},
		{"DBCC CHECKCONSTRAINTS ('c')", "[dbo].[c] [fk] [a] = '1' AND [b] = 'y'''"},
		{"DBCC CHECKCONSTRAINTS", "[dbo].[Table1] [chkTab1] [Col1] = '100'; [dbo].[c] [fk] [a] = '1' AND [b] = 'y'''"},
		{"ALTER TABLE c NOCHECK CONSTRAINT fk; DBCC CHECKCONSTRAINTS ('c')", ""},
		{"DBCC CHECKCONSTRAINTS ('c') WITH ALL_CONSTRAINTS", "[dbo].[c] [fk] [a] = '1' AND [b] = 'y'''"},
		{"SELECT a FROM c WHERE [a] = '1' AND [b] = 'y'''", "1"}, // as the page says of the column Where
		{"DBCC CHECKCONSTRAINTS ('nowhere')", "!2501/16"},
		{"DBCC CHECKCONSTRAINTS WITH TABLERESULTS", "!2532/16"},
	})
}

// TestChecksOfStorage: docs/t-sql/database-console-commands/dbcc-checkdb-transact-sql.md,
// dbcc-checktable-transact-sql.md, dbcc-checkfilegroup-transact-sql.md, dbcc-cleantable-transact-sql.md,
// dbcc-updateusage-transact-sql.md, dbcc-dbreindex-transact-sql.md.
func TestChecksOfStorage(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t)
	name := value(t, pool, "SELECT DB_NAME()").(string)
	db := connection(t, pool)
	mustExec(t, db, "CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY); INSERT t VALUES (1), (2)")
	g := NewWithT(t)
	g.Expect(notices(t, db, "DBCC CHECKDB")).
		To(ContainElement("CHECKDB found 0 allocation errors and 0 consistency errors in database '" + name + "'."))
	g.Expect(notices(t, db, "DBCC CHECKDB WITH NO_INFOMSGS")).To(BeEmpty())
	g.Expect(notices(t, db, "DBCC CHECKTABLE ('t')")).To(ContainElement(HavePrefix("There are 2 rows in ")))
	lines := []say{
		{"DBCC CHECKDB (here, NOINDEX) WITH PHYSICAL_ONLY, MAXDOP = 2", "ok"},
		{"DBCC CHECKDB (0)", "ok"},
		{"DBCC CHECKDB ('nowhere')", "!2520/16"},
		{"DBCC CHECKDB (31000)", "!2521/16"},
		{"DBCC CHECKDB (here, REPAIR_ALLOW_DATA_LOSS)", "!7919/16"},
		{"DBCC CHECKDB WITH ESTIMATEONLY", "!40517"},
		{"DBCC CHECKDB WITH COUNT_ROWS", "!2532/16"},
		{"DBCC CHECKDB WITH NONSENSE", "!155/15"},
		{"DBCC CHECKDB WITH", "!102/15"},
		{"DBCC CHECKDB (", "!102/15"},
		{"DBCC CHECKDB (1,,2)", "!102/15"},
		{"DBCC CHECKDB (1,)", "!102/15"},
		{"DBCC CHECKDB ()", "ok"},
		{"DBCC TRACESTATUS()", "ok"},
		{"DBCC CHECKDB (here, FOO)", "!155/15"},
		{"DBCC CHECKALLOC (0, 5)", "!102/15"},
		{"DBCC CHECKTABLE ('t', NOINDEX, 1)", "!102/15"},
		{"DECLARE @i int = 1; DBCC CHECKTABLE ('dbo.t', @i) WITH NO_INFOMSGS", "ok"},
		{"DBCC CHECKTABLE ('master.dbo.t')", "!2501/16"},
		{"DBCC CHECKTABLE ('DBNAME.dbo.t') WITH NO_INFOMSGS", "ok"},
		{"DBCC DBREINDEX ('master.dbo.t')", "!2501/16"},
		{"DBCC UPDATEUSAGE (0, 'master.dbo.t')", "!2501/16"},
		{"SELECT 1 DBCC", "!102/15"},
		{"DBCC CHECKALLOC (here)", "ok"},
		{"DBCC CHECKCATALOG", "ok"},
		{"DBCC CHECKTABLE ('nowhere')", "!2501/16"},
		{"DBCC CHECKTABLE", "!2583/16"},
		{"DBCC CHECKFILEGROUP (1, NOINDEX)", "ok"},
		{"DBCC CHECKFILEGROUP ('PRIMARY') WITH NO_INFOMSGS", "ok"},
		{"DBCC CHECKFILEGROUP ('other')", "!2523/16"},
		{"DBCC CLEANTABLE (here, 't', 0) WITH NO_INFOMSGS", "ok"},
		{"DBCC UPDATEUSAGE (0, 'nowhere')", "!2501/16"},
		{"DBCC DBREINDEX ('t', pk, 80)", "ok"},
		{"SELECT fill_factor FROM sys.indexes WHERE name = 'pk'", "80"},
		{"DBCC DBREINDEX ('t', ' ', 70)", "ok"},
		{"DBCC DBREINDEX ('t', nowhere)", "!2727"},
		{"DBCC SHOWCONTIG ('t') WITH TABLERESULTS", "!40517"},
	}
	for i := range lines {
		lines[i].text = strings.ReplaceAll(lines[i].text, "here,", name+",")
		lines[i].text = strings.ReplaceAll(lines[i].text, "DBNAME", name)
		lines[i].text = strings.ReplaceAll(lines[i].text, "(here)", "("+name+")")
	}
	converse(t, db, lines)
}

// TestShrink: docs/t-sql/database-console-commands/dbcc-shrinkfile-transact-sql.md,
// dbcc-shrinkdatabase-transact-sql.md.
func TestShrink(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t)
	name := value(t, pool, "SELECT DB_NAME()").(string)
	db := connection(t, pool)
	mustExec(t, db, "ALTER DATABASE CURRENT MODIFY FILE (NAME = ["+name+"], SIZE = 64MB)")
	converse(t, db, []say{
		{
			"SELECT size, IIF(FILEPROPERTY(name, 'SpaceUsed') < 6400, 1, 0) FROM sys.database_files WHERE file_id = 1",
			"8192 1",
		},
		{"DBCC SHRINKFILE (1, NOTRUNCATE)", "ok"},
		{"SELECT size FROM sys.database_files WHERE file_id = 1", "8192"},
		{"DBCC SHRINKFILE (" + name + ", 50)", "ok"},
		{"SELECT size FROM sys.database_files WHERE file_id = 1", "6400"},
		{"DBCC SHRINKFILE (N'" + name + "', 0, TRUNCATEONLY) WITH NO_INFOMSGS", "ok"},
		{
			"SELECT IIF(size < 6400 AND size >= FILEPROPERTY(name, 'SpaceUsed'), 1, 0) FROM sys.database_files WHERE " +
				"file_id = 1",
			"1",
		},
		{"DBCC SHRINKFILE (nowhere, 7)", "!8985/16"},
		{"DBCC SHRINKFILE (1, EMPTYFILE)", "!2555/16"},
		{"DBCC SHRINKDATABASE (" + name + ", 10)", "ok"},
		{"DBCC SHRINKDATABASE (nowhere, 10)", "!2520/16"},
		{"DBCC SHRINKFILE", "!2583/16"},
		{"BEGIN TRANSACTION; DBCC SHRINKDATABASE (" + name + ", TRUNCATEONLY)", "!8920/16"},
		{"IF @@TRANCOUNT > 0 ROLLBACK", "ok"},
	})
	NewWithT(
		t,
	).Expect(rowsText(query(t, db, "DBCC SHRINKFILE (2)"))).
		To(HavePrefix(rowsText(query(t, db, "SELECT DB_ID(), 2")) + " "))
}

// TestDBCCLooks: what people type to look around, by the pages of the commands in docs/t-sql/database-console-commands.
func TestDBCCLooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := newDatabase(t)
	db := connection(t, pool)
	shape := func(text string) [][]string {
		t.Helper()
		sets, err := resultShapes(t, pool, text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		for _, set := range sets {
			for i := range set {
				set[i] = set[i][:strings.LastIndex(set[i], " ")]
			}
		}
		return sets
	}
	mustExec(
		t,
		db,
		"CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b nvarchar(20)); INSERT t VALUES (1, N'x'); CREATE "+
			"STATISTICS of_b ON t (b) WHERE b IS NOT NULL",
	)
	header := []string{
		"Name",
		"Updated",
		"Rows",
		"Rows Sampled",
		"Steps",
		"Density",
		"Average Key Length",
		"String Index",
		"Filter Expression",
		"Unfiltered Rows",
		"Persisted Sample Percent",
	}
	density := []string{"All Density", "Average Length", "Columns"}
	histogram := []string{"RANGE_HI_KEY", "RANGE_ROWS", "EQ_ROWS", "DISTINCT_RANGE_ROWS", "AVG_RANGE_ROWS"}
	g.Expect(shape("DBCC SHOW_STATISTICS ('t', of_b)")).To(Equal([][]string{header, density, histogram}))
	g.Expect(shape("DBCC SHOW_STATISTICS ('dbo.t', pk) WITH STAT_HEADER, NO_INFOMSGS")).To(Equal([][]string{header}))
	g.Expect(shape("DBCC SHOW_STATISTICS (t, 'pk') WITH DENSITY_VECTOR, HISTOGRAM")).
		To(Equal([][]string{density, histogram}))
	g.Expect(shape("DBCC PROCCACHE")).
		To(Equal([][]string{{"num proc buffs", "num proc buffs used", "num proc buffs active", "proc cache size",
			"proc cache used", "proc cache active"}}))
	g.Expect(shape("DBCC SQLPERF (LOGSPACE)")).
		To(Equal([][]string{{"Database Name", "Log Size (MB)", "Log Space Used (%)", "Status"}}))
	g.Expect(shape("DBCC INPUTBUFFER (@@SPID)")).To(Equal([][]string{{"EventType", "Parameters", "EventInfo"}}))
	g.Expect(shape("DBCC USEROPTIONS")).To(Equal([][]string{{"Set Option", "Value"}}))
	g.Expect(shape("DBCC TRACESTATUS (-1)")).To(Equal([][]string{{"TraceFlag", "Status", "Global", "Session"}}))
	const done = "DBCC execution completed. If DBCC printed error messages, contact your system administrator."
	for _, text := range []string{"DBCC FREEPROCCACHE", "DBCC FREESYSTEMCACHE ('ALL')", "DBCC FREESESSIONCACHE",
		"DBCC DROPCLEANBUFFERS", "DBCC SQLPERF (\"sys.dm_os_wait_stats\", CLEAR)",
		"DBCC SQLPERF ('sys.dm_os_latch_stats', CLEAR)"} {
		g.Expect(notices(t, db, text)).To(Equal([]string{done}), text)
		g.Expect(notices(t, db, text+" WITH NO_INFOMSGS")).To(BeEmpty(), text)
	}
	g.Expect(notices(t, db, "DBCC HELP ('?')")).
		To(ContainElements("checkdb", "checkident", "show_statistics", "useroptions", done))
	g.Expect(notices(t, db, "DECLARE @s sysname = 'CHECKDB'; DBCC HELP (@s)")).
		To(ContainElement(HavePrefix("dbcc CHECKDB [ ( database")))
	converse(t, db, []say{
		{
			"DBCC SHOW_STATISTICS ('t', of_b) WITH STAT_HEADER",
			rowsText(
				query(
					t,
					db,
					"SELECT 'of_b', CONVERT(varchar(20), CAST(STATS_DATE(OBJECT_ID('t'), stats_id) AS datetime)), CONCAT('NULL "+
						"NULL 0 NULL NULL NO  ', filter_definition, ' NULL 0') FROM sys.stats WHERE name = 'of_b'",
				),
			),
		},
		{"DBCC SHOW_STATISTICS ('t', nothing)", "!2767/15"},
		{"DBCC SHOW_STATISTICS ('nowhere', pk)", "!2501/16"},
		{"DBCC SHOW_STATISTICS ('t')", "!2583/16"},
		{"DBCC SHOW_STATISTICS ('t', pk) WITH STATS_STREAM", "!40517"},
		{"DBCC HELP ('NOSUCHCOMMAND')", "!8987/16"},
		{"DBCC HELP", "!2583/16"},
		{"DBCC SQLPERF ('sys.dm_os_spinlock_stats', CLEAR)", "!40517"},
		{"DBCC OPENTRAN WITH TABLERESULTS", "!40517"},
		{"DBCC OUTPUTBUFFER (@@SPID)", "!40517"},
		{"DBCC SHOWCONTIG", "!40517"},
		{
			"CREATE TABLE #log (unit int, id int, size bigint, start bigint, number int, status int, parity tinyint, lsn " +
				"numeric(25, 0)); INSERT #log EXEC ('DBCC LOGINFO WITH NO_INFOMSGS'); SELECT IIF(COUNT(*) = (SELECT COUNT(*) " +
				"FROM sys.dm_db_log_info(DB_ID())) AND MIN(size) > 0, 1, 0) FROM #log",
			"1",
		},
	})
	limited := uniqueName("limited")
	mustExec(
		t,
		pool,
		"CREATE LOGIN "+limited+" WITH PASSWORD = 'L1mited-Looks'; CREATE USER "+limited+" FOR LOGIN "+limited,
	)
	t.Cleanup(func() { dropLogin(t, shared.open(t, ""), limited) })
	name := value(t, pool, "SELECT DB_NAME()").(string)
	other := connection(t, shared.openAs(t, limited, "L1mited-Looks", name))
	converse(t, other, []say{
		{"DBCC HELP ('?')", "!2571/14"}, {"DBCC PROCCACHE", "!262"}, {"DBCC CHECKDB", "!7983/14"},
		{"DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)", "!300"},
	})
	_, err := tryQuery(other, "DBCC SHOW_STATISTICS ('t', pk)")
	g.Expect(err).To(HaveOccurred())
}
