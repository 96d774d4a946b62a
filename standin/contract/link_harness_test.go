// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// link joins this machine with a network namespace. While it is cut, what either side sends is lost: nothing is refused, and
// nobody is told.
type link struct {
	namespace, device string
	// near is this machine's address, far the namespace's.
	near, far string
}

// nobody is the hardware address of no device: the other side drops what is sent to it.
const nobody = "02:00:00:00:00:01"

var links atomic.Int32

// newLink makes the namespace, or skips the test where that is impossible.
func newLink(t *testing.T) *link {
	t.Helper()
	ownProcess(t)
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
	l := &link{namespace: fmt.Sprintf("contract%d-%d", os.Getpid(), n), device: fmt.Sprintf("ct%d-%d", os.Getpid(), n), near: address(1), far: address(2)}
	ip(t, "netns", "add", l.namespace)
	// The namespace's end goes with it, and takes this one along.
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.namespace).Run() })
	ip(t, "link", "add", l.device, "type", "veth", "peer", "name", "eth0", "netns", l.namespace)
	ip(t, "addr", "add", l.near+"/30", "dev", l.device)
	ip(t, "link", "set", l.device, "up")
	ip(t, "-n", l.namespace, "addr", "add", l.far+"/30", "dev", "eth0")
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

func (l *link) cut(t *testing.T) {
	t.Helper()
	ip(t, "neigh", "replace", l.far, "lladdr", nobody, "dev", l.device, "nud", "permanent")
	ip(t, "-n", l.namespace, "neigh", "replace", l.near, "lladdr", nobody, "dev", "eth0", "nud", "permanent")
}

func (l *link) mend(t *testing.T) {
	t.Helper()
	ip(t, "neigh", "del", l.far, "dev", l.device)
	ip(t, "-n", l.namespace, "neigh", "del", l.near, "dev", "eth0")
}

// enter moves the calling thread into the namespace. It must be locked, and never unlocked.
func enter(namespace string) error {
	file, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}

// DialContext connects from within the namespace.
func (l *link) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = enter(l.namespace); err == nil {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
		}
	}()
	<-done
	return conn, err
}

// beyond puts an instance that has not begun at the far end.
func (l *link) beyond(i *instance) {
	i.namespace, i.host = l.namespace, l.far
	i.env = append(i.env, "MSSQL_IP_ADDRESS="+l.far)
}

// inside opens a database of an instance beyond the link from its own side, cut or not.
func (l *link) inside(t *testing.T, i *instance, database string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector(i.dsn(i.user, i.password, database, nil))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	connector.Dialer = l
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}
