// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// unheard asks the kernel (tcp(7), TCP_INFO; linux/tcp.h, struct tcp_info). A connection that cannot be asked about
// counts. That nothing was sent again tells little: on a machine that was busy when the kernel measured the round trip,
// it waits many seconds for that.
func (c *connection) unheard(since time.Time) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	var info *unix.TCPInfo
	outside := raw.Control(
		func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) },
	)
	if errors.Join(outside, err) != nil || info.Retransmits > 0 || info.Probes > 0 {
		return true
	}
	acknowledged := time.Duration(info.Last_ack_recv) * time.Millisecond
	return info.Unacked > 0 && acknowledged >= time.Since(since)
}
