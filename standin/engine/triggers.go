// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// triggerFrame is what a running trigger knows of the statement that fired it.
type triggerFrame struct {
	inserted, deleted *metadata.Object
	// updated are the columns that the statement gives values (UPDATE(), COLUMNS_UPDATED()).
	updated map[int32]bool
	table   *metadata.Object
	// data is what EVENTDATA() returns in a DDL trigger.
	data any
}

// changeWithTriggers executes a change and fires its triggers, all within one transaction.
func (s *Session) changeWithTriggers(ctx context.Context, p *bind.Plan, w tds.Writer) error {
	return s.together(ctx, func() error { return s.changeAndFire(ctx, p, w) })
}

// together does several changes of one statement within one transaction.
func (s *Session) together(ctx context.Context, changes func() error) error {
	own := s.count == 0
	if own {
		s.beginTransaction("")
	}
	err := changes()
	if !own {
		return err
	}
	if err != nil {
		if s.count > 0 {
			s.rollbackTransaction()
		}
		return err
	}
	return s.commitTransaction(ctx)
}

func (s *Session) changeAndFire(ctx context.Context, p *bind.Plan, w tds.Writer) error {
	rows, err := s.makeChange(ctx, p, w)
	if err != nil {
		return err
	}
	count := s.rowCount
	verbs := []string{p.Modification.Verb}
	if p.Modification.Verb == "MERGE" {
		verbs = []string{"INSERT", "UPDATE", "DELETE"}
	}
	for _, verb := range verbs {
		var changed []*foundRow
		for _, row := range rows {
			if row.find.Action == verb {
				changed = append(changed, row)
			}
		}
		for _, t := range p.Modification.Triggers {
			if !strings.Contains(t.Properties[metadata.TriggerEvents], verb) ||
				p.Modification.Verb == "MERGE" && !p.Modification.Rows.Acts(verb) ||
				s.firing(t, s.inst.DatabaseByID(p.Modification.Space)) {
				continue
			}
			s.rowCount = int64(len(changed))
			if err := s.fire(ctx, p, t, changed, w); err != nil {
				return err
			}
		}
	}
	s.rowCount = count
	return w.Done(s.completion(count))
}

// firing tells whether a trigger's own statements would fire it again, which RECURSIVE_TRIGGERS OFF keeps from
// happening. Objects of several databases have the same numbers; a trigger runs in its own.
func (s *Session) firing(t *metadata.Object, db *Database) bool {
	f := s.frame()
	return f != nil && f.trigger != nil && f.objectID == t.ID && s.db == db
}

// fire runs one trigger. Errors within it undo the transaction, as with XACT_ABORT ON
// (docs/t-sql/statements/create-trigger-transact-sql.md, Remarks).
func (s *Session) fire(ctx context.Context, p *bind.Plan, t *metadata.Object, rows []*foundRow, w tds.Writer) error {
	f := &triggerFrame{table: p.Modification.Object, updated: map[int32]bool{}}
	for _, row := range rows {
		for _, c := range row.find.Set {
			f.updated[c.ID] = true
		}
		if row.find.Direct {
			for _, c := range p.Modification.Object.Table.Columns {
				f.updated[c.ID] = true
			}
		}
	}
	fill := func() error { return s.fillTrigger(ctx, f, p.Modification.Rows.Image, rows) }
	return s.runTrigger(ctx, t, f, s.inst.DatabaseByID(p.Modification.Space), fill, w)
}

// runTrigger runs a trigger's statements in a database, after ready.
func (s *Session) runTrigger(
	ctx context.Context,
	t *metadata.Object,
	trigger *triggerFrame,
	db *Database,
	ready func() error,
	w tds.Writer,
) error {
	if s.nest >= maxNesting {
		return sqlerr.New(217, 1, maxNesting)
	}
	batch, node, perr := bind.ParseModule(t)
	if perr != nil {
		return perr
	}
	f := s.moduleFrame(t, batch)
	f.trancount, f.trigger = s.count, trigger
	before, line, settings := s.db, s.line, s.settings
	if db != nil {
		s.db = db
	}
	s.settings.xactAbort = true
	s.frames = append(s.frames, f)
	s.nest++
	err := ready()
	if err == nil {
		err = s.asOf(ctx, t, func() error { return s.statements(ctx, listOf(triggerParts(node).body), w) })
	}
	s.popFrame()
	s.db, s.line = before, line
	s.settings.xactAbort, s.settings.noCount = settings.xactAbort, settings.noCount
	switch {
	case err != nil && !errors.Is(err, errReturn):
		return err
	case s.count < f.trancount:
		return sqlerr.New(3609, 1)
	}
	return nil
}

