// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// TestPartitionsOfEveryType: values below a boundary, at it, above it and NULL, with the boundary on either side, by
// $PARTITION and as rows (docs/t-sql/statements/create-partition-function-transact-sql.md, input_parameter_type and
// Remarks).
func TestPartitionsOfEveryType(t *testing.T) {
	t.Parallel()
	c := connection(t, newDatabase(t))
	for n, one := range []struct{ kind, below, at, above string }{
		{"tinyint", "4", "5", "255"},
		{"smallint", "-6", "-5", "0"},
		{"int", "-2147483648", "-1", "0"},
		{"bigint", "-9223372036854775807", "9223372036854775806", "9223372036854775807"},
		{"decimal(9,2)", "-1.51", "-1.50", "-1.49"},
		{"numeric(38,10)", "9.0000000001", "10", "10.0000000001"},
		{"money", "-1.5001", "-1.5", "100"},
		{"smallmoney", "0.9999", "1", "1.0001"},
		{"real", "-1.5e0", "-1e0", "0e0"},
		{"float", "1e-300", "1e-299", "1e300"},
		{"date", "'1999-12-31'", "'2000-01-01'", "'2000-01-02'"},
		{"time(3)", "'09:59:59.999'", "'10:00'", "'10:00:00.001'"},
		{"datetime", "'1999-12-31T23:59:59.997'", "'20000101'", "'2000-01-01T00:00:00.003'"},
		{"smalldatetime", "'20000101'", "'2000-01-01T00:01:00'", "'2000-01-01T00:02:00'"},
		{"datetime2(7)", "'1999-12-31 23:59:59.9999999'", "'20000101'", "'2000-01-01 00:00:00.0000001'"},
		{"datetimeoffset(0)", "'2000-01-01 01:59:59 +02:00'", "'2000-01-01 00:00 +00:00'", "'1999-12-31 19:00:01 -05:00'"},
		{"datetimeoffset(0)", "'1999-12-31 23:59:59 +00:00'", "'2000-01-01 02:00 +02:00'", "'2000-01-01 02:00:01 +02:00'"},
		{"char(3)", "'ab'", "'b'", "'BA'"},
		{"varchar(3)", "'A  '", "'a!'", "'ab'"},
		{"nchar(3)", "N'ä'", "N'b'", "N'ba'"},
		{"nvarchar(3)", "N''", "N' a'", "N'a'"},
		{"binary(2)", "0x00FF", "0x0100", "0x0101"},
		{"varbinary(2)", "0x00FF", "0x01", "0x02"},
		{"uniqueidentifier", "'FFFFFFFF-FFFF-FFFF-FFFF-000000000000'", "'00000000-0000-0000-0000-000000000001'",
			"'00000000-0000-0000-0000-000000000002'"},
	} {
		text := func(format string) string { return fmt.Sprintf(format, n, one.kind, one.below, one.at, one.above) }
		converse(t, c, []say{
			{
				text(
					"CREATE PARTITION FUNCTION r%[1]d (%[2]s) AS RANGE RIGHT FOR VALUES (%[4]s); CREATE PARTITION FUNCTION l%[1]d " +
						"(%[2]s) AS RANGE LEFT FOR VALUES (%[4]s)",
				),
				"ok",
			},
			{
				text(
					"SELECT $PARTITION.r%[1]d(%[3]s), $PARTITION.r%[1]d(%[4]s), $PARTITION.r%[1]d(%[5]s), $PARTITION.r%[1]d(NULL), " +
						"$PARTITION.l%[1]d(%[3]s), $PARTITION.l%[1]d(%[4]s), $PARTITION.l%[1]d(%[5]s)",
				),
				"1 2 2 1 1 1 2",
			},
			{text("CREATE PARTITION SCHEME s%[1]d AS PARTITION r%[1]d ALL TO ([PRIMARY])"), "ok"},
			{text("CREATE TABLE t%[1]d (v %[2]s NULL) ON s%[1]d(v)"), "ok"},
			{text("INSERT t%[1]d VALUES (%[3]s), (%[4]s), (%[5]s), (NULL)"), "ok"},
			{text("SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('t%[1]d') ORDER BY partition_number"), "2; 2"},
			{
				text(
					"DELETE t%[1]d WHERE v = %[4]s; SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('t%[1]d') ORDER BY " +
						"partition_number",
				),
				"2; 1",
			},
			{text("TRUNCATE TABLE t%[1]d WITH (PARTITIONS (1)); SELECT COUNT(*), COUNT(v) FROM t%[1]d"), "1 1"},
		})
	}
}

