// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// everyRow is the value of Binder.sequenceRow where each row of a query takes a value of its own.
const everyRow = -1

// nextValue binds NEXT VALUE FOR: one value for each row
// (docs/t-sql/functions/next-value-for-transact-sql.md, General Remarks).
func (b *Binder) nextValue(sc *Scope, n *ast.NextValueForExpression) Expr {
	space, sch, o := b.Resolve(NameOf(n.SequenceName))
	if o == nil {
		b.Fail(208, NameOf(n.SequenceName).String())
	}
	if o.Kind != metadata.KindSequence {
		b.Fail(11726, NameOf(n.SequenceName).String())
	}
	if !b.inDefault {
		b.Require("UPDATE", space, sch, o)
	}
	if b.drawn != nil {
		b.drawn[o.ID] = true
	}
	if b.sequenceRow == everyRow {
		b.locks = true // a reader joins the transaction that takes the values
		execution := b.computed("execution for sequences", sqltype.BigIntType, func(s Session) any {
			return s.SequenceExecution()
		})
		b.sequenceUses++
		e := Expr{Type: o.Sequence.Type, Nullable: true}
		row := fmt.Sprint(-b.sequenceUses)
		if n.OverClause != nil {
			over, parts := b.over(sc, n.OverClause)
			row, e.Window = "row_number()"+over, true
			e = merge(e, parts...)
		}
		e.SQL = fmt.Sprintf("tsql_sequence(%d,%d,%s,%s)", space, o.ID, execution.SQL, row)
		return e
	}
	e := b.computed(
		fmt.Sprintf("next value for %d.%d of row %d", space, o.ID, b.sequenceRow),
		o.Sequence.Type,
		func(s Session) any { return s.NextOfSequence(space, o) },
	)
	e.param = 0 // a parameter that is converted is taken once more
	return e
}
