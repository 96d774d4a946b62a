// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// executeStatement is EXEC.
func (s *Session) executeStatement(ctx context.Context, n *ast.ExecuteStatement, w tds.Writer) error {
	return s.executeSpecification(ctx, n.ExecuteSpecification, w)
}

func (s *Session) executeSpecification(ctx context.Context, spec *ast.ExecuteSpecification, w tds.Writer) error {
	switch e := spec.ExecutableEntity.(type) {
	case *ast.ExecutableStringList:
		return s.executeStrings(ctx, spec, e, w)
	case *ast.ExecutableProcedureReference:
		name, err := s.procedureName(ctx, e.ProcedureReference)
		if err != nil {
			return err
		}
		args, err := s.arguments(ctx, e.Parameters)
		if err != nil {
			return err
		}
		result, err := s.execute(ctx, name, args, w)
		if err == nil && spec.Variable != nil && spec.Variable.Name != syntax.UnwantedStatus {
			v := s.variable(spec.Variable.Name)
			if v == nil || v.table != nil {
				return sqlerr.New(137, 1, spec.Variable.Name)
			}
			out, e := s.Convert(result.value, result.typ, v.typ, sqltype.Implicit)
			if e != nil {
				return e
			}
			v.value = out
		}
		return err
	}
	return unsupported("This form of EXECUTE")
}

// executeStrings is EXEC ('text') and EXEC ('text') AT server.
func (s *Session) executeStrings(
	ctx context.Context,
	spec *ast.ExecuteSpecification,
	e *ast.ExecutableStringList,
	w tds.Writer,
) error {
	var text strings.Builder
	for _, part := range e.Strings {
		v, err := s.evaluate(ctx, part, sqltype.NVarCharMax)
		if err != nil {
			return err
		}
		str, _ := v.(string)
		text.WriteString(str)
	}
	if spec.LinkedServer != nil {
		if spec.ExecuteContext != nil {
			return unsupported("EXECUTE (...) AS ... AT a linked server")
		}
		if s.inst.registry.remote == nil {
			return sqlerr.New(7202, 2, spec.LinkedServer.Value)
		}
		return s.inst.registry.remote.Execute(ctx, s, spec.LinkedServer.Value, text.String(), w)
	}
	if spec.ExecuteContext != nil {
		leave, err := s.executeAs(ctx, spec.ExecuteContext)
		if err != nil {
			return err
		}
		defer leave()
	}
	return s.nested(ctx, func() error { return s.runDynamic(ctx, text.String(), "", nil, w) })
}

// executeAs is AS LOGIN and AS USER of EXECUTE ('text'), which hold until the text has run
// (docs/t-sql/language-elements/execute-transact-sql.md).
func (s *Session) executeAs(ctx context.Context, n *ast.ExecuteContext) (leave func(), err error) {
	name, err := s.evaluate(ctx, n.Principal, sqltype.Sysname)
	if err != nil {
		return nil, err
	}
	if s.inst.registry.impersonate == nil {
		return nil, unsupported("EXECUTE (...) AS")
	}
	text, _ := name.(string)
	return s.inst.registry.impersonate(ctx, s, strings.ToUpper(n.Kind), text)
}

// nested guards the depth of modules and the transaction count around one.
func (s *Session) nested(ctx context.Context, f func() error) error {
	if s.nest >= maxNesting {
		return sqlerr.New(217, 1, maxNesting)
	}
	db := s.db
	defer s.optionScope()()
	err := f()
	if s.db != db && !isAbort(err) {
		// USE within dynamic SQL ends with it.
		s.db = db
	}
	return err
}

func isAbort(err error) bool { return errors.Is(err, errAbort) }

func (s *Session) procedureName(ctx context.Context, r *ast.ProcedureReferenceName) (bind.ObjectName, error) {
	if r.ProcedureVariable != nil {
		v := s.variable(r.ProcedureVariable.Name)
		if v == nil {
			return bind.ObjectName{}, sqlerr.New(137, 2, r.ProcedureVariable.Name)
		}
		if !v.typ.Kind.IsCharacter() {
			return bind.ObjectName{}, sqlerr.New(8199, 1)
		}
		text, _ := v.value.(string)
		return bind.SplitName(text), nil
	}
	name := bind.NameOf(r.ProcedureReference.Name)
	if n := r.ProcedureReference.Number; n != nil && n.Value != "1" {
		return bind.ObjectName{}, sqlerr.New(2812, 62, name.String()+";"+n.Value) // there is the first of a name alone
	}
	return name, nil
}

