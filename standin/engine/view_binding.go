// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// ofView binds the query of a view. Names in it that mean nothing any more are told, and that the view cannot be used
// for them (4413); of views within views, the outermost is named (docs/t-sql/statements/create-view-transact-sql.md,
// Remarks).
func (b *binder) ofView(name string, bind func() boundQuery) (q boundQuery) {
	before := len(b.missing)
	err := bindSafely(func() { q = bind() })
	told := sqlerr.New(4413, 1, name)
	switch {
	case err != nil && (b.depth > 1 || !unresolved(err)):
		b.failWith(err)
	case err != nil && before < len(b.missing):
		b.missing = append(b.missing, err, told)
		b.failWith(told)
	case err != nil:
		b.failWith(sqlerr.Together([]*sqlerr.Error{err, told}))
	case b.depth == 1 && before < len(b.missing):
		b.missing = append(b.missing, told)
	}
	return q
}

// ViewShape are the columns of a view or inline function, as its query gives them now; none when it can no longer be
// bound.
func (s *Session) ViewShape(ctx context.Context, o *metadata.Object) []*metadata.Column {
	def, names := viewDefinition(o)
	var call *inlineCall
	if o.Kind == metadata.KindInline {
		call = inlineCallOf(s.viewDatabase().ID(), o)
	}
	if call != nil {
		def = call.query
	}
	if def == nil {
		return nil
	}
	before := s.db
	s.db = s.viewDatabase()
	defer func() { s.db = before }()
	var q boundQuery
	if bindSafely(func() {
		b := newBinder(ctx, s, s.db.ID())
		if call != nil {
			args := make([]ast.ScalarExpression, len(call.parameters))
			for i := range args {
				args[i] = &ast.NullLiteral{}
			}
			defer b.enterFunction(&scope{}, call, args)()
		}
		b.with(def.WithCtesAndXmlNamespaces)
		q = b.query(&scope{}, def.QueryExpression, queryOptions{})
	}) != nil {
		return nil
	}
	out := make([]*metadata.Column, len(q.outputs))
	for i, o := range q.outputs {
		told := resultColumn(o)
		out[i] = &metadata.Column{ID: int32(i + 1), Name: told.Name, Type: told.Type, Nullable: told.Nullable}
		if i < len(names) {
			out[i].Name = names[i].Value
		}
		if told.Type.Kind.IsCharacter() {
			out[i].Collation = told.Collation
		}
	}
	return out
}
