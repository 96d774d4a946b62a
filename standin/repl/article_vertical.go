// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"slices"

	"geosql.dev/standin/metadata"
)

// staysPublished tells of the columns that an article begins with whose columns sp_articlecolumn is to choose: those of
// the primary key and of unique keys, and those that may be NULL and have no default
// (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md, @vertical_partition).
func staysPublished(t *metadata.Table, c *metadata.Column) bool {
	if c.Nullable && c.Default == 0 {
		return true
	}
	return slices.ContainsFunc(t.Indexes, func(i *metadata.Index) bool {
		return (i.PrimaryKey || i.Unique && i.Constraint != 0) &&
			slices.ContainsFunc(i.Keys, func(k metadata.Key) bool { return k.Column == c.ID })
	})
}
