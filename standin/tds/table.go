// SPDX-License-Identifier: Apache-2.0

package tds

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

// table reads a table-valued parameter behind its type's token.
func (d *decoder) table() *Table {
	d.shortText() // a database's name is not allowed
	t := &Table{Schema: d.shortText(), Name: d.shortText()}
	count := int(d.u16())
	if count == noColumns {
		count = 0
	}
	if count > maxTableColumns {
		d.fail("a table-valued parameter of %d columns", count)
	}
	types := make([]wireType, 0, min(count, maxTableColumns))
	for i := 0; i < count && d.err == nil; i++ {
		d.u32() // user type
		flags := d.u16()
		w := d.typeInfo()
		types = append(types, w)
		t.Columns = append(t.Columns, Column{Name: d.shortText(), Type: w.sqlType(), Nullable: true})
		t.Default = append(t.Default, flags&columnDefault != 0)
	}
	d.tableHints()
	for d.err == nil {
		switch token := d.u8(); token {
		case tableEnd:
			return t
		case tableRow:
			row := make([]any, count)
			for i, w := range types {
				if !t.Default[i] {
					row[i] = d.value(w)
				}
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
