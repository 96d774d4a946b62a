// SPDX-License-Identifier: Apache-2.0

package storage

import "zombiezen.com/go/sqlite"

// BindValue binds a stored form (nil, int64, float64, string or []byte) to a parameter, from 1.
func BindValue(stmt *sqlite.Stmt, i int, v any) {
	switch v := v.(type) {
	case int64:
		stmt.BindInt64(i, v)
	case float64:
		stmt.BindFloat(i, v)
	case string:
		stmt.BindText(i, v)
	case []byte:
		if len(v) == 0 {
			stmt.BindZeroBlob(i, 0)
			return
		}
		stmt.BindBytes(i, v)
	default:
		stmt.BindNull(i)
	}
}

// ColumnValue is the stored form of a column, from 0, of the current row; a blob's bytes are the caller's.
func ColumnValue(stmt *sqlite.Stmt, i int) any {
	switch stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		return stmt.ColumnInt64(i)
	case sqlite.TypeFloat:
		return stmt.ColumnFloat(i)
	case sqlite.TypeText:
		return stmt.ColumnText(i)
	case sqlite.TypeBlob:
		b := make([]byte, stmt.ColumnLen(i))
		stmt.ColumnBytes(i, b)
		return b
	default:
		return nil
	}
}
