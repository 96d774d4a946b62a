// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
)

const patient = time.Minute

// told is a Source that a test tells.
type told chan map[string][]byte

func (s told) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-s:
			update(data)
		}
	}
}

// order is the data of a Secret that names servers of Dublin.
func order(t *testing.T, servers ...string) map[string][]byte {
	t.Helper()
	var all []orders.Link
	for _, server := range servers {
		all = append(all, orders.Link{Site: "dublin", Server: server})
	}
	value, err := orders.EncodeLinks(all)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{orders.LinksKey: value, "reader.of-another-part": []byte("?")}
}

// far is a sidecar of another site, as far as links are concerned.
type far struct {
	*httptest.Server
	// takes is how long an answer takes, in nanoseconds; connections are those that were made to it.
	takes, connections atomic.Int64
}

// farAway starts one with a certificate for a server of namespace web.
func farAway(t *testing.T, authority *credentials.Authority, server v1alpha1.ServerName) *far {
	t.Helper()
	g := NewWithT(t)
	data, err := authority.Issue(credentials.CertificateNames("web", server, nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	f := &far{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Duration(f.takes.Load())):
		case <-r.Context().Done():
		}
		if r.URL.Path != "/livez" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	}))
	f.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.connections.Add(1)
		}
	}
	f.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	f.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// start runs a part that trusts the authority and finds servers at the addresses.
func start(t *testing.T, authority *credentials.Authority, source Source, log io.Writer,
	address func(string) string) *Part {
	t.Helper()
	dir := t.TempDir()
	NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, credentials.KeyCA), authority.PEM(), 0o600)).To(Succeed())
	part := NewPart(Options{Source: source, TLSDir: dir, Namespace: "web", Address: address, Every: 5 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = part.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return part
}

func newAuthority(t *testing.T) *credentials.Authority {
	t.Helper()
	authority, err := credentials.NewAuthority(time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return authority
}

// A link is timed over connections that stay open, becomes slower and faster, and is not known any more when nobody has
// answered for long, or nobody asks for it.
func TestARoundTripIsTimed(t *testing.T) {
	g := NewWithT(t)
	authority := newAuthority(t)
	there := farAway(t, authority, "dubsub")
	source := make(told)
	part := start(t, authority, source, io.Discard, func(host string) string {
		if host != "dubsub-0" {
			return "127.0.0.1:1"
		}
		return there.Listener.Addr().String()
	})
	g.Expect(part.Status()).To(BeNil(), "it has not been told yet what to time")
	source <- order(t)
	g.Eventually(part.Status, patient).Should(Equal([]Measured{}), "nothing is to be timed, and that is said")
	took := func() time.Duration {
		for _, m := range part.measured(time.Now()) {
			if m.Site == "dublin" && m.Server == "dubsub" {
				return time.Duration(m.RoundTripMicroseconds) * time.Microsecond
			}
		}
		return 0
	}
	there.takes.Store(int64(40 * time.Millisecond))
	source <- order(t, "dubsub", "nobody")
	g.Eventually(took, patient).Should(BeNumerically(">=", 40*time.Millisecond))
	g.Expect(part.measured(time.Now())).To(HaveLen(1), "whom nobody reaches is not known")
	g.Expect(testutil.CollectAndCount(part, "geosql_agent_link_round_trip_seconds")).To(Equal(1))
	g.Expect(there.connections.Load()).To(BeEquivalentTo(1))

	there.takes.Store(int64(120 * time.Millisecond))
	g.Eventually(took, patient).Should(BeNumerically(">=", 120*time.Millisecond))
	there.takes.Store(0)
	g.Eventually(took, patient).Should(BeNumerically("<", 120*time.Millisecond))

	there.CloseClientConnections()
	there.Listener.Close()
	g.Expect(part.measured(time.Now().Add(oldest+patient))).To(BeEmpty(), "what nobody answers any more")
	source <- order(t)
	g.Eventually(part.Status).Should(Equal([]Measured{}))
}

// Who is no server of the namespace, or of another CA, is not taken for the one that is asked for.
func TestNobodyElseIsTimed(t *testing.T) {
	g := NewWithT(t)
	authority := newAuthority(t)
	other, stranger := farAway(t, authority, "quisec"), farAway(t, newAuthority(t), "dubcfg")
	var log lines
	source := make(told)
	part := start(t, authority, source, &log, func(host string) string {
		if host == "dubcfg-0" {
			return stranger.Listener.Addr().String()
		}
		return other.Listener.Addr().String()
	})
	source <- order(t, "dubsub", "dubcfg")
	g.Eventually(log.String, patient).Should(And(ContainSubstring("server=dubsub"), ContainSubstring("server=dubcfg")))
	g.Eventually(stranger.connections.Load, patient).Should(BeNumerically(">", leastSamples))
	g.Eventually(part.Status, patient).Should(Equal([]Measured{}))
	g.Expect(strings.Count(log.String(), "\n")).To(BeNumerically("<", 10), "what stays as it was is told once")
}

// Who has just started, or is to time another link, says nothing until it has something to say: that it knows nothing
// yet is no answer, and the one before counts on. A link that nobody answers is given as many rounds as a link that
// nobody answers any more.
func TestAnAgentThatHasJustStartedSaysNothing(t *testing.T) {
	g := NewWithT(t)
	authority := newAuthority(t)
	there := farAway(t, authority, "dubsub")
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, credentials.KeyCA), authority.PEM(), 0o600)).To(Succeed())
	part := NewPart(Options{TLSDir: dir, Namespace: "web", Log: slog.New(slog.DiscardHandler),
		Address: func(host string) string {
			if host == "dubsub-0" {
				return there.Listener.Addr().String()
			}
			return "127.0.0.1:1"
		}})
	rounds := func(n int) {
		for range n {
			part.round(t.Context())
		}
	}
	rounds(mostSamples)
	g.Expect(part.Status()).To(BeNil(), "it has no orders")
	part.set(order(t, "dubsub"))
	rounds(leastSamples - 1)
	g.Expect(part.Status()).To(BeNil())
	rounds(1)
	g.Expect(part.Status()).To(ConsistOf(HaveField("Server", "dubsub")))
	part.set(order(t, "dubsub", "nobody"))
	rounds(mostSamples - 1)
	g.Expect(part.Status()).To(BeNil())
	rounds(1)
	g.Expect(part.Status()).To(ConsistOf(HaveField("Server", "dubsub")), "the other is not reached")
	part.set(order(t))
	g.Expect(part.Status()).To(Equal([]Measured{}), "nothing is to be timed any more")
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to it.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of it.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
