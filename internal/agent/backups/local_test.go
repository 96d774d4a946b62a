// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// The sets of a database whose name begins with a dot are there after a restart of the agent.
func TestSetsOfADottedDatabase(t *testing.T) {
	for _, name := range []string{".archive", ".gone-archive"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), setsDir)
			l := &local{dir: dir}
			d := taken("one", backup.Log, time.Minute, "10", "20")
			d.Database = name
			at := filepath.Join(dir, newPrefix+"x")
			g.Expect(os.MkdirAll(at, 0o750)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(at, "1.bak"), []byte("a"), 0o600)).To(Succeed())
			g.Expect(l.add(at, d)).To(Succeed())
			file := l.path(Own{Description: d}, "1.bak")
			g.Expect(file).To(BeAnExistingFile())

			again := &local{dir: dir}
			g.Expect(again.load()).To(Succeed())
			g.Expect(file).To(BeAnExistingFile(), "load removed a set that nobody has")
			g.Expect(again.all("web", "group/content")).To(HaveLen(1))
			gone := filepath.Join(dir, gonePrefix+"two")
			g.Expect(os.Mkdir(gone, 0o750)).To(Succeed())
			g.Expect((&local{dir: dir}).load()).To(Succeed())
			g.Expect(gone).NotTo(BeADirectory(), "what is left of a set that was removed goes")
		})
	}
}

// Where a set is, is noted on a volume that may not answer; whoever asks for the status does not wait for it.
func TestWhoAsksForSetsDoesNotWaitForTheVolume(t *testing.T) {
	g := NewWithT(t)
	l := &local{dir: filepath.Join(t.TempDir(), setsDir)}
	d := taken("one", backup.Log, time.Minute, "10", "20")
	own := Own{Description: d}
	at := filepath.Join(l.dir, newPrefix+"x")
	g.Expect(os.MkdirAll(at, 0o750)).To(Succeed())
	g.Expect(l.add(at, d)).To(Succeed())
	note := l.path(own, storedName) + ".next"
	for what, noting := range map[string]func() error{
		"stored": func() error { return l.stored(own, "bucket", noon) },
		"lost":   func() error { return l.lost(own, "bucket") },
	} {
		// To open it for writing hangs until somebody reads.
		g.Expect(syscall.Mkfifo(note, 0o600)).To(Succeed())
		noted := make(chan error, 1)
		go func() { noted <- noting() }()
		g.Eventually(func() bool {
			free := l.noting.TryLock()
			if free {
				l.noting.Unlock()
			}
			return free
		}, time.Minute).Should(BeFalse(), what)
		answered := make(chan []Own)
		for range 100 {
			go func() { answered <- l.all("web", "group/content") }()
			g.Eventually(answered, time.Minute).Should(Receive(HaveLen(1)), what)
		}
		reader, err := os.OpenFile(note, os.O_RDONLY, 0)
		g.Expect(err).NotTo(HaveOccurred())
		g.Eventually(noted, time.Minute).Should(Receive(HaveOccurred()), "no such file is flushed")
		g.Expect(reader.Close()).To(Succeed())
		g.Expect(os.Remove(note)).To(Succeed())
		g.Expect(l.all("web", "group/content")[0].In).To(BeEmpty(), "what is not on disk is not so")
	}
	g.Expect(l.stored(own, "bucket", noon)).To(Succeed())
	g.Expect(l.all("web", "group/content")[0].In).To(HaveKey("bucket"))
	again := &local{dir: l.dir}
	g.Expect(again.load()).To(Succeed())
	g.Expect(again.all("web", "group/content")[0].In).To(HaveKey("bucket"))
	g.Expect(l.lost(own, "bucket")).To(Succeed())
	g.Expect(l.all("web", "group/content")[0].In).To(BeEmpty())
}
