// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
)

// maxInsertRows is how many rows INSERT takes from its VALUES; a derived table of them has no limit
// (docs/t-sql/queries/table-value-constructor-transact-sql.md, Limitations and Restrictions).
const maxInsertRows = 1000

// identityGiven refuses DEFAULT and NULL for an identity column (339), whether it may be given at all or not (544).
func (b *Binder) identityGiven(source ast.InsertSource, refs []*ast.ColumnReferenceExpression, obj *metadata.Object) {
	values, ok := source.(*ast.ValuesInsertSource)
	if !ok || strings.HasPrefix(obj.Name, "@") {
		return
	}
	for i, r := range refs {
		parts := Identifiers(r.MultiPartIdentifier)
		if c := obj.Table.Column(parts[len(parts)-1]); c == nil || c.Identity == nil {
			continue
		}
		for _, row := range values.RowValues {
			if i >= len(row.ColumnValues) {
				continue
			}
			switch row.ColumnValues[i].(type) {
			case *ast.DefaultLiteral, *ast.NullLiteral:
				b.Fail(339)
			}
		}
	}
}

// countGiven judges how many values there are for the columns of an INSERT: without a list of columns 8101 where one of
// them would be an identity's, and 545 where that is to be given.
func (b *Binder) countGiven(
	obj *metadata.Object,
	columns []*metadata.Column,
	d *Modification,
	given int,
	fewer, more int32,
) {
	identity := !d.named && obj.Table.IdentityColumn() != nil
	switch {
	case given < len(columns):
		b.Fail(pick(d.named, fewer, 213))
	case given > len(columns) && identity:
		b.Fail(8101, d.written)
	case given > len(columns):
		b.Fail(pick(d.named, more, 213))
	case identity && b.session.IdentityInsert(d.Space, obj.ID):
		b.Fail(545, obj.Name)
	}
}
