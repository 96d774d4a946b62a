// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// failing waits until a mirror says why it fails.
func failing(t *testing.T, m *Mirrors) func() string {
	t.Helper()
	return func() string {
		if s := m.Statuses()[0]; s.State == Failing {
			return s.Message
		}
		return ""
	}
}

// A range is answered at once, whatever else is sent: who asks for one gives a silent source up after 20 s.
func TestARangeWaitsForNobody(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.snapshot(t, first, map[string][]byte{"a": []byte("abc")})
	p.server.limits.Set(transfer.Settings{Workers: 1})
	g.Expect(p.server.limits.Enter(t.Context(), "")).To(Succeed())
	answered := make(chan string, 1)
	go func() {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Pattern+"pub_db_articles/"+first+"/a", nil)
		request.Header.Set("Authorization", "Bearer token")
		answer := httptest.NewRecorder()
		p.server.ServeHTTP(answer, request)
		answered <- answer.Body.String()
	}()
	g.Eventually(answered, soon).Should(Receive(Equal("abc")))
}

// A range that fails takes no other one along.
func TestARangeThatFails(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 2*partSize)}
	p.snapshot(t, first, contents)
	p.former.Store(true)
	var mu sync.Mutex
	asked := map[string]int{}
	other, failed := make(chan struct{}), make(chan struct{})
	p.before = func(w http.ResponseWriter, r *http.Request) bool {
		span := r.Header.Get("Range")
		mu.Lock()
		asked[span]++
		again := asked[span] > 1
		mu.Unlock()
		if again || span == "" {
			return false
		}
		if strings.HasPrefix(span, "bytes=0-") {
			<-other
			http.Error(w, "no", http.StatusInternalServerError)
			// Long enough for who would break the other one off.
			time.AfterFunc(300*time.Millisecond, func() { close(failed) })
			return true
		}
		close(other)
		<-failed
		return false
	}
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	p.mirrored(t, m, first, contents)
	mu.Lock()
	defer mu.Unlock()
	delete(asked, "")
	g.Expect(asked).To(HaveLen(2))
	for span, times := range asked {
		if strings.HasPrefix(span, "bytes=0-") {
			g.Expect(times).To(Equal(2))
		} else {
			g.Expect(times).To(Equal(1), span)
		}
	}
}

// A volume that is full is freed of what is there for its chunks alone, at whatever step it is met.
func TestAFullVolume(t *testing.T) {
	contents := map[string][]byte{"Article_2.bcp": random(1, 6<<20)}
	for _, at := range []string{"opened", "found", "fetched"} {
		t.Run(at, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.snapshot(t, next, contents)
			order := p.order
			order.Generation = "2026-11-20T11:30:00"
			half := map[string][]byte{"Article_2.bcp": random(1, 6<<20)[:3<<20]}
			begun, aside := p.at(partialName(first)), p.at("."+next+asideSuffix+"0")
			put(t, begun, half)
			put(t, aside, half)
			m := p.keeper()
			m.at = func(step string) error {
				_, one := os.Stat(begun)
				_, other := os.Stat(aside)
				if step == at && (one == nil || other == nil) {
					return &fs.PathError{Op: "write", Path: "Article_2.bcp", Err: syscall.ENOSPC}
				}
				return nil
			}
			m.Set(t.Context(), []orders.Mirror{order})
			p.mirrored(t, m, next, contents)
			g.Expect(begun).NotTo(BeADirectory())
			g.Expect(aside).NotTo(BeADirectory())
		})
	}
}

// What is older than the snapshots that stay goes before another one is brought: it may be what fills the volume.
func TestOldSnapshotsGoFirst(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 1<<20)}
	p.snapshot(t, next, contents)
	order := p.order
	order.Generation = "2026-11-20T11:30:00"
	stamps := []string{"20261120070000", "20261120080000", "20261120090000"}
	for _, stamp := range stamps {
		put(t, p.at(stamp), contents)
	}
	m := p.keeper()
	m.at = func(step string) error {
		if _, err := os.Stat(p.at(stamps[0])); err == nil && step != "in place" {
			return syscall.ENOSPC
		}
		if _, err := os.Stat(p.at(stamps[1])); err != nil && step != "in place" {
			return errors.New("an agent may be applying the one before")
		}
		return nil
	}
	m.Set(t.Context(), []orders.Mirror{order})
	p.mirrored(t, m, next, contents)
	g.Expect(p.at(stamps[1])).NotTo(BeADirectory())
	g.Expect(p.at(stamps[2])).To(BeADirectory())
}

