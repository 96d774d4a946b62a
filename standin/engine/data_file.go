// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// dataFormat is how a data file of characters is written (docs/relational-databases/import-export/specify-field-and-row-terminators-sql-server.md).
type dataFormat struct {
	field, row string
	// exactField and exactRow are set for terminators given as bytes (0x0a); otherwise a line feed may have a carriage return before it.
	exactField, exactRow bool
	csv, wide, utf8      bool
	// quote is the character around fields of a CSV file, a quotation mark when empty.
	quote string
}

// terminator reads a terminator as BULK INSERT writes it: \t, \n, \r, \0 and \\ stand for characters, 0x begins bytes.
func terminator(text string) (chars string, exact bool) {
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		if raw, err := hex.DecodeString(digits); err == nil && len(raw) > 0 {
			return string(raw), true
		}
	}
	return strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\0`, "\x00", `\\`, `\`).Replace(text), false
}

// maxField bounds a field of a data file, in bytes.
const maxField = 64 << 20

// dataFile reads the records of a data file.
type dataFile struct {
	in     *bufio.Reader
	format dataFormat
	record int64
}

func newDataFile(in io.Reader, format dataFormat) *dataFile {
	f := &dataFile{in: bufio.NewReaderSize(in, 64<<10), format: format}
	if format.quote == "" {
		f.format.quote = `"`
	}
	if f.format.row == "\r\n" && !f.format.exactRow {
		f.format.row = "\n"
	}
	// A file that begins with a mark of its encoding is read by that.
	switch mark, _ := f.in.Peek(3); {
	case bytes.HasPrefix(mark, []byte{0xFF, 0xFE}):
		f.format.wide = true
		_, _ = f.in.Discard(2) // they were peeked at
	case bytes.Equal(mark, []byte{0xEF, 0xBB, 0xBF}):
		f.format.utf8 = true
		_, _ = f.in.Discard(3)
	}
	return f
}

// read is the next character.
func (f *dataFile) read() (rune, error) {
	switch {
	case f.format.wide:
		unit, err := f.unit()
		if err != nil || !utf16.IsSurrogate(rune(unit)) {
			return rune(unit), err
		}
		low, err := f.unit()
		return utf16.DecodeRune(rune(unit), rune(low)), err
	case f.format.utf8:
		r, _, err := f.in.ReadRune()
		return r, err
	}
	c, err := f.in.ReadByte()
	return sqltype.FromCP1252(c), err
}

func (f *dataFile) unit() (uint16, error) {
	var b [2]byte
	if _, err := io.ReadFull(f.in, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint16(b[:]), nil
}

// next is the next record with that many fields; io.EOF ends the file. Its last one may lack the terminator of rows.
func (f *dataFile) next(fields int) ([]string, error) {
	f.record++
	record := make([]string, 0, fields)
	for i := range fields {
		end, exact := f.format.field, f.format.exactField
		if i == fields-1 {
			end, exact = f.format.row, f.format.exactRow
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
func (f *dataFile) field(end string, exact bool, number int) (string, error) {
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
		case f.format.csv && string(b[begin:]) == f.format.quote && (quoted || begin == 0 || wasQuoted):
			if !wasQuoted || quoted { // a doubled quote stands for one
				b = b[:begin]
			}
			quoted, wasQuoted = !quoted, true
			continue
		case begin >= maxField:
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

// bulkRowset binds OPENROWSET (BULK 'file', SINGLE_CLOB | SINGLE_NCLOB | SINGLE_BLOB): one row with the whole file
// (docs/t-sql/functions/openrowset-transact-sql.md).
func (b *binder) bulkRowset(sc *scope, n *ast.BulkOpenRowset) string {
	kind := ""
	for _, opt := range n.Options {
		o, ok := opt.(*ast.BulkInsertOptionBase)
		if !ok || !strings.HasPrefix(o.OptionKind, "Single") {
			b.refuse("OPENROWSET (BULK) with another option than SINGLE_BLOB, SINGLE_CLOB and SINGLE_NCLOB")
		}
		kind = "openrowset " + lower(o.OptionKind)
	}
	if kind == "" || len(n.DataFiles) != 1 {
		b.refuse("OPENROWSET (BULK) without SINGLE_BLOB, SINGLE_CLOB or SINGLE_NCLOB")
	}
	if n.Alias == nil {
		b.fail(491)
	}
	return b.tableFunction(sc, objectName{schema: "sys", name: kind}, n.DataFiles, n.Alias.Value, n.Columns)
}

// installBulkFiles registers BULK INSERT and what OPENROWSET (BULK) reads with.
func installBulkFiles(r *Registry) {
	on(r, (*Session).bulkInsertStatement)
	for kind, column := range map[string]string{"singleblob": "BulkColumn varbinary(max)", "singleclob": "BulkColumn varchar(max)", "singlenclob": "BulkColumn nvarchar(max)"} {
		r.TableFunction(TableFunction{Schema: "sys", Name: "openrowset " + kind, Parameters: []sqltype.Type{nmax}, Columns: columns(column),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				path, _ := args[0].(string)
				return s.wholeFile(ctx, path, kind)
			}})
	}
}

func tooLarge() error { return unsupported("OPENROWSET (BULK) of a file of more than 64 MB") }

// wholeFile is a file as one value.
func (s *Session) wholeFile(ctx context.Context, path, kind string) ([][]any, error) {
	in, err := s.openDataFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if kind == "singleblob" {
		raw, err := io.ReadAll(io.LimitReader(in, maxField+1))
		if len(raw) > maxField {
			err = tooLarge()
		}
		return [][]any{{raw}}, err
	}
	f := newDataFile(in, dataFormat{wide: kind == "singlenclob"})
	var text strings.Builder
	for text.Len() < maxField {
		c, err := f.read()
		if errors.Is(err, io.EOF) {
			return [][]any{{text.String()}}, nil
		}
		if err != nil {
			return nil, err
		}
		text.WriteRune(c)
	}
	return nil, tooLarge()
}
