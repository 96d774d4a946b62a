// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"geosql.dev/operator/hack/bed/netem/control"
	"geosql.dev/operator/hack/bed/netem/emulator"
)

// program is the netem command under test, built once.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	directory, err := os.MkdirTemp("", "netem-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	program = filepath.Join(directory, "netem")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build netem: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

const (
	nearAddress = "10.77.0.1"
	farAddress  = "10.77.0.2"
)

// wire is two network namespaces joined by a veth pair whose ends are both
// called eth0.
type wire struct{ near, far string }

var wires int

// newWire makes the namespaces, or skips the test where that is impossible.
func newWire(t *testing.T) wire {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skipf("needs /dev/net/tun: %v", err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the ip command (Debian package iproute2)")
	}
	wires++
	w := wire{near: fmt.Sprintf("netem%d-%da", os.Getpid(), wires), far: fmt.Sprintf("netem%d-%db", os.Getpid(), wires)}
	for _, namespace := range []string{w.near, w.far} {
		ip(t, "netns", "add", namespace)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", namespace).Run() })
	}
	ip(t, "link", "add", "eth0", "netns", w.near, "type", "veth", "peer", "name", "eth0", "netns", w.far)
	t.Cleanup(func() {
		_ = exec.Command("ip", "-n", w.near, "link", "del", "eth0").Run()
	})
	for namespace, address := range map[string]string{w.near: nearAddress, w.far: farAddress} {
		ip(t, "-n", namespace, "addr", "add", address+"/24", "dev", "eth0")
		ip(t, "-n", namespace, "link", "set", "lo", "up")
		ip(t, "-n", namespace, "link", "set", "eth0", "up")
	}
	w.inside(
		t,
		w.near,
		func() error { return os.WriteFile("/proc/sys/net/ipv4/tcp_wmem", []byte("4096 16384 67108864"), 0) },
	)
	w.inside(
		t,
		w.far,
		func() error { return os.WriteFile("/proc/sys/net/ipv4/tcp_rmem", []byte("4096 131072 67108864"), 0) },
	)
	return w
}

func ip(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
}

// inside runs do on a thread that lives in the namespace; sockets it opens
// belong there for good.
func (w wire) inside(t *testing.T, namespace string, do func() error) {
	t.Helper()
	if err := control.Inside("/run/netns/"+namespace, do); err != nil {
		t.Fatalf("in namespace %s: %v", namespace, err)
	}
}

// netem runs the command in a namespace.
func (w wire) netem(t *testing.T, namespace string, arguments ...string) string {
	t.Helper()
	output, err := w.tryNetem(namespace, arguments...)
	if err != nil {
		t.Fatalf("netem %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return output
}

func (w wire) tryNetem(namespace string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", namespace, program}, arguments...)...).
		CombinedOutput()
	return string(output), err
}

// shapeNear puts one rule in force from the near to the far side.
func (w wire) shapeNear(t *testing.T, rule ...string) {
	t.Helper()
	w.netem(t, w.near, append([]string{"set", "--to", farAddress}, rule...)...)
}

func (w wire) status(t *testing.T, namespace string) control.Status {
	t.Helper()
	var status control.Status
	if err := json.Unmarshal([]byte(w.netem(t, namespace, "show", "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	return status
}

func (w wire) onlyClass(t *testing.T) emulator.ClassStatus {
	t.Helper()
	status := w.status(t, w.near)
	NewWithT(t).Expect(status.Classes).To(HaveLen(1))
	return status.Classes[0]
}

// listen opens a TCP listener on the far side.
func (w wire) listen(t *testing.T) net.Listener {
	t.Helper()
	var listener net.Listener
	w.inside(t, w.far, func() (err error) {
		listener, err = net.Listen("tcp4", farAddress+":0")
		return err
	})
	t.Cleanup(func() { listener.Close() })
	return listener
}

// dial connects from the near side and gives the time that took.
func (w wire) dial(t *testing.T, address net.Addr) (*net.TCPConn, time.Duration) {
	t.Helper()
	var connection net.Conn
	var took time.Duration
	w.inside(t, w.near, func() (err error) {
		start := time.Now()
		connection, err = net.DialTimeout("tcp4", address.String(), 10*time.Second)
		took = time.Since(start)
		return err
	})
	t.Cleanup(func() { connection.Close() })
	return connection.(*net.TCPConn), took
}

// quickest gives the shortest time of some connects: a busy machine may wake
// the test itself late, but never early.
func (w wire) quickest(t *testing.T, address net.Addr) time.Duration {
	t.Helper()
	best := time.Hour
	for range 5 {
		connection, took := w.dial(t, address)
		connection.Close()
		best = min(best, took)
	}
	return best
}

// datagrams is a UDP flow from the near to the far side.
type datagrams struct {
	sender, receiver *net.UDPConn
}

func (w wire) datagrams(t *testing.T) datagrams {
	t.Helper()
	var d datagrams
	w.inside(t, w.far, func() (err error) {
		d.receiver, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(farAddress)})
		return err
	})
	t.Cleanup(func() { d.receiver.Close() })
	raw, err := d.receiver.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.inside(t, w.near, func() (err error) {
		d.sender, err = net.DialUDP("udp4", nil, d.receiver.LocalAddr().(*net.UDPAddr))
		return err
	})
	t.Cleanup(func() { d.sender.Close() })
	return d
}
