// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/drill/probe"
)

// TestMain is the operator's program to the process that ends a freeze.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "drill" {
		command := probe.NewCommand()
		command.SetArgs(os.Args[2:])
		if command.Execute() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A freeze whose mark is there is not done again, also when it is over; another one is.
func TestAFreezeIsDoneOnce(t *testing.T) {
	g := NewWithT(t)
	proc, folder := t.TempDir(), t.TempDir()
	sleep, err := exec.LookPath("sleep")
	g.Expect(err).NotTo(HaveOccurred())
	engine := filepath.Join(folder, "sqlservr")
	g.Expect(os.Symlink(sleep, engine)).To(Succeed())
	process := exec.Command(engine, "600")
	g.Expect(process.Start()).To(Succeed())
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	show := func(pid string) {
		_ = os.Remove(filepath.Join(proc, pid))
		g.Expect(os.Symlink(filepath.Join("/proc", pid), filepath.Join(proc, pid))).To(Succeed())
	}
	show(strconv.Itoa(process.Process.Pid))
	// What the freezes leave behind is shown beside the engine, and nothing else of this machine.
	marks := func(mark string) (n int) {
		entries, err := os.ReadDir("/proc")
		g.Expect(err).NotTo(HaveOccurred())
		for _, e := range entries {
			command, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			if pid, no := strconv.Atoi(e.Name()); err == nil && no == nil && bytes.Contains(command, []byte("--mark="+mark)) {
				n++
				show(e.Name())
				t.Cleanup(func() {
					if p, err := os.FindProcess(pid); err == nil {
						_ = p.Kill()
					}
				})
			}
		}
		return n
	}
	one, other := filepath.Base(folder)+"/1/freeze", filepath.Base(folder)+"/2/freeze"
	freeze := func(mark string) probe.Frozen {
		f, err := probe.Freeze(t.Context(), proc, 300*time.Millisecond, probe.Once{Mark: mark, Keep: time.Minute})
		g.Expect(err).NotTo(HaveOccurred())
		return f
	}
	stopped := func() []int {
		f, err := probe.State(proc)
		g.Expect(err).NotTo(HaveOccurred())
		return f.Stopped
	}
	f := freeze(one)
	g.Expect(f.Stopped).To(HaveLen(1))
	g.Expect(f.Before).To(BeNil())
	g.Expect(marks(one)).To(Equal(1))
	g.Eventually(stopped, time.Minute).Should(BeEmpty(), "it ends by itself")
	f = freeze(one)
	g.Expect(f.Before).To(HaveValue(BeNumerically(">=", 300*time.Millisecond)))
	g.Expect(f.Stopped).To(BeEmpty())
	g.Expect(stopped()).To(BeEmpty())
	g.Expect(marks(one)).To(Equal(1))
	f = freeze(other)
	g.Expect(f.Before).To(BeNil())
	g.Expect(f.Stopped).To(HaveLen(1))
	g.Expect(marks(other)).To(Equal(1))
}
