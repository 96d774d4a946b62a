// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
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

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/transfer"
)

const (
	soon  = time.Minute
	first = "20261120100000"
	next  = "20261120110000"
)

// pair is a distributor's snapshot folder behind HTTPS, and a folder for mirrors.
type pair struct {
	snapshots, mirrors string
	server             *Server
	order              orders.Mirror
	sent               atomic.Int64
	// former has the source answer as one of an earlier release.
	former atomic.Bool
	// accepted are the connections that were made.
	accepted atomic.Int32
	// before, unless nil, is told of each request, and says whether it has answered it. It is set before any comes.
	before func(w http.ResponseWriter, r *http.Request) (answered bool)
}

func newPair(t *testing.T) *pair {
	t.Helper()
	g := NewWithT(t)
	p := &pair{snapshots: t.TempDir(), mirrors: t.TempDir()}
	p.server = NewServer(p.snapshots, slog.New(slog.DiscardHandler))
	p.server.SetReaders([]orders.Reader{{Folder: "pub_db_articles", Token: "token"}})
	ca, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := ca.Issue(credentials.CertificateNames("web", "dist", nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(data[credentials.KeyCertificate], data[credentials.KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			p.accepted.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	p.order = orders.Mirror{Subscription: "dublin", Source: server.Listener.Addr().(*net.TCPAddr).String(), Host: "dist-0",
		CA: data[credentials.KeyCA], Token: "token", Folder: "pub_db_articles", Generation: "2026-11-20T10:30:00"}
	return p
}

func (p *pair) serve(w http.ResponseWriter, r *http.Request) {
	if p.before != nil && p.before(w, r) {
		return
	}
	if p.former.Load() {
		if r.Method != http.MethodGet {
			http.Error(w, "only GET and HEAD are supported", http.StatusMethodNotAllowed)
			return
		}
		query := r.URL.Query()
		query.Del("chunks")
		r.URL.RawQuery = query.Encode()
	}
	p.server.ServeHTTP(&counting{w, p}, r)
}

type counting struct {
	http.ResponseWriter
	pair *pair
}

func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counting) Write(b []byte) (int, error) {
	c.pair.sent.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

func (p *pair) snapshot(t *testing.T, stamp string, contents map[string][]byte) {
	t.Helper()
	put(t, filepath.Join(p.snapshots, tree, "pub_db_articles", stamp), contents)
}

// put writes files into a folder.
func put(t *testing.T, dir string, contents map[string][]byte) {
	t.Helper()
	for name, content := range contents {
		NewWithT(t).Expect(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)).To(Succeed())
		NewWithT(t).Expect(os.WriteFile(filepath.Join(dir, name), content, 0o644)).To(Succeed())
	}
}

// at is a path in the publication's mirror.
func (p *pair) at(name ...string) string {
	return filepath.Join(append([]string{p.mirrors, "dist-0", tree, "pub_db_articles"}, name...)...)
}

func (p *pair) keeper() *Mirrors {
	m := NewMirrors(p.mirrors, "web", slog.New(slog.DiscardHandler))
	// However full the machine's own volume is.
	m.volume = func(string) (capacity, free int64, err error) { return 100 << 30, 50 << 30, nil }
	return m
}

// mirrored waits for the mirror of a stamp, and compares it.
func (p *pair) mirrored(t *testing.T, m *Mirrors, stamp string, contents map[string][]byte) Status {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() []Status { return m.Statuses() }, soon).Should(ContainElement(
		And(HaveField("State", Verified), HaveField("Snapshot", stamp))))
	for name, content := range contents {
		got, err := os.ReadFile(p.at(stamp, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bytes.Equal(got, content)).To(BeTrue(), name)
	}
	return m.Statuses()[0]
}

func random(seed byte, n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{seed})
	_, _ = source.Read(b)
	return b
}

// What the snapshot before has is not fetched again, nor what was begun of one that was superseded, nor what a person
// put beside.
func TestOnlyWhatIsNewIsFetched(t *testing.T) {
	old := random(1, 16<<20)
	contents := map[string][]byte{"Article_2.bcp": append([]byte("a row before all others"), old...),
		"Article_2.sch": []byte("x")}
	for name, prepare := range map[string]func(t *testing.T, p *pair, m *Mirrors){
		"of the snapshot before": func(t *testing.T, p *pair, m *Mirrors) {
			before := map[string][]byte{"Article_2.bcp": old}
			p.snapshot(t, first, before)
			m.Set(t.Context(), []orders.Mirror{p.order})
			p.mirrored(t, m, first, before)
		},
		"of a snapshot that an earlier release mirrored": func(t *testing.T, p *pair, _ *Mirrors) {
			put(t, p.at(first), map[string][]byte{"Article_2.bcp": old})
		},
		"of one that was begun": func(t *testing.T, p *pair, _ *Mirrors) {
			put(t, p.at(partialName(first)), map[string][]byte{"Article_2.bcp": old})
		},
		"in the folder for seeds": func(t *testing.T, p *pair, _ *Mirrors) {
			put(t, filepath.Join(p.mirrors, "dist-0", seedFolder, "from-a-disk"), map[string][]byte{"copy": old})
		},
		"under the snapshot's own name": func(t *testing.T, p *pair, _ *Mirrors) {
			put(t, p.at(next), map[string][]byte{"Article_2.bcp": old})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			m := p.keeper()
			prepare(t, p, m)
			p.snapshot(t, next, contents)
			p.sent.Store(0)
			order := p.order
			order.Generation = "2026-11-20T11:30:00"
			m.Set(t.Context(), []orders.Mirror{order})
			status := p.mirrored(t, m, next, contents)
			g.Expect(p.sent.Load()).To(BeNumerically("<", 5<<20), "a chunk and the listing")
			g.Expect(status.Bytes).To(Equal(status.Total))
			g.Expect(status.MovedBytes).To(BeNumerically("~", p.sent.Load(), 4<<10))
			g.Expect(status.ReusedBytes).To(BeNumerically(">=", 12<<20))
			g.Expect(status.Seconds).To(BeNumerically(">", 0))
			g.Expect(status.Rate).To(BeNumerically(">", 0))
			g.Expect(p.at(partialName(first))).NotTo(BeAnExistingFile())
			left, err := filepath.Glob(p.at("." + next + "*"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left).To(ConsistOf(p.at(recordName(next))), "what was set aside is gone")
			seeds := 0
			if name == "in the folder for seeds" {
				seeds = 1
			}
			g.Expect(m.index.Len()).To(Equal(seeds), "nothing is remembered of what was begun, or is gone")
		})
	}
}

// A folder in place is taken for the snapshot when this sidecar made it and nobody changed it since, or when its files
// have the checksums. One that it has not made is set aside where they have others.
func TestAFolderInPlace(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 6<<20)}
	p.snapshot(t, first, contents)
	put(t, p.at(first), contents)
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	status := p.mirrored(t, m, first, contents)
	g.Expect(status.ReusedBytes).To(Equal(status.Total), "one of an earlier release is whole")
	g.Expect(p.at(recordName(first))).To(BeARegularFile())
	g.Expect(p.sent.Load()).To(BeNumerically("<", 1<<20))

	flipped := bytes.Clone(contents["Article_2.bcp"])
	flipped[100] ^= 1
	put(t, p.at(first), map[string][]byte{"Article_2.bcp": flipped})
	g.Expect(os.Remove(p.at(recordName(first)))).To(Succeed())
	m = p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	p.mirrored(t, m, first, contents)
	g.Expect(p.sent.Load()).To(BeNumerically("<", 5<<20), "the chunk that had changed")
}

