// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql/credentials"
)

// A CA that comes into the sidecar's files counts for the next question: an election would not wait for the next
// reading.
func TestANewCACountsAtOnce(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	write := func(data map[string][]byte, keys ...string) {
		for _, key := range keys {
			g.Expect(os.WriteFile(filepath.Join(dir, key), data[key], 0o600)).To(Succeed())
		}
	}
	issue := func() map[string][]byte {
		authority, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		data, err := authority.Issue([]string{"tukpub-0"}, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		return data
	}
	former, next := issue(), issue()
	write(former, credentials.KeyCertificate, credentials.KeyPrivateKey, credentials.KeyCA)
	shown, err := tls.X509KeyPair(next[credentials.KeyCertificate], next[credentials.KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
	server.StartTLS()
	defer server.Close()

	p := newPeers(dir, "web", func(string) []string { return []string{server.Listener.Addr().String()} })
	g.Expect(p.Hello(t.Context(), "tukpub-0", "content")).To(MatchError(ContainSubstring("certificate")))
	g.Expect(os.WriteFile(filepath.Join(dir, credentials.KeyIssuers), next[credentials.KeyCA], 0o600)).To(Succeed())
	g.Expect(p.Hello(t.Context(), "tukpub-0", "content")).To(Succeed())
}

// A voter whose API server is to show a certificate of another CA is trusted by both until it does: its vote could not
// be renewed meanwhile.
func TestAVotersFormerCAIsTrustedUntilItShowsTheNextOne(t *testing.T) {
	g := NewWithT(t)
	issue := func() (tls.Certificate, []byte) {
		authority, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		data, err := authority.Issue([]string{"127.0.0.1"}, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		pair, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
		g.Expect(err).NotTo(HaveOccurred())
		return pair, authority.PEM()
	}
	former, formerCA := issue()
	next, nextCA := issue()
	var shown atomic.Pointer[tls.Certificate]
	shown.Store(&former)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*shown.Load()}}, nil
	}}
	server.StartTLS()
	defer server.Close()

	h := &Holder{
		options: Options{Log: slog.New(slog.DiscardHandler), Timings: ballot.DefaultTimings()},
		runners: map[string]*runner{},
	}
	group := orders.Group{
		Name:      "content",
		Namespace: "web",
		Voters:    []orders.Voter{{Site: "quincy", Server: server.URL, CA: formerCA}},
	}
	r := newRunner(h, group)
	h.runners["content"] = r
	trusted := func() error {
		voters := r.voterList()
		_, _, err := voters[slices.IndexFunc(voters, func(v *voter) bool { return v.Name() == "quincy" })].Read(t.Context())
		if err != nil && strings.Contains(err.Error(), "tls: ") {
			return err
		}
		return nil
	}
	g.Expect(trusted()).To(Succeed())
	group.Voters = []orders.Voter{{Site: "quincy", Server: server.URL, CA: nextCA}}
	r.change(group)
	h.renewTokens(t.Context())
	g.Expect(trusted()).To(Succeed(), "it shows the former one still")
	restart := func() {
		file := durable.Moved{Path: filepath.Join(t.TempDir(), "orders.json")}
		kept := memory{file: file, log: slog.New(slog.DiscardHandler)}
		kept.save(h.present())
		r = newRunner(h, kept.load()["content"])
		h.runners["content"] = r
	}
	restart()
	g.Expect(trusted()).To(Succeed(), "an agent that was restarted remembers it")
	r.change(group)
	h.renewTokens(t.Context())
	g.Expect(trusted()).To(Succeed(), "and the orders are told again")
	group.Voters = append(group.Voters, orders.Voter{Site: "dublin", Server: "https://127.0.0.1:1", CA: nextCA})
	r.change(group)
	g.Expect(trusted()).To(Succeed(), "whatever else of the orders changes meanwhile")
	shown.Store(&next)
	server.CloseClientConnections()
	g.Expect(trusted()).To(Succeed())
	h.renewTokens(t.Context())
	shown.Store(&former)
	server.CloseClientConnections()
	g.Expect(trusted()).NotTo(Succeed(), "what it has left behind is trusted no more")
	restart()
	g.Expect(trusted()).NotTo(Succeed(), "nor by one that is restarted then")
}

// A server of another namespace may have the same name, and a certificate of the same CA: it is no peer.
func TestAPeerIsOfTheNamespace(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	issue := func(namespace string, server v1alpha1.ServerName) map[string][]byte {
		data, err := authority.Issue(credentials.CertificateNames(namespace, server, nil), time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		return data
	}
	for key, content := range issue("web", "quisec") {
		g.Expect(os.WriteFile(filepath.Join(dir, key), content, 0o600)).To(Succeed())
	}
	for namespace, refused := range map[string]bool{"web": false, "evil": true} {
		data := issue(namespace, "tukpub")
		shown, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
		g.Expect(err).NotTo(HaveOccurred())
		server := httptest.NewUnstartedServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
		server.StartTLS()
		p := newPeers(dir, "web", func(string) []string { return []string{server.Listener.Addr().String()} })
		if err = p.Hello(t.Context(), "tukpub-0", "content"); refused {
			g.Expect(err).To(MatchError(ContainSubstring("not that of tukpub-0 in namespace web")))
		} else {
			g.Expect(err).NotTo(HaveOccurred())
		}
		server.Close()
	}
}
