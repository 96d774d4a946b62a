// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
	"geosql.dev/standin/triggerevent"
)

// scopedDatabase is where triggers of a scope are kept: those of the server in master.
func (s *Session) scopedDatabase(scope string) *Database {
	if scope == metadata.ServerScope {
		return s.inst.DatabaseByID(1)
	}
	return s.db
}

// scopedTrigger is a trigger of the current database or of the server, and its database.
func (s *Session) scopedTrigger(scope, name string) (*Database, *metadata.Object) {
	db := s.scopedDatabase(scope)
	sch, err := s.schema(s.context(), db.ID())
	if err != nil {
		return db, nil
	}
	return db, sch.Named(metadata.ScopedSchema(scope), name)
}

// mayScope asks for the permission to change triggers of a scope (docs/t-sql/statements/create-trigger-transact-sql.md,
// Permissions).
func (s *Session) mayScope(ctx context.Context, scope string) error {
	if scope == metadata.ServerScope {
		return s.require(ctx, Permission{Name: "CONTROL SERVER"})
	}
	return s.require(ctx, Permission{Name: "ALTER ANY DATABASE DDL TRIGGER", Database: s.db})
}

// changeScoped changes the triggers of a scope.
func (s *Session) changeScoped(ctx context.Context, scope string, f func(d *SchemaChange) error) error {
	if err := s.mayScope(ctx, scope); err != nil {
		return err
	}
	return s.ChangeSchema(ctx, bind.ObjectName{Database: s.scopedDatabase(scope).Name(), Name: "trigger"}, f)
}

// scopedTriggerStatement is CREATE, ALTER and CREATE OR ALTER TRIGGER ... ON DATABASE and ON ALL SERVER.
func (s *Session) scopedTriggerStatement(
	ctx context.Context,
	m triggerModule,
	mode moduleMode,
	st syntax.Statement,
) error {
	name := bind.NameOf(m.name)
	switch {
	case name.Schema != "" || name.Database != "":
		return sqlerr.New(1094, 1)
	case strings.EqualFold(m.kind, "InsteadOf"):
		return sqlerr.New(102, 1, "INSTEAD")
	}
	events, err := m.scopedEvents(s.frame().batch)
	if err != nil {
		return err
	}
	return s.changeScoped(ctx, m.scope, func(d *SchemaChange) error {
		t := d.sch.Named(metadata.ScopedSchema(m.scope), name.Name)
		switch {
		case t == nil && mode == alterModule:
			return sqlerr.New(208, 6, name.String())
		case t != nil && mode == createModule:
			return sqlerr.New(2714, 2, name.Name)
		}
		made := t == nil
		if made {
			t = d.NewObject(bind.ObjectName{Name: name.Name}, metadata.KindScopedTrigger)
			t.Schema = metadata.ScopedSchema(m.scope)
		}
		if err := d.define(t, st); err != nil {
			return err
		}
		t.Properties = map[string]string{metadata.TriggerEvents: strings.Join(events, ",")}
		if made {
			return d.Save(t)
		}
		return d.Modify(t)
	})
}

// scopedEvents are the events and groups that a definition lists: 1084 for what is none, 1095 for one twice, 1098 for
// one of another scope.
func (m *triggerModule) scopedEvents(batch *syntax.Batch) ([]string, error) {
	var out []string
	for _, a := range m.actions {
		word := strings.ToUpper(strings.TrimSpace(batch.TextOf(a)))
		t := triggerevent.Types[word]
		switch {
		case word == "INSERT", word == "UPDATE", word == "DELETE":
			return nil, sqlerr.New(1098, 1)
		case t == nil:
			return nil, sqlerr.New(1084, 1, word)
		case m.scope == metadata.DatabaseScope && !t.Within("DDL_DATABASE_LEVEL_EVENTS"):
			return nil, sqlerr.New(1098, 1)
		case word == "LOGON" && len(m.actions) > 1:
			return nil, sqlerr.New(102, 1, ",") // it stands alone
		}
		for _, other := range out {
			if other == word {
				return nil, sqlerr.New(1095, 1, word)
			}
		}
		out = append(out, word)
	}
	if len(out) == 0 {
		return nil, sqlerr.New(102, 1, "AS")
	}
	return out, nil
}

