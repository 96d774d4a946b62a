// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/wan"
)

// Ports at which the first sidecar of a place answers; others of the same place count on.
const (
	agentPort    = 8443
	electionPort = 9443
)

// sidecar is a process of a sidecar at a place.
type sidecar struct {
	agentConfig

	cmd    *exec.Cmd
	orders *json.Encoder
	log    string

	mu sync.Mutex
	// told is how often it was told something, and latest what it said last.
	told   int
	latest said
	// copies are what became of the mirrors that it was told to keep, by subscription.
	copies map[string]*copied
	// changed is closed when something has, and ended when nothing will any more.
	changed chan struct{}
	ended   error
}

// copied are the moments of a mirror, zero while they are to come.
type copied struct {
	// listed: the listing is there. first and last: bytes came. verified: all is whole.
	listed, first, last, verified time.Time
	// failed tells that an attempt has failed.
	failed bool
	status files.Status
}

// note takes down what is new of a mirror's status.
func (c *copied) note(at time.Time, s files.Status) {
	set := func(moment *time.Time, when bool) {
		if when && moment.IsZero() {
			*moment = at
		}
	}
	set(&c.listed, s.State == files.Copying || s.State == files.Verified)
	set(&c.first, s.MovedBytes > 0)
	set(&c.verified, s.State == files.Verified)
	if s.MovedBytes > c.status.MovedBytes {
		c.last = at
	}
	c.failed = c.failed || s.State == files.Failing
	c.status = s
}

// startSidecar starts the n-th sidecar of a place, from 0. It ends with the test, and by its standard input when the
// test's process does.
func startSidecar(t testing.TB, ca *credentials.Authority, at wan.Place, n int, server v1alpha1.ServerName) *sidecar {
	t.Helper()
	g := NewWithT(t)
	s := &sidecar{agentConfig: agentConfig{Server: server, Dir: t.TempDir(),
		Listen:    net.JoinHostPort("", strconv.Itoa(agentPort+n)),
		Elections: net.JoinHostPort("", strconv.Itoa(electionPort+n))},
		copies: map[string]*copied{}, changed: make(chan struct{})}
	s.log = filepath.Join(s.Dir, "log")
	certificate, err := ca.Issue(credentials.CertificateNames(namespace, server, nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Mkdir(s.tls(), 0o700)).To(Succeed())
	for key, content := range certificate {
		g.Expect(os.WriteFile(filepath.Join(s.tls(), key), content, 0o600)).To(Succeed())
	}
	g.Expect(os.WriteFile(filepath.Join(s.Dir, "password"), []byte("Password-of-nobody"), 0o600)).To(Succeed())
	content, err := json.Marshal(s.agentConfig)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(s.Dir, "agent.json")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	binary, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	output, err := os.Create(s.log)
	g.Expect(err).NotTo(HaveOccurred())
	defer output.Close()
	s.cmd = at.Command(binary)
	s.cmd.Env = append(os.Environ(), agentVariable+"="+file)
	s.cmd.Stderr = output
	in, err := s.cmd.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	out, err := s.cmd.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	s.orders = json.NewEncoder(in)
	g.Expect(s.cmd.Start()).To(Succeed())
	go s.listen(out)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		s.await(t, "its end", func() bool { return s.ended != nil })
		_ = s.cmd.Wait()
	})
	// Its doors are open before it follows orders.
	s.tell(t, nil)
	s.takes(t)
	return s
}

// listen takes down what the process says until it ends.
func (s *sidecar) listen(out io.Reader) {
	lines := json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	for {
		var now said
		err := lines.Decode(&now)
		s.mu.Lock()
		if err != nil {
			s.ended = fmt.Errorf("the sidecar of %s has ended: %w", s.Server, err)
		} else {
			s.latest = now
			for _, m := range now.Mirrors {
				if c := s.copies[m.Subscription]; c != nil {
					c.note(now.At, m)
				}
			}
		}
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// patience is how long a condition may take: no cell takes longer.
const patience = 10 * time.Minute

// await waits until a condition, which holds s.mu, is met.
func (s *sidecar) await(t testing.TB, what string, met func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		done, ended, changed := met(), s.ended, s.changed
		s.mu.Unlock()
		switch {
		case done:
			return
		case ended != nil:
			t.Fatalf("wait for %s: %v\n%s", what, ended, s.logged())
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("%s: %s did not come within %v\n%s", s.Server, what, patience, s.logged())
		}
	}
}

// logged is the last of what the process has logged.
func (s *sidecar) logged() string {
	content, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-2000):])
}

// tell gives the process its orders, all of them, and forgets what became of former ones. watched are the subscriptions
// whose mirrors are followed from now on.
func (s *sidecar) tell(t testing.TB, data map[string][]byte, watched ...string) {
	t.Helper()
	s.mu.Lock()
	s.told++
	s.copies = map[string]*copied{}
	for _, one := range watched {
		s.copies[one] = &copied{}
	}
	s.mu.Unlock()
	if err := s.orders.Encode(data); err != nil {
		t.Fatalf("tell the sidecar of %s: %v\n%s", s.Server, err, s.logged())
	}
}

// takes waits until the process holds to what it was told.
func (s *sidecar) takes(t testing.TB) {
	t.Helper()
	s.await(t, "that it follows its orders", func() bool { return s.latest.Orders >= s.told })
}

// copied waits until a mirror is whole, and returns its moments.
func (s *sidecar) copied(t testing.TB, subscription string) copied {
	t.Helper()
	var c copied
	s.await(t, "a whole mirror for "+subscription, func() bool {
		c = *s.copies[subscription]
		return !c.verified.IsZero()
	})
	return c
}

// sent are the bytes that it had sent when it took what it was told last.
func (s *sidecar) sent(t testing.TB) int64 {
	t.Helper()
	s.takes(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest.Sent
}

// usage of a process.
type usage struct {
	// cpu that it has used, user and system, and peak, the most memory that it had at once, in bytes.
	cpu  time.Duration
	peak int64
}

// ticks of proc(5) in a second, as on all architectures that Go runs on.
const ticks = 100

// usage is what the process has used so far, by proc(5).
func (s *sidecar) usage() (u usage, err error) {
	folder := fmt.Sprintf("/proc/%d", s.cmd.Process.Pid)
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return u, fmt.Errorf("read what a sidecar uses: %w", err)
	}
	// The name, in parentheses, may have spaces; utime and stime are the 14th and the 15th.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return u, errors.New("read what a sidecar uses: an unknown form of stat")
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, fmt.Errorf("read what a sidecar uses: %w", err)
		}
		u.cpu += time.Duration(n) * time.Second / ticks
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return u, fmt.Errorf("read what a sidecar uses: %w", err)
	}
	_, rest, _ = strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(rest, "%d kB", &u.peak); err != nil {
		return u, fmt.Errorf("read what a sidecar uses: %w", err)
	}
	u.peak <<= 10
	return u, nil
}

// fresh has the peak be that of what comes.
func (s *sidecar) fresh() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0)
}
