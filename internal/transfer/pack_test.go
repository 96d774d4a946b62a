// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

func anyRoom(int64) bool { return true }

// opened is a pack, with what a buffer takes of it.
type opened struct{ *Pack }

func open(t *testing.T, name string, room func(int64) bool) opened {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(filepath.Dir(name)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer root.Close()
	p, err := OpenPack(root, path.Join(filepath.Base(filepath.Dir(name)), filepath.Base(name)), room)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return opened{p}
}

func (o opened) has(content string) (string, bool) {
	got, ok := o.get(Sum(sha256.Sum256([]byte(content))), make([]byte, maxChunk+64<<10))
	return string(got), ok
}

func (o opened) keep(content, packed string) {
	o.put(Sum(sha256.Sum256([]byte(content))), []byte(packed))
}

// What a pack keeps is there when it is opened again, but what was torn off at the end, or has flipped since: that is
// packed anew.
func TestAPack(t *testing.T) {
	g := NewWithT(t)
	name := filepath.Join(t.TempDir(), "folder", "one.pack")
	p := open(t, name, anyRoom)
	for i := range 3 {
		p.keep(fmt.Sprint("chunk ", i), fmt.Sprint("packed ", i))
	}
	p.keep("does not shrink", "")
	p.keep("chunk 1", "packed once more")
	expect := func(p opened, content, packed string, there bool) {
		t.Helper()
		got, ok := p.has(content)
		g.Expect(ok).To(Equal(there), content)
		g.Expect(got).To(Equal(packed), content)
	}
	for range 2 {
		expect(p, "chunk 0", "packed 0", true)
		expect(p, "chunk 1", "packed 1", true)
		expect(p, "does not shrink", "", true)
		expect(p, "another", "", false)
		p.Leave()
		p = open(t, name, anyRoom)
	}
	p.Leave()

	content, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(name, append(content, content[:packHead+3]...), 0o660)).To(Succeed())
	at := bytes.Index(content, []byte("packed 1"))
	content[at] ^= 1
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = file.WriteAt(content[at:at+1], int64(at))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(file.Close()).To(Succeed())
	p = open(t, name, anyRoom)
	info, err := os.Stat(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Size()).To(BeEquivalentTo(len(content)), "what was torn is cut")
	expect(p, "chunk 1", "", false)
	p.keep("chunk 1", "packed anew")
	expect(p, "chunk 1", "packed anew", true)
	expect(p, "chunk 2", "packed 2", true)
	p.Leave()
	p = open(t, name, anyRoom)
	expect(p, "chunk 1", "packed anew", true)
	expect(p, "does not shrink", "", true)

	g.Expect(p.Use()).To(BeTrue())
	p.Leave()
	expect(p, "chunk 0", "packed 0", true)
	p.Leave()
	g.Expect(p.Use()).To(BeFalse(), "it is closed")
}

// A link in place of a pack that leads elsewhere is not followed: what it leads to would be cut.
func TestAPackElsewhere(t *testing.T) {
	g := NewWithT(t)
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "another's")
	g.Expect(os.WriteFile(elsewhere, []byte("no pack"), 0o660)).To(Succeed())
	g.Expect(os.Symlink(elsewhere, filepath.Join(dir, "one.pack"))).To(Succeed())
	g.Expect(os.Symlink(filepath.Dir(elsewhere), filepath.Join(dir, "folder"))).To(Succeed())
	root, err := os.OpenRoot(dir)
	g.Expect(err).NotTo(HaveOccurred())
	defer root.Close()
	for _, name := range []string{"one.pack", "folder/another's", "folder/new.pack"} {
		_, err = OpenPack(root, name, anyRoom)
		g.Expect(err).To(MatchError(ContainSubstring("escapes")), name)
	}
	g.Expect(os.ReadFile(elsewhere)).To(Equal([]byte("no pack")))
	g.Expect(filepath.Join(filepath.Dir(elsewhere), "new.pack")).NotTo(BeAnExistingFile())
}

// Where there is no room nothing more is kept, and what is kept is given out.
func TestAPackWithoutRoom(t *testing.T) {
	g := NewWithT(t)
	room := true
	p := open(t, filepath.Join(t.TempDir(), "one.pack"), func(int64) bool { return room })
	defer p.Leave()
	p.keep("a", "A")
	room = false
	p.keep("b", "B")
	got, ok := p.has("a")
	g.Expect(ok).To(BeTrue())
	g.Expect(got).To(Equal("A"))
	_, ok = p.has("b")
	g.Expect(ok).To(BeFalse())
}

// A chunk is read and packed for the first who asks, whatever the receiver says of compression; the next one gets what
// is kept.
func TestAPackIsFilledOnce(t *testing.T) {
	g := NewWithT(t)
	p := newPeer(t)
	var reads atomic.Int32
	p.reads = func() { reads.Add(1) }
	noise := make([]byte, 2<<20)
	_, err := rand.NewChaCha8([32]byte{1}).Read(noise)
	g.Expect(err).NotTo(HaveOccurred())
	contents := map[string][]byte{"rows.bcp": rows(1, 6<<20), "noise.bcp": noise}
	write(t, p.dir, contents)
	described := p.describe(t, contents)
	p.pack = open(t, filepath.Join(t.TempDir(), "one.pack"), anyRoom).Pack
	defer p.pack.Leave()
	bring := func() int64 {
		t.Helper()
		p.sent.Store(0)
		limits := NewLimits()
		limits.Set(Settings{Compression: Never})
		job := Transfer{Dir: t.TempDir(), Files: described, Index: NewIndex(), Remote: p, Limits: limits, Meter: NewMeter()}
		g.Expect(job.Run(t.Context())).To(Succeed())
		for name, content := range contents {
			got, err := os.ReadFile(filepath.Join(job.Dir, name))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Equal(got, content)).To(BeTrue(), name)
		}
		return p.sent.Load()
	}
	first := bring()
	g.Expect(first).To(BeNumerically("<", 4<<20), "rows shrink, whatever the receiver says")
	all := reads.Swap(0)
	g.Expect(bring()).To(BeNumerically("~", first, 4<<10))
	g.Expect(reads.Load()).To(BeNumerically("<", all), "what is kept is not read again")
	g.Expect(reads.Load()).To(BeNumerically(">", 0), "what does not shrink is")
}
