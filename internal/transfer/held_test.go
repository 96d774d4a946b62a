// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// What an interrupted transfer leaves says for each file what is there of it, and goes with the end of the transfer.
func TestWhatATransferLeaves(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	contents := map[string][]byte{"a.bcp": noise(1, 64<<20), "sub/b.sch": []byte("x")}
	files := p.describe(t, contents)
	dir := t.TempDir()
	p.allowed.Store(32 << 20)
	job := p.transfer(dir, files)
	job.Limits.Set(Settings{Workers: 1})
	g.Expect(job.Run(t.Context())).NotTo(Succeed())
	var bare []File
	for _, f := range files {
		f.Chunks = nil
		bare = append(bare, f)
	}
	left := Held(dir, bare)
	total := int64(0)
	for name, extents := range left {
		content, err := os.ReadFile(filepath.Join(dir, name))
		g.Expect(err).NotTo(HaveOccurred())
		for _, e := range extents {
			total += e.Length
			g.Expect(content[e.Offset : e.Offset+e.Length]).To(Equal(contents[name][e.Offset : e.Offset+e.Length]))
		}
	}
	g.Expect(total).To(Equal(job.Meter.Progress().Here))
	g.Expect(total).To(BeNumerically(">", 1<<20))

	others := append([]File{}, bare...)
	for i := range others {
		others[i].SHA256 = "another"
	}
	g.Expect(Held(dir, others)).To(BeEmpty())
	for i := range others {
		others[i] = bare[i]
		others[i].Size = 1
	}
	g.Expect(Held(dir, others)).NotTo(HaveKey("a.bcp"), "it would be outside")

	p.allowed.Store(1 << 60)
	g.Expect(p.transfer(dir, files).Run(t.Context())).To(Succeed())
	g.Expect(same(dir, contents)).To(BeEmpty(), "nothing else is there")
	g.Expect(Held(dir, bare)).To(BeEmpty())
}

// Spans that no transfer has written are none.
func TestSpansThatAreHeld(t *testing.T) {
	for name, c := range map[string]struct {
		recorded string
		all      []Extent
	}{
		"nothing":     {"", nil},
		"one":         {`{"path":"a","sha256":"s","extents":[{"offset":3,"length":7}]}`, []Extent{{3, 7}}},
		"torn":        {`{"path":"a","sha256":"s","extents":[{"offset":3,"le`, nil},
		"no length":   {`{"path":"a","sha256":"s","extents":[{"offset":3,"length":0}]}`, nil},
		"before":      {`{"path":"a","sha256":"s","extents":[{"offset":-1,"length":2}]}`, nil},
		"behind":      {`{"path":"a","sha256":"s","extents":[{"offset":9,"length":2}]}`, nil},
		"far behind":  {`{"path":"a","sha256":"s","extents":[{"offset":9,"length":9223372036854775807}]}`, nil},
		"not apart":   {`{"path":"a","sha256":"s","extents":[{"offset":0,"length":2},{"offset":1,"length":2}]}`, nil},
		"of none":     {`{"path":"b","sha256":"s","extents":[{"offset":0,"length":2}]}`, nil},
		"other bytes": {`{"path":"a","sha256":"t","extents":[{"offset":0,"length":2}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			write(t, dir, map[string][]byte{heldName: []byte(c.recorded)})
			g.Expect(Held(dir, []File{{Path: "a", Size: 10, SHA256: "s"}})["a"]).To(Equal(c.all))
			g.Expect(ForgetHeld(dir)).To(Succeed())
			g.Expect(ForgetHeld(dir)).To(Succeed())
			g.Expect(Held(dir, []File{{Path: "a", Size: 10, SHA256: "s"}})).To(BeEmpty())
		})
	}
}
