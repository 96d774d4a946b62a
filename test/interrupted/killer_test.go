// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/stage"
)

// moment of a write at which the manager may die.
type moment string

const (
	// before the write leaves the process.
	before moment = "before"
	// sent is when the write has left and its answer has not come: the other side carries it out, or not.
	sent moment = "sent"
	// answered is when the answer has come and nothing was made of it.
	answered moment = "answered"
)

var moments = []moment{before, sent, answered}

// killing says at which moments of a write the manager dies.
type killing string

const (
	// never lets it live.
	never killing = "Never"
	// sampled is at one moment of one write in four, by the seed.
	sampled killing = "Sampled"
	// always is at every moment of each write.
	always killing = "Always"
	// each is at one moment of every write, by the seed.
	each killing = "Each"
)

// ledger is the name of the stage's file in which managers write where they died.
const ledger = "ledger"

// config is what a manager's process is told of its deaths.
type config struct {
	Killing      killing
	Seed, Ledger string
	// Of is what the writes have in their names at which it may die; empty for all.
	Of string
}

func watch(c config) (stage.Watch, error) {
	x, err := newKiller(c)
	if err != nil {
		return stage.Watch{}, err
	}
	return stage.Watch{Transport: x.transport, Dial: x.dial, Executing: x.executing}, nil
}

// killer ends its own process with SIGKILL, once at every moment of every write that was chosen. The ledger tells the
// next process where others died.
type killer struct {
	killing killing
	seed    string
	of      *regexp.Regexp

	mu     sync.Mutex
	ledger *os.File
	known  map[string]bool
	// armed are servers of which the next bytes that are sent end the process, with the write they belong to.
	armed map[string]string
}

func newKiller(c config) (*killer, error) {
	of, err := regexp.Compile(c.Of)
	if err != nil {
		return nil, fmt.Errorf("read at which writes to die: %w", err)
	}
	file, err := os.OpenFile(c.Ledger, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	x := &killer{killing: c.Killing, seed: c.Seed, of: of, ledger: file, known: map[string]bool{},
		armed: map[string]string{}}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		x.known[lines.Text()] = true
	}
	return x, lines.Err()
}

// line of the ledger: every write is there as seen, and with each moment at which a process died.
func line(m moment, write string) string { return string(m) + " " + write }

const seen moment = "seen"

// lines of the ledger that begin with a moment, without it.
func lines(t *testing.T, b *stage.Stage, m moment) []string {
	t.Helper()
	content, err := os.ReadFile(b.File(ledger))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, l := range strings.Split(string(content), "\n") {
		if write, ok := strings.CutPrefix(l, string(m)+" "); ok {
			found = append(found, write)
		}
	}
	return found
}

func (x *killer) note(text string) {
	if !x.known[text] {
		x.known[text] = true
		fmt.Fprintln(x.ledger, text)
	}
}

// due tells that the process is to die at this moment of the write, and writes it down.
func (x *killer) due(m moment, write string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note(line(seen, write))
	if x.known[line(m, write)] || !x.of.MatchString(write) || !slices.Contains(places(x.killing, x.seed, write), m) {
		return false
	}
	x.note(line(m, write))
	return true
}

// places are the moments of a write that are chosen.
func places(k killing, seed, write string) []moment {
	digest := sha256.Sum256([]byte(seed + write))
	switch {
	case k == always:
		return moments
	case k == each:
		return moments[int(digest[1])%len(moments):][:1]
	case k == sampled && digest[0]%4 == 0:
		return moments[int(digest[1])%len(moments):][:1]
	}
	return nil
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// executing is the killer as the connector's hook.
func (x *killer) executing(t mssql.Target, s tsql.Statement) func(error) {
	write := statementName(t, s)
	if x.due(before, write) {
		die()
	}
	server := credentials.HostName(t.Server)
	if x.due(sent, write) {
		x.mu.Lock()
		x.armed[server] = write
		x.mu.Unlock()
	}
	return func(error) {
		x.mu.Lock()
		armed := x.armed[server] == write
		x.mu.Unlock()
		if armed || x.due(answered, write) {
			die()
		}
	}
}

var changing = regexp.MustCompile(`0x[0-9A-Fa-f]+|\d+`)

// statementName is the same for the same step of any run: numbers, dates and binary values differ.
func statementName(t mssql.Target, s tsql.Statement) string {
	text := strings.Join(strings.Fields(s.Redacted()), " ")
	return fmt.Sprintf("%s %s: %s", t.Server, t.Database, changing.ReplaceAllString(text[:min(len(text), 160)], "#"))
}

// dial lets the killer see what is sent to a server.
func (x *killer) dial(servers map[string]string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: conn, killer: x, server: servers[address]}, nil
	}
}

type watchedConn struct {
	net.Conn
	killer *killer
	server string
}

// Write dies once a statement is out whose answer is not to be seen.
func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.killer.mu.Lock()
	_, armed := c.killer.armed[c.server]
	c.killer.mu.Unlock()
	if armed {
		die()
	}
	return n, err
}

// transport lets the killer see the writes to API servers.
func (x *killer) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method) ||
			strings.HasSuffix(
				r.URL.Path,
				"/events",
			) || strings.Contains(r.URL.Path, "/apis/events.k8s.io/") || strings.Contains(r.URL.Path, "selfsubject") ||
			// It is written by the clock, and brings nothing about.
			strings.HasSuffix(r.URL.Path, "/leases/"+confirmed.LeaseName) {
			return next.RoundTrip(r)
		}
		write := r.Method + " " + r.URL.Path + ofBackup(r)
		if x.due(before, write) {
			die()
		}
		if x.due(sent, write) {
			r = r.WithContext(
				httptrace.WithClientTrace(
					r.Context(),
					&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { die() }},
				),
			)
		}
		response, err := next.RoundTrip(r)
		if x.due(answered, write) {
			die()
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
