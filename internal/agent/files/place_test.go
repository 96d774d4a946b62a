// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
)

// A record that cannot be written keeps no snapshot from being whole, and leaves nothing behind.
func TestASnapshotWithoutARecord(t *testing.T) {
	contents := map[string][]byte{"Article_2.bcp": random(1, 1<<20)}
	for name, there := range map[string]bool{"brought": false, "in place": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.snapshot(t, first, contents)
			// No file takes the place of a folder.
			put(t, p.at(recordName(first)), map[string][]byte{"a": nil})
			if there {
				put(t, p.at(first), contents)
			}
			m := p.keeper()
			m.Set(t.Context(), []orders.Mirror{p.order})
			g.Expect(p.mirrored(t, m, first, contents).Message).To(BeEmpty())
			g.Expect(p.at(recordName(first) + ".next")).NotTo(BeAnExistingFile())
		})
	}
}

// The records of snapshots that are gone go, and what a process that was killed has left of one.
func TestRecordsOfSnapshotsThatAreGone(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": []byte("x")}
	p.snapshot(t, next, contents)
	put(t, p.at("20261120090000"), contents)
	put(t, p.at(), map[string][]byte{".20261120080000.record": nil, ".20261120090000.record": nil, ".other.record": nil,
		recordName(next) + ".next": nil})
	order := p.order
	order.Generation = "2026-11-20T11:30:00"
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{order})
	p.mirrored(t, m, next, contents)
	left, err := os.ReadDir(p.at())
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, e := range left {
		names = append(names, filepath.Base(e.Name()))
	}
	g.Expect(names).To(ConsistOf("20261120090000", next, ".20261120090000.record", recordName(next), ".other.record"))
}

// What cannot be removed keeps nothing from being fetched, and is told.
func TestWhatCannotBeRemoved(t *testing.T) {
	for name, former := range map[string]bool{"chunks": false, "ranges": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.former.Store(former)
			contents := map[string][]byte{"Article_2.bcp": random(1, 1<<20)}
			p.snapshot(t, next, contents)
			put(t, p.at(next), map[string][]byte{"theirs": []byte("x")})
			put(t, p.at(partialName(first)), map[string][]byte{"theirs": []byte("x")})
			m := p.keeper()
			var refuse atomic.Bool
			refuse.Store(true)
			m.removeAll = func(name string) error {
				if refuse.Load() {
					return &fs.PathError{Op: "remove", Path: name, Err: syscall.EACCES}
				}
				return os.RemoveAll(name)
			}
			order := p.order
			order.Generation = "2026-11-20T11:30:00"
			m.Set(t.Context(), []orders.Mirror{order})
			g.Expect(p.mirrored(t, m, next, contents).Message).To(ContainSubstring("permission denied"))
			refuse.Store(false)
			m = p.keeper()
			m.Set(t.Context(), []orders.Mirror{order})
			g.Expect(p.mirrored(t, m, next, contents).Message).To(BeEmpty())
			g.Expect(p.at("." + next + ".aside0")).NotTo(BeADirectory())
			g.Expect(p.at(partialName(first))).NotTo(BeADirectory())
		})
	}
}

// What was verified once stays where it is, whatever differs later: an agent may be reading it. A person is told what
// to do, and a newer snapshot is brought all the same.
func TestAVerifiedSnapshotThatDiffersStays(t *testing.T) {
	contents := map[string][]byte{"Article_2.bcp": random(1, 1<<20)}
	changed := map[string][]byte{"Article_2.bcp": random(2, 1<<20)}
	for name, c := range map[string]struct{ atSource, here map[string][]byte }{
		"at its source": {atSource: changed, here: contents},
		"here":          {atSource: contents, here: changed},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.snapshot(t, first, contents)
			m := p.keeper()
			m.Set(t.Context(), []orders.Mirror{p.order})
			p.mirrored(t, m, first, contents)
			m.Set(t.Context(), nil)
			before, err := os.Stat(p.at(first))
			g.Expect(err).NotTo(HaveOccurred())
			p.snapshot(t, first, c.atSource)
			put(t, p.at(first), c.here)
			m = p.keeper()
			m.Set(t.Context(), []orders.Mirror{p.order})
			g.Eventually(failing(t, m), soon).Should(And(ContainSubstring("make a new snapshot"),
				ContainSubstring("remove "+p.at(first))))
			after, err := os.Stat(p.at(first))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.SameFile(before, after)).To(BeTrue())
			g.Expect(os.ReadFile(p.at(first, "Article_2.bcp"))).To(Equal(c.here["Article_2.bcp"]))
			if name == "here" {
				g.Expect(os.RemoveAll(p.at(first))).To(Succeed())
				p.mirrored(t, m, first, c.atSource)
				return
			}
			p.snapshot(t, next, contents)
			order := p.order
			order.Generation = "2026-11-20T11:30:00"
			m.Set(t.Context(), []orders.Mirror{order})
			p.mirrored(t, m, next, contents)
		})
	}
}

// A publication's mirror forgets what was read of its own folders, not of one whose name goes on.
func TestFolderNamesThatBeginAlike(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	contents := map[string][]byte{"Article_2.bcp": []byte("x")}
	p.snapshot(t, next, contents)
	put(t, p.at(first), contents)
	other := p.at() + "2"
	put(t, other, contents)
	m := p.keeper()
	_, err := m.index.Describe(t.Context(), func(n string) (fs.File, error) { return os.Open(n) },
		filepath.Join(other, "Article_2.bcp"), true)
	g.Expect(err).NotTo(HaveOccurred())
	order := p.order
	order.Generation = "2026-11-20T11:30:00"
	m.Set(t.Context(), []orders.Mirror{order})
	p.mirrored(t, m, next, contents)
	g.Expect(m.index.Len()).To(Equal(1))
}

// Files are read for their checksums when it is their turn, with whatever else reads on this volume.
func TestFilesInPlaceAreReadInTurn(t *testing.T) {
	for name, former := range map[string]bool{"a folder in place": false, "what came in ranges": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			contents := map[string][]byte{"Article_2.bcp": random(1, 1<<20)}
			p.snapshot(t, first, contents)
			p.former.Store(former)
			if !former {
				put(t, p.at(first), contents)
			}
			m := p.keeper()
			free, inside := make(chan struct{}), make(chan struct{})
			for range 2 {
				go func() {
					_ = m.limits.Reading(t.Context(), "another", func() error {
						inside <- struct{}{}
						<-free
						return nil
					})
				}()
				<-inside
			}
			m.Set(t.Context(), []orders.Mirror{p.order})
			g.Eventually(func() State { return m.Statuses()[0].State }, soon).Should(Equal(Copying))
			if former {
				g.Eventually(func() int64 { return m.Statuses()[0].Bytes }, soon).Should(BeEquivalentTo(1 << 20))
			}
			g.Consistently(func() State { return m.Statuses()[0].State }, 300*time.Millisecond).Should(Equal(Copying))
			close(free)
			p.mirrored(t, m, first, contents)
		})
	}
}
