// SPDX-License-Identifier: Apache-2.0

package tds

import "errors"

// Tokens of a table-valued parameter ([MS-TDS] 2.2.5.5.5.1).
const (
	tableEnd      byte = 0x00
	tableRow      byte = 0x01
	tableUnique   byte = 0x10
	tableOrdering byte = 0x11
)

const (
	noColumns     = 0xFFFF
	columnDefault = 0x0200
	// maxTableColumns is the limit of columns of a table.
	maxTableColumns = 1024
)

// errNamedDatabase is a table type that is named with its database, which is not allowed (2.2.5.5.5.1, DbName).
var errNamedDatabase = errors.New("the type of a table-valued parameter is named with a database")

// Memory of a row and of a value of it that is not among its bytes.
const (
	rowSize  = 24
	cellSize = 16
)

// table reads a table-valued parameter behind its type's token.
func (d *decoder) table() *Table {
	if d.shortText() != "" && d.err == nil {
		d.err = errNamedDatabase
	}
	t := &Table{Schema: d.shortText(), Name: d.shortText()}
	count := int(d.u16())
	if count == noColumns {
		count = 0
	}
	if count > maxTableColumns {
		d.fail("a table-valued parameter of %d columns", count)
	}
	d.inTable = true
	defer func() { d.inTable = false }()
	sent := make([]wireType, 0, min(count, maxTableColumns))
	for i := 0; i < count && d.err == nil; i++ {
		d.u32() // user type
		flags := d.u16()
		w := d.typeInfo()
		t.Columns = append(t.Columns, Column{Name: d.shortText(), Type: w.sqlType(), Nullable: true})
		t.Default = append(t.Default, flags&columnDefault != 0)
		if flags&columnDefault == 0 {
			sent = append(sent, w)
		}
	}
	d.tableHints()
	for d.err == nil {
		switch token := d.u8(); token {
		case tableEnd:
			return t
		case tableRow:
			if !d.hold(rowSize + len(sent)*cellSize) {
				return t
			}
			row := make([]any, len(sent))
			for i, w := range sent {
				row[i] = d.value(w)
			}
			t.Rows = append(t.Rows, row)
		default:
			d.fail("token 0x%02X within a table-valued parameter", token)
		}
	}
	return t
}

// tableHints reads over what a client says about order and uniqueness, up to the end of the metadata.
func (d *decoder) tableHints() {
	for d.err == nil {
		size := 0
		switch token := d.u8(); token {
		case tableEnd:
			return
		case tableUnique:
			size = 3
		case tableOrdering:
			size = 2
		default:
			d.fail("token 0x%02X in the metadata of a table-valued parameter", token)
			return
		}
		d.bytes(int(d.u16()) * size)
	}
}
