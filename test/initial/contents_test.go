// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	// tables is of how many tables a snapshot is.
	tables = 4
	// newRow is what an edited snapshot has more than the one before, in the middle of its second table.
	newRow = "a new row\r\n"
)

// rows are what snapshots of tables have: bytes like those of a file of bcp in native form, with keys that count
// upward, words of a small vocabulary, numbers, and a part that nothing foretells. They are the same in each run.
func rows(size int) []byte {
	source := rand.New(rand.NewChaCha8([32]byte{1}))
	words := make([]string, 2000)
	for i := range words {
		words[i] = "word" + strconv.FormatUint(source.Uint64()>>40, 10)
	}
	b := make([]byte, 0, size+1024)
	for key := uint64(0); len(b) < size; key++ {
		b = append(strconv.AppendUint(append(strconv.AppendUint(b, key, 16), '|'), source.Uint64(), 10), '|')
		for range 4 + source.IntN(12) {
			b = append(append(b, words[source.IntN(len(words))]...), ' ')
		}
		b = append(b, "|2026-11-20T10:00:00|active\r\n"...)
	}
	return b[:size]
}

// snapshot writes files of all bytes into a folder; an edited one has newRow besides.
func snapshot(t testing.TB, folder string, all []byte, edited bool) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	for i := range tables {
		part := all[i*len(all)/tables : (i+1)*len(all)/tables]
		if edited && i == 1 {
			middle := len(part) / 2
			part = append(append(append(make([]byte, 0, len(part)+len(newRow)), part[:middle]...), newRow...), part[middle:]...)
		}
		g.Expect(os.WriteFile(filepath.Join(folder, fmt.Sprintf("Article_%d.bcp", i)), part, 0o644)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(folder, fmt.Sprintf("Article_%d.sch", i)), []byte("CREATE TABLE\n"), 0o644)).
			To(Succeed())
	}
}

// linked gives a folder the files of another one, without copies of them.
func linked(t testing.TB, from, to string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(os.MkdirAll(to, 0o755)).To(Succeed())
	entries, err := os.ReadDir(from)
	g.Expect(err).NotTo(HaveOccurred())
	for _, e := range entries {
		g.Expect(os.Link(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))).To(Succeed())
	}
}

// differing are the files of one folder that another one has not, or has otherwise.
func differing(t testing.TB, one, other string) (names []string) {
	t.Helper()
	g := NewWithT(t)
	entries, err := os.ReadDir(one)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).NotTo(BeEmpty())
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(one, e.Name()))
		g.Expect(err).NotTo(HaveOccurred())
		got, err := os.ReadFile(filepath.Join(other, e.Name()))
		if err != nil || !bytes.Equal(want, got) {
			names = append(names, e.Name())
		}
	}
	return names
}

// The same content comes in each run, and an edited snapshot differs in one table alone.
func TestTheContentIsTheSameInEachRun(t *testing.T) {
	g := NewWithT(t)
	all := rows(1 << 20)
	g.Expect(all).To(HaveLen(1 << 20))
	g.Expect(bytes.Equal(all, rows(1<<20))).To(BeTrue())
	old, edited := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "edited")
	snapshot(t, old, all, false)
	snapshot(t, edited, all, true)
	g.Expect(differing(t, old, edited)).To(ConsistOf("Article_1.bcp"))
	content, err := os.ReadFile(filepath.Join(edited, "Article_1.bcp"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Replace(content, []byte(newRow), nil, 1)).To(Equal(all[1<<18 : 1<<19]))
}
