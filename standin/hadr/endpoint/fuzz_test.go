// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"net"
	"testing"
)

// stream is a connection whose other side has said all that it will.
type stream struct {
	net.Conn
	*bytes.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (stream) RemoteAddr() net.Addr         { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// FuzzReceive gives any bytes as what a peer sends: messages up to the first that is malformed, never more memory than
// was sent.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 1, '{', '}'})
	f.Add([]byte{0, 0, 0, 0, 9, 0, 0, 0, 1, 2})
	f.Add([]byte{0x03, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := newConn(stream{Reader: bytes.NewReader(sent)}, nil)
		for total := 0; ; {
			_, payload, err := c.Receive()
			if err != nil {
				return
			}
			if total += 5 + len(payload); total > len(sent) {
				t.Fatalf("%d bytes were received and %d sent", total, len(sent))
			}
		}
	})
}
