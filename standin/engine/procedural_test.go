// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/tds"
)

func TestProcedural(t *testing.T) {
	_, c := testDB(t)
	c.exec("CREATE TABLE t (id int PRIMARY KEY, v varchar(20))")
	for _, e := range []struct{ text, want string }{
		{"DECLARE @i int = 0, @s varchar(50) = ''; WHILE @i < 5 BEGIN SET @i += 1; IF @i = 2 CONTINUE; IF @i = 4 BREAK; " +
			"SET @s = @s + CAST(@i AS varchar(5)); END; SELECT @s", "13"},
		{"IF EXISTS (SELECT 1 FROM t) SELECT 'some' ELSE SELECT 'none'", "none"},
		{"DECLARE @z int; BEGIN TRY SET @z = 1/0 END TRY BEGIN CATCH SELECT CONCAT(ERROR_NUMBER(), '/', ERROR_SEVERITY(), " +
			"'/', ERROR_LINE()) END CATCH", "8134/16/1"},
		{"BEGIN TRY THROW 50001, 'mine', 3 END TRY BEGIN CATCH SELECT CONCAT(ERROR_NUMBER(), ERROR_MESSAGE(), " +
			"ERROR_STATE()) END CATCH", "50001mine3"},
		{"BEGIN TRY RAISERROR('a %s %d', 16, 2, 'b', 7) END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH", "a b 7"},
		{"DECLARE @x int; SELECT @x = MAX(n) FROM (VALUES (3),(9)) v(n); SELECT @x", "9"},
		{"DECLARE @s varchar(20) = ''; SELECT @s = @s + n FROM (VALUES ('a'),('b')) v(n); SELECT LEN(@s)", "2"},
		{"EXEC('SELECT 4')", "4"},
		{"DECLARE @sql nvarchar(100) = N'SELECT @a + 1'; EXEC sp_executesql @sql, N'@a int', @a = 4", "5"},
		{"DECLARE @o int; EXEC sp_executesql N'SET @o = 8', N'@o int OUTPUT', @o = @o OUTPUT; SELECT @o", "8"},
		{"DECLARE @t TABLE (a int); INSERT @t VALUES (1),(2); SELECT SUM(a) FROM @t", "3"},
		{"SELECT @@ROWCOUNT FROM (VALUES (1)) x(a)", "1"}, {"INSERT INTO t VALUES (1,'a'),(2,'b'); SELECT @@ROWCOUNT", "2"},
		{"UPDATE t SET v = 'z' WHERE id = 99; SELECT @@ROWCOUNT", "0"},
		{"BEGIN TRY INSERT INTO t VALUES (1,'dup') END TRY BEGIN CATCH SELECT CONCAT(ERROR_NUMBER(), ',', XACT_STATE(), " +
			"',', @@ERROR) END CATCH", "2627,0,2627"},
		{"SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY INSERT INTO t VALUES (1,'dup') END TRY BEGIN CATCH SELECT " +
			"XACT_STATE(); ROLLBACK END CATCH; SET XACT_ABORT OFF", "-1"},
		{"BEGIN TRAN; BEGIN TRY INSERT INTO t VALUES (1,'dup') END TRY BEGIN CATCH SELECT XACT_STATE(); ROLLBACK END CATCH",
			"1"},
		{"EXEC sp_set_session_context N'k', N'v'; SELECT CAST(SESSION_CONTEXT(N'k') AS varchar(5))", "v"},
		{"DECLARE @r int; EXEC @r = sp_getapplock 'x', 'Exclusive', 'Session'; SELECT @r", "0"},
	} {
		rows := c.rows(e.text)
		if len(rows) != 1 || rows[0] != e.want {
			t.Errorf("%s\nwant %q, got %q", e.text, e.want, rows)
		}
	}
}

