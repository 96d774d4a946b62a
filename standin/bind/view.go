// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"geosql.dev/standin/sqlerr"
)

// UniqueColumns are the names of a view's or function's columns: 4506 for one that is there twice, the number unnamed
// for one without.
func (b *Binder) UniqueColumns(columns []string, module string, unnamed int32) {
	seen := map[string]bool{}
	for i, name := range columns {
		if name == "" {
			b.Fail(unnamed, i+1)
		}
		if seen[lower(name)] {
			b.Fail(4506, name, module)
		}
		seen[lower(name)] = true
	}
}

// ofView binds the query of a view. Names in it that mean nothing any more are told, and that the view cannot be used
// for them (4413); of views within views, the outermost is named (docs/t-sql/statements/create-view-transact-sql.md,
// Remarks).
func (b *Binder) ofView(name string, bind func() BoundQuery) (q BoundQuery) {
	before := len(b.missing)
	err := Safely(func() { q = bind() })
	told := sqlerr.New(4413, 1, name)
	switch {
	case err != nil && (b.depth > 1 || !Unresolved(err)):
		b.FailWith(err)
	case err != nil && before < len(b.missing):
		b.missing = append(b.missing, err, told)
		b.FailWith(told)
	case err != nil:
		b.FailWith(sqlerr.Together([]*sqlerr.Error{err, told}))
	case b.depth == 1 && before < len(b.missing):
		b.missing = append(b.missing, told)
	}
	return q
}

// uses tells whoever asks that a view's own query names a column of a table or view.
func (b *Binder) uses(c *SourceColumn) {
	if b.Usage == nil || b.depth > 0 {
		return
	}
	switch src := c.source; {
	case src.Object != nil && src.space == b.Home:
		b.Usage(src.Object, c.Name)
	case src.viewed != nil:
		b.Usage(src.viewed, c.Name)
	}
}
