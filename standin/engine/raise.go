// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

func (s *Session) tryCatch(ctx context.Context, n *ast.TryCatchStatement, w tds.Writer) error {
	frames, nest := len(s.frames), s.nest
	s.tryDepth++
	err := s.statements(ctx, listOf(n.TryStatements), w)
	s.tryDepth--
	if err == nil {
		return s.declareSkipped(ctx, w, listOf(n.CatchStatements)...)
	}
	if isControl(err) || s.broken.err() != nil {
		return err
	}
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	for len(s.frames) > frames {
		s.popFrame()
	}
	s.nest = nest
	if (bind.Unresolved(e) || ofCompilation(e)) && s.trouble.err == e && s.trouble.at == frames {
		return err // of this level: who called it may catch it
	}
	// A declaration that is itself the error fails again here: its variable is not there in the CATCH block either.
	_ = s.declareSkipped(ctx, w, listOf(n.TryStatements)...)
	s.errors = append(s.errors, e)
	err = s.statements(ctx, listOf(n.CatchStatements), w)
	s.errors = s.errors[:len(s.errors)-1]
	return err
}

// cameUp notes where an error came up that goes to a TRY block as told: what a statement hands on is not new there, and
// what a call or THROW brings was another level's.
func (s *Session) cameUp(node ast.Statement, from, told *sqlerr.Error) {
	if from != s.trouble.err {
		s.trouble.at = len(s.frames)
		switch node.(type) {
		case *ast.ExecuteStatement, *ast.ThrowStatement:
			s.trouble.at++
		}
	}
	s.trouble.err = told
}

// caught is the error that the innermost running CATCH block has caught.
func (s *Session) caught() *sqlerr.Error {
	if len(s.errors) == 0 {
		return nil
	}
	return s.errors[len(s.errors)-1]
}

func (s *Session) throw(ctx context.Context, n *ast.ThrowStatement, w tds.Writer) error {
	if n.ErrorNumber == nil {
		e := s.caught()
		if e == nil {
			return sqlerr.New(10704, 1)
		}
		copied := *e
		return &copied
	}
	number, err := s.evaluate(ctx, n.ErrorNumber, sqltype.IntType)
	if err != nil {
		return err
	}
	message, err := s.evaluate(ctx, n.Message, sqltype.NVarCharOf(2048))
	if err != nil {
		return err
	}
	state, err := s.evaluate(ctx, n.State, sqltype.IntType)
	if err != nil {
		return err
	}
	num, _ := number.(int64)
	if num < 50000 {
		return sqlerr.New(35100, 10, num)
	}
	st, _ := state.(int64)
	text, _ := message.(string)
	return &sqlerr.Error{Number: int32(num), Class: 16, State: uint8(st), Message: strings.ReplaceAll(text, "%%", "%")}
}

// raised is the message that RAISERROR names: its text, or the number of one in sys.messages.
func (s *Session) raised(ctx context.Context, first ast.ScalarExpression) (*userMessage, error) {
	b := newBinder(ctx, s, bind.TempSpace)
	var bound bind.Expr
	if e := bind.Safely(func() { bound = b.Scalar(nil, first) }); e != nil {
		return nil, e
	}
	if !bound.Type.Kind.IsNumeric() {
		v, err := s.evaluate(ctx, first, sqltype.NVarCharMax)
		text, _ := v.(string)
		return &userMessage{number: 50000, text: text}, err
	}
	v, err := s.evaluate(ctx, first, sqltype.IntType)
	if err != nil {
		return nil, err
	}
	n, _ := v.(int64)
	if n < minMessageID {
		return nil, sqlerr.New(2732, 1, n, minMessageID, math.MaxInt32)
	}
	m, err := s.message(n)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, sqlerr.New(18054, 1, n)
	}
	return m, nil
}

// maxUnloggedSeverity is the highest severity without the option LOG, minMessageID the least number of a message that
// can be raised (docs/t-sql/language-elements/raiserror-transact-sql.md, Arguments).
const (
	maxUnloggedSeverity = 18
	minMessageID        = 13000
	maxSubstitutions    = 20
)

