// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// testDB is a connection to a new database.
func testDB(t *testing.T) (*server, *conn) {
	t.Helper()
	s := newServer(t)
	s.conn("master").exec("CREATE DATABASE d")
	return s, s.conn("d")
}

func TestTypesComeBackAsTheyWent(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec(
		`CREATE TABLE t (id int PRIMARY KEY, a bit, b tinyint, c smallint, d bigint, e decimal(18,4), f money, g float, h real, i char(5), j varchar(max), k nchar(5), l nvarchar(50),
		m binary(3), n varbinary(max), o uniqueidentifier, p date, q time(3), r datetime, s datetime2(3), u smalldatetime, v datetimeoffset(0), w xml, x rowversion, y numeric(5,1), z smallmoney)`,
	)
	c.exec(
		`INSERT INTO t (id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, y, z) VALUES (1, 1, 255, -32768, 9223372036854775807, -1.23456, 12.3456, 1.5, 2.5, 'ab', 'x', N'é', N'日本',
		0x01, 0x0102, '6F9619FF-8B86-D011-B42D-00C04FC964FF', '2024-02-29', '10:11:12.1239', '2024-01-01 10:00:00.005', '2024-01-01 10:00:00.0006', '2024-01-01 10:00:31', '2024-01-01 10:00:00 +02:00', '<a/>', 1.25, -1)`,
	)
	g.Expect(c.rows(`SELECT CONCAT(a,'|',b,'|',c,'|',d,'|',e,'|',f,'|',g,'|',h,'|',i,'|',j,'|',k,'|',l), CONVERT(varchar(10), m, 1), CONVERT(varchar(10), n, 1), CAST(o AS char(36)), CAST(p AS varchar(10)),
		CAST(q AS varchar(20)), CONVERT(varchar(30), r, 121), CAST(s AS varchar(30)), CONVERT(varchar(30), u, 120), CAST(v AS varchar(40)), CAST(w AS nvarchar(10)), DATALENGTH(x), y, z FROM t`)).
		To(Equal([]string{
			"1|255|-32768|9223372036854775807|-1.2346|12.35|1.5|2.5|ab   |x|é    " +
				"|日本|0x010000|0x0102|6F9619FF-8B86-D011-B42D-00C04FC964FF|2024-02-29|10:11:12.124|2024-01-01 10:00:00.007|" +
				"2024-01-01 10:00:00.001|2024-01-01 10:01:00|2024-01-01 10:00:00 +02:00|<a/>|8|1.3|-1.0000"}))
	c.exec("INSERT INTO t (id) VALUES (2)")
	g.Expect(c.one("SELECT COUNT(*) FROM t WHERE a IS NULL AND j IS NULL AND w IS NULL AND id = 2")).To(Equal(int64(1)))
	c.exec("UPDATE t SET e = e * 2, l = l + N'!' WHERE id = 1")
	g.Expect(c.rows("SELECT e, l FROM t WHERE id = 1")).To(Equal([]string{"-2.4692|日本!"}))
}

// What the stand-in lacks and has a name is refused, and not left out.
func TestRefusedByName(t *testing.T) {
	_, c := testDB(t)
	c.exec("CREATE TABLE t (a int)")
	for _, statement := range []string{"DBCC SHOWCONTIG", "DBCC OUTPUTBUFFER (1)", "SELECT * FROM fn_dblog(NULL, NULL)",
		"EXEC sp_setnetname 'a', 'b'", "SELECT ENCRYPTBYPASSPHRASE('a', 'b')",
		"CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = AES_256",
		"DECLARE @x xml = '<a/>'; SELECT @x.exist('/a instance of element()')"} {
		c.fails(40517, statement)
	}
}

