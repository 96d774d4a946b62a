// SPDX-License-Identifier: Apache-2.0

//go:build integration || e2e

// Package engine starts the stand-in engine for tests of the operator: a process of its own with a certificate from
// a CA of the operator's kind, reached over TDS as any engine is.
package engine

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/ports"
)

// BinaryVariable names an environment variable with the path of an engine's binary. Unless it is set, hack/program
// builds the stand-in, or finds the one that was built from the same sources.
const BinaryVariable = "GEOSQL_STANDIN"

// AnswersVariable names an environment variable with answers (standin/docs/answers.md) that all engines of a test run
// are given, with commas between them: what holds for an engine must hold for one that answers the other way.
const AnswersVariable = "GEOSQL_ANSWERS"

// startWithin bounds the start of an engine on a busy machine.
const startWithin = 2 * time.Minute

// Engine is a running instance.
type Engine struct {
	// Address of its TDS port on loopback, which no other test is given while the process is not there.
	Address string
	// Namespace and Server for which its certificate and logins are.
	Namespace string
	Server    v1alpha1.ServerName
	// Access has its passwords and CA.
	Access mssql.Access
	// Authority has signed its certificate.
	Authority *credentials.Authority
	// Arguments of the program beside those that every instance has, from the next Launch.
	Arguments []string
	// TLSDir has tls.crt, tls.key and ca.crt.
	TLSDir string

	// answers are the questions that it answers the other way.
	answers []string

	root string
	// run is the newest process, once it has been started: agents under test look at it while a test starts the next one.
	run atomic.Pointer[process]
}

// process is one run of the instance.
type process struct {
	*os.Process
	output *lockedBuffer
	exited chan struct{}
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// binary is the path of the engine's program. Tests get it nowhere else.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		return path, nil
	}
	var complaint bytes.Buffer
	build := exec.Command(filepath.Join(checkout.Root(), "hack", "program"), "standin")
	build.Stderr = &complaint
	path, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build the stand-in (hack/program standin): %w\n%s", err, complaint.String())
	}
	return strings.TrimSpace(string(path)), nil
})

// Option changes how an instance is started.
type Option func(*Engine)

// Answers has the instance answer these questions the other way: names of standin/docs/answers.md. An instance that is
// given by BinaryVariable and is no stand-in takes no notice.
func Answers(names ...string) Option {
	return func(e *Engine) { e.answers = append(e.answers, names...) }
}

// Start starts an instance for the server of the namespace, with new passwords. It ends with the test.
func Start(t testing.TB, namespace string, server v1alpha1.ServerName, options ...Option) *Engine {
	t.Helper()
	agreement, err := credentials.Agree(nil, nil, false)
	if err != nil {
		t.Fatalf("make passwords: %v", err)
	}
	authority, err := credentials.NewAuthority(time.Now())
	if err != nil {
		t.Fatalf("make a CA: %v", err)
	}
	data, err := authority.Issue(credentials.CertificateNames(namespace, server, nil), time.Now())
	if err != nil {
		t.Fatalf("issue a certificate: %v", err)
	}
	return StartWith(t, namespace, server, agreement.Passwords, data, authority, options...)
}

// StartWith starts an instance with the given passwords and certificate (the data of a kubernetes.io/tls Secret with
// ca.crt). It ends with the test.
func StartWith(
	t testing.TB,
	namespace string,
	server v1alpha1.ServerName,
	passwords credentials.Passwords,
	certificate map[string][]byte,
	authority *credentials.Authority,
	options ...Option,
) *Engine {
	t.Helper()
	e := &Engine{
		Namespace: namespace, Server: server, Authority: authority, Address: ports.Address(t),
		Access: mssql.Access{Passwords: passwords, CA: certificate[credentials.KeyCA]},
		TLSDir: t.TempDir(), root: t.TempDir(),
	}
	if all := os.Getenv(AnswersVariable); all != "" {
		e.answers = append(e.answers, all)
	}
	for _, option := range options {
		option(e)
	}
	for key, content := range certificate {
		if err := os.WriteFile(filepath.Join(e.TLSDir, key), content, 0o600); err != nil {
			t.Fatalf("write %s: %v", key, err)
		}
	}
	text := fmt.Sprintf(
		"[network]\ntlscert = %s\ntlskey = %s\ntlsprotocols = 1.2\nforceencryption = 1\n[hadr]\nhadrenabled = "+
			"1\n[sqlagent]\nenabled = true\n",
		filepath.Join(e.TLSDir, credentials.KeyCertificate),
		filepath.Join(e.TLSDir, credentials.KeyPrivateKey),
	)
	if len(e.answers) > 0 {
		text += "[standin]\nanswers = " + strings.Join(e.answers, ",") + "\n"
	}
	if err := os.WriteFile(filepath.Join(e.root, "mssql.conf"), []byte(text), 0o600); err != nil {
		t.Fatalf("write mssql.conf: %v", err)
	}
	t.Cleanup(func() { e.Kill(t) })
	e.Launch(t)
	return e
}