// Requests follow one another on one connection for each stream.
func TestConnectionsAreUsedAgain(t *testing.T) {
	many := map[string][]byte{}
	for n := range 12 {
		many[fmt.Sprintf("Article_%d.bcp", n)] = random(byte(n), 100)
	}
	for name, c := range map[string]struct {
		former   bool
		contents map[string][]byte
	}{
		"chunks": {false, map[string][]byte{"Article_2.bcp": random(1, 12*8<<20)}},
		"ranges": {true, many},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.former.Store(c.former)
			p.snapshot(t, first, c.contents)
			var requests atomic.Int32
			p.before = func(http.ResponseWriter, *http.Request) bool { requests.Add(1); return false }
			order := p.order
			order.Transfers = transfer.Settings{Workers: 1}
			m := p.keeper()
			m.Set(t.Context(), []orders.Mirror{order})
			p.mirrored(t, m, first, c.contents)
			g.Expect(requests.Load()).To(BeNumerically(">=", 10))
			// Some may be lost on a machine that is slow to notice that a request was written.
			g.Expect(p.accepted.Load()).To(BeNumerically("<=", 6), "of %d requests", requests.Load())
		})
	}
}

// A folder in place that cannot be read stays where it is: an agent may be reading it.
func TestAFolderThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 1<<20)}
	p.snapshot(t, first, contents)
	put(t, p.at(first), contents)
	name := p.at(first, "Article_2.bcp")
	g.Expect(os.Remove(name)).To(Succeed())
	g.Expect(os.Symlink(filepath.Base(name), name)).To(Succeed())
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	g.Eventually(failing(t, m), soon).Should(ContainSubstring("look at what was brought"))
	g.Expect(os.Remove(name)).To(Succeed())
	before, err := os.Stat(p.at(first))
	g.Expect(err).NotTo(HaveOccurred())
	put(t, p.at(first), contents)
	p.mirrored(t, m, first, contents)
	after, err := os.Stat(p.at(first))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.SameFile(before, after)).To(BeTrue(), "it was not set aside")
}

// A source that promised other bytes than it has says so, and its files are listed anew.
func TestAListingThatIsStale(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.snapshot(t, first, map[string][]byte{"Article_2.bcp": random(1, 6<<20)})
	request := httptest.NewRequest(http.MethodGet, Pattern+"pub_db_articles?chunks=1", nil)
	request.Header.Set("Authorization", "Bearer token")
	p.server.ServeHTTP(httptest.NewRecorder(), request)
	name := filepath.Join(p.snapshots, tree, "pub_db_articles", first, "Article_2.bcp")
	info, err := os.Stat(name)
	g.Expect(err).NotTo(HaveOccurred())
	changed := map[string][]byte{"Article_2.bcp": random(2, 6<<20)}
	p.snapshot(t, first, changed)
	g.Expect(os.Chtimes(name, info.ModTime(), info.ModTime())).To(Succeed())
	posts := 0
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			posts++
		}
		return false
	}
	order := p.order
	order.Transfers = transfer.Settings{Workers: 1}
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{order})
	g.Eventually(failing(t, m), soon).Should(ContainSubstring("listed anew"))
	p.mirrored(t, m, first, changed)
	g.Expect(posts).To(BeNumerically("<=", 3), "what is stale is not asked for again")
}

// A listing of another folder, or of a snapshot that may not be whole, is refused.
func TestAListingOfSomethingElse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *http.Request)
		says   string
	}{
		"another publication": {func(r *http.Request) {
			r.URL.Path = strings.ReplaceAll(r.URL.Path, "pub_db_articles", "pub_db_other")
		}, "pub_db_other"},
		"a later snapshot": {func(r *http.Request) { r.URL.RawQuery = "chunks=1" }, next},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.server.SetReaders([]orders.Reader{{Folder: "pub_db_articles", Token: "token"},
				{Folder: "pub_db_other", Token: "token"}})
			contents := map[string][]byte{"a": []byte("abc")}
			p.snapshot(t, first, contents)
			p.snapshot(t, next, contents)
			put(t, filepath.Join(p.snapshots, tree, "pub_db_other", first), contents)
			p.before = func(_ http.ResponseWriter, r *http.Request) bool { c.change(r); return false }
			m := p.keeper()
			m.Set(t.Context(), []orders.Mirror{p.order})
			g.Eventually(failing(t, m), soon).Should(And(ContainSubstring("was not asked for"), ContainSubstring(c.says)))
			left, err := os.ReadDir(p.mirrors)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left).To(BeEmpty())
		})
	}
}

// A listing that does not end takes no more memory than one may.
func TestAListingWithoutEnd(t *testing.T) {
	p := newPair(t)
	p.before = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `{"folder":"`)
		for part := bytes.Repeat([]byte("a"), 1<<20); ; {
			if _, err := w.Write(part); err != nil {
				return true
			}
		}
	}
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	NewWithT(t).Eventually(failing(t, m), soon).Should(ContainSubstring("read the distributor's listing"))
}

