// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// recordKind is the kind of a log record.
type recordKind uint8

const (
	// recordChanges is a SQLite changeset.
	recordChanges recordKind = 1
	// recordSchema is DDL: its text and the text that undoes it.
	recordSchema recordKind = 2
	// recordImages is the column names and whole rows that belong to the changeset before it.
	recordImages recordKind = 3
	// recordMark is an application's record.
	recordMark recordKind = 4
	// recordCommit ends a transaction; its LSN is the transaction's.
	recordCommit recordKind = 5
	// recordFork ends like a commit, and begins a recovery fork.
	recordFork recordKind = 6

	// recordContinued is set on the parts of a long record except the last.
	recordContinued recordKind = 0x80
)

type record struct {
	kind    recordKind
	payload []byte
}

const recordHeaderMax = 1 + binary.MaxVarintLen32

func appendRecord(buf []byte, kind recordKind, payload []byte) []byte {
	buf = append(buf, byte(kind))
	buf = binary.AppendUvarint(buf, uint64(len(payload)))
	return append(buf, payload...)
}

// decodeRecords splits a block's body into its records.
func decodeRecords(body []byte) ([]record, error) {
	var out []record
	for len(body) > 0 {
		kind := recordKind(body[0])
		n, w := binary.Uvarint(body[1:])
		if w <= 0 || n > uint64(len(body)-1-w) {
			return nil, fmt.Errorf("log record %d is cut short", len(out)+1)
		}
		start := 1 + w
		out = append(out, record{kind, body[start : start+int(n)]})
		body = body[start+int(n):]
	}
	return out, nil
}

// schemaChange is the payload of recordSchema.
type schemaChange struct {
	sql string
	// undo is the statements that take it back, in order.
	undo []string
	// kept are the tables that are copied aside before it, for undo.
	kept []keptTable
	// final says that there is no undo.
	final bool
}

func (s schemaChange) encode() []byte {
	var buf []byte
	buf = appendString(buf, s.sql)
	if s.final {
		return append(buf, 1)
	}
	buf = append(buf, 0)
	buf = binary.AppendUvarint(buf, uint64(len(s.undo)))
	for _, u := range s.undo {
		buf = appendString(buf, u)
	}
	buf = binary.AppendUvarint(buf, uint64(len(s.kept)))
	for _, k := range s.kept {
		buf = appendString(appendString(buf, k.table), k.copy)
	}
	return buf
}

func decodeSchemaChange(payload []byte) (schemaChange, error) {
	d := decoder{buf: payload}
	s := schemaChange{sql: d.string()}
	s.final = d.byte() == 1
	if !s.final {
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			s.undo = append(s.undo, d.string())
		}
		if d.err != nil || len(d.buf) == 0 {
			return s, d.err
		}
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			s.kept = append(s.kept, keptTable{d.string(), d.string()})
		}
	}
	return s, d.err
}

// commitInfo is the payload of recordCommit and recordFork.
type commitInfo struct {
	transaction uint64
	time        time.Time
	fork        uuid.UUID
	// forkStart is where a new fork leaves the one before it: the end of the log then, in the virtual log file before.
	forkStart LSN
}

func (c commitInfo) encode() []byte {
	buf := binary.BigEndian.AppendUint64(nil, c.transaction)
	buf = binary.BigEndian.AppendUint64(buf, uint64(c.time.UnixNano()))
	buf = append(buf, c.fork[:]...)
	return append(buf, c.forkStart[:]...)
}

func decodeCommit(payload []byte) (commitInfo, error) {
	if len(payload) != 42 {
		return commitInfo{}, fmt.Errorf("commit record has %d bytes instead of 42", len(payload))
	}
	c := commitInfo{transaction: binary.BigEndian.Uint64(payload)}
	c.time = time.Unix(0, int64(binary.BigEndian.Uint64(payload[8:]))).UTC()
	copy(c.fork[:], payload[16:])
	copy(c.forkStart[:], payload[32:])
	return c, nil
}

func encodeMark(m Mark) []byte { return append(appendString(nil, m.Kind), m.Payload...) }

func decodeMark(payload []byte) (Mark, error) {
	d := decoder{buf: payload}
	kind := d.string()
	return Mark{Kind: kind, Payload: d.buf}, d.err
}

func appendString(buf []byte, s string) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(s)))
	return append(buf, s...)
}

// decoder reads the fields of a payload and remembers the first error.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) fail() { d.err = fmt.Errorf("log record is malformed"); d.buf = nil }

func (d *decoder) uvarint() uint64 {
	n, w := binary.Uvarint(d.buf)
	if w <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[w:]
	return n
}

func (d *decoder) byte() byte {
	if len(d.buf) == 0 {
		d.fail()
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *decoder) string() string {
	n := d.uvarint()
	if n > uint64(len(d.buf)) {
		d.fail()
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}
