// SPDX-License-Identifier: Apache-2.0

package holder_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
)

// proc writes a folder like /proc with processes of the given names, states and start times.
func proc(t *testing.T, processes map[int][3]string) string {
	t.Helper()
	root := t.TempDir()
	write := func(path, content string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sys/kernel/random/boot_id", "0e1c5b7e-5f4f-4f7e-9d5f-6f1b2f7a1c11\n")
	write("meminfo", "MemTotal: 1 kB\n")
	for pid, p := range processes {
		write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 30 0 %s 1000 100 0\n", pid, p[0], p[1], p[2]))
	}
	return root
}

func TestTheRunIsTheNewestEngineProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		processes map[int][3]string
		want      string
	}{
		"watchdog and engine":    {map[int][3]string{7: {"sqlservr", "S", "5000"}, 9: {"sqlservr", "S", "5010"}, 20: {"geosql", "S", "9000"}}, "0e1c5b7e-5010-9"},
		"started again":          {map[int][3]string{7: {"sqlservr", "S", "5000"}, 31: {"sqlservr", "R", "7777"}}, "0e1c5b7e-7777-31"},
		"a zombie does not run":  {map[int][3]string{7: {"sqlservr", "Z", "5000"}}, ""},
		"no engine":              {map[int][3]string{20: {"geosql", "S", "9000"}}, ""},
		"a name that looks like": {map[int][3]string{20: {"x) S 1 (sqlservr", "S", "9000"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			run, err := holder.ProcFS{Root: proc(t, tc.processes)}.Run()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(run).To(Equal(tc.want))
		})
	}
}

// A process of the machine is found, told from a later one, and ended.
func TestKillEndsTheEngine(t *testing.T) {
	g := NewWithT(t)
	sleep, err := exec.LookPath("sleep")
	g.Expect(err).NotTo(HaveOccurred())
	name := fmt.Sprintf("sqltest%d", os.Getpid())
	content, err := os.ReadFile(sleep)
	g.Expect(err).NotTo(HaveOccurred())
	program := filepath.Join(t.TempDir(), name)
	g.Expect(os.WriteFile(program, content, 0o755)).To(Succeed())
	process := holder.ProcFS{Command: name}
	start := func() *exec.Cmd {
		cmd := exec.Command(program, "60")
		g.Expect(cmd.Start()).To(Succeed())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = cmd.Process.Wait() })
		return cmd
	}
	g.Expect(process.Run()).To(BeEmpty())
	first := start()
	var run string
	g.Eventually(func() (string, error) { run, err = process.Run(); return run, err }, patience).ShouldNot(BeEmpty())
	g.Expect(process.Kill()).To(Succeed())
	g.Expect(first.Wait()).To(MatchError(ContainSubstring("killed")))
	g.Expect(process.Run()).To(BeEmpty())
	g.Expect(process.Kill()).To(Succeed(), "nobody to kill is no error")
	start()
	g.Eventually(process.Run, patience).ShouldNot(Or(BeEmpty(), Equal(run)))
}