// fillTrigger makes the tables inserted and deleted, which live in the session's own space as long as the trigger runs.
func (s *Session) fillTrigger(ctx context.Context, t *triggerFrame, image []*metadata.Column, rows []*foundRow) error {
	make := func(name string, values func(*foundRow) []any) (*metadata.Object, error) {
		columns := make([]*metadata.Column, len(t.table.Table.Columns))
		for i, c := range t.table.Table.Columns {
			copied := *c
			copied.Nullable, copied.Identity, copied.Default = c.Nullable, nil, 0
			columns[i] = &copied
		}
		o, err := s.frameTable(ctx, name, columns)
		if err != nil {
			return nil, err
		}
		return o, s.fillImage(o, image, rows, values)
	}
	var err error
	if t.inserted, err = make("@inserted", func(r *foundRow) []any { return r.new }); err != nil {
		return err
	}
	t.deleted, err = make("@deleted", func(r *foundRow) []any { return r.old })
	return err
}

// frameTable makes a table that lives as long as the running batch or module.
func (s *Session) frameTable(ctx context.Context, name string, columns []*metadata.Column) (*metadata.Object, error) {
	var o *metadata.Object
	err := s.ChangeSchema(ctx, bind.ObjectName{Name: name}, func(d *SchemaChange) error {
		o = d.NewObject(bind.ObjectName{Name: variableTableName(name, s.frame())}, metadata.KindTable)
		o.Table = &metadata.Table{Columns: columns, NextIndex: 2}
		for _, c := range columns {
			o.Table.NextColumn = max(o.Table.NextColumn, c.ID+1)
		}
		return d.createTable(o)
	})
	return o, err
}

func (s *Session) fillImage(
	o *metadata.Object,
	image []*metadata.Column,
	rows []*foundRow,
	values func(*foundRow) []any,
) error {
	names, marks := make([]string, len(image)), make([]string, len(image))
	for i, c := range image {
		names[i], marks[i] = metadata.ColumnName(c.ID), "?"
	}
	text := "INSERT INTO main." + o.StorageName() + " (" + strings.Join(
		names,
		", ",
	) + ") VALUES (" + strings.Join(
		marks,
		", ",
	) + ")"
	conn, err := s.localConn()
	if err != nil {
		return err
	}
	for _, row := range rows {
		list := values(row)
		if list == nil {
			continue
		}
		if err := sqlitex.Execute(conn, text, &sqlitex.ExecOptions{Args: list}); err != nil {
			return fmt.Errorf("fill a table of a trigger: %w", err)
		}
	}
	return nil
}

// pseudoTable is the table inserted or deleted of the running trigger; nil outside of triggers.
func (s *Session) pseudoTable(name bind.ObjectName) *metadata.Object {
	f := s.frame()
	if f == nil || f.trigger == nil || name.Schema != "" || name.Database != "" {
		return nil
	}
	switch lower(name.Name) {
	case "inserted":
		return f.trigger.inserted
	case "deleted":
		return f.trigger.deleted
	}
	return nil
}

// triggerModule is a trigger's definition.
type triggerModule struct {
	table             *ast.SchemaObjectName
	scope             string
	kind              string
	actions           []*ast.TriggerAction
	body              *ast.StatementList
	name              *ast.SchemaObjectName
	notForReplication bool
	// creates and alters are set for CREATE and ALTER, neither for CREATE OR ALTER.
	creates, alters bool
}

func triggerParts(node ast.Statement) triggerModule {
	var m triggerModule
	var on *ast.TriggerObject
	switch n := node.(type) {
	case *ast.CreateTriggerStatement:
		on, m = n.TriggerObject, triggerModule{kind: n.TriggerType, actions: n.TriggerActions, body: n.StatementList,
			name: n.Name, creates: true, notForReplication: n.IsNotForReplication}
	case *ast.AlterTriggerStatement:
		on, m = n.TriggerObject, triggerModule{kind: n.TriggerType, actions: n.TriggerActions, body: n.StatementList,
			name: n.Name, alters: true, notForReplication: n.IsNotForReplication}
	case *ast.CreateOrAlterTriggerStatement:
		on, m = n.TriggerObject, triggerModule{kind: n.TriggerType, actions: n.TriggerActions, body: n.StatementList,
			name: n.Name, notForReplication: n.IsNotForReplication}
	}
	if on != nil {
		m.table, m.scope = on.Name, on.TriggerScope
	}
	return m
}

// events are INSERT, UPDATE and DELETE as a trigger's definition lists them.
func (m *triggerModule) events() ([]string, error) {
	var out []string
	for _, a := range m.actions {
		word := strings.ToUpper(a.TriggerActionType)
		switch word {
		case "INSERT", "UPDATE", "DELETE":
			for _, other := range out {
				if other == word {
					return nil, sqlerr.New(1034, 1, word)
				}
			}
			out = append(out, word)
		default:
			return nil, sqlerr.New(1084, 1, word)
		}
	}
	if len(out) == 0 {
		return nil, sqlerr.New(102, 1, "AS")
	}
	return out, nil
}

