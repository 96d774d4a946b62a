// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// InlineCall is an inline table-valued function that a FROM clause names.
type InlineCall struct {
	space      int32
	object     *metadata.Object
	batch      *syntax.Batch
	Parameters []*ast.ProcedureParameter
	Query      *ast.SelectStatement
}

// inlineFunction finds an inline table-valued function; nil when there is none of that name.
func (b *Binder) inlineFunction(name ObjectName) *InlineCall {
	space, sch, o := b.Resolve(name)
	if o != nil && o.Kind == metadata.KindSynonym {
		space, sch, o = b.Resolve(SplitName(o.Target))
	}
	if o == nil || o.Kind != metadata.KindInline {
		return nil
	}
	b.Require("SELECT", space, sch, o)
	if _, _, perr := ParseModule(o); perr != nil {
		b.FailWith(perr)
	}
	return InlineCallOf(space, o)
}

// InlineCallOf is an inline table-valued function as it is called; nil for what is none.
func InlineCallOf(space int32, o *metadata.Object) *InlineCall {
	batch, node, perr := ParseModule(o)
	if perr != nil {
		return nil
	}
	m := ModuleOf(node)
	ret, ok := m.Returns.(*ast.SelectFunctionReturnType)
	if !ok {
		return nil
	}
	return &InlineCall{space, o, batch, m.Parameters, ret.SelectStatement}
}

// EnterFunction binds the arguments, which may refer to sc, and makes the function's parameters and database those of
// what is bound until the returned func is called.
func (b *Binder) EnterFunction(sc *Scope, call *InlineCall, args []ast.ScalarExpression) func() {
	if len(args) < len(call.Parameters) {
		b.FailWith(sqlerr.New(313, 3, call.object.Name))
	}
	if len(args) > len(call.Parameters) {
		b.FailWith(sqlerr.New(8144, 3, call.object.Name))
	}
	parameters := map[string]Variable{}
	for i, p := range call.Parameters {
		t := b.DataType(p.DataType, false)
		arg := args[i]
		if _, isDefault := arg.(*ast.DefaultLiteral); isDefault {
			if p.Value == nil {
				b.Fail(201, call.object.Name, p.VariableName.Value)
			}
			arg = p.Value
		}
		outer, lateral := len(sc.outer), b.lateral
		e := b.Convert(b.Scalar(sc, arg), t, sqltype.Implicit, 0, false)
		parameters[lower(p.VariableName.Value)] = Variable{
			Type:    t,
			Bound:   e.SQL,
			Lateral: len(sc.outer) > outer || b.lateral > lateral,
		}
	}
	leave := b.session.InFunction(call.object, call.batch, parameters)
	restore := b.InDatabase(call.space)
	outer := b.CTEs
	b.CTEs = nil
	if b.depth++; b.depth > 32 {
		b.Fail(217, 32)
	}
	return func() {
		b.depth--
		b.CTEs = outer
		restore()
		leave()
	}
}

// userTableFunction binds an inline table-valued function by expanding its query.
func (b *Binder) userTableFunction(
	sc *Scope,
	name ObjectName,
	args []ast.ScalarExpression,
	alias string,
	names []*ast.Identifier,
) string {
	if space, sch, o := b.ResolveWrite(name); o != nil && o.Kind == metadata.KindTableFunction {
		return b.multiStatement(sc, space, sch, o, args, alias, names)
	}
	call := b.inlineFunction(name)
	if call == nil {
		if _, _, o := b.ResolveWrite(name); o != nil && (o.Kind == metadata.KindTable || o.Kind == metadata.KindView) ||
			o == nil && b.session.SystemView(name) != nil {
			b.Fail(215, name.String())
		}
		b.Fail(208, name.String())
	}
	leave := b.EnterFunction(&Scope{parent: sc.parent}, call, args)
	defer leave()
	if alias == "" {
		alias = call.object.Name
	}
	recursives := len(b.recursives)
	if with := call.Query.WithCtesAndXmlNamespaces; with != nil {
		b.With(with)
	}
	q := b.Query(&Scope{}, call.Query.QueryExpression, QueryOptions{})
	// Recursive common table expressions stand within it, where they may refer to what the arguments come from.
	q.sql = withRecursive(b.recursives[recursives:]) + q.sql
	b.recursives = b.recursives[:recursives]
	return b.derived(sc, q, alias, names, strings.TrimSpace(name.Schema))
}
