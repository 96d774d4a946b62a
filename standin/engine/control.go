// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

func installControl(r *Registry) {
	on(r, func(s *Session, ctx context.Context, n *ast.BeginEndBlockStatement, w tds.Writer) error {
		return s.statements(ctx, listOf(n.StatementList), w)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.IfStatement, w tds.Writer) error {
		yes, err := s.test(ctx, n.Predicate)
		if err != nil {
			return err
		}
		taken, skipped := n.ThenStatement, n.ElseStatement
		if !yes {
			taken, skipped = skipped, taken
		}
		if err := s.declareSkipped(ctx, w, skipped); err != nil {
			return err
		}
		return s.statement(ctx, taken, w)
	})
	on(r, (*Session).while)
	on(r, func(*Session, context.Context, *ast.BreakStatement, tds.Writer) error { return errBreak })
	on(r, func(*Session, context.Context, *ast.ContinueStatement, tds.Writer) error { return errContinue })
	on(r, (*Session).tryCatch)
	on(r, (*Session).throw)
	on(r, (*Session).raiserror)
	on(r, (*Session).print)
	on(r, (*Session).returnStatement)
	on(r, (*Session).declareVariables)
	on(r, (*Session).setVariable)
	on(r, func(s *Session, ctx context.Context, n *ast.BeginTransactionStatement, w tds.Writer) error {
		if n.Distributed {
			return unsupported("BEGIN DISTRIBUTED TRANSACTION")
		}
		name, err := s.transactionName(n.Name)
		if err == nil {
			s.beginTransaction(name)
		}
		return err
	})
	on(r, func(s *Session, ctx context.Context, n *ast.CommitTransactionStatement, w tds.Writer) error {
		return s.commitTransaction(ctx)
	})
	on(r, func(s *Session, ctx context.Context, n *ast.RollbackTransactionStatement, w tds.Writer) error {
		if s.insertExec != nil {
			return sqlerr.New(3915, 0)
		}
		name, err := s.transactionName(n.Name)
		switch {
		case err != nil:
			return err
		case s.count == 0:
			return sqlerr.New(3903, 1)
		case name != "":
			return s.rollbackTo(ctx, name)
		}
		s.rollbackTransaction()
		return nil
	})
	on(r, func(s *Session, ctx context.Context, n *ast.SaveTransactionStatement, w tds.Writer) error {
		name, err := s.transactionName(n.Name)
		if err != nil {
			return err
		}
		return s.saveTransaction(ctx, name)
	})
	on(r, func(_ *Session, _ context.Context, n *ast.GoToStatement, _ tds.Writer) error {
		return &jump{label: n.LabelName.Value, line: syntax.Line(n)}
	})
	installCursors(r)
	installFileFunctions(r)
	on(r, func(*Session, context.Context, *ast.LabelStatement, tds.Writer) error { return nil })
	on(r, (*Session).waitFor)
	on(r, (*Session).use)
}

func listOf(l *ast.StatementList) []ast.Statement {
	if l == nil {
		return nil
	}
	return l.Statements
}

// maxTransactionName is the greatest length of the name of a transaction or savepoint that a statement has, in
// characters (docs/t-sql/language-elements/begin-transaction-transact-sql.md, transaction_name).
const maxTransactionName = 32

// transactionName is the name of a transaction or savepoint: a longer one is 103, a variable of a type that is no text
// 3914 (docs/t-sql/language-elements/begin-transaction-transact-sql.md, @tran_name_variable).
func (s *Session) transactionName(n *ast.IdentifierOrValueExpression) (string, error) {
	if n != nil && n.Identifier != nil && len([]rune(n.Identifier.Value)) > maxTransactionName {
		return "", sqlerr.New(103, 4, "identifier", n.Identifier.Value, maxTransactionName)
	}
	if n != nil && n.ValueExpression != nil {
		ref, _ := n.ValueExpression.(*ast.VariableReference)
		if ref != nil {
			if v := s.variable(ref.Name); v != nil && v.table == nil && !v.typ.Kind.IsCharacter() {
				return "", sqlerr.New(3914, 1, v.typ.Kind)
			}
		}
	}
	name, err := s.nameOrVariable(n)
	return sqltype.Cut(name, maxTransactionName), err // what a variable has too much is left away
}