// TestBoundaryValues: the same point in time in another time zone is the same boundary, a collation decides what is
// one, and what a conversion cuts is none (docs/t-sql/statements/create-partition-function-transact-sql.md,
// boundary_value).
func TestBoundaryValues(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE PARTITION FUNCTION o (datetimeoffset(0)) AS RANGE RIGHT FOR VALUES ('2000-01-01 00:00 +00:00')", "ok"},
		{"SELECT $PARTITION.o('2000-01-01 02:00 +02:00'), $PARTITION.o('1999-12-31 19:00 -05:00')", "2 2"},
		{
			"CREATE PARTITION FUNCTION x (datetimeoffset(0)) AS RANGE FOR VALUES ('2000-01-01 02:00 +02:00', '2000-01-01 " +
				"00:00 +00:00')",
			"!7708/16",
		},
		{"ALTER PARTITION FUNCTION o() MERGE RANGE ('2000-01-01 02:00 +02:00')", "ok"},
		{"SELECT fanout, $PARTITION.o('20000101') FROM sys.partition_functions WHERE name = 'o'", "1 1"},
		{"ALTER PARTITION FUNCTION o() MERGE RANGE ('2000-01-01 02:00 +02:00')", "!7716/16"},
		{"CREATE PARTITION FUNCTION b (varchar(5) COLLATE Latin1_General_BIN2) AS RANGE RIGHT FOR VALUES ('b', 'B')", "ok"},
		{"SELECT $PARTITION.b('A'), $PARTITION.b('B'), $PARTITION.b('a'), $PARTITION.b('b')", "1 2 2 3"},
		{
			"CREATE PARTITION FUNCTION i (varchar(5) COLLATE Latin1_General_CI_AS) AS RANGE RIGHT FOR VALUES ('b', 'B')",
			"!7708/16",
		},
		{
			"SELECT collation_name FROM sys.partition_parameters p JOIN sys.partition_functions f ON f.function_id = " +
				"p.function_id WHERE f.name IN ('b', 'o') ORDER BY f.name",
			"Latin1_General_BIN2; NULL",
		},
		{"CREATE PARTITION SCHEME s AS PARTITION b ALL TO ([PRIMARY])", "ok"},
		{"CREATE TABLE t (a varchar(5)) ON s(a)", "!7727/16"},
		{"CREATE TABLE t (a varchar(5) COLLATE Latin1_General_BIN2) ON s(a)", "ok"},
		{"CREATE PARTITION FUNCTION x (decimal(5,1) COLLATE Latin1_General_BIN2) AS RANGE FOR VALUES (1)", "!7704/16"},
		{"CREATE PARTITION FUNCTION x (char(1) COLLATE nothing) AS RANGE FOR VALUES ('a')", "!448/16"},
		{"CREATE PARTITION FUNCTION x (int) AS RANGE FOR VALUES (1, 2.5)", "!7720/16"},
		{"CREATE PARTITION FUNCTION x (int) AS RANGE FOR VALUES (2.5e0)", "!7720/16"},
		{"CREATE PARTITION FUNCTION x (decimal(5,1)) AS RANGE FOR VALUES (1.25)", "!7720/16"},
		{"CREATE PARTITION FUNCTION n (decimal(5,1)) AS RANGE FOR VALUES (1.20, 3)", "ok"},
		{
			"DECLARE @low int = 3; CREATE PARTITION FUNCTION v (int) AS RANGE FOR VALUES (@low, -4); ALTER PARTITION " +
				"FUNCTION v() SPLIT RANGE (@low)",
			"!7721/16",
		},
		{
			"DECLARE @low int = 3; ALTER PARTITION FUNCTION v() SPLIT RANGE (DATEPART(year, '20000101')); ALTER PARTITION " +
				"FUNCTION v() MERGE RANGE (@low)",
			"ok",
		},
		{
			"SELECT CAST(value AS int) FROM sys.partition_range_values v JOIN sys.partition_functions f ON f.function_id = " +
				"v.function_id WHERE f.name = 'v' ORDER BY boundary_id",
			"-4; 2000",
		},
		{"SET LANGUAGE British", "ok"},
		{"CREATE PARTITION FUNCTION e (datetime) AS RANGE RIGHT FOR VALUES ('02/01/2003')", "ok"},
		{"SET LANGUAGE us_english", "ok"},
		{
			"SELECT CONVERT(char(10), CAST(value AS datetime), 120) FROM sys.partition_range_values v JOIN " +
				"sys.partition_functions f ON f.function_id = v.function_id WHERE f.name = 'e'",
			"2003-02-01",
		},
	})
}

