// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"reflect"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
)

// HasSubquery tells whether an expression or a condition has a query in it.
func HasSubquery(node any) bool {
	found := false
	EachNode(reflect.ValueOf(node), func(n any) {
		switch n.(type) {
		case *ast.ScalarSubquery, *ast.QuerySpecification:
			found = true
		}
	})
	return found
}

// sortable refuses values that cannot be sorted or grouped: 305 for xml, 306 for the former large types
// (docs/t-sql/data-types/xml-transact-sql.md; ntext-text-and-image-transact-sql.md).
func (b *Binder) sortable(e Expr) {
	switch e.Type.Kind {
	case sqltype.XML:
		b.Fail(305)
	case sqltype.Text, sqltype.NText, sqltype.Image:
		b.Fail(306)
	}
}

// distinctTypes refuses DISTINCT over values that cannot be compared (421).
func (b *Binder) distinctTypes(outputs []Output) {
	for _, o := range outputs {
		switch k := o.expr.Type.Kind; k {
		case sqltype.XML, sqltype.Text, sqltype.NText, sqltype.Image:
			b.Fail(421, k)
		}
	}
}

// frameEnds are the places of a window frame's ends in their order.
var frameEnds = map[string]int{
	"UnboundedPreceding": 0,
	"ValuePreceding":     1,
	"CurrentRow":         2,
	"ValueFollowing":     3,
	"UnboundedFollowing": 4,
}

// frameWords are those ends as they are written.
var frameWords = []string{"UNBOUNDED PRECEDING", "n PRECEDING", "CURRENT ROW", "n FOLLOWING", "UNBOUNDED FOLLOWING"}

// checkFrame refuses frames that there are not (docs/t-sql/queries/select-over-clause-transact-sql.md, ROWS or RANGE):
// one without an order (10756), RANGE with numbers (4194), and one that ends before it begins (4193).
func (b *Binder) checkFrame(o *ast.OverClause) {
	f := o.WindowFrameClause
	if f == nil || f.Top == nil {
		return
	}
	if o.OrderByClause == nil {
		b.Fail(10756)
	}
	first, last := frameEnds[f.Top.WindowDelimiterType], frameEnds["CurrentRow"]
	shown := frameWords[first]
	if f.Bottom != nil {
		last = frameEnds[f.Bottom.WindowDelimiterType]
		shown = "BETWEEN " + frameWords[first] + " AND " + frameWords[last]
	}
	if f.WindowFrameType == "Range" && (first == 1 || first == 3 || last == 1 || last == 3) {
		b.Fail(4194)
	}
	if first > last || first == 4 || last == 0 {
		b.Fail(4193, shown)
	}
}

// notNested refuses window functions within others and within aggregates (4109).
func (b *Binder) notNested(args ...Expr) {
	for _, a := range args {
		if a.Window {
			b.Fail(4109)
		}
	}
}
