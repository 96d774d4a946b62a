// SPDX-License-Identifier: Apache-2.0

//go:build integration

package agent_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent"
)

// concealedVariable makes the test's binary a sidecar that conceals itself, or does not, and waits.
const concealedVariable = "GEOSQL_TEST_CONCEALED"

// asEngine is the user of the sidecar and of the engine, without capabilities, as in a pod.
func asEngine(t *testing.T, command string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 10001, Gid: 10001}}
	cmd.Dir = "/"
	return cmd
}

// The containers of a pod share their processes, and engine and sidecar their user: by /proc one of that user sees what
// is mounted in a process's container alone, and its environment, unless the process conceals itself. It can be ended
// all the same, and end others.
func TestConceal(t *testing.T) {
	if mode := os.Getenv(concealedVariable); mode != "" {
		if mode == "true" {
			if err := agent.Conceal(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		fmt.Println("ready")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	g := NewWithT(t)
	dir, err := os.MkdirTemp("/tmp", "conceal")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g.Expect(os.Chmod(dir, 0o755)).To(Succeed())
	binary := filepath.Join(dir, "sidecar")
	self, err := os.ReadFile("/proc/self/exe")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(binary, self, 0o755)).To(Succeed())
	for mode, readable := range map[string]bool{"false": true, "true": false} {
		sidecar := asEngine(t, binary, "-test.run", "^TestConceal$")
		sidecar.Env = []string{concealedVariable + "=" + mode, "TOKEN=secret"}
		stdin, err := sidecar.StdinPipe()
		g.Expect(err).NotTo(HaveOccurred())
		stdout, err := sidecar.StdoutPipe()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sidecar.Start()).To(Succeed())
		line, err := bufio.NewReader(stdout).ReadString('\n')
		g.Expect(line, err).To(Equal("ready\n"))
		for _, path := range []string{"root/etc/hostname", "environ", "maps"} {
			out, err := asEngine(t, "cat", fmt.Sprintf("/proc/%d/%s", sidecar.Process.Pid, path)).CombinedOutput()
			denied := err != nil && strings.Contains(string(out), "Permission denied")
			g.Expect(denied).To(Equal(!readable), "%s of a sidecar that conceals itself (%s): %s", path, mode, out)
		}
		g.Expect(asEngine(t, "kill", "-KILL", fmt.Sprint(sidecar.Process.Pid)).Run()).To(Succeed())
		_ = stdin.Close()
		_ = sidecar.Wait()
	}
}
