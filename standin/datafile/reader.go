// SPDX-License-Identifier: Apache-2.0

// Package datafile reads data files of characters, as BULK INSERT and OPENROWSET (BULK) take them
// (docs/relational-databases/import-export/data-formats-for-bulk-import-or-bulk-export-sql-server.md).
package datafile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Format is how a data file of characters is written
// (docs/relational-databases/import-export/specify-field-and-row-terminators-sql-server.md).
type Format struct {
	Field, Row string
	// ExactField and ExactRow are set for terminators given as bytes (0x0a); otherwise a line feed may have a carriage
	// return before it.
	ExactField, ExactRow bool
	// CSV tells that fields may be quoted, Wide that the file is in UTF-16, UTF8 in that; else it is in code page 1252.
	CSV, Wide, UTF8 bool
	// Quote is the character around fields of a CSV file, a quotation mark when empty.
	Quote string
}

// Terminator reads a terminator as BULK INSERT writes it: \t, \n, \r, \0 and \\ stand for characters, 0x begins bytes.
func Terminator(text string) (chars string, exact bool) {
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		if raw, err := hex.DecodeString(digits); err == nil && len(raw) > 0 {
			return string(raw), true
		}
	}
	return strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\0`, "\x00", `\\`, `\`).Replace(text), false
}

// MaxField bounds a field of a data file, in bytes.
const MaxField = 64 << 20

// Reader reads the records of a data file.
type Reader struct {
	in     *bufio.Reader
	format Format
	record int64
}

// NewReader reads a file in a format, or as its mark of an encoding says.
func NewReader(in io.Reader, format Format) *Reader {
	f := &Reader{in: bufio.NewReaderSize(in, 64<<10), format: format}
	if format.Quote == "" {
		f.format.Quote = `"`
	}
	if f.format.Row == "\r\n" && !f.format.ExactRow {
		f.format.Row = "\n"
	}
	// A file that begins with a mark of its encoding is read by that.
	switch mark, _ := f.in.Peek(3); {
	case bytes.HasPrefix(mark, []byte{0xFF, 0xFE}):
		f.format.Wide = true
		_, _ = f.in.Discard(2) // they were peeked at
	case bytes.Equal(mark, []byte{0xEF, 0xBB, 0xBF}):
		f.format.UTF8 = true
		_, _ = f.in.Discard(3)
	}
	return f
}

// read is the next character.
func (f *Reader) read() (rune, error) {
	switch {
	case f.format.Wide:
		unit, err := f.unit()
		if err != nil || !utf16.IsSurrogate(rune(unit)) {
			return rune(unit), err
		}
		low, err := f.unit()
		return utf16.DecodeRune(rune(unit), rune(low)), err
	case f.format.UTF8:
		r, _, err := f.in.ReadRune()
		return r, err
	}
	c, err := f.in.ReadByte()
	return sqltype.FromCP1252(c), err
}

func (f *Reader) unit() (uint16, error) {
	var b [2]byte
	if _, err := io.ReadFull(f.in, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint16(b[:]), nil
}

// Next is the next record with that many fields; io.EOF ends the file. Its last one may lack the terminator of rows.
func (f *Reader) Next(fields int) ([]string, error) {
	f.record++
	record := make([]string, 0, fields)
	for i := range fields {
		end, exact := f.format.Field, f.format.ExactField
		if i == fields-1 {
			end, exact = f.format.Row, f.format.ExactRow
		}
		field, err := f.field(end, exact, i+1)
		switch {
		case errors.Is(err, io.EOF) && i == 0 && field == "":
			return nil, io.EOF
		case errors.Is(err, io.EOF) && i < fields-1:
			return nil, sqlerr.New(4832, 1)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		record = append(record, field)
	}
	return record, nil
}

// field reads up to a terminator, or to the end of the file.
func (f *Reader) field(end string, exact bool, number int) (string, error) {
	var b []byte
	quoted, wasQuoted := false, false
	for {
		r, err := f.read()
		if err != nil {
			return string(b), err
		}
		begin := len(b)
		b = utf8.AppendRune(b, r)
		switch {
		case f.format.CSV && string(b[begin:]) == f.format.Quote && (quoted || begin == 0 || wasQuoted):
			if !wasQuoted || quoted { // a doubled quote stands for one
				b = b[:begin]
			}
			quoted, wasQuoted = !quoted, true
			continue
		case begin >= MaxField:
			return "", sqlerr.New(4866, 1, f.record, number)
		}
		if !quoted && end != "" && bytes.HasSuffix(b, []byte(end)) {
			b = b[:len(b)-len(end)]
			if end == "\n" && !exact {
				b = bytes.TrimSuffix(b, []byte{'\r'})
			}
			return string(b), nil
		}
	}
}

// ErrTooLarge is a file of more than MaxField bytes.
var ErrTooLarge = errors.New("the file is larger than a field may be")

// Text is the whole file as one text.
func (f *Reader) Text() (string, error) {
	var text strings.Builder
	for text.Len() < MaxField {
		c, err := f.read()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		text.WriteRune(c)
	}
	return "", ErrTooLarge
}
