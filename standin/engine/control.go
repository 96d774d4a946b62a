// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/syntax"
	"geosql.dev/operator/standin/tds"
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
		if yes {
			return s.statement(ctx, n.ThenStatement, w)
		}
		return s.statement(ctx, n.ElseStatement, w)
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
		name, err := s.nameOrVariable(n.Name)
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
		name, err := s.nameOrVariable(n.Name)
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
		name, err := s.nameOrVariable(n.Name)
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
			return errCancelled
		}
		yes, err := s.test(ctx, n.Predicate)
		if err != nil {
			return err
		}
		if err := s.doneUncounted(w); err != nil || !yes {
			return err
		}
		err = s.statement(ctx, n.Statement, w)
		if errors.Is(err, errBreak) {
			return nil
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}
}

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
		var values []any
		for strings.Contains(flags, "*") {
			width := any(int64(0))
			if next < len(args) {
				width = args[next]
			}
			next++
			flags = strings.Replace(flags, "*", fmt.Sprint(width), 1)
		}
		verb := text[end]
		if verb == 'i' || verb == 'u' {
			verb = 'd'
		}
		var v any
		if next < len(args) {
			v = args[next]
		}
		next++
		switch x := v.(type) {
		case nil:
			values, verb, flags = []any{"(null)"}, 's', ""
		case bool:
			values = []any{map[bool]int{true: 1}[x]}
		case int64:
			if verb == 's' {
				return "", sqlerr.New(2786, 1, next)
			}
			values = []any{x}
		case string:
			if verb != 's' {
				return "", sqlerr.New(2786, 1, next)
			}
			values = []any{x}
		case decimal.Decimal:
			whole, ok := wholeArgument(x, text[i+1:end])
			if !ok {
				return "", sqlerr.New(2748, 1, sqltype.TypeOf(v).Kind, next)
			}
			values = []any{whole}
		default:
			return "", sqlerr.New(2748, 1, sqltype.TypeOf(v).Kind, next)
		}
		fmt.Fprintf(&out, "%"+flags+string(verb), values...)
		i = end
	}
	return sqltype.Cut(out.String(), 2047), nil
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

// declaredType is a variable's type. The parser forgets the name of one that it does not know itself (sysname, types of
// the user's); it is read from the text then.
func (s *Session) declaredType(node *ast.SqlDataTypeReference) (sqltype.Type, *sqlerr.Error) {
	f := s.frame()
	if node == nil || node.SqlDataTypeOption != "" || node.Name != nil || f == nil || f.batch == nil {
		return dataTypeOf(node, false)
	}
	text := f.batch.TextOf(node)
	t, err := syntax.ParseType(text)
	if err == nil {
		return t, nil
	}
	if alias := s.aliasType(s.context(), splitName(text)); alias != nil {
		return *alias, nil
	}
	return t, sqlerr.New(2715, 6, 0, text)
}

// declaredName is the name of a variable's type.
func (s *Session) declaredName(node *ast.SqlDataTypeReference) string {
	if node.SqlDataTypeOption != "" {
		return node.SqlDataTypeOption
	}
	return s.typeNameIn(node).name
}

func (s *Session) declareVariables(ctx context.Context, n *ast.DeclareVariableStatement, w tds.Writer) error {
	for _, d := range n.Declarations {
		name := d.VariableName.Value
		if !strings.HasPrefix(name, "@") {
			name = "@" + name
		}
		if done, err := s.declareTyped(ctx, name, d); done || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if d.DataType != nil && strings.EqualFold(s.declaredName(d.DataType), "cursor") {
			if s.variable(name) == nil {
				s.declare(name, sqltype.IntType, nil).isCursor = true
			}
			continue
		}
		t, e := s.declaredType(d.DataType)
		if e != nil {
			alias := (*sqltype.Type)(nil)
			if d.DataType != nil && d.DataType.Name != nil {
				alias = s.aliasType(ctx, nameOf(d.DataType.Name))
			}
			if alias == nil {
				return e
			}
			t = *alias
		}
		v := s.variable(name)
		if v == nil {
			v = s.declare(name, t, nil)
		}
		// A declaration in a loop is the same variable; only its initial value is set again.
		v.typ = t
		if d.Value != nil {
			value, err := s.evaluate(ctx, d.Value, t)
			if err != nil {
				return err
			}
			v.value = value
		}
	}
	return nil
}

func (s *Session) setVariable(ctx context.Context, n *ast.SetVariableStatement, w tds.Writer) error {
	if v := s.variable(n.Variable.Name); v != nil && v.isCursor {
		return s.setCursor(v, n)
	}
	if n.FunctionCallExists {
		return s.modifyVariable(ctx, n)
	}
	if n.CursorDefinition != nil || n.SeparatorType != "" && n.Identifier != nil {
		return unsupported("SET of a cursor variable or a method")
	}
	v := s.variable(n.Variable.Name)
	if v == nil {
		return sqlerr.New(137, 1, n.Variable.Name)
	}
	var node ast.ScalarExpression = n.Expression
	if op := compoundOperator(n.AssignmentKind); op != "" {
		node = &ast.BinaryExpression{BinaryExpressionType: op, FirstExpression: n.Variable, SecondExpression: n.Expression}
	}
	value, err := s.evaluateKeyed(ctx, n, node, v.typ)
	if err != nil {
		return err
	}
	v.value = value
	return nil
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
	clock := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
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
		return errCancelled
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