// TestPartitionsInTransactions: a rollback undoes what was done to functions and schemes, and what follows from
// boundaries follows those of now.
func TestPartitionsInTransactions(t *testing.T) {
	t.Parallel()
	const now = "SELECT f.fanout, (SELECT COUNT(*) FROM sys.destination_data_spaces), $PARTITION.f(15), (SELECT " +
		"STRING_AGG(CAST(rows AS varchar(9)), ',') WITHIN GROUP (ORDER BY partition_number) FROM sys.partitions WHERE " +
		"object_id = OBJECT_ID('t')) FROM sys.partition_functions f"
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (10, 20); CREATE PARTITION SCHEME s AS PARTITION f " +
				"ALL TO ([PRIMARY])",
			"ok",
		},
		{"CREATE TABLE t (a int NOT NULL, part AS $PARTITION.f(a))", "ok"},
		{"INSERT t VALUES (1), (10), (15), (30)", "ok"},
		{"ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY CLUSTERED (a) WITH (FILLFACTOR = 90) ON s(a)", "ok"},
		{now, "3 4 2 1,2,1"},
		{"BEGIN TRANSACTION; ALTER PARTITION FUNCTION f() SPLIT RANGE (15)", "ok"},
		{now, "4 4 3 1,1,1,1"},
		{"SAVE TRANSACTION one; ALTER PARTITION FUNCTION f() MERGE RANGE (10); TRUNCATE TABLE t WITH (PARTITIONS (1))", "ok"},
		{now, "3 3 2 0,1,1"},
		{"ROLLBACK TRANSACTION one", "ok"},
		{now, "4 4 3 1,1,1,1"},
		{"ROLLBACK", "ok"},
		{now, "3 4 2 1,2,1"},
		{"SELECT a, part FROM t ORDER BY a", "1 1; 10 2; 15 2; 30 3"},
		{"ALTER PARTITION FUNCTION f() SPLIT RANGE (15)", "ok"},
		{"SELECT a, part FROM t ORDER BY a", "1 1; 10 2; 15 3; 30 4"},
		{"ALTER PARTITION FUNCTION f() SPLIT RANGE (16)", "!7710/16"},
		{"CREATE INDEX i ON t (part)", "!2729/16"},
		{"CREATE TABLE u (a int CHECK ($PARTITION.f(a) = 1))", "!40517/16"},
		{"BEGIN TRANSACTION; DROP TABLE t; DROP PARTITION SCHEME s; DROP PARTITION FUNCTION f; ROLLBACK", "ok"},
		{now, "4 4 3 1,1,1,1"},
	})
}

