// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// triggerStatement is CREATE, ALTER and CREATE OR ALTER TRIGGER.
func triggerStatement(mode moduleMode) StatementFunc {
	return func(ctx context.Context, s *Session, st syntax.Statement, w tds.Writer) error {
		m := triggerParts(st.Node)
		if err := s.knownTypes(ctx, st.Node); err != nil {
			return err
		}
		if m.scope == metadata.DatabaseScope || m.scope == metadata.ServerScope {
			return s.scopedTriggerStatement(ctx, m, mode, st)
		}
		events, err := m.events()
		if err != nil {
			return err
		}
		name, table := bind.NameOf(m.name), bind.NameOf(m.table)
		if table.Temporary() {
			return sqlerr.New(8197, 4, table.String())
		}
		if table.Database != "" && !strings.EqualFold(table.Database, s.db.Name()) {
			return sqlerr.New(2108, 1, name.String(), table.String())
		}
		if err := s.compileTrigger(ctx, name, table, m); err != nil {
			return ofModule(err, name.Name)
		}
		instead := strings.EqualFold(m.kind, "InsteadOf")
		return s.ChangeSchema(ctx, table, func(d *SchemaChange) error {
			return d.defineTrigger(name, table, events, instead, m.notForReplication, mode, st)
		})
	}
}

// compileTrigger is the error of the statements of a trigger on a table or view.
func (s *Session) compileTrigger(ctx context.Context, name, table bind.ObjectName, m triggerModule) error {
	leave, err := s.withinNew(ctx, bind.ObjectName{Schema: table.Schema, Name: name.Name})
	if err != nil {
		return err
	}
	defer leave()
	b := newBinder(ctx, s, s.db.ID())
	var on *metadata.Object
	if e := bind.Safely(func() {
		var space int32
		if space, _, on = b.Resolve(table); on != nil && on.Kind == metadata.KindView {
			on = b.ImageOf(space, on)
		}
	}); e != nil || on == nil || on.Table == nil {
		return nil // the definition tells, and what the view's query is not any more the trigger's execution
	}
	return s.compileModule(ctx, name.Name, bind.Module{Body: m.body}, &triggerFrame{table: on, updated: map[int32]bool{}})
}

func (d *SchemaChange) defineTrigger(
	name, table bind.ObjectName,
	events []string,
	instead, notForReplication bool,
	mode moduleMode,
	st syntax.Statement,
) error {
	o, err := d.triggered(table, instead)
	if err != nil {
		return err
	}
	if name.Schema != "" && !strings.EqualFold(name.Schema, d.sch.SchemaName(o)) {
		return sqlerr.New(2103, 1, name.String())
	}
	old := d.sch.Named(o.Schema, name.Name)
	switch {
	case old == nil && mode == alterModule:
		return sqlerr.New(208, 6, name.String())
	case old != nil && mode != createModule && old.Kind != metadata.KindTrigger:
		return sqlerr.New(2010, 1, name.String())
	case old != nil && (mode == createModule || old.Kind != metadata.KindTrigger || old.Parent != o.ID):
		return sqlerr.New(2714, 2, name.Name)
	}
	if instead {
		for _, other := range d.sch.Children(o.ID) {
			for _, event := range events {
				if other != old && other.Kind == metadata.KindTrigger && other.Properties[metadata.InsteadOf] != "" &&
					strings.Contains(other.Properties[metadata.TriggerEvents], event) {
					return sqlerr.New(2111, 1, name.Name, table.String(), event)
				}
			}
		}
	}
	trigger := old
	if trigger == nil {
		trigger = d.NewObject(name, metadata.KindTrigger)
		trigger.Schema, trigger.Parent = o.Schema, o.ID
	}
	if err := d.define(trigger, st); err != nil {
		return err
	}
	trigger.Properties, trigger.NotForReplication = map[string]string{
		metadata.TriggerEvents: strings.Join(events, ","),
	}, notForReplication
	if instead {
		trigger.Properties[metadata.InsteadOf] = "1"
	}
	if old != nil {
		return d.Modify(trigger)
	}
	return d.Save(trigger)
}

// triggered is the table that a trigger is made on; an INSTEAD OF trigger may be on a view.
func (d *SchemaChange) triggered(name bind.ObjectName, instead bool) (*metadata.Object, error) {
	if v := d.LookUp(name); v != nil && v.Kind == metadata.KindView && instead {
		p := Permission{Name: "ALTER", Database: d.db, Schema: d.sch.SchemaName(v), Object: v.Name, ObjectID: v.ID}
		return v, d.s.require(d.ctx, p)
	}
	o, err := d.TableToChange(name, 8197)
	if err != nil {
		return nil, sqlerr.New(8197, 4, name.String())
	}
	return o, nil
}
