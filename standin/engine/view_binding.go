// SPDX-License-Identifier: Apache-2.0

package engine

import "geosql.dev/operator/standin/sqlerr"

// ofView binds the query of a view. Names in it that mean nothing any more are told, and that the view cannot be used for them (4413); of views
// within views, the outermost is named (docs/t-sql/statements/create-view-transact-sql.md, Remarks).
func (b *binder) ofView(name string, bind func() boundQuery) (q boundQuery) {
	before := len(b.missing)
	err := bindSafely(func() { q = bind() })
	told := sqlerr.New(4413, 1, name)
	switch {
	case err != nil && (b.depth > 1 || !unresolved(err)):
		b.failWith(err)
	case err != nil && before < len(b.missing):
		b.missing = append(b.missing, err, told)
		b.failWith(told)
	case err != nil:
		b.failWith(sqlerr.Together([]*sqlerr.Error{err, told}))
	case b.depth == 1 && before < len(b.missing):
		b.missing = append(b.missing, told)
	}
	return q
}
