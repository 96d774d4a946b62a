// SPDX-License-Identifier: Apache-2.0

// Package process runs the stand-in as a process of its own for tests that end it, or measure it.
package process

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	// The driver is named "sqlserver".
	_ "github.com/microsoft/go-mssqldb"
	"github.com/onsi/gomega"
)

const password = "Pr0cess-Under-Test"

// Within bounds what takes a second on an idle machine.
const Within = 2 * time.Minute

// binaryVariable names an environment variable with the path of the stand-in's binary.
const binaryVariable = "GEOSQL_STANDIN"

// build builds the stand-in into a folder, unless the environment names one, and returns the binary's path.
func build(folder string) (string, error) {
	if binary := os.Getenv(binaryVariable); binary != "" {
		return binary, nil
	}
	binary := filepath.Join(folder, "sqlservr")
	if out, err := exec.Command("go", "build", "-o", binary,
		"geosql.dev/standin/cmd/standin").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the stand-in: %w\n%s", err, out)
	}
	return binary, nil
}

// Main builds the stand-in, or takes the one that the environment names, says where it is, and runs a package's tests:
// the exit code of TestMain.
func Main(m *testing.M, binary *string) int {
	folder, err := os.MkdirTemp("", "process")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make directory:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if *binary, err = build(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Server is a stand-in process on a folder.
type Server struct {
	// Root is the folder with its data, Address host:port of TDS.
	Root, Address string
	binary        string
	output        string
	cmd           *exec.Cmd
	exited        chan struct{}
}

// New starts a server on an empty folder; it is killed when the test ends.
func New(t testing.TB, binary string) *Server {
	t.Helper()
	s := &Server{Root: filepath.Join(t.TempDir(), "root"), binary: binary}
	// Go's test cache asks again for variables that tests have asked for, not for those that TestMain has.
	_ = os.Getenv(binaryVariable)
	gomega.NewWithT(t).Expect(os.MkdirAll(s.Root, 0o755)).To(gomega.Succeed())
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Kill()
		}
		if t.Failed() {
			t.Log(s.Output())
		}
	})
	s.Start(t)
	return s
}

var listening = regexp.MustCompile(`Server is listening on \[ \S+ <\w+> (\d+)\]`)

// Start starts the process on its folder and waits until it serves.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	g := gomega.NewWithT(t)
	s.output = filepath.Join(filepath.Dir(s.Root), "output")
	out, err := os.Create(s.output)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	defer out.Close()
	s.cmd = exec.Command(s.binary, "--root", s.Root, "--server-name", "PROCESS")
	s.cmd.Env = []string{
		"ACCEPT_EULA=Y",
		"MSSQL_SA_PASSWORD=" + password,
		"MSSQL_TCP_PORT=0",
		"MSSQL_IP_ADDRESS=127.0.0.1",
		"MSSQL_MEMORY_LIMIT_MB=256",
	}
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
	g.Expect(<-started).To(gomega.Succeed())
	g.Eventually(func() bool {
		text := s.Output()
		port := listening.FindStringSubmatch(text)
		if port == nil || !strings.Contains(text, "is now ready for client connections") {
			return false
		}
		s.Address = "127.0.0.1:" + port[1]
		return true
	}, Within, "2ms").Should(gomega.BeTrue(), s.Output)
}

// Output is what the process wrote.
func (s *Server) Output() string {
	text, _ := os.ReadFile(s.output)
	return string(text)
}

// Kill ends the process with SIGKILL.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.exited
}

// Stop ends the process in order.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	g := gomega.NewWithT(t)
	g.Expect(s.cmd.Process.Signal(syscall.SIGTERM)).To(gomega.Succeed())
	g.Eventually(s.exited, Within).Should(gomega.BeClosed())
}

// PID is the process's id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Open connects to a database as the administrator; close it.
func (s *Server) Open(t testing.TB, database string) *sql.DB {
	t.Helper()
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", password), Host: s.Address,
		RawQuery: url.Values{"database": {database}, "encrypt": {"disable"}, "dial timeout": {"60"}}.Encode()}
	db, err := sql.Open("sqlserver", u.String())
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	return db
}
