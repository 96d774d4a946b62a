// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// inlineCall is an inline table-valued function that a FROM clause names.
type inlineCall struct {
	space      int32
	object     *metadata.Object
	batch      *syntax.Batch
	parameters []*ast.ProcedureParameter
	query      *ast.SelectStatement
}

// inlineFunction finds an inline table-valued function; nil when there is none of that name.
func (b *binder) inlineFunction(name ObjectName) *inlineCall {
	space, sch, o := b.resolve(name)
	if o != nil && o.Kind == metadata.KindSynonym {
		space, sch, o = b.resolve(splitName(o.Target))
	}
	if o == nil || o.Kind != metadata.KindInline {
		return nil
	}
	b.require("SELECT", space, sch, o)
	if _, _, perr := parseModule(o); perr != nil {
		b.failWith(perr)
	}
	return inlineCallOf(space, o)
}

// inlineCallOf is an inline table-valued function as it is called; nil for what is none.
func inlineCallOf(space int32, o *metadata.Object) *inlineCall {
	batch, node, perr := parseModule(o)
	if perr != nil {
		return nil
	}
	m := partsOf(node)
	ret, ok := m.returns.(*ast.SelectFunctionReturnType)
	if !ok {
		return nil
	}
	return &inlineCall{space, o, batch, m.parameters, ret.SelectStatement}
}

// enterFunction binds the arguments, which may refer to sc, and makes the function's parameters and database those of
// what is bound until the returned func is called.
func (b *binder) enterFunction(sc *scope, call *inlineCall, args []ast.ScalarExpression) func() {
	if len(args) < len(call.parameters) {
		b.failWith(sqlerr.New(313, 3, call.object.Name))
	}
	if len(args) > len(call.parameters) {
		b.failWith(sqlerr.New(8144, 3, call.object.Name))
	}
	f := &frame{variables: map[string]*variable{}, batch: call.batch, procedure: call.object.Name, module: call.object}
	for i, p := range call.parameters {
		t := b.dataType(p.DataType, false)
		arg := args[i]
		if _, isDefault := arg.(*ast.DefaultLiteral); isDefault {
			if p.Value == nil {
				b.fail(201, call.object.Name, p.VariableName.Value)
			}
			arg = p.Value
		}
		outer, lateral := len(sc.outer), b.lateral
		e := b.convert(b.scalar(sc, arg), t, sqltype.Implicit, 0, false)
		f.variables[lower(p.VariableName.Value)] = &variable{
			name:    p.VariableName.Value,
			typ:     t,
			bound:   e.sql,
			lateral: len(sc.outer) > outer || b.lateral > lateral,
		}
	}
	b.s.frames = append(b.s.frames, f)
	depth := len(b.s.frames)
	restore := b.inDatabase(call.space)
	outer := b.ctes
	b.ctes = nil
	if b.depth++; b.depth > 32 {
		b.fail(217, 32)
	}
	return func() {
		b.depth--
		b.ctes = outer
		restore()
		b.s.frames = b.s.frames[:depth-1]
	}
}

// userTableFunction binds an inline table-valued function by expanding its query.
func (b *binder) userTableFunction(
	sc *scope,
	name ObjectName,
	args []ast.ScalarExpression,
	alias string,
	names []*ast.Identifier,
) string {
	if space, sch, o := b.resolveWrite(name); o != nil && o.Kind == metadata.KindTableFunction {
		return b.multiStatement(sc, space, sch, o, args, alias, names)
	}
	call := b.inlineFunction(name)
	if call == nil {
		if _, _, o := b.resolveWrite(name); o != nil && (o.Kind == metadata.KindTable || o.Kind == metadata.KindView) ||
			o == nil && b.s.findView(name) != nil {
			b.fail(215, name.String())
		}
		b.fail(208, name.String())
	}
	leave := b.enterFunction(&scope{parent: sc.parent}, call, args)
	defer leave()
	if alias == "" {
		alias = call.object.Name
	}
	recursives := len(b.recursives)
	if with := call.query.WithCtesAndXmlNamespaces; with != nil {
		b.with(with)
	}
	q := b.query(&scope{}, call.query.QueryExpression, queryOptions{})
	// Recursive common table expressions stand within it, where they may refer to what the arguments come from.
	q.sql = withRecursive(b.recursives[recursives:]) + q.sql
	b.recursives = b.recursives[:recursives]
	return b.derived(sc, q, alias, names, strings.TrimSpace(name.Schema))
}
