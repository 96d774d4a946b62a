// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// properties refuses ROWGUIDCOL and SPARSE where a column cannot have them
// (docs/t-sql/statements/create-table-transact-sql.md, ROWGUIDCOL;
// docs/relational-databases/tables/use-sparse-columns.md, Restrictions).
func (b *tableBuilder) properties(c *metadata.Column) error {
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
