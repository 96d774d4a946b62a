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

// moduleMode tells CREATE, ALTER and CREATE OR ALTER apart.
type moduleMode uint8

const (
	createModule moduleMode = iota
	alterModule
	createOrAlterModule
)

func installModules(r *Registry) {
	module := func(node ast.Statement, kind string, mode moduleMode, name func(ast.Statement) *ast.SchemaObjectName) {
		r.Statement(node, func(ctx context.Context, s *Session, st syntax.Statement, w tds.Writer) error {
			module := bind.NameOf(name(st.Node))
			return ofModule(s.defineModule(ctx, module, kind, mode, st), module.Name)
		})
	}
	module(
		(*ast.CreateViewStatement)(nil),
		metadata.KindView,
		createModule,
		func(n ast.Statement) *ast.SchemaObjectName { return n.(*ast.CreateViewStatement).SchemaObjectName },
	)
	module(
		(*ast.AlterViewStatement)(nil),
		metadata.KindView,
		alterModule,
		func(n ast.Statement) *ast.SchemaObjectName { return n.(*ast.AlterViewStatement).SchemaObjectName },
	)
	module(
		(*ast.CreateOrAlterViewStatement)(nil),
		metadata.KindView,
		createOrAlterModule,
		func(n ast.Statement) *ast.SchemaObjectName {
			return n.(*ast.CreateOrAlterViewStatement).SchemaObjectName
		},
	)
	module(
		(*ast.CreateProcedureStatement)(nil),
		metadata.KindProcedure,
		createModule,
		func(n ast.Statement) *ast.SchemaObjectName {
			return n.(*ast.CreateProcedureStatement).ProcedureReference.Name
		},
	)
	module(
		(*ast.AlterProcedureStatement)(nil),
		metadata.KindProcedure,
		alterModule,
		func(n ast.Statement) *ast.SchemaObjectName {
			return n.(*ast.AlterProcedureStatement).ProcedureReference.Name
		},
	)
	module(
		(*ast.CreateOrAlterProcedureStatement)(nil),
		metadata.KindProcedure,
		createOrAlterModule,
		func(n ast.Statement) *ast.SchemaObjectName {
			return n.(*ast.CreateOrAlterProcedureStatement).ProcedureReference.Name
		},
	)
	module(
		(*ast.CreateFunctionStatement)(nil),
		metadata.KindScalar,
		createModule,
		func(n ast.Statement) *ast.SchemaObjectName { return n.(*ast.CreateFunctionStatement).Name },
	)
	module(
		(*ast.AlterFunctionStatement)(nil),
		metadata.KindScalar,
		alterModule,
		func(n ast.Statement) *ast.SchemaObjectName { return n.(*ast.AlterFunctionStatement).Name },
	)
	module(
		(*ast.CreateOrAlterFunctionStatement)(nil),
		metadata.KindScalar,
		createOrAlterModule,
		func(n ast.Statement) *ast.SchemaObjectName {
			return n.(*ast.CreateOrAlterFunctionStatement).Name
		},
	)
}

// ofModule names the module in an error about its definition.
func ofModule(err error, name string) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Procedure != "" || e.Number == 40517 {
		return err
	}
	told := *e
	told.Procedure = name
	return &told
}

