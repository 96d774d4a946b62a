// SPDX-License-Identifier: Apache-2.0

// Package sni keeps the TCP connections beneath TDS, as the SQL Server Network Interface does: it notices within a
// bound that the other side is not there any more.
package sni

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

const (
	// KeepAlive is how long a connection is silent before it is asked whether the other side is there: Keep Alive, 30000
	// ms (docs/tools/configuration-manager/client-protocols-tcp-ip-properties-protocol-tab.md), KeepAlive, 30 s
	// (docs/connect/odbc/linux-mac/connection-string-keywords-and-data-source-names-dsns.md).
	KeepAlive = 30 * time.Second
	// KeepAliveInterval is how long each such question may go without an answer: 1000 ms (the same pages).
	KeepAliveInterval = time.Second
	// KeepAliveProbes is how many of them are asked: Windows' TcpMaxDataRetransmissions, 5. So a connection whose other
	// side has vanished is found within about 35 s (the SQL Server protocols' blog on the Keep Alive property, 2006).
	KeepAliveProbes = 5
	// Unacknowledged is how long data may be on their way, and nothing be heard of the other side, before the connection
	// is given up. No document of SQL Server names a time for that; this is a silent connection's. Linux by itself sends
	// such data again for about a quarter of an hour (tcp_retries2), and asks a connection with data on their way nothing
	// meanwhile.
	Unacknowledged = KeepAlive + KeepAliveProbes*KeepAliveInterval
)

// Guard sets the bounds of a connection, and returns it as one that is closed when they are exceeded. A connection of
// another kind than TCP is returned as it is.
func Guard(conn net.Conn) (net.Conn, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn, nil
	}
	err := tcp.SetKeepAliveConfig(
		net.KeepAliveConfig{Enable: true, Idle: KeepAlive, Interval: KeepAliveInterval, Count: KeepAliveProbes},
	)
	if err != nil {
		return conn, fmt.Errorf("set the keep-alive times of a connection: %w", err)
	}
	return watch(tcp), nil
}

// Dialer connects for the driver.
type Dialer struct{}

// DialContext connects within ctx and guards the connection.
func (Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	guarded, err := Guard(conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return guarded, nil
}

// Open makes a pool of guarded connections from the driver's URL of a server. No connection is made yet.
func Open(url string) (*sql.DB, error) {
	connector, err := mssql.NewConnector(url)
	if err != nil {
		return nil, err
	}
	connector.Dialer = Dialer{}
	return sql.OpenDB(connector), nil
}
