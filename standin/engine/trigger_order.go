// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/triggerevent"
)

// installTriggerOrder registers sp_settriggerorder
// (docs/relational-databases/system-stored-procedures/sp-settriggerorder-transact-sql.md).
func installTriggerOrder(r *Registry) {
	r.Procedure(Procedure{Name: "sp_settriggerorder", Parameters: []Parameter{
		{
			Name:     "@triggername",
			Type:     sqltype.NVarCharOf(517),
			Required: true,
		}, {Name: "@order", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 10}, Required: true},
		{
			Name:     "@stmttype",
			Type:     sqltype.Type{Kind: sqltype.VarChar, Length: 50},
			Required: true,
		}, {Name: "@namespace", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 10}}}, Run: setTriggerOrder})
}

func setTriggerOrder(ctx context.Context, c *ProcCall) error {
	order, event := strings.ToLower(c.String("@order")), strings.ToUpper(c.String("@stmttype"))
	scope, known := map[string]string{"": metadata.NormalScope, "DATABASE": metadata.DatabaseScope,
		"SERVER": metadata.ServerScope}[strings.ToUpper(c.String("@namespace"))]
	if !known || order != "first" && order != "last" && order != "none" {
		return sqlerr.New(15600, 1, "sys.sp_settriggerorder")
	}
	name := bind.SplitName(c.String("@triggername"))
	if scope == metadata.NormalScope {
		return c.Session.ChangeSchema(ctx, name, func(d *SchemaChange) error { return d.orderTrigger(name, order, event) })
	}
	if name.Schema != "" {
		return sqlerr.New(15600, 1, "sys.sp_settriggerorder")
	}
	return c.Session.changeScoped(ctx, scope, func(d *SchemaChange) error {
		t := d.sch.Named(metadata.ScopedSchema(scope), name.Name)
		switch {
		case t == nil:
			return sqlerr.New(15165, 1, name.Name)
		case triggerevent.Types[event] == nil || triggerevent.Types[event].Group || !firesFor(t, event):
			return sqlerr.New(15125, 1, name.Name, event)
		}
		return d.setOrder(t, d.sch.ScopedTriggers(metadata.ScopedSchema(scope)), order, event)
	})
}

func (d *SchemaChange) orderTrigger(name bind.ObjectName, order, event string) error {
	t := d.LookUp(name)
	if t == nil || t.Kind != metadata.KindTrigger {
		return sqlerr.New(15165, 1, name.String())
	}
	table := d.sch.Objects[t.Parent]
	p := Permission{Name: "ALTER", Database: d.db, Schema: d.sch.SchemaName(table), Object: table.Name, ObjectID: table.ID}
	if err := d.s.require(d.ctx, p); err != nil {
		return err
	}
	switch {
	case t.Properties[metadata.InsteadOf] != "":
		return sqlerr.New(15133, 1, t.Name)
	case !listed(t.Properties[metadata.TriggerEvents], event):
		return sqlerr.New(15125, 1, t.Name, event)
	}
	var beside []*metadata.Object
	for _, other := range d.sch.Children(t.Parent) {
		if other.Kind == metadata.KindTrigger {
			beside = append(beside, other)
		}
	}
	return d.setOrder(t, beside, order, event)
}

// setOrder makes a trigger the first or last one of those beside it, or neither, for an event.
func (d *SchemaChange) setOrder(t *metadata.Object, beside []*metadata.Object, order, event string) error {
	for _, other := range beside {
		if order != "none" && other != t && listed(other.Properties[order], event) {
			return sqlerr.New(15130, 1, order, event)
		}
	}
	for _, key := range []string{"first", "last"} {
		var kept []string
		for _, e := range strings.Split(t.Properties[key], ",") {
			if e != event && e != "" {
				kept = append(kept, e)
			}
		}
		if key == order {
			kept = append(kept, event)
		}
		t.Properties[key] = strings.Join(kept, ",")
	}
	return d.Modify(t)
}

// listed tells whether a list with commas has a word.
func listed(list, word string) bool {
	for _, one := range strings.Split(list, ",") {
		if one == word {
			return true
		}
	}
	return false
}