// defineModule keeps a module's text.
func (s *Session) defineModule(
	ctx context.Context,
	name bind.ObjectName,
	kind string,
	mode moduleMode,
	st syntax.Statement,
) error {
	permission := map[string]string{metadata.KindView: "CREATE VIEW", metadata.KindProcedure: "CREATE PROCEDURE",
		metadata.KindScalar: "CREATE FUNCTION"}[kind]
	if name.Temporary() {
		if err := temporaryModule(name, kind); err != nil {
			return err
		}
	} else if err := s.RequireDDL(ctx, name, permission); err != nil {
		return err
	}
	if err := s.checkTableParameters(ctx, bind.ModuleOf(st.Node).Parameters); err != nil {
		return err
	}
	if external(st.Node) {
		return unsupported("A module of an assembly (EXTERNAL NAME)")
	}
	if err := checkCursorParameters(bind.ModuleOf(st.Node).Parameters); err != nil {
		return err
	}
	if err := knownDefaults(bind.ModuleOf(st.Node), s.inst.registry.globals); err != nil {
		return err
	}
	if err := duplicateWithin(bind.ModuleOf(st.Node)); err != nil {
		return err
	}
	if err := parameterSizes(bind.ModuleOf(st.Node).Parameters); err != nil {
		return err
	}
	if err := s.knownTypes(ctx, st.Node); err != nil {
		return err
	}
	if err := s.mayBind(ctx, name, kind, st); err != nil {
		return err
	}
	leave, err := s.withinNew(ctx, name)
	if err != nil {
		return err
	}
	kind, table, err := s.checkModule(ctx, name, kind, st)
	if err == nil && kind != metadata.KindView && kind != metadata.KindInline {
		err = s.compileModule(ctx, name.Name, bind.ModuleOf(st.Node), nil)
	}
	if leave(); err != nil {
		return err
	}
	define := func() error { return s.placeModule(ctx, name, kind, mode, st, table) }
	if mode != createModule {
		a, err := s.moduleAlteration(ctx, name, st)
		if err != nil {
			return err
		}
		if a != nil {
			return s.inst.registry.alterModule(ctx, s, *a, define)
		}
	}
	return define()
}

// withinNew looks for names in the schema of a module that is being made until the returned func is called.
func (s *Session) withinNew(ctx context.Context, name bind.ObjectName) (func(), error) {
	sch, err := s.schema(ctx, s.db.ID())
	if err != nil {
		return nil, err
	}
	module := &metadata.Object{Name: name.Name, Schema: 1}
	if in := sch.SchemaByName(s.schemaNamed(s.db.ID(), name)); in != nil {
		module.Schema = in.ID
	}
	return s.within(module), nil
}

// checkModule binds what a view and an inline function are, and says of which kind a function is and which table it
// returns.
func (s *Session) checkModule(
	ctx context.Context,
	name bind.ObjectName,
	kind string,
	st syntax.Statement,
) (string, *metadata.Table, error) {
	if kind == metadata.KindView {
		return kind, nil, s.checkView(ctx, st.Node)
	}
	if ret := returnType(st.Node); ret != nil {
		switch ret.(type) {
		case *ast.SelectFunctionReturnType:
			kind = metadata.KindInline
		case *ast.TableValuedFunctionReturnType:
			kind = metadata.KindTableFunction
		}
		check := checkFunction
		if kind == metadata.KindInline {
			check = func(m bind.Module) error { return s.checkInline(ctx, name.Name, m) }
		}
		if err := check(bind.ModuleOf(st.Node)); err != nil {
			return kind, nil, err
		}
	}
	if kind != metadata.KindTableFunction {
		return kind, nil, nil
	}
	table, err := s.returnedTable(ctx, returnType(st.Node))
	return kind, table, err
}

// parameterSizes refuses parameters that are longer than their types may be.
func parameterSizes(params []*ast.ProcedureParameter) error {
	for _, p := range params {
		if _, e := bind.DataTypeOf(p.DataType, false); e != nil && e.Number == 2717 {
			size, _, _ := strings.Cut(strings.TrimPrefix(e.Message, "The size ("), ")")
			return sqlerr.New(2717, e.State, size, "parameter", p.VariableName.Value, 4000)
		}
	}
	return nil
}

// external tells whether a module's body is in an assembly.
func external(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.CreateFunctionStatement:
		return n.MethodSpecifier != nil
	case *ast.CreateProcedureStatement:
		return n.MethodSpecifier != nil
	}
	return false
}

// temporaryModule refuses modules that cannot be temporary
// (docs/t-sql/statements/create-procedure-transact-sql.md, procedure_name: procedures can).
func temporaryModule(name bind.ObjectName, kind string) error {
	switch kind {
	case metadata.KindView:
		return sqlerr.New(4103, 1, name.Name)
	case metadata.KindScalar:
		return sqlerr.New(1074, 1)
	}
	return nil
}

