// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	folder = "TUKPUB-0_Content_articles"
	token  = "Token-of-the-subscription"
)

// site is a distributor's snapshot folder behind HTTPS, and a folder for mirrors.
type site struct {
	snapshots, mirrors string
	server             *files.Server
	http               *httptest.Server
	order              orders.Mirror
	// allowed is how many bytes may still be sent before connections break.
	allowed atomic.Int64
	served  atomic.Int64
}

func newSite(t *testing.T) *site {
	t.Helper()
	g := NewWithT(t)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := &site{snapshots: t.TempDir(), mirrors: t.TempDir()}
	s.allowed.Store(1 << 60)
	s.server = files.NewServer(s.snapshots, quiet)
	s.server.SetReaders([]orders.Reader{{Subscription: "dublin", Folder: folder, Token: token}})
	ca, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := ca.Issue(credentials.CertificateNames("web", "dist", nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.server.ServeHTTP(&leaky{ResponseWriter: w, site: s}, r)
	}))
	s.http.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	s.order = orders.Mirror{
		Subscription: "dublin", Source: s.http.Listener.Addr().(*net.TCPAddr).String(), Host: "dist-0",
		CA:    data[credentials.KeyCA],
		Token: token, Folder: "tukpub-0_content_articles", Generation: "2026-11-20T10:00:30.123",
	}
	return s
}

// leaky breaks a connection when no more bytes are allowed.
type leaky struct {
	http.ResponseWriter
	site *site
}

func (l *leaky) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *leaky) Write(b []byte) (int, error) {
	if l.site.allowed.Add(-int64(len(b))) < 0 {
		panic(http.ErrAbortHandler)
	}
	l.site.served.Add(int64(len(b)))
	return l.ResponseWriter.Write(b)
}

func (s *site) snapshot(t *testing.T, stamp string, contents map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(s.snapshots, "unc", folder, stamp)
	for name, content := range contents {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *site) mirrored(stamp, name string) string {
	return filepath.Join(s.mirrors, "dist-0", "unc", folder, stamp, name)
}

func noise(n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{7})
	_, _ = source.Read(b)
	return b
}

func (s *site) keep(t *testing.T, order orders.Mirror) *files.Mirrors {
	t.Helper()
	m := files.NewMirrors(s.mirrors, "web", slog.New(slog.NewTextHandler(io.Discard, nil)))
	m.Set(t.Context(), []orders.Mirror{order})
	return m
}

func state(m *files.Mirrors) func() files.State {
	return func() files.State { return m.Statuses()[0].State }
}

const patient = time.Minute

func TestMirrorOfTheNewestWholeSnapshot(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t)
	big := noise(20<<20 + 17)
	s.snapshot(t, "20261120095900", map[string][]byte{"old.sch": []byte("old")})
	s.snapshot(
		t,
		"20261120100000",
		map[string][]byte{"Article_2.bcp": big, "Article_2.sch": []byte("CREATE TABLE"), "sub/Empty.idx": nil},
	)
	s.snapshot(t, "20261120100100", map[string][]byte{"half.bcp": []byte("is being written")})
	m := s.keep(t, s.order)
	g.Eventually(state(m), patient).Should(Equal(files.Verified))
	status := m.Statuses()[0]
	g.Expect(status.Snapshot).To(Equal("20261120100000"), "one that began after the generation may not be whole")
	g.Expect(status.Bytes).To(Equal(status.Total))
	content, err := os.ReadFile(s.mirrored("20261120100000", "Article_2.bcp"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content) == string(big)).To(BeTrue(), "the same bytes")
	g.Expect(s.mirrored("20261120100000", "sub/Empty.idx")).To(BeARegularFile())
	entries, err := os.ReadDir(filepath.Dir(s.mirrored("20261120100000", "x")))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(3), "nothing but the snapshot's files")

	// A newer generation: the newer snapshot comes too.
	next := s.order
	next.Generation = "2026-11-20T10:01:30"
	m.Set(t.Context(), []orders.Mirror{next})
	g.Eventually(func() string { return m.Statuses()[0].Snapshot + string(m.Statuses()[0].State) }, patient).
		Should(Equal("20261120100100Verified"))
}

func TestMirrorGoesOnAfterAnInterruption(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t)
	big := noise(72 << 20)
	s.snapshot(t, "20261120100000", map[string][]byte{"Article_2.bcp": big})
	// Every connection breaks after a part of the file: four streams are then in the middle of 8 MB each, the rest is
	// whole.
	s.allowed.Store(60 << 20)
	m := s.keep(t, s.order)
	g.Eventually(state(m), patient).Should(Equal(files.Failing))
	g.Expect(s.mirrored("20261120100000", "")).NotTo(BeADirectory(), "what is not whole has no name yet")
	s.allowed.Store(1 << 60)
	g.Eventually(state(m), patient).Should(Equal(files.Verified))
	content, err := os.ReadFile(s.mirrored("20261120100000", "Article_2.bcp"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content) == string(big)).To(BeTrue(), "the same bytes")
	g.Expect(s.served.Load()).To(BeNumerically("<=", 60<<20+72<<20-24<<20), "whole parts are not sent again")
}

