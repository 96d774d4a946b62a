// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// bound has the system give up a connection whose data are not acknowledged (TCP_USER_TIMEOUT, tcp(7)). That ends one,
// too, whose other side is there and takes nothing for as long, as an engine whose process is stopped while much is
// sent to it.
func bound(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err == nil {
		var refused error
		err = raw.Control(func(fd uintptr) {
			refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unacknowledged.Milliseconds()))
		})
		err = errors.Join(err, refused)
	}
	if err != nil {
		return fmt.Errorf("bound how long data stay unacknowledged on a connection: %w", err)
	}
	return nil
}
