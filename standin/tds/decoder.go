// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unsafe"
)

var errStreamEnded = errors.New("the stream ended unexpectedly")

// decoder reads the fields of a message. Its first error sticks; after it every read gives zero values, so that
// callers check err once per structure and once per turn of a loop.
type decoder struct {
	buf []byte
	pos int
	// more gives further bytes of a message that is read while it arrives (bulk load); nil when buf is all there is.
	more func() ([]byte, error)
	// limit bounds what one field may make a streaming decoder hold.
	limit int
	// version is that of the client.
	version version
	// held counts what the message's values take besides its own bytes; nil when nobody counts.
	held func(n int) error
	// inTable is set within the columns of a table-valued parameter.
	inTable bool
	err     error
}

// hold counts memory; false when there is no more, or an error before.
func (d *decoder) hold(n int) bool {
	if d.err == nil && d.held != nil {
		d.err = d.held(n)
	}
	return d.err == nil
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// left is the number of bytes not yet read; of a stream, those at hand.
func (d *decoder) left() int { return len(d.buf) - d.pos }

// atEnd tells whether nothing follows, waiting for more of a stream when needed.
func (d *decoder) atEnd() bool {
	return d.err != nil || (d.left() == 0 && !d.fill(1))
}

func (d *decoder) fill(n int) bool {
	for d.left() < n {
		if d.more == nil {
			return false
		}
		if n > d.limit {
			d.fail("a field of %d bytes is longer than the %d bytes allowed", n, d.limit)
			return false
		}
		chunk, err := d.more()
		if err != nil {
			if d.err == nil && d.left() > 0 {
				d.err = err
			}
			return false
		}
		if d.pos > 0 {
			d.buf = append(d.buf[:0], d.buf[d.pos:]...)
			d.pos = 0
		}
		d.buf = append(d.buf, chunk...)
	}
	return true
}

// bytes gives the next n bytes; they are valid until the next read of a streaming decoder.
func (d *decoder) bytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || !d.fill(n) {
		if d.err == nil {
			d.err = errStreamEnded
		}
		return nil
	}
	b := d.buf[d.pos : d.pos+n : d.pos+n]
	d.pos += n
	return b
}

func (d *decoder) u8() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text reads n UTF-16 code units.
func (d *decoder) text(n int) string { return decodeUTF16(d.bytes(2 * n)) }

// shortText reads a B_VARCHAR, longText a US_VARCHAR ([MS-TDS] 2.2.5.1.2).
func (d *decoder) shortText() string { return d.text(int(d.u8())) }
func (d *decoder) longText() string  { return d.text(int(d.u16())) }

// byteText reads a B_VARBYTE of UTF-16: its length is in bytes ([MS-TDS] 2.2.7.17, names of transactions).
func (d *decoder) byteText() string { return decodeUTF16(d.bytes(int(d.u8()))) }

// notASCII has the bits that no UTF-16 code unit below 0x80 has, in four code units.
const notASCII = 0xFF80FF80FF80FF80

// decodeUTF16 makes a string of UTF-16LE. What is ASCII throughout is narrowed eight bytes at a time.
func decodeUTF16(b []byte) string {
	b = b[:len(b)&^1]
	out := make([]byte, len(b)/2)
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if w&notASCII != 0 {
			return wideUTF16(b)
		}
		w = (w | w>>8) & 0x0000FFFF0000FFFF
		binary.LittleEndian.PutUint32(out[i/2:], uint32(w|w>>16))
	}
	for ; i < len(b); i += 2 {
		if b[i] >= 0x80 || b[i+1] != 0 {
			return wideUTF16(b)
		}
		out[i/2] = b[i]
	}
	// Nothing else refers to out: it may become the string itself.
	return unsafe.String(unsafe.SliceData(out), len(out))
}

func wideUTF16(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

func appendUTF16(b []byte, s string) []byte {
	for _, r := range s {
		if r < 0x10000 {
			b = append(b, byte(r), byte(r>>8))
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		b = append(b, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
	}
	return b
}

// utf16Length is the number of UTF-16 code units of s.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// cutUTF16 shortens s to at most n code units without splitting a character.
func cutUTF16(s string, n int) string {
	used := 0
	for i, r := range s {
		used++
		if r >= 0x10000 {
			used++
		}
		if used > n {
			return s[:i]
		}
	}
	return s
}

func appendShortText(b []byte, s string) []byte {
	s = cutUTF16(s, 255)
	return appendUTF16(append(b, byte(utf16Length(s))), s)
}

func appendLongText(b []byte, s string) []byte {
	s = cutUTF16(s, 65535)
	return appendUTF16(binary.LittleEndian.AppendUint16(b, uint16(utf16Length(s))), s)
}
