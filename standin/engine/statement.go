// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// statements executes a list of statements; the error is control flow, or what a TRY block outside has to catch.
func (s *Session) statements(ctx context.Context, list []ast.Statement, w tds.Writer) error {
	for i := 0; i < len(list); i++ {
		err := s.statement(ctx, list[i], w)
		if err == nil {
			continue
		}
		to := target(err, list)
		if to < 0 {
			return err
		}
		if to > i {
			if err := s.declareSkipped(ctx, w, list[i:to]...); err != nil {
				return err
			}
		}
		i = to
	}
	return nil
}

// statement executes one statement and deals with its error.
func (s *Session) statement(ctx context.Context, node ast.Statement, w tds.Writer) error {
	if node == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ErrCancelled
	}
	s.line = syntax.Line(node)
	if s.settings.noExec && !s.internal && !turnsOff(node, ast.SetOptionsNoExec) {
		return s.declareSkipped(
			ctx,
			w,
			node,
		) // it was compiled with its batch (docs/t-sql/statements/set-noexec-transact-sql.md)
	}
	if f := s.frame(); f != nil {
		f.node = node
	}
	s.clockAt = time.Now()
	mark := len(s.foreignConns)
	s.notices = nil
	m := s.startMeter()
	err := s.dispatch(ctx, node, w)
	s.releaseForeign(mark)
	for _, notice := range s.notices {
		if err == nil {
			err = w.Message(notice.At(s.line))
		}
	}
	s.notices = nil
	if n := s.leniency; n != 0 {
		s.leniency = 0
		if told := w.Message(sqlerr.New(n, 0).At(s.line)); err == nil {
			err = told
		}
	}
	if err == nil {
		if !keepsError(node) {
			s.lastError = 0
		}
		if resetsRowCount(node) {
			s.rowCount = 0
		}
		if tellsItsEnd(node) {
			err = s.doneUncounted(node, w)
		}
		if err == nil {
			err = s.tellTimes(m, node, w)
		}
		return err
	}
	if isControl(err) || s.broken.err() != nil {
		return err
	}
	return s.failed(ctx, node, err, w)
}

// resetsRowCount are the statements after which @@ROWCOUNT is 0 (docs/t-sql/functions/rowcount-transact-sql.md,
// Remarks).
func resetsRowCount(node ast.Statement) bool {
	switch node.(type) {
	case *ast.UseStatement, *ast.PredicateSetStatement, *ast.SetCommandStatement, *ast.SetRowCountStatement,
		*ast.SetTransactionIsolationLevelStatement, *ast.SetTextSizeStatement,
		*ast.SetIdentityInsertStatement, *ast.SetStatisticsStatement, *ast.DeallocateCursorStatement,
		*ast.CloseCursorStatement, *ast.PrintStatement, *ast.RaiseErrorStatement,
		*ast.BeginTransactionStatement, *ast.CommitTransactionStatement:
		return true
	}
	return false
}

// tellsItsEnd are statements without rows whose end clients are told, so that a message or a step of a cursor is a
// result of its own ([MS-TDS] 2.2.7.6). An ODBC driver takes what has no end for a part of the next result: 5701 would
// be the first record of its error.
func tellsItsEnd(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.UseStatement, *ast.PrintStatement, *ast.RaiseErrorStatement, *ast.DeclareCursorStatement,
		*ast.OpenCursorStatement, *ast.CloseCursorStatement, *ast.DeallocateCursorStatement:
		return true
	case *ast.FetchCursorStatement:
		return len(n.IntoVariables) > 0
	case *ast.SetCommandStatement:
		return slices.ContainsFunc(n.Commands, setsLanguage)
	}
	return endsByNumber(node)
}

// doneUncounted ends a statement that counts no rows; NOCOUNT keeps that back within procedures
// (docs/t-sql/statements/set-nocount-transact-sql.md).
func (s *Session) doneUncounted(node ast.Statement, w tds.Writer) error {
	if f := s.frame(); s.settings.noCount && f != nil && f.procedure != "" {
		return nil
	}
	return w.Done(s.ended(node))
}

