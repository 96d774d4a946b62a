// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"

	"geosql.dev/standin/sqltype"
)

// TableName is the name in storage of the table with an object_id.
func TableName(id int32) string { return fmt.Sprintf("t%d", uint32(id)) }

// ColumnName is the name in its table's storage of the column with a column_id.
func ColumnName(id int32) string { return fmt.Sprintf("c%d", id) }

// StorageName is the name of a table in its storage: storage.TableChange.Table.
func (o *Object) StorageName() string { return TableName(o.ID) }

// StorageName is the name of a column in its table's storage: storage.TableChange.Columns.
func (c *Column) StorageName() string { return ColumnName(c.ID) }

// CollationKey is the name of the collation that SQLite knows for a column, empty for columns that have none.
func (c *Column) CollationKey() string {
	if !c.Type.Kind.IsCharacter() {
		return ""
	}
	col, ok := sqltype.ParseCollation(c.Collation)
	if !ok {
		col, _ = sqltype.ParseCollation(sqltype.DefaultCollation)
	}
	return col.Key()
}
