// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// hintedIndexes refuses hints for indexes that the table does not have: 308 by name, 307 by number
// (docs/t-sql/queries/hints-transact-sql-table.md, INDEX; 0 is the table itself, 1 its clustered index).
func (b *Binder) hintedIndexes(sc *Scope, name ObjectName, hints []ast.TableHintType) {
	if len(hints) == 0 || len(sc.Sources) == 0 {
		return
	}
	o := sc.Sources[len(sc.Sources)-1].Object
	if o == nil || o.Table == nil {
		return
	}
	for _, hint := range hints {
		var values []*ast.IdentifierOrValueExpression
		switch h := hint.(type) {
		case *ast.IndexTableHint:
			values = h.IndexValues
		case *ast.ForceSeekTableHint:
			values = []*ast.IdentifierOrValueExpression{h.IndexValue}
		}
		for _, v := range values {
			b.hintedIndex(o, name, v)
		}
	}
}

func (b *Binder) hintedIndex(o *metadata.Object, name ObjectName, v *ast.IdentifierOrValueExpression) {
	if v == nil {
		return
	}
	if v.Identifier != nil {
		for _, i := range o.Table.Indexes {
			if strings.EqualFold(i.Name, v.Identifier.Value) {
				return
			}
		}
		b.Fail(308, v.Identifier.Value, name.String())
	}
	id, err := strconv.ParseInt(v.Value, 10, 32)
	if err != nil || id < 2 {
		return
	}
	for _, i := range o.Table.Indexes {
		if int64(i.ID) == id {
			return
		}
	}
	b.Fail(307, id, name.String())
}
