// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// What one system's file lacks is found without a build for it, wherever it is used; a system for which all is there
// is in order.
func TestWhatIsMissingForASystem(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.org/it\n\ngo 1.21\n",
		"main.go":           "package main\n\nimport \"example.org/it/room\"\n\nfunc main() { println(room.Left()) }\n",
		"room/room_unix.go": "//go:build unix\n\npackage room\n\nimport \"syscall\"\n\n// Left is.\nfunc Left() int { return syscall.Getpagesize() }\n",
		"room/room.go":      "package room\n\nfunc always() int { return Left() }\n\nvar _ = always\n",
	} {
		g.Expect(os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(root, name), []byte(text), 0o600)).To(Succeed())
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	g.Expect(run(t.Context(), root, []string{"linux/arm64:.", "darwin/arm64:."}, io.Discard)).To(Succeed())
	err := run(t.Context(), root, []string{"linux/amd64:.", "windows/amd64:."}, io.Discard)
	g.Expect(err).To(MatchError(And(ContainSubstring("for windows/amd64: "), ContainSubstring("room.go:3"),
		ContainSubstring("undefined: Left"), Not(ContainSubstring("for linux")))))
	g.Expect(run(t.Context(), root, []string{"windows/amd64:./gone"}, io.Discard)).To(HaveOccurred())
	g.Expect(run(t.Context(), root, []string{"windows"}, io.Discard)).To(MatchError(ContainSubstring("names no platform")))
}
