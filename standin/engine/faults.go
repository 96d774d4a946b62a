// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// hasSubquery tells whether an expression or a condition has a query in it.
func hasSubquery(node any) bool {
	found := false
	eachNode(reflect.ValueOf(node), func(n any) {
		switch n.(type) {
		case *ast.ScalarSubquery, *ast.QuerySpecification:
			found = true
		}
	})
	return found
}

// sortable refuses values that cannot be sorted or grouped: 305 for xml, 306 for the former large types
// (docs/t-sql/data-types/xml-transact-sql.md; ntext-text-and-image-transact-sql.md).
func (b *binder) sortable(e expr) {
	switch e.typ.Kind {
	case sqltype.XML:
		b.fail(305)
	case sqltype.Text, sqltype.NText, sqltype.Image:
		b.fail(306)
	}
}

// distinctTypes refuses DISTINCT over values that cannot be compared (421).
func (b *binder) distinctTypes(outputs []output) {
	for _, o := range outputs {
		switch k := o.expr.typ.Kind; k {
		case sqltype.XML, sqltype.Text, sqltype.NText, sqltype.Image:
			b.fail(421, k)
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
func (b *binder) checkFrame(o *ast.OverClause) {
	f := o.WindowFrameClause
	if f == nil || f.Top == nil {
		return
	}
	if o.OrderByClause == nil {
		b.fail(10756)
	}
	first, last := frameEnds[f.Top.WindowDelimiterType], frameEnds["CurrentRow"]
	shown := frameWords[first]
	if f.Bottom != nil {
		last = frameEnds[f.Bottom.WindowDelimiterType]
		shown = "BETWEEN " + frameWords[first] + " AND " + frameWords[last]
	}
	if f.WindowFrameType == "Range" && (first == 1 || first == 3 || last == 1 || last == 3) {
		b.fail(4194)
	}
	if first > last || first == 4 || last == 0 {
		b.fail(4193, shown)
	}
}

// notNested refuses window functions within others and within aggregates (4109).
func (b *binder) notNested(args ...expr) {
	for _, a := range args {
		if a.window {
			b.fail(4109)
		}
	}
}

// cascades are the tables that a change of a table's rows reaches through foreign keys with an action, itself among
// them; with up, those whose changes reach it.
func (d *SchemaChange) cascades(of int32, up bool) map[int32]bool {
	reached := map[int32]bool{of: true}
	for grown := true; grown; {
		grown = false
		for _, fk := range d.sch.Objects {
			k := fk.ForeignKey
			if k == nil || k.OnDelete == "NO_ACTION" && k.OnUpdate == "NO_ACTION" {
				continue
			}
			from, to := k.Referenced, fk.Parent
			if up {
				from, to = to, from
			}
			if reached[from] && !reached[to] {
				reached[to], grown = true, true
			}
		}
	}
	return reached
}

// cascadesTwice tells whether a foreign key with an action from one table to another would give the rows of some table
// two ways to change those of another (1785).
func (d *SchemaChange) cascadesTwice(parent, child int32) bool {
	below := d.cascades(child, false)
	for above := range d.cascades(parent, true) {
		for reached := range d.cascades(above, false) {
			if below[reached] {
				return true
			}
		}
	}
	return false
}

// maxKeyColumns is how many columns the key of an index may have
// (docs/sql-server/maximum-capacity-specifications-for-sql-server.md).
const maxKeyColumns = 32

// namesOther tells whether the condition of a column's constraint names another column of the table.
func (b *tableBuilder) namesOther(condition ast.BooleanExpression, column string) bool {
	found := false
	parts := map[any]bool{} // DATEPART(year, ...) names no column
	eachNode(reflect.ValueOf(condition), func(n any) {
		if call, ok := n.(*ast.FunctionCall); ok && call.FunctionName != nil &&
			syntax.DateFunctions[lower(call.FunctionName.Value)] &&
			len(call.Parameters) > 0 {
			parts[call.Parameters[0]] = true
		}
		if ref, ok := n.(*ast.ColumnReferenceExpression); ok && !parts[ref] {
			parts := identifiers(ref.MultiPartIdentifier)
			found = found ||
				len(parts) > 0 && !strings.EqualFold(parts[len(parts)-1], column) && b.o.Table.Column(parts[len(parts)-1]) != nil
		}
	})
	return found
}
