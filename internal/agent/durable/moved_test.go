// SPDX-License-Identifier: Apache-2.0

package durable_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/durable"
)

// A file that moves is read where it was until it is where it is to be, and then leaves nothing behind.
func TestMoved(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	m := durable.Moved{Path: filepath.Join(dir, "own", "orders.json"), Former: filepath.Join(dir, "data", "orders.json")}
	_, err := m.Read()
	g.Expect(err).To(MatchError(fs.ErrNotExist))
	g.Expect(durable.Replace(m.Former, []byte("former"))).To(Succeed())
	g.Expect(os.WriteFile(m.Former+".next", []byte("half of it"), 0o600)).To(Succeed())
	g.Expect(m.Read()).To(BeEquivalentTo("former"))
	g.Expect(m.Replace([]byte("own"))).To(Succeed())
	g.Expect(m.Read()).To(BeEquivalentTo("own"))
	g.Expect(os.ReadDir(filepath.Dir(m.Former))).To(BeEmpty())
	g.Expect(m.Replace([]byte("again"))).To(Succeed())
	g.Expect(m.Read()).To(BeEquivalentTo("again"))
	g.Expect(durable.Moved{Path: m.Path}.Read()).To(BeEquivalentTo("again"))
}

// Of two that are there, since it ended between two steps or a former release went on, the later one counts.
func TestMovedTakesTheLater(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	m := durable.Moved{Path: filepath.Join(dir, "own"), Former: filepath.Join(dir, "former")}
	at := time.Now()
	for _, c := range []struct {
		own, former time.Duration
		want        string
	}{{0, -time.Second, "own"}, {0, 0, "own"}, {0, time.Second, "former"}} {
		g.Expect(os.WriteFile(m.Path, []byte("own"), 0o600)).To(Succeed())
		g.Expect(os.WriteFile(m.Former, []byte("former"), 0o600)).To(Succeed())
		g.Expect(os.Chtimes(m.Path, at, at.Add(c.own))).To(Succeed())
		g.Expect(os.Chtimes(m.Former, at, at.Add(c.former))).To(Succeed())
		g.Expect(m.Read()).To(BeEquivalentTo(c.want))
	}
}

// What cannot be written where it is to be stays where it was.
func TestMovedKeepsWhatIsNotMoved(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	m := durable.Moved{Path: filepath.Join(dir, "own"), Former: filepath.Join(dir, "former")}
	g.Expect(durable.Replace(m.Former, []byte("former"))).To(Succeed())
	g.Expect(os.Mkdir(m.Path+".next", 0o700)).To(Succeed())
	g.Expect(m.Replace([]byte("own"))).NotTo(Succeed())
	g.Expect(m.Read()).To(BeEquivalentTo("former"))
}

func TestEmpty(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "file")
	g.Expect(durable.Empty(file)).To(Succeed())
	g.Expect(file).NotTo(BeAnExistingFile())
	g.Expect(durable.Replace(file, []byte("content"))).To(Succeed())
	g.Expect(durable.Empty(file)).To(Succeed())
	g.Expect(os.ReadFile(file)).To(BeEmpty())
	g.Expect(durable.Empty(filepath.Dir(file))).NotTo(Succeed())
}