func installTriggers(r *Registry) {
	define := func(node ast.Statement, mode moduleMode) {
		r.Statement(node, triggerStatement(mode))
	}
	define((*ast.CreateTriggerStatement)(nil), createModule)
	define((*ast.AlterTriggerStatement)(nil), alterModule)
	define((*ast.CreateOrAlterTriggerStatement)(nil), createOrAlterModule)
	installTriggerOrder(r)
	on(r, (*Session).dropTrigger)
	on(r, (*Session).enableTrigger)
	on(r, func(s *Session, ctx context.Context, n *ast.AlterTableTriggerModificationStatement, w tds.Writer) error {
		names := make([]string, len(n.TriggerNames))
		for i, id := range n.TriggerNames {
			names[i] = id.Value
		}
		disable := strings.EqualFold(n.TriggerEnforcement, "Disable")
		verb := triggerVerb(n.All, disable)
		return s.ChangeTable(ctx, n.SchemaObjectName, verb, func(d *SchemaChange, o *metadata.Object) error {
			return d.switchTriggers(
				o,
				n.All,
				names,
				disable,
				func(name string) *sqlerr.Error { return sqlerr.New(4920, 1, name, o.Name) },
			)
		})
	})
}

func (s *Session) enableTrigger(ctx context.Context, n *ast.EnableDisableTriggerStatement, w tds.Writer) error {
	names := make([]string, len(n.TriggerNames))
	for i, id := range n.TriggerNames {
		names[i] = bind.NameOf(id).Name
	}
	disable := strings.EqualFold(n.TriggerEnforcement, "Disable")
	if scope := n.TriggerObject.TriggerScope; scope == metadata.DatabaseScope || scope == metadata.ServerScope {
		return s.switchScoped(ctx, scope, n.All, names, disable)
	}
	verb := triggerVerb(n.All, disable)
	return s.ChangeTable(ctx, n.TriggerObject.Name, verb, func(d *SchemaChange, o *metadata.Object) error {
		return d.switchTriggers(
			o,
			n.All,
			names,
			disable,
			func(name string) *sqlerr.Error { return sqlerr.New(1088, 13, name) },
		)
	})
}

// triggerVerb is what the extensions are asked about when triggers are enabled or disabled.
func triggerVerb(all, disable bool) string {
	if all && disable {
		return "DISABLE TRIGGER ALL"
	}
	return "TRIGGER"
}

// switchTriggers enables or disables triggers of a table; missing is the error of one that is not there.
func (d *SchemaChange) switchTriggers(
	o *metadata.Object,
	all bool,
	names []string,
	disable bool,
	missing func(name string) *sqlerr.Error,
) error {
	found := map[string]bool{}
	for _, t := range append([]*metadata.Object(nil), d.sch.Children(o.ID)...) {
		if t.Kind != metadata.KindTrigger {
			continue
		}
		wanted := all
		for _, name := range names {
			wanted = wanted || strings.EqualFold(name, t.Name)
		}
		if !wanted {
			continue
		}
		found[lower(t.Name)] = true
		t.Disabled = disable
		if err := d.Modify(t); err != nil {
			return err
		}
	}
	for _, name := range names {
		if !found[lower(name)] {
			return missing(name)
		}
	}
	return nil
}

func (s *Session) dropTrigger(ctx context.Context, n *ast.DropTriggerStatement, w tds.Writer) error {
	if n.TriggerScope == metadata.DatabaseScope || n.TriggerScope == metadata.ServerScope {
		return s.dropScoped(ctx, n)
	}
	return s.drop(ctx, n.Objects, n.IsIfExists, "trigger", metadata.KindTrigger)
}

// runningTrigger is the innermost running trigger, for UPDATE() and COLUMNS_UPDATED().
func (s *Session) runningTrigger() *triggerFrame {
	for i := len(s.frames) - 1; i >= 0; i-- {
		if s.frames[i].trigger != nil {
			return s.frames[i].trigger
		}
	}
	return nil
}

// triggerDepth is TRIGGER_NESTLEVEL().
func (s *Session) triggerDepth() int64 {
	depth := int64(0)
	for _, f := range s.frames {
		if f.trigger != nil {
			depth++
		}
	}
	return depth
}

// columnsUpdated is COLUMNS_UPDATED(): a bit for each column, the first one lowest in the first byte.
func columnsUpdated(t *triggerFrame) []byte {
	if t == nil || t.table == nil {
		return nil
	}
	out := make([]byte, (t.table.Table.NextColumn+6)/8)
	for id := range t.updated {
		if at := int(id-1) / 8; at < len(out) {
			out[at] |= 1 << ((id - 1) % 8)
		}
	}
	return out
}
