// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/drill/probe"
)

// A connection that is refused proves nothing: neither that a way is open nor that it is closed.
func TestRefusedConnections(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := listener.Addr().String()
	ask := func() probe.Result {
		return probe.Run(t.Context(), probe.Options{To: []string{address}, Count: 3, Timeout: 30 * time.Second})[0]
	}
	g.Expect(ask()).To(And(HaveField("Attempts", 3), HaveField("Failures", 0)))
	g.Expect(listener.Close()).To(Succeed())
	g.Expect(ask()).
		To(And(HaveField("Attempts", 0), HaveField("Failures", 0), HaveField("Reason", ContainSubstring("refused"))))
}

// Data that is sent to a server which throws it away is all acknowledged, and nothing of it is sent again on loopback.
// The time is kept when the server does not read.
func TestSend(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }),
	)
	t.Cleanup(server.Close)
	to := server.Listener.Addr().String()
	s := probe.Send(t.Context(), probe.SendOptions{To: []string{to}, Bytes: 1 << 20, For: time.Minute})[0]
	g.Expect(s.Reason).To(BeEmpty())
	g.Expect(s.Bytes).To(BeNumerically(">=", 1<<20))
	g.Expect(s.Segments).To(BeNumerically(">=", 16))
	g.Expect(s.Connect).To(BeNumerically(">", 0))
	g.Expect(s.Time).To(And(BeNumerically(">", 0), BeNumerically("<", time.Minute)))

	listener, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and never answers
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	silent := probe.Send(t.Context(),
		probe.SendOptions{To: []string{listener.Addr().String()}, Bytes: 1 << 20, For: 200 * time.Millisecond})[0]
	g.Expect(silent.Reason).NotTo(BeEmpty())
	g.Expect(silent.Bytes).To(BeZero())
}

// Processes that are neither the engine's nor this program's are counted with what they take.
func TestUsage(t *testing.T) {
	g := NewWithT(t)
	proc := t.TempDir()
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	process := func(pid int, command string, ticks int) {
		folder := filepath.Join(proc, strconv.Itoa(pid))
		g.Expect(os.MkdirAll(folder, 0o750)).To(Succeed())
		stat := fmt.Sprintf(
			"%d (a name) with) R 1 1 1 0 -1 4194304 100 0 0 0 %d 50 0 0 20 0 1 0 100 1000 256 18446744073709551615",
			pid,
			ticks,
		)
		for name, text := range map[string]string{"cmdline": command + "\x00--cpu\x001\x00", "stat": stat,
			"statm": "5000 256 10 1 0 100 0"} {
			g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
		}
	}
	g.Expect(os.WriteFile(filepath.Join(proc, "meminfo"), []byte("MemTotal:        4096 kB\nMemFree: 1 kB\n"), 0o600)).
		To(Succeed())
	process(1, "/pause", 10)
	process(7, "/opt/mssql/bin/sqlservr", 10)
	process(8, self, 10)
	u, err := probe.MeasureUsage(t.Context(), proc, time.Millisecond)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.Processes).To(BeEmpty())
	g.Expect(u.MachineMemory).To(BeEquivalentTo(4096 << 10))

	process(30, "/usr/local/bin/stress-ng", 1000)
	u, err = probe.MeasureUsage(t.Context(), proc, time.Millisecond)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.Processes).To(Equal([]string{"stress-ng"}))
	g.Expect(u.Memory).To(BeEquivalentTo(256 * os.Getpagesize()))
}

// A program that computes is seen to take time of a processor.
func TestUsageOfAProcess(t *testing.T) {
	g := NewWithT(t)
	busy := exec.Command("sh", "-c", "while :; do :; done")
	g.Expect(busy.Start()).To(Succeed())
	t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	proc := t.TempDir()
	g.Expect(os.Symlink(fmt.Sprintf("/proc/%d", busy.Process.Pid), filepath.Join(proc, strconv.Itoa(busy.Process.Pid)))).
		To(Succeed())
	g.Eventually(func() float64 {
		u, err := probe.MeasureUsage(t.Context(), proc, 300*time.Millisecond)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(u.Processes).To(Equal([]string{"sh"}))
		return u.Processors
	}, time.Minute).Should(BeNumerically(">", 0))
}
