// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"net"

	"golang.org/x/sys/unix"
)

// pathOf reads the MTU of a connection's path and how much data one of its packets holds at most (tcp(7), TCP_INFO;
// ip(7), IP_MTU is the same number); 0 where the kernel does not tell.
func pathOf(conn *net.TCPConn) (path, segment int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			path, segment = int(info.Pmtu), int(info.Snd_mss)
		}
	})
	return path, segment
}
