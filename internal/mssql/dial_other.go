// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mssql

import "net"

// bound does nothing: no other system has TCP_USER_TIMEOUT. The plugin alone is built for them, and a person waits
// there; keep-alives end a connection whose other side is gone.
func bound(net.Conn) error { return nil }