// dropScoped is DROP TRIGGER ... ON DATABASE and ON ALL SERVER.
func (s *Session) dropScoped(ctx context.Context, n *ast.DropTriggerStatement) error {
	for _, o := range n.Objects {
		name := bind.NameOf(o)
		err := s.changeScoped(ctx, n.TriggerScope, func(d *SchemaChange) error {
			t := d.sch.Named(metadata.ScopedSchema(n.TriggerScope), name.Name)
			switch {
			case t != nil:
				return d.Remove(t)
			case n.IsIfExists:
				return nil
			}
			return sqlerr.New(3701, 5, "drop", "trigger", name.String())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// switchScoped is ENABLE and DISABLE TRIGGER ... ON DATABASE and ON ALL SERVER.
func (s *Session) switchScoped(ctx context.Context, scope string, all bool, names []string, disable bool) error {
	return s.changeScoped(ctx, scope, func(d *SchemaChange) error {
		var list []*metadata.Object
		for _, t := range d.sch.ScopedTriggers(metadata.ScopedSchema(scope)) {
			if all {
				list = append(list, t)
			}
		}
		for _, name := range names {
			t := d.sch.Named(metadata.ScopedSchema(scope), name)
			if t == nil {
				return sqlerr.New(1088, 13, name)
			}
			list = append(list, t)
		}
		for _, t := range list {
			t.Disabled = disable
			if err := d.Modify(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// firesFor tells whether a trigger fires for an event.
func firesFor(o *metadata.Object, event string) bool {
	for _, listed := range strings.Split(o.Properties[metadata.TriggerEvents], ",") {
		if triggerevent.Types[event].Within(listed) {
			return true
		}
	}
	return false
}

// firing are the triggers that fire for an event: those of the server first, then those of its database
// (docs/relational-databases/system-stored-procedures/sp-settriggerorder-transact-sql.md, DDL Triggers).
type firing struct {
	db    *Database
	list  []*metadata.Object
	event ddlEvent
}

// firings are the triggers that fire for events, as things are now.
func (s *Session) firings(ctx context.Context, events []ddlEvent) ([]firing, error) {
	var out []firing
	look := func(e ddlEvent, db *Database, scope string) error {
		sch, err := s.schema(ctx, db.ID())
		if err != nil {
			return err
		}
		var list []*metadata.Object
		for _, t := range sch.ScopedTriggers(metadata.ScopedSchema(scope)) {
			if !t.Disabled && firesFor(t, e.kind) {
				list = append(list, t)
			}
		}
		if metadata.InFiringOrder(list, e.kind); len(list) > 0 {
			out = append(out, firing{db, list, e})
		}
		return nil
	}
	for _, e := range events {
		if err := look(e, s.inst.DatabaseByID(1), metadata.ServerScope); err != nil {
			return nil, err
		}
		if e.db == nil || e.db.Available() != nil { // one that is not available refuses the statement itself
			continue
		}
		if err := look(e, e.db, metadata.DatabaseScope); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withEvents executes a statement and fires the DDL triggers for what it does, in one transaction where the statement
// can be undone.
func (s *Session) withEvents(
	ctx context.Context,
	node ast.Statement,
	st syntax.Statement,
	run func() error,
	w tds.Writer,
) error {
	events := s.events(node)
	if len(events) == 0 {
		return run()
	}
	if st.Text == "" {
		if f := s.frame(); f != nil && f.batch != nil {
			st = f.batch.Statement(node)
		}
	}
	for i := range events {
		events[i].text = st.Definition()
	}
	return s.enclosed(ctx, events, transactional(node), firesBefore(node), run, w)
}

// firesBefore tells whether the triggers of a statement fire before it, so that they can keep it from happening: what
// is dropped is gone, and to undo that files were attached would take their data.
func firesBefore(node ast.Statement) bool {
	switch n := node.(type) {
	case *syntax.DropDatabase:
		return true
	case *syntax.CreateDatabase:
		return n.ForAttach || n.ForAttachRebuildLog
	}
	return false
}

// enclosed runs what has events and fires their triggers. What cannot be undone runs on its own, its triggers after it
// or before, and a new database whose CREATE DATABASE a trigger rolls back is dropped, also when its client has gone
// meanwhile.
func (s *Session) enclosed(
	ctx context.Context,
	events []ddlEvent,
	undone, before bool,
	run func() error,
	w tds.Writer,
) error {
	fired, err := s.firings(ctx, events)
	if err != nil {
		return err
	}
	if len(fired) == 0 {
		return run()
	}
	fire := func() error { return s.fireAll(ctx, fired, w) }
	switch {
	case undone:
		return s.together(ctx, func() error {
			if err := run(); err != nil {
				return err
			}
			return fire()
		})
	case s.count > 0:
		return run() // which refuses to be within a transaction
	case before:
		if err := s.together(ctx, fire); err != nil {
			return err
		}
		return run()
	}
	if err := run(); err != nil {
		return err
	}
	err = s.together(ctx, fire)
	if e := events[0]; err != nil && e.kind == "CREATE_DATABASE" {
		if db := s.inst.Database(e.database); db != nil {
			if e := s.dropOne(context.WithoutCancel(ctx), db); e != nil {
				s.inst.log.Warn("a database that a trigger did not let be made stays", "database", e.Error())
			}
		}
	}
	return err
}

// fireAll fires triggers as they are now, but for those that were dropped or disabled meanwhile, and those that run
// already. @@ROWCOUNT is above 0 in a trigger (docs/t-sql/statements/create-trigger-transact-sql.md, example A of DDL
// triggers, which returns otherwise) and the statement's after it.
func (s *Session) fireAll(ctx context.Context, list []firing, w tds.Writer) error {
	count := s.rowCount
	defer func() { s.rowCount = count }()
	for _, f := range list {
		for _, t := range f.list {
			sch, err := s.schema(ctx, f.db.ID())
			if err != nil {
				return err
			}
			now := sch.Objects[t.ID]
			if now == nil || now.Disabled || s.firing(now, f.db) {
				continue
			}
			data := f.event.data(s)
			s.rowCount = 1
			if err := s.runTrigger(ctx, now, &triggerFrame{data: data}, f.db, func() error { return nil }, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// eventData is EVENTDATA(): NULL but in the statements of a DDL trigger itself.
func (s *Session) eventData() any {
	if f := s.frame(); f != nil && f.trigger != nil {
		return f.trigger.data
	}
	return nil
}
