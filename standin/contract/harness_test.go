// SPDX-License-Identifier: Apache-2.0

// Package contract_test is the contract suite: how a server behaves, seen through TDS alone. It runs against a server
// given by address (GEOSQL_CONTRACT_SERVER=host:port, GEOSQL_CONTRACT_USER, GEOSQL_CONTRACT_PASSWORD), of whatever
// make, or starts stand-in processes itself.
package contract_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
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

	testlink "geosql.dev/standin/test/link"
)

const (
	saPassword = "C0ntract-Suite"
	// patient bounds the waits for what must come about. They end when it has; how long that takes on a machine with other
	// work says nothing of the server.
	patient = 2 * time.Minute
	// grace is what Kubernetes leaves a pod after SIGTERM unless it says otherwise (terminationGracePeriodSeconds).
	grace = 30 * time.Second
)

// instance is a server under test. Those given by address have no process.
type instance struct {
	address, user, password string

	root, name string
	args, env  []string
	credential *syscall.Credential
	// host is where it listens, 127.0.0.1 unless given, and link the one beyond which that is; nil is none.
	host   string
	link   *testlink.Link
	cmd    *exec.Cmd
	output *safeBuffer
	exited chan struct{}
}

// safeBuffer takes a process's output while tests read it.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

var (
	binary string // the stand-in, built once
	shared *instance
)

func TestMain(m *testing.M) { os.Exit(runSuite(m)) }

func runSuite(m *testing.M) int {
	if err := recorded.open(); err != nil {
		fmt.Fprintln(os.Stderr, "open the transcript:", err)
		return 1
	}
	if address := os.Getenv("GEOSQL_CONTRACT_SERVER"); address != "" {
		shared = &instance{
			address:  address,
			user:     os.Getenv("GEOSQL_CONTRACT_USER"),
			password: os.Getenv("GEOSQL_CONTRACT_PASSWORD"),
		}
		if shared.user == "" {
			shared.user = "sa"
		}
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "contract")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make directory:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "sqlservr")
	if err := placeBinary(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = &instance{
		user:     "sa",
		password: saPassword,
		root:     filepath.Join(dir, "shared"),
		name:     "CONTRACT",
		env:      append(standardEnvironment(), "MSSQL_ENABLE_HADR=1"),
	}
	if err := shared.launch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	shared.signal(syscall.SIGTERM)
	<-shared.exited
	return code
}

// binaryVariable names an environment variable with the path of the stand-in's binary.
const binaryVariable = "GEOSQL_STANDIN"

// placeBinary builds the stand-in, or copies the one that the environment names to where any user may run it.
func placeBinary() error {
	if made := os.Getenv(binaryVariable); made != "" {
		program, err := os.ReadFile(made)
		if err == nil {
			err = os.WriteFile(binary, program, 0o755)
		}
		if err != nil {
			return fmt.Errorf("copy the stand-in that GEOSQL_STANDIN names: %w", err)
		}
		return nil
	}
	if out, err := exec.Command("go", "build", "-o", binary,
		"geosql.dev/standin/cmd/standin").CombinedOutput(); err != nil {
		return fmt.Errorf("build the stand-in: %w\n%s", err, out)
	}
	return nil
}

func standardEnvironment() []string {
	return []string{
		"ACCEPT_EULA=Y",
		"MSSQL_SA_PASSWORD=" + saPassword,
		"MSSQL_TCP_PORT=0",
		"MSSQL_IP_ADDRESS=127.0.0.1",
		"MSSQL_MEMORY_LIMIT_MB=256",
	}
}

// ownProcess skips tests that must start and kill processes when the server is somebody else's.
func ownProcess(t *testing.T) {
	t.Helper()
	if binary == "" || os.Getenv("GEOSQL_CONTRACT_TRANSCRIPT") != "" {
		t.Skip("needs server processes of its own, which it starts, kills and looks into")
	}
}

