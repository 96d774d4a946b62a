// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Identifier quotes a name as a delimited identifier: brackets around it, a closing bracket doubled
// (docs/t-sql/functions/quotename-transact-sql.md). SQL Server takes at most 128 characters; longer names are quoted
// as they are and refused by the server.
func Identifier(name string) string {
	return "[" + strings.ReplaceAll(name, "]", "]]") + "]"
}

// Qualified quotes a name of several parts, such as schema and object.
func Qualified(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = Identifier(p)
	}
	return strings.Join(quoted, ".")
}

// String quotes a Unicode string literal: N'...' with an apostrophe doubled
// (docs/t-sql/data-types/constants-transact-sql.md). A backslash before a line end would be taken for a continuation
// (docs/t-sql/language-elements/sql-server-utilities-statements-backslash.md), so such a literal is split in two.
func String(s string) string {
	quoted := strings.ReplaceAll(s, "'", "''")
	if strings.Contains(quoted, "\\\n") || strings.Contains(quoted, "\\\r") {
		quoted = strings.NewReplacer("\\\n", "\\'+N'\n", "\\\r", "\\'+N'\r").Replace(quoted)
	}
	return "N'" + quoted + "'"
}

// Binary is a binary literal, 0x and hexadecimal digits; no bytes give 0x.
func Binary(b []byte) string {
	return "0x" + strings.ToUpper(hex.EncodeToString(b))
}

// Integer is an integer literal.
func Integer[T ~int | ~int32 | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }
