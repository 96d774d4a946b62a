// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"geosql.dev/operator/internal/mssql"
)

// What a cut link does to a connection with these options is seen in standin/contract, whose agents have them too.
func TestConnectionsEndBehindACut(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	conn, err := mssql.Dial(5*time.Second)(t.Context(), "tcp", listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	g.Expect(err).NotTo(HaveOccurred())
	for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: 35000, unix.TCP_KEEPIDLE: 30, unix.TCP_KEEPINTVL: 1, unix.TCP_KEEPCNT: 5} {
		g.Expect(raw.Control(func(fd uintptr) {
			have, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(have).To(Equal(want), "option %d", option)
		})).To(Succeed())
	}
}
