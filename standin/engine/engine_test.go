// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/backup"
	"geosql.dev/standin/bulk"
	"geosql.dev/standin/catalogview"
	"geosql.dev/standin/dbcc"
	"geosql.dev/standin/ddl"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/partition"
	"geosql.dev/standin/tds"
)

// server is an engine behind the protocol.
type server struct {
	t      testing.TB
	config engine.Config
	inst   *engine.Instance
	tds    *tds.Server
	addr   string
}

func newServer(t testing.TB, change ...func(*engine.Config)) *server {
	t.Helper()
	s := &server{
		t: t,
		config: engine.Config{
			ServerName: "TESTSERVER",
			DataDir:    t.TempDir(),
			SAPassword: "Str0ng!pass",
			Extensions: []engine.Extension{catalogview.Extension{}, backup.Extension{}, bulk.Extension{}, dbcc.Extension{},
				ddl.Extension{}, partition.Extension{}},
		},
	}
	for _, f := range change {
		f(&s.config)
	}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *server) start() {
	s.t.Helper()
	g := NewWithT(s.t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	s.addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	s.config.Port, _ = strconv.Atoi(port)
	s.inst, err = engine.New(context.Background(), s.config)
	g.Expect(err).NotTo(HaveOccurred())
	s.tds, err = tds.NewServer(tds.Config{Backend: s.inst, Log: s.t.Logf})
	g.Expect(err).NotTo(HaveOccurred())
	go s.tds.Serve(l)
}

func (s *server) stop() {
	if s.inst == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = s.tds.Shutdown(ctx)
	if err := s.inst.Close(); err != nil {
		s.t.Errorf("close the engine: %v", err)
	}
	s.inst = nil
}

func (s *server) open(database string) *sql.DB {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(s.addr)
	db, err := sql.Open(
		"sqlserver",
		fmt.Sprintf("sqlserver://sa:Str0ng%%21pass@%s:%s?database=%s&encrypt=disable&dial+timeout=5", host, port, database),
	)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { db.Close() })
	return db
}

// Whatever tells of the engine's build tells of the one that it is started as.
func TestTheBuildThatItIsStartedAs(t *testing.T) {
	for version, want := range map[string][]string{
		"":            {"16.0.4000.0", "16", "0", "4000", "1", "268439456"},
		"16.0.4135.4": {"16.0.4135.4", "16", "0", "4135", "1", "268439591"},
		"15.0.4430.1": {"15.0.4430.1", "15", "0", "4430", "1", "251662670"},
	} {
		s := newServer(t, func(c *engine.Config) { c.Version = version })
		var got [6]string
		NewWithT(t).Expect(s.open("master").QueryRowContext(t.Context(), `SELECT
			CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('ProductMajorVersion') AS nvarchar(128)),
			CAST(SERVERPROPERTY('ProductMinorVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('ProductBuild') AS nvarchar(128)),
			CHARINDEX(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), @@VERSION) - CHARINDEX('- ', @@VERSION) - 1,
			@@MICROSOFTVERSION`).Scan(&got[0], &got[1], &got[2], &got[3], &got[4], &got[5])).To(Succeed())
		NewWithT(t).Expect(got[:]).To(Equal(want))
	}
}

// conn is one connection with short ways to say things.
type conn struct {
	*sql.Conn
	t  testing.TB
	db *sql.DB
}

// end closes the connection itself, not only the use of a pooled one.
func (c *conn) end() {
	c.Close()
	c.db.Close()
}

func (s *server) conn(database string) *conn {
	s.t.Helper()
	db := s.open(database)
	c, err := db.Conn(context.Background())
	if err != nil {
		s.t.Fatalf("connect: %v", err)
	}
	s.t.Cleanup(func() { c.Close() })
	return &conn{c, s.t, db}
}

func (c *conn) exec(text string, args ...any) {
	c.t.Helper()
	if _, err := c.ExecContext(context.Background(), text, args...); err != nil {
		c.t.Fatalf("%s\n%v", text, err)
	}
}

// fails expects the SQL Server error of that number.
func (c *conn) fails(number int32, text string, args ...any) {
	c.t.Helper()
	_, err := c.ExecContext(context.Background(), text, args...)
	var e mssql.Error
	if !errors.As(err, &e) {
		c.t.Errorf("%s\nwants error %d, got %v", text, number, err)
		return
	}
	for _, one := range e.All {
		if one.Number == number {
			return
		}
	}
	c.t.Errorf("%s\nwants error %d, got %d: %s", text, number, e.Number, e.Message)
}

// one is the single value of a query.
func (c *conn) one(text string, args ...any) any {
	c.t.Helper()
	var v any
	if err := c.QueryRowContext(context.Background(), text, args...).Scan(&v); err != nil {
		c.t.Fatalf("%s\n%v", text, err)
	}
	switch x := v.(type) {
	case []byte:
		return string(x)
	case time.Time:
		return x.UTC().Format("2006-01-02 15:04:05.9999999")
	}
	return v
}

