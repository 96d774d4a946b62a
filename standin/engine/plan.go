// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/tds"
)

// plan is a bound statement, ready to be prepared on a connection.
type plan struct {
	sql    string
	params []param
	needs  []need
	home   int32
	// columns are the result's, collations what theirs are called; variables are the targets of SELECT @x = ....
	columns    []tds.Column
	collations []string
	variables  []assignment
	// versions are those of the metadata that the plan was made of.
	versions map[int32]int64
	// constant is set for an expression that is a literal.
	constant bool
	value    any
	locks    bool
	dml      *dmlPlan
	// permissions are asked for again at each execution.
	permissions []Permission
	// unlevelled are the databases whose tables it touches without a hint that says at which isolation level.
	unlevelled map[int32]bool
}

// plan turns what the binder has gathered into a plan.
func (b *binder) plan(sql string) *plan {
	p := &plan{
		sql:         b.withClause() + sql,
		params:      b.params,
		needs:       b.needs,
		home:        b.home,
		versions:    map[int32]int64{},
		locks:       b.locks,
		permissions: b.permissions,
	}
	for space, sch := range b.spaces {
		p.versions[space] = sch.Version
	}
	return p
}

// better is the space where the statement should be executed, given what it reads.
func (b *binder) better() int32 {
	if b.used[b.home] {
		return b.home
	}
	if len(b.used) == 1 {
		for space := range b.used {
			return space
		}
	}
	if len(b.used) == 0 {
		return tempSpace
	}
	return b.home
}

// compile binds with f, at the best place; f is called again when another place is better.
func (s *Session) compile(ctx context.Context, key ast.Node, f func(b *binder) *plan) (*plan, error) {
	k := planKey{
		node:        key,
		db:          s.db.ID(),
		dates:       s.settings.dates,
		nullsEqual:  s.nullsEqual(),
		nullIsEmpty: s.nullIsEmpty(),
		schema:      s.plannedSchema(),
	}
	if key != nil {
		if p := s.plans.get(k); p != nil {
			current, err := s.current(ctx, p)
			if err != nil {
				return nil, err
			}
			if current {
				for _, x := range p.permissions {
					if err := s.require(ctx, x); err != nil {
						return nil, err
					}
				}
				return p, s.mayBeSnapshot(p)
			}
		}
	}
	home := s.db.ID()
	for range 3 {
		b := newBinder(ctx, s, home)
		b.ofText = true
		var p *plan
		if err := b.bindNaming(func() { p = f(b) }); err != nil {
			return nil, err
		}
		if p.dml != nil {
			if b.home != home && len(b.ctes) > 0 {
				// Common table expressions were bound before the target told where the statement runs.
				home = b.home
				continue
			}
			home = b.home
		}
		if better := b.better(); p.dml == nil && better != home {
			home = better
			continue
		}
		p.unlevelled = b.tables
		if key != nil && !b.volatile {
			s.plans.put(k, p)
		}
		return p, s.mayBeSnapshot(p)
	}
	return nil, internalError(errors.New("a statement found no place to run"))
}

// current tells whether the metadata that a plan was made of are still the same.
func (s *Session) current(ctx context.Context, p *plan) (bool, error) {
	for space, version := range p.versions {
		sch, err := s.schema(ctx, space)
		if err != nil {
			return false, err
		}
		if sch.Version != version {
			return false, nil
		}
	}
	return true, nil
}

// connection gives the connection of a space for reading.
func (s *Session) connection(ctx context.Context, space int32) (*sqlite.Conn, func(), error) {
	if space == tempSpace {
		conn, err := s.localConn()
		if err != nil {
			return nil, nil, err
		}
		return s.attach(conn, func() {})
	}
	db := s.inst.DatabaseByID(space)
	if db == nil {
		return nil, nil, sqlerr.New(911, 1, fmt.Sprint(space))
	}
	return s.readConn(ctx, db)
}

// prepare readies a plan on a connection: its virtual tables, statement and parameters.
func (s *Session) prepare(p *plan, conn *sqlite.Conn) (*sqlite.Stmt, *connState, error) {
	stmt, st, err := s.prepareText(p, p.sql, conn)
	if err != nil {
		return nil, nil, err
	}
	if err := s.bindParams(p, stmt); err != nil {
		st.statements.put(p.sql, stmt)
		return nil, nil, err
	}
	return stmt, st, nil
}

func (s *Session) bindParams(p *plan, stmt *sqlite.Stmt) error {
	// Computed columns that are not read may have the last ones.
	count := min(len(p.params), stmt.BindParamCount())
	for i := range count {
		raw, err := s.paramValue(&p.params[i])
		if err != nil {
			return err
		}
		storage.BindValue(stmt, i+1, raw)
	}
	return nil
}

