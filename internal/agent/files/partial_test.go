// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A part that is here costs a line of its record, however many are there already.
func TestAPartCostsOneLine(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	file := File{Path: "big.bcp", Size: 1000*partSize + 5, SHA256: "sum"}
	f, err := openPartial(dir, file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	before, err := os.Stat(partsName(dir, file))
	g.Expect(err).NotTo(HaveOccurred())
	for n, p := range f.parts()[:900] {
		g.Expect(f.mark(p)).To(Succeed())
		after, err := os.Stat(partsName(dir, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.SameFile(before, after)).To(BeTrue(), "it is not written anew")
		g.Expect(after.Size()-before.Size()).To(BeNumerically("<", 16), "part %d", n)
		before = after
	}
	f.close()

	record, err := os.OpenFile(partsName(dir, file), os.O_APPEND|os.O_WRONLY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = record.WriteString("79")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.Close()).To(Succeed())
	f, err = openPartial(dir, file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.missing()).To(HaveLen(101), "a torn line is no part")
	g.Expect(f.have).To(Equal(int64(900 * partSize)))
	g.Expect(f.mark(f.missing()[0])).To(Succeed())
	f.close()
	f, err = openPartial(dir, file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.missing()).To(HaveLen(100))
	f.close()

	file.SHA256 = "another"
	f, err = openPartial(dir, file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.missing()).To(HaveLen(1001), "of another file nothing is here")
	f.close()
}

// The record of an earlier release has all parts in one line.
func TestARecordOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	file := File{Path: "big.bcp", Size: 3 * partSize, SHA256: "sum"}
	g.Expect(os.WriteFile(partsName(dir, file), fmt.Appendf(nil, `{"sha256":"sum","parts":[0,%d]}`, 2*partSize), 0o600)).
		To(Succeed())
	f, err := openPartial(dir, file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.close()
	g.Expect(f.missing()).To(Equal([]part{{partSize, partSize}}))
}

// Checksums of snapshots that were followed by another one are not kept: there is one of each file for as long as a
// distributor's sidecar lives.
func TestChecksumsOfFormerSnapshotsAreForgotten(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	s := NewServer(dir, slog.New(slog.NewTextHandler(io.Discard, nil)))
	for n := range 5 {
		for _, folder := range []string{"one", "one-and-more"} {
			at := filepath.Join(dir, tree, folder, fmt.Sprintf("2026112010000%d", n))
			g.Expect(os.MkdirAll(at, 0o750)).To(Succeed())
			for _, name := range []string{"a.bcp", "a.sch"} {
				g.Expect(os.WriteFile(filepath.Join(at, name), []byte(name), 0o600)).To(Succeed())
			}
			root, err := os.OpenRoot(dir)
			g.Expect(err).NotTo(HaveOccurred())
			listing, err := s.list(t.Context(), root, folder, "", "")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(listing.Files).To(HaveLen(2))
			g.Expect(root.Close()).To(Succeed())
		}
	}
	g.Expect(s.index.Len()).To(Equal(4))
}