// newInstance starts a stand-in process with an empty root, stopped when the test ends. options are NAME=value for the
// environment or arguments beginning with a dash.
func newInstance(t *testing.T, options ...string) *instance {
	t.Helper()
	i := prepareInstance(t, options...)
	NewWithT(t).Expect(i.launch()).To(Succeed())
	return i
}

// prepareInstance is newInstance without the start.
func prepareInstance(t *testing.T, options ...string) *instance {
	t.Helper()
	ownProcess(t)
	// Go's test cache asks again for variables that tests have asked for, not for those that TestMain has.
	_ = os.Getenv(binaryVariable)
	i := &instance{user: "sa", password: saPassword, root: t.TempDir(), name: "CONTRACT2", env: standardEnvironment()}
	for _, o := range options {
		if strings.HasPrefix(o, "-") {
			i.args = append(i.args, o)
		} else {
			i.env = append(i.env, o)
		}
	}
	t.Cleanup(func() {
		if i.cmd != nil {
			i.kill()
		}
		if t.Failed() && i.output != nil {
			t.Logf("output of the server:\n%s", i.output.String())
		}
	})
	return i
}

var listening = regexp.MustCompile(`Server is listening on \[ \S+ <\w+> (\d+)\]`)

// launch starts the process and waits until it serves.
func (i *instance) launch() error {
	if err := i.begin(); err != nil {
		return err
	}
	deadline := time.After(patient)
	for {
		text := i.output.String()
		if port := listening.FindStringSubmatch(text); port != nil &&
			strings.Contains(text, "is now ready for client connections") {
			host := "127.0.0.1"
			if i.host != "" {
				host = i.host
			}
			i.address = host + ":" + port[1]
			return nil
		}
		select {
		case <-i.exited:
			return fmt.Errorf("the server ended: %v\n%s", i.cmd.ProcessState, i.output.String())
		case <-deadline:
			i.kill()
			return fmt.Errorf("the server was not ready within %v\n%s", patient, i.output.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// begin starts the process and does not wait.
func (i *instance) begin() error {
	i.cmd = exec.Command(binary, append([]string{"--root", i.root, "--server-name", i.name}, i.args...)...)
	i.cmd.Env = i.env
	i.output = &safeBuffer{}
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: i.credential}
	started, exited := make(chan error), make(chan struct{})
	i.exited = exited
	cmd := i.cmd
	go func() {
		// The kernel sends Pdeathsig when the thread ends that started the process, so that must be one which stays.
		runtime.LockOSThread()
		var err error
		if i.link != nil {
			err = i.link.Enter()
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	return nil
}

func (i *instance) signal(s syscall.Signal) { _ = i.cmd.Process.Signal(s) }

// kill is kill -9.
func (i *instance) kill() {
	i.signal(syscall.SIGKILL)
	<-i.exited
}

// freeze stops the process as it is; every thread has stopped when freeze returns, which on a busy machine comes later
// than the signal.
func (i *instance) freeze(t *testing.T) {
	t.Helper()
	i.signal(syscall.SIGSTOP)
	NewWithT(t).Eventually(func() []string {
		var running []string
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", i.cmd.Process.Pid))
		for _, name := range threads {
			stat, err := os.ReadFile(name)
			// The state follows the command's name in parentheses (proc(5), /proc/pid/stat).
			if _, state, ok := strings.Cut(string(stat), ") "); err == nil && ok && !strings.HasPrefix(state, "T") {
				running = append(running, name)
			}
		}
		return running
	}, patient, "5ms").Should(BeEmpty())
}

// thaw lets a frozen process go on.
func (i *instance) thaw() { i.signal(syscall.SIGCONT) }

// stop ends the process orderly and gives its exit code.
func (i *instance) stop(t *testing.T) int {
	t.Helper()
	i.signal(syscall.SIGTERM)
	select {
	case <-i.exited:
	case <-time.After(grace):
		t.Fatalf("the server did not stop within %s of SIGTERM", grace)
	}
	return i.cmd.ProcessState.ExitCode()
}

// dsn is a connection string for a login; options go before the defaults.
func (i *instance) dsn(user, password, database string, options map[string]string) string {
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(user, password), Host: i.address}
	q := url.Values{
		"TrustServerCertificate": {"true"},
		"encrypt":                {"false"},
		"dial timeout":           {"5"},
		"app name":               {"contract"},
	}
	if database != "" {
		q.Set("database", database)
	}
	for name, value := range options {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// open connects as the administrator to a database ("" for the default one).
func (i *instance) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	return i.openAs(t, i.user, i.password, database)
}

func (i *instance) openAs(t *testing.T, user, password, database string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlserver", i.dsn(user, password, database, nil))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { db.Close() })
	return db
}

// newDatabase creates a database on the shared server, dropped when the test ends, and opens it.
func newDatabase(t *testing.T) *sql.DB {
	t.Helper()
	name := uniqueName("t")
	return shared.newDatabase(t, name)
}

func (i *instance) newDatabase(t *testing.T, name string) *sql.DB {
	t.Helper()
	admin := i.open(t, "")
	mustExec(t, admin, "CREATE DATABASE ["+name+"]")
	db := i.open(t, name)
	if i == shared {
		t.Cleanup(func() {
			db.Close()
			_, err := admin.Exec(
				"ALTER DATABASE [" + name + "] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE [" + name + "]",
			)
			if err != nil {
				t.Errorf("drop database %s: %v", name, err)
			}
			admin.Close()
		})
	}
	return db
}

// uniqueName is a name that no other test uses.
func uniqueName(prefix string) string {
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	name := prefix + "_" + hex.EncodeToString(b)
	recorded.name(prefix, name)
	return name
}

// executor is a pool, a connection or a transaction.
type executor interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

// mustExec executes each text as a batch.
func mustExec(t *testing.T, db executor, text string, params ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	_, err := db.ExecContext(ctx, text, params...)
	recorded.statement(text, params, nil, err)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// query gives the rows of the first result set: nil, int64, float64, bool, time.Time, string or []byte; decimals as
// text.
func query(t *testing.T, db executor, text string, params ...any) [][]any {
	t.Helper()
	rows, err := tryQuery(db, text, params...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

func tryQuery(db executor, text string, params ...any) ([][]any, error) {
	rows, err := runQuery(db, text, params...)
	recorded.statement(text, params, rows, err)
	return rows, err
}

func runQuery(db executor, text string, params ...any) ([][]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	rows, err := db.QueryContext(ctx, text, params...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := [][]any{}
	for rows.Next() {
		row := make([]any, len(types))
		pointers := make([]any, len(types))
		for i := range row {
			pointers[i] = &row[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, err
		}
		for i, v := range row {
			if raw, ok := v.([]byte); ok && strings.Contains("DECIMAL MONEY SMALLMONEY", types[i].DatabaseTypeName()) {
				row[i] = string(raw)
			}
		}
		out = append(out, row)
	}
	for rows.NextResultSet() {
		for rows.Next() {
		}
	}
	return out, rows.Err()
}

// value is the only value of a query.
func value(t *testing.T, db executor, text string, params ...any) any {
	t.Helper()
	rows := query(t, db, text, params...)
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatalf("%s: %d rows where one value was expected: %v", text, len(rows), rows)
	}
	return rows[0][0]
}

// failure is the first error of a batch: others may follow from it.
func failure(t *testing.T, db executor, text string, params ...any) mssql.Error {
	t.Helper()
	_, err := tryQuery(db, text, params...)
	var e mssql.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: an error of the server was expected, not %v", text, err)
	}
	if len(e.All) > 0 {
		return e.All[0]
	}
	return e
}

// failures are all errors that a batch is answered with, in their order.
func failures(t *testing.T, db executor, text string) []mssql.Error {
	t.Helper()
	_, err := tryQuery(db, text)
	var e mssql.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: an error of the server was expected, not %v", text, err)
	}
	if len(e.All) == 0 {
		return []mssql.Error{e}
	}
	return e.All
}

// connection is one connection of a pool.
func connection(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(context.Background())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { c.Close() })
	return c
}