func TestConstraints(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec(
		`CREATE TABLE p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY, code varchar(10) NULL CONSTRAINT uq_p UNIQUE, qty int NOT NULL CONSTRAINT df_q DEFAULT (7) CONSTRAINT ck_q CHECK (qty > 0))`,
	)
	c.exec(
		`CREATE TABLE ch (id int IDENTITY(10,5) PRIMARY KEY, pid int NULL CONSTRAINT fk_ch REFERENCES p(id) ON DELETE CASCADE, CONSTRAINT ck_t CHECK (pid <> 99))`,
	)
	c.exec("INSERT INTO p (id, code) VALUES (1, 'a'), (2, 'b')")
	g.Expect(c.one("SELECT qty FROM p WHERE id = 1")).To(Equal(int64(7)))
	c.fails(2627, "INSERT INTO p (id, code) VALUES (1, 'z')")
	c.fails(2627, "INSERT INTO p (id, code) VALUES (3, 'A')")
	c.exec("INSERT INTO p (id) VALUES (3)")
	c.fails(2627, "INSERT INTO p (id) VALUES (4)")
	c.fails(515, "INSERT INTO p (id, qty) VALUES (5, NULL)")
	c.fails(515, "INSERT INTO p (code) VALUES ('q')")
	c.fails(547, "INSERT INTO p (id, code, qty) VALUES (6, 'x', 0)")
	c.fails(547, "UPDATE p SET qty = -1 WHERE id = 1")
	c.fails(547, "INSERT INTO ch (pid) VALUES (42)")
	c.fails(547, "INSERT INTO ch (pid) VALUES (99)")
	c.exec("INSERT INTO ch (pid) VALUES (1), (1), (NULL)")
	c.fails(547, "UPDATE ch SET pid = 50 WHERE pid = 1")
	c.exec("DELETE FROM p WHERE id = 1")
	g.Expect(c.one("SELECT COUNT(*) FROM ch")).To(Equal(int64(1)))
	c.fails(3726, "DROP TABLE p")
	c.fails(2628, "INSERT INTO p (id, code) VALUES (8, 'much too long a code')")
	c.fails(544, "INSERT INTO ch (id, pid) VALUES (1, NULL)")
	c.fails(2714, "CREATE TABLE p (x int)")
	c.fails(1779, "ALTER TABLE p ADD CONSTRAINT pk2 PRIMARY KEY (code)")
	c.fails(3725, "ALTER TABLE p DROP CONSTRAINT pk_p")
	c.exec("ALTER TABLE ch DROP CONSTRAINT fk_ch")
	c.exec("ALTER TABLE p DROP CONSTRAINT pk_p")
	c.exec("INSERT INTO p (id, code) VALUES (2, 'dup')")
	c.fails(1505, "CREATE UNIQUE INDEX ix ON p (id)")
	c.exec("ALTER TABLE p NOCHECK CONSTRAINT ck_q; INSERT INTO p (id, code, qty) VALUES (9, 'neg', -1)")
	c.fails(547, "ALTER TABLE p WITH CHECK CHECK CONSTRAINT ck_q")
}

func TestIdentity(t *testing.T) {
	g := NewWithT(t)
	s, c := testDB(t)
	c.exec("CREATE TABLE t (id int IDENTITY(5,2) PRIMARY KEY, v int)")
	g.Expect(c.one("INSERT INTO t (v) VALUES (1); SELECT CAST(SCOPE_IDENTITY() AS int)")).To(Equal(int64(5)))
	g.Expect(c.rows("INSERT INTO t (v) OUTPUT inserted.id, inserted.v VALUES (2), (3)")).To(Equal([]string{"7|2", "9|3"}))
	g.Expect(c.one("SELECT CAST(@@IDENTITY AS int)")).To(Equal(int64(9)))
	c.exec("SET IDENTITY_INSERT t ON; INSERT INTO t (id, v) VALUES (101, 9); SET IDENTITY_INSERT t OFF")
	c.exec("INSERT INTO t (v) VALUES (4)")
	g.Expect(c.one("SELECT MAX(id) FROM t")).To(Equal(int64(103)))
	g.Expect(c.one("SELECT CAST(IDENT_CURRENT('t') AS int)")).To(Equal(int64(103)))
	c.exec("INSERT INTO t (v) SELECT v FROM t")
	g.Expect(c.one("SELECT COUNT(DISTINCT id) FROM t")).To(Equal(int64(10)))
	c.exec("BEGIN TRAN; INSERT INTO t (v) VALUES (5); ROLLBACK")
	before := c.one("SELECT MAX(id) FROM t").(int64)
	c.exec("INSERT INTO t (v) VALUES (6)")
	g.Expect(c.one("SELECT MAX(id) FROM t")).To(Equal(before + 4))
	c.end()
	s.stop()
	s.start()
	c = s.conn("d")
	c.exec("INSERT INTO t (v) VALUES (7)")
	g.Expect(c.one("SELECT MAX(id) FROM t")).To(Equal(before + 6))
	c.exec("DBCC CHECKIDENT ('t', RESEED, 1000)")
	c.exec("INSERT INTO t (v) VALUES (8)")
	g.Expect(c.one("SELECT MAX(id) FROM t")).To(Equal(int64(1002)))
	c.exec("TRUNCATE TABLE t; INSERT INTO t (v) VALUES (8)")
	g.Expect(c.one("SELECT id FROM t")).To(Equal(int64(5)))
}

