// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// helper gives this program under one of its names: the test binary itself,
// which TestMain sends to main.
func helper(t *testing.T, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(own, path); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, arguments...)
	command.Env = append(os.Environ(), "CHAOS_HELPERS_TEST=main")
	return command
}

func TestMain(m *testing.M) {
	if os.Getenv("CHAOS_HELPERS_TEST") == "main" {
		// What nsexec runs must not come here again.
		os.Unsetenv("CHAOS_HELPERS_TEST")
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParseNsexec(t *testing.T) {
	g := NewWithT(t)
	namespaces, command, err := parseNsexec(
		[]string{"-p", "/proc/7/ns/pid", "-n", "/proc/7/ns/net", "--", "tc", "-s", "qdisc"},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(namespaces).
		To(Equal([]namespace{{unix.CLONE_NEWPID, "/proc/7/ns/pid"}, {unix.CLONE_NEWNET, "/proc/7/ns/net"}}))
	g.Expect(command).To(Equal([]string{"tc", "-s", "qdisc"}))
	for arguments, message := range map[string]string{
		"-l -n /proc/7/ns/net -- toda": "-l (a command from outside the mount namespace) is not supported",
		"-x /proc/7/ns/net -- tc":      "unknown flag -x",
		"-n":                           "-n needs the path",
		"-n /proc/7/ns/net --":         "no command",
		"":                             "no command",
	} {
		_, _, err := parseNsexec(strings.Fields(arguments))
		g.Expect(err).To(MatchError(ContainSubstring(message)), arguments)
		g.Expect(errors.Is(err, errUsage)).To(BeTrue(), arguments)
	}
}

// stranger is a process in namespaces of its own; it gives its number.
func stranger(t *testing.T) int {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to make namespaces")
	}
	command := exec.Command("sleep", "600")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC}
	if err := command.Start(); err != nil {
		t.Skipf("makes no namespaces here: %v", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command.Process.Pid
}

func TestNsexecRunsInTheNetworkOfAnotherProcess(t *testing.T) {
	g := NewWithT(t)
	pid := stranger(t)
	path := fmt.Sprintf("/proc/%d/ns/net", pid)
	want, err := os.Readlink(path)
	g.Expect(err).NotTo(HaveOccurred())
	command := helper(t, "nsexec", "-n", path, "--", "sh", "-c", "readlink /proc/self/ns/net; echo $$; exit 3")
	output, err := command.CombinedOutput()
	var exited *exec.ExitError
	g.Expect(errors.As(err, &exited)).To(BeTrue(), string(output))
	g.Expect(exited.ExitCode()).To(Equal(3))
	// The same process throughout: what the caller signals and waits for is
	// the command itself.
	g.Expect(string(output)).To(Equal(fmt.Sprintf("%s\n%d\n", want, command.Process.Pid)))
}

func TestNsexecHasAChildInAProcessNamespace(t *testing.T) {
	g := NewWithT(t)
	path := fmt.Sprintf("/proc/%d/ns/pid", stranger(t))
	output, err := helper(t, "nsexec", "-p", path, "--", "sh", "-c", "echo $$; exit 3").CombinedOutput()
	var exited *exec.ExitError
	g.Expect(errors.As(err, &exited)).To(BeTrue(), string(output))
	g.Expect(exited.ExitCode()).To(Equal(3))
	number, err := strconv.Atoi(strings.TrimSpace(string(output)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(number).To(BeNumerically("<", 10), "numbers start anew in the namespace")

	t.Run("which ends with it", func(t *testing.T) {
		g := NewWithT(t)
		command := helper(
			t,
			"nsexec",
			"-p",
			path,
			"--",
			"sh",
			"-c",
			`trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.1; done`,
		)
		var out lockedBuffer
		command.Stdout = &out
		g.Expect(command.Start()).To(Succeed())
		g.Eventually(out.String).WithTimeout(60 * time.Second).Should(Equal("ready\n"))
		g.Expect(command.Process.Signal(syscall.SIGTERM)).To(Succeed())
		err := command.Wait()
		g.Expect(errors.As(err, &exited)).To(BeTrue())
		g.Expect(exited.ExitCode()).To(Equal(5))
		g.Expect(out.String()).To(Equal("ready\ntold\n"))
	})
}

func TestNsexecTellsWhatItCannotEnter(t *testing.T) {
	g := NewWithT(t)
	output, err := helper(t, "nsexec", "-n", "/proc/0/ns/net", "--", "true").CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(output)).To(HavePrefix("nsexec: open namespace"))
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestCPUStressorKeepsItsLoad(t *testing.T) {
	g := NewWithT(t)
	since, before := time.Now(), processorTime(t)
	g.Expect(stressCPU(t.Context(),
		strings.Fields("--cpu-load-slice 10 --cpu-method sqrt --cpu 1 --cpu-load 25 --timeout 2s"))).
		To(Succeed())
	used, took := processorTime(t)-before, time.Since(since)
	g.Expect(took).To(BeNumerically(">=", 2*time.Second))
	// A busy machine gives less, never more.
	g.Expect(used.Seconds() / took.Seconds()).To(And(BeNumerically(">", 0.01), BeNumerically("<", 0.35)))
}

func TestCPUStressorEndsWhenTold(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stressCPU(ctx, strings.Fields("--cpu 2")) }()
	cancel()
	g.Eventually(ended).WithTimeout(60 * time.Second).Should(Receive(BeNil()))
	for _, bad := range []string{"--cpu-load 101", "--cpu -1", "--cpu-load-slice 0", "--vm 1", "1"} {
		g.Expect(stressCPU(t.Context(), strings.Fields(bad))).To(MatchError(errUsage), bad)
	}
}

func TestMemoryStressorHoldsMemoryUntilTold(t *testing.T) {
	g := NewWithT(t)
	command := helper(t, "memStress", "--workers", "2", "--size", "40MiB")
	var errOut lockedBuffer
	command.Stderr = &errOut
	g.Expect(command.Start()).To(Succeed())
	g.Eventually(func() int { return resident(t, command.Process.Pid) }).WithTimeout(60 * time.Second).
		Should(And(BeNumerically(">=", 80<<20), BeNumerically("<", 120<<20)))
	g.Expect(command.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Expect(command.Wait()).To(Succeed(), errOut.String())
}

// resident is a process's memory in bytes, 0 once it is gone.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

func TestParseSize(t *testing.T) {
	g := NewWithT(t)
	total := func() (int64, error) { return 1000, nil }
	for text, want := range map[string]int64{"256MB": 256e6, "256MiB": 256 << 20, "1.5GiB": 3 << 29, "17": 17, "17B": 17,
		"2 kb": 2000, "25%": 250} {
		size, err := parseSize(text, total)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(size).To(Equal(want), text)
	}
	for _, bad := range []string{"", "MB", "-1MB", "0", "1 furlong", "NaN"} {
		_, err := parseSize(bad, total)
		g.Expect(err).To(MatchError(errUsage), bad)
	}
}