// Wherever the sidecar is killed, the next one ends with the snapshot in place, and fetches nothing twice.
func TestAMirrorThatIsKilledAtEachStep(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"a.bcp": random(1, 2<<20), "b.bcp": random(2, 2<<20), "c.sch": []byte("x")}
	p.snapshot(t, first, contents)
	killed := errors.New("killed")
	met := map[string]bool{}
	for life := 0; ; life++ {
		g.Expect(life).To(BeNumerically("<", 20))
		m := p.keeper()
		m.limits.Set(transfer.Settings{Workers: 1})
		m.at = func(step string) error {
			if !met[step] {
				met[step] = true
				return killed
			}
			return nil
		}
		meter := transfer.NewMeter()
		one := &mirror{order: p.order, meter: meter}
		m.running["dublin"], m.statuses["dublin"] = one, Status{}
		if err := m.copy(t.Context(), one, 0); err == nil {
			p.mirrored(t, m, first, contents)
			break
		} else {
			g.Expect(err).To(MatchError(killed))
		}
	}
	for _, step := range []string{"fetched", "verified", "tidied", "recorded", "in place"} {
		g.Expect(met).To(HaveKey(step))
	}
	// At one of the steps a request was under way, whose chunks are sent again.
	g.Expect(p.sent.Load()).To(BeNumerically("<", 4<<20+8<<20))
}

// Two subscriptions of one server have one mirror: its bytes come once.
func TestTwoSubscriptionsShareAMirror(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 16<<20)}
	p.snapshot(t, first, contents)
	other := p.order
	other.Subscription = "cork"
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order, other})
	g.Eventually(func() []Status { return m.Statuses() }, soon).Should(HaveEach(HaveField("State", Verified)))
	g.Expect(m.Statuses()).To(HaveLen(2))
	g.Expect(p.sent.Load()).To(BeNumerically("<", 17<<20))
}

// A source of an earlier release knows no chunks; after its pod is made anew it does, and what came in ranges stays.
func TestASourceOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 20<<20), "Article_2.sch": []byte("x")}
	p.snapshot(t, first, contents)
	p.former.Store(true)
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	status := p.mirrored(t, m, first, contents)
	g.Expect(status.MovedBytes).To(Equal(status.Total))
	g.Expect(p.at(recordName(first))).To(BeARegularFile())

	p.former.Store(false)
	p.snapshot(t, next, contents)
	p.sent.Store(0)
	order := p.order
	order.Generation = "2026-11-20T11:30:00"
	m.Set(t.Context(), []orders.Mirror{order})
	p.mirrored(t, m, next, contents)
	g.Expect(p.sent.Load()).To(BeNumerically("<", 1<<20))
}

// What came in ranges of a snapshot is not fetched again when its source knows chunks.
func TestASourceIsRenewedAtHalf(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 20<<20)}
	p.snapshot(t, first, contents)
	half := append(bytes.Clone(contents["Article_2.bcp"][:10<<20]), make([]byte, 10<<20)...)
	put(t, p.at(partialName(first)), map[string][]byte{"Article_2.bcp": half, ".parts-0011223344556677": []byte("{}\n")})
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	p.mirrored(t, m, first, contents)
	g.Expect(p.sent.Load()).To(BeNumerically("<", 15<<20))
	left, err := filepath.Glob(p.at(first, ".*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())
}

// A sidecar of an earlier release asks for no chunks, and gets the listing that it knows.
func TestASidecarOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.snapshot(t, first, map[string][]byte{"Article_2.bcp": random(1, 6<<20)})
	ask := func(method, path, span string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(method, Pattern+"pub_db_articles"+path, nil)
		request.Header.Set("Authorization", "Bearer token")
		request.Header.Set("Range", span)
		answer := httptest.NewRecorder()
		p.server.ServeHTTP(answer, request)
		return answer
	}
	var listing map[string]any
	g.Expect(json.Unmarshal(ask(http.MethodGet, "", "").Body.Bytes(), &listing)).To(Succeed())
	g.Expect(listing).To(And(HaveLen(3), HaveKey("folder"), HaveKey("snapshot")))
	g.Expect(listing["files"]).To(HaveEach(HaveLen(3)))
	part := ask(http.MethodGet, "/"+first+"/Article_2.bcp", "bytes=1000-2999")
	g.Expect(part.Code).To(Equal(http.StatusPartialContent))
	g.Expect(part.Body.Bytes()).To(Equal(random(1, 6<<20)[1000:3000]))
	for name, body := range map[string]string{
		"nothing":       `{}`,
		"too much":      `{"spans":[{"path":"Article_2.bcp","offset":0,"length":99999999}]}`,
		"from outside":  `{"spans":[{"path":"../other","offset":0,"length":1}]}`,
		"below nothing": `{"spans":[{"path":"Article_2.bcp","offset":-1,"length":1}]}`,
	} {
		request := httptest.NewRequest(http.MethodPost, Pattern+"pub_db_articles/"+first, bytes.NewReader([]byte(body)))
		request.Header.Set("Authorization", "Bearer token")
		answer := httptest.NewRecorder()
		p.server.ServeHTTP(answer, request)
		g.Expect(answer.Code).To(Equal(http.StatusBadRequest), name)
	}
}

