// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/ports"
)

// The agent of an earlier release answers at the former address alone: the one for elections refuses, or leaves
// whoever asks without an answer. Where both answer the first is asked.
func TestPeersAreAskedWhereTheyAnswer(t *testing.T) {
	g := NewWithT(t)
	taken := func() (string, chan string) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = listener.Close() })
		from := make(chan string, 10)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				from <- conn.RemoteAddr().String()
			}
		}()
		return listener.Addr().String(), from
	}
	elections, first := taken()
	everybody, second := taken()
	refused := ports.Address(t)
	// TEST-NET-1 (RFC 5737): nobody is there.
	const silent = "192.0.2.1:8444"
	for name, c := range map[string]struct {
		addresses []string
		at        chan string
	}{
		"both":    {[]string{elections, everybody}, first},
		"refused": {[]string{refused, everybody}, second},
		"silent":  {[]string{silent, everybody}, second},
		"alone":   {[]string{elections}, first},
	} {
		began := time.Now()
		conn, at, err := dialFirst(t.Context(), "tcp", c.addresses)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(conn.RemoteAddr().String()).To(Equal(c.addresses[at]), name)
		g.Expect(time.Since(began)).To(BeNumerically("<", dialTimeout), name)
		g.Eventually(c.at, time.Minute).Should(Receive(Equal(conn.LocalAddr().String())), name)
		g.Expect(conn.Close()).To(Succeed())
	}
	_, _, err := dialFirst(t.Context(), "tcp", []string{refused, refused})
	g.Expect(err).To(MatchError(ContainSubstring("refused")))
	g.Consistently(second, 2*headStart).ShouldNot(Receive(), "no other connection is left")
}

// A load balancer takes connections at a port behind which nobody answers, and ends or keeps them: the sidecar is asked
// at its other address then. Whoever is not the server is asked nothing at either.
func TestPeersAreAskedWhereTheHandshakeSucceeds(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	serve := func(names ...string) string {
		data, err := authority.Issue(names, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		for _, key := range []string{credentials.KeyCertificate, credentials.KeyPrivateKey, credentials.KeyCA} {
			g.Expect(os.WriteFile(filepath.Join(dir, key), data[key], 0o600)).To(Succeed())
		}
		shown, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
		g.Expect(err).NotTo(HaveOccurred())
		server := httptest.NewUnstartedServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	balancer := func(ends bool) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if ends {
					_ = conn.Close()
					continue
				}
				t.Cleanup(func() { _ = conn.Close() })
			}
		}()
		return listener.Addr().String()
	}
	another, own := serve("dubsub-0", "dubsub-0.web.svc"), serve("tukpub-0", "tukpub-0.web.svc")
	for name, at := range map[string]string{"ends": balancer(true), "keeps": balancer(false), "another": another} {
		p := newPeers(dir, "web", func(string) []string { return []string{at, own} })
		g.Expect(p.Hello(t.Context(), "tukpub-0", "content")).To(Succeed(), name)
	}
	p := newPeers(dir, "web", func(string) []string { return []string{balancer(true), another} })
	g.Expect(p.Hello(t.Context(), "tukpub-0", "content")).
		To(MatchError(And(ContainSubstring("shake hands"), ContainSubstring("dubsub-0"))))
}
