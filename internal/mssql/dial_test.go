// SPDX-License-Identifier: Apache-2.0

//go:build integration

package mssql_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// What a cut link does to a connection with these options is seen in standin/contract, whose agents have them too.
func TestConnectionsEndBehindACut(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	access := mssql.Access{
		Passwords: credentials.Passwords{credentials.KeySA: []byte("Never-asked-1")},
		CA:        authority.PEM(),
	}
	db, err := connector(
		t,
		listener.Addr().String(),
		access,
	).Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = mssql.ReadInstance(ctx, db)
	}()
	defer func() { cancel(); <-ended }()
	accepted, err := listener.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	defer accepted.Close()
	// A connection is accepted before its dialer has set anything; what is sent comes afterwards.
	_, err = accepted.Read(make([]byte, 1))
	g.Expect(err).NotTo(HaveOccurred())

	fd := socketFrom(g, accepted.RemoteAddr().(*net.TCPAddr).Port, accepted.LocalAddr().(*net.TCPAddr).Port)
	for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: 35000, unix.TCP_KEEPIDLE: 30, unix.TCP_KEEPINTVL: 1,
		unix.TCP_KEEPCNT: 5} {
		have, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, option)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(have).To(Equal(want), "option %d", option)
	}
}

// socketFrom is this process's socket between two ports of IPv4: the driver does not hand out its connection.
func socketFrom(g Gomega, local, remote int) int {
	entries, err := os.ReadDir("/proc/self/fd")
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		g.Expect(err).NotTo(HaveOccurred())
		name, err := unix.Getsockname(fd)
		if err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd)
		if err != nil {
			continue
		}
		from, isIPv4 := name.(*unix.SockaddrInet4)
		to, alsoIPv4 := peer.(*unix.SockaddrInet4)
		if isIPv4 && alsoIPv4 && from.Port == local && to.Port == remote {
			return fd
		}
	}
	g.Expect(entries).To(BeEmpty(), "none of these files is the socket from port %d to %d", local, remote)
	return -1
}