// placeModule makes or changes a module's object.
func (s *Session) placeModule(
	ctx context.Context,
	name bind.ObjectName,
	kind string,
	mode moduleMode,
	st syntax.Statement,
	table *metadata.Table,
) error {
	return s.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		old := d.sch.Find(d.SchemaNamed(name), name.Name)
		switch {
		case old == nil && mode == alterModule:
			return sqlerr.New(208, 6, name.String())
		case old != nil && mode == createModule:
			return sqlerr.New(2714, 3, name.Name)
		case old != nil && old.Kind != kind:
			return sqlerr.New(2010, 1, name.String())
		case old != nil:
			if by := d.BoundTo(old, nil); by != "" {
				return sqlerr.New(3729, 3, "ALTER", name.String(), by)
			}
			changed := *old
			changed.Table = table
			if err := d.define(&changed, st); err != nil {
				return err
			}
			return d.Modify(&changed)
		}
		if err := d.Place(name); err != nil {
			return err
		}
		o := d.NewObject(name, kind)
		o.Table = table
		if err := d.define(o, st); err != nil {
			return err
		}
		return d.Save(o)
	})
}

func returnType(node ast.Statement) ast.FunctionReturnType {
	switch n := node.(type) {
	case *ast.CreateFunctionStatement:
		return n.ReturnType
	case *ast.AlterFunctionStatement:
		return n.ReturnType
	case *ast.CreateOrAlterFunctionStatement:
		return n.ReturnType
	}
	return nil
}

// callUser evaluates a user-defined scalar function.
func (st *connState) callUser(sig *signature, args []any) (any, *sqlerr.Error) {
	parts := strings.Split(sig.name, ":")
	if len(parts) != 3 || parts[0] != "user" || st.session == nil {
		return nil, sqlerr.New(195, 10, sig.name, "built-in function name")
	}
	v, err := st.session.userFunctionValue(parts[1], parts[2], args, sig.result)
	if err != nil {
		return nil, AsError(err)
	}
	return encodeResult(sig.result, v)
}

func (s *Session) userFunctionValue(spaceText, idText string, args []any, result sqltype.Type) (any, error) {
	space, id := parseInt32(spaceText), parseInt32(idText)
	sch, err := s.schema(s.context(), space)
	if err != nil {
		return nil, err
	}
	o := sch.Objects[id]
	if o == nil {
		return nil, sqlerr.New(208, 1, idText)
	}
	batch, node, perr := bind.ParseModule(o)
	if perr != nil {
		return nil, perr
	}
	m := bind.ModuleOf(node)
	f := s.moduleFrame(o, batch)
	for i, p := range m.Parameters {
		t, e := bind.DataTypeOf(p.DataType, false)
		if e != nil {
			return nil, e
		}
		f.variables[lower(p.VariableName.Value)] = &variable{name: p.VariableName.Value, typ: s.inCodePage(t), value: args[i]}
	}
	return s.functionResult(space, o, m, f, result)
}

// functionResult is the value of a scalar function whose frame has its arguments.
func (s *Session) functionResult(
	space int32,
	o *metadata.Object,
	m bind.Module,
	f *frame,
	result sqltype.Type,
) (any, error) {
	if s.nest >= maxNesting {
		return nil, sqlerr.New(217, 1, maxNesting)
	}
	if o.NullOnNull {
		for _, v := range f.variables {
			if v.table == nil && v.value == nil {
				return nil, nil
			}
		}
	}
	s.frames = append(s.frames, f)
	s.nest++
	s.tryDepth++
	before, line := s.db, s.line
	if db := s.inst.DatabaseByID(space); db != nil {
		s.db = db
	}
	f.returns = &result
	err := s.asOf(s.context(), o, func() error { return s.functionBody(m) })
	s.db, s.line = before, line
	s.tryDepth--
	s.popFrame()
	return f.result, err
}

func parseInt32(s string) int32 {
	n := int32(0)
	negative := strings.HasPrefix(s, "-")
	for _, r := range strings.TrimPrefix(s, "-") {
		n = n*10 + r - '0'
	}
	if negative {
		return -n
	}
	return n
}

func integerBounds(k sqltype.Kind) (int64, int64) {
	switch k {
	case sqltype.TinyInt:
		return 0, 255
	case sqltype.SmallInt:
		return -1 << 15, 1<<15 - 1
	case sqltype.Int:
		return -1 << 31, 1<<31 - 1
	}
	return -1 << 63, 1<<63 - 1
}
