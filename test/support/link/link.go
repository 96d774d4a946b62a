// SPDX-License-Identifier: Apache-2.0

// Package link joins a test with a network namespace by a link that the test can cut: what is sent over it then is
// lost, and nobody is told.
package link

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Link joins this machine with a network namespace.
type Link struct {
	// Near is this machine's address, Far the namespace's.
	Near, Far string

	// namespace is named as ip-netns(8) has it, device is this machine's end.
	namespace, device string
}

// nobody is the hardware address of no device: the other side drops what is sent to it.
const nobody = "02:00:00:00:00:01"

var links atomic.Int32

// New makes the namespace, which goes with the test, or skips the test where that is impossible.
func New(t *testing.T) *Link {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the ip command (Debian package iproute2)")
	}
	// Several runs at a time on one machine have networks of their own: 198.18.0.0/15 is for tests of devices (RFC 2544).
	n := int(links.Add(1))
	base := (os.Getpid()*8 + n) % (1 << 15) * 4
	address := func(host int) string {
		return fmt.Sprintf("198.%d.%d.%d", 18+base>>16, base>>8&0xff, base&0xff+host)
	}
	l := &Link{
		namespace: fmt.Sprintf("geosql%d-%d", os.Getpid(), n),
		device:    fmt.Sprintf("gl%d-%d", os.Getpid(), n),
		Near:      address(1),
		Far:       address(2),
	}
	ip(t, "netns", "add", l.namespace)
	// The namespace's end goes with it, and takes this one along.
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.namespace).Run() })
	ip(t, "link", "add", l.device, "type", "veth", "peer", "name", "eth0", "netns", l.namespace)
	ip(t, "addr", "add", l.Near+"/30", "dev", l.device)
	ip(t, "link", "set", l.device, "up")
	ip(t, "-n", l.namespace, "addr", "add", l.Far+"/30", "dev", "eth0")
	ip(t, "-n", l.namespace, "link", "set", "lo", "up")
	ip(t, "-n", l.namespace, "link", "set", "eth0", "up")
	return l
}

func ip(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
}

// Cut has all that either side sends be lost.
func (l *Link) Cut(t *testing.T) {
	t.Helper()
	ip(t, "neigh", "replace", l.Far, "lladdr", nobody, "dev", l.device, "nud", "permanent")
	ip(t, "-n", l.namespace, "neigh", "replace", l.Near, "lladdr", nobody, "dev", "eth0", "nud", "permanent")
}

// Mend ends a cut.
func (l *Link) Mend(t *testing.T) {
	t.Helper()
	ip(t, "neigh", "del", l.Far, "dev", l.device)
	ip(t, "-n", l.namespace, "neigh", "del", l.Near, "dev", "eth0")
}

// RetransmitAfter has connections from this end that are made from now on wait at least so long before they send again
// what was lost (ip-route(8), rto_min). A busy machine waits as long: what its kernel has measured as a round trip
// includes its own delays.
func (l *Link) RetransmitAfter(t *testing.T, wait time.Duration) {
	t.Helper()
	ip(t, "route", "replace", l.Far, "dev", l.device, "rto_min", fmt.Sprintf("%dms", wait.Milliseconds()))
}

// Swallow has packets of more bytes than most, headers and all, be lost on their way to the far end, which says that it
// takes longer ones: connections are made, and what fills a packet does not arrive.
func (l *Link) Swallow(t *testing.T, most int) {
	t.Helper()
	ip(t, "link", "set", l.device, "gso_max_segs", "1")
	ip(t, "-n", l.namespace, "link", "set", "eth0", "mtu", fmt.Sprint(most))
	ip(t, "-n", l.namespace, "route", "replace", l.Near, "dev", "eth0", "advmss", "1460")
}

// DialContext connects from within the namespace.
func (l *Link) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return within(l, func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, network, address) })
}

// Listen listens at a free port of the far end.
func (l *Link) Listen() (net.Listener, error) {
	return within(l, func() (net.Listener, error) { return net.Listen("tcp", net.JoinHostPort(l.Far, "0")) })
}

// within calls f in the namespace.
func within[T any](l *Link, f func() (T, error)) (made T, err error) { return Inside(l.namespace, f) }

// Inside calls f on a thread in a network namespace, by its name (ip-netns(8)): a socket belongs to the one in which it
// was made.
func Inside[T any](namespace string, f func() (T, error)) (made T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		own, problem := os.Open("/proc/thread-self/ns/net")
		if err = problem; err != nil {
			return
		}
		defer own.Close()
		if err = enter(namespace); err == nil {
			made, err = f()
		}
		// A thread that cannot go back stays locked, and ends with the goroutine: nobody else gets it. One that ends takes
		// processes along that were started on it to end with their parent (prctl(2), PR_SET_PDEATHSIG).
		if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-done
	return made, err
}

// Enter moves the calling thread, which must be locked and never unlocked, into the namespace.
func (l *Link) Enter() error { return enter(l.namespace) }

func enter(namespace string) error {
	file, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}
