// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// partitionNumber binds [database.]$PARTITION.function(value) (docs/t-sql/functions/partition-transact-sql.md).
func (b *Binder) partitionNumber(sc *Scope, n *ast.PartitionFunctionCall) Expr {
	space := b.session.DatabaseID()
	if n.DatabaseName != nil {
		named, ok := b.session.DatabaseNamed(n.DatabaseName.Value)
		if !ok {
			b.Fail(911, n.DatabaseName.Value)
		}
		space = named
	}
	if n.FunctionName == nil {
		b.Fail(102, "$PARTITION")
	}
	o := b.Catalog(space).PartitionObject(metadata.KindPartitionFunction, n.FunctionName.Value)
	if o == nil {
		b.Fail(208, n.FunctionName.Value)
	}
	if len(n.Parameters) != 1 {
		b.Fail(174, n.FunctionName.Value, 1)
	}
	if b.Kept {
		b.Refuse("$PARTITION in a constraint") // which would go on with the boundaries of today
	}
	b.Varies = true
	x := b.Scalar(sc, n.Parameters[0])
	v := b.Convert(x, o.Function.Type, sqltype.Implicit, 0, false)
	sql := "(SELECT " + o.Function.Number("__v") + " FROM (SELECT " + v.SQL + " AS __v))"
	return merge(Expr{SQL: sql, Type: sqltype.IntType, Nullable: true}, v)
}
