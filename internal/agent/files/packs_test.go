// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// packedOnce has the source pack for its reader, however full the machine's own volume is.
func (p *pair) packedOnce() []orders.Reader {
	p.server.packs.volume = func(string) (capacity, free int64, err error) { return 100 << 30, 50 << 30, nil }
	readers := []orders.Reader{{Folder: "pub_db_articles", Token: "token", Packed: true}}
	p.server.SetReaders(readers)
	return readers
}

// pack is the file of a snapshot's pack.
func (p *pair) pack(snapshot string) string {
	return filepath.Join(p.snapshots, packsFolder, "pub_db_articles", snapshot+packSuffix)
}

// rows shrink, as those that bcp writes do.
func rows(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%08d|the title of article %d|and what it says, which is much the same as the others say;", i, i*i)
	}
	return b.Bytes()[:n]
}

// A snapshot is packed for the first subscriber that asks for it, whatever that one's site says of compression, and the
// others get what is kept. That goes with the snapshot, with a newer one, and with the last who is to have it so.
func TestASnapshotIsPackedOnce(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	readers := p.packedOnce()
	contents := map[string][]byte{"Article_2.bcp": rows(8 << 20), "Article_2.sch": []byte("x")}
	p.snapshot(t, first, contents)
	order := p.order
	order.Transfers = transfer.Settings{Compression: transfer.Never}
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{order})
	status := p.mirrored(t, m, first, contents)
	g.Expect(status.MovedBytes).To(BeNumerically("<", status.Total/2))
	kept, err := os.ReadFile(p.pack(first))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(kept)).To(BeNumerically("~", status.MovedBytes, 4<<10))

	p.mirrors = t.TempDir()
	m = p.keeper()
	m.Set(t.Context(), []orders.Mirror{order})
	status = p.mirrored(t, m, first, contents)
	g.Expect(status.MovedBytes).To(BeNumerically("~", len(kept), 4<<10))
	g.Expect(os.ReadFile(p.pack(first))).To(Equal(kept), "nothing is packed again")
	g.Expect(p.server.prunePacks()).To(Succeed())
	g.Expect(p.pack(first)).To(BeARegularFile(), "the next one who asks gets it")

	p.snapshot(t, next, map[string][]byte{"Article_2.bcp": rows(3 << 20)})
	order.Generation = "2026-11-20T11:30:00"
	m.Set(t.Context(), []orders.Mirror{order})
	p.mirrored(t, m, next, nil)
	g.Expect(p.pack(first)).NotTo(BeAnExistingFile())

	readers[0].Packed = false
	p.server.SetReaders(readers)
	g.Expect(p.server.prunePacks()).To(Succeed())
	g.Expect(filepath.Dir(p.pack(next))).NotTo(BeADirectory())
}

// What is packed of a snapshot that is gone goes; but not before anybody has said who is to have it.
func TestPacksOfSnapshotsThatAreGone(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.packedOnce()
	p.snapshot(t, first, map[string][]byte{"a": rows(1 << 20)})
	another := filepath.Join(filepath.Dir(p.pack(first)), "notes.txt")
	put(t, filepath.Dir(p.pack(first)), map[string][]byte{first + packSuffix: nil, next + packSuffix: nil,
		filepath.Base(another): nil})
	put(t, filepath.Dir(filepath.Dir(another)), map[string][]byte{"a file": nil})
	unknown := NewServer(p.snapshots, p.server.log)
	g.Expect(unknown.prunePacks()).To(Succeed())
	g.Expect(p.pack(next)).To(BeARegularFile())
	g.Expect(p.server.prunePacks()).To(Succeed())
	g.Expect(p.pack(next)).NotTo(BeAnExistingFile())
	g.Expect(p.pack(first)).To(BeARegularFile())
	g.Expect(another).To(BeARegularFile(), "it is no pack")
}

// On a volume with room for backups alone nothing is kept, and the snapshot comes packed all the same.
func TestPacksOnAFullVolume(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.packedOnce()
	p.server.packs.volume = func(string) (capacity, free int64, err error) { return 100 << 30, 5 << 30, nil }
	contents := map[string][]byte{"Article_2.bcp": rows(8 << 20)}
	p.snapshot(t, first, contents)
	m := p.keeper()
	m.Set(t.Context(), []orders.Mirror{p.order})
	status := p.mirrored(t, m, first, contents)
	g.Expect(status.MovedBytes).To(BeNumerically("<", status.Total/2))
	kept, err := os.ReadFile(p.pack(first))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(BeEmpty())
}

// Who asks for what is no snapshot makes no files.
func TestPacksOfNoSnapshot(t *testing.T) {
	p := newPair(t)
	readers := p.packedOnce()
	p.snapshot(t, first, map[string][]byte{"a": []byte("x")})
	root, err := os.OpenRoot(p.snapshots)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = root.Close() })
	for _, name := range []string{"..", "20261120110000", "x", first + "/a"} {
		NewWithT(t).Expect(p.server.pack(root, readers[0], "pub_db_articles", name)).To(BeNil(), name)
	}
	NewWithT(t).Expect(filepath.Join(p.snapshots, packsFolder)).NotTo(BeADirectory())
}
