// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"net"
	"time"
)

const (
	// keepAliveIdle, keepAliveInterval and keepAliveProbes are when and how often a silent server is asked whether it is
	// there: the drivers' KeepAlive and KeepAliveInterval
	// (docs/connect/odbc/linux-mac/connection-string-keywords-and-data-source-names-dsns.md).
	keepAliveIdle     = 30 * time.Second
	keepAliveInterval = time.Second
	keepAliveProbes   = 5
	// unacknowledged is how long data may be on their way without an acknowledgement. Linux by itself goes on for a
	// quarter of an hour, and some statements may take as long: the worker that sent one of them would be held up by a cut
	// link.
	unacknowledged = keepAliveIdle + keepAliveProbes*keepAliveInterval
)

// Dial is a function that connects within a time-out, and whose connections end 35 s after the other side was heard for
// the last time, whether anything is on its way or not.
func Dial(timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{
		Timeout: timeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable:   true,
			Idle:     keepAliveIdle,
			Interval: keepAliveInterval,
			Count:    keepAliveProbes,
		},
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := bound(conn); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}
}
