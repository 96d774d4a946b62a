// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// compilation binds the statements of a batch before the first of them is executed, and those of a module when it is
// made. A statement that names a table which is not there is left to its execution (deferred name resolution); of one
// whose tables are all there, names and shapes have to be right (learn.microsoft.com, "Deferred Name Resolution and
// Compilation", ms190686, and "Batches", ms175502).
type compilation struct {
	s   *Session
	ctx context.Context
	// keeps says that the nodes are those that are executed, so that their plans are worth keeping.
	keeps bool
	// module says that temporary tables are not those of the session.
	module bool
	errs   []*sqlerr.Error
	// ended is set by a statement behind which names mean something else, which only its execution tells.
	ended bool
}

// refusesBatch are the errors of a statement that keep its whole batch from running: names of columns that tables do
// not have, and shapes that do not fit. Others, among them those of values, are left to the execution.
func refusesBatch(e *sqlerr.Error) bool {
	switch e.Number {
	case 107,
		109,
		110,
		120,
		121,
		130,
		141,
		144,
		145,
		147,
		174,
		189,
		195,
		205,
		207,
		209,
		213,
		264,
		1011,
		1012,
		1013,
		1033,
		1035,
		4101,
		4104,
		4108,
		4109,
		4115,
		8120,
		8121,
		8124,
		8127,
		8155,
		8156,
		8158,
		8159:
		return !slices.ContainsFunc(e.Before, func(b *sqlerr.Error) bool { return !refusesBatch(b) })
	}
	return false
}

// ofCompilation tells an error of a statement that could not be compiled with its batch, because a table was not there
// yet: it ends the batch. The rows of INSERT ... EXECUTE are counted when they come (state 7).
func ofCompilation(e *sqlerr.Error) bool {
	return refusesBatch(e) && (e.Number != 213 || e.State != 7)
}

// compileBatch is the errors of a batch's statements that keep it from running. One statement is bound by its
// execution.
func (s *Session) compileBatch(ctx context.Context, batch *syntax.Batch) []*sqlerr.Error {
	list := nodesOf(batch)
	if s.internal || s.settings.parseOnly || len(list) == 0 || len(list) == 1 && !hasStatements(list[0]) {
		return nil
	}
	sch, err := s.schema(ctx, s.db.ID())
	if err != nil {
		return nil // its statements tell
	}
	known := compiled{s.db.ID(), sch.Version}
	if s.batches.compiled[batch] == known {
		return nil
	}
	c := &compilation{s: s, ctx: ctx, keeps: true}
	c.run(list)
	if _, kept := s.batches.free[batch]; kept && len(c.errs) == 0 {
		s.batches.compiled[batch] = known
	}
	return c.errs
}

// compiled tells in which database a batch was found free of errors, and of which metadata.
type compiled struct {
	database int32
	version  int64
}

func hasStatements(node ast.Statement) bool {
	switch node.(type) {
	case *ast.BeginEndBlockStatement, *ast.IfStatement, *ast.WhileStatement, *ast.TryCatchStatement:
		return true
	}
	return false
}

// run binds statements in a frame of their own, which has the variables of the running one.
func (c *compilation) run(list []ast.Statement) {
	f := *c.s.frame()
	f.variables = maps.Clone(f.variables)
	c.within(&f, func() { c.statements(list) })
}

// within binds in a frame, and leaves nothing of it.
func (c *compilation) within(f *frame, bind func()) {
	s := c.s
	db, line, notices, leniency := s.db, s.line, s.notices, s.leniency
	mark := len(s.foreignConns)
	s.frames = append(s.frames, f)
	s.nest++
	defer func() {
		s.popFrame()
		s.releaseForeign(mark)
		s.db, s.line, s.notices, s.leniency = db, line, notices, leniency
	}()
	bind()
}