// TestPartitionEvents: DDL triggers fire for partition functions and schemes
// (docs/relational-databases/triggers/ddl-event-groups.md).
func TestPartitionEvents(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE log (id int IDENTITY, event nvarchar(200))", "ok"},
		{`CREATE TRIGGER logs ON DATABASE FOR DDL_PARTITION_EVENTS AS DECLARE @e xml = EVENTDATA();
			INSERT log VALUES (CONCAT(@e.value('(/EVENT_INSTANCE/EventType)[1]', 'nvarchar(99)'), ' ', @e.value('(/EVENT_INSTANCE/ObjectName)[1]', 'nvarchar(99)')))`, "ok"},
		{
			"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1); ALTER PARTITION FUNCTION f() MERGE RANGE (2)",
			"!7715/16",
		},
		{
			"ALTER PARTITION FUNCTION f() SPLIT RANGE (2); CREATE PARTITION SCHEME s AS PARTITION f ALL TO ([PRIMARY]); " +
				"ALTER PARTITION SCHEME s NEXT USED",
			"ok",
		},
		{"DROP PARTITION SCHEME s; DROP PARTITION FUNCTION f; CREATE TABLE other (a int)", "ok"},
		{
			"SELECT event FROM log ORDER BY id",
			"CREATE_PARTITION_FUNCTION f; ALTER_PARTITION_FUNCTION f; CREATE_PARTITION_SCHEME s; ALTER_PARTITION_SCHEME s; " +
				"DROP_PARTITION_SCHEME s; DROP_PARTITION_FUNCTION f",
		},
		{"ALTER TRIGGER logs ON DATABASE FOR CREATE_PARTITION_FUNCTION AS ROLLBACK", "ok"},
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1)", "!3609/16"},
		{"SELECT COUNT(*) FROM sys.partition_functions", "0"},
	})
}

// TestPartitionsReachSecondaries: functions, schemes and what follows from them arrive with the log, and the next
// primary goes on with them.
func TestPartitionsReachSecondaries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	c.synchronized(0, 1)
	db := c.servers[0].open(t, "app")
	mustExec(t, db, "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (10, 20)")
	mustExec(t, db, "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])")
	mustExec(t, db, "CREATE TABLE dbo.p (a int PRIMARY KEY) ON ps(a)")
	mustExec(t, db, "INSERT dbo.p VALUES (1), (10), (11), (15), (25)")
	const rows = "SELECT p.partition_number, p.rows, app.$PARTITION.pf(15) FROM app.sys.partitions p WHERE p.object_id " +
		"= OBJECT_ID('app.dbo.p') ORDER BY 1"
	arrives := func(counts ...int64) {
		t.Helper()
		g.Eventually(func() any {
			found, err := tryQuery(c.admins[1], rows)
			if err != nil {
				return err
			}
			var out []int64
			for _, row := range found {
				out = append(out, row[1].(int64))
			}
			return out
		}, patient, "100ms").Should(Equal(counts))
	}
	arrives(1, 3, 1)
	mustExec(t, db, "ALTER PARTITION FUNCTION pf() SPLIT RANGE (15)")
	arrives(1, 2, 1, 1)
	g.Expect(query(t, c.admins[1], rows)[0][2]).To(BeEquivalentTo(3))
	mustExec(
		t,
		db,
		"TRUNCATE TABLE dbo.p WITH (PARTITIONS (2 TO 3)); BEGIN TRANSACTION; ALTER PARTITION FUNCTION pf() MERGE RANGE "+
			"(10); ROLLBACK",
	)
	arrives(1, 0, 0, 1)
	mustExec(t, db, "ALTER PARTITION FUNCTION pf() MERGE RANGE (20)")
	arrives(1, 0, 1)
	g.Expect(failure(t, c.admins[1], "USE app; ALTER PARTITION FUNCTION pf() MERGE RANGE (10)").Number).
		To(BeEquivalentTo(3906))
	db.Close()
	c.servers[0].kill()
	c.promote(1)
	next := c.servers[1].open(t, "app")
	g.Eventually(func() error {
		_, err := next.Exec("ALTER PARTITION FUNCTION pf() MERGE RANGE (15)")
		return err
	}, patient, "200ms").Should(Succeed())
	mustExec(
		t,
		next,
		"ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION pf() SPLIT RANGE (30); INSERT dbo.p "+
			"VALUES (30)",
	)
	arrives(1, 1, 1)
}