func TestQueries(t *testing.T) {
	_, c := testDB(t)
	c.exec(
		"CREATE TABLE a (id int PRIMARY KEY, name varchar(10), grp int, price decimal(9,2)); CREATE TABLE b (id int " +
			"PRIMARY KEY, aid int, note nvarchar(20))",
	)
	c.exec(
		"INSERT INTO a VALUES (1,'one',1,1.50),(2,'two',1,2.50),(3,'three',2,3.00),(4,'four',NULL,NULL); INSERT INTO b " +
			"VALUES (1,1,'x'),(2,1,'y'),(3,3,'z'),(4,9,'w')",
	)
	c.exec("CREATE VIEW v AS SELECT grp, SUM(price) AS total, COUNT(*) AS n FROM a GROUP BY grp")
	for _, q := range []struct {
		text string
		want []string
	}{
		{"SELECT a.name, b.note FROM a JOIN b ON b.aid = a.id ORDER BY b.id", []string{"one|x", "one|y", "three|z"}},
		{"SELECT a.name, b.note FROM a LEFT JOIN b ON b.aid = a.id WHERE b.id IS NULL ORDER BY a.id",
			[]string{"two|<nil>", "four|<nil>"}},
		{"SELECT a.name, b.note FROM a FULL JOIN b ON b.aid = a.id WHERE a.id IS NULL", []string{"<nil>|w"}},
		{"SELECT grp, COUNT(*), SUM(price), AVG(price), MIN(name), MAX(name) FROM a GROUP BY grp ORDER BY grp",
			[]string{"<nil>|1|<nil>|<nil>|four|four", "1|2|4.00|2.000000|one|two", "2|1|3.00|3.000000|three|three"}},
		{"SELECT grp FROM a GROUP BY grp HAVING COUNT(*) > 1", []string{"1"}},
		{"SELECT TOP 2 name FROM a ORDER BY price DESC", []string{"three", "two"}},
		{"SELECT TOP (50) PERCENT id FROM a ORDER BY id", []string{"1", "2"}},
		{"SELECT id FROM a ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", []string{"2", "3"}},
		{"SELECT DISTINCT grp FROM a WHERE grp IS NOT NULL ORDER BY grp DESC", []string{"2", "1"}},
		{"SELECT name FROM a WHERE id IN (SELECT aid FROM b) ORDER BY name", []string{"one", "three"}},
		{"SELECT name FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.aid = a.id AND b.note = N'Z')", []string{"three"}},
		{"SELECT name, (SELECT COUNT(*) FROM b WHERE b.aid = a.id) AS n FROM a ORDER BY n DESC, name",
			[]string{"one|2", "three|1", "four|0", "two|0"}},
		{"WITH c AS (SELECT id, name FROM a WHERE grp = 1) SELECT c.name FROM c JOIN b ON b.aid = c.id ORDER BY b.id",
			[]string{"one", "one"}},
		{"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n", []string{"1", "2", "3", "4"}},
		{"SELECT id FROM a UNION SELECT aid FROM b ORDER BY 1", []string{"1", "2", "3", "4", "9"}},
		{"SELECT id FROM a EXCEPT SELECT aid FROM b", []string{"2", "4"}},
		{"SELECT id FROM a INTERSECT SELECT aid FROM b", []string{"1", "3"}},
		{"SELECT id, ROW_NUMBER() OVER (PARTITION BY grp ORDER BY id DESC) FROM a WHERE grp = 1 ORDER BY id",
			[]string{"1|2", "2|1"}},
		{"SELECT id, SUM(price) OVER (ORDER BY id) FROM a WHERE price IS NOT NULL", []string{"1|1.50", "2|4.00", "3|7.00"}},
		{"SELECT id, LAG(id, 1, 0) OVER (ORDER BY id) FROM a", []string{"1|0", "2|1", "3|2", "4|3"}},
		{"SELECT * FROM (VALUES (1, N'x'), (2, N'y')) v(n, t)", []string{"1|x", "2|y"}},
		{"SELECT total, n FROM v WHERE grp = 1", []string{"4.00|2"}},
		{"SELECT x.name FROM (SELECT name, id FROM a) x WHERE x.id = 2", []string{"two"}},
		{"SELECT value FROM STRING_SPLIT('a,b', ',')", []string{"a", "b"}},
		{"SELECT COUNT(DISTINCT grp), COUNT(grp), COUNT(*) FROM a", []string{"2|3|4"}},
		{"SELECT CASE WHEN grp IS NULL THEN 'none' ELSE CAST(grp AS varchar(5)) END FROM a ORDER BY id",
			[]string{"1", "1", "2", "none"}},
		{"SELECT name FROM d.dbo.a WHERE id = 1", []string{"one"}},
		{"SELECT dbo.a.name FROM dbo.a WHERE dbo.a.id = 1", []string{"one"}},
		{"SELECT name AS n FROM a ORDER BY n", []string{"four", "one", "three", "two"}},
		{"SELECT grp + 1 AS g, COUNT(*) FROM a WHERE grp IS NOT NULL GROUP BY grp + 1 ORDER BY g", []string{"2|2", "3|1"}},
		{"SELECT STDEV(price) FROM a WHERE id < 3", []string{"0.7071067811865476"}},
	} {
		got := c.rows(q.text)
		if len(got) != len(q.want) {
			t.Errorf("%s\nwant %q, got %q", q.text, q.want, got)
			continue
		}
		for i := range got {
			if got[i] != q.want[i] {
				t.Errorf("%s\nwant %q, got %q", q.text, q.want, got)
				break
			}
		}
	}
}

