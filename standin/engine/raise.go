// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
)

func (s *Session) tryCatch(ctx context.Context, n *ast.TryCatchStatement, w tds.Writer) error {
	frames, nest := len(s.frames), s.nest
	s.tryDepth++
	err := s.statements(ctx, listOf(n.TryStatements), w)
	s.tryDepth--
	if err == nil || isControl(err) || s.broken.err() != nil {
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
	s.errors = append(s.errors, e)
	err = s.statements(ctx, listOf(n.CatchStatements), w)
	s.errors = s.errors[:len(s.errors)-1]
	return err
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
	b := newBinder(ctx, s, tempSpace)
	var bound expr
	if e := bindSafely(func() { bound = b.scalar(nil, first) }); e != nil {
		return nil, e
	}
	if !bound.typ.Kind.IsNumeric() {
		v, err := s.evaluate(ctx, first, sqltype.NVarCharMax)
		text, _ := v.(string)
		return &userMessage{number: 50000, text: text}, err
	}
	v, err := s.evaluate(ctx, first, sqltype.IntType)
	if err != nil {
		return nil, err
	}
	n, _ := v.(int64)
	if n < 13000 {
		return nil, sqlerr.New(2732, 1, n)
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
	args := make([]any, len(n.OptionalParameters))
	for i, p := range n.OptionalParameters {
		if args[i], err = s.evaluateAny(ctx, p); err != nil {
			return err
		}
	}
	text, e := formatMessage(m.text, args)
	if e != nil {
		return e
	}
	if severity < 0 {
		severity = m.severity // docs/t-sql/language-elements/raiserror-transact-sql.md, severity
	}
	if severity > 18 && !s.login.Sysadmin {
		return sqlerr.New(2754, 1)
	}
	if state < 0 || state > 255 {
		state = 1
	}
	out := &sqlerr.Error{Number: number, Class: uint8(min(severity, 25)), State: uint8(state), Message: text, Line: syntax.Line(n)}
	if severity <= 10 {
		s.lastError = 0
		if number != 50000 {
			s.lastError = number
		}
		if f := s.frame(); f != nil {
			out.Procedure = f.procedure
		}
		return w.Message(out)
	}
	if strings.Contains(strings.ToUpper(n.RaiseErrorOptions), "LOG") {
		s.inst.log.Error("RAISERROR WITH LOG", "number", number, "severity", severity, "state", state, "message", text)
	}
	return out
}

// wholeArgument is a constant beyond int's range, which %I64d takes.
func wholeArgument(d decimal.Decimal, flags string) (int64, bool) {
	n, err := strconv.ParseInt(d.String(), 10, 64)
	return n, err == nil && strings.Contains(flags, "I64")
}

// formatMessage fills in RAISERROR's arguments (docs/t-sql/language-elements/raiserror-transact-sql.md).
func formatMessage(text string, args []any) (string, *sqlerr.Error) {
	var out strings.Builder
	next := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '%' {
			out.WriteByte('%')
			i++
			continue
		}
		end := i + 1
		for end < len(text) && strings.IndexByte("-+ 0#123456789.*hlI64", text[end]) >= 0 {
			end++
		}
		if end >= len(text) || strings.IndexByte("diosuxX", text[end]) < 0 {
			return "", sqlerr.New(2787, 1, text[i:min(len(text), end+1)])
		}
		flags := strings.NewReplacer("h", "", "l", "", "I64", "").Replace(text[i+1 : end])
		for strings.Contains(flags, "*") {
			width := any(int64(0))
			if next < len(args) {
				width = args[next]
			}
			next++
			flags = strings.Replace(flags, "*", fmt.Sprint(width), 1)
		}
		var v any
		if next < len(args) {
			v = args[next]
		}
		next++
		verb, value, err := messageArgument(text[end], v, text[i+1:end], next)
		switch {
		case err != nil:
			return "", err
		case v == nil:
			flags = ""
		}
		fmt.Fprintf(&out, "%"+flags+string(verb), value)
		i = end
	}
	return sqltype.Cut(out.String(), 2047), nil
}

// messageArgument is an argument, of that number, for a conversion with its flags: as Go has both.
func messageArgument(verb byte, v any, flags string, number int) (byte, any, *sqlerr.Error) {
	if verb == 'i' || verb == 'u' {
		verb = 'd'
	}
	switch x := v.(type) {
	case nil:
		return 's', "(null)", nil
	case bool:
		return verb, map[bool]int{true: 1}[x], nil
	case int64:
		if verb == 's' {
			return 0, nil, sqlerr.New(2786, 1, number)
		}
		return verb, x, nil
	case string:
		if verb != 's' {
			return 0, nil, sqlerr.New(2786, 1, number)
		}
		return verb, x, nil
	case decimal.Decimal:
		whole, ok := wholeArgument(x, flags)
		if !ok {
			return 0, nil, sqlerr.New(2748, 1, sqltype.TypeOf(v).Kind, number)
		}
		return verb, whole, nil
	}
	return 0, nil, sqlerr.New(2748, 1, sqltype.TypeOf(v).Kind, number)
}

func (s *Session) print(ctx context.Context, n *ast.PrintStatement, w tds.Writer) error {
	v, err := s.evaluate(ctx, n.Expression, sqltype.NVarCharMax)
	if err != nil {
		return err
	}
	text, _ := v.(string)
	e := &sqlerr.Error{Number: 0, Class: 0, State: 1, Message: text, Line: syntax.Line(n)}
	if f := s.frame(); f != nil {
		e.Procedure = f.procedure
	}
	return w.Message(e)
}