// TestManyBoundaryValues: what searches many boundary values compares them as the types do, and a function of the most
// that there may be is usable (docs/t-sql/statements/create-partition-function-transact-sql.md, Limitations).
func TestManyBoundaryValues(t *testing.T) {
	t.Parallel()
	c := connection(t, newDatabase(t))
	for n, one := range []struct{ kind, bound, at, above string }{
		{"int", "CAST(@i * 10 - 200 AS varchar(20))", "-190", "-189"},
		{"bigint", "CAST(@i * 10 - 200 AS varchar(20))", "-190", "-189"},
		{"decimal(38,10)", "CAST(@i - 20.5 AS varchar(20))", "-19.5", "-19.4999999999"},
		{"money", "CAST(@i - 20.5 AS varchar(20))", "-19.5", "-19.4999"},
		{"float", "CAST(@i - 20.5 AS varchar(20))", "-19.5", "-19.4e0"},
		{"datetime", "'''' + CONVERT(varchar(10), DATEADD(day, @i, '20230101'), 112) + ''''", "'20230102'",
			"'2023-01-02T00:00:00.003'"},
		{"datetimeoffset(3)", "'''' + CONVERT(varchar(10), DATEADD(day, @i, '20230101'), 23) + ' 00:00 +00:00'''",
			"'2023-01-02 05:00 +05:00'", "'2023-01-01 19:00:00.001 -05:00'"},
		{"nvarchar(9)", "'N''' + CHAR(97 + @i / 2) + CHAR(97 + @i % 2) + ''''", "N'AB'", "N'ab!'"},
		{"varbinary(4)", "CONVERT(varchar(20), CAST(@i AS binary(2)), 1)", "0x0001", "0x000101"},
		{"uniqueidentifier",
			"'''00000000-0000-0000-0000-0000000000' + RIGHT(CONVERT(varchar(20), CAST(@i + 16 AS binary(2)), 2), 2) + ''''",
			"'00000000-0000-0000-0000-000000000011'", "'00000000-0000-0000-0001-000000000011'"},
	} {
		text := func(format string) string { return fmt.Sprintf(format, n, one.kind, one.bound, one.at, one.above) }
		converse(t, c, []say{
			{
				text(
					`DECLARE @i int = 0, @s nvarchar(max) = N''; WHILE @i < 40 BEGIN SET @s += IIF(@i > 0, N',', N'') + %[3]s; SET @i += 1 END;
DECLARE @l nvarchar(max) = N'CREATE PARTITION FUNCTION l%[1]d (%[2]s) AS RANGE LEFT FOR VALUES (' + @s + N')', @r nvarchar(max) = N'CREATE PARTITION FUNCTION r%[1]d (%[2]s) AS RANGE RIGHT FOR VALUES (' + @s + N')';
EXEC (@l); EXEC (@r)`,
				),
				"ok",
			},
			{
				text(
					"/* %[2]s */ SELECT $PARTITION.l%[1]d(%[4]s), $PARTITION.r%[1]d(%[4]s), $PARTITION.r%[1]d(%[5]s), " +
						"$PARTITION.l%[1]d(NULL)",
				),
				"2 3 3 1",
			},
		})
	}
	converse(t, c, []say{
		{
			"DECLARE @s nvarchar(max) = N'CREATE PARTITION FUNCTION most (int) AS RANGE RIGHT FOR VALUES (' + (SELECT " +
				"STRING_AGG(CAST(value AS nvarchar(max)), N',') FROM GENERATE_SERIES(1, 14999)) + N')'; EXEC (@s)",
			"ok",
		},
		{"SELECT $PARTITION.most(0), $PARTITION.most(1), $PARTITION.most(7500), $PARTITION.most(99999)", "1 2 7501 15000"},
		{
			"CREATE PARTITION SCHEME mosts AS PARTITION most ALL TO ([PRIMARY]); CREATE TABLE many (a int) ON mosts(a); " +
				"INSERT many SELECT value FROM GENERATE_SERIES(0, 20000)",
			"ok",
		},
		{"SELECT COUNT(*), MAX(rows) FROM sys.partitions WHERE object_id = OBJECT_ID('many')", "15000 5002"},
		{"TRUNCATE TABLE many WITH (PARTITIONS (2 TO 15000)); SELECT COUNT(*) FROM many", "1"},
	})
}