func TestChanges(t *testing.T) {
	g := NewWithT(t)
	_, c := testDB(t)
	c.exec("CREATE TABLE a (id int PRIMARY KEY, v int, n varchar(10)); CREATE TABLE b (id int PRIMARY KEY, v int)")
	c.exec("INSERT a VALUES (1,1,'a'),(2,2,'b'),(3,3,'c'); INSERT INTO b SELECT id, v * 10 FROM a")
	c.exec("UPDATE a SET v = b.v FROM a JOIN b ON b.id = a.id WHERE a.id > 1")
	g.Expect(c.rows("SELECT v FROM a ORDER BY id")).To(Equal([]string{"1", "20", "30"}))
	c.exec("UPDATE x SET v += 1 FROM a AS x WHERE x.id = 1")
	g.Expect(c.rows("UPDATE a SET v = v + 1 OUTPUT deleted.v, inserted.v, inserted.n WHERE id < 3")).
		To(Equal([]string{"2|3|a", "20|21|b"}))
	g.Expect(c.rows("UPDATE TOP (1) a SET v = 0 OUTPUT inserted.id WHERE v > 0")).To(HaveLen(1))
	g.Expect(c.rows("DELETE FROM a OUTPUT deleted.id WHERE id = 2")).To(Equal([]string{"2"}))
	c.exec("DELETE a FROM a JOIN b ON b.id = a.id WHERE b.v = 30")
	g.Expect(c.rows("SELECT id FROM a")).To(Equal([]string{"1"}))
	c.exec(
		"DECLARE @t TABLE (id int, v int); INSERT INTO b OUTPUT inserted.id, inserted.v INTO @t VALUES (50, 5); INSERT " +
			"INTO a (id, v) SELECT id, v FROM @t",
	)
	g.Expect(c.one("SELECT v FROM a WHERE id = 50")).To(Equal(int64(5)))
	c.exec("SELECT id, v INTO c FROM b")
	g.Expect(c.one("SELECT COUNT(*) FROM c")).To(Equal(int64(4)))
	r, err := c.ExecContext(t.Context(), "UPDATE c SET v = v")
	g.Expect(err).NotTo(HaveOccurred())
	n, _ := r.RowsAffected()
	g.Expect(n).To(Equal(int64(4)))
	c.fails(8102, "CREATE TABLE i (id int IDENTITY, v int); UPDATE i SET id = 5")
	c.fails(213, "INSERT INTO c VALUES (1)")
	c.fails(109, "INSERT INTO c (id, v) VALUES (1)")
	c.fails(264, "UPDATE c SET v = 1, v = 2")
}