func TestProceduresAndFunctions(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec("CREATE TABLE t (id int IDENTITY PRIMARY KEY, v int)")
	c.exec(`CREATE PROCEDURE dbo.addv @v int, @twice bit = 0, @id int = NULL OUTPUT AS
BEGIN
	SET NOCOUNT ON
	INSERT INTO t (v) VALUES (@v)
	SET @id = SCOPE_IDENTITY()
	IF @twice = 1 EXEC dbo.addv @v
	RETURN @v * 2
END`)
	g.Expect(c.rows("DECLARE @id int, @r int; EXEC @r = addv 5, @id = @id OUTPUT; SELECT @id, @r")).
		To(Equal([]string{"1|10"}))
	c.exec("EXEC dbo.addv @v = 6, @twice = 1")
	g.Expect(c.one("SELECT COUNT(*) FROM t")).To(Equal(int64(3)))
	c.fails(201, "EXEC addv")
	c.fails(8145, "EXEC addv @w = 1")
	c.fails(8144, "EXEC addv 1, 0, 1, 1")
	c.fails(8114, "EXEC addv 'x'")
	c.exec(
		"CREATE FUNCTION dbo.f (@a int, @b int = 3) RETURNS int AS BEGIN DECLARE @c int = @a; IF @a > 10 SET @c = 10; " +
			"RETURN @c * @b END",
	)
	g.Expect(c.rows("SELECT dbo.f(v, DEFAULT), dbo.f(50, 2) FROM t WHERE id = 1")).To(Equal([]string{"15|20"}))
	c.exec("CREATE FUNCTION dbo.g (@m int) RETURNS TABLE AS RETURN (SELECT id, v FROM t WHERE v >= @m)")
	g.Expect(c.one("SELECT COUNT(*) FROM dbo.g(6)")).To(Equal(int64(2)))
	c.exec("ALTER PROCEDURE dbo.addv @v int AS RETURN 7")
	g.Expect(c.one("DECLARE @r int; EXEC @r = addv 1; SELECT @r")).To(Equal(int64(7)))
	c.exec("CREATE TABLE #r (a int, b int); INSERT INTO #r EXEC('SELECT id, v FROM t')")
	g.Expect(c.one("SELECT COUNT(*) FROM #r")).To(Equal(int64(3)))
	c.exec("CREATE SEQUENCE s AS int START WITH 5 INCREMENT BY 5")
	g.Expect(c.one("SELECT NEXT VALUE FOR s")).To(Equal(int64(5)))
	g.Expect(c.one("SELECT NEXT VALUE FOR s")).To(Equal(int64(10)))
	c.exec("CREATE SYNONYM syn FOR dbo.t")
	g.Expect(c.one("SELECT COUNT(*) FROM syn")).To(Equal(int64(3)))
	c.exec("DROP PROCEDURE addv; DROP FUNCTION dbo.f; DROP SYNONYM syn; DROP SEQUENCE s")
	c.fails(2812, "EXEC addv 1")
}

