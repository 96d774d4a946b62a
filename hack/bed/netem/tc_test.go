// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
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

	tcfront "geosql.dev/operator/hack/bed/netem/tc"
)

// tcFront gives the program under its other name.
func tcFront(t *testing.T) string {
	t.Helper()
	t.Setenv(tcfront.ChoiceVariable, "user-space")
	path := filepath.Join(t.TempDir(), "tc")
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// combined runs tc as Chaos Mesh's daemon does: it waits until nobody holds
// the output any more, which an emulator that inherited it would do for ever.
func (w wire) combined(t *testing.T, tc, arguments string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	words := append([]string{"netns", "exec", w.near, tc}, strings.Split(arguments, " ")...)
	output, err := exec.CommandContext(ctx, "ip", words...).CombinedOutput()
	return string(output), err
}

// connectAs measures the quickest of some connects with a socket priority, as
// iptables' CLASSIFY would set it.
func (w wire) connectAs(t *testing.T, address net.Addr, priority int) time.Duration {
	t.Helper()
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, raw syscall.RawConn) (err error) {
		_ = raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PRIORITY, priority)
		})
		return err
	}}
	best := time.Hour
	w.inside(t, w.near, func() error {
		for range 5 {
			start := time.Now()
			connection, err := dialer.Dial("tcp4", address.String())
			if err != nil {
				return err
			}
			best = min(best, time.Since(start))
			connection.Close()
		}
		return nil
	})
	return best
}

func TestTheTCFrontServesChaosMesh(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	tc := tcFront(t)
	listener := w.listen(t)
	run := func(arguments string) {
		t.Helper()
		output, err := w.combined(t, tc, arguments)
		g.Expect(err).NotTo(HaveOccurred(), output)
		g.Expect(output).To(BeEmpty())
	}
	flush := func(device string) {
		t.Helper()
		output, err := w.combined(t, tc, "qdisc del dev "+device+" root")
		if err != nil {
			g.Expect(output).
				To(Or(ContainSubstring("Cannot delete qdisc with handle of zero."),
					ContainSubstring("RTNETLINK answers: No such file or directory")))
		}
	}
	flush("eth0")
	run("qdisc add dev eth0 root handle 1: prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1")
	for _, band := range []string{"1", "2", "3"} {
		run("qdisc add dev eth0 parent 1:" + band + " handle " + band + "0: sfq")
	}
	run("qdisc add dev eth0 parent 1:4 handle 5: netem delay 60000 ")
	g.Expect(w.connectAs(t, listener.Addr(), 0x10004)).To(BeNumerically("~", 63*time.Millisecond, 3*time.Millisecond))
	g.Expect(w.connectAs(t, listener.Addr(), 0)).
		To(BeNumerically("<", 50*time.Millisecond), "traffic that is no target is delayed")
	shown, err := w.combined(t, tc, "qdisc show dev eth0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown).To(ContainSubstring("qdisc netem 5: dev eth0 parent 1:4"))
	again, err := w.combined(t, tc, "qdisc add dev eth0 parent 1:4 handle 5: netem delay 1")
	g.Expect(err).To(HaveOccurred())
	g.Expect(again).To(ContainSubstring("Exclusivity flag on"))

	// The next fault flushes every device it sees, the emulator's own included.
	devices, err := exec.Command("ip", "-n", w.near, "-br", "link").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(devices)).To(MatchRegexp(`netem\d+c\d`))
	for line := range strings.Lines(string(devices)) {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "@")
		if strings.HasPrefix(name, "netem") || name == "lo" {
			flush(name)
		}
	}
	flush("eth0")
	flush("eth0")
	flush("netem2c0") // it was there when the caller asked
	g.Expect(w.connectAs(t, listener.Addr(), 0x10004)).To(BeNumerically("<", 50*time.Millisecond))
	_, err = w.tryNetem(w.near, "show")
	g.Expect(err).To(HaveOccurred(), "the emulator ends with its last discipline")

	run("qdisc add dev eth0 root handle 1: netem delay 30000")
	run("qdisc add dev eth0 parent 1: handle 2: netem delay 30000")
	g.Expect(w.connectAs(t, listener.Addr(), 0)).To(BeNumerically("~", 63*time.Millisecond, 3*time.Millisecond))
}