func TestTemporaryTables(t *testing.T) {
	g := NewWithT(t)
	s, c := testDB(t)
	c.exec("CREATE TABLE a (id int, v varchar(10)); INSERT INTO a VALUES (1, 'x'), (2, 'y')")
	c.exec("CREATE TABLE #t (id int IDENTITY PRIMARY KEY, aid int, v varchar(10))")
	c.exec("INSERT INTO #t (aid, v) SELECT id, v FROM a")
	g.Expect(c.rows("SELECT t.id, a.v FROM #t t JOIN a ON a.id = t.aid ORDER BY t.id")).To(Equal([]string{"1|x", "2|y"}))
	c.exec("UPDATE a SET v = t.v + '!' FROM a JOIN #t t ON t.aid = a.id")
	g.Expect(c.rows("SELECT v FROM a ORDER BY id")).To(Equal([]string{"x!", "y!"}))
	c.exec("SELECT * INTO #u FROM a")
	g.Expect(c.one("SELECT COUNT(*) FROM #u")).To(Equal(int64(2)))
	s.conn("d").fails(208, "SELECT * FROM #t")
	c.exec("DROP TABLE #t")
	c.fails(208, "SELECT * FROM #t")
}

// TestConsoleCommandsThatLookAround: what DBCC shows of logs and sessions (docs/t-sql/database-console-commands).
func TestConsoleCommandsThatLookAround(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	c := s.conn("master")
	c.exec("CREATE DATABASE Ledger")
	logs := c.rows("DBCC SQLPERF(LOGSPACE) WITH NO_INFOMSGS")
	names := []string{}
	for _, row := range logs {
		parts := strings.Split(row, "|")
		g.Expect(parts).To(HaveLen(4))
		size, err := strconv.ParseFloat(parts[1], 64)
		g.Expect(err).NotTo(HaveOccurred())
		used, err := strconv.ParseFloat(parts[2], 64)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(size > 0).To(Equal(parts[0] != "tempdb"), row) // which keeps no log
		g.Expect(used).To(And(BeNumerically(">=", 0), BeNumerically("<=", 100)), row)
		g.Expect(parts[3]).To(Equal("0"))
		names = append(names, parts[0])
	}
	g.Expect(names).To(ContainElements("master", "tempdb", "model", "msdb", "Ledger"))

	other := s.conn("master")
	spid := fmt.Sprint(other.one("SELECT @@SPID"))
	g.Expect(c.rows("DBCC INPUTBUFFER(" + spid + ")")).To(Equal([]string{"Language Event|0|SELECT @@SPID"}))
	c.fails(7955, "DBCC INPUTBUFFER(32000)")
	c.fails(2583, "DBCC INPUTBUFFER")

	c.fails(11700, "CREATE SEQUENCE dbo.Still INCREMENT BY 0")
	c.fails(11705, "CREATE SEQUENCE dbo.Narrow MINVALUE 5 MAXVALUE 5")
	c.fails(11703, "CREATE SEQUENCE dbo.Early START WITH 1 MINVALUE 2")
}

// TestWhetherAnApplicationLockIsFree asks for locks that it holds itself, and for those of another session.
func TestWhetherAnApplicationLockIsFree(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	c, other := s.conn("master"), s.conn("master")
	c.exec("EXEC sp_getapplock 'Form', 'Shared', 'Session'")
	for mode, free := range map[string]any{"Shared": int64(1), "INTENTSHARED": int64(1), "Exclusive": int64(0),
		"IntentExclusive": int64(0)} {
		g.Expect(other.one("SELECT APPLOCK_TEST('public', 'Form', @p1, 'Session')", mode)).To(Equal(free), mode)
	}
	g.Expect(c.one("SELECT APPLOCK_TEST('public', 'Form', 'Exclusive', 'Session')")).To(Equal(int64(1)))
	g.Expect(other.one("SELECT APPLOCK_TEST('public', 'Another', 'Exclusive', 'Session')")).To(Equal(int64(1)))
}
