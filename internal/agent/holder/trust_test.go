// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
)

// A CA that comes into the sidecar's files counts for the next question: an election would not wait for the next reading.
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
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
	server.StartTLS()
	defer server.Close()

	p := newPeers(dir, func(string) string { return server.Listener.Addr().String() })
	g.Expect(p.Hello(t.Context(), "tukpub-0", "content")).To(MatchError(ContainSubstring("certificate")))
	g.Expect(os.WriteFile(filepath.Join(dir, credentials.KeyIssuers), next[credentials.KeyCA], 0o600)).To(Succeed())
	g.Expect(p.Hello(t.Context(), "tukpub-0", "content")).To(Succeed())
}