func TestTheTCFrontLeavesTheWANAlone(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	tc := tcFront(t)
	listener := w.listen(t)
	w.shapeNear(t, "--delay", "30ms")
	output, err := w.combined(t, tc, "qdisc add dev eth0 root handle 1: netem delay 90000")
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(w.connectAs(t, listener.Addr(), 0)).
		To(BeNumerically("~", 33*time.Millisecond, 3*time.Millisecond), "the WAN's destination is more specific")
	output, err = w.combined(t, tc, "qdisc del dev eth0 root")
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(w.onlyClass(t).Rule.Delay).To(Equal(30 * time.Millisecond))
	g.Expect(w.connectAs(t, listener.Addr(), 0)).To(BeNumerically(">=", 30*time.Millisecond))
}

func TestTheTCFrontLeavesDisciplinesToAKernelThatHasThem(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	tc := tcFront(t)
	t.Setenv(tcfront.ChoiceVariable, "kernel")
	output, err := w.combined(t, tc, "qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 32kbit latency 400ms")
	g.Expect(err).NotTo(HaveOccurred(), output)
	shown, err := exec.Command("tc", "-n", w.near, "qdisc", "show", "dev", "eth0").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(shown))
	g.Expect(string(shown)).To(ContainSubstring("qdisc tbf 1: root"))
	_, err = w.tryNetem(w.near, "show")
	g.Expect(err).To(HaveOccurred(), "the kernel serves it, no emulator")

	t.Setenv(tcfront.ChoiceVariable, "neither")
	output, err = w.combined(t, tc, "qdisc del dev eth0 root")
	g.Expect(err).To(HaveOccurred())
	g.Expect(output).To(ContainSubstring("use auto, kernel or user-space"))
}

// TestTheTCFrontsEmulatorJoinsOtherControlGroups compares with a process whose
// groups differ from those of the caller.
func TestTheTCFrontsEmulatorJoinsOtherControlGroups(t *testing.T) {
	g := NewWithT(t)
	w := newWire(t)
	tc := tcFront(t)
	of, groups := processInItsOwnGroup(t)
	t.Setenv(tcfront.CgroupsVariable, strconv.Itoa(of))
	output, err := w.combined(t, tc, "qdisc add dev eth0 root netem delay 1ms")
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(groupsOf(t, w.status(t, w.near).PID)).To(Equal(groups))

	g.Expect(groupsOf(t, os.Getpid())).NotTo(Equal(groups))
	t.Setenv(tcfront.CgroupsVariable, "0")
	output, err = w.combined(t, tc, "qdisc del dev eth0 root")
	g.Expect(err).NotTo(HaveOccurred(), output)
	output, err = w.combined(t, tc, "qdisc add dev eth0 root netem delay 1ms")
	g.Expect(err).To(HaveOccurred())
	g.Expect(output).To(ContainSubstring("move the emulator out of the container"))
	_, err = w.tryNetem(w.near, "show")
	g.Expect(err).To(HaveOccurred(), "an emulator that would end with the container is not left behind")
}

func groupsOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// processInItsOwnGroup gives a process in a new control group, and its groups;
// it skips the test where none can be made.
func processInItsOwnGroup(t *testing.T) (int, string) {
	t.Helper()
	group := fmt.Sprintf("/sys/fs/cgroup/pids/netem-test-%d", os.Getpid())
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group = fmt.Sprintf("/sys/fs/cgroup/netem-test-%d", os.Getpid())
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("makes no control group here: %v", err)
	}
	t.Cleanup(func() {
		// It goes once the emulator has gone with its device.
		NewWithT(t).Eventually(func() error { return os.Remove(group) }).WithTimeout(60 * time.Second).Should(Succeed())
	})
	command := exec.Command("sleep", "600")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(command.Process.Pid)),
		0); err != nil {
		t.Skipf("moves no process to a control group here: %v", err)
	}
	return command.Process.Pid, groupsOf(t, command.Process.Pid)
}
