// SPDX-License-Identifier: Apache-2.0

package walk_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// The faults that hack/walk-faults puts back still fit the code that mended them.
func TestFaultsCanBePutBack(t *testing.T) {
	g := NewWithT(t)
	patches, err := filepath.Glob("faults/*.patch")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patches).NotTo(BeEmpty())
	for _, patch := range patches {
		path, err := filepath.Abs(patch)
		g.Expect(err).NotTo(HaveOccurred())
		check := exec.CommandContext(t.Context(), "git", "apply", "--check", path)
		check.Dir = filepath.Join("..", "..")
		out, err := check.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s: %s", patch, out)
	}
}
