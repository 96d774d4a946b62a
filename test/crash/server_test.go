// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

const (
	password = "Cr4sh-And-Burn"
	// within bounds what takes a second on an idle machine.
	within = 2 * time.Minute
)

// binary is the stand-in, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make directory:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "sqlservr")
	if out, err := exec.Command("go", "build", "-o", binary, "geosql.dev/operator/cmd/standin").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the stand-in: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is a stand-in process on a folder.
type server struct {
	root, address, output string
	cmd                   *exec.Cmd
	exited                chan struct{}
}

var listening = regexp.MustCompile(`Server is listening on \[ \S+ <\w+> (\d+)\]`)

// start starts the process; Eventually ready, it serves.
func (s *server) start(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	s.output = filepath.Join(s.root, "..", "output")
	out, err := os.Create(s.output)
	g.Expect(err).NotTo(HaveOccurred())
	defer out.Close()
	s.cmd = exec.Command(binary, "--root", s.root, "--server-name", "CRASH")
	s.cmd.Env = []string{"ACCEPT_EULA=Y", "MSSQL_SA_PASSWORD=" + password, "MSSQL_TCP_PORT=0", "MSSQL_IP_ADDRESS=127.0.0.1", "MSSQL_MEMORY_LIMIT_MB=256"}
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd, started, exited := s.cmd, make(chan error), make(chan struct{})
	s.exited = exited
	go func() {
		// The kernel sends Pdeathsig when the thread ends that started the process.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	g.Expect(<-started).To(Succeed())
	g.Eventually(func() bool {
		text := s.log()
		port := listening.FindStringSubmatch(text)
		if port == nil || !strings.Contains(text, "is now ready for client connections") {
			return false
		}
		s.address = "127.0.0.1:" + port[1]
		return true
	}, within, "2ms").Should(BeTrue(), s.log)
}

func (s *server) log() string {
	text, _ := os.ReadFile(s.output)
	return string(text)
}

func (s *server) kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.exited
}

func (s *server) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", password), Host: s.address,
		RawQuery: url.Values{"database": {database}, "encrypt": {"disable"}, "dial timeout": {"60"}}.Encode()}
	db, err := sql.Open("sqlserver", u.String())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return db
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{root: filepath.Join(t.TempDir(), "root")}
	NewWithT(t).Expect(os.MkdirAll(s.root, 0o755)).To(Succeed())
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
		if t.Failed() {
			t.Log(s.log())
		}
	})
	s.start(t)
	return s
}

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
					if _, err := db.Exec(`BEGIN TRANSACTION; INSERT INTO a VALUES (@p1, 'no'); UPDATE total SET n = n + 1; ROLLBACK`, -n); err != nil {
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
		g.Expect(rows.Scan(&a, &b)).To(Succeed())
		g.Expect(a).To(Equal(b), "half a transaction")
		g.Expect(a.Int64).To(BeNumerically(">", 0), "rolled back, but there")
		found[int(a.Int64)] = true
	}
	g.Expect(rows.Err()).NotTo(HaveOccurred())
	var counted int
	g.Expect(db.QueryRow("SELECT n FROM total").Scan(&counted)).To(Succeed())
	g.Expect(counted).To(Equal(len(found)), "half a transaction")
	for n := range l.acknowledged {
		g.Expect(found).To(HaveKey(n), "acknowledged transaction %d is lost", n)
	}
	return counted
}

// The process is killed at random moments while clients write: nothing acknowledged is lost, nothing is there by half.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := newRandom(t)
	s := newServer(t)
	admin := s.open(t, "master")
	_, err := admin.Exec("CREATE DATABASE crash")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(admin.Close()).To(Succeed())
	db := s.open(t, "crash")
	for _, text := range []string{"CREATE TABLE a (id int PRIMARY KEY, filler varchar(3000))", "CREATE TABLE b (id int PRIMARY KEY)", "CREATE TABLE total (n int)", "INSERT INTO total VALUES (0)"} {
		_, err := db.Exec(text)
		g.Expect(err).NotTo(HaveOccurred())
	}
	l := &load{acknowledged: map[int]bool{}}
	there, begun := 0, time.Now()
	for range rounds() {
		before := l.count()
		work := l.write(db, 6)
		g.Eventually(l.count, within, "1ms").Should(BeNumerically(">", before+random.IntN(80)))
		s.kill()
		work.Wait()
		g.Expect(db.Close()).To(Succeed())
		s.start(t)
		db = s.open(t, "crash")
		there = l.judge(t, db)
	}
	g.Expect(db.Close()).To(Succeed())
	t.Logf("%d rounds in %v: %d transactions acknowledged, %d there", rounds(), time.Since(begun).Round(time.Second), l.count(), there)
}

// Bits are flipped in the files of a server that is stopped: its clients are told so, with the documented numbers.
func TestServerReportsDamage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	admin := s.open(t, "master")
	for _, name := range []string{"page", "log"} {
		_, err := admin.Exec("CREATE DATABASE " + name)
		g.Expect(err).NotTo(HaveOccurred())
		db := s.open(t, name)
		for _, text := range []string{"CREATE TABLE t (id int PRIMARY KEY, v varchar(8000))", "INSERT INTO t VALUES (1, REPLICATE('x', 8000))", "INSERT INTO t VALUES (2, REPLICATE('y', 8000))"} {
			_, err := db.Exec(text)
			g.Expect(err).NotTo(HaveOccurred())
		}
		g.Expect(db.Close()).To(Succeed())
	}
	g.Expect(admin.Close()).To(Succeed())
	g.Expect(s.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(s.exited, within).Should(BeClosed())
	flip := func(pattern, text string) {
		paths, err := filepath.Glob(filepath.Join(s.root, pattern))
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
	s.start(t)
	db := s.open(t, "page")
	defer db.Close()
	var v string
	g.Expect(db.QueryRow("SELECT v FROM t WHERE id = 1").Scan(&v)).To(Succeed(), "other pages are read")
	_, err := db.Exec("SELECT v FROM t WHERE id = 2")
	var e mssql.Error
	g.Expect(errors.As(err, &e)).To(BeTrue(), "%v", err)
	g.Expect(e.Number).To(Equal(int32(824)))
	g.Expect(e.Message).To(And(ContainSubstring("logical consistency-based I/O error: incorrect checksum"), ContainSubstring("page.mdf")))

	admin = s.open(t, "master")
	defer admin.Close()
	var state string
	g.Expect(admin.QueryRow("SELECT state_desc FROM sys.databases WHERE name = 'log'").Scan(&state)).To(Succeed())
	g.Expect(state).To(Equal("SUSPECT"))
	_, err = admin.Exec("USE log")
	g.Expect(err).To(MatchError(ContainSubstring("marked SUSPECT")))
	g.Expect(s.log()).To(ContainSubstring("is damaged at"))
}
