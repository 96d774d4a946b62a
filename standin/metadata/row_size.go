// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// maxRow is how many bytes a row may have (docs/sql-server/maximum-capacity-specifications-for-sql-server.md, Bytes per
// row).
const maxRow = 8060

// FitsRow refuses a table whose rows are too long even where all columns of varying length are empty (1701): each row
// has a header of four bytes, the number of its columns, and a bit for each of them.
func (t *Table) FitsRow(name string) error {
	size, bits, columns := 0, 0, 0
	for _, c := range t.Columns {
		if c.Computed != "" || c.Sparse {
			continue
		}
		columns++
		switch c.Type.Kind {
		case sqltype.Bit:
			bits++
		case sqltype.VarChar,
			sqltype.NVarChar,
			sqltype.VarBinary,
			sqltype.Text,
			sqltype.NText,
			sqltype.Image,
			sqltype.XML,
			sqltype.SQLVariant:
		default:
			size += c.Type.MaxBytes()
		}
	}
	overhead := 4 + 2 + (columns+7)/8
	if size += (bits+7)/8 + overhead; size > maxRow {
		return sqlerr.New(1701, 1, name, size, overhead, maxRow)
	}
	return nil
}

// KeySize is how many bytes the key of an index has at least: with all columns of varying length empty.
func (t *Table) KeySize(i *Index) int {
	size := 0
	for _, k := range i.Keys {
		c := t.ColumnByID(k.Column)
		switch c.Type.Kind {
		case sqltype.VarChar,
			sqltype.NVarChar,
			sqltype.VarBinary,
			sqltype.Text,
			sqltype.NText,
			sqltype.Image,
			sqltype.XML,
			sqltype.SQLVariant:
		default:
			size += c.Type.MaxBytes()
		}
	}
	return size
}

// MaxKeySize is how many bytes its key may have (docs/sql-server/maximum-capacity-specifications-for-sql-server.md,
// Bytes per index key).
func (i *Index) MaxKeySize() int {
	if i.Clustered {
		return 900
	}
	return 1700
}
