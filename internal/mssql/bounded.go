// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	tds "github.com/microsoft/go-mssqldb"
)

const (
	// loginTimeout bounds connecting, handshake and login together.
	loginTimeout = 10 * time.Second
	// abortGrace is how long a cancelled statement may take to be confirmed before its connection is closed. The driver
	// itself would wait for five to ten seconds, and a frozen engine never answers.
	abortGrace = 500 * time.Millisecond
	// attempts to execute a statement whose connection turned out to be dead before it was sent.
	attempts = 3
)

// boundedConnector makes connections within their deadline: once it has a TCP connection, the driver looks at no
// context until the login is over, and an engine that is frozen would hold it for ever.
type boundedConnector struct{ inner *tds.Connector }

// Driver is the driver.
func (c boundedConnector) Driver() driver.Driver { return c.inner.Driver() }

// Connect logs in. The TCP connection is closed when ctx ends first.
func (c boundedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	w := &wire{}
	stop := context.AfterFunc(ctx, w.abort)
	inner, err := c.inner.Connect(context.WithValue(ctx, wireKey{}, w))
	if !stop() || ctx.Err() != nil {
		if err == nil {
			_ = inner.Close()
			err = errors.New("the login was not over")
		}
		w.abort()
		return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if err != nil {
		return nil, err
	}
	conn, ok := inner.(*tds.Conn)
	if !ok {
		_ = inner.Close()
		return nil, fmt.Errorf("the driver made a connection of type %T", inner)
	}
	return &boundedConn{Conn: conn, wire: w}, nil
}

// boundedConn is the driver's connection with the TCP connection beneath it.
type boundedConn struct {
	*tds.Conn
	wire *wire
}

// wire is a TCP connection that can be closed from outside at any time, also before it is made.
type wire struct {
	mu      sync.Mutex
	conn    net.Conn
	aborted bool
}

type wireKey struct{}

func (w *wire) set(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
	if w.aborted {
		_ = conn.Close()
	}
}

func (w *wire) abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aborted = true
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// hostDialer resolves names itself under the context; the driver's own look-up has no deadline.
type hostDialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	host string
}

// DialContext connects and notes the connection for boundedConnector.
func (d hostDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if w, ok := ctx.Value(wireKey{}).(*wire); ok {
		w.set(conn)
	}
	return conn, nil
}

// HostName makes the driver leave the look-up of names to this dialer.
func (d hostDialer) HostName() string { return d.host }

// borrow calls f with a connection of the pool, again with another one when the first was dead before anything was
// sent.
func (d *DB) borrow(ctx context.Context, f func(*sql.Conn) error) error {
	for attempt := 1; ; attempt++ {
		conn, err := d.handle.Conn(ctx)
		if err != nil {
			return err
		}
		err = f(conn)
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) || attempt == attempts {
			return err
		}
	}
}

// within calls f and closes the connection beneath it when ctx ends and f does not return within a grace.
func within(ctx context.Context, conn *sql.Conn, f func() error) error {
	var w *wire
	err := conn.Raw(func(c any) error {
		if bounded, ok := c.(*boundedConn); ok {
			w = bounded.wire
		}
		return nil
	})
	if err != nil {
		return err
	}
	if w == nil {
		return errors.New("the connection is not one of this package")
	}
	// After f has returned, the connection may be somebody else's.
	var mu sync.Mutex
	returned := false
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(abortGrace, func() {
			mu.Lock()
			defer mu.Unlock()
			if !returned {
				w.abort()
			}
		})
	})
	defer stop()
	err = f()
	mu.Lock()
	defer mu.Unlock()
	returned = true
	return err
}
