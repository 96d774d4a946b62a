// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"hash/fnv"
	"strings"

	"geosql.dev/standin/metadata"
)

// ForeignName is the name of that virtual table. Sessions share a database's connections, and number their own tables
// alike: the columns of such a table are in its name, or one session would read another's.
func ForeignName(space int32, version int64, o *metadata.Object) string {
	shape := uint64(version)
	if space == TempSpace {
		h := fnv.New64a()
		for _, decl := range ForeignColumns(o) {
			fmt.Fprintln(h, decl)
		}
		shape = h.Sum64()
	}
	return fmt.Sprintf("f_%d_%x_%s", uint32(space), shape, o.StorageName())
}

// ForeignColumns are the declarations of its columns.
func ForeignColumns(o *metadata.Object) []string {
	var out []string
	for _, c := range o.Table.Columns {
		if c.Computed != "" {
			continue
		}
		decl := metadata.ColumnName(c.ID)
		if key := c.CollationKey(); key != "" {
			decl += " COLLATE " + key
		}
		out = append(out, decl)
	}
	return out
}

// IdentifierSafe is a text with nothing but what a name in SQL may have.
func IdentifierSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, lower(s))
}