// Spans are given to who may read the publication's folder, and of what is in it alone.
func TestWhoIsRefusedSpans(t *testing.T) {
	p := newPair(t)
	p.snapshot(t, first, map[string][]byte{"a": []byte("abc")})
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, filepath.Dir(outside), map[string][]byte{"outside": []byte("secret")})
	link := filepath.Join(p.snapshots, tree, "pub_db_articles", first, "link")
	NewWithT(t).Expect(os.Symlink(outside, link)).To(Succeed())
	for name, c := range map[string]struct {
		folder, token, file string
		code                int
		says                string
	}{
		"right":             {"pub_db_articles/" + first, "token", "a", http.StatusOK, "abc"},
		"no token":          {"pub_db_articles/" + first, "", "a", http.StatusForbidden, "no right"},
		"wrong token":       {"pub_db_articles/" + first, "guess", "a", http.StatusForbidden, "no right"},
		"another folder":    {"pub_db_other/" + first, "token", "a", http.StatusForbidden, "no right"},
		"no snapshot":       {"pub_db_articles", "token", "a", http.StatusNotFound, "no such snapshot"},
		"a link out of it":  {"pub_db_articles/" + first, "token", "link", http.StatusOK, "the source cannot read a file"},
		"nothing of a name": {"pub_db_articles/" + first, "token", "none", http.StatusOK, "the source has no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := httptest.NewRequest(http.MethodPost, Pattern+c.folder, bytes.NewReader(span(c.file, []byte("abc"))))
			request.Header.Set("Authorization", "Bearer "+c.token)
			answer := httptest.NewRecorder()
			p.server.ServeHTTP(answer, request)
			g.Expect(answer.Code).To(Equal(c.code))
			g.Expect(answer.Body.String()).To(And(ContainSubstring(c.says), Not(ContainSubstring("sec"))))
		})
	}
}

// Who waits for a worker is not sent away by the server's own limit, which is for requests that come slowly.
func TestWaitingForAWorkerOfTheSource(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.snapshot(t, first, map[string][]byte{"a": []byte("abc")})
	p.server.limits.Set(transfer.Settings{Workers: 1})
	g.Expect(p.server.limits.Enter(t.Context(), "")).To(Succeed())
	server := httptest.NewUnstartedServer(p.server)
	// A loaded machine may take some of it to read the request itself.
	server.Config.ReadTimeout = time.Second
	server.Start()
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		server.URL+Pattern+"pub_db_articles/"+first, bytes.NewReader(span("a", []byte("abc"))))
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer token")
	answered := make(chan string, 1)
	go func() {
		response, err := server.Client().Do(request)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		answered <- fmt.Sprint(string(content), err)
	}()
	g.Consistently(answered, "1500ms").ShouldNot(Receive())
	p.server.limits.Leave("")
	g.Eventually(answered, soon).Should(Receive(HaveSuffix("abc<nil>")))
}

// span asks for the beginning of a file, as it is.
func span(name string, content []byte) []byte {
	return fmt.Appendf(nil, `{"spans":[{"path":%q,"offset":0,"length":%d,"sha256":"%x"}],"compression":"Never"}`,
		name, len(content), sha256.Sum256(content))
}

// Limits that change hold at once: no mirror begins again for them.
func TestLimitsChangeUnderWay(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	// It takes a minute at the slow rate: whoever looks sees that.
	contents := map[string][]byte{"Article_2.bcp": random(1, 64<<20)}
	p.snapshot(t, first, contents)
	slow := p.order
	slow.Transfers = transfer.Settings{Workers: 1, MaxRate: 1 << 20}
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{slow})
	g.Eventually(func() Status { return m.Statuses()[0] }, soon).Should(And(HaveField("State", Copying),
		HaveField("Bytes", BeNumerically(">", 0)), HaveField("RemainingSeconds", BeNumerically(">", 0))))
	one := m.running["dublin"]
	m.Set(t.Context(), []orders.Mirror{p.order})
	g.Expect(m.running["dublin"]).To(BeIdenticalTo(one))
	p.mirrored(t, m, first, contents)
	g.Expect(p.sent.Load()).To(BeNumerically("<", 65<<20))
}
