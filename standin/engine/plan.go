// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/tds"
)

// compile binds with f, at the best place; f is called again when another place is better.
func (s *Session) compile(ctx context.Context, key ast.Node, f func(b *bind.Binder) *bind.Plan) (*bind.Plan, error) {
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
				for _, x := range p.Permissions {
					if err := s.requireAccess(ctx, x); err != nil {
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
		b.OfText = true
		var p *bind.Plan
		if err := b.Naming(func() { p = f(b) }); err != nil {
			return nil, err
		}
		if p.Modification != nil {
			if b.Home != home && len(b.CTEs) > 0 {
				// Common table expressions were bound before the target told where the statement runs.
				home = b.Home
				continue
			}
			home = b.Home
		}
		if better := b.Better(); p.Modification == nil && better != home {
			home = better
			continue
		}
		p.Unlevelled = b.Tables
		if key != nil && !b.Volatile {
			s.plans.put(k, p)
		}
		return p, s.mayBeSnapshot(p)
	}
	return nil, internalError(errors.New("a statement found no place to run"))
}

// current tells whether the metadata that a plan was made of are still the same.
func (s *Session) current(ctx context.Context, p *bind.Plan) (bool, error) {
	for space, version := range p.Versions {
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
	if space == bind.TempSpace {
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
func (s *Session) prepare(p *bind.Plan, conn *sqlite.Conn) (*sqlite.Stmt, *connState, error) {
	stmt, st, err := s.prepareText(p, p.SQL, conn)
	if err != nil {
		return nil, nil, err
	}
	if err := s.bindParams(p, stmt); err != nil {
		st.statements.put(p.SQL, stmt)
		return nil, nil, err
	}
	return stmt, st, nil
}

func (s *Session) bindParams(p *bind.Plan, stmt *sqlite.Stmt) error {
	// Computed columns that are not read may have the last ones.
	count := min(len(p.Params), stmt.BindParamCount())
	for i := range count {
		raw, err := s.paramValue(&p.Params[i])
		if err != nil {
			return err
		}
		storage.BindValue(stmt, i+1, raw)
	}
	return nil
}

// paramValue is the stored form of a parameter's value now.
func (s *Session) paramValue(p *bind.Parameter) (any, error) {
	var v any
	if p.Variable != "" {
		x := s.variable(p.Variable)
		if x == nil {
			return nil, sqlerr.New(137, 2, p.Variable)
		}
		v = x.value
	} else {
		v = normalise(p.Value(binding{s}))
		if s.identityError != nil {
			err := s.identityError
			s.identityError = nil
			return nil, err
		}
	}
	t := p.Type
	if p.To.Kind != sqltype.Unknown {
		t = p.To
		mode := sqltype.Implicit
		if p.Column != nil {
			mode = sqltype.Assign
		}
		out, e := s.Convert(v, p.Type, p.To, mode)
		if e != nil {
			if p.Column != nil {
				return nil, s.storeError(e, p.Column, v)
			}
			copied := *e
			return nil, &copied
		}
		v = out
	}
	if p.Type.Kind == sqltype.Unknown {
		return v, nil
	}
	if v == nil && p.Column != nil && !p.Column.Nullable {
		return nil, s.nullError(p.Column)
	}
	return sqltype.Encode(t, v)
}

// rows runs a plan and calls row with the values of each of its rows.
func (s *Session) rows(ctx context.Context, p *bind.Plan, conn *sqlite.Conn, row func(values []any) error) error {
	stmt, st, err := s.prepare(p, conn)
	if err != nil {
		return err
	}
	defer st.statements.put(p.SQL, stmt)
	reads := s.viewReads
	s.viewReads = map[string]viewRead{}
	defer func() { s.viewReads = reads }()
	values := make([]any, len(p.Columns))
	for {
		more, err := stmt.Step()
		if err != nil {
			return s.stepError(ctx, st, err)
		}
		if !more {
			return nil
		}
		for i := range p.Columns {
			v, err := sqltype.Decode(p.Columns[i].Type, storage.ColumnValue(stmt, i))
			if err != nil {
				return fmt.Errorf("column %d (%s) of a result: %w", i+1, p.Columns[i].Name, err)
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
func (s *Session) queryPlan(ctx context.Context, p *bind.Plan, row func([]any) error) error {
	if p.Locks && p.Home != bind.TempSpace && s.count > 0 {
		if db := s.inst.DatabaseByID(p.Home); db != nil && !db.System() {
			if _, _, err := s.join(ctx, db); err != nil {
				return err
			}
		}
	}
	conn, release, err := s.connection(ctx, p.Home)
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
	p, err := s.compile(ctx, key, func(b *bind.Binder) *bind.Plan { return b.Expression(node, &t) })
	if err != nil {
		return nil, err
	}
	return s.planValue(ctx, p)
}

func (s *Session) evaluateSimple(ctx context.Context, node ast.ScalarExpression, t sqltype.Type) (any, error) {
	b := newBinder(ctx, s, bind.TempSpace)
	var out bind.Expr
	if e := bind.Safely(func() { out = b.Convert(b.Scalar(nil, node), t, sqltype.Implicit, 0, false) }); e != nil {
		return nil, e
	}
	if out.HasLiteral {
		return out.Literal, nil
	}
	p, err := s.compile(ctx, nil, func(b *bind.Binder) *bind.Plan { return b.Expression(node, &t) })
	if err != nil {
		return nil, err
	}
	return s.planValue(ctx, p)
}

func (s *Session) planValue(ctx context.Context, p *bind.Plan) (any, error) {
	if p.Constant {
		return p.Value, nil
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
	p, err := s.compile(ctx, node, func(b *bind.Binder) *bind.Plan { return b.Expression(node, nil) })
	if err != nil {
		return nil, sqltype.Type{}, err
	}
	v, err := s.planValue(ctx, p)
	return v, p.Columns[0].Type, err
}

// Evaluate computes an expression without a table and converts it.
func (s *Session) Evaluate(ctx context.Context, node ast.ScalarExpression, t sqltype.Type) (any, error) {
	return s.evaluate(ctx, node, t)
}

// StatementText is the text of a statement of the batch that runs.
func (s *Session) StatementText(node ast.Statement) string { return s.frame().batch.TextOf(node) }

// Line is the line of the statement that runs.
func (s *Session) Line() int32 { return s.line }

// InTry tells whether the statement that runs is within a TRY block.
func (s *Session) InTry() bool { return s.tryDepth > 0 }

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
	p, err := s.compile(ctx, node, func(b *bind.Binder) *bind.Plan {
		e := b.Predicate(&bind.Scope{}, node)
		p := b.Plan("SELECT " + e.SQL)
		p.Columns = []tds.Column{{Type: sqltype.BitType}}
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