func isControl(err error) bool {
	return errors.Is(err, errBreak) || errors.Is(err, errContinue) || errors.Is(err, errReturn) ||
		errors.Is(err, errAbort) ||
		errors.As(err, new(*jump)) ||
		errors.Is(err, ErrCancelled)
}

// keepsError are statements whose parts set @@ERROR themselves.
func keepsError(node ast.Statement) bool {
	switch node.(type) {
	case *ast.BeginEndBlockStatement, *ast.IfStatement, *ast.WhileStatement, *ast.TryCatchStatement,
		*ast.RaiseErrorStatement, *ast.ExecuteStatement:
		return true
	}
	return false
}

// failed deals with a statement's error: a TRY block gets it; otherwise the client does, and the batch goes on or ends.
func (s *Session) failed(ctx context.Context, node ast.Statement, err error, w tds.Writer) error {
	if ctx.Err() != nil && !errors.As(err, new(*sqlerr.Error)) {
		return ErrCancelled
	}
	e := *AsError(err)
	if e.Line == 0 && !(e.Procedure != "" && aboutArguments(e.Number)) {
		_ = e.At(syntax.Line(node))
	}
	if f := s.frame(); f != nil && e.Procedure == "" {
		e.Procedure = f.procedure
	}
	s.lastError = e.Number
	s.rowCount = 0
	aborts := s.aborts(&e)
	thrown := isThrow(node)
	if s.tryDepth > 0 && e.Class > 10 && e.Class < 20 {
		if s.count > 0 && (aborts || s.settings.xactAbort && !isRaiserror(node)) {
			s.doomed = true
		}
		if then := consequence(node, &e); then != nil {
			s.lastError, then.Line, then.Procedure, then.Class = then.Number, e.Line, e.Procedure, 16
			s.cameUp(node, AsError(err), then)
			return then
		}
		s.cameUp(node, AsError(err), &e)
		return &e
	}
	for _, earlier := range e.Before {
		told := *earlier
		if told.Procedure = e.Procedure; told.Line == 0 {
			_ = told.At(syntax.Line(node))
		}
		if err := w.Message(&told); err != nil {
			return err
		}
	}
	if e.Class > 10 {
		s.status.failed(e.Number)
	}
	if err := w.Message(&e); err != nil {
		return err
	}
	if e.Class >= 20 {
		s.Broken(&e)
		return errAbort
	}
	if terminatesWithNotice(e.Number) && changesRows(node) {
		if err := w.Message(sqlerr.New(3621, 0).At(e.Line)); err != nil {
			return err
		}
	}
	if then := consequence(node, &e); then != nil {
		s.lastError = then.Number
		// Some of them are listed with severity 10, and are errors all the same.
		then.Class, then.Line, then.Procedure = 16, e.Line, e.Procedure
		if err := w.Message(then); err != nil {
			return err
		}
	}
	if err := w.Done(s.ended(node)); err != nil {
		return err
	}
	if aborts || (s.settings.xactAbort && !isRaiserror(node)) {
		if s.count > 0 {
			s.rollbackTransaction()
		}
		return errAbort
	}
	if thrown || endsBatch(e.Number) || ofCompilation(&e) || s.doomed {
		return errAbort
	}
	return nil
}

// aboutArguments are errors of a call that are reported as the called module's, at line 0.
func aboutArguments(n int32) bool {
	switch n {
	case 201, 8144, 8145, 8146, 8162, 8114:
		return true
	}
	return false
}

func isThrow(node ast.Statement) bool { _, ok := node.(*ast.ThrowStatement); return ok }

func isRaiserror(node ast.Statement) bool { _, ok := node.(*ast.RaiseErrorStatement); return ok }

// changesRows tells whether a statement changes rows: only of those is it said that they were terminated.
func changesRows(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.MergeStatement, *syntax.Merge:
		return true
	case *ast.SelectStatement:
		return n.Into != nil
	}
	return false
}