// What was begun of a snapshot goes when a newer one is mirrored, whole or not: it lies on the volume of the
// subscriber's data.
func TestWhatWasBegunOfOldSnapshotsGoes(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t)
	begun := func(stamp string) string {
		t.Helper()
		dir := filepath.Join(s.mirrors, "dist-0", "unc", folder, "."+stamp+".partial")
		g.Expect(os.MkdirAll(filepath.Join(dir, "sub"), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, "sub", "Article_2.bcp"), noise(100), 0o644)).To(Succeed())
		return dir
	}
	older, newer := begun("20261120095800"), begun("20261120100200")
	s.snapshot(t, "20261120100000", map[string][]byte{"Article_2.bcp": noise(20 << 20)})
	s.allowed.Store(10 << 20) // the listing and a part of the file
	m := s.keep(t, s.order)
	g.Eventually(state(m), patient).Should(Equal(files.Failing))
	g.Expect(older).NotTo(BeADirectory(), "one after another that is superseded before it is whole would fill the volume")
	s.allowed.Store(1 << 60)
	g.Eventually(state(m), patient).Should(Equal(files.Verified))
	g.Expect(newer).To(BeADirectory(), "another mirror may be at it")

	s.snapshot(t, "20261120100100", map[string][]byte{"Article_2.bcp": noise(1000)})
	next := s.order
	next.Generation = "2026-11-20T10:01:30"
	between := begun("20261120100030")
	m.Set(t.Context(), []orders.Mirror{next})
	g.Eventually(func() string { return m.Statuses()[0].Snapshot + string(m.Statuses()[0].State) }, patient).
		Should(Equal("20261120100100Verified"))
	g.Expect(between).NotTo(BeADirectory())
	g.Expect(newer).To(BeADirectory())
	g.Expect(s.mirrored("20261120100000", "Article_2.bcp")).To(BeARegularFile(), "an agent may be applying the one before")
}

// The checksums of a big snapshot take longer than the server gives a short answer; they are sent all the same.
func TestListingThatTakesLong(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t)
	dir := s.snapshot(t, "20261120100000", map[string][]byte{"Article_2.sch": []byte("x")})
	big, err := os.Create(filepath.Join(dir, "Article_2.bcp"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(big.Truncate(256 << 20)).To(Succeed()) // without bytes on disk, and yet all of it is read
	g.Expect(big.Close()).To(Succeed())
	server := httptest.NewUnstartedServer(s.server)
	server.Config.WriteTimeout = 10 * time.Millisecond
	server.Start()
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+files.Pattern+folder, nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := server.Client().Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	var listing files.Listing
	g.Expect(json.NewDecoder(response.Body).Decode(&listing)).To(Succeed())
	g.Expect(listing.Files).To(HaveLen(2))
}

func TestServerRefuses(t *testing.T) {
	s := newSite(t)
	s.snapshot(t, "20261120100000", map[string][]byte{"Article_2.sch": []byte("x")})
	secret := filepath.Join(s.snapshots, "outside")
	if err := os.WriteFile(secret, []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.snapshots, "unc", folder, "20261120100000", "link")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, token string
		code        int
	}{
		"right":                  {folder + "/20261120100000/Article_2.sch", token, 200},
		"no token":               {folder + "/20261120100000/Article_2.sch", "", 403},
		"wrong token":            {folder + "/20261120100000/Article_2.sch", "guess", 403},
		"another folder":         {"TUKPUB-0_Other_articles", token, 403},
		"above the folder":       {folder + "/../../outside", token, 403},
		"encoded dots":           {folder + "/%2e%2e/%2e%2e/outside", token, 403},
		"a link out of it":       {folder + "/20261120100000/link", token, 500},
		"a folder is no file":    {folder + "/20261120100000", token, 404},
		"nothing of that name":   {folder + "/20261120100000/none", token, 404},
		"none until that moment": {folder + "?until=20200101000000", token, 404},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, files.Pattern+c.path, nil)
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			answer := httptest.NewRecorder()
			s.server.ServeHTTP(answer, request)
			NewWithT(t).Expect(answer.Code).To(Equal(c.code), answer.Body.String())
		})
	}
}

func TestMirrorTrustsTheDistributorAlone(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t)
	s.snapshot(t, "20261120100000", map[string][]byte{"Article_2.sch": []byte("x")})
	other, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := other.Data()
	g.Expect(err).NotTo(HaveOccurred())
	order := s.order
	order.CA = data[credentials.KeyCertificate]
	m := s.keep(t, order)
	g.Eventually(func() string { return m.Statuses()[0].Message }, patient).Should(ContainSubstring("certificate"))
}
