// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// isInsertBulk tells whether a batch announces a bulk load ([MS-TDS] 2.2.6.1).
func isInsertBulk(text string) bool {
	words := strings.Fields(text[:min(len(text), 200)])
	return len(words) > 2 && equalFold(words[0], "insert") && equalFold(words[1], "bulk")
}

// bulkColumn is a column of the rows that a client sends.
type bulkColumn struct {
	Column
	wire wireType
}

// bulkLoad hands the rows to the session while they arrive. Whatever happens, the message is read to its end, so that
// the connection can go on.
func (c *conn) bulkLoad(r *request, w *response) error {
	text := c.bulk
	c.bulk = ""
	defer func() {
		for range r.stream {
		}
	}()
	if text == "" {
		return malformed("rows of a bulk load without an INSERT BULK statement")
	}
	d := &decoder{version: c.version, limit: c.srv.cfg.MaxRequest, more: func() ([]byte, error) {
		select {
		case b, ok := <-r.stream:
			if !ok && r.ctx.Err() != nil {
				return nil, r.ctx.Err() // the client gave the load up: this is not its end
			}
			if !ok {
				return nil, io.EOF
			}
			return b, nil
		case <-r.ctx.Done():
			return nil, r.ctx.Err()
		}
	}}
	if d.atEnd() {
		return c.ended(r, w, 0, nil)
	}
	columns, err := readBulkColumns(d)
	if err != nil {
		return err
	}
	described := make([]Column, len(columns))
	for i, col := range columns {
		described[i] = col.Column
	}
	count, err := c.session.BulkInsert(
		r.ctx,
		text,
		described,
		func() ([]any, error) { return nextBulkRow(r.ctx, d, columns) },
	)
	return c.ended(r, w, count, err)
}

func (c *conn) ended(r *request, w *response, count int64, err error) error {
	if r.ctx.Err() != nil && c.ctx.Err() == nil {
		return nil
	}
	if err != nil {
		return err
	}
	w.Done(Completion{Command: CommandBulkInsert, Count: count})
	return nil
}

func readBulkColumns(d *decoder) ([]bulkColumn, error) {
	if token := d.u8(); token != tokenColumns {
		return nil, malformed("token 0x%02X where the columns of a bulk load were expected", token)
	}
	n := int(d.u16())
	if n < 1 || n > 1024 {
		return nil, malformed("a bulk load of %d columns", n)
	}
	columns := make([]bulkColumn, n)
	for i := range columns {
		d.userType()
		flags := d.u16()
		w := d.typeInfo()
		if w.size == 0 && w.sqlType().Kind.IsCharacter() {
			w.size = maxBytes // mssql-jdbc declares no length for the texts of other types
		}
		if w.token == typeText || w.token == typeNText || w.token == typeImage {
			// Other than in a result set, the table's name has no parts (go-mssqldb, FreeTDS).
			d.longText()
		}
		columns[i] = bulkColumn{
			wire:   w,
			Column: Column{Type: w.sqlType(), Nullable: flags&columnNullable != 0, Identity: flags&columnIdentity != 0},
		}
		columns[i].Name = d.shortText()
		if d.err != nil {
			var unknown unknownTypeError
			if errors.As(d.err, &unknown) {
				return nil, &sqlerr.Error{
					Number:  4816,
					Class:   16,
					State:   1,
					Message: fmt.Sprintf("Invalid column type from bcp client for colid %d.", i+1),
				}
			}
			return nil, malformed("columns of a bulk load: %v", d.err)
		}
	}
	return columns, nil
}

// userType reads over UserType, which is a USHORT before TDS 7.2.
func (d *decoder) userType() {
	if d.version.atLeast(version72) {
		d.u32()
	} else {
		d.u16()
	}
}

// nextBulkRow reads ROW or NBCROW; io.EOF after DONE or at the end of the message.
func nextBulkRow(ctx context.Context, d *decoder, columns []bulkColumn) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.err == nil && d.atEnd() && d.err == nil {
		if err := ctx.Err(); err != nil {
			return nil, err // given up while the end was waited for
		}
		return nil, io.EOF
	}
	token := d.u8()
	var nulls []byte
	switch {
	case d.err != nil:
	case token == tokenDone:
		return nil, io.EOF
	case token == tokenNBCRow:
		nulls = append([]byte{}, d.bytes((len(columns)+7)/8)...)
	case token != tokenRow:
		return nil, malformed("token 0x%02X among the rows of a bulk load", token)
	}
	row := make([]any, len(columns))
	for i, col := range columns {
		if d.err != nil {
			break
		}
		if nulls != nil && nulls[i/8]&(1<<(i%8)) != 0 {
			continue
		}
		row[i] = d.bulkValue(col.wire)
		if errors.Is(d.err, errOddText) {
			return nil, &sqlerr.Error{
				Number:  4895,
				Class:   21,
				State:   1,
				Message: fmt.Sprintf("Unicode data is odd byte size for column %d. Should be even byte size.", i+1),
			}
		}
	}
	if d.err != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, malformed("rows of a bulk load: %v", d.err)
	}
	return row, nil
}

// bulkValue differs from a parameter's value in the text types, which come as in a row, behind a text pointer.
func (d *decoder) bulkValue(w wireType) any {
	if w.token == typeText || w.token == typeNText || w.token == typeImage {
		n := int(d.u8())
		if n == 0 {
			return nil
		}
		d.bytes(n + 8)
	}
	return d.value(w)
}
