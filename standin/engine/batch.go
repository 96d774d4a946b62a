// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
	"geosql.dev/standin/xmlmethod"
)

// Control flow travels as errors.
var (
	errBreak    = errors.New("BREAK")
	errContinue = errors.New("CONTINUE")
	errReturn   = errors.New("RETURN")
	// errAbort ends the batch; the client has been told why.
	errAbort = errors.New("the batch ended")
)

// maxNesting is the limit of nested modules (217).
const maxNesting = 32

// Batch serves tds.Session.
func (s *Session) Batch(ctx context.Context, text string, w tds.Writer) error {
	return s.serve(ctx, text, w, func(ctx context.Context) error {
		return s.runBatch(ctx, text, "", nil, w)
	})
}

// Execute serves tds.Session.
func (s *Session) Execute(ctx context.Context, text, decl string, params []tds.Param, w tds.Writer) error {
	return s.serve(ctx, text, w, func(ctx context.Context) error {
		return s.executeText(ctx, text, decl, params, w, true)
	})
}

// Call serves tds.Session.
func (s *Session) Call(ctx context.Context, call tds.Call, w tds.Writer) error {
	return s.serve(ctx, call.Name, w, func(ctx context.Context) error {
		return s.callProcedure(ctx, call, w)
	})
}

// serve brackets everything a client asks for: errors become messages, unfinished work is undone.
func (s *Session) serve(ctx context.Context, text string, w tds.Writer, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := s.statementContext
	s.statementContext = ctx
	s.status.begin(text, s.db)
	s.status.mu.Lock()
	s.cancel = cancel
	s.status.mu.Unlock()
	frames, try := len(s.frames), s.tryDepth
	if s.nest == 0 {
		s.refreshLogins(ctx)
	}
	err := f(ctx)
	s.frames, s.tryDepth = s.frames[:frames], try
	s.statementContext = before
	if s.tryDepth == 0 && s.nest == 0 {
		s.endRequest(w)
	}
	s.status.mu.Lock()
	s.cancel = nil
	s.status.mu.Unlock()
	s.status.end(s.db, s.count, s.began)
	s.inst.counters.batches.Add(1)
	if err := s.broken.err(); err != nil {
		return err
	}
	return s.requestError(err, w)
}

// endRequest rolls back what must not outlive a request.
func (s *Session) endRequest(w tds.Writer) {
	if s.doomed {
		s.rollbackTransaction()
		_ = w.Message(sqlerr.New(3998, 1))
	}
	if s.count == 0 && len(s.open) > 0 {
		s.rollbackAll()
	}
}

func (s *Session) requestError(err error, w tds.Writer) error {
	switch {
	case err == nil, errors.Is(err, errAbort), errors.Is(err, errReturn):
		return nil
	case errors.Is(err, errBreak):
		return w.Message(sqlerr.New(135, 1).At(s.line))
	case errors.Is(err, errContinue):
		return w.Message(sqlerr.New(136, 1).At(s.line))
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled):
		return nil
	}
	e := AsError(err)
	if err := w.Message(e); err != nil {
		return err
	}
	if e.Class >= 20 {
		return e
	}
	return w.Done(tds.Completion{Count: -1})
}

// runBatch parses and executes a batch. key tells apart equal texts with different parameters.
func (s *Session) runBatch(ctx context.Context, text, key string, variables map[string]*variable, w tds.Writer) error {
	return s.runFrame(ctx, text, key, &frame{variables: variables}, w)
}

// runDynamic is runBatch of EXECUTE ('text') and sp_executesql, which are scopes of their own to temporary tables, as a
// module is.
func (s *Session) runDynamic(
	ctx context.Context,
	text, key string,
	variables map[string]*variable,
	w tds.Writer,
) error {
	return s.runFrame(ctx, text, key, &frame{variables: variables, dynamic: true}, w)
}