func (s *Session) nameOrVariable(n *ast.IdentifierOrValueExpression) (string, error) {
	if n == nil {
		return "", nil
	}
	if n.Identifier != nil {
		return n.Identifier.Value, nil
	}
	if n.ValueExpression != nil {
		v, err := s.evaluate(s.context(), n.ValueExpression, sqltype.Sysname)
		if err != nil {
			return "", err
		}
		name, _ := v.(string)
		return name, nil
	}
	return n.Value, nil
}

func (s *Session) while(ctx context.Context, n *ast.WhileStatement, w tds.Writer) error {
	for {
		if ctx.Err() != nil {
			return ErrCancelled
		}
		yes, err := s.test(ctx, n.Predicate)
		if err != nil {
			return err
		}
		if err := s.doneUncounted(n, w); err != nil {
			return err
		}
		if !yes {
			return s.declareSkipped(ctx, w, n.Statement)
		}
		err = s.statement(ctx, n.Statement, w)
		if errors.Is(err, errBreak) {
			return s.declareSkipped(ctx, w, n.Statement)
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}
}

func (s *Session) returnStatement(ctx context.Context, n *ast.ReturnStatement, w tds.Writer) error {
	f := s.frame()
	switch {
	case f.returns != nil && n.Expression == nil, f.table && n.Expression != nil:
		return sqlerr.New(178, 1)
	case f.returns != nil:
		var err error
		if f.result, err = s.evaluate(ctx, n.Expression, *f.returns); err != nil {
			return err
		}
	case n.Expression != nil:
		if f.procedure == "" {
			return sqlerr.New(178, 1)
		}
		v, err := s.evaluate(ctx, n.Expression, sqltype.IntType)
		if err != nil {
			return err
		}
		status, _ := v.(int64)
		f.status = int32(status)
	}
	return errReturn
}

func (s *Session) waitFor(ctx context.Context, n *syntax.WaitFor, w tds.Writer) error {
	var d time.Duration
	text := n.Value
	if n.Variable != "" {
		v := s.variable(n.Variable)
		if v == nil {
			return sqlerr.New(137, 2, n.Variable)
		}
		converted, e := sqltype.Convert(v.value, v.typ, sqltype.Type{Kind: sqltype.VarChar, Length: 50}, 0, sqltype.Implicit)
		if e != nil {
			return e
		}
		text, _ = converted.(string)
	}
	t, e := sqltype.ParseTime(text, sqltype.VarCharMax, sqltype.DateTimeType, 0)
	if e != nil {
		return sqlerr.New(148, 1, text)
	}
	clock := time.Duration(
		t.Hour(),
	)*time.Hour + time.Duration(
		t.Minute(),
	)*time.Minute + time.Duration(
		t.Second(),
	)*time.Second + time.Duration(
		t.Nanosecond(),
	)
	if !n.Time {
		d = clock
	} else {
		now := time.Now().UTC()
		at := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC).Add(clock)
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		d = at.Sub(now)
	}
	defer s.status.waiting("WAITFOR", 0)()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ErrCancelled
	}
}

// use is USE database.
func (s *Session) use(ctx context.Context, n *ast.UseStatement, w tds.Writer) error {
	return s.changeDatabase(ctx, n.DatabaseName.Value, w)
}

func (s *Session) changeDatabase(ctx context.Context, name string, w tds.Writer) error {
	db := s.inst.Database(name)
	if db == nil {
		return sqlerr.New(911, 1, name)
	}
	if err := s.enter(ctx, db); err != nil {
		return err
	}
	old := s.db.Name()
	s.db = db
	s.claimSingleUser(db)
	return w.Database(db.Name(), old)
}
