// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// falling is a mirror whose source knows chunks until some have come, and none any more.
type falling struct {
	*pair

	mirrors atomic.Pointer[Mirrors]
	// held is what had come in chunks, and asked what was asked for in ranges, in bytes.
	held, asked atomic.Int64
	// least is the least that the mirror said it had when ranges were asked for, -1 before.
	least atomic.Int64
}

func newFalling(t *testing.T, contents map[string][]byte) *falling {
	t.Helper()
	f := &falling{pair: newPair(t)}
	f.least.Store(-1)
	f.snapshot(t, first, contents)
	f.before = func(_ http.ResponseWriter, r *http.Request) bool {
		var from, to int64
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n != 2 {
			return false
		}
		f.asked.Add(to - from + 1)
		here := f.mirrors.Load().Statuses()[0].Bytes
		if least := f.least.Load(); least < 0 || here < least {
			f.least.Store(here)
		}
		return false
	}
	return f
}

// start begins a mirror, with one stream. It is broken off after so many chunks, once, and then its source has none.
func (f *falling) start(t *testing.T, chunks int32) *Mirrors {
	t.Helper()
	m := f.keeper()
	var fetched atomic.Int32
	m.at = func(step string) error {
		if step != "fetched" || fetched.Add(1) != chunks {
			return nil
		}
		f.held.Store(m.Statuses()[0].Bytes)
		f.former.Store(true)
		return errors.New("broken off")
	}
	f.mirrors.Store(m)
	order := f.order
	order.Transfers = transfer.Settings{Workers: 1}
	m.Set(t.Context(), []orders.Mirror{order})
	return m
}

// whole expects the snapshot in its place, and nothing else.
func (f *falling) whole(t *testing.T, m *Mirrors, contents map[string][]byte) Status {
	t.Helper()
	status := f.mirrored(t, m, first, contents)
	left, err := filepath.Glob(f.at(first, ".*"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(left).To(BeEmpty())
	return status
}

// What came in chunks is not fetched again when the source knows none any more, by whatever process: the count goes on,
// and what another process finds counts as reused.
func TestASourceForgetsChunksAtHalf(t *testing.T) {
	contents := map[string][]byte{"a.bcp": random(1, 3<<20), "b.bcp": random(2, 20<<20+17), "c.sch": []byte("x")}
	for name, another := range map[string]bool{"the same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFalling(t, contents)
			m := f.start(t, 7)
			if another {
				g.Eventually(failing(t, m), soon).Should(ContainSubstring("broken off"))
				m.Set(t.Context(), nil)
				m = f.start(t, 0)
			}
			status := f.whole(t, m, contents)
			held := f.held.Load()
			g.Expect(held).To(BeNumerically(">", 1<<20))
			g.Expect(f.asked.Load()).To(Equal(status.Total - held))
			g.Expect(f.least.Load()).To(BeNumerically(">=", held), "the count does not go back")
			g.Expect(status.Bytes).To(Equal(status.Total))
			if another {
				g.Expect(status.ReusedBytes).To(Equal(held))
				g.Expect(status.MovedBytes).To(Equal(status.Total - held))
			} else {
				g.Expect(status.ReusedBytes).To(BeZero())
				g.Expect(status.MovedBytes).To(BeNumerically(">=", status.Total))
			}
		})
	}
}

// What is recorded of chunks and is wrong shows in the checksum, and costs its file alone, once.
func TestWhatIsHeldIsVerified(t *testing.T) {
	g := NewWithT(t)
	contents := map[string][]byte{"a.bcp": random(1, 3<<20), "b.bcp": random(2, 20<<20)}
	f := newFalling(t, contents)
	m := f.start(t, 7)
	g.Eventually(failing(t, m), soon).Should(ContainSubstring("broken off"))
	m.Set(t.Context(), nil)
	file, err := os.OpenFile(f.at(partialName(first), "b.bcp"), os.O_WRONLY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = file.WriteAt([]byte("other bytes"), 100)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(file.Close()).To(Succeed())
	m = f.start(t, 0)
	g.Eventually(failing(t, m), soon).Should(ContainSubstring("it is copied again"))
	status := f.whole(t, m, contents)
	g.Expect(f.asked.Load()).To(Equal(status.Total - f.held.Load() + 20<<20))
}

// A source that knows chunks again is asked for what came neither in chunks nor in ranges.
func TestASourceKnowsChunksAgain(t *testing.T) {
	g := NewWithT(t)
	contents := map[string][]byte{"a.bcp": random(1, 3<<20), "b.bcp": random(2, 40<<20)}
	f := newFalling(t, contents)
	counted := f.before
	var ranges atomic.Int32
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		counted(w, r)
		if r.Header.Get("Range") == "" || ranges.Add(1) != 3 {
			return false
		}
		f.former.Store(false)
		http.Error(w, "no", http.StatusInternalServerError)
		return true
	}
	m := f.start(t, 7)
	status := f.whole(t, m, contents)
	g.Expect(ranges.Load()).To(BeEquivalentTo(3))
	// What was under way, twice, and a chunk at the end of what came in ranges.
	g.Expect(status.MovedBytes).To(BeNumerically("<", status.Total+20<<20))
	g.Expect(f.sent.Load()).To(BeNumerically("<", status.Total+30<<20))
}

// The spans between those that are held are fetched, and a part is recorded when all of it is here.
func TestSpansBetweenThoseThatAreHeld(t *testing.T) {
	const p = partSize
	for name, c := range map[string]struct {
		held    []transfer.Extent
		missing []part
	}{
		"nothing is":               {nil, []part{{0, p}, {p, p}, {2 * p, 5}}},
		"all is":                   {[]transfer.Extent{{Offset: 0, Length: 2*p + 5}}, nil},
		"the beginning":            {[]transfer.Extent{{Offset: 0, Length: 7}}, []part{{7, p - 7}, {p, p}, {2 * p, 5}}},
		"the end":                  {[]transfer.Extent{{Offset: 2*p + 1, Length: 4}}, []part{{0, p}, {p, p}, {2 * p, 1}}},
		"from one part to another": {[]transfer.Extent{{Offset: p - 1, Length: p + 2}}, []part{{0, p - 1}, {2*p + 1, 4}}},
		"some of one, and all of one": {
			[]transfer.Extent{{Offset: 3, Length: 2}, {Offset: 9, Length: 1}, {Offset: p, Length: p}},
			[]part{{0, 3}, {5, 4}, {10, p - 10}, {2 * p, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir, file := t.TempDir(), File{Path: "big.bcp", Size: 2*p + 5, SHA256: "sum"}
			f, err := openPartial(dir, file, c.held)
			g.Expect(err).NotTo(HaveOccurred())
			missing, lacking := f.missing(), int64(0)
			g.Expect(missing).To(Equal(c.missing))
			for _, one := range missing {
				lacking += one.length
			}
			g.Expect(f.have + lacking).To(Equal(file.Size))
			for n, one := range missing {
				g.Expect(f.mark(one)).To(Succeed())
				g.Expect(f.done).To(HaveLen(3 - parts(missing[n+1:])))
			}
			f.close()
			f, err = openPartial(dir, file, nil)
			g.Expect(err).NotTo(HaveOccurred())
			defer f.close()
			g.Expect(f.missing()).To(BeEmpty())
		})
	}
}

// parts is of how many parts spans are.
func parts(spans []part) int {
	of := map[int64]bool{}
	for _, one := range spans {
		of[one.offset/partSize] = true
	}
	return len(of)
}
