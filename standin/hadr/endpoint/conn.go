// SPDX-License-Identifier: Apache-2.0

// Package endpoint is the transport between replicas: framed messages over TLS 1.3, both sides known by the
// certificates of their DATABASE_MIRRORING endpoints. The protocol is the stand-in's own.
package endpoint

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// MaxFrame bounds a message, in bytes.
const MaxFrame = 64 << 20

// Conn is an authenticated connection. One goroutine may send while another receives.
type Conn struct {
	raw  net.Conn
	in   *bufio.Reader
	peer *x509.Certificate

	mu  sync.Mutex
	out *bufio.Writer
}

func newConn(raw net.Conn, peer *x509.Certificate) *Conn {
	return &Conn{raw: raw, peer: peer, in: bufio.NewReaderSize(raw, 64<<10), out: bufio.NewWriterSize(raw, 64<<10)}
}

// Peer is the other side's certificate.
func (c *Conn) Peer() *x509.Certificate { return c.peer }

// Close ends the connection; sends and receives in progress fail.
func (c *Conn) Close() error { return c.raw.Close() }

// SetDeadline bounds sends and receives from now on; zero is no bound.
func (c *Conn) SetDeadline(t time.Time) error { return c.raw.SetDeadline(t) }

// SetWriteDeadline bounds sends from now on.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.raw.SetWriteDeadline(t) }

// Put sends a message without waiting for the buffer to be full or flushed.
func (c *Conn) Put(kind byte, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.put(kind, payload)
}

func (c *Conn) put(kind byte, payload []byte) error {
	var head [5]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(payload)))
	head[4] = kind
	if _, err := c.out.Write(head[:]); err != nil {
		return fmt.Errorf("send to %s: %w", c.raw.RemoteAddr(), err)
	}
	if _, err := c.out.Write(payload); err != nil {
		return fmt.Errorf("send to %s: %w", c.raw.RemoteAddr(), err)
	}
	return nil
}

// Flush sends what Put has buffered.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush()
}

func (c *Conn) flush() error {
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("send to %s: %w", c.raw.RemoteAddr(), err)
	}
	return nil
}

// Send sends a message at once.
func (c *Conn) Send(kind byte, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.put(kind, payload); err != nil {
		return err
	}
	return c.flush()
}

// SendValue sends a value as JSON at once.
func (c *Conn) SendValue(kind byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.Send(kind, data)
}

// Receive waits for the next message.
func (c *Conn) Receive() (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, fmt.Errorf("receive from %s: %w", c.raw.RemoteAddr(), err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("receive from %s: a message of %d bytes", c.raw.RemoteAddr(), n)
	}
	// Memory is taken for what has arrived, not for what was announced.
	var body bytes.Buffer
	body.Grow(int(min(n, 64<<10)))
	if _, err := io.CopyN(&body, c.in, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, fmt.Errorf("receive from %s: %w", c.raw.RemoteAddr(), err)
	}
	return head[4], body.Bytes(), nil
}

// ReceiveValue waits for a message of the given kind and decodes it.
func (c *Conn) ReceiveValue(want byte, v any) error {
	kind, payload, err := c.Receive()
	if err != nil {
		return err
	}
	if kind != want {
		return fmt.Errorf("receive from %s: message %d instead of %d", c.raw.RemoteAddr(), kind, want)
	}
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("receive from %s: %w", c.raw.RemoteAddr(), err)
	}
	return nil
}