// rows is a query's result as text, one string per row.
func (c *conn) rows(text string, args ...any) []string {
	c.t.Helper()
	r, err := c.QueryContext(context.Background(), text, args...)
	if err != nil {
		c.t.Fatalf("%s\n%v", text, err)
	}
	defer r.Close()
	cols, _ := r.Columns()
	var out []string
	for r.Next() {
		values := make([]any, len(cols))
		for i := range values {
			values[i] = new(any)
		}
		if err := r.Scan(values...); err != nil {
			c.t.Fatalf("%s\n%v", text, err)
		}
		line := ""
		for i, v := range values {
			if i > 0 {
				line += "|"
			}
			x := *(v.(*any))
			if b, ok := x.([]byte); ok {
				x = string(b)
			}
			line += fmt.Sprint(x)
		}
		out = append(out, line)
	}
	if err := r.Err(); err != nil {
		c.t.Fatalf("%s\n%v", text, err)
	}
	return out
}

func TestSelectAndInsertOverTheProtocol(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	c := s.conn("master")
	g.Expect(c.one("SELECT 1")).To(Equal(int64(1)))
	c.exec("CREATE DATABASE d")
	c = s.conn("d")
	c.exec(
		"CREATE TABLE t (id int IDENTITY PRIMARY KEY, name nvarchar(20) NOT NULL, price decimal(10,2) NULL, at datetime2 " +
			"DEFAULT SYSDATETIME())",
	)
	c.exec("INSERT INTO t (name, price) VALUES (@p1, @p2), (N'b', 2.5)", "a", "12.345")
	g.Expect(c.rows("SELECT id, name, price FROM t ORDER BY id")).To(Equal([]string{"1|a|12.35", "2|b|2.50"}))
	g.Expect(c.one("SELECT COUNT(*) FROM t WHERE NAME = N'A '")).To(Equal(int64(1)))
	g.Expect(c.one("SELECT SUM(price) FROM t")).To(Equal("14.85"))
}

// A file of tempdb moves with the next start: until then sys.master_files says where it will be and the database itself
// where it is.
func TestTempDBMovesWithTheNextStart(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	elsewhere := t.TempDir()
	paths := func(view string) map[string]string {
		rows, err := s.open("tempdb").Query("SELECT name, physical_name FROM " + view)
		g.Expect(err).NotTo(HaveOccurred())
		defer rows.Close()
		found := map[string]string{}
		for rows.Next() {
			var name, path string
			g.Expect(rows.Scan(&name, &path)).To(Succeed())
			found[name] = path
		}
		g.Expect(rows.Err()).NotTo(HaveOccurred())
		return found
	}
	master := "sys.master_files WHERE database_id = 2"
	before := paths(master)
	moved := map[string]string{"tempdev": elsewhere + "/tempdb.mdf", "templog": elsewhere + "/templog.ldf"}
	for name, path := range moved {
		_, err := s.open("master").
			Exec(fmt.Sprintf("ALTER DATABASE tempdb MODIFY FILE (NAME = %s, FILENAME = '%s')", name, path))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(paths(master)).To(Equal(moved))
	g.Expect(paths("sys.database_files")).To(Equal(before))
	for range 2 {
		s.stop()
		s.start()
		g.Expect(paths(master)).To(Equal(moved))
		g.Expect(paths("sys.database_files")).To(Equal(moved))
		g.Expect(elsewhere + "/tempdb.mdf").To(BeAnExistingFile())
		_, err := s.open("tempdb").Exec("CREATE TABLE #t (v int); INSERT #t VALUES (1)")
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// A folder that is gone stops the start; tempdb is not made somewhere else.
func TestTempDBNeedsItsFolder(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	_, err := s.open("master").
		Exec("ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, FILENAME = '/nowhere/at-all/tempdb.mdf')")
	g.Expect(err).NotTo(HaveOccurred())
	s.stop()
	_, err = engine.New(t.Context(), s.config)
	g.Expect(err).To(MatchError(ContainSubstring("/nowhere/at-all/tempdb.mdf")))
}

// Outside a container the instance's root stands for its volumes.
func TestVolumesOfAnInstanceWithARoot(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	s := newServer(t, func(c *engine.Config) { c.Root, c.DataDir = root, root+"/data" })
	_, err := s.open("master").
		Exec("ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, FILENAME = '/var/opt/mssql-tempdb/tempdb.mdf')")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.open("master").
		Exec("ALTER DATABASE tempdb ADD FILE (NAME = temp2, FILENAME = '/var/opt/mssql-tempdb/2.ndf')")
	g.Expect(err).NotTo(HaveOccurred())
	s.stop()
	s.start()
	var path string
	g.Expect(s.open("tempdb").QueryRow("SELECT physical_name FROM sys.database_files WHERE name = 'tempdev'").Scan(&path)).
		To(Succeed())
	g.Expect(path).To(Equal("/var/opt/mssql-tempdb/tempdb.mdf"))
	g.Expect(root + "/mounts/tempdb/tempdb.mdf").To(BeAnExistingFile())
}