// compileModule is the error of a module's statements, which keeps it from being made; trigger is set for the table of
// a trigger.
func (s *Session) compileModule(ctx context.Context, name string, m bind.Module, trigger *triggerFrame) error {
	if s.internal {
		return nil
	}
	running := s.frame()
	f := &frame{
		variables: map[string]*variable{},
		batch:     running.batch,
		procedure: name,
		module:    running.module,
		depth:     s.nest,
		trigger:   trigger,
	}
	c := &compilation{s: s, ctx: ctx, module: true}
	c.within(f, func() {
		if trigger != nil && s.fillTrigger(ctx, trigger, nil, nil) != nil || !c.declareParameters(m.Parameters) {
			return
		}
		if r, ok := m.Returns.(*ast.TableValuedFunctionReturnType); ok &&
			s.declareTable(ctx, &ast.DeclareTableVariableStatement{Body: r.DeclareTableVariableBody}, nil) != nil {
			return
		}
		c.statements(listOf(m.Body))
	})
	if len(c.errs) == 0 {
		return nil
	}
	return sqlerr.Together(c.errs)
}

func (c *compilation) statements(list []ast.Statement) {
	for _, node := range list {
		if node == nil {
			continue
		}
		if c.statement(node); c.ended {
			return
		}
	}
}

func (c *compilation) statement(node ast.Statement) {
	switch n := node.(type) {
	case *ast.BeginEndBlockStatement:
		c.statements(listOf(n.StatementList))
	case *ast.IfStatement:
		c.condition(n, n.Predicate)
		c.statements([]ast.Statement{n.ThenStatement, n.ElseStatement})
	case *ast.WhileStatement:
		c.condition(n, n.Predicate)
		c.statements([]ast.Statement{n.Statement})
	case *ast.TryCatchStatement:
		c.statements(listOf(n.TryStatements))
		c.statements(listOf(n.CatchStatements))
	case *ast.UseStatement:
		c.use(n)
	case *ast.DeclareVariableStatement:
		c.declare(n)
	case *ast.DeclareTableVariableStatement:
		c.ended = c.s.doomed || c.s.declareTable(c.ctx, n, nil) != nil
	case *ast.SelectStatement:
		if n.Into != nil {
			into := *n
			into.Into = nil
			c.bind(n, nil, func(b *bind.Binder) *bind.Plan { return b.Select(&into) })
			return
		}
		c.bind(n, n, func(b *bind.Binder) *bind.Plan { return b.Select(n) })
	case *ast.InsertStatement:
		if _, executes := n.InsertSpecification.InsertSource.(*ast.ExecuteInsertSource); !executes && nestedChange(n) == nil {
			c.bind(n, n, func(b *bind.Binder) *bind.Plan { return b.Insert(n) })
		}
	case *ast.UpdateStatement:
		c.bind(n, n, func(b *bind.Binder) *bind.Plan { return b.Update(n) })
	case *ast.DeleteStatement:
		c.bind(n, n, func(b *bind.Binder) *bind.Plan { return b.Delete(n) })
	case *ast.MergeStatement:
		c.bind(n, n, func(b *bind.Binder) *bind.Plan { return b.Merge(n, nil) })
	case *syntax.Merge:
		c.bind(n, n, func(b *bind.Binder) *bind.Plan { return b.Merge(n.MergeStatement, n.Into) })
	case *ast.SetVariableStatement:
		c.value(n, n.Expression)
	case *ast.ReturnStatement:
		c.value(n, n.Expression)
	case *ast.DeclareCursorStatement:
		if cur, _, err := c.s.newCursor(n.Name.Value, n.CursorDefinition); err == nil {
			c.bind(n, nil, func(b *bind.Binder) *bind.Plan {
				p, _ := b.Cursor(cur.definition.Select, cur.readOnly)
				return p
			})
		}
	default:
		c.ended = changesContext(node)
	}
}

// changesContext are the statements behind which another user's names count.
func changesContext(node ast.Statement) bool {
	switch node.(type) {
	case *syntax.ExecuteAs, *syntax.Revert, *ast.SetUserStatement:
		return true
	}
	return false
}

// use makes the database that a USE names the one of the statements behind it.
func (c *compilation) use(n *ast.UseStatement) {
	db := (*Database)(nil)
	if n.DatabaseName != nil {
		db = c.s.inst.Database(n.DatabaseName.Value)
	}
	if db == nil || db.Available() != nil {
		c.ended = true
		return
	}
	c.s.db = db
}

