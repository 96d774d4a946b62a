// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/test/support/bucket"
)

// backlog is a runner without an engine that has sets to send, to a bucket of which a test refuses what it likes.
type backlog struct {
	*runner
	*catalog
	now     time.Time
	refuses func(*http.Request) bool
}

func newBacklog(t *testing.T, kind backup.Kind, ids ...string) *backlog {
	t.Helper()
	g := NewWithT(t)
	server := bucket.Start(t)
	to, err := url.Parse(server.Bucket.Endpoint)
	g.Expect(err).NotTo(HaveOccurred())
	b := &backlog{now: time.Now(), refuses: func(*http.Request) bool { return false }}
	proxy, roots := httputil.NewSingleHostReverseProxy(to), x509.NewCertPool()
	roots.AppendCertsFromPEM(server.Bucket.CA)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.refuses(r) {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	at := server.Bucket
	at.Endpoint = between.URL
	p := NewPart(nil, "tukpub-0", t.TempDir(), Engine{}, slog.New(slog.DiscardHandler))
	p.now = func() time.Time { return b.now }
	b.runner, err = newRunner(order(func(o *orders.Backup) {
		o.Stores, o.Verify = []orders.BackupStore{StoreOf("bucket", at)}, true
	}), p)
	g.Expect(err).NotTo(HaveOccurred())
	b.catalog = b.stores["bucket"]
	sum := sha256.Sum256([]byte("abc"))
	for i, id := range ids {
		d := taken(id, kind, time.Duration(30-i)*time.Minute, "10", "20")
		d.Server = "tukpub-0"
		d.Files = []backup.File{{Name: "1.trn", Bytes: 3, SHA256: hex.EncodeToString(sum[:])}}
		dir := filepath.Join(p.sets.dir, newPrefix+id)
		content := fmt.Sprintf(`{"Database":"Content","Family":"f","Kind":%q,"Policy":"nightly",
			"Files":["1.trn"]}`, kind)
		g.Expect(os.MkdirAll(dir, 0o750)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, takeName), []byte(content), 0o600)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, "1.trn"), []byte("abc"), 0o600)).To(Succeed())
		g.Expect(p.sets.add(dir, d)).To(Succeed())
	}
	return b
}

func (b *backlog) file(id string) string { return b.sets.path(b.sets.own[id], "1.trn") }

// rounds of a lane, each after the longest pause.
func (b *backlog) rounds(do func()) {
	for range 3 {
		b.now = b.now.Add(2 * pauseMost)
		do()
	}
}

func (b *backlog) sent(t *testing.T) map[string]Kept {
	t.Helper()
	NewWithT(t).Expect(b.list(t.Context())).To(Succeed())
	all := map[string]Kept{}
	for _, k := range b.current().Sets {
		all[k.ID] = k
	}
	return all
}

// A set whose file was removed by hand, or is shorter than it was before a power cut, keeps no later one from the
// store. It is no set any more, which is said.
func TestASetThatCannotBeSentHoldsUpNoOther(t *testing.T) {
	for why, harm := range map[string]func(file string) error{
		"gone":        os.Remove,
		"short":       func(file string) error { return os.Truncate(file, 1) },
		"wholly gone": func(file string) error { return os.RemoveAll(filepath.Dir(file)) },
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			b := newBacklog(t, backup.Log, "bad", "log2", "log3")
			g.Expect(harm(b.file("bad"))).To(Succeed())
			b.sendAll(t.Context(), b.catalog, true)
			g.Expect(b.failing()).To(ContainElement(Or(ContainSubstring("1.trn is not there"),
				ContainSubstring("1.trn has 1 bytes instead of 3"))))
			g.Expect(b.sent(t)).To(And(HaveKey("log2"), HaveKey("log3"), HaveLen(2)))
			g.Expect(b.sets.all("web", "group/content")).To(HaveLen(2))
			if why != "wholly gone" {
				g.Expect(filepath.Join(b.sets.dir, asidePrefix+"bad")).To(BeADirectory())
				g.Expect(b.engine.account("nightly", nil, "tukpub-0", false)).To(MatchError(errNotAsTaken), "it is missed")
			}
		})
	}
}

// A set of data that the store has damaged is not sent again from files that are damaged themselves.
func TestADamagedSetIsNotSentAgainFromDamagedFiles(t *testing.T) {
	g := NewWithT(t)
	b := newBacklog(t, backup.Full, "full")
	g.Expect(os.WriteFile(b.file("full"), []byte("abd"), 0o600)).To(Succeed())
	b.sendAll(t.Context(), b.catalog, false)
	g.Expect(b.sent(t)).To(HaveLen(1))
	b.checkAll(t.Context(), b.catalog)
	g.Expect(b.sent(t)["full"].Damaged).To(BeTrue())
	b.sendAll(t.Context(), b.catalog, false)
	g.Expect(b.failing()).To(ContainElement(ContainSubstring("1.trn has the SHA-256")))
	g.Expect(b.sets.all("web", "group/content")).To(BeEmpty(), "another is due then")
	g.Expect(b.sent(t)["full"].Damaged).To(BeTrue(), "what the store has of it stays")
}

// One object that the store does not take, or give back, holds up no other.
func TestAnObjectThatTheStoreRefusesHoldsUpNoOther(t *testing.T) {
	g := NewWithT(t)
	b := newBacklog(t, backup.Log, "log1", "log2", "log3")
	b.refuses = func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "-log1/1.trn")
	}
	b.rounds(func() { b.sendAll(t.Context(), b.catalog, true) })
	g.Expect(b.sent(t)).To(And(HaveKey("log2"), HaveKey("log3"), HaveLen(2)))
	g.Expect(b.failing()).To(HaveLen(1))
	b.refuses = func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "-log3/1.trn")
	}
	b.rounds(func() { b.checkAll(t.Context(), b.catalog) })
	g.Expect(b.sent(t)["log2"].Verified).To(BeTrue(), "the newest is read back first")
	g.Expect(b.sent(t)["log3"].Verified || b.sent(t)["log3"].Damaged).To(BeFalse())
}

// While a store is away nothing is tried there for each set: the lane pauses.
func TestAStoreThatIsAwayIsAskedOnce(t *testing.T) {
	g := NewWithT(t)
	b := newBacklog(t, backup.Log, "log1", "log2", "log3")
	asked := map[string]bool{}
	b.refuses = func(r *http.Request) bool { asked[r.URL.Path] = true; return true }
	b.sendAll(t.Context(), b.catalog, true)
	g.Expect(b.failing()).To(HaveLen(1))
	g.Expect(b.failing()).To(HaveKey("send logs to bucket"))
	for path := range asked {
		g.Expect(path).NotTo(Or(ContainSubstring("-log2/"), ContainSubstring("-log3/")))
	}
	b.refuses = func(*http.Request) bool { return false }
	b.sendAll(t.Context(), b.catalog, true)
	g.Expect(b.sent(t)).To(BeEmpty(), "it pauses")
	b.now = b.now.Add(pauseMost)
	b.sendAll(t.Context(), b.catalog, true)
	g.Expect(b.sent(t)).To(HaveLen(3))
	g.Expect(b.failing()).To(BeEmpty())
}