// callProcedure serves an RPC request.
func (s *Session) callProcedure(ctx context.Context, call tds.Call, w tds.Writer) error {
	args := make([]argument, len(call.Params))
	outs := make([]*variable, len(call.Params))
	for i, p := range call.Params {
		args[i] = argument{name: p.Name, value: p.Value, typ: p.Type, isDefault: p.Default, returned: p.Output, rows: p.Table}
		if p.Output {
			outs[i] = &variable{name: p.Name, typ: p.Type, value: p.Value}
			args[i].output = outs[i]
		}
	}
	f := &frame{variables: map[string]*variable{}}
	s.frames = append(s.frames, f)
	s.nest++
	mark := len(s.foreignConns)
	result, err := s.execute(ctx, bind.SplitName(call.Name), args, w)
	if err == nil && result.ofFunction {
		err = unsupported("A remote procedure call of a scalar function")
	}
	s.releaseForeign(mark)
	s.popFrame()
	if err != nil && !isControl(err) {
		if s.broken.err() != nil {
			return err
		}
		var node ast.Statement
		if err = s.failed(ctx, node, err, w); err != nil && !isAbort(err) {
			return err
		}
		return w.ReturnStatus(-6)
	}
	if err != nil {
		return err
	}
	status, _ := result.value.(int64)
	if err := w.ReturnStatus(int32(status)); err != nil {
		return err
	}
	for _, v := range outs {
		if v != nil {
			if err := w.ReturnValue(v.name, v.typ, v.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// returned is what a module that is executed gives back: the status of a procedure, an int, or the value of a scalar
// function.
type returned struct {
	value      any
	typ        sqltype.Type
	ofFunction bool
}

func statusOf(status int32, err error) (returned, error) {
	return returned{value: int64(status), typ: sqltype.IntType}, err
}

// execute runs a procedure, a system procedure by its name anywhere or a user's, or a user's scalar function.
func (s *Session) execute(ctx context.Context, name bind.ObjectName, args []argument, w tds.Writer) (returned, error) {
	if name.Server != "" {
		return statusOf(0, s.executeRemote(ctx, name, args, w))
	}
	if s.nest >= maxNesting {
		return returned{}, sqlerr.New(217, 1, maxNesting)
	}
	f := s.frame()
	inFunction := f.returns != nil || f.table
	if p, db := s.findProcedure(name); p != nil {
		if inFunction && !strings.HasPrefix(lower(p.Name), "xp_") {
			return returned{}, sqlerr.New(557, 2)
		}
		return statusOf(
			s.withProcedureEvents(ctx, p, db, args, func() (int32, error) { return s.runProcedure(ctx, p, db, args, w) }, w),
		)
	}
	b := newBinder(ctx, s, s.db.ID())
	var space int32
	var o *metadata.Object
	if e := bind.Safely(func() {
		var sch *metadata.Catalog
		space, sch, o = b.Resolve(name)
		if o != nil && o.Kind == metadata.KindSynonym {
			space, sch, o = b.Resolve(bind.SplitName(o.Target))
		}
		if o != nil {
			b.Require("EXECUTE", space, sch, o)
		}
	}); e != nil {
		return returned{}, e
	}
	switch {
	case o == nil:
		if strings.HasPrefix(lower(name.Name), "sp_") {
			s.inst.log.Debug("unknown procedure", "name", name.String())
		}
		return returned{}, sqlerr.New(2812, 62, name.String())
	case o.Kind == metadata.KindScalar:
		return s.executeFunction(ctx, space, o, args)
	case notExecuted[o.Kind] != "":
		return returned{}, sqlerr.New(2809, 1, "procedure", o.Name, o.Name, notExecuted[o.Kind])
	case o.Kind != metadata.KindProcedure:
		return returned{}, sqlerr.New(2812, 62, name.String())
	case inFunction:
		return returned{}, sqlerr.New(557, 2)
	}
	return statusOf(s.runModule(ctx, space, o, args, w))
}

// executeFunction executes a user's scalar function: as with a procedure its arguments have names and may be left out
// where the parameter has a default (docs/t-sql/statements/create-function-transact-sql.md, "[ = default ]").
func (s *Session) executeFunction(
	ctx context.Context,
	space int32,
	o *metadata.Object,
	args []argument,
) (returned, error) {
	batch, node, perr := bind.ParseModule(o)
	if perr != nil {
		return returned{}, perr
	}
	m := bind.ModuleOf(node)
	ret, ok := m.Returns.(*ast.ScalarFunctionReturnType)
	if !ok {
		return returned{}, sqlerr.New(2812, 62, o.Name)
	}
	t, err := s.moduleType(ctx, ret.DataType)
	if err != nil {
		return returned{}, err
	}
	f := s.moduleFrame(o, batch)
	if _, err := s.bindArguments(ctx, o.Name, m.Parameters, args, f); err != nil {
		return returned{}, ofArguments(err, o.Name)
	}
	v, err := s.functionResult(space, o, m, f, t)
	return returned{value: v, typ: t, ofFunction: true}, err
}

// ofArguments names the module in an error about the arguments that it was called with.
func ofArguments(err error, module string) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) && aboutArguments(e.Number) {
		e.Procedure = module
	}
	return err
}

// notExecuted has what EXECUTE finds in place of a module, in the words of 2809.
var notExecuted = map[string]string{
	metadata.KindTable:         "table",
	metadata.KindView:          "view",
	metadata.KindInline:        "table valued function",
	metadata.KindTableFunction: "table valued function",
}

// findProcedure finds a registered procedure and the database it runs in.
func (s *Session) findProcedure(name bind.ObjectName) (*Procedure, *Database) {
	db := s.db
	if name.Database != "" {
		if db = s.inst.Database(name.Database); db == nil {
			return nil, nil
		}
	}
	schema := lower(name.Schema)
	if schema == "" {
		schema = "dbo"
	}
	key := lower(db.Name()) + "." + schema + "." + lower(name.Name)
	if p := s.inst.registry.procedures[key]; p != nil {
		return p, db
	}
	if db.Info().Distributor {
		if p := s.inst.registry.procedures["distribution."+schema+"."+lower(name.Name)]; p != nil {
			return p, db
		}
	}
	if schema == "dbo" || schema == "sys" {
		return s.inst.registry.procedures[lower(name.Name)], db
	}
	return nil, nil
}

// executeRemote is EXEC server.database.schema.procedure.
func (s *Session) executeRemote(ctx context.Context, name bind.ObjectName, args []argument, w tds.Writer) error {
	if s.inst.registry.remote == nil {
		return sqlerr.New(7202, 2, name.Server)
	}
	var text strings.Builder
	text.WriteString("EXEC ")
	local := name
	local.Server = ""
	parts := []string{local.Database, local.Schema, local.Name}
	for len(parts) > 1 && parts[0] == "" {
		parts = parts[1:]
	}
	for i, p := range parts {
		if i > 0 {
			text.WriteString(".")
		}
		if p != "" {
			text.WriteString(quoteName(p))
		}
	}
	for i, a := range args {
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString(" ")
		if a.name != "" {
			text.WriteString(a.name + " = ")
		}
		lit, err := literalText(a.value, a.typ)
		if err != nil {
			return err
		}
		text.WriteString(lit)
	}
	return s.inst.registry.remote.Execute(ctx, s, name.Server, text.String(), w)
}

func quoteName(s string) string { return syntax.QuoteName(s) }

// literalText writes a value as a T-SQL literal.
func literalText(v any, t sqltype.Type) (string, error) {
	if v == nil {
		return "NULL", nil
	}
	style := 0
	if t.Kind.IsBinary() {
		style = 1
	}
	if t.Kind.IsTemporal() {
		style = 126
	}
	if t.Kind == sqltype.Float || t.Kind == sqltype.Real {
		style = 3
	}
	out, e := sqltype.Convert(v, t, sqltype.NVarCharMax, style, sqltype.Explicit)
	if e != nil {
		return "", e
	}
	text, _ := out.(string)
	if t.Kind.IsNumeric() || t.Kind.IsBinary() {
		return text, nil
	}
	return "N'" + strings.ReplaceAll(text, "'", "''") + "'", nil
}

// runModule executes a user's procedure.
func (s *Session) runModule(
	ctx context.Context,
	space int32,
	o *metadata.Object,
	args []argument,
	w tds.Writer,
) (int32, error) {
	batch, node, perr := bind.ParseModule(o)
	if perr != nil {
		return 0, perr
	}
	m := bind.ModuleOf(node)
	f := s.moduleFrame(o, batch)
	f.trancount = s.count
	bound, err := s.bindArguments(ctx, o.Name, m.Parameters, args, f)
	if err != nil {
		return 0, ofArguments(err, o.Name)
	}
	defer s.optionScope()()
	before, db := s.db, s.inst.DatabaseByID(space)
	if db != nil {
		s.db = db
	}
	endExecution, err := s.beginExecution(ctx, db, o, m.Parameters, args, f)
	if err != nil {
		s.db = before
		return 0, err
	}
	s.frames = append(s.frames, f)
	s.nest++
	line := s.line
	err = s.asOf(ctx, o, func() error { return landed(s.statements(ctx, listOf(m.Body), w)) })
	s.popFrame()
	s.db, s.line = before, line
	if errors.Is(err, errReturn) {
		err = nil
	}
	if err = endExecution(err); err != nil {
		return 0, err
	}
	for a, v := range bound {
		if v.isCursor {
			args[a].output.cursor = v.cursor
			continue
		}
		if args[a].output != nil {
			out, e := s.Convert(v.value, v.typ, args[a].output.typ, sqltype.Implicit)
			if e != nil {
				return 0, e
			}
			args[a].output.value = out
		}
	}
	if s.count != f.trancount && s.insertExec == nil {
		e := sqlerr.New(266, 2, f.trancount, s.count)
		e.Procedure = o.Name
		if s.tryDepth == 0 {
			if err := w.Message(e); err != nil {
				return 0, err
			}
		}
	}
	return f.status, nil
}