func (c *compilation) declare(n *ast.DeclareVariableStatement) {
	for _, d := range n.Declarations {
		c.value(n, d.Value)
		bare := *d
		bare.Value = nil
		if c.s.declareVariables(
			c.ctx,
			&ast.DeclareVariableStatement{Declarations: []*ast.DeclareVariableElement{&bare}},
			nil,
		) != nil {
			c.ended = true
			return
		}
	}
}

func (c *compilation) condition(st ast.Statement, n ast.BooleanExpression) {
	if bind.HasSubquery(n) {
		c.bind(st, nil, func(b *bind.Binder) *bind.Plan { return b.Plan(b.Predicate(&bind.Scope{}, n).SQL) })
	}
}

func (c *compilation) value(st ast.Statement, n ast.ScalarExpression) {
	if n != nil && bind.HasSubquery(n) {
		c.bind(st, nil, func(b *bind.Binder) *bind.Plan { return b.Expression(n, nil) })
	}
}

// bind binds one statement. key is the node that its plan is kept by.
func (c *compilation) bind(node ast.Statement, key ast.Node, f func(b *bind.Binder) *bind.Plan) {
	names := namesIn(node)
	if names.elsewhere {
		return
	}
	if !c.keeps || names.variables {
		key = nil
	}
	_, err := c.s.compile(c.ctx, key, f)
	if err == nil {
		return
	}
	e := AsError(err)
	if !refusesBatch(e) || !c.allThere(names) {
		return
	}
	for _, told := range append(slices.Clone(e.Before), e) {
		one := *told
		if one.Before = nil; one.Line == 0 {
			_ = one.At(syntax.Line(node))
		}
		c.errs = append(c.errs, &one)
	}
}

// allThere tells whether all tables that a statement names are there.
func (c *compilation) allThere(names tableNames) bool {
	for _, name := range names.tables {
		if name.Schema == "" && name.Database == "" && names.local[lower(name.Name)] {
			continue
		}
		if name.Temporary() && c.module || !c.there(name) {
			return false
		}
	}
	return true
}

func (c *compilation) there(name bind.ObjectName) bool {
	if c.s.pseudoTable(name) != nil {
		return true
	}
	b := newBinder(c.ctx, c.s, c.s.db.ID())
	found := false
	_ = bind.Safely(func() {
		_, _, o := b.Resolve(name)
		if o != nil && o.Kind == metadata.KindSynonym {
			_, _, o = b.Resolve(bind.SplitName(o.Target))
		}
		found = o != nil
	})
	return found || c.s.findView(name) != nil
}

// tableNames are the tables that a statement names.
type tableNames struct {
	tables []bind.ObjectName
	// local are the names of its common table expressions and its aliases.
	local map[string]bool
	// variables tells of table variables, elsewhere of what is on another server.
	variables, elsewhere bool
}

func namesIn(node ast.Statement) tableNames {
	t := tableNames{local: map[string]bool{}}
	local := func(id *ast.Identifier) {
		if id != nil {
			t.local[lower(id.Value)] = true
		}
	}
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		switch n := n.(type) {
		case *ast.NamedTableReference:
			name := bind.NameOf(n.SchemaObject)
			t.tables, t.elsewhere = append(t.tables, name), t.elsewhere || name.Server != ""
			local(n.Alias)
		case *ast.SchemaObjectFunctionTableReference:
			t.tables = append(t.tables, bind.NameOf(n.SchemaObject))
		case *ast.CommonTableExpression:
			local(n.ExpressionName)
		case *ast.QueryDerivedTable:
			local(n.Alias)
		case *ast.VariableTableReference:
			t.variables = true
			local(n.Alias)
		case *ast.OpenQueryTableReference, *ast.OpenRowsetTableReference, *ast.AdHocTableReference:
			t.elsewhere = true
		}
	})
	return t
}

// declareParameters declares the parameters of a module that is made, unless one is a table, whose rows come with the
// call.
func (c *compilation) declareParameters(params []*ast.ProcedureParameter) bool {
	for _, p := range params {
		v := &variable{name: p.VariableName.Value, isCursor: p.IsVarying}
		if !p.IsVarying {
			t, err := c.s.moduleType(c.ctx, p.DataType)
			if err != nil {
				return false
			}
			v.typ = t
		}
		c.s.frame().variables[lower(v.name)] = v
	}
	return true
}
