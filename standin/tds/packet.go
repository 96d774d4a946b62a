// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Packet types ([MS-TDS] 2.2.3.1.1).
const (
	packetBatch       byte = 0x01
	packetRPC         byte = 0x03
	packetReply       byte = 0x04
	packetAttention   byte = 0x06
	packetBulk        byte = 0x07
	packetTransaction byte = 0x0E
	packetLogin       byte = 0x10
	packetPreLogin    byte = 0x12
)

// Packet status bits ([MS-TDS] 2.2.3.1.2).
const (
	statusEOM           byte = 0x01
	statusIgnore        byte = 0x02
	statusReset         byte = 0x08
	statusResetSkipTran byte = 0x10
)

const (
	headerSize                 = 8
	minPacketSize              = 512
	maxPacketSize              = 32767
	maxEncryptedPacketSize     = 16383
	maxEncryptedMARSPacketSize = 16368
	defaultPacketSize          = 4096
)

// packet is one packet as it was read; body is valid until the next read.
type packet struct {
	typ, status byte
	body        []byte
}

// packetReader reads packets; the largest it accepts is maxPacketSize, whatever size was negotiated.
type packetReader struct {
	r   io.Reader
	buf []byte
}

func newPacketReader(r io.Reader) *packetReader {
	return &packetReader{r: r, buf: make([]byte, defaultPacketSize)}
}

// next reads one packet. io.EOF means that the peer closed between packets.
func (p *packetReader) next() (packet, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(p.r, h[:]); err != nil {
		return packet{}, err
	}
	n := int(binary.BigEndian.Uint16(h[2:]))
	if n < headerSize || n > maxPacketSize {
		return packet{}, fmt.Errorf(
			"packet of type 0x%02x claims a length of %d bytes, outside %d to %d",
			h[0],
			n,
			headerSize,
			maxPacketSize,
		)
	}
	n -= headerSize
	if n > len(p.buf) {
		p.buf = make([]byte, maxPacketSize)
	}
	if _, err := io.ReadFull(p.r, p.buf[:n]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return packet{}, err
	}
	return packet{typ: h[0], status: h[1], body: p.buf[:n]}, nil
}

// message reads packets up to the end of a message of at most limit bytes.
func (p *packetReader) message(limit int) (packet, error) {
	var whole packet
	for first := true; ; first = false {
		next, err := p.next()
		if err != nil {
			return packet{}, err
		}
		if first {
			whole.typ, whole.status = next.typ, next.status
		} else if next.typ != whole.typ {
			return packet{}, fmt.Errorf("packet of type 0x%02x inside a message of type 0x%02x", next.typ, whole.typ)
		}
		if len(whole.body)+len(next.body) > limit {
			return packet{}, fmt.Errorf("message of type 0x%02x is longer than the %d bytes allowed", whole.typ, limit)
		}
		whole.body = append(whole.body, next.body...)
		if next.status&statusEOM != 0 {
			return whole, nil
		}
	}
}

// packetWriter cuts messages into packets. Its first error is remembered and returned from then on.
type packetWriter struct {
	w    *bufio.Writer
	buf  []byte
	typ  byte
	spid uint16
	id   byte
	err  error
}

func newPacketWriter(w io.Writer, size int) *packetWriter {
	p := &packetWriter{w: bufio.NewWriterSize(w, 4*defaultPacketSize), typ: packetReply}
	p.resize(size)
	return p
}

func (p *packetWriter) resize(size int) {
	p.buf = make([]byte, headerSize, size)
	p.id = 1
}

// Write adds bytes to the current message and sends packets that are full.
func (p *packetWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && p.err == nil {
		if len(p.buf) == cap(p.buf) {
			p.send(0)
		}
		room := min(cap(p.buf)-len(p.buf), len(b))
		p.buf = append(p.buf, b[:room]...)
		b = b[room:]
	}
	return n, p.err
}

// end sends the last packet of the message.
func (p *packetWriter) end() error {
	p.send(statusEOM)
	p.id = 1
	return p.flushed()
}

// flush sends what there is so far without ending the message, so that progress is seen while a statement runs.
func (p *packetWriter) flush() error {
	if len(p.buf) > headerSize {
		p.send(0)
	}
	return p.flushed()
}

func (p *packetWriter) flushed() error {
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

func (p *packetWriter) send(status byte) {
	if p.err != nil {
		return
	}
	h := p.buf[:headerSize]
	h[0], h[1] = p.typ, status
	binary.BigEndian.PutUint16(h[2:], uint16(len(p.buf)))
	binary.BigEndian.PutUint16(h[4:], p.spid)
	h[6], h[7] = p.id, 0
	p.id++
	_, p.err = p.w.Write(p.buf)
	p.buf = p.buf[:headerSize]
}
