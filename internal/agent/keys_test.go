// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent"
)

// A Secret's volume has links into a folder that is exchanged as a whole: the copies are files of the caller's own.
func TestCopyKeys(t *testing.T) {
	g := NewWithT(t)
	from, to := t.TempDir(), t.TempDir()
	write := func(folder, name, text string) {
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o440)).To(Succeed())
	}
	g.Expect(agent.CopyKeys(from, to)).To(MatchError(ContainSubstring("is empty")))
	first := filepath.Join(from, "..2026_01")
	g.Expect(os.Mkdir(first, 0o755)).To(Succeed())
	write(first, "tls.crt", "certificate")
	write(first, "tls.key", "key")
	g.Expect(os.Symlink("..2026_01", filepath.Join(from, "..data"))).To(Succeed())
	write(first, "mssql.conf", "[network]\n")
	for _, name := range []string{"tls.crt", "tls.key", "mssql.conf"} {
		g.Expect(os.Symlink(filepath.Join("..data", name), filepath.Join(from, name))).To(Succeed())
	}
	for range 2 { // a container may be started again
		g.Expect(agent.CopyKeys(from, to)).To(Succeed())
	}
	entries, err := os.ReadDir(to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(3), "whatever is there")
	info, err := os.Lstat(filepath.Join(to, "tls.key"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode()).To(Equal(os.FileMode(0o400)), "a file, and the owner's alone")
	data, err := os.ReadFile(filepath.Join(to, "tls.key"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(data)).To(Equal("key"))
	g.Expect(agent.CopyKeys(filepath.Join(from, "gone"), to)).To(MatchError(os.ErrNotExist))
}
