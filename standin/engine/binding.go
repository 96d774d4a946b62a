// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/builtin"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// binding is a session as what binds its statements sees it.
type binding struct{ s *Session }

// Ensure that statements can be bound.
var _ bind.Session = binding{}

// newBinder binds a statement of a session that the connection of a space executes.
func newBinder(ctx context.Context, s *Session, home int32) *bind.Binder {
	return bind.New(ctx, binding{s}, home)
}

func (x binding) Database() string  { return x.s.db.Name() }
func (x binding) DatabaseID() int32 { return x.s.db.ID() }

func (x binding) DatabaseNamed(name string) (int32, bool) {
	if db := x.s.inst.Database(name); db != nil {
		return db.ID(), true
	}
	return 0, false
}

func (x binding) DatabaseByID(space int32) (bind.Database, bool) {
	if db := x.s.inst.DatabaseByID(space); db != nil {
		return db, true
	}
	return nil, false
}

func (x binding) Enter(ctx context.Context, space int32) *sqlerr.Error {
	db := x.s.inst.DatabaseByID(space)
	if db == nil || db == x.s.db {
		return nil
	}
	return AsError(x.s.enter(ctx, db))
}

func (x binding) InDatabase(space int32) func() {
	before := x.s.db
	if db := x.s.inst.DatabaseByID(space); db != nil {
		x.s.db = db
	}
	return func() { x.s.db = before }
}

func (x binding) Within(module *metadata.Object) func() { return x.s.within(module) }

func (x binding) InFunction(
	function *metadata.Object,
	batch *syntax.Batch,
	parameters map[string]bind.Variable,
) func() {
	f := &frame{variables: map[string]*variable{}, batch: batch, procedure: function.Name, module: function}
	for name, p := range parameters {
		f.variables[name] = &variable{name: name, typ: p.Type, bound: p.Bound, lateral: p.Lateral}
	}
	x.s.frames = append(x.s.frames, f)
	depth := len(x.s.frames)
	return func() { x.s.frames = x.s.frames[:depth-1] }
}

func (x binding) Catalog(ctx context.Context, space int32) (*metadata.Catalog, *sqlerr.Error) {
	sch, err := x.s.schema(ctx, space)
	return sch, AsError(err)
}

func (x binding) Schemas(space int32, sch *metadata.Catalog) []string {
	return x.s.placesOf(space, sch)
}

func (x binding) Variable(name string) *bind.Variable {
	v := x.s.variable(name)
	if v == nil {
		return nil
	}
	return &bind.Variable{
		Type:     v.typ,
		Table:    v.table,
		ReadOnly: v.readOnly,
		Cursor:   v.isCursor,
		Bound:    v.bound,
		Lateral:  v.lateral,
	}
}

func (x binding) Local(o *metadata.Object) *metadata.Object { return x.s.localObject(o) }

func (x binding) TriggerRows(name bind.ObjectName) *metadata.Object { return x.s.pseudoTable(name) }

func (x binding) ChangedRows() *metadata.Object {
	if f := x.s.frame(); f != nil {
		return f.changed
	}
	return nil
}

func (x binding) SystemView(name bind.ObjectName) *bind.SystemView {
	v := x.s.findView(name)
	if v == nil {
		return nil
	}
	return &bind.SystemView{Database: v.Database, Schema: v.Schema, Name: v.Name, Columns: v.Columns}
}

func (x binding) TableFunction(key string) *bind.SystemFunction {
	f := x.s.inst.registry.tableFunctions[key]
	if f == nil {
		return nil
	}
	return &bind.SystemFunction{Schema: f.Schema, Name: f.Name, Parameters: f.Parameters, Columns: f.Columns}
}

func (x binding) Function(name string) *bind.ScalarFunction {
	if f := x.s.inst.registry.functions[name]; f != nil {
		return &bind.ScalarFunction{
			Min:        f.MinArgs,
			Max:        f.MaxArgs,
			Parameters: f.Parameters,
			Type:       f.Type,
			Infer:      f.Infer,
			Pure:       f.Deterministic,
		}
	}
	f := builtins[name]
	if f == nil {
		return nil
	}
	return &bind.ScalarFunction{
		Min:        f.Min,
		Max:        f.Max,
		Parameters: f.Params,
		Type:       f.Type,
		Infer:      f.Infer,
		Pure:       f.Pure,
		Builtin:    true,
	}
}

