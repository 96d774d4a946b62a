// SPDX-License-Identifier: Apache-2.0

package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/durable"
)

// A file is made with its folder, for its owner alone, replaced as a whole, and left as it was when that cannot be
// done.
func TestReplace(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "state", "of one")
	file := filepath.Join(dir, "orders.json")
	for _, content := range []string{"a long content", "short", ""} {
		// What an earlier attempt left behind is no part of it.
		if content != "a long content" {
			g.Expect(os.WriteFile(file+".next", []byte("half of an earlier attempt"), 0o600)).To(Succeed())
		}
		g.Expect(durable.Replace(file, []byte(content))).To(Succeed())
		g.Expect(os.ReadFile(file)).To(BeEquivalentTo(content))
		g.Expect(os.ReadDir(dir)).To(HaveLen(1))
	}
	for path, mode := range map[string]os.FileMode{file: 0o600, dir: 0o700} {
		info, err := os.Stat(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()).To(Equal(mode), path)
	}

	g.Expect(durable.Replace(file, []byte("kept"))).To(Succeed())
	g.Expect(os.Mkdir(file+".next", 0o700)).To(Succeed())
	g.Expect(durable.Replace(file, []byte("lost"))).NotTo(Succeed())
	g.Expect(os.ReadFile(file)).To(BeEquivalentTo("kept"))
	g.Expect(durable.Replace(filepath.Join(file, "below"), nil)).NotTo(Succeed(), "a file is no folder")
}