func (s *Session) runFrame(ctx context.Context, text, key string, f *frame, w tds.Writer) error {
	m := s.startMeter()
	batch, perr := s.batches.parse(text, key, s.settings.options["QuotedIdentifier"])
	if perr == nil {
		perr = s.batches.undeclared(batch, f.variables, s.inst.registry.globals)
	}
	if perr != nil {
		return s.notExecuted([]*sqlerr.Error{perr}, w)
	}
	if f.variables == nil {
		f.variables = map[string]*variable{}
	}
	f.batch, f.depth = batch, s.nest
	if s.nest == 0 {
		// The batches of a client are one scope to SCOPE_IDENTITY.
		f.identity = s.outerIdentity
	}
	s.frames = append(s.frames, f)
	s.nest++
	if errs := s.compileBatch(ctx, batch); len(errs) > 0 {
		s.popFrame()
		return s.notExecuted(errs, w)
	}
	if err := s.tellCompileTime(m, w); err != nil {
		s.popFrame()
		return err
	}
	if s.settings.parseOnly &&
		!slices.ContainsFunc(
			batch.Statements,
			func(st syntax.Statement) bool { return turnsOff(st.Node, ast.SetOptionsParseOnly) },
		) {
		s.popFrame()
		return nil
	}
	err := landed(s.statements(ctx, nodesOf(batch), w))
	s.popFrame()
	if errors.Is(err, errReturn) {
		return nil
	}
	return err
}

// notExecuted tells the errors that keep a batch from being executed.
func (s *Session) notExecuted(errs []*sqlerr.Error, w tds.Writer) error {
	last := sqlerr.Together(errs)
	s.lastError = last.Number
	if s.tryDepth > 0 {
		return last
	}
	for _, e := range errs {
		if err := w.Message(e); err != nil {
			return err
		}
	}
	if err := w.Done(tds.Completion{Count: -1}); err != nil {
		return err
	}
	return errAbort
}

func (s *Session) popFrame() {
	f := s.frames[len(s.frames)-1]
	s.frames = s.frames[:len(s.frames)-1]
	s.nest--
	if s.nest == 0 {
		s.outerIdentity = f.identity
	}
	s.dropLocals(f)
}

// turnsOff tells whether a statement is SET ... OFF of an option.
func turnsOff(node ast.Statement, option ast.SetOptions) bool {
	p, ok := node.(*ast.PredicateSetStatement)
	return ok && !p.IsOn && strings.Contains(p.Options, string(option))
}

// run executes T-SQL for Go code: errors come back instead of going to a client.
func (s *Session) run(ctx context.Context, text string, params []any, w tds.Writer) error {
	outer := s.statementContext
	s.statementContext = ctx
	if len(s.frames) == 0 {
		s.status.begin(text, s.db)
		defer func() { s.status.end(s.db, s.count, s.began) }()
	}
	s.tryDepth++
	defer func() {
		s.tryDepth--
		s.statementContext = outer
		if len(s.frames) == 0 && s.count == 0 && len(s.open) > 0 {
			s.rollbackAll()
		}
	}()
	variables := map[string]*variable{}
	var key strings.Builder
	for i, p := range params {
		name := fmt.Sprintf("@p%d", i+1)
		t, v := goParameter(p)
		variables[name] = &variable{name: name, typ: t, value: v}
		fmt.Fprintf(&key, "%d,", sqltype.Pack(t))
	}
	err := s.runBatch(ctx, text, "go:"+key.String(), variables, w)
	if err := s.broken.err(); err != nil {
		return err
	}
	if errors.Is(err, errAbort) {
		return sqlerr.New(3621, 0)
	}
	return err
}

// goParameter is the type and value of a parameter given by Go code. Lengths are not told apart, so that one plan
// serves them all.
func goParameter(v any) (sqltype.Type, any) {
	v = normalise(v)
	switch x := v.(type) {
	case nil:
		return sqltype.NVarCharMax, nil
	case string:
		return sqltype.NVarCharMax, x
	case []byte:
		if x == nil {
			return sqltype.VarBinaryMax, nil
		}
		return sqltype.VarBinaryMax, x
	case int64:
		return sqltype.BigIntType, x
	case bool:
		return sqltype.BitType, x
	case time.Time:
		return sqltype.DateTime2Type, x.UTC()
	case fmt.Stringer:
		t := sqltype.TypeOf(v)
		if t.Kind == sqltype.NVarChar {
			return sqltype.NVarCharMax, x.String()
		}
		return t, v
	}
	return sqltype.TypeOf(v), v
}

