// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

// maxRow is how many bytes a row may have (docs/sql-server/maximum-capacity-specifications-for-sql-server.md, Bytes per row).
const maxRow = 8060

// fitsRow refuses a table whose rows are too long even where all columns of varying length are empty (1701): each row has a header of four
// bytes, the number of its columns, and a bit for each of them.
func (t *Table) fitsRow(name string) error {
	size, bits, columns := 0, 0, 0
	for _, c := range t.Columns {
		if c.Computed != "" || c.Sparse {
			continue
		}
		columns++
		switch c.Type.Kind {
		case sqltype.Bit:
			bits++
		case sqltype.VarChar, sqltype.NVarChar, sqltype.VarBinary, sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML, sqltype.SQLVariant:
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

// keySize is how many bytes the key of an index has at least: with all columns of varying length empty.
func (t *Table) keySize(i *Index) int {
	size := 0
	for _, k := range i.Keys {
		c := t.columnByID(k.Column)
		switch c.Type.Kind {
		case sqltype.VarChar, sqltype.NVarChar, sqltype.VarBinary, sqltype.Text, sqltype.NText, sqltype.Image, sqltype.XML, sqltype.SQLVariant:
		default:
			size += c.Type.MaxBytes()
		}
	}
	return size
}

// maxKeySize is how many bytes its key may have (docs/sql-server/maximum-capacity-specifications-for-sql-server.md, Bytes per index key).
func (i *Index) maxKeySize() int {
	if i.Clustered {
		return 900
	}
	return 1700
}

// properties refuses ROWGUIDCOL and SPARSE where a column cannot have them (docs/t-sql/statements/create-table-transact-sql.md, ROWGUIDCOL;
// docs/relational-databases/tables/use-sparse-columns.md, Restrictions).
func (b *tableBuilder) properties(c *Column) error {
	if c.RowGUID {
		if c.Type.Kind != sqltype.UniqueIdentifier {
			return sqlerr.New(2761, 2)
		}
		for _, other := range b.o.Table.Columns {
			if other != c && other.RowGUID {
				return sqlerr.New(8196, 1)
			}
		}
	}
	if !c.Sparse {
		return nil
	}
	nullable := c.Nullable
	switch c.Type.Kind {
	case sqltype.Text, sqltype.NText, sqltype.Image, sqltype.RowVersion:
		nullable = false
	}
	if !nullable || c.RowGUID || c.Identity != nil {
		return sqlerr.New(1731, 1, c.Name, b.o.Name)
	}
	return nil
}