func (s *Session) raiserror(ctx context.Context, n *ast.RaiseErrorStatement, w tds.Writer) error {
	m, err := s.raised(ctx, n.FirstParameter)
	if err != nil {
		return err
	}
	number := int32(m.number)
	severity, err := s.evaluateInt(ctx, n.SecondParameter)
	if err != nil {
		return err
	}
	state, err := s.evaluateInt(ctx, n.ThirdParameter)
	if err != nil {
		return err
	}
	if len(n.OptionalParameters) > maxSubstitutions {
		return sqlerr.New(2747, 1, maxSubstitutions)
	}
	args := make([]any, len(n.OptionalParameters))
	for i, p := range n.OptionalParameters {
		if args[i], err = s.evaluateAny(ctx, p); err != nil {
			return err
		}
	}
	text, e := builtin.FormatMessage(m.text, args)
	if e != nil {
		return e
	}
	if severity < 0 {
		severity = m.severity // docs/t-sql/language-elements/raiserror-transact-sql.md, severity
	}
	logged := strings.Contains(strings.ToUpper(n.RaiseErrorOptions), "LOG")
	if severity > maxUnloggedSeverity && (!s.login.Sysadmin || !logged) {
		return sqlerr.New(2754, 1, maxUnloggedSeverity)
	}
	if state < 0 || state > 255 {
		state = 1
	}
	out := &sqlerr.Error{
		Number:  number,
		Class:   uint8(min(severity, 25)),
		State:   uint8(state),
		Message: text,
		Line:    syntax.Line(n),
	}
	if severity <= 10 {
		s.lastError = 0
		if number != 50000 || strings.Contains(strings.ToUpper(n.RaiseErrorOptions), "SETERROR") {
			s.lastError = number
		}
		if f := s.frame(); f != nil {
			out.Procedure = f.procedure
		}
		if err := w.Message(out); err != nil {
			return err
		}
		if f, ok := w.(interface{ Flush() error }); ok && strings.Contains(strings.ToUpper(n.RaiseErrorOptions), "NOWAIT") {
			return f.Flush()
		}
		return nil
	}
	if logged {
		s.inst.log.Error("RAISERROR WITH LOG", "number", number, "severity", severity, "state", state, "message", text)
	}
	return out
}

// longestPrint is how many characters PRINT sends, half of them of Unicode
// (docs/t-sql/language-elements/print-transact-sql.md, Remarks).
const longestPrint = 8000

func (s *Session) print(ctx context.Context, n *ast.PrintStatement, w tds.Writer) error {
	if bind.HasSubquery(n.Expression) {
		return sqlerr.New(1046, 1)
	}
	v, typ, err := s.EvaluateTyped(ctx, n.Expression)
	if err != nil {
		return err
	}
	longest := longestPrint
	if typ.Kind.IsUnicode() {
		longest /= 2
	}
	v, e := s.Convert(v, typ, sqltype.NVarCharMax, sqltype.Implicit)
	if e != nil {
		return e
	}
	text, _ := v.(string)
	m := &sqlerr.Error{Number: 0, Class: 0, State: 1, Message: sqltype.Cut(text, longest), Line: syntax.Line(n)}
	if f := s.frame(); f != nil {
		m.Procedure = f.procedure
	}
	return w.Message(m)
}

// SendBefore sends the errors that come before the one that fails the running statement. In a TRY block nobody gets
// them (docs/t-sql/language-elements/try-catch-transact-sql.md, Remarks: a CATCH block has one error).
func (s *Session) SendBefore(w tds.Writer, errs []*sqlerr.Error) error {
	for _, one := range errs {
		if s.tryDepth > 0 {
			break
		}
		m := *one
		if m.Line == 0 {
			m.Line = s.line
		}
		if err := w.Message(&m); err != nil {
			return err
		}
	}
	return nil
}
