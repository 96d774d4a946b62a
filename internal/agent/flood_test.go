// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/ports"
)

// renewer is a part that renews something every second at most, and remembers the longest pause.
type renewer struct {
	renewals atomic.Int64
	longest  atomic.Int64
}

func (r *renewer) Name() string { return "renewer" }
func (r *renewer) Status() any  { return nil }

func (r *renewer) Run(ctx context.Context) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := time.Now()
		r.longest.Store(max(r.longest.Load(), int64(now.Sub(last))))
		r.renewals.Add(1)
		last = now
	}
}

// besieged is a sidecar without an engine, whose namespace is web.
type besieged struct {
	*renewer
	dir                  string
	everybody, elections string
	authority            *credentials.Authority
}

func newBesieged(t *testing.T) *besieged {
	g := NewWithT(t)
	b := &besieged{renewer: &renewer{}, dir: t.TempDir(), everybody: ports.Address(t),
		elections: ports.Address(t)}
	var err error
	b.authority, err = credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := b.authority.Issue(credentials.CertificateNames("web", "tukpub", nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	for key, content := range data {
		g.Expect(os.WriteFile(filepath.Join(b.dir, key), content, 0o600)).To(Succeed())
	}
	o := agent.DefaultOptions()
	o.ServerName, o.Namespace, o.Engine, o.TLSDir, o.StateDir = "tukpub-0", "web", "127.0.0.1:1", b.dir, t.TempDir()
	o.Listen, o.Elections = b.everybody, b.elections
	a, err := agent.New(o, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	a.Add(b.renewer)
	a.HandlePeers("/election/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, time.Minute).Should(Receive(BeNil())) })
	g.Eventually(func() error { _, err := b.get(b.everybody, "/livez", nil); return err }, time.Minute).Should(Succeed())
	return b
}

// certificate is a server's.
func (b *besieged) certificate(g *WithT, namespace string, server v1alpha1.ServerName) *tls.Certificate {
	data, err := b.authority.Issue(credentials.CertificateNames(namespace, server, nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	return &pair
}

func (b *besieged) config(shown *tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.authority.PEM())
	config := &tls.Config{RootCAs: roots, ServerName: "tukpub-0", MinVersion: tls.VersionTLS12}
	if shown != nil {
		config.Certificates = []tls.Certificate{*shown}
	}
	return config
}

// get asks over a connection of its own.
func (b *besieged) get(address, path string, shown *tls.Certificate) (string, error) {
	client := &http.Client{Timeout: 3 * time.Second,
		Transport: &http.Transport{TLSClientConfig: b.config(shown), DisableKeepAlives: true}}
	answer, err := client.Get("https://" + address + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return strings.TrimSpace(string(body)), err
}

// flood opens connections from many addresses, each of which says nothing once it is open; the handshake is done where
// shake says so. It returns how many are open in the end.
func (b *besieged) flood(t *testing.T, address string, connections, hosts int, shake bool) (open func() int) {
	t.Helper()
	var conns []net.Conn
	t.Cleanup(func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	for i := range connections {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 7, byte(1+i%hosts))}
		dialer := net.Dialer{LocalAddr: from, Timeout: 3 * time.Second}
		raw, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		conn := raw
		if shake {
			over := tls.Client(raw, b.config(nil))
			_ = raw.SetDeadline(time.Now().Add(3 * time.Second))
			if over.HandshakeContext(t.Context()) != nil {
				_ = raw.Close()
				continue
			}
			conn = over
		}
		conns = append(conns, conn)
	}
	return func() int {
		conns = slices.DeleteFunc(conns, ended)
		return len(conns)
	}
}

// ended says whether the other side has closed a connection, and closes it then.
func ended(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	if err != nil && os.IsTimeout(err) {
		return false
	}
	_ = c.Close()
	return true
}

// heap is what the process has after a collection, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// Any pod may open connections. However many there are, they take little of the process that renews the lease: probes
// and the sidecars of other servers are answered, and the renewals go on.
func TestIdleConnectionsTakeNothingOfARenewal(t *testing.T) {
	for _, c := range []struct {
		name               string
		shake, elections   bool
		connections, hosts int
	}{
		{"handshakes done", true, false, 1200, 20},
		{"no handshake, one address", false, false, 3000, 1},
		{"no handshake, where elections are answered", false, true, 3000, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBesieged(t)
			at := b.everybody
			if c.elections {
				at = b.elections
			}
			quisec := b.certificate(g, "web", "quisec")
			before := heap()
			b.longest.Store(0)
			open := b.flood(t, at, c.connections, c.hosts, c.shake)
			renewed := b.renewals.Load()
			for range 5 {
				g.Expect(b.get(b.everybody, "/livez", nil)).To(Equal("ok"))
				_, err := b.get(b.elections, "/election/content/hello", quisec)
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(b.renewals.Load()).To(BeNumerically(">", renewed))
			g.Expect(time.Duration(b.longest.Load())).To(BeNumerically("<", 2*time.Second), "the longest pause")
			g.Expect(open()).To(BeNumerically("<=", 64+256), "connections that are left")
			// The test's own ends of those are counted, too.
			g.Expect(int64(heap())-int64(before)).To(BeNumerically("<", 32<<20), "bytes")
		})
	}
}

// Where elections are answered nobody is let in but servers of the namespace, by the certificate that they show in the
// handshake; a sidecar of an earlier release asks where everybody does.
func TestElectionsBeginWithAServersCertificate(t *testing.T) {
	g := NewWithT(t)
	b := newBesieged(t)
	other, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	forged := &besieged{authority: other}
	quisec := b.certificate(g, "web", "quisec")
	for name, shown := range map[string]*tls.Certificate{"no certificate": nil,
		"that of another namespace": b.certificate(g, "evil", "quisec"),
		"that of another CA":        forged.certificate(g, "web", "quisec")} {
		_, err := b.get(b.elections, "/election/content/hello", shown)
		g.Expect(err).To(MatchError(ContainSubstring("tls: ")), name)
	}
	_, err = b.get(b.elections, "/election/content/hello", quisec)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = b.get(b.everybody, "/election/content/hello", quisec)
	g.Expect(err).NotTo(HaveOccurred(), "of an earlier release")
	for _, path := range []string{"/livez", "/readyz", "/status", "/metrics"} {
		_, err = b.get(b.elections, path, quisec)
		g.Expect(err).To(MatchError(ContainSubstring("404")), path)
	}
}

// A server that has a certificate is bounded, too: it takes nothing that another one needs.
func TestOnePeerDoesNotTakeAnothersConnections(t *testing.T) {
	g := NewWithT(t)
	b := newBesieged(t)
	dublin, quisec := b.certificate(g, "web", "dubsec"), b.certificate(g, "web", "quisec")
	var kept []net.Conn
	for range 200 {
		conn, err := tls.Dial("tcp", b.elections, b.config(dublin))
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			kept = append(kept, conn)
		}
	}
	_, err := b.get(b.elections, "/election/content/hello", quisec)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() int { kept = slices.DeleteFunc(kept, ended); return len(kept) }, time.Minute).
		Should(BeNumerically("<=", 16))
}