// OnDisk is where a file below a volume's folder, such as /var/opt/mssql-backup, is on this machine.
func (e *Engine) OnDisk(path string) string {
	rest := strings.TrimPrefix(path, conf.DataMount)
	if volume, ok := strings.CutPrefix(rest, "-"); ok {
		return filepath.Join(e.root, "mounts", volume)
	}
	return filepath.Join(e.root, rest)
}

// Configure appends to mssql.conf and starts the instance again.
func (e *Engine) Configure(t testing.TB, text string) {
	t.Helper()
	e.Kill(t)
	file, err := os.OpenFile(filepath.Join(e.root, "mssql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(text)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatalf("write mssql.conf: %v", err)
	}
	e.Launch(t)
}

var listening = regexp.MustCompile(`Server is listening on \[ 127\.0\.0\.1 <\w+> (\d+)\]`)

// Launch starts the process on the instance's files, on its port.
func (e *Engine) Launch(t testing.TB) {
	t.Helper()
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		t.Fatal(err)
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	output := &lockedBuffer{}
	cmd := exec.Command(
		program,
		append([]string{"--root", e.root, "--server-name", credentials.HostName(e.Server)}, e.Arguments...)...)
	cmd.Env = []string{"ACCEPT_EULA=Y", "MSSQL_PID=Developer", "MSSQL_IP_ADDRESS=127.0.0.1", "MSSQL_TCP_PORT=" + port,
		"MSSQL_MEMORY_LIMIT_MB=256", "MSSQL_SA_PASSWORD=" + string(e.Access.Passwords[credentials.KeySA]),
		// Where an engine that was built with the race detector reports (hack/race).
		"GORACE=" + os.Getenv("GORACE"),
		// It collects garbage as often as the tests and API servers do (hack/gotest).
		"GOGC=" + os.Getenv("GOGC")}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the stand-in: %v", err)
	}
	run := &process{Process: cmd.Process, output: output, exited: make(chan struct{})}
	e.run.Store(run)
	go func() { _ = cmd.Wait(); close(run.exited) }()
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		text := output.String()
		if found := listening.FindStringSubmatch(text); found != nil &&
			strings.Contains(text, "ready for client connections") {
			if found[1] != port {
				t.Fatalf("the stand-in listens on port %s instead of %s", found[1], port)
			}
			return
		}
		select {
		case <-run.exited:
			t.Fatalf("the stand-in ended:\n%s", output)
		case <-deadline.C:
			t.Fatalf("the stand-in did not start within %s:\n%s", startWithin, output)
		case <-look.C:
		}
	}
}

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (e *Engine) Kill(t testing.TB) {
	t.Helper()
	run := e.run.Load()
	if run == nil {
		return
	}
	_ = run.Signal(syscall.SIGKILL)
	select {
	case <-run.exited:
	case <-time.After(startWithin):
		t.Errorf("the stand-in outlived SIGKILL")
	}
}

// Wipe ends the process and removes all that it has on its volumes; its configuration stays. Launch starts it as new.
func (e *Engine) Wipe(t testing.TB) {
	t.Helper()
	e.Kill(t)
	entries, err := os.ReadDir(e.root)
	if err != nil {
		t.Fatalf("look through the instance's files: %v", err)
	}
	for _, entry := range entries {
		if entry.Name() == "mssql.conf" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(e.root, entry.Name())); err != nil {
			t.Fatalf("remove the instance's files: %v", err)
		}
	}
}

// Freeze stops the process without ending it: its port accepts connections and nothing answers. It returns when every
// thread has stopped; until then one of them could still answer.
func (e *Engine) Freeze() {
	e.signal(syscall.SIGSTOP)
	for deadline := time.Now().Add(time.Minute); !e.stopped() && time.Now().Before(deadline); {
		runtime.Gosched()
	}
}

// stopped tells whether all threads of the process are in state T (proc(5), /proc/pid/stat).
func (e *Engine) stopped() bool {
	pid := e.PID()
	if pid == 0 {
		return true
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return true
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue
		}
		if _, state, ok := strings.Cut(string(stat), ") "); ok && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// PID is the process's number, 0 when it has ended.
func (e *Engine) PID() int {
	run := e.run.Load()
	if run == nil || run.ended() {
		return 0
	}
	return run.Pid
}

// End ends the process at once without waiting for it.
func (e *Engine) End() { e.signal(syscall.SIGKILL) }

// Thaw lets a frozen process go on.
func (e *Engine) Thaw() { e.signal(syscall.SIGCONT) }

func (e *Engine) signal(s os.Signal) {
	if run := e.run.Load(); run != nil {
		_ = run.Signal(s)
	}
}

// Connector connects to the instance, whatever server is asked for.
func (e *Engine) Connector(t testing.TB) *mssql.Connector {
	t.Helper()
	c := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(
			func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) { return e.Access, nil },
		),
		Address: func(mssql.Target) string { return e.Address },
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Target is the instance in the part of a role.
func (e *Engine) Target(role credentials.Role) mssql.Target {
	return mssql.Target{Namespace: e.Namespace, Server: e.Server, Role: role}
}

// Output is what the process has written so far.
func (e *Engine) Output() string {
	if run := e.run.Load(); run != nil {
		return run.output.String()
	}
	return ""
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