func (x binding) Global(name string) *bind.SystemVariable {
	g := x.s.inst.registry.globals[lower(name)]
	if g == nil {
		return nil
	}
	return &bind.SystemVariable{
		Type:     g.Type,
		Nullable: g.Nullable,
		Value:    func(s bind.Session) any { return g.Value(s.(binding).s) },
	}
}

func (x binding) AliasType(ctx context.Context, name bind.ObjectName) *sqltype.Type {
	return x.s.aliasType(ctx, name)
}

func (x binding) Remote(ctx context.Context, server, text string) ([]tds.Column, [][]any, *sqlerr.Error) {
	remote := x.s.inst.registry.remote
	if remote == nil {
		return nil, nil, sqlerr.New(7202, 1, server)
	}
	result, err := remote.Query(ctx, x.s, server, text)
	if err != nil || result == nil {
		return nil, nil, AsError(err)
	}
	return result.Columns, result.Rows, nil
}

func (x binding) Cursor(name string) (*bind.CursorPosition, *sqlerr.Error) {
	c, err := x.s.currentCursor(name)
	if err != nil {
		return nil, AsError(err)
	}
	p := &bind.CursorPosition{Open: c.open, ReadOnly: c.readOnly, Updates: c.updates, Tables: c.tables}
	if c.at >= 0 && c.at < len(c.rows) {
		p.Rows = c.numbers[c.at]
	}
	return p, nil
}

func (x binding) Chained(permission string, space int32, sch *metadata.Catalog, o *metadata.Object) bool {
	return x.s.chained(permission, space, sch, o)
}

func (x binding) Require(ctx context.Context, a bind.Access) *sqlerr.Error {
	return AsError(x.s.requireAccess(ctx, a))
}

// requireAccess asks for a right that a statement needs.
func (s *Session) requireAccess(ctx context.Context, a bind.Access) error {
	return s.require(ctx, Permission{
		Name:     a.Permission,
		Database: s.inst.DatabaseByID(a.Space),
		Schema:   a.Schema,
		Object:   a.Object,
		ObjectID: a.ObjectID,
	})
}

func (x binding) InCodePage(t sqltype.Type) sqltype.Type { return x.s.inCodePage(t) }
func (x binding) NullsEqual() bool                       { return x.s.nullsEqual() }
func (x binding) NullIsEmpty() bool                      { return x.s.nullIsEmpty() }
func (x binding) DateStyle(given int) int                { return x.s.DateStyle(given) }
func (x binding) Culture() string                        { return x.s.language().Culture }
func (x binding) Line() int32                            { return x.s.line }

func (x binding) Convert(v any, from, to sqltype.Type, mode sqltype.Mode) (any, *sqlerr.Error) {
	return x.s.Convert(v, from, to, mode)
}

func (x binding) Refuses(err *sqlerr.Error) bool { return !x.s.cuts(err) && x.s.forgiven(err) == 0 }

func (x binding) IdentityInsert(space, table int32) bool {
	return x.s.settings.identityInto == table && x.s.settings.identityDB == space
}

func (x binding) GivesIdentity(c *metadata.Column) bool { return x.s.givesIdentity(c) }
func (x binding) Spares(trigger *metadata.Object) bool  { return x.s.spares(trigger) }
func (x binding) Runs(trigger *metadata.Object) bool    { return x.s.runs(trigger) }
func (x binding) Clock(t sqltype.Type) any              { return x.s.clock(t) }
func (x binding) UserName() any                         { return x.s.userName() }
func (x binding) LoginName() any                        { return x.s.login.Name }
func (x binding) Random() *builtin.Random               { return &x.s.random }
func (x binding) TriggerDepth() int64                   { return x.s.triggerDepth() }
func (x binding) TakeIdentity(t *bind.Target) any       { return x.s.takeIdentity(t) }

func (x binding) TriggerTable() *metadata.Object {
	if t := x.s.runningTrigger(); t != nil {
		return t.table
	}
	return nil
}

func (x binding) Updated(column int32) bool {
	t := x.s.runningTrigger()
	return t != nil && t.updated[column]
}

func (x binding) ColumnsUpdated() []byte { return columnsUpdated(x.s.runningTrigger()) }

func (x binding) NextOfSequence(space int32, o *metadata.Object) any {
	v, err := x.s.nextSequenceValue(x.s.inst.DatabaseByID(space), o)
	if err != nil {
		x.s.identityError = err
		return nil
	}
	return bind.CountedValue(o.Sequence.Type, v)
}

func (x binding) SequenceExecution() int64 {
	x.s.sequenceRows.execution++
	return x.s.sequenceRows.execution
}
