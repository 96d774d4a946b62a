// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// ending knows of the end of the connection that was made last. The driver does not tell of it while it waits for the
// first byte of an answer (processSingleResponse of go-mssqldb 1.11): who waits for messages would wait for ever.
type ending struct {
	mu   sync.Mutex
	conn net.Conn
	over chan struct{}
	err  error
}

// dial makes connections whose end is seen.
func (e *ending) dial(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.conn, e.over, e.err = conn, make(chan struct{}), nil
		return &watchedConn{Conn: conn, ending: e}, nil
	}
}

// watchedConn tells of its end.
type watchedConn struct {
	net.Conn
	ending *ending
}

// Read reads.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.ending.saw(c.Conn, err)
	return n, err
}

// Write writes.
func (c *watchedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.ending.saw(c.Conn, err)
	return n, err
}

// saw takes every error but a time-out for the end.
func (e *ending) saw(conn net.Conn, err error) {
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if conn == e.conn {
		e.close(err)
	}
}

// close is called with the lock held.
func (e *ending) close(err error) {
	select {
	case <-e.over:
	default:
		e.err = err
		close(e.over)
	}
}

// end says that the connection is over, by whatever else told so.
func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		e.close(nil)
	}
}

func (e *ending) abort() {
	e.mu.Lock()
	conn := e.conn
	e.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
	e.end()
}

func (e *ending) ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.over:
		return true
	default:
		return e.over == nil
	}
}

// why the connection ended; nil when that is not known.
func (e *ending) why() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// cancels ends a batch whose connection has ended, once what the server sent before could be read.
func (e *ending) cancels(ctx context.Context, cancel context.CancelCauseFunc) {
	e.mu.Lock()
	over := e.over
	e.mu.Unlock()
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-over:
		}
		timer := time.NewTimer(lastWords)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			cancel(errConnectionEnded)
		}
	}()
}
