// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Op is what happened to a row.
type Op uint8

// The operations, with the changeset format's numbers (SQLite's SQLITE_INSERT, _DELETE, _UPDATE).
const (
	OpDelete Op = 9
	OpInsert Op = 18
	OpUpdate Op = 23
)

// Undefined is a value that a changeset does not carry: an unchanged column of an update.
type Undefined struct{}

// rowChange is one change of a changeset. Values are nil, int64, float64, string, []byte or Undefined.
type rowChange struct {
	table string
	// key tells which columns are the SQLite primary key.
	key      []bool
	op       Op
	old, new []any
}

// readChangeset calls visit for every change in a changeset (https://www.sqlite.org/session/changeset format: table
// header 'T', column count, key flags, name; then op, indirect flag, old and new records).
func readChangeset(data []byte, visit func(*rowChange) error) error {
	d := changesetDecoder{buf: data}
	var c rowChange
	for len(d.buf) > 0 && d.err == nil {
		switch b := d.byte(); b {
		case 'T':
			n := int(d.varint())
			if n <= 0 || n > len(d.buf) {
				return fmt.Errorf("changeset's table has %d columns", n)
			}
			c.key = make([]bool, n)
			for i := range c.key {
				c.key[i] = d.byte() != 0
			}
			c.table = d.cstring()
		case byte(OpInsert), byte(OpDelete), byte(OpUpdate):
			d.byte()
			c.op, c.old, c.new = Op(b), nil, nil
			if c.op != OpInsert {
				c.old = d.row(len(c.key))
			}
			if c.op != OpDelete {
				c.new = d.row(len(c.key))
			}
			if d.err != nil {
				return d.err
			}
			if err := visit(&c); err != nil {
				return err
			}
		default:
			return fmt.Errorf("changeset has an unknown entry %#x", b)
		}
	}
	return d.err
}

type changesetDecoder struct {
	buf []byte
	err error
}

func (d *changesetDecoder) take(n int) []byte {
	if n < 0 || n > len(d.buf) {
		d.err = fmt.Errorf("changeset is cut short")
		d.buf = nil
		return make([]byte, max(0, min(n, 16)))
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

func (d *changesetDecoder) byte() byte { return d.take(1)[0] }

// varint is SQLite's: big endian, 7 bits a byte, the ninth byte whole.
func (d *changesetDecoder) varint() uint64 {
	var v uint64
	for i := range 9 {
		b := d.byte()
		if i == 8 {
			return v<<8 | uint64(b)
		}
		v = v<<7 | uint64(b&0x7f)
		if b < 0x80 || d.err != nil {
			break
		}
	}
	return v
}

func (d *changesetDecoder) cstring() string {
	for i, b := range d.buf {
		if b == 0 {
			s := string(d.buf[:i])
			d.buf = d.buf[i+1:]
			return s
		}
	}
	d.take(len(d.buf) + 1)
	return ""
}

func (d *changesetDecoder) row(n int) []any {
	row := make([]any, n)
	for i := range row {
		row[i] = d.value()
	}
	return row
}

// raw is the next value as it is encoded.
func (d *changesetDecoder) raw() []byte {
	start := d.buf
	var f [1]field
	d.fields(f[:])
	return start[:len(start)-len(d.buf)]
}

func (d *changesetDecoder) value() any {
	switch t := d.byte(); t {
	case 0:
		return Undefined{}
	case 1:
		return int64(binary.BigEndian.Uint64(d.take(8)))
	case 2:
		return math.Float64frombits(binary.BigEndian.Uint64(d.take(8)))
	case 3:
		return string(d.take(int(d.varint())))
	case 4:
		return append([]byte{}, d.take(int(d.varint()))...)
	case 5:
		return nil
	default:
		d.err = fmt.Errorf("changeset has a value of unknown type %d", t)
		return nil
	}
}

// appendValue encodes a value as a changeset does; the images record uses it, too.
func appendValue(buf []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(buf, 5)
	case int64:
		return binary.BigEndian.AppendUint64(append(buf, 1), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(buf, 2), math.Float64bits(v))
	case string:
		return append(appendSQLiteVarint(append(buf, 3), uint64(len(v))), v...)
	case []byte:
		return append(appendSQLiteVarint(append(buf, 4), uint64(len(v))), v...)
	default:
		return append(buf, 0)
	}
}

func appendSQLiteVarint(buf []byte, v uint64) []byte {
	var tmp [9]byte
	if v>>56 != 0 {
		tmp[8] = byte(v)
		v >>= 8
		for i := 7; i >= 0; i-- {
			tmp[i] = byte(v&0x7f) | 0x80
			v >>= 7
		}
		return append(buf, tmp[:]...)
	}
	i := 8
	tmp[i] = byte(v & 0x7f)
	for v >>= 7; v > 0; v >>= 7 {
		i--
		tmp[i] = byte(v&0x7f) | 0x80
	}
	return append(buf, tmp[i:]...)
}