// Of a snapshot that is too large no chunks are looked for: they would have to be kept.
func TestASnapshotThatIsTooLargeForChunks(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.server.chunked = 9 << 20
	contents := map[string][]byte{"a.bcp": random(1, 5<<20), "b.bcp": random(2, 5<<20)}
	p.snapshot(t, first, contents)
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	p.mirrored(t, m, first, contents)
	g.Expect(p.server.index.Len()).To(Equal(2))
	g.Expect(p.server.index.Chunks()).To(BeZero())
	contents = map[string][]byte{"a.bcp": contents["a.bcp"]}
	p.snapshot(t, next, contents)
	order := p.order
	order.Generation = "2026-11-20T11:30:00"
	m.Set(t.Context(), []orders.Mirror{order})
	p.mirrored(t, m, next, contents)
	g.Expect(p.server.index.Chunks()).To(BeNumerically(">", 1))
}

// Mirrors whose listings take more memory together than one may copy one after the other.
func TestRoomForListings(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": random(1, 6<<20)}
	p.snapshot(t, first, contents)
	m := p.keeper()
	g.Expect(m.room.Acquire(t.Context(), maxChunks)).To(Succeed())
	m.Set(t.Context(), []orders.Mirror{p.order})
	g.Eventually(p.sent.Load, soon).Should(BeNumerically(">", 0))
	g.Consistently(func() State { return m.Statuses()[0].State }, "100ms").Should(Equal(Waiting))
	m.room.Release(maxChunks)
	p.mirrored(t, m, first, contents)
	g.Eventually(func() bool { return m.room.TryAcquire(maxChunks) }, soon).Should(BeTrue(), "all of it is given back")
}

// An attempt that brought nothing is followed by a longer pause than the one before.
func TestPausesGrow(t *testing.T) {
	g := NewWithT(t)
	g.Expect(pauseAfter(0)).To(Equal(retryPause))
	g.Expect(pauseAfter(1)).To(Equal(2 * retryPause))
	for _, many := range []int{4, 100, 1 << 40} {
		g.Expect(pauseAfter(many)).To(Equal(longestPause))
	}
}

// A source that says nothing is asked again on another connection, and is waited for twice as long each time: it may be
// reading files.
func TestASourceThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.snapshot(t, first, map[string][]byte{"a": []byte("abc")})
	var asked atomic.Int32
	p.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if asked.Add(1) > 1 {
			return false
		}
		<-r.Context().Done()
		return true
	}
	m := p.keeper()
	m.answer = 50 * time.Millisecond
	m.Set(t.Context(), []orders.Mirror{p.order})
	g.Eventually(failing(t, m), soon).Should(ContainSubstring("timeout awaiting response headers"))
	g.Eventually(func() State { return m.Statuses()[0].State }, soon).Should(Equal(Verified))
	for failed, want := range map[int]time.Duration{0: answerTime, 1: 2 * answerTime, 5: listTime, 1 << 40: listTime} {
		s, err := p.keeper().source(p.order, nil, failed)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.client.Transport).To(HaveField("ResponseHeaderTimeout", want))
	}
}

// A source that does not end its listing keeps no other mirror from reading its own, and is given up.
func TestAListingThatStops(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.server.SetReaders([]orders.Reader{{Folder: "pub_db_articles", Token: "token"},
		{Folder: "pub_db_other", Token: "token"}})
	contents := map[string][]byte{"a": []byte("abc")}
	p.snapshot(t, first, contents)
	begun := make(chan struct{})
	var asked atomic.Int32
	p.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "pub_db_other") {
			return false
		}
		_, _ = io.WriteString(w, `{"folder":"`)
		_ = http.NewResponseController(w).Flush()
		if asked.Add(1) == 1 {
			close(begun)
		}
		<-r.Context().Done()
		return true
	}
	other := p.order
	other.Subscription, other.Folder = "cork", "pub_db_other"
	m := p.keeper()
	m.stall = time.Hour
	m.Set(t.Context(), []orders.Mirror{other})
	g.Eventually(begun, soon).Should(BeClosed())
	m.Set(t.Context(), []orders.Mirror{p.order, other})
	g.Eventually(func() Status { return m.Statuses()[1] }, soon).Should(And(HaveField("Subscription", "dublin"),
		HaveField("State", Verified)))
	g.Expect(m.Statuses()[0].State).To(Equal(Waiting))
	g.Expect(asked.Load()).To(BeEquivalentTo(1))

	m = p.keeper()
	m.stall = 50 * time.Millisecond
	m.Set(t.Context(), []orders.Mirror{other})
	g.Eventually(failing(t, m), soon).Should(And(ContainSubstring("read the distributor's listing"),
		ContainSubstring("nothing came for 50ms")))
}
