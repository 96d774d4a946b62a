// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// FuzzLogin7 gives any bytes as LOGIN7, and as PRELOGIN.
func FuzzLogin7(f *testing.F) {
	b := make([]byte, loginFixed+8)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint32(b[4:], uint32(version74))
	binary.LittleEndian.PutUint16(b[40:], loginFixed)
	binary.LittleEndian.PutUint16(b[42:], 2)
	f.Add(b)
	extended := append([]byte{}, b...)
	extended[27] = 0x10
	binary.LittleEndian.PutUint16(extended[56:], loginFixed)
	binary.LittleEndian.PutUint16(extended[58:], 4)
	binary.LittleEndian.PutUint32(extended[loginFixed:], loginFixed+4)
	copy(extended[loginFixed+4:], []byte{0x0A, 0, 0, 0})
	f.Add(extended)
	f.Add([]byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := parseLogin(b); err == nil && (l.packetSize < minPacketSize || l.packetSize > maxPacketSize) {
			t.Errorf("packet size %d", l.packetSize)
		}
		_, _ = parsePreLogin(b)
	})
}

// FuzzParameters gives any bytes as remote procedure calls and as the columns and rows of a bulk load. What is decoded
// must be no larger than a few times what was sent.
func FuzzParameters(f *testing.F) {
	f.Add([]byte{0xFF, 0xFF, 10, 0, 0, 0, 2, '@', 0, 'a', 0, 0, 0x26, 4, 4, 1, 0, 0, 0})
	f.Add(
		[]byte{
			1,
			0,
			'p',
			0,
			0,
			0,
			0,
			1,
			0xE7,
			0xFF,
			0xFF,
			9,
			4,
			0xD0,
			0,
			0x34,
			0xFE,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			0xFF,
			2,
			0,
			0,
			0,
			'a',
			0,
			0,
			0,
			0,
			0,
		},
	)
	f.Add(
		[]byte{
			1,
			0,
			'p',
			0,
			0,
			0,
			0,
			0,
			0x6A,
			17,
			38,
			10,
			17,
			1,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
			255,
		},
	)
	f.Add(
		[]byte{
			1,
			0,
			'p',
			0,
			0,
			0,
			0,
			0,
			0x62,
			0x49,
			0x1F,
			0,
			0,
			6,
			0,
			0,
			0,
			0x38,
			0,
			1,
			0,
			0,
			0,
			0xFF,
			0xFF,
			0xFF,
			12,
			0,
			0,
			0,
			0,
			0,
			0xF3,
			0,
			0,
			0,
		},
	)
	f.Add([]byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x2A, 7, 1, 'n', 0, 0xD1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0xD2, 1, 0xFD})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &decoder{buf: b}
		for more := true; more; {
			var call Call
			var err error
			call, more, err = readCall(d, 0)
			if err != nil {
				break
			}
			for _, p := range call.Params {
				if w, err := wireTypeOf(p.Type); err == nil && p.Value != nil {
					_, _ = w.appendValue(nil, p.Value)
				}
			}
		}
		d = &decoder{buf: b}
		columns, err := readBulkColumns(d)
		for err == nil {
			_, err = nextBulkRow(t.Context(), d, columns)
		}
	})
}

// FuzzStranger connects and sends any bytes from the first on: PRELOGIN, TLS or nonsense. The connection must end.
func FuzzStranger(f *testing.F) {
	f.Add(whole(packetPreLogin, []byte{1, 0, 6, 0, 1, 0xFF, 1}))
	early := make([]byte, loginFixed71)
	binary.LittleEndian.PutUint32(early, loginFixed71)
	binary.LittleEndian.PutUint32(early[4:], uint32(version70))
	f.Add(append(whole(packetLogin, early), whole(packetBatch, []byte{'a', 0})...))
	f.Add([]byte{0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0})
	f.Add(append(whole(packetPreLogin, []byte{1, 0, 6, 0, 1, 0xFF, 2}), whole(packetLogin, make([]byte, loginFixed))...))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	server, err := NewServer(
		Config{Backend: silentBackend{}, MaxRequest: 1 << 16, FailedLoginDelay: time.Nanosecond, Log: panicLog},
	)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		c := newConn(server, far)
		server.logins <- struct{}{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.serve()
		}()
		go func() { _, _ = io.Copy(io.Discard, near) }()
		near.SetWriteDeadline(time.Now().Add(30 * time.Second))
		_, _ = near.Write(b)
		near.Close()
		select {
		case <-ended:
		case <-time.After(60 * time.Second):
			t.Fatal("the connection does not end")
		}
	})
}