// paramValue is the stored form of a parameter's value now.
func (s *Session) paramValue(p *param) (any, error) {
	var v any
	if p.variable != "" {
		x := s.variable(p.variable)
		if x == nil {
			return nil, sqlerr.New(137, 2, p.variable)
		}
		v = x.value
	} else {
		v = normalise(p.value(s))
		if s.identityError != nil {
			err := s.identityError
			s.identityError = nil
			return nil, err
		}
	}
	t := p.typ
	if p.to.Kind != sqltype.Unknown {
		t = p.to
		mode := sqltype.Implicit
		if p.column != nil {
			mode = sqltype.Assign
		}
		out, e := s.Convert(v, p.typ, p.to, mode)
		if e != nil {
			if p.column != nil {
				return nil, s.storeError(e, p.column, v)
			}
			copied := *e
			return nil, &copied
		}
		v = out
	}
	if p.typ.Kind == sqltype.Unknown {
		return v, nil
	}
	if v == nil && p.column != nil && !p.column.Nullable {
		return nil, s.nullError(p.column)
	}
	return sqltype.Encode(t, v)
}

// rows runs a plan and calls row with the values of each of its rows.
func (s *Session) rows(ctx context.Context, p *plan, conn *sqlite.Conn, row func(values []any) error) error {
	stmt, st, err := s.prepare(p, conn)
	if err != nil {
		return err
	}
	defer st.statements.put(p.sql, stmt)
	reads := s.viewReads
	s.viewReads = map[string]viewRead{}
	defer func() { s.viewReads = reads }()
	values := make([]any, len(p.columns))
	for {
		more, err := stmt.Step()
		if err != nil {
			return s.stepError(ctx, st, err)
		}
		if !more {
			return nil
		}
		for i := range p.columns {
			v, err := sqltype.Decode(p.columns[i].Type, storage.ColumnValue(stmt, i))
			if err != nil {
				return fmt.Errorf("column %d (%s) of a result: %w", i+1, p.columns[i].Name, err)
			}
			values[i] = v
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

func (s *Session) stepError(ctx context.Context, st *connState, err error) error {
	if e := st.take(); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return ErrCancelled
	}
	return s.sqliteError(st, err)
}

// sqliteError translates what SQLite says outside of constraint violations.
func (s *Session) sqliteError(st *connState, err error) error {
	if e := st.take(); e != nil {
		return e
	}
	text := err.Error()
	if e := s.damagedPage(err); e != nil {
		return e
	}
	switch {
	case strings.Contains(text, "integer overflow"):
		return sqlerr.New(8115, 2, "expression", "bigint")
	case sqlite.ErrCode(err) == sqlite.ResultInterrupt:
		// Not the client's doing: the database changes its role or closes.
		return sqlerr.New(952, 1, s.db.Name())
	}
	return err
}

// damagedPage is the error of a page that is not what was written; nil when err tells of none.
func (s *Session) damagedPage(err error) *sqlerr.Error {
	st := s.db.Storage()
	if st == nil {
		return nil
	}
	d := st.Damage(err)
	if d == nil {
		return nil
	}
	offset := int64(d.Page-1) * disk.PageSize
	s.inst.log.Error(
		"damaged page",
		"database",
		s.db.Name(),
		"file",
		d.Path,
		"page",
		d.Page,
		"expected",
		d.Expected,
		"actual",
		d.Actual,
	)
	what := fmt.Sprintf("incorrect checksum (expected: 0x%08x; actual: 0x%08x)", d.Expected, d.Actual)
	if d.PageNumber != d.Page && d.Expected == d.Actual {
		what = fmt.Sprintf("incorrect pageid (expected 1:%d; actual 1:%d)", d.Page-1, d.PageNumber-1)
	}
	return sqlerr.New(
		824,
		2,
		what,
		"read",
		fmt.Sprintf("(1:%d)", d.Page-1),
		s.db.id,
		fmt.Sprintf("0x%016x", offset),
		d.Path,
	)
}

// query runs a SELECT's plan on its home connection.
func (s *Session) queryPlan(ctx context.Context, p *plan, row func([]any) error) error {
	if p.locks && p.home != tempSpace && s.count > 0 {
		if db := s.inst.DatabaseByID(p.home); db != nil && !db.System() {
			if _, _, err := s.join(ctx, db); err != nil {
				return err
			}
		}
	}
	conn, release, err := s.connection(ctx, p.home)
	if err != nil {
		return err
	}
	defer release()
	return s.rows(ctx, p, conn, row)
}

// evaluate computes an expression outside of a query and converts it.
func (s *Session) evaluate(ctx context.Context, node ast.ScalarExpression, t sqltype.Type) (any, error) {
	return s.evaluateKeyed(ctx, node, node, t)
}

func (s *Session) evaluateKeyed(
	ctx context.Context,
	key ast.Node,
	node ast.ScalarExpression,
	t sqltype.Type,
) (any, error) {
	switch n := node.(type) {
	case *ast.IntegerLiteral, *ast.StringLiteral, *ast.NullLiteral:
		return s.evaluateSimple(ctx, n, t)
	case *ast.VariableReference:
		v := s.variable(n.Name)
		if v == nil || v.table != nil {
			return nil, sqlerr.New(137, 2, n.Name)
		}
		out, e := s.Convert(v.value, v.typ, t, sqltype.Implicit)
		if e != nil {
			copied := *e
			return nil, &copied
		}
		return out, nil
	}
	p, err := s.compile(ctx, key, func(b *binder) *plan { return b.expressionPlan(node, &t) })
	if err != nil {
		return nil, err
	}
	return s.planValue(ctx, p)
}

func (s *Session) evaluateSimple(ctx context.Context, node ast.ScalarExpression, t sqltype.Type) (any, error) {
	b := newBinder(ctx, s, tempSpace)
	var out expr
	if e := bindSafely(func() { out = b.convert(b.scalar(nil, node), t, sqltype.Implicit, 0, false) }); e != nil {
		return nil, e
	}
	if out.hasLit {
		return out.lit, nil
	}
	p, err := s.compile(ctx, nil, func(b *binder) *plan { return b.expressionPlan(node, &t) })
	if err != nil {
		return nil, err
	}
	return s.planValue(ctx, p)
}

func (b *binder) expressionPlan(node ast.ScalarExpression, t *sqltype.Type) *plan {
	e := b.scalar(&scope{}, node)
	if t != nil {
		e = b.convert(e, *t, sqltype.Implicit, 0, false)
	} else if e.null {
		e = literal(sqltype.IntType, nil)
	}
	p := b.plan("SELECT " + e.sql)
	p.columns = []tds.Column{{Type: e.typ}}
	p.constant, p.value = e.hasLit, e.lit
	return p
}

func (s *Session) planValue(ctx context.Context, p *plan) (any, error) {
	if p.constant {
		return p.value, nil
	}
	var out any
	err := s.queryPlan(ctx, p, func(values []any) error {
		out = values[0]
		return nil
	})
	return out, err
}

// evaluateAny computes an expression in its own type.
func (s *Session) evaluateAny(ctx context.Context, node ast.ScalarExpression) (any, error) {
	v, _, err := s.EvaluateTyped(ctx, node)
	return v, err
}

// EvaluateTyped computes an expression without a table in its own type.
func (s *Session) EvaluateTyped(ctx context.Context, node ast.ScalarExpression) (any, sqltype.Type, error) {
	p, err := s.compile(ctx, node, func(b *binder) *plan { return b.expressionPlan(node, nil) })
	if err != nil {
		return nil, sqltype.Type{}, err
	}
	v, err := s.planValue(ctx, p)
	return v, p.columns[0].Type, err
}

// Evaluate computes an expression without a table and converts it.
func (s *Session) Evaluate(ctx context.Context, node ast.ScalarExpression, t sqltype.Type) (any, error) {
	return s.evaluate(ctx, node, t)
}

// StatementText is the text of a statement of the batch that runs.
func (s *Session) StatementText(node ast.Statement) string { return s.frame().batch.TextOf(node) }

// EvaluateInt computes an expression without a table as int; NULL gives 0.
func (s *Session) EvaluateInt(ctx context.Context, node ast.ScalarExpression) (int64, error) {
	return s.evaluateInt(ctx, node)
}

func (s *Session) evaluateInt(ctx context.Context, node ast.ScalarExpression) (int64, error) {
	v, err := s.evaluate(ctx, node, sqltype.IntType)
	if err != nil {
		return 0, err
	}
	n, _ := v.(int64)
	return n, nil
}

// test evaluates the condition of IF and WHILE; unknown is false.
func (s *Session) test(ctx context.Context, node ast.BooleanExpression) (bool, error) {
	p, err := s.compile(ctx, node, func(b *binder) *plan {
		e := b.predicate(&scope{}, node)
		p := b.plan("SELECT " + e.sql)
		p.columns = []tds.Column{{Type: sqltype.BitType}}
		return p
	})
	if err != nil {
		return false, err
	}
	yes := false
	err = s.queryPlan(ctx, p, func(values []any) error {
		yes, _ = values[0].(bool)
		return nil
	})
	return yes, err
}