// terminatesWithNotice are the errors after which "The statement has been terminated." follows.
func terminatesWithNotice(n int32) bool {
	switch n {
	case 2627, 2601, 547, 515, 8152, 2628, 8115, 8134, 220, 544, 1205, 512:
		return true
	}
	return false
}

// aborts tells whether an error ends the batch and rolls the transaction back whatever XACT_ABORT says: most conversion
// errors, and a deadlock.
func (s *Session) aborts(e *sqlerr.Error) bool {
	switch e.Number {
	case 241, 242, 244, 245, 248, 295, 8169, 1205, 235, 293, 3609, 8114, 217, 565:
		return true
	}
	return false
}

// endsBatch tells whether an error ends the batch but leaves the transaction.
func endsBatch(n int32) bool {
	switch n {
	case 208, 2812, 207, 4104, 4413, 209, 911, 137, 8144, 8145, 201, 3930, 40517, 229, 262, 916:
		return n != 2812 && n != 201 && n != 8144 && n != 8145
	}
	return false
}

// dispatch finds who executes a statement. A defect that shows as a panic fails the statement, not the connection.
func (s *Session) dispatch(ctx context.Context, node ast.Statement, w tds.Writer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.inst.log.Error(
				"panic in a statement",
				"statement",
				describe(node),
				"panic",
				fmt.Sprint(r),
				"stack",
				string(debug.Stack()),
			)
			err = internalError(fmt.Errorf("executing %s: %v", describe(node), r))
		}
	}()
	run := s.inst.registry.statements[reflect.TypeOf(node)]
	if run == nil {
		return unsupported("The statement " + describe(node))
	}
	if s.settings.implicitTransactions && s.count == 0 && startsTransaction(node) {
		s.beginTransaction("")
	}
	var st syntax.Statement
	if f := s.frame(); f != nil && f.batch != nil {
		st = syntax.Statement{Node: node, Line: syntax.Line(node)}
		if needsText(node) {
			st = f.batch.Statement(node)
		}
	} else {
		st = syntax.Statement{Node: node, Line: syntax.Line(node)}
	}
	return s.withEvents(ctx, node, st, func() error { return run(ctx, s, st, w) }, w)
}

// needsText are statements whose text is kept (modules) or shown.
func needsText(node ast.Statement) bool {
	t := fmt.Sprintf("%T", node)
	return syntax.IsOwn(node) || strings.Contains(t, "View") || strings.Contains(t, "Procedure") ||
		strings.Contains(t, "Function") ||
		strings.Contains(t, "Trigger")
}

// startsTransaction are the statements that begin a transaction when IMPLICIT_TRANSACTIONS is on
// (docs/t-sql/statements/set-implicit-transactions-transact-sql.md).
func startsTransaction(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.SelectStatement:
		q, ok := n.QueryExpression.(*ast.QuerySpecification)
		return !ok || q.FromClause != nil
	case *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.MergeStatement,
		*ast.TruncateTableStatement,
		*ast.CreateTableStatement, *ast.DropTableStatement, *ast.CreateIndexStatement, *ast.BeginTransactionStatement:
		return true
	}
	t := fmt.Sprintf("%T", node)
	return strings.HasPrefix(t, "*ast.Alter") || strings.HasPrefix(t, "*ast.Create") || strings.HasPrefix(t, "*ast.Drop")
}

// installStatements registers the engine's own statements.
func installStatements(r *Registry) {
	installControl(r)
	installDML(r)
	installDDL(r)
	installServerStatements(r)
}

// on registers a func with its node already typed.
func on[T ast.Statement](r *Registry, run func(s *Session, ctx context.Context, n T, w tds.Writer) error) {
	var zero T
	r.Statement(zero, func(ctx context.Context, s *Session, st syntax.Statement, w tds.Writer) error {
		return run(s, ctx, st.Node.(T), w)
	})
}
