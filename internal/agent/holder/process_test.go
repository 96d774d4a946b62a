// SPDX-License-Identifier: Apache-2.0

//go:build integration

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

// proc writes a folder like /proc with processes of the given names, states, parents and start times.
func proc(t *testing.T, processes map[int][4]string) string {
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
		write(
			fmt.Sprintf("%d/stat", pid),
			fmt.Sprintf("%d (%s) %s %s 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 30 0 %s 1000 100 0\n", pid, p[0], p[1], p[2], p[3]),
		)
	}
	return root
}

// A run lasts as long as the engine's process, whoever runs the same program beside it meanwhile: what is released for
// another run spares the others the wait for the votes of an engine that serves.
func TestTheRunIsTheEnginesProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		processes map[int][4]string
		want      string
	}{
		"watchdog and engine": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 9: {"sqlservr", "S", "7", "5010"},
			20: {"geosql", "S", "0", "9000"}}, "0e1c5b7e-5010-9"},
		"one process": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}}, "0e1c5b7e-5000-7"},
		"started again": {map[int][4]string{7: {"sqlservr", "Z", "0", "5000"}, 31: {"sqlservr", "R", "0", "7777"}},
			"0e1c5b7e-7777-31"},
		"the engine alone is new": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 9: {"sqlservr", "Z", "7", "5010"},
			11: {"sqlservr", "S", "7", "6000"}}, "0e1c5b7e-6000-11"},
		"the watchdog alone": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 9: {"sqlservr", "Z", "7", "5010"}},
			"0e1c5b7e-5000-7"},
		"sqlservr --version": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 9: {"sqlservr", "S", "7", "5010"},
			55: {"sqlservr", "R", "0", "8000"}}, "0e1c5b7e-5010-9"},
		"the same, one process": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 54: {"bash", "S", "0", "7999"},
			55: {"sqlservr", "R", "54", "8000"}}, "0e1c5b7e-5000-7"},
		"the engine forks": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 9: {"sqlservr", "S", "7", "5010"},
			60: {"sqlservr", "R", "9", "8000"}}, "0e1c5b7e-5010-9"},
		"the watchdog forks": {map[int][4]string{7: {"sqlservr", "S", "0", "5000"}, 9: {"sqlservr", "S", "7", "5010"},
			60: {"sqlservr", "R", "7", "8000"}}, "0e1c5b7e-5010-9"},
		"a zombie does not run":  {map[int][4]string{7: {"sqlservr", "Z", "0", "5000"}}, ""},
		"no engine":              {map[int][4]string{20: {"geosql", "S", "0", "9000"}}, ""},
		"a name that looks like": {map[int][4]string{20: {"x) S 1 (sqlservr", "S", "0", "9000"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			run, err := holder.ProcFS{Root: proc(t, tc.processes)}.Run()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(run).To(Equal(tc.want))
		})
	}
}

// That nothing can be read of a process, for want of file descriptors say, is no end of the engine: its term would be
// released.
func TestAProcessThatCannotBeReadHasNotEnded(t *testing.T) {
	g := NewWithT(t)
	root := proc(t, map[int][4]string{7: {"sqlservr", "S", "0", "5000"}})
	g.Expect(os.Mkdir(filepath.Join(root, "8"), 0o755)).To(Succeed())
	process := holder.ProcFS{Root: root}
	g.Expect(process.Run()).To(Equal("0e1c5b7e-5000-7"), "one that has ended meanwhile")
	g.Expect(os.Remove(filepath.Join(root, "7", "stat"))).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(root, "7", "stat"), 0o755)).To(Succeed())
	_, err := process.Run()
	g.Expect(err).To(MatchError(ContainSubstring("process 7")))
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
