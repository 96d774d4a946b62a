// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/syntax"
)

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
	bind.EachNode(reflect.ValueOf(condition), func(n any) {
		if call, ok := n.(*ast.FunctionCall); ok && call.FunctionName != nil &&
			syntax.DateFunctions[lower(call.FunctionName.Value)] &&
			len(call.Parameters) > 0 {
			parts[call.Parameters[0]] = true
		}
		if ref, ok := n.(*ast.ColumnReferenceExpression); ok && !parts[ref] {
			parts := bind.Identifiers(ref.MultiPartIdentifier)
			found = found ||
				len(parts) > 0 && !strings.EqualFold(parts[len(parts)-1], column) && b.o.Table.Column(parts[len(parts)-1]) != nil
		}
	})
	return found
}
