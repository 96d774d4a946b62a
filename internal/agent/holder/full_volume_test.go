// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/keeper"
)

// mount gives the test a file system of its own of a few blocks.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a file system to fill (that needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill takes all room of a file system, as a database does that grows.
func fill(t *testing.T, dir string) (room func()) {
	t.Helper()
	g := NewWithT(t)
	database := filepath.Join(dir, "content.mdf")
	f, err := os.Create(database)
	g.Expect(err).NotTo(HaveOccurred())
	for block := make([]byte, 4096); ; {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	g.Expect(err).To(MatchError(syscall.ENOSPC))
	g.Expect(f.Close()).To(Succeed())
	return func() { g.Expect(os.Remove(database)).To(Succeed()) }
}

// A database that fills its volume stops no promise, since that lies elsewhere; where it lay on that volume it did.
// What an agent of a former release would find there is nothing, and not an older promise. The copy is made when there
// is room again.
func TestAFullDataVolumeStopsNoPromise(t *testing.T) {
	g := NewWithT(t)
	own, data := t.TempDir(), mount(t, "64k")
	file := func(dir string) string { return filepath.Join(dir, "geosql-agent", "promises-content.json") }
	former := holder.FileMemory{Path: file(data)}
	g.Expect(former.Save(promised(7, "quisec-0"))).To(Succeed())
	room := fill(t, data)
	g.Expect(errors.Is(former.Save(promised(8, "quisec-0")), syscall.ENOSPC)).To(BeTrue(), "on the data volume it did")

	p := promises(t, file(own), file(data))
	g.Expect(p.Load()).To(Equal(promised(7, "quisec-0")))
	g.Expect(p.Save(promised(9, "tukpub-0"))).To(Succeed())
	p.Close(t.Context())
	g.Expect(holder.FileMemory{Path: file(own)}.Load()).To(Equal(promised(9, "tukpub-0")))
	_, err := former.Load()
	g.Expect(err).To(HaveOccurred(), "who knows that place alone does not go by what is out of date")

	room()
	p = promises(t, file(own), file(data))
	g.Expect(p.Load()).To(Equal(promised(9, "tukpub-0")))
	p.Close(t.Context())
	g.Expect(former.Load()).To(Equal(promised(9, "tukpub-0")))
}

// A promise that the agent's own volume does not take is not given, whatever room there is elsewhere.
func TestAFullOwnVolumeIsAnError(t *testing.T) {
	g := NewWithT(t)
	own, data := mount(t, "64k"), t.TempDir()
	p := promises(t, filepath.Join(own, "promises.json"), filepath.Join(data, "promises.json"))
	g.Expect(p.Save(promised(7, "quisec-0"))).To(Succeed())
	room := fill(t, own)
	g.Expect(p.Save(promised(8, "tukpub-0"))).To(MatchError(ContainSubstring("keep the promises")))
	g.Expect(p.Load()).To(Equal(promised(7, "quisec-0")), "nothing was promised")
	room()
	g.Expect(p.Save(promised(8, "tukpub-0"))).To(Succeed())
	g.Expect(p.Load()).To(HaveField("Promise", keeper.Promise{Term: 8, To: "tukpub-0"}))
}