// executeText is sp_executesql: output parameters are returned to the client when rpc is set, else written back.
func (s *Session) executeText(
	ctx context.Context,
	text, decl string,
	params []tds.Param,
	w tds.Writer,
	rpc bool,
) error {
	declared, perr := s.batches.parameters(decl)
	if perr != nil {
		return perr
	}
	values := make([]variable, len(declared))
	variables := make(map[string]*variable, len(declared))
	for i := range declared {
		values[i] = variable{name: declared[i].Name, typ: s.inCodePage(declared[i].Type)}
		variables[declared[i].key] = &values[i]
	}
	given := make([]bool, len(declared))
	for i := range params {
		p := &params[i]
		if p.Name == "" {
			if i >= len(declared) {
				return sqlerr.New(8144, 2, "")
			}
			p.Name = declared[i].Name
		}
		at := placeOf(declared, p.Name, i)
		if at < 0 {
			return sqlerr.New(8145, 1, p.Name, "sp_executesql")
		}
		if p.Output && !rpc && !declared[at].Output {
			return sqlerr.New(8162, 2, p.Name)
		}
		if declared[at].TypeName != "" {
			given[at] = true
			continue
		}
		value, e := s.Convert(p.Value, p.Type, values[at].typ, sqltype.Implicit)
		if e != nil {
			return e
		}
		values[at].value, given[at] = value, true
	}
	for i := range declared {
		if !given[i] {
			return sqlerr.New(8178, 1, "("+decl+")"+text, declared[i].Name)
		}
	}
	done, err := s.userTyped(ctx, declared, params, variables)
	if err != nil {
		return err
	}
	defer done()
	restore := s.optionScope()
	err = s.runDynamic(ctx, text, decl, variables, w)
	restore()
	if err != nil && !errors.Is(err, errAbort) {
		return err
	}
	for i := range params {
		if !params[i].Output {
			continue
		}
		v := variables[lower(params[i].Name)]
		params[i].Value = v.value
		if rpc {
			if e := w.ReturnValue(params[i].Name, v.typ, v.value); e != nil {
				return e
			}
		}
	}
	return err
}

// placeOf is where a parameter is declared, -1 for nowhere; clients give them in the order of their declaration.
func placeOf(declared []declaredParameter, name string, likely int) int {
	if likely < len(declared) && declared[likely].Name == name {
		return likely
	}
	key := lower(name)
	return slices.IndexFunc(declared, func(d declaredParameter) bool { return d.key == key })
}

// Reset serves tds.Session: the session is as after login.
func (s *Session) Reset(ctx context.Context, keepTransaction bool) error {
	if !keepTransaction && s.count > 0 {
		s.rollbackTransaction()
	}
	s.rollbackIfIdle()
	for _, h := range s.inst.registry.sessionHooks {
		h(s)
	}
	isolation := s.settings.isolation
	s.settings = defaultSettings()
	s.speakFirst()
	s.settings.isolation = isolation
	s.sessionKeys = map[string]sessionValue{}
	s.preparedStatements().Clear()
	s.login, s.user = s.original, nil
	s.releaseSessionLocks()
	s.cursors, s.cursorRows, s.fetchStatus = nil, 0, 0
	s.xml = xmlmethod.Kept{}
	s.rowCount, s.lastError, s.lastIdentity, s.outerIdentity, s.errors = 0, 0, nil, nil, nil
	if !keepTransaction {
		s.closeLocal()
	}
	name := s.request.Database
	if name == "" {
		name = s.original.DefaultDatabase
	}
	if db := s.inst.Database(name); db != nil && db.Available() == nil {
		s.db = db
	}
	return nil
}

func (s *Session) rollbackIfIdle() {
	if s.count == 0 {
		s.rollbackAll()
	}
}

// Close ends the session; an open transaction is rolled back.
func (s *Session) Close() error {
	s.inst.mu.Lock()
	if s.inst.sessions[s.spid] != s {
		s.inst.mu.Unlock()
		return nil
	}
	delete(s.inst.sessions, s.spid)
	s.inst.mu.Unlock()
	if s.count > 0 {
		s.rollbackTransaction()
	}
	s.rollbackAll()
	for _, h := range s.inst.registry.sessionHooks {
		h(s)
	}
	s.releaseSessionLocks()
	s.releaseSingleUser()
	s.closeLocal()
	return nil
}