func TestTransactions(t *testing.T) {
	g := NewWithT(t)
	s, c := testDB(t)
	c.exec("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
	c.exec("BEGIN TRAN; INSERT INTO t VALUES (2, 0); SAVE TRAN a; INSERT INTO t VALUES (3, 0); ROLLBACK TRAN a; COMMIT")
	g.Expect(c.one("SELECT COUNT(*) FROM t")).To(Equal(int64(2)))
	c.exec("BEGIN TRAN; BEGIN TRAN; DELETE FROM t; COMMIT; ROLLBACK")
	g.Expect(c.one("SELECT COUNT(*) FROM t")).To(Equal(int64(2)))
	c.fails(3902, "COMMIT")
	c.fails(3903, "ROLLBACK")

	other := s.conn("d")
	c.exec("BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1")
	g.Expect(other.one("SELECT v FROM t WHERE id = 1")).To(Equal(int64(0)), "a reader sees the last commit")
	other.exec("SET LOCK_TIMEOUT 50")
	other.fails(1222, "UPDATE t SET v = 6 WHERE id = 1")
	g.Expect(other.one("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE open_transaction_count > 0")).To(Equal(int64(1)))
	c.exec("COMMIT")
	other.exec("UPDATE t SET v = 6 WHERE id = 1")
	g.Expect(c.one("SELECT v FROM t WHERE id = 1")).To(Equal(int64(6)))

	c.exec("CREATE TABLE made (id int); BEGIN TRAN; CREATE TABLE gone (id int); ALTER TABLE made ADD x int; ROLLBACK")
	c.fails(208, "SELECT * FROM gone")
	c.fails(207, "SELECT x FROM made")
	c.exec("BEGIN TRAN; INSERT INTO t VALUES (7, 7)")
	c.end()
	g.Eventually(func() any { return other.one("SELECT COUNT(*) FROM t WHERE id = 7") }, "60s").Should(Equal(int64(0)))

	c = s.conn("d")
	c.exec("SET XACT_ABORT ON; BEGIN TRAN; INSERT INTO t VALUES (8, 8)")
	c.fails(2627, "INSERT INTO t VALUES (8, 8)")
	g.Expect(c.one("SELECT @@TRANCOUNT")).To(Equal(int64(0)))
	c.exec("SET IMPLICIT_TRANSACTIONS ON; INSERT INTO t VALUES (9, 9)")
	g.Expect(c.one("SELECT @@TRANCOUNT")).To(Equal(int64(1)))
	c.exec("ROLLBACK; SET IMPLICIT_TRANSACTIONS OFF")
	g.Expect(c.one("SELECT COUNT(*) FROM t WHERE id IN (8, 9)")).To(Equal(int64(0)))
}

func TestDeadlockHasAVictim(t *testing.T) {
	g := NewWithT(t)
	s, a := testDB(t)
	a.exec("CREATE DATABASE e; CREATE TABLE d.dbo.t (id int); CREATE TABLE e.dbo.t (id int)")
	b := s.conn("d")
	a.exec("BEGIN TRAN; INSERT INTO d.dbo.t VALUES (1)")
	b.exec("BEGIN TRAN; INSERT INTO e.dbo.t VALUES (1)")
	waiting := make(chan error, 1)
	go func() {
		_, err := a.ExecContext(context.Background(), "INSERT INTO e.dbo.t VALUES (2)")
		waiting <- err
	}()
	watch := s.conn("master")
	g.Eventually(func() any {
		return watch.one("SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type = 'LCK_M_X' AND blocking_session_id > 0")
	}, "60s").Should(Equal(int64(1)))
	b.fails(1205, "INSERT INTO d.dbo.t VALUES (2)")
	g.Eventually(waiting, "60s").Should(Receive(BeNil()))
	a.exec("COMMIT")
	g.Expect(a.rows("SELECT (SELECT COUNT(*) FROM d.dbo.t), (SELECT COUNT(*) FROM e.dbo.t)")).To(Equal([]string{"1|1"}))
}

func TestCancellation(t *testing.T) {
	g := NewWithT(t)
	s, _ := testDB(t)
	db := s.open("d")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := db.ExecContext(ctx, "WAITFOR DELAY '00:10:00'")
	g.Expect(err).To(HaveOccurred())
	g.Expect(time.Since(start)).To(BeNumerically("<", time.Minute))
	ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(
		ctx,
		"WITH n(i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT MAX(i) FROM n "+
			"OPTION (MAXRECURSION 0)",
	)
	g.Expect(err).To(HaveOccurred())
	g.Expect(time.Since(start)).To(BeNumerically("<", 2*time.Minute))
}

func TestBulkInsertAndManySessions(t *testing.T) {
	g := NewWithT(t)
	s, c := testDB(t)
	c.exec(
		"CREATE TABLE t (id int PRIMARY KEY, v nvarchar(20) NULL, d decimal(10,3)); CREATE TABLE n (id int IDENTITY " +
			"PRIMARY KEY, worker int)",
	)
	db := s.open("d")
	tx, err := db.Begin()
	g.Expect(err).NotTo(HaveOccurred())
	stmt, err := tx.Prepare(mssql.CopyIn("t", mssql.BulkOptions{}, "id", "v", "d"))
	g.Expect(err).NotTo(HaveOccurred())
	for i := range 500 {
		_, err = stmt.Exec(i, fmt.Sprint("row ", i), "1.25")
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err = stmt.Exec()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stmt.Close()).To(Succeed())
	g.Expect(tx.Commit()).To(Succeed())
	g.Expect(c.rows("SELECT COUNT(*), SUM(d), MAX(v) FROM t")).To(Equal([]string{"500|625.000|row 99"}))

	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				if _, err := db.Exec("INSERT INTO n (worker) VALUES (@p1)", w); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	g.Expect(c.rows("SELECT COUNT(*), COUNT(DISTINCT id), MAX(id) FROM n")).To(Equal([]string{"160|160|160"}))
}

func TestBackupAndRestoreStatements(t *testing.T) {
	g := NewWithT(t)
	s, c := testDB(t)
	dir := t.TempDir()
	c.exec("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
	c.fails(4214, "BACKUP LOG d TO DISK = '"+dir+"/none.trn'")
	c.exec("BACKUP DATABASE d TO DISK = '" + dir + "/d.bak' WITH INIT, STATS = 10")
	c.exec("INSERT INTO t VALUES (2)")
	c.exec("BACKUP LOG d TO DISK = '" + dir + "/d.trn' WITH INIT")
	c.exec("INSERT INTO t VALUES (3)")
	g.Expect(c.rows("SELECT [type] FROM msdb.dbo.backupset ORDER BY backup_set_id")).To(Equal([]string{"D", "L"}))
	g.Expect(c.rows("RESTORE FILELISTONLY FROM DISK = '" + dir + "/d.bak'")).To(HaveLen(2))
	m := s.conn("master")
	m.exec(
		fmt.Sprintf(
			"RESTORE DATABASE r FROM DISK = '%s/d.bak' WITH MOVE 'd' TO '%s/r.mdf', MOVE 'd_log' TO '%s/r.ldf', NORECOVERY",
			dir,
			dir,
			dir,
		),
	)
	g.Expect(m.one("SELECT state_desc FROM sys.databases WHERE name = 'r'")).To(Equal("RESTORING"))
	m.fails(927, "USE r")
	m.exec("RESTORE LOG r FROM DISK = '" + dir + "/d.trn' WITH RECOVERY")
	g.Expect(m.one("SELECT COUNT(*) FROM r.dbo.t")).To(Equal(int64(2)))
	m.exec("INSERT INTO r.dbo.t VALUES (10); DROP DATABASE r")
	m.fails(3201, "RESTORE DATABASE q FROM DISK = '"+dir+"/nosuch.bak'")
}

func TestEverythingSurvivesARestart(t *testing.T) {
	g := NewWithT(t)
	s, c := testDB(t)
	c.exec("CREATE SCHEMA app")
	c.exec("CREATE TABLE app.t (id int PRIMARY KEY, v varchar(10) NOT NULL DEFAULT 'x' CHECK (v <> 'bad'))")
	c.exec("CREATE VIEW app.w AS SELECT id FROM app.t")
	c.exec("INSERT INTO app.t (id) VALUES (1); EXEC sp_addextendedproperty N'owner', N'me'")
	c.exec(
		"ALTER DATABASE d SET RECOVERY SIMPLE; ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON; EXEC sp_configure 'show " +
			"advanced options', 1; RECONFIGURE",
	)
	c.end()
	s.stop()
	s.start()
	c = s.conn("d")
	g.Expect(c.rows("SELECT t.id, t.v FROM app.t t JOIN app.w w ON w.id = t.id")).To(Equal([]string{"1|x"}))
	c.fails(547, "INSERT INTO app.t VALUES (2, 'bad')")
	g.Expect(c.rows("SELECT recovery_model_desc, is_read_committed_snapshot_on FROM sys.databases WHERE name = 'd'")).
		To(Equal([]string{"SIMPLE|true"}))
	g.Expect(c.one("SELECT CAST(value AS nvarchar(10)) FROM sys.extended_properties WHERE name = 'owner'")).To(Equal("me"))
	g.Expect(c.one("SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = 'show advanced options'")).
		To(Equal(int64(1)))
}

func TestMessagesAndResultOrder(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	_, err := c.ExecContext(
		context.Background(),
		"CREATE TABLE t (id int PRIMARY KEY)\nINSERT INTO t VALUES (1)\nINSERT INTO t VALUES (1)\nINSERT INTO t VALUES (2)",
	)
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue())
	g.Expect(e.LineNo).To(Equal(int32(3)))
	g.Expect(e.Class).To(Equal(uint8(14)))
	g.Expect(c.one("SELECT COUNT(*) FROM t")).To(Equal(int64(2)), "a violated constraint ends its statement only")
}

func TestWhatIsSaidOfMisplacedStatements(t *testing.T) {
	c := newServer(t).conn("master")
	for _, e := range []struct{ text, message string }{
		{"PRINT 'a'\nWAITFOR DELAY 'a while'", "Incorrect time syntax in time string 'a while' used with WAITFOR."},
		{"PRINT 'a'\nBREAK", "Cannot use a BREAK statement outside the scope of a WHILE statement."},
		{"PRINT 'a'\nCONTINUE", "Cannot use a CONTINUE statement outside the scope of a WHILE statement."},
	} {
		_, err := c.ExecContext(context.Background(), e.text)
		var got mssql.Error
		if !errors.As(err, &got) || got.Message != e.message || got.LineNo != 2 {
			t.Errorf("%s\nwant %q at line 2, got line %d: %v", e.text, e.message, got.LineNo, err)
		}
	}
}

// TestCursorsOfSystemProcedures: a server cursor is not opened on a procedure that has several SELECT statements
// (docs/relational-databases/native-client-odbc-queries/constructing-sql-statements-for-cursors.md), as system
// procedures have.
func TestCursorsOfSystemProcedures(t *testing.T) {
	g := NewWithT(t)
	c := newServer(t).open("master")
	_, err := c.Exec("CREATE PROCEDURE dbo.one AS SELECT 1 AS n")
	g.Expect(err).NotTo(HaveOccurred())
	open := func(text string) (cursor int64, err error) {
		_, err = c.Exec(
			"sp_cursoropen",
			sql.Named("cursor", sql.Out{Dest: &cursor}),
			sql.Named("stmt", text),
			sql.Named("scrollopt", 8),
			sql.Named("ccopt", 1),
		)
		return cursor, err
	}
	cursor, err := open("EXEC dbo.one")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cursor).NotTo(BeZero())
	_, err = open("EXEC sp_who")
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(16937)))
}

// TestLongNamesOfClients: the name of .NET's SqlClient is longer than its column
// (docs/relational-databases/system-dynamic-management-views/ sys-dm-exec-sessions-transact-sql.md,
// client_interface_name).
func TestLongNamesOfClients(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	here := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	session, err := s.inst.Login(
		context.Background(),
		tds.LoginRequest{
			User:     "sa",
			Password: "Str0ng!pass",
			Library:  "Core .Net SqlClient Data Provider",
			Remote:   here,
			Local:    here,
		},
	)
	g.Expect(err).NotTo(HaveOccurred())
	defer session.Close()
	var name string
	g.Expect(s.open("master").QueryRow("SELECT client_interface_name FROM sys.dm_exec_sessions WHERE session_id = @p1",
		session.SPID()).Scan(&name)).
		To(Succeed())
	g.Expect(name).To(Equal("Core .Net SqlClient Data Provide"))
}
