// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/standin/test/process"
)

// binary is the stand-in, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &binary)) }

// load is what clients were told.
type load struct {
	mu           sync.Mutex
	next         int
	acknowledged map[int]bool
}

// write has clients commit transactions until the server is gone. Each inserts into two tables and counts itself.
func (l *load) write(db *sql.DB, clients int) *sync.WaitGroup {
	var work sync.WaitGroup
	for range clients {
		work.Go(func() {
			for {
				l.mu.Lock()
				l.next++
				n := l.next
				l.mu.Unlock()
				if n%11 == 0 {
					// Rolled back, at once or by the end of the connection.
					if _, err := db.Exec(`BEGIN TRANSACTION; INSERT INTO a VALUES (@p1, 'no'); UPDATE total SET n = n + 1; ROLLBACK`,
						-n); err != nil {
						return
					}
				}
				if _, err := db.Exec(`SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT INTO a VALUES (@p1, REPLICATE('x', @p1 % 3000));
					UPDATE total SET n = n + 1; INSERT INTO b VALUES (@p1); COMMIT`, n); err != nil {
					return
				}
				l.mu.Lock()
				l.acknowledged[n] = true
				l.mu.Unlock()
			}
		})
	}
	return &work
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// judge compares what a server has with what was acknowledged, and returns how many transactions there are.
func (l *load) judge(t *testing.T, db *sql.DB) int {
	t.Helper()
	g := NewWithT(t)
	rows, err := db.Query("SELECT a.id, b.id FROM a FULL JOIN b ON a.id = b.id")
	g.Expect(err).NotTo(HaveOccurred())
	defer rows.Close()
	found := map[int]bool{}
	for rows.Next() {
		var a, b sql.NullInt64
		if err := rows.Scan(&a, &b); err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Fatalf("half a transaction: %v in a, %v in b", a, b)
		}
		if a.Int64 <= 0 {
			t.Fatalf("%d was rolled back, but is there", a.Int64)
		}
		found[int(a.Int64)] = true
	}
	g.Expect(rows.Err()).NotTo(HaveOccurred())
	var counted int
	g.Expect(db.QueryRow("SELECT n FROM total").Scan(&counted)).To(Succeed())
	g.Expect(counted).To(Equal(len(found)), "half a transaction")
	// Not HaveKey, which looks at all keys for each.
	var lost []int
	for n := range l.acknowledged {
		if !found[n] {
			lost = append(lost, n)
		}
	}
	g.Expect(lost).To(BeEmpty(), "acknowledged transactions are lost")
	return counted
}

// The process is killed at random moments while clients write: nothing acknowledged is lost, nothing is there by half.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := newRandom(t)
	s := process.New(t, binary)
	admin := s.Open(t, "master")
	_, err := admin.Exec("CREATE DATABASE crash")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(admin.Close()).To(Succeed())
	db := s.Open(t, "crash")
	for _, text := range []string{"CREATE TABLE a (id int PRIMARY KEY, filler varchar(3000))",
		"CREATE TABLE b (id int PRIMARY KEY)", "CREATE TABLE total (n int)", "INSERT INTO total VALUES (0)"} {
		_, err := db.Exec(text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	l := &load{acknowledged: map[int]bool{}}
	there, begun := 0, time.Now()
	for range rounds() {
		before := l.count()
		work := l.write(db, 6)
		g.Eventually(l.count, process.Within, "1ms").Should(BeNumerically(">", before+random.IntN(80)))
		s.Kill()
		work.Wait()
		g.Expect(db.Close()).To(Succeed())
		s.Start(t)
		db = s.Open(t, "crash")
		there = l.judge(t, db)
	}
	g.Expect(db.Close()).To(Succeed())
	t.Logf(
		"%d rounds in %v: %d transactions acknowledged, %d there",
		rounds(),
		time.Since(begun).Round(time.Second),
		l.count(),
		there,
	)
}

// Bits are flipped in the files of a server that is stopped: its clients are told so, with the documented numbers.
func TestServerReportsDamage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := process.New(t, binary)
	admin := s.Open(t, "master")
	for _, name := range []string{"page", "log"} {
		_, err := admin.Exec("CREATE DATABASE " + name)
		g.Expect(err).NotTo(HaveOccurred())
		db := s.Open(t, name)
		for _, text := range []string{"CREATE TABLE t (id int PRIMARY KEY, v varchar(8000))",
			"INSERT INTO t VALUES (1, REPLICATE('x', 8000))", "INSERT INTO t VALUES (2, REPLICATE('y', 8000))"} {
			_, err := db.Exec(text)
			g.Expect(err).NotTo(HaveOccurred())
		}
		g.Expect(db.Close()).To(Succeed())
	}
	g.Expect(admin.Close()).To(Succeed())
	s.Stop(t)
	flip := func(pattern, text string) {
		paths, err := filepath.Glob(filepath.Join(s.Root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(paths).NotTo(BeEmpty(), pattern)
		path := paths[len(paths)-1]
		content, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		at := strings.Index(string(content), text)
		g.Expect(at).To(BeNumerically(">", 0))
		content[at+50] ^= 1
		g.Expect(os.WriteFile(path, content, 0o640)).To(Succeed())
	}
	flip("data/page.mdf", strings.Repeat("y", 100))
	flip("data/log_log.ldf/*.vlf", strings.Repeat("y", 100))
	s.Start(t)
	db := s.Open(t, "page")
	defer db.Close()
	var v string
	g.Expect(db.QueryRow("SELECT v FROM t WHERE id = 1").Scan(&v)).To(Succeed(), "other pages are read")
	_, err := db.Exec("SELECT v FROM t WHERE id = 2")
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(824)))
	g.Expect(e.Message).
		To(And(ContainSubstring("logical consistency-based I/O error: incorrect checksum"), ContainSubstring("page.mdf")))

	admin = s.Open(t, "master")
	defer admin.Close()
	var state string
	g.Expect(admin.QueryRow("SELECT state_desc FROM sys.databases WHERE name = 'log'").Scan(&state)).To(Succeed())
	g.Expect(state).To(Equal("SUSPECT"))
	_, err = admin.Exec("USE log")
	g.Expect(err).To(MatchError(ContainSubstring("marked SUSPECT")))
	g.Expect(s.Output()).To(ContainSubstring("is damaged at"))
}
