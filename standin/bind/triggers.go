// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// TriggersOf are the enabled triggers of a table for INSERT, UPDATE or DELETE, in the order of sp_settriggerorder and
// then of their making.
func (b *Binder) TriggersOf(sch *metadata.Catalog, obj *metadata.Object, verb string) []*metadata.Object {
	var out []*metadata.Object
	if obj.Kind != metadata.KindTable {
		return nil
	}
	for _, o := range sch.Children(obj.ID) {
		if o.Kind == metadata.KindTrigger && !o.Disabled && !b.session.Spares(o) && o.Properties[metadata.InsteadOf] == "" &&
			strings.Contains(o.Properties[metadata.TriggerEvents], verb) {
			out = append(out, o)
		}
	}
	metadata.InFiringOrder(out, verb)
	return out
}

// noOutputWithTriggers is error 334.
func (b *Binder) noOutputWithTriggers(d *Modification, o *ast.OutputClause) {
	if o != nil && len(d.Triggers) > 0 {
		b.Fail(334, d.Object.Name)
	}
}

// Acts tells whether the change has an action: INSERT, UPDATE or DELETE.
func (r *RowByRow) Acts(verb string) bool {
	for _, f := range r.Findings {
		if f.Action == verb {
			return true
		}
	}
	return false
}

// updateCall binds UPDATE(column).
func (b *Binder) updateCall(n *ast.UpdateCall) Expr {
	table := b.session.TriggerTable()
	if table == nil {
		b.Fail(102, "UPDATE")
	}
	c := table.Table.Column(n.Identifier.Value)
	if c == nil {
		b.Fail(207, n.Identifier.Value)
	}
	id := c.ID
	return b.computed("update "+itoa(id), sqltype.BitType, func(s Session) any { return s.Updated(id) })
}
